"""Small positive definite systems whose matrices have lost digits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from mercer.exceptions import DataError

__all__ = ["positive_solver"]


def positive_solver(matrix: np.ndarray, floor: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return rhs ↦ M⁻¹ rhs for a symmetric matrix that is positive definite but for rounding.

    A Cholesky factorisation serves where there is one. Where rounding has made M indefinite, its eigenvalues are raised
    to ``floor``, the size of that rounding.

    Examples
    --------
    >>> import numpy as np
    >>> positive_solver(np.array([[2.0, 0.0], [0.0, -1e-17]]), 1e-15)(np.array([4.0, 0.0]))
    array([2., 0.])
    """
    if not np.all(np.isfinite(matrix)):
        raise DataError("A linear system of the solver is not finite. Check the scales of the data and of alpha.")
    try:
        factor = scipy.linalg.cho_factor(matrix)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrix)
        inverse = 1 / np.maximum(values, floor)
        return lambda rhs: vectors @ ((vectors.T @ rhs).T * inverse).T
    return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)
