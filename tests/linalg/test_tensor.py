"""T ⊗ A against its dense form."""

import numpy as np
import pytest

from mercer.linalg import Dense, Kronecker, LowRank, Tensor, congruence, eigh, norm2
from mercer.linalg.tensor import complete_eigenbasis
from mercer.testing import check_operator

RNG = np.random.default_rng(0)
NODES = (lambda B: B @ B.T)(RNG.normal(size=(6, 4)))
FACTOR = RNG.normal(size=(6, 2))
A = (lambda B: B @ B.T)(RNG.normal(size=(3, 2)))  # singular


@pytest.fixture(params=["dense", "low rank"])
def tensor(request):
    return Tensor(Dense(NODES) if request.param == "dense" else LowRank(FACTOR), A)


def test_contract(tensor):
    check_operator(tensor, RNG.normal(size=(18, 2)))


def test_dense_form(tensor):
    nodes = tensor.nodes.to_dense()
    expected = np.kron(nodes, A)
    np.testing.assert_allclose(tensor.to_dense(), expected)
    array = RNG.normal(size=(18, 5))
    np.testing.assert_allclose(tensor @ array, expected @ array, atol=1e-12)
    np.testing.assert_allclose(tensor.diagonal(), np.diag(expected))
    assert norm2(tensor) == pytest.approx(np.linalg.eigvalsh(expected)[-1])


def test_eigenpairs(tensor):
    expected = np.kron(tensor.nodes.to_dense(), A)
    eigen = eigh(tensor)
    np.testing.assert_allclose(eigen.vectors * eigen.values @ eigen.vectors.T, expected, atol=1e-10)
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(len(eigen.values)), atol=1e-10)
    assert np.all(np.diff(eigen.values) <= 0)
    assert len(eigen.values) == np.linalg.matrix_rank(expected)
    tolerance = 0.3 * np.trace(expected)
    thin = eigh(tensor, tolerance)
    rest = expected - thin.vectors * thin.values @ thin.vectors.T
    assert len(thin.values) < len(eigen.values)
    assert np.trace(rest) <= thin.trace_left_out + 1e-10 <= tolerance + 1e-9


def test_complete_eigenbasis(tensor):
    values, vectors = complete_eigenbasis(tensor)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(18), atol=1e-10)
    np.testing.assert_allclose(vectors * values @ vectors.T, np.kron(tensor.nodes.to_dense(), A), atol=1e-10)
    assert np.all(np.diff(values) <= 0)


def test_weights_of_nodes_keep_the_structure_and_others_do_not(tensor):
    dense = tensor.to_dense()
    by_node = np.repeat(RNG.uniform(0.5, 2, size=6), 3)
    kept = congruence(tensor, by_node)
    assert isinstance(kept, Tensor)
    np.testing.assert_allclose(kept.to_dense(), dense * by_node[:, None] * by_node)
    by_entry = RNG.uniform(0.5, 2, size=18)
    lost = congruence(tensor, by_entry)
    assert isinstance(lost, Dense)
    np.testing.assert_allclose(lost.to_dense(), dense * by_entry[:, None] * by_entry)


def test_as_the_right_factor_of_a_kronecker_operator(tensor):
    left, weights = Dense(np.eye(4) + 1), np.repeat(RNG.uniform(0.5, 2, size=6), 3)
    plain = Kronecker(left, Dense(tensor.to_dense()), None, weights)
    structured = Kronecker(left, tensor, None, weights)
    array = RNG.normal(size=(4, 18))
    np.testing.assert_allclose(structured @ array, plain @ array, atol=1e-10)
    np.testing.assert_allclose(structured.shifted_solve(0.3, array), plain.shifted_solve(0.3, array), atol=1e-9)


def test_without_components_there_is_nothing():
    assert len(eigh(Tensor(Dense(np.zeros((2, 2))), np.eye(2))).values) == 0


def test_weights_that_are_products_keep_both_factors():
    rng = np.random.default_rng(0)
    T, A = (one @ one.T for one in (rng.normal(size=(4, 4)), rng.normal(size=(3, 3))))
    v, w = rng.uniform(0.5, 2, size=4), rng.uniform(0.5, 2, size=3)
    scale = np.outer(v, w).ravel()
    whitened = congruence(Tensor(Dense(T), A), scale)
    assert isinstance(whitened, Tensor)
    assert np.allclose(whitened.to_dense(), scale[:, None] * np.kron(T, A) * scale)
    other = congruence(Tensor(Dense(T), A), rng.uniform(0.5, 2, size=12))
    assert not isinstance(other, Tensor)
