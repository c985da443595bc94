"""Solve in thin eigenbases, certify with the whole kernel, refine where that is not enough."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from mercer.linalg import Spectral
from mercer.problems import Certificate, DualProblem
from mercer.solvers.base import Monitor, SolverResult

__all__ = ["Reduced", "afford_basis", "certified", "first_share", "prepared", "solve_reduced"]

#: part of the kernel to leave out first, in units of tol: the error of predictions that it allows is that of the worst
#: dual array (DualProblem.tolerance), far above what solutions have, and where it is not the basis is refined
FIRST_SHARE = 1.0
#: ... and where certificates are to have that error, as a product with the whole kernel costs more than this
BOUNDED_SHARE, DEAR_PRODUCT = 0.02, 3e7
#: bytes up to which a Gram matrix is stored at once: certificates need all of it, and columns one by one cost more
STORED_AT_ONCE = 8 * 1000**2


class Reduced(NamedTuple):
    """What an algorithm returns from thin eigenbases; the gap is that of the reduced problem."""

    A: Any
    n_iter: int
    visible_gap: float
    stalled: bool = False
    intercept: Any = None


def first_share(problem: DualProblem, tol: float) -> float:
    """Return the part of the kernel to leave out first, for :func:`prepared`."""
    bounded = problem.box is not None and problem.gram.costs.product > DEAR_PRODUCT
    return (BOUNDED_SHARE if bounded else FIRST_SHARE) * tol


def certified(problem: DualProblem, spectral: Spectral, A: Any, b: Any, tol: float) -> Certificate:
    """Return a certificate with the whole kernel, or one from the eigenbasis where that is cheaper and suffices."""
    if problem.gram.costs.product > DEAR_PRODUCT:
        certificate = problem.reduced_certificate(A, spectral, b)
        if certificate is not None and certificate.relative_gap <= tol:
            return certificate
    certificate = problem.certificate(A, b=b)
    if b is None or certificate.relative_gap <= tol:
        return certificate
    best = problem.certificate(A)
    return best if best.gap < certificate.gap else certificate


def afford_basis(problem: DualProblem, tol: float) -> None:
    """Refuse at once a problem whose first eigenbasis clearly does not fit into the memory budget."""
    problem.gram.require_spectral(problem.tolerance(first_share(problem, tol)))


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
    share, A, least_left_out = first_share(problem, tol), init, math.inf
    certificate: Certificate | None = None
    while True:
        problem = prepared(problem, share)
        if certificate is not None and monitor.must_stop():  # a thinner basis has given a model already
            return monitor.result(A, certificate, n_iter)
        spectral = problem.gram.spectral(problem.tolerance(share))
        A, n_iter, reduced_gap, stalled, b = iterate(problem, spectral, A, n_iter)
        certificate = certified(problem, spectral, A, b, tol)
        blame_reduction = certificate.visible_gap > tol >= reduced_gap
        finer = 0 < spectral.left_out < least_left_out  # than the one before: rounding sets an end to that
        if not (blame_reduction and finer) or n_iter >= max_iter or monitor.must_stop():
            return monitor.result(A, certificate, n_iter, "stalled" if stalled or blame_reduction else None)
        share, least_left_out = 1e-2 * share, spectral.left_out
