"""Safe screening: rows that certainly lie inside the tube are left out while another solver goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import require_numpy
from mercer.exceptions import parameter_error
from mercer.problems import DualProblem, certainly_inside, without_rows
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.proximal_gradient import ProximalGradient

__all__ = ["SafeScreening"]

#: relative gap of the first round and by how much each round divides it; gaps below which nothing is certified
FIRST_ROUND, ROUND_FACTOR, LAST_ROUND = 1e-1, 10.0, 1e-15


@dataclass(eq=False, repr=False)
class SafeScreening(Solver):
    """Solve to a loose gap, leave out rows that no solution touches, go on with the others to a tighter one.

    A gap says how far predictions may be from those of the optimum, and a residual that is inside the tube by more than
    that has a dual row of 0 there (:func:`~mercer.problems.certainly_inside`). Without such rows the problem is
    smaller and its solution the same; the certificate is that of all rows. Prefer it for wide tubes, where most rows
    are inside: products with the kernel cost the square of those that are left.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=10000
        Limit on the number of steps, of all rounds together.
    solver : Solver, default=None
        What solves each round, its ``tol`` apart; :class:`ProximalGradient` by default.
    """

    tol: float = 1e-4
    max_iter: int = 10_000
    solver: Solver | None = None

    requires = "an ε-loss of norms, columns of one kernel, no intercept, no missing entries and NumPy arrays"

    def _check(self) -> None:
        super()._check()
        if not (self.solver is None or isinstance(self.solver, Solver)):
            raise parameter_error(self, "solver", self.solver, "a Solver or None", "For instance FactoredADMM().")

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        loss = problem.loss
        if not (loss.of_norms and loss.threshold is not None and loss.threshold.inside == "nothing"):
            raise self.refuse(f"{loss!r} is none", "Use ADMM.")
        if problem.fit_intercept or problem.has_slopes or problem.measure.observed is not None:
            raise self.refuse("this problem has an intercept or missing entries", "Use ADMM.")
        if not problem.gram.columns_alike:
            raise self.refuse("this kernel mixes columns, or treats them differently", "Use ADMM.")
        self._inner(self.tol, self.max_iter).check(problem)

    def _inner(self, tol: float, max_iter: int) -> Solver:
        solver = ProximalGradient() if self.solver is None else self.solver
        return solver.replace(tol=tol, max_iter=max_iter)

    def prepare(self, problem: DualProblem) -> DualProblem:
        return self._inner(self.tol, self.max_iter).prepare(problem)

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        problem = self.prepare(problem)
        A = np.zeros(problem.shape, dtype=problem.Y.dtype) if init is None else np.array(init)
        kept, part = np.arange(len(A)), problem
        aim, n_iter, best = 1.0, 0, None
        while True:
            aim = max(aim / ROUND_FACTOR, LAST_ROUND) if n_iter else max(FIRST_ROUND, self.tol)
            start = A[kept] if np.any(A) else None
            inner = self._inner(aim, max(self.max_iter - n_iter, 1))
            found = inner.solve(part, init=start, interrupted=monitor.must_stop)
            n_iter += max(found.n_iter, 1)
            A = np.zeros_like(A)
            A[kept] = found.coef
            certificate = problem.certificate(A)
            if best is None or certificate.visible_gap < best[1].visible_gap:
                best = A, certificate
            if monitor.done(n_iter, certificate) or found.status == "stalled":
                break
            if n_iter >= self.max_iter or aim <= LAST_ROUND:
                break
            inside = certainly_inside(problem, best[1])[kept]
            if np.any(inside) and not np.all(inside):
                kept = kept[~inside]
                part = self._inner(aim, 1).prepare(without_rows(problem, kept))
        return monitor.result(*best, n_iter, None if n_iter >= self.max_iter else "stalled")
