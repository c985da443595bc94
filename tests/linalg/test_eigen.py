"""Eigenpairs, norms and shifted solves by structure."""

from functools import partial

import numpy as np
import pytest

from mercer.backend import to_numpy
from mercer.exceptions import DataError
from mercer.kernels import Gaussian, Precomputed
from mercer.linalg import Dense, Kronecker, LowRank, eigh, norm2, solve

strict = pytest.importorskip("array_api_strict")

PSD = frozenset({"self-adjoint", "psd"})


def matrix_of(spectrum, seed=0):
    spectrum = np.asarray(spectrum, dtype=float)
    basis = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(spectrum), len(spectrum))))[0]
    matrix = (basis * spectrum) @ basis.T
    return (matrix + matrix.T) / 2


def represented(eigen):
    factor = to_numpy(eigen.factor)
    return factor @ factor.T


SPECTRA = {
    "fast": 10.0 * 0.6 ** np.arange(130),
    "slow": 1 / np.arange(1.0, 131.0),
    "low rank": np.where(np.arange(130) < 7, 3.0, 0.0),
    "small": 2.0 ** -np.arange(8.0),
}


@pytest.mark.parametrize("tolerance", [0.0, 1e-8, 1e-3, 1e-1, 1e6])
@pytest.mark.parametrize("name", SPECTRA)
def test_eigh_leaves_out_at_most_the_tolerance(name, tolerance):
    spectrum = SPECTRA[name]
    matrix = matrix_of(spectrum)
    eigen = eigh(Dense(matrix, PSD), tolerance)
    values, vectors = eigen.values, eigen.vectors
    rounding = 1e-12 * spectrum.sum()
    left_out = matrix - represented(eigen)
    assert np.all(np.diff(values) <= 0)
    assert np.all(values > 0)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-12)
    assert np.trace(left_out) <= eigen.trace_left_out + rounding
    assert eigen.trace_left_out <= tolerance + rounding
    assert np.linalg.norm(left_out, 2) <= eigen.trace_left_out + rounding
    assert np.linalg.eigvalsh(left_out)[0] >= -rounding
    if tolerance == 0:
        np.testing.assert_allclose(values, spectrum[: len(values)], atol=rounding)
    if name == "low rank" and tolerance < 1:
        assert len(values) == 7
    if name == "fast" and tolerance == 1e-3:
        # as thin as needed: half of the tolerance is for the pivoted Cholesky factorisation
        assert len(values) <= np.sum(np.cumsum(spectrum[::-1])[::-1] > tolerance / 4)


def test_eigh_does_not_form_a_matrix_of_low_rank():
    class Counting(Dense):
        def __init__(self, matrix):
            super().__init__(matrix, PSD)
            self.looked_at = []

        def column(self, index):
            self.looked_at.append(index)
            return super().column(index)

        def _dense(self):
            raise AssertionError("the matrix was formed")

    operator = Counting(matrix_of(SPECTRA["low rank"]))
    eigen = eigh(operator, 1e-8)
    assert len(eigen.values) == len(operator.looked_at) == 7


def test_eigh_of_low_rank_operators():
    factor = np.random.default_rng(1).normal(size=(9, 3))
    for tolerance in (0.0, 1.0):
        eigen = eigh(LowRank(factor), tolerance)
        assert np.trace(factor @ factor.T - represented(eigen)) <= eigen.trace_left_out + 1e-12
        assert eigen.trace_left_out <= tolerance
    np.testing.assert_allclose(represented(eigh(LowRank(factor))), factor @ factor.T, atol=1e-12)
    twice = np.concatenate([factor, factor], axis=1)  # linearly dependent columns
    assert len(eigh(LowRank(twice)).values) == 3


def test_eigh_of_nothing():
    for operator in (Dense(np.zeros((4, 4))), LowRank(np.zeros((4, 0))), LowRank(np.zeros((4, 2)))):
        eigen = eigh(operator)
        assert eigen.vectors.shape == (4, 0)
        assert norm2(operator) == 0.0


