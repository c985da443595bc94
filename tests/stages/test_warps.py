"""Warps: against SciPy's transform, their inverse, and what they do to skewed columns."""

import numpy as np
import pytest
from scipy.stats import skew, yeojohnson

from mercer.stages import ColumnWarp, TargetWarp
from mercer.stages.warps import likeliest_power, yeo_johnson, yeo_johnson_inverse, yeo_johnson_log_slope

T = np.linspace(-3, 4, 41)


@pytest.mark.parametrize("power", [-1.5, 0.0, 0.3, 1.0, 2.0, 3.5])
def test_the_transform_is_that_of_scipy(power):
    np.testing.assert_allclose(yeo_johnson(T, power), yeojohnson(T, lmbda=power), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0, 1.7, 2.0])
def test_inverse_and_slope(power):
    np.testing.assert_allclose(yeo_johnson_inverse(yeo_johnson(T, power), power), T, atol=1e-12)
    slope = (yeo_johnson(T + 1e-6, power) - yeo_johnson(T - 1e-6, power)) / 2e-6
    np.testing.assert_allclose(np.exp(yeo_johnson_log_slope(T, power)), slope, rtol=1e-6)
    far = np.array([-40.0, 40.0])  # every number has a preimage: quantiles beyond the data have one
    assert np.all(np.isfinite(yeo_johnson_inverse(far, power)))


def test_the_likeliest_power_is_that_of_scipy():
    t = np.random.default_rng(0).gamma(2.0, size=400)
    t = (t - t.mean()) / t.std()
    assert abs(likeliest_power(t, np.linspace(-3, 5, 801)) - yeojohnson(t)[1]) < 0.02


def test_columns_lose_their_skewness_and_codes_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(rng.normal(size=300)), rng.integers(0, 5, size=300), np.full(300, 7.0)])
    Z = ColumnWarp.learn(X, powers=True)(X)
    assert abs(skew(Z[:, 0])) < 0.3 < skew(X[:, 0])
    np.testing.assert_allclose(np.diff(np.unique(Z[:, 1])), np.diff(np.unique(Z[:, 1]))[0])
    assert Z.shape == (300, 2)  # without the column that does not vary
    np.testing.assert_array_equal(ColumnWarp.learn(X[:, 2:], powers=True)(X[:, 2:]), np.zeros((300, 1)))
    plain = ColumnWarp.learn(X, powers=False)
    np.testing.assert_array_equal(plain.powers, 1)
    np.testing.assert_allclose(plain(X)[:, 0], (X[:, 0] - X[:, 0].mean()) / X[:, 0].std())


def test_inputs_far_away_are_moved_to_the_edge():
    X = np.random.default_rng(0).normal(size=(50, 2))
    warp = ColumnWarp.learn(X, powers=True)
    edge = warp(np.array([[1e9, -1e9]]))
    np.testing.assert_array_equal(edge, [[warp.high[0], warp.low[1]]])
    deviation = X.std(axis=0)
    new = np.array([[X[:, 0].max() + 3 * deviation[0], 0.0], [0.0, X[:, 1].min() - 2 * deviation[1]], [0.0, 0.0]])
    np.testing.assert_allclose(warp.beyond(new)[:2], [3.0, 2.0])
    assert warp.beyond(new)[2] < 0


@pytest.mark.parametrize("weighted", [False, True])
def test_targets_are_standardised_and_come_back(weighted):
    rng = np.random.default_rng(0)
    y = 1e3 * np.exp(rng.normal(size=200)) - 5e3
    weight = rng.uniform(0.5, 2.0, size=200) if weighted else None
    for power in (False, True):
        warp = TargetWarp.learn(y, weight, power)
        t = warp(y)
        assert np.average(t, weights=weight) == pytest.approx(0, abs=1e-12)
        assert np.average(t**2, weights=weight) == pytest.approx(1)
        np.testing.assert_allclose(warp.inverse(t), y, rtol=1e-9)
    assert abs(skew(t)) < 0.5


def test_slopes_of_targets_differ_by_a_constant_from_the_derivative():
    y = np.exp(np.random.default_rng(0).normal(size=100))
    warp = TargetWarp.learn(y, None, power=True)
    step = 1e-6
    slope = (warp(y + step) - warp(y - step)) / (2 * step)
    np.testing.assert_allclose(np.log(slope) - warp.log_slope(y), -np.log(warp.scale[0]), atol=1e-6)
