"""Solve in thin eigenbases, certify with the whole kernel, refine where that is not enough."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

from mercer.linalg import Spectral
from mercer.problems import Certificate, DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult

__all__ = ["Reduced", "ReducedSolver", "certified", "first_share", "prepared"]

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


def prepared(problem: DualProblem, share: float) -> DualProblem:
    """Return the problem with a spectral form of its Gram operator that leaves out too little to matter.

    See :meth:`DualProblem.tolerance` for ``share``. It serves the same problem with a larger λ, too.
    """
    return problem.with_gram(problem.gram.stored(STORED_AT_ONCE).decomposed(problem.tolerance(share)))


class ReducedSolver(Solver):
    """A solver that works in thin eigenbases, which are refined until the gap with the whole kernel is within tol.

    A subclass gives :meth:`iterate`.
    """

    def prepare(self, problem: DualProblem) -> DualProblem:
        return prepared(problem, first_share(problem, self.tol))

    def afford(self, problem: DualProblem) -> None:
        """Refuse at once a problem whose first eigenbasis clearly does not fit into the memory budget."""
        problem.gram.require_spectral(problem.tolerance(first_share(problem, self.tol)))

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        return self.run(problem, init, monitor)

    @abstractmethod
    def iterate(self, problem: DualProblem, spectral: Spectral, init: Any, n_iter: int, monitor: Monitor) -> Reduced:
        """Solve in the given eigenbases, from an array (or None) and a count of iterations, to somewhat below tol."""

    def run(self, problem: DualProblem, init: Any, monitor: Monitor, n_iter: int = 0) -> SolverResult:
        """Solve for the solver that the monitor belongs to, which has spent ``n_iter`` of the iterations already.

        Bases are thin first, then thicker.
        """
        tol, max_iter = monitor.solver.tol, monitor.solver.max_iter
        share, A, least_left_out = first_share(problem, tol), init, math.inf
        certificate: Certificate | None = None
        while True:
            problem = prepared(problem, share)
            if certificate is not None and monitor.must_stop():  # a thinner basis has given a model already
                return monitor.result(A, certificate, n_iter)
            spectral = problem.gram.spectral(problem.tolerance(share))
            A, n_iter, reduced_gap, stalled, b = self.iterate(problem, spectral, A, n_iter, monitor)
            certificate = certified(problem, spectral, A, b, tol)
            blame_reduction = certificate.visible_gap > tol >= reduced_gap
            finer = 0 < spectral.left_out < least_left_out  # than the one before: rounding sets an end to that
            if not (blame_reduction and finer) or n_iter >= max_iter or monitor.must_stop():
                return monitor.result(A, certificate, n_iter, "stalled" if stalled or blame_reduction else None)
            share, least_left_out = 1e-2 * share, spectral.left_out
