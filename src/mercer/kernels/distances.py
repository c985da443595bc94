"""Distances between the rows of two arrays that keep their digits, and matrices made block by block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy.spatial.distance import cdist

from mercer.backend import is_numpy, namespace

__all__ = ["assemble", "column_sum", "city_block_distances", "scale_points", "squared_distances"]

Array = Any
#: entries of a block, small enough for the cache
DISTANCE_ENTRIES = 2**17
#: up to so many columns differences are taken directly; beyond, a matrix product is faster
DIRECT_COLUMNS = 16
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


def scale_points(X: Array, Z: Array, weights: Any) -> tuple[Array, Array]:
    """Return (X − c)·weights and (Z − c)·weights with c the mean of Z; ``Z is X`` is kept."""
    if Z.shape[0] == 0:
        return X * weights, (X if Z is X else Z) * weights
    centre = namespace(Z).mean(Z, axis=0, keepdims=True)
    scaled = (X - centre) * weights
    return scaled, scaled if Z is X else (Z - centre) * weights


def squared_distances(X: Array, Z: Array) -> Array:
    """Return ‖x_i − z_j‖²; exactly 0 where x_i and z_j are the same row of the same array."""
    if X.shape[1] <= DIRECT_COLUMNS:
        if is_numpy(X, Z) and X.shape[1] > 1:
            return cdist(X, Z, "sqeuclidean")
        return column_sum(lambda x, z: (x - z) ** 2, X, Z)
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


def city_block_distances(X: Array, Z: Array) -> Array:
    """Return ‖x_i − z_j‖₁."""
    if is_numpy(X, Z):
        return cdist(X, Z, "cityblock")
    xp = namespace(X, Z)
    return column_sum(lambda x, z: xp.abs(x - z), X, Z)


def column_sum(term: Callable[[Array, Array], Array], X: Array, Z: Array) -> Array:
    """Return Σ_k term(x_ik, z_jk), column after column; ``term`` sees shapes (n, 1) and (1, m)."""
    total = term(X[:, :1], Z[:, :1].T)
    for k in range(1, X.shape[1]):
        total = total + term(X[:, k : k + 1], Z[:, k : k + 1].T)
    return total
