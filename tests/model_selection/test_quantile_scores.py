"""Scores of predicted quantiles against scikit-learn, closed forms and definitions."""

import numpy as np
import pytest
from scipy import integrate, stats
from sklearn.metrics import d2_pinball_score, mean_pinball_loss

from mercer.exceptions import DataError
from mercer.model_selection import coverage, crossing, d2_integrated_pinball, integrated_pinball, mean_crps
from mercer.quantile_function import QuantileFunction

strict = pytest.importorskip("array_api_strict")

RNG = np.random.default_rng(0)
N = 21
Y = RNG.normal(size=N)
LEVELS = np.array([0.1, 0.35, 0.5, 0.95])
Q = Y[:, None] + RNG.normal(size=(N, 4))
Q[3] = Y[3]  # residuals of exactly zero
COUNTS = RNG.integers(1, 4, N)


def test_pinball_is_that_of_scikit_learn():
    each = [mean_pinball_loss(Y, Q[:, j], alpha=level) for j, level in enumerate(LEVELS)]
    assert integrated_pinball(Y, Q, LEVELS) == pytest.approx(np.mean(each))
    weights = np.array([0.3, 2.0, 0.1, 1.0])
    assert integrated_pinball(Y, Q, LEVELS, weights) == pytest.approx(each @ weights)
    for j, level in enumerate(LEVELS):
        assert integrated_pinball(Y, Q[:, [j]], [level]) == pytest.approx(each[j])
        weighted = mean_pinball_loss(Y, Q[:, j], alpha=level, sample_weight=COUNTS)
        assert integrated_pinball(Y, Q[:, [j]], [level], sample_weight=COUNTS) == pytest.approx(weighted)


@pytest.mark.parametrize("level", [0.1, 0.35, 0.5, 0.95])
def test_d2_of_one_level_is_that_of_scikit_learn(level):
    """With n = 21 these quantiles are unique, and interpolating between order statistics changes nothing."""
    j = int(np.flatnonzero(level == LEVELS)[0])
    assert d2_integrated_pinball(Y, Q[:, [j]], [level]) == pytest.approx(d2_pinball_score(Y, Q[:, j], alpha=level))


def test_d2_special_values():
    perfect = np.broadcast_to(Y[:, None], Q.shape)
    assert d2_integrated_pinball(Y, perfect, LEVELS) == pytest.approx(1.0)
    null = np.broadcast_to(np.quantile(Y, LEVELS, method="inverted_cdf"), Q.shape)
    assert d2_integrated_pinball(Y, null, LEVELS) == pytest.approx(0.0, abs=1e-12)
    worse = null + 0.1
    assert d2_integrated_pinball(Y, worse, LEVELS) < 0
    constant = np.full(N, 2.0)
    assert d2_integrated_pinball(constant, np.full_like(Q, 2.0), LEVELS) == 1.0
    assert d2_integrated_pinball(constant, np.full_like(Q, 2.5), LEVELS) == 0.0


def normal_crps(y, mean, sd):
    """Gneiting and Raftery (2007), equation 21."""
    z = (y - mean) / sd
    return sd * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))


def test_crps_of_a_normal_distribution():
    levels = (np.arange(4000) + 0.5) / 4000
    mean, sd = RNG.normal(size=N), RNG.uniform(0.5, 2.0, N)
    function = QuantileFunction(levels, mean[:, None] + sd[:, None] * stats.norm.ppf(levels))
    expected = normal_crps(Y, mean, sd)
    assert mean_crps(Y, function) == pytest.approx(expected.mean(), abs=2e-4)
    assert mean_crps(Y, function, COUNTS) == pytest.approx(np.average(expected, weights=COUNTS), abs=2e-4)


@pytest.mark.parametrize("levels", [np.array([0.5]), np.array([0.1, 0.9]), LEVELS])
@pytest.mark.parametrize("monotone", [True, False])
def test_crps_is_twice_the_integral_of_the_pinball_loss(levels, monotone):
    values = Q[:, : len(levels)]
    values = np.sort(values, axis=1) if monotone else values
    function = QuantileFunction(levels, values)

    def pinball(theta, i):
        residual = Y[i] - np.interp(theta, levels, values[i])
        return max(theta * residual, (theta - 1) * residual)

    for i in range(6):
        kinks = np.concatenate([levels, np.linspace(0, 1, 41)[1:-1]])
        exact = 2 * integrate.quad(pinball, 0, 1, args=(i,), points=kinks, limit=500)[0]
        one = QuantileFunction(levels, values[i : i + 1])
        assert mean_crps(Y[i : i + 1], one) == pytest.approx(exact, abs=1e-6)
    parts = [mean_crps(Y[i : i + 1], QuantileFunction(levels, values[i : i + 1])) for i in range(N)]
    assert mean_crps(Y, function) == pytest.approx(np.mean(parts))


