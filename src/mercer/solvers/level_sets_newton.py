"""Level sets that share a penalty on their offsets: Newton's method on one number per level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.linalg import scaled
from mercer.problems import DualProblem, PenalisedOffsets
from mercer.solvers.admm import ADMM
from mercer.solvers.base import Interrupted, Monitor, Solver, SolverResult
from mercer.solvers.level_sets import (
    Level,
    dual_array,
    follow_levels,
    gram_rows,
    intercept_and_gram,
    stored_limit,
    upper_bounds,
)
from mercer.solvers.stagnation import Stagnation

__all__ = ["OffsetNewton"]

#: limit on the pairs that are moved at one level, and shortest share of a Newton step
PAIRS, SHORTEST = 20_000, 1e-4
#: limit on the pairs of all levels and Newton steps
MOST_PAIRS = 400_000
#: Newton steps in which the gap has to halve
NEWTON_STEPS_TO_HALVE = 20


@dataclass(eq=False, repr=False)
class OffsetNewton(Solver):
    """Newton's method on the masses σ_j = Σ_i δ_ij around independent levels, for α > 0 without coupling.

    With V_j(σ) the least ½δᵀKδ of mass σ at level j, the dual is the convex problem

        min_σ  Σ_j η_j V_j(σ_j) + (1/2α) vᵀK_b v,   v = η(1 − σ),

    in m numbers, where V_j' is the offset of level j and V_j'' comes from the few rows on its boundary. Each step
    solves the levels anew, from where they are. Should rounding stop the steps, as it may
    with a tiny α, :class:`ADMM` takes over for the iterations that are left; the better point is returned.

    Parameters
    ----------
    tol : float, default=1e-3
        Bound on the relative duality gap.
    max_iter : int, default=2000
        Limit on the number of Newton steps, and of ADMM steps after them, together.
    """

    tol: float = 1e-3
    max_iter: int = 2000

    requires = "level sets with penalised offsets and without coupling"

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        if not (isinstance(problem.intercept, PenalisedOffsets) and problem.gram.columns_alike):
            raise self.refuse(f"this problem has {intercept_and_gram(problem)}", "Use ADMM.")

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        problem = problem.with_gram(problem.gram.stored(stored_limit()))
        rows = gram_rows(scaled(problem.gram.column_operator(), 1 / problem.alpha), 1e-2 * self.tol)
        levels, _, _ = follow_levels(problem, rows, 0.3 * self.tol, PAIRS, monitor.must_stop)
        masses = _Masses(problem, levels, monitor.must_stop)
        crawls = Stagnation(NEWTON_STEPS_TO_HALVE)
        for n_iter in range(1, self.max_iter + 1):
            moved = masses.step(0.3 * self.tol)
            certificate = problem.certificate(masses.A, masses.scores)
            moved = not crawls(n_iter, certificate.visible_gap) and moved
            if monitor.done(n_iter, certificate, share=0.9):
                certificate = problem.certificate(masses.A)  # scores have gathered rounding, or are those of a factor
                if monitor.stopped or certificate.visible_gap <= self.tol:
                    return monitor.result(masses.A, certificate, n_iter)
                moved = False
            if not moved:
                return self._hand_over(problem, masses.A, monitor, n_iter)
        return monitor.result(masses.A, problem.certificate(masses.A), self.max_iter)

    def _hand_over(self, problem: DualProblem, A: np.ndarray, monitor: Monitor, n_iter: int) -> SolverResult:
        """Let ADMM spend the iterations that are left; return the point of the smaller gap."""
        certificate = problem.certificate(A)
        if n_iter >= self.max_iter:
            return monitor.result(A, certificate, n_iter)
        result = ADMM(tol=self.tol, max_iter=self.max_iter).run(problem, A, monitor, n_iter)
        if result.gap <= certificate.gap:
            return result
        return monitor.result(A, certificate, result.n_iter, result.status)


class _Masses:
    """The levels at their masses, and the value of the dual there."""

    def __init__(self, problem: DualProblem, levels: list[Level], interrupted: Interrupted) -> None:
        self.problem, self.weights, self.interrupted = problem, problem.measure.weights, interrupted
        offsets: Any = problem.intercept
        self.offset_gram = offsets.gram / offsets.penalty  # K_b/α
        self.most, self.pairs = upper_bounds(problem).sum(axis=0), 0
        self._take(levels)

    def _take(self, levels: list[Level]) -> None:
        self.levels, self.value = levels, self._value(levels)

    def _value(self, levels: list[Level]) -> float:
        excess = self.weights * (1 - np.array([level.delta.sum() for level in levels]))
        norms = np.array([level.delta @ level.scores for level in levels])
        return 0.5 * float(self.weights @ norms + excess @ self.offset_gram @ excess)

    @property
    def A(self) -> np.ndarray:
        return dual_array(self.problem, self.levels)

    @property
    def scores(self) -> np.ndarray:
        return np.column_stack([level.scores for level in self.levels])

    def step(self, tol: float) -> bool:
        """Take a Newton step, shortened until the value falls; False where it does not, or pairs are spent."""
        mass = np.array([level.delta.sum() for level in self.levels])
        target = self.offset_gram @ (self.weights * (1 - mass))
        bounds = np.sort([level.offsets for level in self.levels], axis=1)  # unsolved levels have them the wrong way
        residual = np.clip(target, bounds[:, 0], bounds[:, 1]) - target
        stiffness = np.array([level.stiffness for level in self.levels])
        jacobian = np.diag(stiffness) + self.offset_gram * self.weights
        if not (np.all(np.isfinite(jacobian)) and np.all(np.isfinite(residual))):
            return False
        try:
            direction = -np.linalg.solve(jacobian, residual)
        except np.linalg.LinAlgError:  # equal levels without a row within its bounds make it singular
            direction = -np.linalg.lstsq(jacobian, residual, rcond=None)[0]
        share = 1.0
        while share >= SHORTEST and self.pairs < MOST_PAIRS:
            levels = self._at(np.clip(mass + share * direction, 0, self.most), tol)
            if self._value(levels) < self.value:
                self._take(levels)
                return True
            share /= 4
        return False

    def _at(self, mass: np.ndarray, tol: float) -> list[Level]:
        levels = [level.with_mass(each) for level, each in zip(self.levels, mass, strict=True)]
        for level in levels:
            self.pairs += level.run(tol, 1e-6 * self.problem.null_model[0], PAIRS, self.interrupted)
        return levels
