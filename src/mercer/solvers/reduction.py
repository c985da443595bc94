"""Solve in thin eigenbases, certify with the whole kernel, refine where that is not enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mercer.kernels.gram import KernelGram
from mercer.linalg import KroneckerEigen
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, SolverResult

__all__ = ["FIRST_SHARE", "Reduced", "solve_reduced", "thin_eigen"]

#: part of the kernel to leave out first, in units of tol: the bound behind it is so cautious that gaps hardly notice
FIRST_SHARE = 1.0
#: samples up to which the Gram matrix is stored at once
FEW_ROWS = 1000


class Reduced(NamedTuple):
    """What an algorithm returns from thin eigenbases; the gap is that of the reduced problem."""

    A: Any
    n_iter: int
    relative_gap: float
    stalled: bool = False
    intercept: Any = None


def thin_eigen(problem: DualProblem, share: float) -> KroneckerEigen:
    """Return eigenbases of the Gram operator that leave out a part too small to matter.

    What is left out changes predictions by at most ``share`` × (unit of y/α) × |α|, because the operator norm of
    the rest times 1/(λn) is at most ``share·problem.unit``.
    """
    left = problem.gram.left
    if isinstance(left, KernelGram) and left.shape[0] <= FEW_ROWS:
        left.to_dense()  # certificates need all of it; columns one by one would cost more
    return problem.gram.eigh(share * problem.unit / problem.scale)


def solve_reduced(
    problem: DualProblem,
    init: Any,
    monitor: Monitor,
    iterate: Callable[[KroneckerEigen, Any, int], Reduced],
) -> SolverResult:
    """Run ``iterate(eigen, A, n_iter)`` on thinner, then thicker eigenbases until the exact gap is within tol.

    Parameters
    ----------
    problem : DualProblem
        The problem with the whole kernel.
    init : array of shape (n, m) or None
        Where to start.
    monitor : Monitor
        Of the solver at work.
    iterate : callable
        Solves in the given eigenbases, from A (or None) and a count of iterations, to somewhat below tol.
    """
    tol, max_iter = monitor.solver.tol, monitor.solver.max_iter
    share, A, n_iter = FIRST_SHARE * tol, init, 0
    while True:
        eigen = thin_eigen(problem, share)
        A, n_iter, reduced_gap, stalled, b = iterate(eigen, A, n_iter)
        certificate = problem.certificate(A, b=b)
        whole = eigen.left.trace_left_out + eigen.right.trace_left_out == 0
        blame_reduction = certificate.relative_gap > tol >= reduced_gap and not whole
        if not blame_reduction or n_iter >= max_iter or monitor.stopped:
            return monitor.result(A, certificate, n_iter, "stalled" if stalled else None)
        share *= 1e-2