def test_crps_is_the_integral_of_the_squared_distance_of_the_cdfs():
    function = QuantileFunction(LEVELS, np.sort(Q, axis=1)[:1])
    z = np.linspace(-8, 8, 16_001)
    F = function.cdf(z[None, :])[0]
    expected = np.sum((F - (z >= Y[0])) ** 2) * (z[1] - z[0])
    assert mean_crps(Y[:1], function) == pytest.approx(expected, abs=2e-3)


def test_crps_of_a_point_mass_is_the_absolute_error():
    function = QuantileFunction([0.3], Y[:, None] + 0.7)
    assert mean_crps(Y, function) == pytest.approx(0.7)


def test_coverage():
    interval = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    y = np.array([0.0, 1.0, 1.1, -0.1])
    assert coverage(y, interval) == 0.5
    assert coverage(y, interval, np.array([1.0, 1.0, 2.0, 0.0])) == 0.5
    assert coverage(y, interval, np.array([3.0, 0.0, 1.0, 0.0])) == 0.75


def test_crossing():
    assert crossing(np.sort(Q, axis=1)) == 0.0
    assert crossing(np.array([[1.0, 0.0, 3.0], [0.0, 0.5, 0.0]])) == pytest.approx((1.0 + 0.5) / 4)
    assert crossing(Q[:, :1]) == 0.0
    assert crossing(Q) == pytest.approx(np.mean(QuantileFunction(LEVELS, Q).crossing))


def test_weights_are_repetitions():
    index = np.repeat(np.arange(N), COUNTS)
    y, q = Y[index], Q[index]
    function, repeated = QuantileFunction(LEVELS, Q), QuantileFunction(LEVELS, q)
    weights = np.array([0.3, 2.0, 0.1, 1.0])
    for scale in (1, 7.5):
        assert integrated_pinball(Y, Q, LEVELS, weights, scale * COUNTS) == pytest.approx(
            integrated_pinball(y, q, LEVELS, weights)
        )
        assert d2_integrated_pinball(Y, Q, LEVELS, weights, scale * COUNTS) == pytest.approx(
            d2_integrated_pinball(y, q, LEVELS, weights)
        )
        assert mean_crps(Y, function, scale * COUNTS) == pytest.approx(mean_crps(y, repeated))
        assert coverage(Y, np.sort(Q[:, [0, 3]]), scale * COUNTS) == pytest.approx(coverage(y, np.sort(q[:, [0, 3]])))


def test_splitting_a_level_changes_nothing():
    weights = np.array([0.3, 2.0, 0.1, 1.0])
    twice = np.tile(LEVELS, 2), np.tile(weights, 2) / 2
    assert integrated_pinball(Y, np.tile(Q, 2), *twice) == pytest.approx(integrated_pinball(Y, Q, LEVELS, weights))
    assert d2_integrated_pinball(Y, np.tile(Q, 2), *twice) == pytest.approx(
        d2_integrated_pinball(Y, Q, LEVELS, weights)
    )


def test_other_arrays_are_welcome():
    y, q, levels = strict.asarray(Y), strict.asarray(Q), strict.asarray(LEVELS)
    assert integrated_pinball(y, q, levels) == integrated_pinball(Y, Q, LEVELS)
    assert d2_integrated_pinball(y, q, levels) == d2_integrated_pinball(Y, Q, LEVELS)
    assert mean_crps(y, QuantileFunction(levels, q)) == mean_crps(Y, QuantileFunction(LEVELS, Q))
    assert crossing(q) == crossing(Q)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda: integrated_pinball(Y[:, None], Q, LEVELS), "y must have shape"),
        (lambda: integrated_pinball(Y[:-1], Q, LEVELS), "y must have shape"),
        (lambda: integrated_pinball(Y, Q[:, 0], [0.5]), "quantiles must have shape"),
        (lambda: integrated_pinball(Y, Q[:, :1], LEVELS), "quantiles must have shape"),
        (lambda: d2_integrated_pinball(Y, Q[:, :1], LEVELS), "quantiles must have shape"),
        (lambda: mean_crps(Y[:-1], QuantileFunction(LEVELS, Q)), "y must have shape"),
        (lambda: coverage(Y, Q), r"interval must have shape \(21, 2\)"),
        (lambda: coverage(Y[:-1], Q[:, :2]), "y must have shape"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(score, message):
    with pytest.raises(DataError, match=message):
        score()
