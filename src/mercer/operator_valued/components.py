"""Functions with values in R^p: the measure of their columns, and matrices A of the output kernel k_Θ(θ, τ)·A."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import namespace, to_numpy
from mercer.exceptions import DataError
from mercer.measures import Measure

__all__ = ["check_output_matrix", "component_measure", "leading_components", "positive_root"]


def component_measure(nodes: Measure, n_components: int) -> Measure:
    """Return the measure of (node, component) columns: points and weights of each node, p times.

    Examples
    --------
    >>> import numpy as np
    >>> component_measure(Measure(np.array([0.0, 1.0]), np.array([0.25, 0.75])), 2).weights
    array([0.25, 0.25, 0.75, 0.75])
    """
    if n_components == 1:
        return nodes
    xp = namespace(nodes.points)
    points = xp.repeat(nodes.points, n_components, axis=0)
    return Measure(points, xp.repeat(nodes.weights, n_components))


def check_output_matrix(owner: object, matrix: Any, n_components: int | None = None) -> np.ndarray:
    """Return A as a symmetric float array of shape (p, p), or refuse what is not positive semi-definite.

    Without ``n_components`` p is the number of its rows.
    """
    name = owner if isinstance(owner, str) else type(owner).__name__
    try:
        A = np.asarray(to_numpy(matrix), dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: output_matrix must hold numbers: {error}.") from error
    p = (A.shape[0] if A.ndim else 1) if n_components is None else n_components
    if A.shape != (p, p):
        raise DataError(
            f"{name}: output_matrix must have shape (n_components, n_components) = ({p}, {p}); got {A.shape}."
        )
    if not np.all(np.isfinite(A)):
        raise DataError(f"{name}: output_matrix must not contain NaN or infinity.")
    size = float(np.max(np.abs(A)))
    if np.max(np.abs(A - A.T)) > 1e-9 * size:
        raise DataError(f"{name}: output_matrix must be symmetric. Pass (A + A.T) / 2.")
    A = (A + A.T) / 2
    values = np.linalg.eigvalsh(A)
    if size == 0 or values[0] < -max(1e-9, 100 * p * np.finfo(float).eps) * values[-1]:
        raise DataError(
            f"{name}: output_matrix must be positive semi-definite and not zero; its eigenvalues go from "
            f"{values[0]:.3g} to {values[-1]:.3g}. A covariance matrix of the outputs is a natural choice."
        )
    return A


def positive_root(matrix: np.ndarray) -> np.ndarray:
    """Return G of shape (p, r) with GGᵀ = A, r the rank of A up to rounding.

    Examples
    --------
    >>> import numpy as np
    >>> positive_root(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[2.],
           [0.]])
    """
    values, vectors = np.linalg.eigh(matrix)
    kept = values > 10 * len(matrix) * np.finfo(float).eps * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def leading_components(Y: np.ndarray, rank: int) -> np.ndarray:
    """Return the projector V_r V_rᵀ on the r leading eigenvectors of Σ YᵀY, for targets Y of shape (..., p).

    As an output matrix it makes a fit that of the first r principal components (of uncentred outputs).

    Examples
    --------
    >>> import numpy as np
    >>> leading_components(np.array([[3.0, 0.0], [0.0, 1.0]]), rank=1)
    array([[1., 0.],
           [0., 0.]])
    """
    check_number("leading_components", "rank", rank, low=1, high=Y.shape[-1], strict=False, integer=True)
    rows = Y.reshape(-1, Y.shape[-1])
    rows = rows[np.all(np.isfinite(rows), axis=1)]
    vectors = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :rank]
    return vectors @ vectors.T
