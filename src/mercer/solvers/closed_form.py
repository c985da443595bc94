"""The square loss: two eigendecompositions (every λ almost free), one Cholesky, or conjugate gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mercer.losses.square import Square
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.observed import feature_share, solve_observed
from mercer.solvers.reduction import STORED_AT_ONCE, prepared
from mercer.solvers.ridge_step import RidgeStep

__all__ = ["ClosedForm"]

#: conjugate gradients go on to this gap whatever tol is: digits are cheap, and errors are about the root of the gap
CHEAP_GAP = 1e-8


@dataclass(eq=False, repr=False)
class ClosedForm(Solver):
    """Solve (I + 𝐊/(λn)) A = Y − b in closed form, for the square loss.

    On a complete grid: eigendecompositions of both Gram matrices, after which each further λ costs two thin products
    (:meth:`path`); a Cholesky factorisation where the output kernel has one eigenvalue only, or the kernel does not
    decompose. With missing entries: conjugate gradients in thin features, preconditioned by the spectrum and, where
    this is slow, by an exact block of the leading coordinates. With curves at points of their own: a dense
    factorisation up to 2 000 observations, conjugate gradients beyond.

    Parameters
    ----------
    tol : float, default=1e-8
        Bound on the relative duality gap (checked, and reached by construction on a complete grid).
    max_iter : int, default=1000
        Conjugate-gradient steps, with missing entries or many points.
    """

    tol: float = 1e-8
    max_iter: int = 1000

    requires = "the square loss"

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        self.require_plain_intercept(problem)
        if not isinstance(problem.loss, Square):
            raise self.refuse(f"the loss is {problem.loss.named!r}", "Use ADMM or solver='auto'.")

    def prepare(self, problem: DualProblem) -> DualProblem:
        costs = problem.gram.costs
        if _iterative(problem) or costs.factorisation < costs.decomposition:
            return problem
        return problem.with_gram(problem.gram.decomposed(0.0))

    def afford(self, problem: DualProblem) -> None:
        if not _iterative(problem):
            problem.gram.require_spectral(0.0)

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        if _iterative(problem):
            goal = min(self.tol, CHEAP_GAP)
            A, n_iter, certificate = solve_observed(problem, goal, self.max_iter, init, monitor.must_stop)
        else:
            problem = problem.with_gram(problem.gram.stored())  # which a factorisation needs, and the certificate
            shift = 1 / problem.scale  # λn
            A, n_iter = shift * problem.gram.shifted_solve(shift, problem.Y, centred=problem.fit_intercept), 1
            A = problem.feasible(A)
            certificate = problem.certificate(A)
        monitor.done(n_iter, certificate)
        return monitor.result(A, certificate, n_iter, None if n_iter >= self.max_iter else "stalled")

    def path(self, problem: DualProblem, alphas: Sequence[float]) -> Iterator[SolverResult]:
        """Yield the results for several values of λ; ``problem.alpha`` itself is not used.

        The eigenbases leave out what is far below ``tol`` at the smallest λ.
        """
        self.check(problem)
        iterative, trivial = _iterative(problem), problem.trivial  # whatever λ
        smallest = problem.with_alpha(min(alphas))
        if iterative:
            tolerance = smallest.tolerance(feature_share(min(self.tol, CHEAP_GAP)))
            problem = problem.with_gram(problem.gram.stored(STORED_AT_ONCE).featured(tolerance))
        else:
            problem = prepared(smallest, 1e-2 * self.tol)
            spectral = problem.gram.spectral(problem.tolerance(1e-2 * self.tol))
        for alpha in alphas:
            at_alpha = problem.with_alpha(alpha)
            if iterative or trivial:
                yield self.solve(at_alpha)
                continue
            A = at_alpha.feasible(RidgeStep(at_alpha, spectral)(problem.Y))
            certificate = at_alpha.certificate(A)
            yield Monitor(self, None).result(A, certificate, 1, "stalled")


def _iterative(problem: DualProblem) -> bool:
    """Whether entries are missing, or a factorisation would be dearer than conjugate gradients."""
    return problem.measure.observed is not None or not problem.gram.direct
