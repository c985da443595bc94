"""Outputs behind a Gram matrix: the fit to explicit vectors, and what it cannot be."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.estimators.gram_outputs import GramOutputs
from mercer.estimators.grid_curves import GridCurves
from mercer.estimators.sample import Sample
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian, Identity
from mercer.losses import EpsilonInsensitive, Huber, Square
from mercer.measures import Measure
from mercer.solvers import select

RNG = np.random.default_rng(0)
N = 25
X = RNG.uniform(size=(N, 2))
VECTORS = np.column_stack([np.sin(4 * X[:, 0]), X[:, 1], X[:, 0] * X[:, 1], 1 + X[:, 0]]) + 0.1 * RNG.normal(
    size=(N, 4)
)
WEIGHT = RNG.uniform(0.5, 2.0, N)
NEW = RNG.uniform(size=(7, 2))


def explicit(vectors=VECTORS):
    size = vectors.shape[1]
    return GridCurves(vectors, Measure(np.arange(float(size)), np.ones(size)), 1, 2, located=False)


def fit(outputs, loss, intercept):
    """h + b at new inputs, and the result."""
    sample = Sample(X, outputs, WEIGHT, fit_intercept=intercept)
    centre, sample = sample.centred()
    bound = sample.bind(Gaussian(2.0), Identity(), loss)
    problem = sample.pose(bound, loss, 1e-2)
    result = select(problem, 1e-10, max_iter=100_000).solve(problem)
    assert result.converged
    points = np.asarray(outputs.measure.points)
    support, saturated = sample.outputs.support(problem, result.coef)
    return sample.predictor(bound, problem, result)(NEW, points) + centre, result, support, saturated


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", [Square(), EpsilonInsensitive(0.2), Huber(0.1)], ids=repr)
def test_the_fit_is_that_to_explicit_vectors(loss, intercept):
    hidden = GramOutputs.from_gram(VECTORS @ VECTORS.T)
    predicted, result, support, saturated = fit(hidden, loss, intercept)
    expected, reference, its_support, its_saturated = fit(explicit(), loss, intercept)
    assert result.objective == pytest.approx(reference.objective, rel=1e-7)
    np.testing.assert_allclose(hidden.inner_products(predicted), expected @ VECTORS.T, atol=1e-3)
    np.testing.assert_allclose(np.sum(predicted**2, axis=1), np.sum(expected**2, axis=1), atol=1e-3)
    np.testing.assert_array_equal(support, its_support)
    np.testing.assert_array_equal(saturated, its_saturated)


def test_vectors_of_infinitely_many_coordinates():
    """Ridge regression to φ(y_i) of a Gaussian kernel: h(x) = Σ_i β_i(x) φ(y_i), β(x) = (K_X + λn)⁻¹ k_X(x)."""
    K_Y = Gaussian(1.0)(VECTORS)
    hidden = GramOutputs.from_gram(K_Y)
    sample = Sample(X, hidden, fit_intercept=False)
    bound = sample.bind(Gaussian(2.0), Identity(), Square())
    problem = sample.pose(bound, Square(), 1e-2)
    predict = sample.predictor(bound, problem, select(problem, 1e-8).solve(problem))
    predicted = hidden.inner_products(predict(NEW, np.asarray(hidden.measure.points)))
    beta = np.linalg.solve(Gaussian(2.0)(X) + 1e-2 * N * np.eye(N), Gaussian(2.0)(X, NEW))
    np.testing.assert_allclose(predicted, beta.T @ K_Y, atol=1e-8)


def test_norms_and_centre_are_those_of_the_vectors():
    hidden, vectors = GramOutputs.from_gram(VECTORS @ VECTORS.T), explicit()
    assert hidden.values.shape == (N, 4)
    assert len(hidden) == N
    assert hidden.complete
    assert not hidden.located
    np.testing.assert_allclose(hidden.norms(hidden.values), np.linalg.norm(VECTORS, axis=1))
    (centre, rest), (_, its_rest) = hidden.centre(), vectors.centre()
    np.testing.assert_allclose(rest.values @ rest.values.T, its_rest.values @ its_rest.values.T, atol=1e-10)
    np.testing.assert_allclose(hidden.inner_products(centre[None, :]), VECTORS.mean(axis=0)[None, :] @ VECTORS.T)
    for weight in (None, WEIGHT):
        assert hidden.total_variation(weight)[0] == pytest.approx(vectors.total_variation(weight)[0])
    some = hidden.take(np.array([3, 1]))
    assert isinstance(some, GramOutputs)
    np.testing.assert_allclose(some.values @ some.values.T, (VECTORS @ VECTORS.T)[np.ix_([3, 1], [3, 1])], atol=1e-10)


def test_objects_that_are_all_zero():
    assert GramOutputs.from_gram(np.zeros((3, 3))).values.shape == (3, 1)


def test_losses_of_coordinates_are_refused():
    outputs = GramOutputs.from_gram(VECTORS @ VECTORS.T)
    bound = outputs.bind(Gaussian(2.0))
    assert bound.output_kernel == Identity()
    with pytest.raises(UnsupportedError, match=r"have none. Take a loss of norms"):
        outputs.pose(bound, X, Huber(0.1, "pointwise"), 0.1, None, False)


@pytest.mark.parametrize(
    ("gram", "message"),
    [
        (np.ones((2, 3)), "is square"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "finite"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), "symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
    ],
)
def test_what_is_no_gram_matrix(gram, message):
    with pytest.raises(DataError, match=message):
        GramOutputs.from_gram(gram)


def test_indefinite_matrices_are_refused():
    for matrix in ([[0.0, 1.0], [1.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]):
        with pytest.raises(DataError, match="positive semi-definite"):
            GramOutputs.from_gram(np.array(matrix))
