"""Pivoted Cholesky: a thin factor of a positive semi-definite matrix that is never formed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import require_numpy
from mercer.exceptions import DataError
from mercer.linalg.announcement import PIVOTED_WORK, announce
from mercer.linalg.memory import memory_budget

__all__ = [
    "FACTOR_COPIES",
    "PivotedFactor",
    "estimated_rank",
    "leading_pivots",
    "pivoted_cholesky",
    "pivoted_factor",
    "truncated_factor",
]

#: columns after which one first asks how many it will take, and once more at each doubling
FIRST_LOOK = 64
#: arrays of the size of the factor that are in memory while eigenpairs are made of it
FACTOR_COPIES = 4


class PivotedFactor(NamedTuple):
    """A thin factor and the rows of the matrix that it is made of."""

    factor: np.ndarray  #: F (n, r), trace(K − F Fᵀ) small; F[pivots] is lower triangular
    pivots: np.ndarray  #: (r,), indices of rows


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
        Where to give up, or earlier once it is clear that this rank will not do, or that the factor would not fit into
        the memory budget; n by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> pivoted_cholesky(Dense(np.array([[4.0, 2.0], [2.0, 1.0]])), 1e-12)
    array([[2.],
           [1.]])
    """
    found = pivoted_factor(operator, tolerance, max_rank)
    return None if found is None else found.factor


