"""The Gram matrix of observations at points of their own, against its definition entry by entry."""

import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import (
    PSD,
    Dense,
    Kronecker,
    LowRank,
    PairGram,
    congruence,
    eigh,
    memory_limit,
    norm2,
    pivoted_cholesky,
    solve,
)
from mercer.linalg import pairs as module
from mercer.testing import check_operator

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(5, 2))
ROWS = np.array([0, 0, 0, 1, 3, 3, 4, 4])  # the curve 2 was not observed
POINTS = RNG.uniform(size=(8, 1))
POINTS[5], POINTS[7] = POINTS[0], POINTS[0]
DISTINCT, NODES = np.unique(POINTS, axis=0, return_inverse=True)
NODES = NODES.reshape(-1)
SCALE = RNG.uniform(0.5, 2.0, 8)
EXPLICIT = Gaussian(1.0)(X)[np.ix_(ROWS, ROWS)] * Gaussian(3.0)(POINTS)

FORMS = {
    "distinct": lambda: PairGram(Gaussian(1.0).gram(X), Gaussian(3.0).gram(DISTINCT), ROWS, NODES),
    "one point each": lambda: PairGram(Gaussian(1.0).gram(X), Gaussian(3.0).gram(POINTS), ROWS),
    "factor": lambda: PairGram(
        Dense(Gaussian(1.0)(X)), LowRank(np.linalg.cholesky(Gaussian(3.0)(DISTINCT))), ROWS, NODES
    ),
}


@pytest.fixture(params=[False, True], ids=["thin", "no factor"])
def without_factor(request, monkeypatch):
    """Without memory for a thin factor, products look at columns or at the matrix."""
    if request.param:
        monkeypatch.setattr(module, "FACTOR_LIMIT", 8)
    return request.param


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_it_keeps_the_contract_and_equals_its_definition(form, scaled, without_factor):
    operator, expected = FORMS[form](), EXPLICIT
    if scaled:
        operator, expected = congruence(operator, SCALE), expected * np.outer(SCALE, SCALE)
        assert isinstance(operator, PairGram)
    assert operator.thin == (form == "factor" or not without_factor)
    check_operator(operator, np.zeros((8, 3)))
    np.testing.assert_allclose(operator.to_dense(), expected, atol=1e-14)
    np.testing.assert_allclose(operator @ np.eye(8), expected, atol=1e-13)
    for p in range(8):
        np.testing.assert_allclose(operator.column(p), expected[:, p], atol=1e-14)
    twice = congruence(operator, SCALE)
    np.testing.assert_allclose(twice.to_dense(), expected * np.outer(SCALE, SCALE), atol=1e-14)


def test_a_matrix_is_stored_only_where_it_is_small(monkeypatch):
    monkeypatch.setattr(module, "FACTOR_LIMIT", 8 * 64)
    operator = PairGram(Gaussian(1.0).gram(X), Laplacian(30.0).gram(POINTS), ROWS)
    monkeypatch.setattr(module.PairGram, "column", None)
    expected = Gaussian(1.0)(X)[np.ix_(ROWS, ROWS)] * Laplacian(30.0)(POINTS)
    operator.points.factor = None
    np.testing.assert_allclose(operator @ np.eye(8), expected, atol=1e-14)


@pytest.mark.parametrize("scaled", [False, True])
def test_factors_give_the_matrix_and_nearly_orthogonal_features(scaled):
    operator = congruence(FORMS["distinct"](), SCALE) if scaled else FORMS["distinct"]()
    factors = operator.factors()
    features = factors.left[ROWS][:, :, None] * factors.right[:, None, :]
    features = features.reshape(8, -1)
    np.testing.assert_allclose(features @ features.T, operator.to_dense(), atol=1e-13)
    thin = FORMS["distinct"]().factors(0.5)
    assert len(thin.values) < len(factors.values)
    assert thin.trace_left_out <= 0.5


def test_features_are_orthogonal_when_curves_share_points_and_weights():
    m, s = 4, RNG.uniform(0.5, 2.0, 5)
    theta, w = RNG.uniform(size=(m, 1)), RNG.uniform(0.5, 2.0, m)
    operator = PairGram(
        Gaussian(1.0).gram(X), Gaussian(3.0).gram(theta), np.repeat(np.arange(5), m), np.tile(np.arange(m), 5)
    )
    factors = congruence(operator, np.sqrt(np.outer(s, w)).ravel()).factors()
    left, right = factors.left, factors.right.reshape(5, m, -1)
    features = (left[:, None, :, None] * right[:, :, None, :]).reshape(5 * m, -1)
    spectrum = (factors.values[:, None] * factors.pooled).ravel()
    np.testing.assert_allclose(features.T @ features, np.diag(spectrum), atol=1e-12 * spectrum.max())


def test_same_points_give_the_kronecker_product():
    m, A = 4, RNG.normal(size=(20, 3))
    theta = RNG.uniform(size=(m, 1))
    operator = PairGram(
        Gaussian(1.0).gram(X), Gaussian(3.0).gram(theta), np.repeat(np.arange(5), m), np.tile(np.arange(m), 5)
    )
    for c in range(3):
        grid = Kronecker(Dense(Gaussian(1.0)(X)), Dense(Gaussian(3.0)(theta))) @ A[:, c].reshape(5, m)
        np.testing.assert_allclose((operator @ A)[:, c], grid.ravel(), atol=1e-12)


