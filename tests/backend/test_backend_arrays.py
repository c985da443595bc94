"""Namespaces, moving arrays, and the factorisations on NumPy and array-api-strict."""

import numpy as np
import pytest
import scipy.linalg

from mercer import backend
from mercer.exceptions import DataError, UnsupportedError

strict = pytest.importorskip("array_api_strict")


def test_namespace_passes_over_scalars_and_none():
    assert backend.namespace(None, 1.0, np.zeros(2)) is backend.namespace(np.zeros(1))
    assert backend.namespace(strict.zeros(2)) is not backend.namespace(np.zeros(2))
    with pytest.raises(TypeError):
        backend.namespace(np.zeros(2), strict.zeros(2))


def test_is_numpy_and_require_numpy():
    assert backend.is_numpy(np.zeros(2), None)
    assert not backend.is_numpy(np.zeros(2), strict.zeros(2))
    backend.require_numpy("f", "Use g.", np.zeros(2), None)
    with pytest.raises(UnsupportedError, match=r"f works on NumPy arrays only; got array_api_strict.*Use g\."):
        backend.require_numpy("f", "Use g.", None, strict.zeros(2))
    with pytest.raises(UnsupportedError, match=r"^dict works"):
        backend.require_numpy({}, "", strict.zeros(2))


@pytest.mark.parametrize("values", [[0.25, 2], (0.25, 2.0), np.array([0.25, 2.0]), strict.asarray([0.25, 2.0])])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("xp", [np, strict])
def test_as_like_follows_library_and_dtype(values, dtype, xp):
    like = xp.zeros(3, dtype=getattr(xp, dtype))
    moved = backend.as_like(values, like)
    assert isinstance(moved, type(like))
    assert moved.dtype == like.dtype
    np.testing.assert_array_equal(backend.to_numpy(moved), [0.25, 2.0])


@pytest.mark.parametrize("dtype", ["int64", "bool"])
@pytest.mark.parametrize("xp", [np, strict])
def test_as_like_never_truncates_to_integers(dtype, xp):
    like = xp.zeros(3, dtype=getattr(xp, dtype))
    for values in ([0.5], np.array([0.5]), xp.asarray([0.5])):
        moved = backend.as_like(values, like)
        assert moved.dtype == xp.float64
        assert float(moved[0]) == 0.5


def test_as_like_and_to_numpy_do_not_copy_what_fits():
    array = np.array([1.0, 2.0])
    assert backend.as_like(array, np.zeros(1)) is array
    assert backend.to_numpy(array) is array


@pytest.mark.parametrize("array", [np.array([1.5, 2.0]), np.array([True, False]), np.array([[1, 2]])])
def test_to_numpy_of_other_arrays(array):
    found = backend.to_numpy(strict.asarray(array))
    assert type(found) is np.ndarray
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize("xp", [np, strict])
def test_clip_with_scalars_and_arrays(xp):
    values = xp.asarray([[-2.0, 0.5, 2.0], [3.0, -3.0, 0.0]])
    np.testing.assert_array_equal(
        backend.to_numpy(backend.clip(values, -1.0, 1.0)), [[-1.0, 0.5, 1.0], [1.0, -1.0, 0.0]]
    )
    low, high = xp.asarray([[-2.0, 0.0, 0.0]]), xp.asarray([[1.0, 1.0, 1.5]])
    np.testing.assert_array_equal(
        backend.to_numpy(backend.clip(values, low, high)), [[-2.0, 0.5, 1.5], [1.0, 0.0, 0.0]]
    )


def test_machine_epsilon_and_device():
    assert backend.machine_epsilon(np.zeros(1, np.float32)) == 2.0**-23
    assert backend.machine_epsilon(strict.zeros(1)) == 2.0**-52
    assert backend.device(np.zeros(1)) == "cpu"


@pytest.mark.parametrize("xp", [np, strict])
def test_eigh(xp):
    factor = np.random.default_rng(0).normal(size=(6, 6))
    matrix = factor + factor.T
    kept = matrix.copy()
    values, vectors = (backend.to_numpy(a) for a in backend.eigh(xp.asarray(matrix)))
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix))
    np.testing.assert_allclose(vectors @ np.diag(values) @ vectors.T, matrix, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(6), atol=1e-12)
    np.testing.assert_array_equal(matrix, kept)


@pytest.mark.parametrize("xp", [np, strict])
def test_cholesky_solve(xp):
    rng = np.random.default_rng(1)
    factor, rhs = rng.normal(size=(5, 5)), rng.normal(size=(5, 3))
    matrix = factor @ factor.T + np.eye(5)
    kept = matrix.copy()
    found = backend.cholesky_solve(xp.asarray(matrix), xp.asarray(rhs))
    np.testing.assert_allclose(backend.to_numpy(found), scipy.linalg.solve(matrix, rhs), atol=1e-12)
    np.testing.assert_array_equal(matrix, kept)


def test_cholesky_solve_refuses_an_indefinite_matrix():
    with pytest.raises(DataError, match="not positive definite"):
        backend.cholesky_solve(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 1)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_eigh_refuses_what_is_not_finite(bad):
    for matrix in (np.full((3, 3), bad), np.diag([1.0, bad, 2.0]), np.array([[1.0, bad], [bad, 1.0]])):
        with pytest.raises(DataError, match="NaN or infinite"):
            backend.eigh(matrix)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_cholesky_solve_takes_a_matrix_that_rounding_made_indefinite(overwrite, order):
    x = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]])
    matrix = np.asarray(x.T @ x - 1e-15 * np.eye(3), order=order)
    kept, rhs = matrix.copy(), matrix @ np.array([[1.0], [0.5], [-2.0]])
    found = backend.cholesky_solve(matrix, rhs, overwrite=overwrite)
    np.testing.assert_allclose(kept @ found, rhs, atol=1e-12)
