"""Solve in thin eigenbases, certify with the whole kernel, refine where that is not enough."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mercer.linalg import Spectral
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, SolverResult

__all__ = ["FIRST_SHARE", "Reduced", "prepared", "solve_reduced"]

#: part of the kernel to leave out first, in units of tol: the error of predictions that it allows is that of the worst
#: dual array (DualProblem.tolerance), far above what solutions have, and where it is not the basis is refined
FIRST_SHARE = 1.0
#: bytes up to which a Gram matrix is stored at once: certificates need all of it, and columns one by one cost more
STORED_AT_ONCE = 8 * 1000**2


class Reduced(NamedTuple):
    """What an algorithm returns from thin eigenbases; the gap is that of the reduced problem."""

    A: Any
    n_iter: int
    visible_gap: float
    stalled: bool = False
    intercept: Any = None


def prepared(problem: DualProblem, share: float) -> DualProblem:
    """Return the problem with a spectral form of its Gram operator that leaves out too little to matter.

    See :meth:`DualProblem.tolerance` for ``share``. It serves the same problem with a larger λ, too.
    """
    return problem.with_gram(problem.gram.stored(STORED_AT_ONCE).decomposed(problem.tolerance(share)))


def solve_reduced(
    problem: DualProblem,
    init: Any,
    monitor: Monitor,
    iterate: Callable[[DualProblem, Spectral, Any, int], Reduced],
    n_iter: int = 0,
) -> SolverResult:
    """Run ``iterate(problem, spectral, A, n_iter)`` on thinner, then thicker eigenbases until the exact gap is in tol.

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
    n_iter : int, default=0
        Iterations that were spent before.
    """
    tol, max_iter = monitor.solver.tol, monitor.solver.max_iter
    share, A = FIRST_SHARE * tol, init
    while True:
        problem = prepared(problem, share)
        spectral = problem.gram.spectral(problem.tolerance(share))
        A, n_iter, reduced_gap, stalled, b = iterate(problem, spectral, A, n_iter)
        certificate = problem.certificate(A, b=b)
        blame_reduction = certificate.visible_gap > tol >= reduced_gap and spectral.left_out > 0
        if not blame_reduction or n_iter >= max_iter or monitor.stopped:
            return monitor.result(A, certificate, n_iter, "stalled" if stalled else None)
        share *= 1e-2
