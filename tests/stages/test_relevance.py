"""Scales by evidence: against scikit-learn's Gaussian process, finite differences, and columns known to matter."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel

from mercer.stages import Relevance, choose_relevance
from mercer.stages.relevance import CONSTANT_VARIANCE, EVIDENCE_ROWS, JITTER, _posterior, _prior

RNG = np.random.default_rng(0)
Z = RNG.normal(size=(30, 3))
T = np.sin(Z[:, 0]) + 0.3 * RNG.normal(size=30)
POINT = np.log([0.7, 0.2, 0.05, 1.3, 0.4, 0.3])


def test_the_evidence_is_that_of_a_gaussian_process():
    found = Relevance.of_vector(POINT)
    A = found.scaled(Z)
    value = _posterior(Z, T[:, None], 1.0, np.ones(30), -np.log(3))(POINT)[0] - _prior(POINT, 3, -np.log(3))[0]
    covariance = found.kernel(A, A) + (found.noise + JITTER) * np.eye(30)
    expected = -multivariate_normal(np.zeros(30), covariance).logpdf(T) - 15 * np.log(2 * np.pi)
    assert value == pytest.approx(expected, rel=1e-10)
    kernel = (
        ConstantKernel(CONSTANT_VARIANCE)
        + ConstantKernel(found.smooth) * RBF(1.0)
        + ConstantKernel(found.linear) * DotProduct(1e-5)
        + WhiteKernel(found.noise)
    )
    process = GaussianProcessRegressor(kernel, optimizer=None, alpha=JITTER).fit(A, T)
    rival = -process.log_marginal_likelihood_value_ - 15 * np.log(2 * np.pi)
    assert value == pytest.approx(rival, rel=1e-6)


@pytest.mark.parametrize("noise", [np.ones(30), RNG.uniform(0.5, 2.0, size=30)], ids=["equal", "weights"])
@pytest.mark.parametrize("columns", [1, 2])
def test_gradients(noise, columns):
    several = np.column_stack([T, 0.6 * np.cos(Z[:, 1])])[:, :columns]
    loss = _posterior(Z, several, 1 + 0.36 * (columns - 1), noise, -np.log(3))
    gradient = loss(POINT)[1]
    for k, step in enumerate(1e-6 * np.eye(len(POINT))):
        difference = (loss(POINT + step)[0] - loss(POINT - step)[0]) / 2e-6
        assert gradient[k] == pytest.approx(difference, rel=1e-5, abs=1e-7)


def test_columns_that_matter_are_found():
    rng = np.random.default_rng(1)
    many = rng.normal(size=(250, 12))
    t = np.sin(2 * many[:, 3]) + 0.5 * many[:, 7] + 0.2 * rng.normal(size=250)
    found = choose_relevance(many, t / t.std())
    assert set(np.argsort(found.scales)[-2:]) == {3, 7}
    assert 0.01 < found.noise * t.var() < 0.1  # 0.2² = 0.04


def test_noise_has_no_relevant_column():
    rng = np.random.default_rng(2)
    found = choose_relevance(rng.normal(size=(200, 5)), rng.normal(size=200))
    assert found.noise > 0.6
    assert found.smooth * found.scales.max() < 0.2


def test_few_rows_keep_one_common_scale():
    """The prior holds columns together where the data say little."""
    rng = np.random.default_rng(3)
    few = rng.normal(size=(12, 4))
    found = choose_relevance(few, few.sum(axis=1) / 2 + 0.1 * rng.normal(size=12))
    assert found.scales.max() < 30 * found.scales.min()


def test_a_weight_of_two_is_half_the_noise():
    weight = np.where(np.arange(30) < 10, 2.0, 0.5)
    loss = _posterior(Z, T[:, None], 1.0, 1 / weight, -np.log(3))(POINT)[0] - _prior(POINT, 3, -np.log(3))[0]
    found = Relevance.of_vector(POINT)
    A = found.scaled(Z)
    covariance = found.kernel(A, A) + np.diag(found.noise / weight + JITTER)
    expected = -multivariate_normal(np.zeros(30), covariance).logpdf(T) - 15 * np.log(2 * np.pi)
    assert loss == pytest.approx(expected, rel=1e-10)


def test_evidences_of_several_targets_are_multiplied_with_their_powers():
    other, importance = np.cos(Z[:, 1]), np.array([1.0, 0.4])
    both = choose_relevance(Z, np.column_stack([T, other]), importance=importance)
    start = both.vector
    single = [_posterior(Z, t[:, None], 1.0, np.ones(30), -np.log(3))(start)[0] for t in (T, other)]
    prior = _prior(start, 3, -np.log(3))[0]
    assert both.loss == pytest.approx(importance @ (np.array(single) - prior) + prior, rel=1e-10)
    np.testing.assert_array_equal(choose_relevance(Z, T[:, None]).vector, choose_relevance(Z, T).vector)


def test_of_many_rows_some_are_used():
    rng = np.random.default_rng(4)
    large = rng.normal(size=(2 * EVIDENCE_ROWS, 2))
    t = np.sin(large[:, 0]) + 0.1 * rng.normal(size=len(large))
    rows = rng.permutation(len(large))
    used = np.sort(rows[:EVIDENCE_ROWS])
    np.testing.assert_array_equal(
        choose_relevance(large, t, rows=rows).vector,
        choose_relevance(large[used], t[used], rows=np.arange(EVIDENCE_ROWS)).vector,
    )
