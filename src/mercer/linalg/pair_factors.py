"""Thin factors of a Gram matrix of observations, and its eigenpairs from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from mercer.linalg.eigen import Eigen
from mercer.linalg.thin_features import leading_gram

__all__ = ["PairFactors", "gather", "scatter", "sum_over_curves"]

#: least diagonal entry of the Cholesky factor of scaled features: below, they are nearly dependent
INDEPENDENT = 1e-4


def sum_over_curves(values: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return Σ_{p: i(p) = i} v_p for each of n curves, from one row an observation; shape (n, ...).

    Examples
    --------
    >>> import numpy as np
    >>> sum_over_curves(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 2]), 3)
    array([3., 0., 3.])
    """
    sums = np.zeros((n, *values.shape[1:]), dtype=values.dtype)
    if len(values):
        first = np.flatnonzero(np.diff(rows, prepend=-1))
        sums[rows[first]] = np.add.reduceat(values, first, axis=0)
    return sums


def scatter(factor: np.ndarray, columns: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return Σ_{p: i(p) = i} v_pc f_pb for each of n curves, shape (n, k, q), from (N, q) and (N, k) arrays."""
    sums = np.zeros((n, columns.shape[1], factor.shape[1]), dtype=np.result_type(factor, columns))
    for i, low, high in _curves(rows):  # small products that stay in cache: faster than one pass over all rows
        np.matmul(columns[low:high].T, factor[low:high], out=sums[i])
    return sums


def gather(factor: np.ndarray, spread: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return Σ_b f_pb u_i(p),c,b for each observation, shape (N, k), from (N, q) and (n, k, q): the adjoint."""
    values = np.empty((len(rows), spread.shape[1]), dtype=np.result_type(factor, spread))
    for i, low, high in _curves(rows):
        np.matmul(factor[low:high], spread[i].T, out=values[low:high])
    return values


def _curves(rows: np.ndarray) -> Iterator[tuple[int, int, int]]:
    """Return the curves that were observed, with the first of their observations and the one after the last."""
    first = np.flatnonzero(np.diff(rows, prepend=-1))
    return zip(rows[first].tolist(), first.tolist(), [*first[1:].tolist(), len(rows)], strict=True)


@dataclass(frozen=True, eq=False)
class PairFactors:
    """𝐊 ≈ ΦΦᵀ with Φ_{p,(a,b)} = left[i(p), a] · right[p, b], one column, or feature, for each pair (a, b).

    ``left`` (n, r) and ``right`` (N, q) are turned such that ΦᵀΦ ≈ diag(σ_a τ_b), which is exact when all curves are
    observed at the same points with the same weights up to a factor. ``values`` is σ, ``pooled`` is τ, both descending;
    ``rows`` is i.
    """

    left: np.ndarray
    values: np.ndarray
    right: np.ndarray
    pooled: np.ndarray
    rows: np.ndarray
    trace_left_out: float = 0.0

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sums over the observations of each curve."""
        return sum_over_curves(values, self.rows, len(self.left))

    def gram(self, counts: np.ndarray) -> np.ndarray:
        """Return the lower triangle of ΦᵀΦ on the leading features (see :func:`leading_gram`)."""
        n, right = len(self.left), self.right
        return leading_gram(self.left, lambda b: scatter(right, right[:, b : b + 1], self.rows, n)[:, 0], counts)

    def eigen(self, tolerance: float, max_rank: int) -> Eigen | None:
        """Return the eigenpairs of 𝐊 but for ``tolerance`` of its trace; None where that takes more features.

        The features, scaled to norm 1, are far from dependent. Hence a Cholesky factor R of their Gram matrix gives an
        orthonormal basis ΦR⁻¹ of their span, without a QR factorisation of N rows. None also where this fails.
        """
        counts, left_out = self._leading(tolerance - self.trace_left_out)
        size = int(counts.sum())
        if size > max_rank or size == 0:
            return None
        matrix = self.gram(counts)
        norms = np.sqrt(np.diagonal(matrix))
        matrix /= norms[:, None] * norms
        try:
            factor = scipy.linalg.cholesky(matrix, lower=True, check_finite=False)  # Rᵀ
        except np.linalg.LinAlgError:
            return None
        if np.diagonal(factor).min() < INDEPENDENT:
            return None
        weighted = factor * norms[:, None]  # Φ = Q(Rᵀ∘norms)ᵀ
        values, vectors = np.linalg.eigh(weighted.T @ weighted)
        values, vectors = values[::-1], vectors[:, ::-1]
        turn = scipy.linalg.solve_triangular(factor.T, vectors, check_finite=False) / norms[:, None]
        positive = values > 0
        return Eigen(values[positive], self._times(counts, turn[:, positive]), self.trace_left_out + left_out)

    def _leading(self, tolerance: float) -> tuple[np.ndarray, float]:
        """Return how many left indices each right index needs, and the trace that the other features have."""
        size = self.values[:, None] * self.pooled
        squares = (self.left**2).T @ self.sums(self.right**2)
        order = np.argsort(size, axis=None)
        tail = np.cumsum(squares.ravel()[order])
        dropped = int(np.searchsorted(tail, max(tolerance, 0.0), side="right"))
        if dropped == len(order):
            return np.zeros(len(self.pooled), dtype=int), float(tail[-1]) if len(tail) else 0.0
        counts = np.sum(size >= size.ravel()[order[dropped]], axis=0)  # ties stay
        return counts, float(tail[dropped - 1]) if dropped else 0.0

    def _times(self, counts: np.ndarray, matrix: np.ndarray) -> np.ndarray:
        """Return ΦM for the leading features, some observations at a time."""
        used = np.flatnonzero(counts)
        product = np.empty((len(self.rows), matrix.shape[1]))
        for first in range(0, len(product), 1024):
            block = slice(first, first + 1024)
            left, right = self.left[self.rows[block]], self.right[block]
            features = np.concatenate([left[:, : counts[b]] * right[:, b : b + 1] for b in used], axis=1)
            np.matmul(features, matrix, out=product[block])
        return product
