"""A thin factor R of an output matrix, K_Θ = R Rᵀ."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from mercer.exceptions import DataError

__all__ = ["representer_coef", "right_factor"]


def right_factor(matrix: Any, weights: Any = None, tolerance: float = 1e-12) -> np.ndarray:
    """Return R (m, q) with R Rᵀ = K_Θ, as thin as it may be.

    Columns are eigenvectors in the geometry of the weights, RᵀWR is diagonal, and those of no more than ``tolerance``
    times the trace are left out. A smooth kernel on a line needs about ten columns for a hundred levels.

    Parameters
    ----------
    matrix : array of shape (m, m)
        K_Θ, symmetric and positive semi-definite; a Kronecker product with an output matrix for vectors at each node.
    weights : array of shape (m,), optional
        Weights of the nodes; ones by default.
    tolerance : float, default=1e-12
        Part of the trace below which an eigenvalue is left out.

    Examples
    --------
    >>> import numpy as np
    >>> right_factor(np.ones((3, 3))).shape
    (3, 1)
    """
    matrix = np.asarray(matrix, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.all(np.isfinite(matrix)):
        raise DataError(f"right_factor: the matrix must be square and finite; its shape is {matrix.shape}.")
    root = np.ones(len(matrix)) if weights is None else np.sqrt(np.asarray(weights, dtype=float))
    values, vectors = scipy.linalg.eigh(root[:, None] * matrix * root)
    kept = values > tolerance * float(np.sum(np.abs(values)))
    return (vectors[:, kept] * np.sqrt(values[kept]))[:, ::-1] / root[:, None]


def representer_coef(coef: Any, factor: Any, weights: Any = None) -> np.ndarray:
    """Return c (D, m) with c K_Θ = C Rᵀ: coefficients of k_Θ(θ_j, ·) in place of those of the columns of R.

    With them a function that was fitted with a factor is known between the nodes, h(x)(θ) = Σ_j φ(x) c_j k_Θ(θ_j, θ).

    Parameters
    ----------
    coef : array of shape (D, q)
        C, in the span of the rows of R, as that of every fit is.
    factor : array of shape (m, q)
        R.
    weights : array of shape (m,), optional
        Weights of the nodes; ones by default.

    Examples
    --------
    >>> import numpy as np
    >>> R = np.array([[1.0], [2.0]])
    >>> c = representer_coef(np.array([[3.0]]), R)
    >>> bool(np.allclose(c @ (R @ R.T), 3.0 * R.T))
    True
    """
    factor = np.asarray(factor, dtype=float)
    root = np.ones(len(factor)) if weights is None else np.sqrt(np.asarray(weights, dtype=float))
    return (np.asarray(coef) @ np.linalg.pinv(root[:, None] * factor)) * root
