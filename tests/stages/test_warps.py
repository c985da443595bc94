"""Warps: their inverse, what they do to skewed columns, and how they go on beyond the data."""

import numpy as np
import pytest
from scipy.stats import skew

from mercer.stages import ColumnWarp, TargetWarp


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


@pytest.mark.parametrize("skewed", [1, -1])
def test_targets_far_beyond_the_data_go_on_straight(skewed):
    y = skewed * np.exp(np.random.default_rng(0).normal(size=200))
    warp = TargetWarp.learn(y, None, power=True)
    assert abs(warp.power - 1) > 0.5  # not straight by itself
    t = np.linspace(warp(y).min() - 3, warp(y).max() + 3, 601)
    back = warp.inverse(t)
    np.testing.assert_allclose(warp(back), t, atol=1e-10)
    slope = np.diff(back)
    assert np.all(slope > 0)
    far = t[1:] > warp(y).max() + 0.52
    np.testing.assert_allclose(slope[far], slope[far][0])
    bent = (t[1:] < warp(y).max() + 0.5) & (t[:-1] > warp(y).max())
    assert np.ptp(slope[bent]) > 0.01 * slope[bent].mean()
    np.testing.assert_allclose(np.diff(np.log(slope)), 0, atol=0.02)  # without a kink
    np.testing.assert_allclose(warp.log_slope(back[far.nonzero()[0]]), warp.log_slope(back[-1]))


def test_a_location_that_is_too_large_is_not_made_larger_exponentially():
    y = np.exp(np.random.default_rng(0).normal(size=200))
    warp = TargetWarp.learn(y, None, power=True)
    assert warp.inverse(warp(y).max() + 3) < 10 * y.max()
