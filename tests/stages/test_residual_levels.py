"""Levels of residuals: NumPy's quantiles, honest positions for few rows, tails, weights."""

import numpy as np
import pytest

from mercer.stages import ResidualLevels, new_levels

RNG = np.random.default_rng(0)


def test_positions_are_those_of_weibull():
    e = RNG.normal(size=37)
    theta = np.linspace(1 / 38, 37 / 38, 50)
    np.testing.assert_allclose(ResidualLevels.learn(e)(theta), np.quantile(e, theta, method="weibull"), atol=1e-12)


def test_new_residuals_are_covered_as_often_as_said():
    """90 % with 19 rows: positions 1 and 19 of 20, exactly honest."""
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(4000):
        e = rng.normal(size=20)
        low, high = ResidualLevels.learn(e[:19])(np.array([0.05, 0.95]))
        hits += low <= e[19] <= high
    assert hits / 4000 == pytest.approx(0.9, abs=0.015)


def test_levels_of_shares():
    share = RNG.uniform(size=9)
    share /= share.sum()
    levels = new_levels(share)
    assert np.all(np.diff(levels) > 0)
    assert 0 < levels[0] < levels[-1] < 1
    np.testing.assert_allclose(new_levels(share[::-1])[::-1], 1 - levels)
    np.testing.assert_allclose(new_levels(np.full(9, 1 / 9)), np.arange(1, 10) / 10)


def test_tails_go_on():
    e = np.sort(RNG.exponential(size=2000))
    b = ResidualLevels.learn(e)
    far = b(np.array([1 - 1e-4, 1 - 1e-5]))
    assert e[-1] < far[0] < far[1]
    assert far[1] - far[0] == pytest.approx(np.log(10), rel=0.35)  # the tail of an exponential variable
    theta = np.unique(np.concatenate([np.geomspace(1e-8, 0.5, 200), 1 - np.geomspace(1e-8, 0.5, 200)]))
    assert np.all(np.diff(b(theta)) >= 0)


def test_weights_count_as_copies_and_their_unit_does_not():
    e = RNG.normal(size=15)
    weight = RNG.integers(1, 4, size=15).astype(float)
    theta = np.linspace(0.01, 0.99, 33)
    once = ResidualLevels.learn(e, weight)(theta)
    np.testing.assert_allclose(ResidualLevels.learn(e, 10 * weight)(theta), once)
    np.testing.assert_allclose(ResidualLevels.learn(e, np.full(15, 3.0))(theta), ResidualLevels.learn(e)(theta))
    assert np.all(np.diff(once) >= 0)
    heavy = ResidualLevels.learn(np.array([0.0, 1.0, 2.0]), np.array([1.0, 8.0, 1.0]))
    assert heavy(np.array([0.5]))[0] == pytest.approx(1.0)
    assert heavy.levels[1] - heavy.levels[0] > heavy.levels[0]


def test_one_residual():
    assert ResidualLevels.learn(np.array([2.0]))(np.array([0.1, 0.9])).tolist() == [2.0, 2.0]
