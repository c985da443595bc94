"""What curves are expected to be, given few of their values: against the conditional mean of a joint normal."""

import numpy as np
import pytest
import scipy.interpolate

from mercer._state import is_plain
from mercer.preprocessing.curve_population import CurvePopulation

T = np.linspace(0, 1, 30)


def functions(t):
    t = np.asarray(t)
    return np.stack([np.sin(2 * np.pi * t), np.cos(2 * np.pi * t), np.sin(4 * np.pi * t)], axis=1)


def sparse_curves(n, noise, rng):
    """Return sparse noisy observations of n curves, and the curves themselves on T."""
    scores = rng.normal(size=(n, 3)) * [1.0, 0.7, 0.4]
    points = [np.sort(rng.uniform(size=rng.integers(2, 7))) for _ in range(n)]
    pairs = [(t, t + functions(t) @ c + noise * rng.normal(size=len(t))) for t, c in zip(points, scores, strict=True)]
    return pairs, T + scores @ functions(T).T


def conditional_mean(population, pair):
    """Return the mean at T given the values of a pair, by conditioning all of them at once."""
    points, values = pair
    everywhere = np.concatenate([points, T])
    size = len(population.mean)
    inside = np.clip(everywhere, *population.domain)  # beyond the data the splines are constant
    splines = np.column_stack(
        [scipy.interpolate.BSpline(population.knots, np.eye(size)[k], 3)(inside) for k in range(size)]
    )
    covariance = splines @ population.covariance @ splines.T
    apart = np.abs(everywhere[:, None] - everywhere)
    if population.length:
        covariance += population.variance * np.exp(-apart / population.length)
    else:
        covariance += population.variance * np.eye(len(everywhere))
    mean, k = splines @ population.mean, len(points)
    return mean[k:] + covariance[k:, :k] @ np.linalg.solve(covariance[:k, :k], values - mean[:k])


@pytest.mark.parametrize("length", [0.0, 0.05])
def test_expectations_are_conditional_means(length):
    pairs, _ = sparse_curves(40, 0.2, np.random.default_rng(0))
    population = CurvePopulation.learn(pairs, np.ones(40), length)
    found = population.expect(pairs[:6], T)
    np.testing.assert_allclose(found, [conditional_mean(population, pair) for pair in pairs[:6]], atol=1e-6)
    assert is_plain(population.state())
    assert np.array_equal(CurvePopulation.from_state(population.state()).expect(pairs[:6], T), found)


def test_sparse_curves_are_nearly_as_good_as_with_the_true_population():
    noise = 0.2
    pairs, true = sparse_curves(150, noise, np.random.default_rng(1))
    population = CurvePopulation.learn(pairs, np.ones(150), 0.0)
    error = np.sqrt(np.mean((population.expect(pairs, T) - true) ** 2))

    def best(t, x):
        among = (functions(t) * [1.0, 0.49, 0.16]) @ functions(t).T + noise**2 * np.eye(len(t))
        return T + (functions(T) * [1.0, 0.49, 0.16]) @ functions(t).T @ np.linalg.solve(among, x - t)

    least = np.sqrt(np.mean((np.array([best(t, x) for t, x in pairs]) - true) ** 2))
    assert least < error < 1.25 * least
    assert error < 0.5 * np.sqrt(np.mean((true - T) ** 2))  # the mean curve alone
    assert population.variance == pytest.approx(noise**2, rel=0.4)


def test_steps_of_the_fit_raise_the_likelihood_to_a_stationary_point():
    """Of the likelihood with its prior, by brute force: no small change of σ² or of the scale of C is better."""
    pairs, _ = sparse_curves(60, 0.3, np.random.default_rng(2))
    population = CurvePopulation.learn(pairs, np.ones(60), 0.0)
    size, values = len(population.mean), np.concatenate([x for _, x in pairs])
    places = np.mean([population.knots[1:-3], population.knots[2:-2], population.knots[3:-1]], axis=0)
    span = population.knots[-1] - population.knots[0]
    prior = np.exp(-(((places[:, None] - places) / (0.15 * span)) ** 2) / 2) + 1e-3 * np.eye(size)
    prior *= values.var()

    def penalised(covariance, variance):
        total = 4 * (np.linalg.slogdet(covariance)[1] + np.trace(np.linalg.solve(covariance, prior)))
        for t, x in pairs:
            splines = scipy.interpolate.BSpline.design_matrix(t, population.knots, 3).toarray()
            among = splines @ covariance @ splines.T + variance * np.eye(len(t))
            off = x - splines @ population.mean
            total += np.linalg.slogdet(among)[1] + off @ np.linalg.solve(among, off)
        return total

    best = penalised(population.covariance, population.variance)
    for factor in (0.8, 1.25):
        assert penalised(population.covariance, factor * population.variance) > best
        assert penalised(factor * population.covariance, population.variance) > best


def test_weights_count_curves():
    pairs, _ = sparse_curves(30, 0.2, np.random.default_rng(3))
    twice = CurvePopulation.learn([*pairs, *pairs[:10]], np.ones(40), 0.0)
    weighted = CurvePopulation.learn(pairs, np.where(np.arange(30) < 10, 2.0, 1.0), 0.0)
    assert twice.expect(pairs, T) == pytest.approx(weighted.expect(pairs, T), abs=1e-9)


def test_details_are_kept_and_points_beyond_say_nothing():
    rng = np.random.default_rng(4)
    values = np.sin(6 * T) + rng.normal(size=(25, 30))
    pairs = [(T, row) for row in values]
    population = CurvePopulation.learn(pairs, np.ones(25), float(T[1]))
    np.testing.assert_allclose(population.expect(pairs, T), values, atol=1e-6)
    beyond = [(np.append(T[:5], 7.0), np.append(values[0, :5], 99.0))]
    np.testing.assert_allclose(population.expect(beyond, T), population.expect([(T[:5], values[0, :5])], T))
    nothing = population.expect([(np.zeros(0), np.zeros(0))], T)[0]
    np.testing.assert_allclose(nothing, values.mean(axis=0), atol=0.6)


def test_constant_curves():
    pairs = [(T[k::5], np.full(len(T[k::5]), 3.0)) for k in range(5)]
    for length in (0.0, 0.1):
        found = CurvePopulation.learn(pairs, np.ones(5), length).expect(pairs, T)
        np.testing.assert_allclose(found, 3.0, atol=1e-6)
