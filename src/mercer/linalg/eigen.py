"""Eigenpairs, norms and shifted solves by structure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from mercer import backend
from mercer.backend import is_numpy, machine_epsilon, namespace
from mercer.exceptions import DataError
from mercer.linalg.operators import Dense, LinearOperator, LowRank
from mercer.linalg.pivoted_cholesky import pivoted_cholesky

__all__ = ["Eigen", "congruence", "eigh", "norm2", "solve"]


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


def eigh(operator: LinearOperator, tolerance: float = 0.0, max_rank_share: float = 0.25) -> Eigen:
    """Return the eigenpairs of a PSD operator, leaving out at most ``tolerance`` of its trace.

    On NumPy arrays, and with a positive tolerance, a pivoted Cholesky factorisation is tried first: when the numerical
    rank is below ``max_rank_share`` times the size, the matrix is never formed.

    Parameters
    ----------
    operator : LinearOperator
        Positive semi-definite.
    tolerance : float, default=0
        Absolute bound on the trace of what is left out.
    max_rank_share : float, default=0.25
        Share of the size beyond which the dense decomposition is cheaper.
    """
    if isinstance(operator, LowRank):
        return _eigen_of_factor(operator.factor, tolerance)
    n = operator.shape[0]
    if tolerance > 0 and n > 100 and is_numpy(operator.like):
        factor = pivoted_cholesky(operator, tolerance / 2, max_rank=int(max_rank_share * n))
        if factor is not None:
            return _eigen_of_factor(factor, tolerance / 2, already_left_out=tolerance / 2)
    values, vectors = backend.eigh(operator.to_dense(max_bytes=2**36))
    return _leading(values, vectors, tolerance)


def _eigen_of_factor(factor: Any, tolerance: float, already_left_out: float = 0.0) -> Eigen:
    """Eigenpairs of F Fᵀ from the small matrix Fᵀ F, made orthonormal by a QR factorisation."""
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
    return Eigen(xp.flip(values[dropped:], axis=0), xp.flip(vectors[:, dropped:], axis=1), left_out + already_left_out)


def norm2(operator: LinearOperator, steps: int = 100) -> float:
    """Return the largest eigenvalue of a PSD operator: exact for stored matrices up to 500 rows, else a bound
    a few per cent above the power-iteration estimate.
    """  # noqa: D205
    xp = namespace(operator.like)
    if isinstance(operator, LowRank):
        operator = Dense(operator.factor.T @ operator.factor)
    n = operator.shape[0]
    if n <= 500:
        matrix = operator.to_dense()
        return max(float(xp.max(backend.eigh(matrix)[0])), 0.0)
    vector = xp.sqrt(xp.abs(operator.diagonal()))[:, None] + 1e-3
    estimate = 0.0
    for _ in range(steps):
        size = float(xp.sqrt(xp.sum(vector * vector)))
        if size == 0:
            return 0.0
        vector = operator.apply(vector / size)
        last, estimate = estimate, float(xp.sqrt(xp.sum(vector * vector)))
        if estimate - last <= 1e-3 * estimate:
            break
    return 1.02 * estimate


@singledispatch
def congruence(operator: LinearOperator, scale: Any) -> LinearOperator:
    """Return D K D for the diagonal matrix D of ``scale``."""
    matrix = operator.to_dense() * scale[:, None] * scale[None, :]
    return Dense(matrix, operator.tags)


@congruence.register
def _(operator: LowRank, scale: Any) -> LinearOperator:
    return LowRank(operator.factor * scale[:, None])


@singledispatch
def solve(operator: LinearOperator, shift: float, rhs: Any) -> Any:
    """Return (K + shift·I)⁻¹ rhs for a PSD operator and a positive shift."""
    xp = namespace(rhs)
    matrix = operator.to_dense(max_bytes=2**36)
    return backend.cholesky_solve(
        matrix + shift * xp.eye(matrix.shape[0], dtype=matrix.dtype, device=backend.device(matrix)),
        rhs,
        overwrite=True,
    )


@solve.register
def _(operator: LowRank, shift: float, rhs: Any) -> Any:
    factor = operator.factor
    xp = namespace(factor)
    small = factor.T @ factor + shift * xp.eye(factor.shape[1], dtype=factor.dtype, device=backend.device(factor))
    return (rhs - factor @ backend.cholesky_solve(small, factor.T @ rhs)) / shift
