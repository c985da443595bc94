"""Over-relaxed ADMM in an eigenbasis, in the geometry of the weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.linalg import Spectral
from mercer.losses.observed import node_mean
from mercer.problems import Certificate, DualProblem
from mercer.solvers.base import Monitor
from mercer.solvers.reduction import Reduced, ReducedSolver
from mercer.solvers.ridge_step import RidgeStep
from mercer.solvers.sweep import Sweep

__all__ = ["ADMM", "like_square", "typical_ratio"]

#: gaps with the running intercept, in units of tol, from which on the best intercept may bring them within tol
WORTH_A_SORT = 3.0
#: steps before the first look at the gap, and share of the steps so far to wait at most: where ADMM takes tens of steps
QUICK = {"first": 3, "share": 2}
#: ... and where it takes hundreds
SLOW = {"first": 10, "share": 5}


@dataclass(eq=False, repr=False)
class ADMM(ReducedSolver):
    """Alternate a ridge step and the prox of the conjugate loss: the workhorse.

    With T the running array, one step is z = prox_{g/ρ}(T), α = ridge(2z − T), T ← T + relaxation·(α − z), where g is
    the conjugate loss and the ridge step (with the constraint of the intercept) is two thin products in the
    eigenbasis of the Gram operator. ρ starts at the natural scale of the problem and follows the residuals; changing it
    costs nothing in the eigenbasis (Boyd et al., 2011; Eckstein and Bertsekas, 1992).

    The eigenbasis leaves out a part of the kernel that is negligible at ``tol``. The gap that is reported is
    computed with the whole kernel; if it exceeds ``tol``, the basis is refined and the iteration goes on.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=5000
        Limit on the number of steps.
    relaxation : float, default=1.6
        In (0, 2).
    rho : float, default=1.0
        First penalty, in units of typical residual over typical dual variable.
    """

    tol: float = 1e-4
    max_iter: int = 5000
    relaxation: float = 1.6
    rho: float = 1.0

    requires = "a loss with a conjugate prox and NumPy arrays"

    def _check(self) -> None:
        super()._check()
        check_number(self, "relaxation", self.relaxation, low=0, high=2)
        check_number(self, "rho", self.rho, low=0)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if not problem.loss.has_conjugate:
            raise self.refuse(
                f"{problem.loss.named!r} defines none",
                "Use LBFGS if it is smooth, or give it conjugate and conjugate_prox.",
            )

    def iterate(self, problem: DualProblem, spectral: Spectral, init: Any, n_iter: int, monitor: Monitor) -> Reduced:
        """Run until the gap in the eigenbasis is within 90 % of tol."""
        ridge = RidgeStep(problem, spectral)
        unit, A, U = _first_guess(problem, ridge, init)
        sweep = Sweep(problem, spectral, self.relaxation, self.rho * unit)
        T = A - U / sweep.rho  # z + u with z = A and u = −U/ρ: a fixed point where A is optimal and U = h_A + b
        sweep.start(T)
        aim = 0.9 if problem.loss.smooth or not problem.fit_intercept else WORTH_A_SORT
        looks = _Looks(n_iter, aim * self.tol, **(QUICK if like_square(problem) else SLOW))
        last: Reduced | None = None
        while True:
            n_iter += 1
            look = n_iter >= min(looks.following, self.max_iter) or monitor.must_stop()
            with np.errstate(over="ignore", invalid="ignore"):  # where rounding makes the iteration diverge
                sweep.step(T, measure=look)
            if not look:
                continue
            if not np.all(np.isfinite(T)):
                return last or Reduced(problem.feasible(problem.null_array), n_iter, math.inf, stalled=True)
            A = problem.feasible(sweep.Z, sweep.multiplier) if problem.fit_intercept else sweep.Z.copy()
            H = ridge.smooth(A)
            certificate, b = self._look(problem, A, H, sweep.multiplier)
            if monitor.done(n_iter, certificate, share=0.9) or n_iter >= self.max_iter:
                if last is not None and monitor.stopped and last.visible_gap < certificate.visible_gap:
                    return last._replace(n_iter=n_iter, stalled=False)
                return Reduced(A, n_iter, certificate.visible_gap, intercept=b)
            last = Reduced(A, n_iter, certificate.visible_gap, stalled=True, intercept=b)
            sweep.rebalance(T)
            looks.plan(n_iter, certificate.visible_gap)

    def _look(self, problem: DualProblem, A: Any, H: Any, multiplier: Any) -> tuple[Certificate, Any]:
        """Return a certificate and the intercept to start from later: that of the iteration, or the best when near."""
        certificate = problem.certificate(A, H, multiplier)
        if problem.intercept is None:
            return certificate, None
        if not problem.intercept.exact or problem.dear_intercept:
            return certificate, multiplier
        near = 0.9 * self.tol < certificate.visible_gap <= WORTH_A_SORT * self.tol
        if near and not problem.loss.smooth:  # of a smooth loss errors of the intercept hardly show
            certificate = problem.certificate(A, H)
        return certificate, None


def like_square(problem: DualProblem) -> bool:
    """Whether the loss resembles the square loss: ADMM then starts from the ridge fit and needs few steps."""
    return problem.loss.smooth and problem.loss.indexed_by is None and not problem.has_slopes


def _first_guess(problem: DualProblem, ridge: RidgeStep, init: Any) -> tuple[float, Any, Any]:
    """Return ρ, a dual array and predictions to start from: those of ``init``, of the ridge fit, or zeros."""
    Y, quick = problem.Y, like_square(problem)
    if init is not None:
        A, U = init, ridge.smooth(init)
        if problem.intercept is not None:
            mean = problem.dear_intercept and problem.intercept.plain
            b = node_mean(Y - U, problem.sample_weight, problem.measure) if mean else problem.best_intercept(U, init)
            U = U + problem.intercept.effect(b)
    elif quick and problem.measure.observed is None:
        U = Y - ridge(Y)
        A = -problem.loss.gradient(Y, U, problem.measure)
    else:
        return problem.unit, problem.null_array, np.zeros(problem.shape, dtype=Y.dtype)
    return max(problem.unit, typical_ratio(problem, A, U)) if quick else problem.unit, A, U


def typical_ratio(problem: DualProblem, A: Any, U: Any) -> float:
    """Return mean size of residuals over mean size of dual variables: outliers do not rule it as they do ``unit``."""
    measure = problem.measure
    residual = problem.cut(problem.Y - U)
    if problem.loss.pointwise:
        top, bottom = (float(measure.integrate(np.abs(array)).mean()) for array in (residual, A))
    else:
        top, bottom = (float(measure.norm(array).mean()) for array in (residual, A))
    return min(top / bottom, 1e3 * problem.unit) if bottom > 0 else problem.unit


class _Looks:
    """When to look at the gap, which costs a step or several: where the decay seen last would bring it to ``aim``.

    The wait is kept between 4 % of the steps so far and 1/``share`` of them (all of them while the gap is far from the
    aim), as the decay is uneven, and never above 50 steps, as ρ follows the residuals at looks only.
    """

    def __init__(self, n_iter: int, aim: float, first: int, share: int) -> None:
        self.aim, self.first, self.share = aim, first, share
        self.last, self.last_gap = n_iter, math.inf
        self.following = n_iter + first

    def plan(self, n_iter: int, gap: float) -> None:
        far = gap > 100 * self.aim
        shortest, longest = (max(self.first, n_iter // share) for share in (25, 1 if far else self.share))
        wait: float = longest
        if self.aim < gap < self.last_gap < math.inf:
            decay = math.log(self.last_gap / gap) / (n_iter - self.last)
            wait = math.log(gap / self.aim) / decay
        elif gap <= self.aim:
            wait = shortest
        self.last, self.last_gap = n_iter, gap
        self.following = n_iter + min(50, max(shortest, min(longest, math.ceil(wait))))
