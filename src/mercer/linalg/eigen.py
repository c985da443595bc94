"""Eigenpairs, norms and shifted solves by structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from mercer import backend
from mercer.backend import as_like, is_numpy, machine_epsilon, namespace
from mercer.exceptions import DataError, UnsupportedError
from mercer.linalg.announcement import CHOLESKY_WORK, EIGH_WORK, PIVOTED_WORK, announce
from mercer.linalg.memory import beyond_budget, memory_budget
from mercer.linalg.operators import Dense, LinearOperator, LowRank
from mercer.linalg.pivoted_cholesky import FACTOR_COPIES, estimated_rank, pivoted_cholesky
from mercer.linalg.thin_basis import thin_basis

__all__ = [
    "Eigen",
    "affordable_rank",
    "affordable_rows",
    "congruence",
    "eigenbasis_work",
    "eigh",
    "eigh_fits",
    "norm2",
    "require_eigh",
    "scaled",
    "solve",
]

#: matrices of the size of the given one that are in memory during a factorisation
EIGH_COPIES, CHOLESKY_COPIES = 3, 2
REMEDY = "Use fewer rows, a smoother kernel (whose rank is smaller), or a larger alpha or tol."


@dataclass(frozen=True, eq=False)
class Eigen:
    """Leading eigenpairs of a positive semi-definite matrix: ``values`` (r,) descending, ``vectors`` (n, r).

    ``trace_left_out`` bounds the trace, hence the norm, of the part that is not represented.
    """

    values: Any
    vectors: Any
    trace_left_out: float = 0.0

    @property
    def factor(self) -> Any:
        """F with F Fᵀ the represented matrix."""
        return self.vectors * namespace(self.values).sqrt(self.values)[None, :]


@singledispatch
def eigh(operator: LinearOperator, tolerance: float = 0.0, max_rank_share: float = 0.25) -> Eigen:
    """Return the eigenpairs of a PSD operator, leaving out at most ``tolerance`` of its trace.

    On NumPy arrays, and with a positive tolerance, a pivoted Cholesky factorisation is tried first: when the numerical
    rank is below ``max_rank_share`` times the size, the matrix is never formed. Where the matrix is too large for the
    memory budget there is no other way: then any rank that fits will do, and a tolerance of 0 is one of rounding.

    Parameters
    ----------
    operator : LinearOperator
        Positive semi-definite.
    tolerance : float, default=0
        Absolute bound on the trace of what is left out.
    max_rank_share : float, default=0.25
        Share of the size beyond which the dense decomposition is cheaper.
    """
    n, fits = operator.shape[0], eigh_fits(operator.shape[0])
    tolerance = tolerance if fits else max(tolerance, _rounding(operator))
    if tolerance > 0 and n > 100 and is_numpy(operator.like):
        factor = pivoted_cholesky(operator, tolerance / 2, max_rank=int(max_rank_share * n) if fits else n)
        if factor is not None:
            return _eigen_of_factor(factor, tolerance / 2, already_left_out=tolerance / 2)
    if not fits:
        raise too_large(operator, tolerance / 2)
    matrix = operator.own_dense()
    announce("eigendecomposition", operator, EIGH_WORK * n**3)
    values, vectors = backend.eigh(matrix, overwrite=True)
    return _leading(values, vectors, tolerance)


def eigh_fits(n: int) -> bool:
    """Whether a dense eigendecomposition of n rows is within the memory budget."""
    return EIGH_COPIES * 8 * n * n <= memory_budget()


def affordable_rows() -> int:
    """Return of how many rows a dense eigendecomposition is within the memory budget."""
    return math.isqrt(memory_budget() // (EIGH_COPIES * 8))


def affordable_rank(n: int) -> int:
    """Return how many columns a thin factor of n rows may have within the memory budget."""
    return int(memory_budget() // (FACTOR_COPIES * 8 * max(n, 1)))


def eigenbasis_work(operator: LinearOperator, share: float) -> float:
    """Return about how many multiplications :func:`eigh` takes to leave out a share of the trace; ∞ beyond the budget.

    It looks at 64 columns.
    """
    n = operator.shape[0]
    tolerance = share * float(namespace(operator.like).sum(operator.diagonal()))
    rank = estimated_rank(operator, tolerance / 2)
    thin = PIVOTED_WORK * n * rank**2 if rank <= affordable_rank(n) else math.inf
    return min(thin, EIGH_WORK * float(n) ** 3 if eigh_fits(n) else math.inf)


@singledispatch
def require_eigh(operator: LinearOperator, tolerance: float) -> None:
    """Refuse at once what :func:`eigh` clearly could not do within the memory budget, whatever it tried.

    Where the dense decomposition fits nothing is computed; otherwise 64 columns say how large the rank is at least.
    """
    n = operator.shape[0]
    if eigh_fits(n) or not is_numpy(operator.like):
        return
    tolerance = max(tolerance, _rounding(operator))
    rank = estimated_rank(operator, tolerance / 2)
    if FACTOR_COPIES * 8 * n * rank > memory_budget():
        raise _beyond_budget(n, rank)


@require_eigh.register
def _(operator: LowRank, tolerance: float) -> None:
    """A factor that is there fits."""


def _rounding(operator: LinearOperator) -> float:
    """The part of the trace that is rounding."""
    return machine_epsilon(operator.like) * float(namespace(operator.like).sum(operator.diagonal()))


def too_large(operator: LinearOperator, tolerance: float) -> UnsupportedError:
    """Return the error for an eigenbasis that does not fit into the memory budget."""
    n = operator.shape[0]
    return _beyond_budget(n, estimated_rank(operator, tolerance) if is_numpy(operator.like) else n)


def _beyond_budget(n: int, rank: float) -> UnsupportedError:
    """Return the error with what would be needed: by a thin basis or, where that is less, by the dense matrix."""
    rank = min(rank, n)
    size = min(EIGH_COPIES * 8 * n * n, FACTOR_COPIES * 8 * n * rank)
    what = f"An eigenbasis of a kernel matrix of {n} rows, of numerical rank {rank:.2g} or more,"
    return beyond_budget(max(size, memory_budget()), what, REMEDY)


@eigh.register
def _(operator: LowRank, tolerance: float = 0.0, max_rank_share: float = 0.25) -> Eigen:
    return _eigen_of_factor(operator.factor, tolerance)


def _eigen_of_factor(factor: Any, tolerance: float, already_left_out: float = 0.0) -> Eigen:
    """Eigenpairs of F Fᵀ from FᵀF or, where small eigenvalues count, a QR factorisation."""
    thin = thin_basis(factor, tolerance) if is_numpy(factor) else None
    if thin is not None:
        values, vectors, left_out = thin
        return Eigen(values, vectors, left_out + already_left_out)
    xp = namespace(factor)
    orthonormal, triangular = xp.linalg.qr(factor)
    values, vectors = backend.eigh(triangular @ triangular.T)
    return _leading(values, orthonormal @ vectors, tolerance, already_left_out)


def _leading(values: Any, vectors: Any, tolerance: float, already_left_out: float = 0.0) -> Eigen:
    """Keep the largest eigenvalues; refuse clearly negative ones."""
    xp = namespace(values)
    size = int(values.shape[0])
    top = float(xp.max(xp.abs(values))) if size else 0.0
    lowest = float(xp.min(values)) if size else 0.0
    if lowest < -max(100 * size * machine_epsilon(values), 1e-9) * top:
        raise DataError(
            f"A kernel matrix must be positive semi-definite; its smallest eigenvalue is {lowest:.3g}, "
            f"its largest {top:.3g}. For a precomputed matrix, shift or clip its spectrum first."
        )
    floor = size * machine_epsilon(values) * top
    tail = xp.cumulative_sum(xp.where(values > 0, values, xp.zeros_like(values)))
    dropped = int(xp.sum(xp.astype((tail <= tolerance) | (values <= floor), xp.int64)))
    dropped = min(dropped, size - 1) if size and top > 0 else size
    left_out = float(tail[dropped - 1]) if dropped else 0.0
    values, vectors = xp.flip(values[dropped:], axis=0), xp.flip(vectors[:, dropped:], axis=1)
    if is_numpy(vectors):  # a flipped view would be copied at each product
        vectors = np.ascontiguousarray(vectors)
    return Eigen(values, vectors, left_out + already_left_out)


@singledispatch
def norm2(operator: LinearOperator, steps: int = 60) -> float:
    """Return the largest eigenvalue of a PSD operator, or a number at most a few per cent above it.

    It is exact up to 500 rows. Beyond, it is 2 % more than the Lanczos estimate from a random start (always the same
    one), which is below the truth by much less, and never more than the trace.

    Parameters
    ----------
    operator : LinearOperator
        Positive semi-definite.
    steps : int, default=60
        Limit on the number of products.
    """
    xp = namespace(operator.like)
    n = operator.shape[0]
    if n == 0:
        return 0.0
    if n <= 500:
        return max(float(xp.max(backend.eigh(operator.to_dense())[0])), 0.0)
    return min(1.02 * _lanczos(operator, steps), float(xp.sum(operator.diagonal())))


@norm2.register
def _(operator: LowRank, steps: int = 60) -> float:
    factor = operator.factor
    wide = factor.shape[1] > factor.shape[0]
    return norm2(Dense(factor @ factor.T if wide else factor.T @ factor), steps)


def _lanczos(operator: LinearOperator, steps: int) -> float:
    """Return the largest Ritz value of a Krylov space; no reorthogonalisation, as copies of a Ritz value do no harm."""
    like = operator.like
    xp = namespace(like)
    vector = as_like(np.random.default_rng(0).normal(size=(operator.shape[0], 1)), like)
    vector = vector / xp.sqrt(xp.sum(vector * vector))
    last, off, estimate = xp.zeros_like(vector), 0.0, 0.0
    tridiagonal = np.zeros((steps, steps))
    for k in range(steps):
        image = operator.apply(vector) - off * last
        on = float(xp.sum(image * vector))
        tridiagonal[k, k] = on
        image = image - on * vector
        off = float(xp.sqrt(xp.sum(image * image)))
        values, vectors = np.linalg.eigh(tridiagonal[: k + 1, : k + 1])
        estimate = max(float(values[-1]), 0.0)
        residual = off * abs(vectors[-1, -1])
        # some eigenvalue is this near; a few more steps make it the largest one
        if residual <= 1e-12 * estimate or (residual <= 1e-3 * estimate and k >= 7) or k == steps - 1:
            break
        tridiagonal[k, k + 1] = tridiagonal[k + 1, k] = off
        last, vector = vector, image / off
    return estimate


@singledispatch
def congruence(operator: LinearOperator, scale: Any) -> LinearOperator:
    """Return D K D for the diagonal matrix D of ``scale``."""
    matrix = operator.to_dense() * scale[:, None] * scale[None, :]
    return Dense(matrix, operator.tags)


@congruence.register
def _(operator: LowRank, scale: Any) -> LinearOperator:
    return LowRank(operator.factor * scale[:, None])


def scaled(operator: LinearOperator, factor: float) -> LinearOperator:
    """Return a multiple of an operator: itself where that is the same up to rounding."""
    like = operator.like
    if abs(factor - 1) <= 8 * machine_epsilon(like):
        return operator
    ones = namespace(like).ones(operator.shape[0], dtype=like.dtype, device=backend.device(like))
    return congruence(operator, factor**0.5 * ones)


@singledispatch
def solve(operator: LinearOperator, shift: float, rhs: Any) -> Any:
    """Return (K + shift·I)⁻¹ rhs for a PSD operator and a positive shift."""
    xp = namespace(rhs)
    if CHOLESKY_COPIES * operator.dense_bytes > memory_budget():  # then a thin factor or none
        eigen = eigh(operator, 0.0)
        return solve(LowRank(eigen.factor), shift, rhs)
    matrix = operator.own_dense()
    announce("Cholesky factorisation", operator, CHOLESKY_WORK * operator.shape[0] ** 3)
    if is_numpy(matrix):  # no other matrix of this size is made
        np.einsum("ii->i", matrix)[...] += shift
    else:
        matrix = matrix + shift * xp.eye(matrix.shape[0], dtype=matrix.dtype, device=backend.device(matrix))
    return backend.cholesky_solve(matrix, rhs, overwrite=True)


@solve.register
def _(operator: LowRank, shift: float, rhs: Any) -> Any:
    factor = operator.factor
    if factor.shape[1] > factor.shape[0]:
        return solve(Dense(operator.to_dense()), shift, rhs)
    xp = namespace(factor)
    small = factor.T @ factor + shift * xp.eye(factor.shape[1], dtype=factor.dtype, device=backend.device(factor))
    return (rhs - factor @ backend.cholesky_solve(small, factor.T @ rhs)) / shift
