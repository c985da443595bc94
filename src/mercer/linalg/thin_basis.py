"""Eigenpairs of F Fᵀ from products of F with small matrices, in blocks of rows."""

from __future__ import annotations

import math

import numpy as np

from mercer.linalg.memory import row_blocks

__all__ = ["thin_basis"]


def thin_basis(factor: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Return eigenvalues, the largest first, and eigenvectors of F Fᵀ, and the trace they leave out, ≤ tolerance.

    From FᵀF = UΛUᵀ the columns of V = FUΛ^-½ are orthonormal up to E = VᵀV − 1, of the size of rounding times
    λ_max/λ_min; eigenvectors PΛ'Pᵀ of the small matrix (1 + E)^½Λ(1 + E)^½ make V(1 + E)^-½P those of F UUᵀFᵀ. None of
    F's size is held but F and the result. None where an eigenvalue that counts is below the root of rounding, beside
    the largest: only a QR factorisation is orthonormal then.

    Parameters
    ----------
    factor : array of shape (n, r)
        F.
    tolerance : float
        Bound on the trace of what is left out.

    Examples
    --------
    >>> values, vectors, left_out = thin_basis(np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 0.0)
    >>> values, np.abs(vectors[:, 0]), left_out
    (array([4., 1.]), array([1., 0., 0.]), 0.0)
    """
    n, r = factor.shape
    values, turn = np.linalg.eigh(factor.T @ factor)
    tail = np.cumsum(np.maximum(values, 0.0))
    dropped = min(int(np.searchsorted(tail, tolerance, side="right")), max(r - 1, 0))
    if not r or values[dropped] <= math.sqrt(np.finfo(values.dtype).eps) * values[-1]:
        return None
    values, left_out = values[dropped:], float(tail[dropped - 1]) if dropped else 0.0
    along = turn[:, dropped:] / np.sqrt(values)
    products = np.zeros((len(values), len(values)), dtype=factor.dtype)
    for part in row_blocks(n, r):
        V = factor[part] @ along
        products += V.T @ V
    sizes, axes = np.linalg.eigh(products)
    root, back = (axes * np.sqrt(sizes)) @ axes.T, (axes / np.sqrt(sizes)) @ axes.T
    values, turn = np.linalg.eigh(root * values @ root)
    along = np.ascontiguousarray((along @ (back @ turn))[:, ::-1])
    vectors = np.empty((n, len(values)), dtype=factor.dtype)
    for part in row_blocks(n, r):
        np.matmul(factor[part], along, out=vectors[part])
    return values[::-1], vectors, left_out