@pytest.mark.parametrize("size", [6, 160])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6])
def test_eigh_refuses_an_indefinite_matrix(size, tolerance):
    spectrum = np.zeros(size)
    spectrum[:3] = [5.0, 3.0, -0.5]
    with pytest.raises(DataError, match="positive semi-definite"):
        eigh(Dense(matrix_of(spectrum) + 0.0), tolerance)


def test_a_positive_diagonal_does_not_hide_an_indefinite_matrix():
    matrix = np.kron(np.eye(100), np.array([[1.0, 2.0], [2.0, 1.0]]))
    for tolerance in (0.0, 1e-6):
        with pytest.raises(DataError, match="positive semi-definite"):
            eigh(Dense(matrix), tolerance, 0.9)


def test_eigh_forgives_rounding():
    spectrum = np.array([1.0, 0.5, -1e-12, 0.0])
    assert len(eigh(Dense(matrix_of(spectrum))).values) == 2


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("tolerance", [0.0, 1e-2, 1.0])
def test_eigenbases_of_a_kronecker_product(weights, tolerance):
    rng = np.random.default_rng(3)
    s, w = (rng.uniform(0.2, 2.0, 6), rng.uniform(0.1, 1.0, 4)) if weights else (None, None)
    operator = Kronecker(Dense(matrix_of(0.3 ** np.arange(6)), PSD), Dense(matrix_of(0.2 ** np.arange(4)), PSD), s, w)
    eigen = operator.spectral(tolerance)
    assert eigen.rank == eigen.spectrum.size
    A = rng.normal(size=(6, 4))
    approximate = np.stack(
        [eigen.synthesise(eigen.spectrum * eigen.analyse(e.reshape(6, 4))).ravel() for e in np.eye(24)], axis=1
    )
    left_out = np.trace(operator.to_dense() - approximate)
    assert -1e-12 <= left_out <= tolerance + 1e-12
    # Parseval, in the weighted geometry
    inside = eigen.synthesise(eigen.analyse(A))
    assert np.sum(eigen.analyse(A) ** 2) == pytest.approx(operator.inner(inside, inside))
    if tolerance == 0:
        np.testing.assert_allclose(inside, A, atol=1e-12)
        explicit = np.linalg.eigvals(operator.to_dense()).real
        np.testing.assert_allclose(np.sort(eigen.spectrum.ravel()), np.sort(explicit), atol=1e-12)
    else:
        assert eigen.rank < 24


def test_norm_of_a_kronecker_product_in_the_weighted_geometry():
    rng = np.random.default_rng(4)
    s, w = rng.uniform(0.2, 2.0, 6), rng.uniform(0.01, 4.0, 4)
    operator = Kronecker(Dense(matrix_of(0.3 ** np.arange(6))), Dense(matrix_of(0.2 ** np.arange(4))), s, w)
    truth = np.max(np.linalg.eigvals(operator.to_dense()).real)
    assert operator.norm2() == pytest.approx(truth)


ALTERNATING = np.tile([1.0, -1.0], 300)
LARGE = {
    "decaying": matrix_of(0.9 ** np.arange(600)),
    "slow": matrix_of(1 / np.arange(1.0, 601.0)),
    "flat": matrix_of(np.linspace(0, 1, 600)),
    "identity": 2 * np.eye(600),
    "cluster": matrix_of(np.r_[np.full(5, 1.0), np.full(595, 0.97)]),
    "rank one": np.outer(ALTERNATING, ALTERNATING),
    "constants are an eigenvector": 1 + 2 * np.outer(ALTERNATING, ALTERNATING),
    "one large entry": np.diag(np.r_[np.ones(599), 50.0]),
    "kernel": Gaussian(20.0)(np.linspace(0, 1, 600)[:, None]),
    "zero": np.zeros((600, 600)),
}


@pytest.mark.parametrize("name", LARGE)
def test_norm2_of_large_matrices_is_a_bound_and_a_close_one(name):
    matrix = LARGE[name]
    truth = np.linalg.eigvalsh(matrix)[-1]
    assert truth <= norm2(Dense(matrix)) * (1 + 1e-12) + 1e-12
    assert norm2(Dense(matrix)) <= 1.05 * truth + 1e-12


