"""Matrices between tasks, and vectors as functions of their index."""

import numpy as np
import pytest
import scipy.sparse

from mercer.exceptions import DataError, MercerError
from mercer.kernels import Gaussian, SkewedChiSquared
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, Indexed, graph_matrix, low_rank_matrix, task_similarities
from mercer.testing import check_operator_valued_kernel

RNG = np.random.default_rng(0)
F = RNG.normal(size=(4, 4))
GAMMA = F @ F.T
M = np.abs(RNG.normal(size=(4, 4)))
M = M + M.T
INDICES = Measure(np.arange(4.0), np.ones(4))


@pytest.mark.parametrize("matrix", [GAMMA, low_rank_matrix(GAMMA, 2), graph_matrix(M), graph_matrix(M, ridge=0.1)])
def test_vectors_are_functions_of_their_index(matrix):
    kernel = Decomposable(Gaussian("median"), Indexed(matrix))
    check_operator_valued_kernel(kernel, INDICES)
    X = RNG.normal(size=(5, 2))
    dense = kernel.bind(INDICES).gram(X).to_dense()
    np.testing.assert_allclose(dense, np.kron(Gaussian()(X), matrix), atol=1e-12)
    np.testing.assert_array_equal(Indexed(matrix).diagonal(INDICES.points), np.diag(Indexed(matrix)(INDICES.points)))
    positive = Decomposable(SkewedChiSquared(0.5), Indexed(matrix))
    check_operator_valued_kernel(positive, INDICES, np.abs(X))


def test_the_pseudo_inverse_of_a_laplacian():
    L = np.diag(M.sum(axis=1)) - M
    np.testing.assert_allclose(graph_matrix(M), np.linalg.pinv(L), atol=1e-10)
    np.testing.assert_allclose(graph_matrix(scipy.sparse.csr_array(M)), np.linalg.pinv(L), atol=1e-10)
    np.testing.assert_allclose(graph_matrix(M, ridge=0.3), np.linalg.inv(L + 0.3 * np.eye(4)), atol=1e-10)
    apart = scipy.linalg.block_diag(M[:2, :2], M[2:, 2:])  # two parts, each with a mean of its own
    np.testing.assert_allclose(graph_matrix(apart).sum(axis=1), 0, atol=1e-12)
    assert np.linalg.matrix_rank(graph_matrix(apart)) == 2


def test_the_norm_is_the_penalty_of_the_graph():
    """‖h‖² = Σ_ab (Γ†)_ab⟨h_a, h_b⟩ is ½ Σ_ab M_ab ‖h_a − h_b‖²."""
    X, coef = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 4))
    h = Decomposable(Gaussian(1.0), Indexed(graph_matrix(M))).bind(INDICES).expand(X, coef)
    parts = coef @ graph_matrix(M)  # h_a = Σ_i k(·, x_i) parts_ia
    K = Gaussian(1.0)(X)
    products = parts.T @ K @ parts
    own = np.diag(products)
    penalty = np.sum(M * (own[:, None] + own[None, :] - 2 * products)) / 2
    assert h.norm**2 == pytest.approx(penalty, rel=1e-9)


def test_similarities_of_targets():
    Y = RNG.normal(size=(20, 3))
    distances = np.linalg.norm(Y[:, :, None] - Y[:, None, :], axis=0)
    np.testing.assert_allclose(task_similarities(Y, gamma=0.3), np.exp(-0.3 * distances), atol=1e-12)
    median = np.median(distances[np.triu_indices(3, 1)])
    np.testing.assert_allclose(task_similarities(Y), np.exp(-distances / median), atol=1e-12)
    Y[:10, 0] = Y[10:, 1] = np.nan
    similar = task_similarities(Y, gamma=0.3)
    assert similar[0, 1] == 0  # no row in common
    seen = np.sqrt(2 * np.sum((Y[10:, 0] - Y[10:, 2]) ** 2))
    assert similar[0, 2] == pytest.approx(np.exp(-0.3 * seen))
    np.testing.assert_array_equal(np.diag(similar), 1)


def test_low_rank():
    values, vectors = np.linalg.eigh(GAMMA)
    expected = (vectors[:, 2:] * values[2:]) @ vectors[:, 2:].T
    np.testing.assert_allclose(low_rank_matrix(GAMMA, 2), expected, atol=1e-12)
    np.testing.assert_allclose(low_rank_matrix(GAMMA, 4), GAMMA, atol=1e-12)


def test_what_is_refused():
    with pytest.raises(DataError, match="positive semi-definite"):
        Indexed(-GAMMA)
    with pytest.raises(DataError, match=r"indices 0, \.\.\., 3 .* as many rows as there are outputs"):
        Decomposable(Gaussian(1.0), Indexed(GAMMA)).bind(Measure(np.arange(5.0), np.ones(5))).gram(M)
    with pytest.raises(DataError, match="indices"):
        Indexed(GAMMA)(np.array([[0.5]]))
    with pytest.raises(DataError, match=r"must have shape \(6, 6\), a row and a column for each task; got \(4, 4\)"):
        graph_matrix(M, n_outputs=6)
    with pytest.raises(DataError, match="must have shape"):
        graph_matrix(M[:2])
    with pytest.raises(DataError, match="not negative"):
        graph_matrix(-M)
    with pytest.raises(DataError, match="must be symmetric"):
        graph_matrix(np.triu(M, 1))
    with pytest.raises(DataError, match="no two tasks are connected"):
        graph_matrix(np.eye(3))
    with pytest.raises(DataError, match="must hold numbers"):
        graph_matrix([["a", "b"], ["c", "d"]])
    with pytest.raises(MercerError, match="ridge"):
        graph_matrix(M, ridge=-1)
    with pytest.raises(MercerError, match="gamma"):
        task_similarities(M, gamma="mean")
    with pytest.raises(MercerError, match=r"rank must be an integer in \[1, 4\]"):
        low_rank_matrix(GAMMA, 5)
