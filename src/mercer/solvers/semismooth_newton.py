"""Semismooth Newton steps on the free entries of a box dual, after a short warm start by ADMM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import require_numpy
from mercer.linalg import Spectral
from mercer.problems import DualProblem
from mercer.solvers.admm import ADMM
from mercer.solvers.base import Monitor
from mercer.solvers.box_primal import BoxPrimal
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.newton_system import NewtonSystem
from mercer.solvers.proximal_point import ProximalPoint
from mercer.solvers.reduction import Reduced, ReducedSolver
from mercer.solvers.stagnation import Stagnation
from mercer.solvers.sweep import Sweep

__all__ = ["SemismoothNewton"]

#: first ρ and relaxation of the warm start, in units of typical residual over typical dual variable
RHO, RELAXATION = 0.3, 1.6
#: least number of sweeps, and Newton steps that sweeps may cost before these take over
LEAST_SWEEPS, NEWTON_STEPS_WORTH = 12, 3.0
#: tolerances for which sweeps alone may do, and so many of them after which that is looked at in any case
SWEEPS_MAY_DO, MANY_SWEEPS = 5e-3, 50
#: what a sweep costs in units of a product and the passes around it
SWEEP = 2.0
#: first κ in units of ADMM's ρ, and its factor from one proximal point to the next
FIRST_KAPPA, SHRINK = 0.03, 0.25
#: inexactness of a proximal point that is accepted, as shares of tol and of the last gap
SHARE_OF_TOL, SHARE_OF_GAP = 0.3, 0.1
#: Newton steps for one proximal point, and many of them
MOST_STEPS, MANY_STEPS = 40, 25
#: products of ranks up to which the interior-point method goes on where Newton steps fail
SMALL_RANK = 600
#: proximal points that may fail to make the gap smaller, and Newton steps in which it has to halve
PATIENCE, STEPS_TO_HALVE_A_GAP = 6, 300


@dataclass(eq=False, repr=False)
class SemismoothNewton(ReducedSolver):
    """Proximal points of a box dual, each by Newton steps that look at its free entries only.

    Pinball, hinge, their Moreau smoothings and the losses of level sets have duals on a box, and at their optima most
    entries are at a bound. Some sweeps of ADMM find out which, roughly; then the dual is maximised less (κ/2)‖a − ā‖²,
    whose primal is smooth and piecewise quadratic, by Newton steps of the size of the set of free entries (or of the
    rank, where that is cheaper); ā moves to the maximiser, and κ falls to a quarter, until the gap is within ``tol``.
    A few steps do, whatever λ (Li, Sun and Toh, 2018, on related problems).

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=5000
        Limit on the number of sweeps and Newton steps.
    """

    tol: float = 1e-4
    max_iter: int = 5000

    requires = "a loss whose conjugate is a quadratic on a box, and NumPy arrays"

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if problem.box is None:
            raise self.refuse(f"the conjugate of {problem.loss.named!r} is not", "Use ADMM.")

    def iterate(self, problem: DualProblem, spectral: Spectral, init: Any, n_iter: int, monitor: Monitor) -> Reduced:
        """Run until the gap in the eigenbasis is within 90 % of tol."""
        if not spectral.rank:  # all functions are 0, and nothing but an intercept is to be found
            return ADMM(self.tol, self.max_iter).iterate(problem, spectral, init, n_iter, monitor)
        primal = BoxPrimal(problem, spectral)
        system = NewtonSystem(primal)
        looks = _Looks(self, primal, monitor)
        if init is None:
            point, n_iter = self._warm_start(primal, system, looks, n_iter)
        else:
            H = primal.lift(primal.features(init))
            point = ProximalPoint(
                primal, system, init, primal.features(init), problem.best_intercept(H, init), FIRST_KAPPA * problem.unit
            )
        crawls, before = Stagnation(STEPS_TO_HALVE_A_GAP), n_iter
        while point is not None:
            aim, steps = looks.aim, 0
            while steps < MOST_STEPS and n_iter < self.max_iter and (not steps or point.inexactness > aim):
                with np.errstate(over="ignore", invalid="ignore"):  # such steps are not taken
                    leads_on = not monitor.must_stop() and point.step()
                if not leads_on:
                    break
                steps, n_iter = steps + 1, n_iter + 1
            if looks.done(point.A, point.b, n_iter):
                break
            if looks.failures >= PATIENCE or crawls(n_iter - before, looks.gap):  # rounding spoils the Newton steps
                return self._hand_over(looks, spectral, n_iter)
            if point.inexactness <= aim:
                point.move_on(point.kappa * (SHRINK if steps <= MANY_STEPS else 1.0))
            else:
                point.start_again(point.kappa / SHRINK)
        return looks.reduced(n_iter)

    def _hand_over(self, looks: _Looks, spectral: Spectral, n_iter: int) -> Reduced:
        """Let another solver go on; return the better one of both.

        Data that can be fitted nearly perfectly have as many free entries as there are, and the interior-point method
        is good at that where the rank is small. The steps of ADMM magnify no rounding errors.
        """
        best, problem = looks.reduced(n_iter), looks.primal.problem
        balanced = problem.intercept is None or problem.intercept.balanced
        small = balanced and problem.gram.decomposes and spectral.rank <= SMALL_RANK
        if small:
            most = min(self.max_iter, n_iter + InteriorPoint.max_iter)
            other = InteriorPoint(self.tol, most).iterate(problem, spectral, None, n_iter, looks.monitor)
        else:
            other = ADMM(self.tol, self.max_iter).iterate(problem, spectral, best.A, n_iter, looks.monitor)
        return other if other.visible_gap < best.visible_gap else best._replace(n_iter=other.n_iter, stalled=True)

    def _warm_start(
        self, primal: BoxPrimal, system: NewtonSystem, looks: _Looks, n_iter: int
    ) -> tuple[ProximalPoint | None, int]:
        """Sweep until that has cost as much as a few Newton steps would; return where to start, None when done."""
        problem = primal.problem
        sweep = Sweep(problem, primal.spectral, RELAXATION, RHO * problem.unit)
        T = np.zeros(problem.shape, dtype=problem.Y.dtype)
        T += problem.null_array
        sweep.start(T)
        following = n_iter + LEAST_SWEEPS
        while True:
            n_iter += 1
            look = n_iter >= min(following, self.max_iter) or looks.monitor.must_stop()
            with np.errstate(over="ignore", invalid="ignore"):  # where rounding makes the iteration diverge
                sweep.step(T, measure=look)
            if not look:
                continue
            if not np.all(np.isfinite(T)):
                looks.done(problem.null_array, problem.null_model[1], n_iter)
                return None, n_iter
            n_free = int(np.count_nonzero(primal.free(sweep.Z)))
            worth = NEWTON_STEPS_WORTH * system.cost(n_free) / (SWEEP * primal.pass_cost)
            may_do = self.tol >= SWEEPS_MAY_DO or (n_iter >= MANY_SWEEPS and worth > 1.5 * n_iter)
            ends = n_iter >= self.max_iter or looks.monitor.stopped
            if (may_do or ends) and looks.done(sweep.Z, sweep.multiplier, n_iter):
                return None, n_iter
            looks.failures = 0
            if n_iter >= worth:
                break
            sweep.rebalance(T)
            following = min(n_iter + max(10, n_iter // 5), max(math.ceil(worth), n_iter + 4))
        N, nu = sweep.ridge.correction(sweep.coordinates, sweep.total)
        C = sweep.rho * N / primal.root
        b = problem.null_model[1] if nu is None else sweep.rho * nu
        return ProximalPoint(primal, system, sweep.Z.copy(), C, b, FIRST_KAPPA * sweep.rho), n_iter


class _Looks:
    """Certificates in the eigenbasis: the best array so far, and how exact the next proximal point has to be."""

    def __init__(self, solver: SemismoothNewton, primal: BoxPrimal, monitor: Monitor) -> None:
        self.solver, self.primal, self.monitor = solver, primal, monitor
        self.best: Any = None
        self.gap, self.smallest, self.failures = 1.0, math.inf, 0
        self.objective = abs(primal.problem.null_model[0])

    @property
    def aim(self) -> float:
        """The inexactness that does no harm, in units of n times the objective."""
        share = max(SHARE_OF_TOL * self.solver.tol, SHARE_OF_GAP * min(self.gap, 1.0))
        return share * self.objective / self.primal.problem.share

    def done(self, A: np.ndarray, b: Any, n_iter: int) -> bool:
        """Look at the gap of a dual array; return whether to stop."""
        problem = self.primal.problem
        intercept = problem.intercept
        fits = intercept is not None
        A = problem.feasible(A, b) if fits else A.copy()
        H = self.primal.lift(self.primal.features(A))
        certificate = problem.certificate(A, H, b if fits else None)
        self.gap = certificate.visible_gap
        self.objective = max(abs(certificate.dual), 1e-300)
        self.failures = 0 if self.gap < self.smallest else self.failures + 1
        if self.gap < self.smallest:
            running = b if intercept is not None and not intercept.exact else None
            self.best, self.smallest = (A, running), self.gap
        enough = self.monitor.done(n_iter, certificate, share=0.9)
        return enough or n_iter >= self.solver.max_iter

    def reduced(self, n_iter: int) -> Reduced:
        """Return the best array."""
        A, b = self.best
        return Reduced(A, n_iter, self.smallest, intercept=b)
