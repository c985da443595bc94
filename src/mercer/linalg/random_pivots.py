"""Randomly pivoted Cholesky: a thin factor of a kernel matrix from rows drawn by what those before leave of them."""

from __future__ import annotations

import numpy as np

from mercer.backend import require_numpy
from mercer.exceptions import DataError
from mercer.linalg.announcement import PIVOTED_WORK, announce
from mercer.linalg.eigen import Eigen
from mercer.linalg.operators import LinearOperator

__all__ = ["leading_eigen"]

#: columns that are computed at a time
PIVOT_BLOCK = 128
#: eigenvalues below this part of the largest are left out: they are nearly rounding
LEAST_PIVOT = 1e-10


def leading_eigen(operator: LinearOperator, rank: int, tolerance: float = 0.0, seed: int = 0) -> Eigen:
    """Return eigenpairs of Nyström's approximation of a matrix from at most ``rank`` of its rows.

    Rows are drawn in proportion to what those before have left on the diagonal (Chen, Epperly, Tropp and Webber, 2024),
    a block of them at a time, until the trace of what is left is at most ``tolerance``: O(n·rank²) operations in
    products of matrices, a fraction of the time of :func:`pivoted_cholesky`, which takes the largest entry of the
    diagonal each time and so sees outliers first. What it leaves out is bounded by nothing but ``trace_left_out``.

    Parameters
    ----------
    operator : LinearOperator
        Positive semi-definite, on NumPy arrays; only its diagonal and some columns are looked at.
    rank : int
        The most columns.
    tolerance : float, default=0.0
        Trace at which fewer will do.
    seed : int, default=0
        Of the draws.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> x = np.linspace(0, 1, 50)
    >>> eigen = leading_eigen(Dense(np.exp(-((x[:, None] - x) ** 2))), 10)
    >>> eigen.vectors.shape[0], eigen.vectors.shape[1] <= 10, eigen.trace_left_out < 1e-6
    (50, True, True)
    """
    diagonal = operator.diagonal()
    require_numpy("leading_eigen", "Use the eigendecomposition of the stored matrix.", diagonal)
    n = len(diagonal)
    rank = min(rank, n)
    announce("randomly pivoted Cholesky factorisation", operator, PIVOTED_WORK * n * rank**2, most_columns=rank)
    rng = np.random.default_rng(seed)
    left = np.maximum(diagonal.astype(float), 0.0)
    floor = float(np.finfo(float).eps) * float(left.max(initial=0.0))
    rows = np.empty((rank, n), dtype=diagonal.dtype)  # row r holds column r of the factor
    used, precision = 0, max(LEAST_PIVOT, 10 * float(np.finfo(diagonal.dtype).eps))
    while used < rank and float(left.sum()) > tolerance:
        open_rows = int(np.count_nonzero(left > floor))
        size = min(PIVOT_BLOCK, rank - used, open_rows)
        if size == 0:
            break
        weights = np.where(left > floor, left, 0.0)
        chosen = np.sort(rng.choice(n, size, replace=False, p=weights / weights.sum()))
        columns = operator.some_columns(chosen) - rows[:used, chosen].T @ rows[:used]
        if not np.all(np.isfinite(columns)):
            raise DataError("leading_eigen: kernel values must be finite; some are NaN or infinite.")
        values, vectors = np.linalg.eigh(columns[:, chosen])
        kept = values > precision * max(float(values[-1]), 0.0)
        found = (vectors[:, kept] / np.sqrt(values[kept])).T @ columns
        rows[used : used + len(found)] = found
        used += len(found)
        left = np.maximum(left - np.einsum("ij,ij->j", found, found), 0.0)
        left[chosen] = 0.0
    factor = rows[:used]
    values, vectors = np.linalg.eigh(factor @ factor.T)
    kept = values > precision * max(float(values.max(initial=0.0)), 0.0)
    missed = float(left.sum() + np.maximum(values[~kept], 0.0).sum())
    columns = factor.T @ (vectors[:, kept] / np.sqrt(values[kept]))  # orthonormal to six digits or more
    return Eigen(values[kept][::-1].copy(), np.ascontiguousarray(columns[:, ::-1]), missed)