def many(n=30, each=8, rough=False):
    rng = np.random.default_rng(1)
    X, points = rng.uniform(size=(n, 1)), rng.uniform(size=(n * each, 1))
    kernel = Laplacian(50.0) if rough else Gaussian(3.0)
    return PairGram(Gaussian(1.0).gram(X), kernel.gram(points), np.repeat(np.arange(n), each))


@pytest.mark.parametrize("rough", [False, True])
def test_eigenpairs_thin_and_dense(rough):
    operator = many(rough=rough)
    dense = operator.to_dense()
    eigen = eigh(operator, 1e-6)
    assert (len(eigen.values) < 60) == (not rough)
    np.testing.assert_allclose(eigen.factor @ eigen.factor.T, dense, atol=1e-6)
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(len(eigen.values)), atol=1e-10)
    assert norm2(operator) == pytest.approx(np.linalg.norm(dense, 2), rel=1e-6)
    factor = pivoted_cholesky(operator, 1e-8)
    np.testing.assert_allclose(factor @ factor.T, dense, atol=1e-8)
    rhs = RNG.normal(size=(240, 2))
    expected = np.linalg.solve(dense + 0.3 * np.eye(240), rhs)
    np.testing.assert_allclose(solve(operator, 0.3, rhs), expected, atol=1e-9)
    whole = Kronecker(operator, Dense(np.array([[2.0, 1.0], [1.0, 2.0]]))).spectral(1e-6)
    np.testing.assert_allclose(
        whole.synthesise(whole.spectrum * whole.analyse(rhs)), dense @ rhs @ [[2.0, 1.0], [1.0, 2.0]], atol=1e-4
    )


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("tolerance", [1e-1, 1e-4, 1e-8])
def test_eigenpairs_come_from_the_factors(tolerance, scaled, monkeypatch):
    """Without a pivoted Cholesky factorisation or the matrix, to the tolerance, and orthonormal."""
    operator = congruence(many(), np.linspace(0.5, 1.5, 240)) if scaled else many()
    dense, _ = operator.to_dense(), operator.thin
    monkeypatch.setattr(PairGram, "_dense", None)
    monkeypatch.setattr(module, "pivoted_cholesky", None)
    eigen = eigh(operator, tolerance)
    left_out = dense - eigen.factor @ eigen.factor.T
    assert np.trace(left_out) <= eigen.trace_left_out + 1e-10
    assert eigen.trace_left_out <= tolerance
    assert np.linalg.eigvalsh(left_out)[0] > -1e-10
    assert np.all(np.diff(eigen.values) <= 0)
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(len(eigen.values)), atol=1e-9)


def test_dependent_features_are_noticed():
    """Each curve is seen once, at θ = x: products of functions of x and θ are functions of x alone there."""
    X = np.random.default_rng(2).uniform(size=(200, 1))
    operator = PairGram(Gaussian(1.0).gram(X), Gaussian(3.0).gram(X), np.arange(200))
    assert operator.factors(1e-9).eigen(1e-9, 200) is None
    eigen = eigh(operator, 1e-9)
    np.testing.assert_allclose(eigen.factor @ eigen.factor.T, operator.to_dense(), atol=1e-9)
    np.testing.assert_allclose(eigen.vectors.T @ eigen.vectors, np.eye(len(eigen.values)), atol=1e-10)


def test_eigenpairs_beyond_the_memory_budget():
    with memory_limit(3 * 8 * 239**2):
        eigen = eigh(many(), 0.0)  # thin up to rounding
        np.testing.assert_allclose(eigen.factor @ eigen.factor.T, many().to_dense(), atol=1e-10)
        with pytest.raises(UnsupportedError, match=r"240 observations has no thin eigenbasis.*proximal_gradient"):
            eigh(many(rough=True), 1e-6)


@pytest.mark.parametrize(
    ("rows", "nodes", "message"),
    [
        (np.array([0, 2, 1]), np.array([0, 1, 2]), "must not decrease"),
        (np.array([0, 1, 5]), np.array([0, 1, 2]), "rows must be in 0, ..., 4; got 0 to 5"),
        (np.array([0, 1]), np.array([0, -1]), "nodes must be in"),
        (np.array([0.0, 1.0]), np.array([0, 1]), "integers; got float64"),
        (np.array([0, 1]), np.array([0, 1, 2]), "one length; got 2 and 3"),
    ],
)
def test_bad_indices_are_refused(rows, nodes, message):
    with pytest.raises(DataError, match=message):
        PairGram(Gaussian(1.0).gram(X), Gaussian(3.0).gram(POINTS), rows, nodes)


def test_other_arrays_are_refused():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(UnsupportedError, match="common grid"):
        PairGram(Dense(strict.eye(2)), Dense(np.eye(2)), np.array([0, 1]))


def test_a_kernel_that_vanishes_has_no_eigenvectors():
    rows = np.repeat(np.arange(3), 50)
    pairs = PairGram(LowRank(np.zeros((3, 0))), Dense(np.eye(150), PSD), rows)
    eigen = eigh(pairs, 1e-6)
    assert eigen.values.size == 0 or eigen.values.max() <= 1e-12
