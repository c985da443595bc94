"""Distances between the rows of two arrays that keep their digits, and matrices made block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy.spatial.distance import cdist

from mercer.backend import holds, is_numpy, namespace

__all__ = ["assemble", "column_sum", "city_block_distances", "scale_points", "squared_distances"]

Array = Any
#: entries of a block, small enough for the cache
DISTANCE_ENTRIES = 2**17
#: up to so many columns differences are taken directly; beyond, a matrix product is faster
DIRECT_COLUMNS = 16
#: lengths from the mean beyond which points are not scaled before their differences are taken: the rounding of scaled
#: points, ε times their size, would show in the distances of near ones
FAR_POINTS = 1e4
#: squared distances below this part of ‖x‖² have lost too many digits in ‖x‖² + ‖z‖² − 2⟨x, z⟩
CANCELLED = 1e-3


def assemble(block: Callable[[Array, Array], Array], X: Array, Z: Array) -> Array:
    """Return the matrix ``block(X, Z)`` of a symmetric function of rows, in the dtype of X and Z.

    With NumPy it is made of blocks of rows that stay in the cache, so that the memory is that of the
    result; when ``Z is X`` only one half is computed.
    """
    if not is_numpy(X, Z):
        return block(X, Z)
    n, m = X.shape[0], Z.shape[0]
    matrix = np.empty((n, m), dtype=np.result_type(X.dtype, Z.dtype))
    fewest = min(1024, max(32, 2 * X.shape[1]))  # thinner matrix products are slow
    start = 0
    while start < n:
        first = start if Z is X else 0
        stop = min(n, start + max(fewest, DISTANCE_ENTRIES // max(1, m - first)))
        values = block(X[start:stop], Z[first:])
        matrix[start:stop, first:] = values
        if Z is X:
            matrix[stop:, start:stop] = values[:, stop - start :].T
        start = stop
    return matrix


def scale_points(X: Array, Z: Array, weights: Any) -> tuple[Array, Array, Any]:
    """Return (X − c)·weights and (Z − c)·weights with c the mean of Z, and None; ``Z is X`` is kept.

    Where that would cost digits of small distances, X, Z and the weights are returned as they are: weights are then for
    differences.
    """
    xp = namespace(Z)
    if Z.shape[0] == 0 or X.shape[0] == 0:
        return X * weights, (X if Z is X else Z) * weights, None
    centre = xp.mean(Z, axis=0, keepdims=True)
    with np.errstate(over="ignore"):  # then they are far
        scaled = (X - centre) * weights
        other = scaled if Z is X else (Z - centre) * weights
    if not holds(xp.max(xp.abs(scaled)) <= FAR_POINTS):
        return X, Z, weights
    return scaled, other, None


def squared_distances(X: Array, Z: Array, weights: Any = None) -> Array:
    """Return Σ_k w_k²(x_ik − z_jk)²; exactly 0 where x_i and z_j are the same row of the same array."""
    if weights is not None or X.shape[1] <= DIRECT_COLUMNS:
        if weights is None and is_numpy(X, Z) and X.shape[1] > 1:
            return cdist(X, Z, "sqeuclidean")
        return _difference_sum(lambda difference: difference**2, X, Z, weights)
    xp = namespace(X, Z)
    x_sizes, z_sizes = xp.sum(X * X, axis=1)[:, None], xp.sum(Z * Z, axis=1)[None, :]
    if is_numpy(X, Z):
        return _expanded(X, Z, x_sizes, z_sizes)
    squares = x_sizes + z_sizes - 2 * (X @ Z.T)
    squares = xp.where(squares > 0, squares, xp.zeros_like(squares))
    if Z is X:
        squares = squares * (1 - xp.eye(X.shape[0], dtype=squares.dtype, device=compat.device(X)))
    return squares


def _expanded(X: np.ndarray, Z: np.ndarray, x_sizes: np.ndarray, z_sizes: np.ndarray) -> np.ndarray:
    """Return ‖x‖² + ‖z‖² − 2⟨x, z⟩ in one buffer; where digits cancelled, differences are taken directly."""
    squares = (-2 * X) @ Z.T
    squares += x_sizes
    squares += z_sizes
    rows, columns = np.nonzero(squares <= CANCELLED * x_sizes)  # then ‖x‖² and ‖z‖² are nearly the same
    if 8 * len(rows) > squares.size:
        return cdist(X, Z, "sqeuclidean")
    squares[rows, columns] = np.sum((X[rows] - Z[columns]) ** 2, axis=1)
    return squares


def city_block_distances(X: Array, Z: Array, weights: Any = None) -> Array:
    """Return Σ_k w_k|x_ik − z_jk|."""
    if is_numpy(X, Z) and weights is None:
        return cdist(X, Z, "cityblock")
    return _difference_sum(namespace(X, Z).abs, X, Z, weights)


def _difference_sum(size: Callable[[Array], Array], X: Array, Z: Array, weights: Any) -> Array:
    """Return Σ_k size(w_k(x_ik − z_jk)); weights None are ones."""
    if weights is None:
        return column_sum(lambda x, z: size(x - z), X, Z)
    xp = namespace(X, Z)
    each = iter((xp.zeros_like(X[:1, :]) + weights)[0, :])
    with np.errstate(over="ignore"):  # infinitely far
        return column_sum(lambda x, z: size((x - z) * next(each)), X, Z)


def column_sum(term: Callable[[Array, Array], Array], X: Array, Z: Array) -> Array:
    """Return Σ_k term(x_ik, z_jk), column after column; ``term`` sees shapes (n, 1) and (1, m)."""
    total = term(X[:, :1], Z[:, :1].T)
    for k in range(1, X.shape[1]):
        total = total + term(X[:, k : k + 1], Z[:, k : k + 1].T)
    return total
