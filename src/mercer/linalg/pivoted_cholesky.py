"""Pivoted Cholesky: a thin factor of a positive semi-definite matrix that is never formed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.backend import require_numpy
from mercer.exceptions import DataError
from mercer.linalg.announcement import PIVOTED_WORK, announce

__all__ = ["pivoted_cholesky"]


def pivoted_cholesky(operator: Any, tolerance: float, max_rank: int | None = None) -> np.ndarray | None:
    """Return F of shape (n, r) with trace(K − F Fᵀ) ≤ tolerance, or None if that takes more than ``max_rank`` columns.

    Looks at the diagonal and at r columns of K only: O(n r²) operations, O(n r) memory (Harbrecht, Peters and
    Schneider, 2012). As K − F Fᵀ stays positive semi-definite, the tolerance also bounds its operator norm.

    Parameters
    ----------
    operator : LinearOperator
        Positive semi-definite, on NumPy arrays; only its diagonal and columns are looked at.
    tolerance : float
        Absolute bound on the trace of what is left out.
    max_rank : int, optional
        Where to give up, or earlier once it is clear that this rank will not do; n by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> pivoted_cholesky(Dense(np.array([[4.0, 2.0], [2.0, 1.0]])), 1e-12)
    array([[2.],
           [1.]])
    """
    residual = operator.diagonal()
    require_numpy("pivoted_cholesky", "Use the eigendecomposition of the stored matrix.", residual)
    residual = residual.astype(residual.dtype, copy=True)
    n = residual.shape[0]
    limit = n if max_rank is None else min(max_rank, n)
    announce("pivoted Cholesky factorisation", operator, PIVOTED_WORK * n * limit**2, most_columns=limit)
    if residual.min() < 0:
        raise DataError(f"A kernel matrix must be positive semi-definite; its diagonal has {residual.min():.3g}.")
    rows = np.empty((min(limit, 64), n), dtype=residual.dtype)  # row r holds column r of F
    epsilon = float(np.finfo(residual.dtype).eps)
    floor = epsilon * max(float(residual.max()), np.finfo(residual.dtype).tiny)
    slack = max(100 * n * epsilon, 1e-9) * float(residual.sum())  # as for the eigenvalues in eigh
    trace = float(residual.sum())
    column_of = operator.columns()
    for rank in range(limit + 1):
        pivot = int(residual.argmax())
        if residual.sum() <= tolerance or residual[pivot] <= floor:
            return np.ascontiguousarray(rows[:rank].T)
        if rank == limit:
            return None
        if rank == len(rows):
            if max_rank is not None and _hopeless(trace, float(residual.sum()), tolerance, rank, limit):
                return None
            trace = float(residual.sum())
            rows = np.concatenate([rows, np.empty((min(len(rows), limit - rank), n), dtype=rows.dtype)])
        column = column_of(pivot) - rows[:rank, pivot] @ rows[:rank]
        rows[rank] = column / np.sqrt(residual[pivot])
        residual -= rows[rank] ** 2
        if residual.min() < -slack:
            raise DataError(
                "A kernel matrix must be positive semi-definite; a pivoted Cholesky factorisation left "
                f"{residual.min():.3g} on its diagonal. For a precomputed matrix, shift or clip its spectrum first."
            )
        np.maximum(residual, 0, out=residual)
        residual[pivot] = 0
    return None


def _hopeless(before: float, now: float, tolerance: float, rank: int, limit: int) -> bool:
    """Whether the trace, should it go on falling as over the last half of the columns, comes too late.

    The spectra of kernels fall more and more slowly, so that this is an optimistic guess.
    """
    if tolerance <= 0 or now <= 0:
        return False
    rate = math.log(before / now) / (rank if rank == 64 else rank / 2)
    return rate <= 0 or rank + math.log(now / tolerance) / rate > limit
