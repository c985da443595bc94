"""Kernels for functions with values in R^p: columns (node, component), component last."""

import numpy as np
import pytest

from mercer.exceptions import DataError
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import Kronecker
from mercer.measures import Grid, Measure
from mercer.operator_valued import (
    Decomposable,
    ExpansionKernel,
    HarmonicBasis,
    check_output_matrix,
    leading_components,
)
from mercer.operator_valued.components import component_measure
from mercer.testing import check_operator

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(5, 2)), RNG.normal(size=(3, 2))
NODES = Grid([0.0, 0.3, 0.5, 1.0]).build()
POINTS = np.array([[0.1], [0.3], [0.75]])
A = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.5]])
COEF = RNG.normal(size=(5, 12))
K, T = Gaussian(0.7), Gaussian(3.0)


def kernel_value(x, s, z, t, matrix):
    """k_X(x, z) k_Θ(s, t) A, by hand."""
    return np.exp(-0.7 * np.sum((x - z) ** 2)) * np.exp(-3 * np.sum((s - t) ** 2)) * matrix


@pytest.mark.parametrize("matrix", [None, A], ids=["identity", "A"])
def test_gram_is_that_of_the_product_kernel(matrix):
    bound = Decomposable(K, T, matrix).bind(NODES, n_components=3)
    gram = bound.gram(X)
    assert isinstance(gram, Kronecker)
    used = np.eye(3) if matrix is None else matrix
    explicit = np.block(
        [[kernel_value(x, s, z, t, used) for z in X for t in NODES.points] for x in X for s in NODES.points]
    )
    np.testing.assert_allclose(gram.to_dense(), explicit, atol=1e-13)
    check_operator(gram, COEF)
    np.testing.assert_allclose(bound.expand(X, COEF).evaluate(X, NODES.points), gram @ COEF, atol=1e-12)


@pytest.mark.parametrize("matrix", [None, A], ids=["identity", "A"])
@pytest.mark.parametrize("points", [POINTS, np.linspace(0, 1, 9)[:, None]], ids=["few", "many"])
def test_evaluate_is_the_representer_sum(matrix, points):
    bound = Decomposable(K, T, matrix).bind(NODES, n_components=3)
    used, cube = np.eye(3) if matrix is None else matrix, COEF.reshape(5, 4, 3)
    expected = [
        [
            sum(kernel_value(z, t, X[i], NODES.points[j], used) @ cube[i, j] for i in range(5) for j in range(4))
            for t in points
        ]
        for z in Z
    ]
    np.testing.assert_allclose(bound.expand(X, COEF).evaluate(Z, points), np.reshape(expected, (3, -1)), atol=1e-12)


@pytest.mark.parametrize("p", [1, 3])
def test_slopes_are_difference_quotients(p):
    bound, coef, step = Decomposable(K, T, None if p == 1 else A).bind(NODES), COEF[:, : 4 * p], 1e-6
    ahead, behind = (bound.expand(X, coef).evaluate(Z, POINTS + d) for d in (step, -step))
    np.testing.assert_allclose(bound.expand(X, coef).slope(Z, POINTS), (ahead - behind) / (2 * step), atol=1e-7)


def test_one_component_may_have_a_matrix():
    plain, one = Decomposable(K, T).bind(NODES), Decomposable(K, T, [[1.0]]).bind(NODES, n_components=1)
    coef = COEF[:, :4]
    np.testing.assert_array_equal(one.gram(X).to_dense(), plain.gram(X).to_dense())
    np.testing.assert_array_equal(one.expand(X, coef).evaluate(Z, POINTS), plain.expand(X, coef).evaluate(Z, POINTS))
    assert plain.measure is NODES
    scaled = Decomposable(K, T, np.array([[2.0]])).bind(NODES)
    np.testing.assert_allclose(scaled.gram(X).to_dense(), 2 * plain.gram(X).to_dense())
    assert plain.analyse(coef) is coef


def test_the_matrix_says_how_many_components_there_are():
    assert len(Decomposable(K, T, A).bind(NODES).measure) == 12
    assert len(Decomposable(K, T).bind(NODES, n_components=2).measure) == 8
    with pytest.raises(DataError, match=r"Decomposable: output_matrix must have shape .* = \(2, 2\); got \(3, 3\)"):
        Decomposable(K, T, A).bind(NODES, n_components=2)
    for bad, message in ((-A, "positive semi-definite"), (np.ones((2, 3)), "shape"), (3.0, "shape"), ("A", "numbers")):
        with pytest.raises(DataError, match=f"Decomposable: output_matrix must .*{message}"):
            Decomposable(K, T, bad)


