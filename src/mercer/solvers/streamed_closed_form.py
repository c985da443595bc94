"""The square loss of a feature problem in closed form: one pass of products, and a look at the gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.losses import Square
from mercer.problems import FeatureProblem
from mercer.solvers.feature_path import FeaturePath
from mercer.solvers.streamed import Looks, StreamedResult, StreamedSolver
from mercer.solvers.streamed_lbfgs import Slopes

__all__ = ["StreamedClosedForm"]


@dataclass(eq=False, repr=False)
class StreamedClosedForm(StreamedSolver):
    """Ridge regression from the moments of features and targets, with the certificate of any other fit.

    The fit is that of :class:`NormalEquations` with one λ. Dual variables are its residuals, which a few passes more
    make feasible and compare.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap, beyond which the result is called stalled: rounding is all that is left.
    max_iter : int, default=1
        There is one step.
    memory : int, optional
        Bytes of features that may be kept: the memory budget by default.
    """

    tol: float = 1e-4
    max_iter: int = 1
    memory: int | None = None

    requires = "a FeatureProblem, the square loss and complete targets"

    def check(self, problem: Any) -> None:
        super().check(problem)
        if not isinstance(problem.loss, Square):
            raise self.refuse(f"got {problem.loss.named!r}", "Use StreamedLBFGS if it is smooth, else StreamedADMM.")
        if not problem.complete:
            raise self.refuse("some targets are missing", "Use StreamedLBFGS.")

    def _stream(self, problem: FeatureProblem, init: Any, looks: Looks) -> StreamedResult:
        parts = problem.moments, problem.measure, problem.factor, problem.fit_intercept
        fit = FeaturePath(None, *parts, [problem.alpha]).fit(problem.alpha)
        states, _ = problem.blocks.map(Slopes(problem.terms, fit.coef, fit.intercept))
        looks.done(states, fit.coef, fit.intercept, 1)
        return looks.result(1, "stalled")