def pivoted_factor(operator: Any, tolerance: float, max_rank: int | None = None) -> PivotedFactor | None:
    """Return what :func:`pivoted_cholesky` does, with the pivots.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> pivoted_factor(Dense(np.array([[1.0, 2.0], [2.0, 4.0]])), 1e-12).pivots
    array([1])
    """
    work = _Factorisation(operator)
    n = len(work.residual)
    limit = n if max_rank is None else min(max_rank, n, memory_budget() // (8 * FACTOR_COPIES * max(n, 1)))
    announce("pivoted Cholesky factorisation", operator, PIVOTED_WORK * n * limit**2, most_columns=limit)
    while not work.done(tolerance):
        if work.rank >= limit:
            return None
        if max_rank is not None and work.looks_ahead and work.ranks_ahead(tolerance) > limit:
            return None
        work.step(limit)
    return work.found()


def truncated_factor(operator: Any, tolerance: float, rank: int) -> tuple[PivotedFactor, float]:
    """Return a factor of at most ``rank`` columns, and the trace of what it leaves out.

    As :func:`pivoted_factor`, but what does not fit is left out and not refused: the kernel on the rest of the objects
    is replaced by that of their projections on the pivots.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> found, left_out = truncated_factor(Dense(np.diag([3.0, 2.0, 1.0])), 0.0, 2)
    >>> found.pivots, left_out
    (array([0, 1]), 1.0)
    """
    work = _Factorisation(operator)
    limit = min(rank, len(work.residual))
    announce("pivoted Cholesky factorisation", operator, PIVOTED_WORK * len(work.residual) * limit**2, limit)
    while work.rank < limit and not work.done(tolerance):
        work.step(limit)
    return work.found(), work.left


def estimated_rank(operator: Any, tolerance: float) -> float:
    """Return a guess, rather too small than too large, of the columns that :func:`pivoted_cholesky` will take.

    It looks at 64 columns.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import LowRank
    >>> estimated_rank(LowRank(np.ones((200, 1))), 1e-9)
    1.0
    """
    work = _Factorisation(operator)
    limit = min(FIRST_LOOK, len(work.residual))
    while work.rank < limit and not work.done(tolerance):
        work.step(limit)
    return float(work.rank) if work.done(tolerance) else work.ranks_ahead(tolerance)


def leading_pivots(operator: Any, size: int) -> np.ndarray:
    """Return the first pivots of :func:`pivoted_cholesky`, fewer than ``size`` where these leave rounding only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> leading_pivots(Dense(np.diag([1.0, 3.0, 2.0])), 2)
    array([1, 2])
    """
    work = _Factorisation(operator)
    limit = min(size, len(work.residual))
    announce("pivoted Cholesky factorisation", operator, PIVOTED_WORK * len(work.residual) * limit**2)
    while work.rank < limit and not work.done(0.0):
        work.step(limit)
    return np.array(work.pivots, dtype=int)


class _Factorisation:
    """The columns so far, what they leave on the diagonal, and how its sum has fallen."""

    def __init__(self, operator: Any) -> None:
        residual = operator.diagonal()
        require_numpy("pivoted_cholesky", "Use the eigendecomposition of the stored matrix.", residual)
        self.residual = residual.astype(residual.dtype, copy=True)
        if self.residual.min() < 0:
            raise DataError(
                f"A kernel matrix must be positive semi-definite; its diagonal has {self.residual.min():.3g}."
            )
        epsilon = float(np.finfo(residual.dtype).eps)
        self.trace = self.left = float(self.residual.sum())
        self.floor = epsilon * max(float(self.residual.max()), np.finfo(residual.dtype).tiny)
        self.slack = max(100 * len(residual) * epsilon, 1e-9) * self.trace  # as for the eigenvalues in eigh
        self.rows = np.empty((0, len(residual)), dtype=residual.dtype)  # row r holds column r of F
        self.rank, self.pivots, self.falls = 0, list[int](), dict[int, float]()
        self.column_of = operator.columns()

    def done(self, tolerance: float) -> bool:
        """Whether what is left is within the tolerance, or is rounding."""
        return self.left <= tolerance or float(self.residual.max()) <= self.floor

    def found(self) -> PivotedFactor:
        """The columns so far."""
        return PivotedFactor(np.ascontiguousarray(self.rows[: self.rank].T), np.array(self.pivots, dtype=int))

    @property
    def looks_ahead(self) -> bool:
        """Whether the number of columns is the first one after which to look ahead, or has doubled since."""
        return self.rank >= FIRST_LOOK and self.rank == len(self.rows)

    def step(self, limit: int) -> None:
        """Add the column of the largest entry on the diagonal of what is left."""
        if self.rank == len(self.rows):
            more = min(max(self.rank, FIRST_LOOK), limit - self.rank)
            self.rows = np.concatenate([self.rows, np.empty((more, self.rows.shape[1]), dtype=self.rows.dtype)])
        residual, rank = self.residual, self.rank
        pivot = int(residual.argmax())
        column = self.column_of(pivot) - self.rows[:rank, pivot] @ self.rows[:rank]
        self.rows[rank] = column / np.sqrt(residual[pivot])
        residual -= self.rows[rank] ** 2
        if residual.min() < -self.slack:
            raise DataError(
                "A kernel matrix must be positive semi-definite; a pivoted Cholesky factorisation left "
                f"{residual.min():.3g} on its diagonal. For a precomputed matrix, shift or clip its spectrum first."
            )
        np.maximum(residual, 0, out=residual)
        residual[pivot] = 0
        self.pivots.append(pivot)
        self.rank, self.left = rank + 1, float(residual.sum())
        if self.rank & rank == 0:  # a power of two
            self.falls[self.rank] = self.left

    def ranks_ahead(self, tolerance: float) -> float:
        """Return how many columns it takes should the trace go on falling as over the last doubling of their number.

        With ℓ(r) the logarithm of the fall after r columns, ℓ grows like r^b, b that of the last doubling: 1/d for
        smooth kernels in d columns, where b itself falls, so that this is an optimistic guess. Where b ≥ 1, as while
        the columns of a narrow kernel hardly overlap, a trace that falls by the same amounts is more optimistic still.
        """
        now, before = self.left, self.falls.get(self.rank // 2, self.trace)
        if tolerance <= 0 or now <= 0:
            return 0.0
        if now >= before or before >= self.trace:
            return math.inf
        fall, half = math.log(self.trace / now), math.log(self.trace / before)
        power = math.log2(fall / half)
        if power >= 1:
            return self.rank + now / ((before - now) / (self.rank / 2))
        ratio = math.log(self.trace / tolerance) / fall
        return self.rank * math.exp(min(math.log(ratio) / power, 700.0))