@pytest.mark.parametrize("p", [1, 2])
def test_slopes_of_components_are_represented(p):
    bound = Decomposable(K, T).bind(NODES, POINTS, n_components=p)
    coef = RNG.normal(size=(5, 7 * p))
    np.testing.assert_allclose(bound.observe(bound.expand(X, coef), X), bound.gram(X) @ coef, atol=1e-12)


def test_kernels_of_low_rank_and_many_nodes_are_not_formed():
    many = Grid(np.linspace(0, 1, 1200)).build()
    gram = Decomposable(K, Laplacian(1.0)).bind(many).gram(X)
    dense = Decomposable(K, Laplacian(1.0)).bind(Grid(np.linspace(0, 1, 12)).build()).gram(X)
    assert type(gram.right) is not type(dense.right)
    expansion = ExpansionKernel(HarmonicBasis(3).bind(NODES))
    low = Decomposable(K, expansion).bind(NODES).gram(X)
    np.testing.assert_allclose(low.right.to_dense(), expansion(NODES.points), atol=1e-14)


def test_the_measure_repeats_nodes():
    measure = component_measure(Measure(np.array([0.0, 1.0]), np.array([0.25, 0.75])), 3)
    np.testing.assert_array_equal(measure.weights, [0.25] * 3 + [0.75] * 3)
    np.testing.assert_array_equal(measure.points[:, 0], [0, 0, 0, 1, 1, 1])
    cube = RNG.normal(size=(5, 2, 3))
    np.testing.assert_allclose(measure.norm(cube.reshape(5, 6)) ** 2, np.sum(cube**2, axis=2) @ [0.25, 0.75])


def test_strict_arrays_give_the_same():
    xp = pytest.importorskip("array_api_strict")
    x, z, coef, points = (xp.asarray(a) for a in (X, Z, COEF, POINTS))
    here = Decomposable(K, T, A).bind(NODES)
    there = Decomposable(K, T, A).bind(NODES.like(x))
    for name in ("evaluate", "slope"):
        got = getattr(there.expand(x, coef), name)(z, points)
        assert type(got) is type(x)
        np.testing.assert_allclose(np.from_dlpack(got), getattr(here.expand(X, COEF), name)(Z, POINTS), atol=1e-12)
    np.testing.assert_allclose(np.from_dlpack(there.gram(x) @ coef), here.gram(X) @ COEF, atol=1e-12)


# --- output matrices


def test_matrices_that_are_accepted():
    np.testing.assert_array_equal(check_output_matrix("it", [[1, 0], [0, 2]], 2), np.diag([1.0, 2.0]))
    thin = RNG.normal(size=(4, 2))
    np.testing.assert_allclose(check_output_matrix("it", thin @ thin.T, 4), thin @ thin.T)
    nearly = np.eye(2) + 1e-13 * RNG.normal(size=(2, 2))
    np.testing.assert_array_equal(check_output_matrix("it", nearly, 2), (nearly + nearly.T) / 2)
    check_output_matrix("it", 1e-200 * np.eye(2), 2)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (-np.eye(2), "positive semi-definite"),
        (np.zeros((2, 2)), "not zero"),
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric"),
        (np.eye(3), r"\(2, 2\); got \(3, 3\)"),
        ([[np.inf, 0.0], [0.0, 1.0]], "NaN or infinity"),
        ([["a", "b"], ["b", "a"]], "must hold numbers"),
    ],
)
def test_matrices_that_are_refused(matrix, message):
    with pytest.raises(DataError, match=f"it: output_matrix .*{message}"):
        check_output_matrix("it", matrix, 2)


def test_leading_components_project_on_the_first_singular_vectors():
    Y = RNG.normal(size=(6, 4, 3)) @ np.diag([3.0, 1.0, 0.1])
    projector = leading_components(Y, 2)
    vectors = np.linalg.svd(Y.reshape(-1, 3))[2][:2].T
    np.testing.assert_allclose(projector, vectors @ vectors.T, atol=1e-12)
    np.testing.assert_allclose(leading_components(Y, 3), np.eye(3), atol=1e-12)
    with_holes = np.concatenate([Y, np.full((1, 4, 3), np.nan)])
    np.testing.assert_allclose(leading_components(with_holes, 2), projector, atol=1e-12)