def test_norm2_is_exact_for_small_and_low_rank_operators():
    matrix = matrix_of([3.0, 1.0, 0.5])
    assert norm2(Dense(matrix)) == pytest.approx(3.0)
    factor = np.random.default_rng(5).normal(size=(2000, 3))
    assert norm2(LowRank(factor)) == pytest.approx(np.linalg.norm(factor, 2) ** 2)
    assert norm2(LowRank(1e-3 * np.ones((1, 600)))) == pytest.approx(600e-6)


def test_norm2_of_a_kernel_uses_products_only(monkeypatch):
    gram = Gaussian(3.0).gram(np.linspace(0, 2, 700)[:, None])
    with monkeypatch.context() as patch:
        patch.setattr(type(gram), "_dense", None)
        bound = norm2(gram)
    truth = np.linalg.eigvalsh(gram.to_dense())[-1]
    assert truth <= bound <= 1.05 * truth


@pytest.mark.parametrize("xp", [np, strict], ids=["numpy", "strict"])
def test_solve_by_structure(xp):
    rng = np.random.default_rng(6)
    matrix, small = matrix_of(0.5 ** np.arange(7.0)), matrix_of([2.0, 0.1, 0.0])
    factor = rng.normal(size=(7, 2))
    points = rng.normal(size=(7, 2))
    rhs = rng.normal(size=(7, 3))
    s, w = rng.uniform(0.2, 2.0, 7), rng.uniform(0.1, 1.0, 3)
    left, right = Dense(xp.asarray(matrix), PSD), Dense(xp.asarray(small), PSD)
    cases = [
        (left, matrix),
        (LowRank(xp.asarray(factor)), factor @ factor.T),
        (Gaussian(1.0).gram(xp.asarray(points)), Gaussian(1.0)(points)),
        (Kronecker(left, right), np.kron(matrix, small)),
        (
            Kronecker(left, right, xp.asarray(s), xp.asarray(w)),
            np.kron(matrix @ np.diag(s), small @ np.diag(w)),
        ),
    ]
    for operator, explicit in cases:
        flat = rhs if explicit.shape[0] == 7 else rhs.reshape(-1)
        for shift in (0.03, 2.0):
            expected = np.linalg.solve(explicit + shift * np.eye(len(explicit)), flat).reshape(rhs.shape)
            found = getattr(operator, "shifted_solve", partial(solve, operator))(shift, xp.asarray(rhs))
            assert isinstance(found, type(xp.asarray(rhs)))
            np.testing.assert_allclose(to_numpy(found), expected, atol=1e-10)
    np.testing.assert_array_equal(to_numpy(left.matrix), matrix)  # not overwritten


@pytest.mark.parametrize("tolerance", [0.0, 1e-2])
def test_strict_arrays_give_the_same_eigenpairs(tolerance):
    matrix = matrix_of(SPECTRA["fast"])
    expected, found = eigh(Dense(matrix)), eigh(Dense(strict.asarray(matrix)), tolerance)
    rank = found.values.shape[0]
    assert found.trace_left_out <= tolerance + 1e-12
    assert rank == len(expected.values) or tolerance > 0
    np.testing.assert_allclose(to_numpy(found.values), expected.values[:rank], atol=1e-12)
    assert np.trace(matrix - represented(found)) <= tolerance + 1e-12
    large = LARGE["slow"]
    assert norm2(Dense(strict.asarray(large))) == pytest.approx(norm2(Dense(large)))
    assert norm2(LowRank(strict.asarray(matrix))) == pytest.approx(100.0)


def test_kernels_on_precomputed_values_can_be_factored():
    matrix = matrix_of(SPECTRA["low rank"])
    eigen = eigh((2.0 * Precomputed()).gram(matrix), 1e-8)
    np.testing.assert_allclose(represented(eigen), 2 * matrix, atol=1e-10)
