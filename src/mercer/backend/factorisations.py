"""Symmetric factorisations: LAPACK in place for NumPy, the array-API linalg extension elsewhere."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mercer.backend.arrays import Array, as_like, is_numpy, namespace, to_numpy
from mercer.exceptions import DataError

__all__ = ["cholesky_solve", "eigh"]


def eigh(matrix: Array, *, overwrite: bool = False) -> tuple[Array, Array]:
    """Return eigenvalues (ascending) and orthonormal eigenvectors of a symmetric matrix."""
    if is_numpy(matrix):
        return scipy.linalg.eigh(matrix, overwrite_a=overwrite, check_finite=False, driver="evd")
    values, vectors = namespace(matrix).linalg.eigh(matrix)
    return values, vectors


def cholesky_solve(matrix: Array, rhs: Array, *, overwrite: bool = False) -> Array:
    """Solve ``matrix @ X = rhs`` for a positive definite matrix; refuse another one."""
    if is_numpy(matrix):
        try:
            factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=overwrite, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise DataError(
                "The matrix of the linear system is not positive definite. Is the kernel positive "
                "semi-definite? A larger alpha makes the system better conditioned."
            ) from error
        return scipy.linalg.cho_solve(factor, rhs, check_finite=False)
    xp = namespace(matrix)
    if hasattr(xp, "linalg"):
        return xp.linalg.solve(matrix, rhs)
    return as_like(np.linalg.solve(to_numpy(matrix), to_numpy(rhs)), matrix)
