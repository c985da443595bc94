"""Symmetric factorisations: LAPACK in place for NumPy, the array-API linalg extension elsewhere."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mercer.backend.arrays import Array, as_like, is_numpy, namespace, to_numpy
from mercer.exceptions import DataError

__all__ = ["cholesky_solve", "eigh", "positive_inverse"]


def eigh(matrix: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """Return eigenvalues (ascending) and orthonormal eigenvectors of a symmetric matrix; refuse one that overflows."""
    if not is_numpy(matrix):
        values, vectors = namespace(matrix).linalg.eigh(matrix)
        return values, vectors
    try:
        values, vectors = scipy.linalg.eigh(
            _in_place(matrix, overwrite), overwrite_a=overwrite, check_finite=False, driver="evd"
        )
    except np.linalg.LinAlgError as error:
        raise _not_finite() from error
    if not np.all(np.isfinite(values)):
        raise _not_finite()
    return values, vectors


def _in_place(matrix: np.ndarray, overwrite: bool) -> np.ndarray:
    """Return a symmetric matrix in the order of LAPACK, which copies what it is to overwrite in any other."""
    return matrix.T if overwrite and matrix.flags.c_contiguous else matrix


def _not_finite() -> DataError:
    return DataError(
        "A kernel matrix has NaN or infinite entries, or such as overflow: it has no eigenvalues. Scale the columns of "
        "X, or take a kernel with smaller values."
    )


def cholesky_solve(matrix: Array, rhs: Array, *, overwrite: bool = False) -> Array:
    """Solve ``matrix @ X = rhs`` for a positive definite matrix; refuse an indefinite one.

    Eigenvalues that are zero or negative by rounding are taken as the smallest ones that rounding tells from zero.
    """
    if not is_numpy(matrix):
        xp = namespace(matrix)
        if hasattr(xp, "linalg"):
            return xp.linalg.solve(matrix, rhs)
        return as_like(np.linalg.solve(to_numpy(matrix), to_numpy(rhs)), matrix)
    diagonal = np.diagonal(matrix).copy()  # LAPACK may write on it and on what is below
    try:
        factor = scipy.linalg.cho_factor(
            _in_place(matrix, overwrite), lower=True, overwrite_a=overwrite, check_finite=False
        )
    except np.linalg.LinAlgError:
        above = np.triu(_in_place(matrix, overwrite), 1)
        return _clipped_solve(above + above.T + np.diag(diagonal), rhs)
    return scipy.linalg.cho_solve(factor, rhs, check_finite=False)


def positive_inverse(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix (NumPy), with eigenvalues that rounding tells from zero."""
    factor, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1)
    if not failed:
        inverse, failed = scipy.linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
    if failed:
        return cholesky_solve(matrix, np.eye(len(matrix)))
    lower = np.tril(inverse, -1)
    return lower + lower.T + np.diag(np.diagonal(inverse))


def _clipped_solve(matrix: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    values, vectors = eigh(matrix)
    least = len(values) * float(np.finfo(values.dtype).eps) * max(float(values[-1]), 0.0)
    if not values[0] >= -least or least == 0:
        raise DataError(
            "The matrix of the linear system is not positive definite. Is the kernel positive "
            "semi-definite? A larger alpha makes the system better conditioned."
        )
    return vectors @ ((vectors.T @ rhs).T / np.maximum(values, least)).T
