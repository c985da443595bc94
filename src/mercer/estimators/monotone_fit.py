"""Fits whose functions h(x) + b do not fall in θ: by a price, by constraints at anchors, or on a whole box."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mercer.backend import require_numpy, to_numpy
from mercer.estimators.interruption import Interruption
from mercer.exceptions import UnsupportedError
from mercer.interpolation import interpolation_slopes, refine
from mercer.losses import Loss
from mercer.measures import Measure
from mercer.operator_valued import BoundKernel
from mercer.problems import Certificate, DualProblem, monotone_problem
from mercer.problems.cover import Cover, check_cover
from mercer.solvers import SolverResult, no_worse_than_null

__all__ = ["MonotoneFit"]

#: least number of cells of Θ in which slopes are looked at: just inside both ends and in the middle (Simpson's rule)
LEAST_CELLS = 8
PLACES = np.array([1e-6, 0.5, 1 - 1e-6])
SHARES = np.array([1, 4, 1]) / 6
#: anchors of a guarantee to start from, by number of columns, and rounds of adding more
FIRST_ANCHORS = {1: 33, 2: 9}
ROUNDS = 10
#: entries of the dual arrays of all rounds, and in units of those of the first round: no round is begun beyond both
MOST_ENTRIES, MOST_TIMES = 2**15, 4
#: rounds after which slopes are looked at in cells half as wide
ROUNDS_PER_REFINEMENT = 4
#: share of the tolerance of a guarantee that is left to the solver; the rest is for what lies between anchors
SOLVER_SHARE = 0.3


class MonotoneFit:
    """The monotone problem on the rows X and, perhaps, further anchors; solved to a gap of ``tol``."""

    def __init__(
        self,
        bound: BoundKernel,
        loss: Loss,
        X: Any,
        Y: Any,
        weight: Any,
        alpha: float,
        fit_intercept: bool,
        origin: float = 0.0,
    ) -> None:
        require_numpy("noncrossing", "Use noncrossing='rearrange' or None for arrays of other libraries.", X)
        if not loss.pointwise:
            raise UnsupportedError(f"Slopes are constrained for pointwise losses; {loss!r} is not.")
        self.grid = refine(bound.measure.locations, LEAST_CELLS + 1)
        self._set_slopes(bound)
        self.loss, self.X, self.Y, self.weight = loss, X, to_numpy(Y), weight
        self.alpha, self.fit_intercept, self.origin = alpha, fit_intercept, origin

    def _set_slopes(self, bound: BoundKernel) -> None:
        widths = np.diff(self.grid)
        points = self.grid[:-1, None] + widths[:, None] * PLACES
        self.slopes = Measure(points.ravel(), np.outer(widths / widths.sum(), SHARES).ravel())
        self.bound: Any = bound.with_slopes(self.slopes.points)

    def refine_slopes(self) -> None:
        """Look at slopes in cells half as wide."""
        self.grid = refine(self.grid, 2 * len(self.grid) - 1)
        self._set_slopes(self.bound)

    def problem(
        self, price: float, anchors: np.ndarray | None = None, alone: bool = False
    ) -> tuple[DualProblem, np.ndarray]:
        """Return the problem with slopes at all rows, and its rows; anchors are further inputs, or the only ones."""
        rows = self.X if anchors is None else np.concatenate([self.X, anchors])
        natural = self.bound.slope_sizes()
        problem = monotone_problem(
            self.bound.gram(rows),
            self.loss,
            self.Y,
            self.bound.measure,
            self.alpha,
            self.slopes,
            price,
            np.maximum(natural, 1e-12 * natural.max()) if natural.max() > 0 else np.ones_like(natural),
            self.weight,
            self.fit_intercept,
            self.origin,
            anchors_alone=alone,
        )
        return problem, rows

    def guarantee(
        self, solve: Any, tol: float, interrupted: Interruption
    ) -> tuple[DualProblem, np.ndarray, SolverResult]:
        """Solve for h + b that rises on the whole box of X, adding anchors until the gap is within ``tol``.

        Constraints at anchors relax the problem with constraints everywhere, so that the dual value of the former is a
        lower bound for the latter; b, made steeper by what a cover of the box asks for, gives an upper bound. The
        number of rounds is limited by counts, so that the same data give the same model; and where the solver itself
        does not come within ``tol``, more anchors would not help. Once ``interrupted``, the better one of the last two
        rounds is returned.
        """
        check_cover(self.bound.kernel, self.bound.output_kernel, self.X.shape[1])
        cover = Cover(self.X.min(axis=0), self.X.max(axis=0), np.unique(self.bound.measure.locations))
        anchors = cover.inputs(FIRST_ANCHORS[self.X.shape[1]])
        middles = (cover.nodes[:-1] + cover.nodes[1:]) / 2
        slopes_of_b = interpolation_slopes(self.bound.measure.locations, middles)
        entries: list[int] = []
        last: Any = None
        for remaining in reversed(range(ROUNDS)):
            problem, rows = self.problem(math.inf, anchors)
            result = solve(problem, SOLVER_SHARE * tol, interrupted)
            coef, H = problem.primal_coef(result.coef), problem.predict(result.coef)
            lowest, where = cover.lowest_slopes(self.bound.expand(rows, coef), _accuracy(problem, result, tol))
            intercept: Any = problem.intercept  # a SlopedIntercept, as the price is infinite
            rise = intercept.rise(result.intercept, slopes_of_b, lowest)
            b = intercept.stored(intercept.steeper(result.intercept, middles, rise))
            with np.errstate(over="ignore"):  # where slopes are huge, the model without h is better
                risks = (problem.risk(H, offset) for offset in (b, result.intercept))
                objective = result.objective + next(risks) - next(risks)
            certificate = Certificate(objective, result.objective - result.gap, problem.null_model[0], b)
            found = problem, rows, self.bound, _with(result, certificate, tol)
            if interrupted():
                found = _stopped(min(found, last or found, key=lambda each: each[-1].relative_gap))
                break
            entries.append(math.prod(problem.shape))
            spent = sum(entries) > max(MOST_ENTRIES, MOST_TIMES * entries[0])
            if certificate.relative_gap <= tol or result.relative_gap > tol or spent or not remaining:
                break
            last = found
            anchors = np.unique(np.concatenate([anchors, where[rise > 0]]), axis=0)
            if remaining % ROUNDS_PER_REFINEMENT == 0:
                self.refine_slopes()
        problem, rows, self.bound, result = found
        return problem, rows, no_worse_than_null(problem, result)


def _accuracy(problem: DualProblem, result: SolverResult, tol: float) -> float:
    """Return an error of slopes that costs about a tenth of ``tol``: raising b by ε costs ε times a mean of |α|."""
    base: Any = problem.values
    n, m = base.shape
    values = result.coef[:n, :m]
    mean = math.sqrt(base.inner(values, values) / n)
    return 0.1 * tol * max(result.objective, 1e-6 * problem.null_model[0]) / mean if mean > 0 else base.unit


def _with(result: SolverResult, certificate: Certificate, tol: float) -> SolverResult:
    """Return the result with another certificate, which decides whether it has converged."""
    status = "converged" if certificate.relative_gap <= tol else "anchors"
    if result.relative_gap > tol:  # no fault of the anchors
        status = result.status
    return replace(
        result,
        intercept=certificate.intercept,
        objective=certificate.primal,
        gap=certificate.gap,
        relative_gap=certificate.relative_gap,
        status=status,
        solver=result.solver.replace(tol=tol),
    )


def _stopped(found: Any) -> Any:
    """Return a round of a guarantee whose result says that it was stopped, unless it has converged."""
    *parts, result = found
    return (*parts, result if result.converged else replace(result, status="stopped"))
