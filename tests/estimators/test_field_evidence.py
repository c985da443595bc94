"""Evidence of vector fields: against the density of a normal distribution, and finite differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from mercer.estimators.field_evidence import GaussianPart, GivenPart, _evidence, tune_field
from mercer.kernels import Gaussian, Matern
from mercer.operator_valued import CurlFree, DivergenceFree, Helmholtz

BOTH = [CurlFree, DivergenceFree]


def rows(d=2, n=7, seed=0):
    rng = np.random.default_rng(seed)
    X, Y, weight = rng.normal(size=(n, d)), rng.normal(size=(n, d)), rng.uniform(0.5, 2, n)
    Y[2, 0] = np.nan
    return X, Y, weight


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("d", [2, 3])
def test_parts_are_the_kernels_in_units_of_their_size(kind, d):
    X = rows(d)[0]
    part, lengths = GaussianPart(kind, X), np.array([-0.3])
    kernel, size = part.record(lengths)
    assert kernel.kernel.gamma == pytest.approx(0.5 * np.exp(0.6))
    expected = kernel.blocks(X, X).transpose(0, 2, 1, 3).reshape(7 * d, 7 * d)
    np.testing.assert_allclose(size * part.matrix(lengths)[0], expected, atol=1e-12)
    np.testing.assert_allclose(np.diagonal(part.matrix(lengths)[0]), 1.0)
    given = GivenPart(kernel, X)
    np.testing.assert_allclose(given.size * given.matrix(np.zeros(0))[0], expected, atol=1e-12)
    assert given.size == pytest.approx(size)


@pytest.mark.parametrize("shift", [None, 0.2])
@pytest.mark.parametrize("variance", [0.0, 1.0, np.inf])
@pytest.mark.parametrize("kinds", [BOTH, [DivergenceFree], [Helmholtz(Matern(2.5, 1.0), Gaussian(0.4), weight=0.3)]])
def test_slopes_by_finite_differences(kinds, variance, shift):
    X, Y, weight = rows()
    evidence = _evidence(kinds, X, Y, weight, variance, shift)
    means, _ = evidence.prior
    p = means + np.linspace(-0.5, 0.4, len(means))
    value, slopes = evidence(p)
    assert np.isfinite(value)
    numerical = approx_fprime(p, lambda q: evidence(q)[0], 1e-6)
    np.testing.assert_allclose(slopes, numerical, rtol=1e-4, atol=1e-4)


def test_it_is_minus_the_log_density_of_a_normal_distribution():
    X, Y, weight = rows()
    seen = ~np.isnan(Y.ravel())
    evidence = _evidence(BOTH, X, Y, weight, 1.0, None)
    means, deviations = evidence.prior

    def density(p):
        first, second = CurlFree(Gaussian(0.5 * np.exp(-2 * p[0]))), DivergenceFree(Gaussian(0.5 * np.exp(-2 * p[1])))
        covariance = np.exp(2 * p[2]) * first.blocks(X, X) * np.exp(2 * p[0])
        covariance = covariance + np.exp(2 * p[3]) * second.blocks(X, X) * np.exp(2 * p[1])
        covariance = (covariance + np.eye(2)).transpose(0, 2, 1, 3).reshape(14, 14)  # with a constant of variance 1
        covariance += np.diag(np.exp(2 * p[4]) / np.repeat(weight, 2))
        fit = multivariate_normal(np.zeros(seen.sum()), covariance[np.ix_(seen, seen)]).logpdf(Y.ravel()[seen])
        return -fit + 0.5 * np.sum(((p - means) / deviations) ** 2)

    p, q = means + 0.2, means + np.array([0.5, -0.5, 0.3, 0.1, 0.8])
    assert evidence(p)[0] - evidence(q)[0] == pytest.approx(density(p) - density(q), abs=1e-5)


def test_values_with_a_constant_and_without_can_be_compared():
    """With a constant of tiny variance the evidence is that without one."""
    X, Y, weight = rows()
    with_one, without = (_evidence(BOTH, X, Y, weight, variance, None) for variance in (1e-12, 0.0))
    p = without.prior[0]
    assert with_one(p)[0] == pytest.approx(without(p)[0], abs=1e-9)


def test_units_do_not_matter():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(20, 2))
    Y = np.stack([np.sin(2 * X[:, 1]), X[:, 0]], axis=1) + 0.1 * rng.normal(size=X.shape)
    one, other = tune_field(BOTH, X, Y), tune_field(BOTH, 1e3 * X, 1e-4 * Y)
    assert other.kernel.divergence_free.gamma == pytest.approx(1e-6 * one.kernel.divergence_free.gamma, rel=1e-2)
    assert other.kernel.weight == pytest.approx(one.kernel.weight, rel=2e-2)
    assert other.shift * 1e6 == pytest.approx(one.shift, rel=2e-2)  # K is a second derivative


@pytest.mark.parametrize("Y", [np.zeros((6, 2)), np.ones((6, 2))])
def test_fields_without_variation(Y):
    tuned = tune_field(BOTH, rows(n=6)[0], Y, constant_variance=np.inf)
    assert np.isfinite(tuned.loss)
    assert tuned.shift > 0


def test_points_that_are_all_the_same():
    tuned = tune_field(BOTH, np.ones((6, 2)), rows(n=6, seed=2)[0])
    assert np.isfinite(tuned.loss)
    assert tuned.shift > 0
