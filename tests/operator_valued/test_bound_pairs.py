"""Curves at points of their own: Gram and evaluation against sums over observations."""

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError
from mercer.kernels import Gaussian, Precomputed
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import BoundPairs, Decomposable
from mercer.operator_valued import expansion as module
from mercer.problems import curve_problem
from mercer.solvers import ClosedForm

RNG = np.random.default_rng(0)
X, Z = RNG.uniform(size=(4, 2)), RNG.uniform(size=(3, 2))
ROWS = np.array([0, 0, 1, 3, 3, 3])
POINTS = RNG.uniform(size=(6, 1))
POINTS[4] = POINTS[0]
THETA = np.linspace(0, 1, 5)[:, None]
A = np.array([[2.0, 0.5], [0.5, 1.0]])
K_X, K_T = Gaussian(1.5), Gaussian(4.0)


def explicit(coef, matrix, constant=0.0, section=K_T):
    """h(x)(θ) as a sum over observations, one at a time."""
    total = np.zeros((len(Z), len(THETA), coef.shape[1]))
    for q in range(len(ROWS)):
        weight = K_X(Z, X[ROWS[q]][None])[:, 0] + constant
        total += weight[:, None, None] * section(POINTS[q][None], THETA)[0][None, :, None] * (matrix @ coef[q])
    return total.reshape(len(Z), -1)


@pytest.mark.parametrize("mean_scale", [0.0, 50.0])
@pytest.mark.parametrize("matrix", [None, A], ids=["scalar", "matrix"])
@pytest.mark.parametrize("block", [None, 1], ids=["whole", "blocks"])
def test_evaluate_is_the_sum_over_observations(matrix, mean_scale, block, monkeypatch):
    if block is not None:
        monkeypatch.setattr(module, "BLOCK_BYTES", block)
    p = 1 if matrix is None else 2
    kernel = K_X + mean_scale if mean_scale else K_X
    pairs = BoundPairs(kernel, K_T, ROWS, POINTS, p, matrix)
    coef = RNG.normal(size=(6, p))
    M = np.eye(1) if matrix is None else matrix
    np.testing.assert_allclose(pairs.expand(X, coef).evaluate(Z, THETA), explicit(coef, M, mean_scale), atol=1e-12)
    slope = explicit(coef, M, mean_scale, lambda s, t: K_T.derivative(s, t, (0, 1)))
    np.testing.assert_allclose(pairs.expand(X, coef).slope(Z, THETA), slope, atol=1e-12)
    assert pairs.expand(X, coef).evaluate(Z, THETA[:0]).shape == (3, 0)


@pytest.mark.parametrize("matrix", [None, A], ids=["scalar", "matrix"])
def test_gram_gives_the_values_at_the_observations(matrix):
    p = 1 if matrix is None else 2
    pairs = BoundPairs(K_X, K_T, ROWS, POINTS[:, 0], p, matrix)
    assert len(pairs.measure) == p
    np.testing.assert_array_equal(pairs.measure.weights, np.ones(p))
    coef = RNG.normal(size=(6, p))
    values = pairs.expand(X, coef).evaluate(X, POINTS).reshape(4, 6, p)
    np.testing.assert_allclose(pairs.gram(X) @ coef, values[ROWS, np.arange(6)], atol=1e-12)
    np.testing.assert_array_equal(pairs.analyse(coef[:, 0]), coef[:, :1])
    assert pairs.analyse(coef) is coef


def test_precomputed_input_kernel():
    gram = K_X(X)
    coef = RNG.normal(size=(6, 1))
    pairs = BoundPairs(Precomputed(), K_T, ROWS, POINTS)
    usual = BoundPairs(K_X, K_T, ROWS, POINTS)
    np.testing.assert_allclose(pairs.gram(gram) @ coef, usual.gram(X) @ coef, atol=1e-12)
    np.testing.assert_allclose(
        pairs.expand(gram, coef).evaluate(K_X(Z, X), THETA), usual.expand(X, coef).evaluate(Z, THETA), atol=1e-12
    )


def test_a_mean_curve_that_is_almost_free_is_learned():
    """Curves that are a common function far from 0 and little else: λ must not shrink that function."""
    rng = np.random.default_rng(1)
    X, rows = rng.uniform(size=(40, 1)), np.repeat(np.arange(40), 5)
    points = rng.uniform(size=(200, 1))
    Y = 10 + np.sin(3 * points)
    error = {}
    for scale in (0.0, 100.0):
        kernel = Gaussian(1.0) + scale if scale else Gaussian(1.0)
        pairs = BoundPairs(kernel, Gaussian(4.0), rows, points)
        problem = curve_problem(pairs.gram(X), Square(), Y, rows, alpha=0.1)
        coef = problem.primal_coef(ClosedForm().solve(problem).coef)
        new = pairs.expand(X, coef).evaluate(np.array([[0.5]]), THETA)
        error[scale] = np.abs(new - 10 - np.sin(3 * THETA.T)).max()
    assert 5 * error[100.0] < error[0.0]


def test_shared_points_evaluate_like_the_decomposable_kernel():
    m, coef = 3, RNG.normal(size=(4, 3))
    theta = RNG.uniform(size=(m, 1))
    pairs = BoundPairs(K_X, K_T, np.repeat(np.arange(4), m), np.tile(theta, (4, 1)))
    grid = Decomposable(K_X, K_T).bind(Measure(theta, np.ones(m)))
    flat = coef.reshape(-1, 1)
    np.testing.assert_allclose(
        pairs.expand(X, flat).evaluate(Z, THETA), grid.expand(X, coef).evaluate(Z, THETA), atol=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": POINTS[:4]}, "points must have shape"),
        ({"output_matrix": np.array([[1.0, 2.0], [2.0, 1.0]]), "n_components": 2}, "positive semi-definite"),
        ({"output_matrix": A}, "shape"),
        ({"n_components": 0}, "n_components must be"),
    ],
)
def test_bad_values_are_refused(arguments, message):
    with pytest.raises(MercerError, match=message):
        BoundPairs(**{"kernel": K_X, "output_kernel": K_T, "rows": ROWS, "points": POINTS, **arguments})


def test_a_curve_without_an_input_is_refused():
    with pytest.raises(DataError, match="names curve 3, but X has 3 rows"):
        BoundPairs(K_X, K_T, ROWS, POINTS).gram(X[:3])
