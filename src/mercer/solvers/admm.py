"""Over-relaxed ADMM in an eigenbasis, in the geometry of the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.linalg import Spectral
from mercer.losses import Box
from mercer.problems import Certificate, DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.reduction import FIRST_SHARE, Reduced, prepared, solve_reduced
from mercer.solvers.ridge_step import RidgeStep

__all__ = ["ADMM", "like_square"]

#: entries of an (n, m) array that are worked on at a time, so that they stay in cache
BLOCK_ENTRIES = 2**15
#: gaps with the running intercept, in units of tol, from which on the best intercept may bring them within tol
WORTH_A_SORT = 3.0
#: steps before the first look at the gap, and share of the steps so far to wait at most: where ADMM takes tens of steps
QUICK = {"first": 3, "share": 2}
#: ... and where it takes hundreds
SLOW = {"first": 10, "share": 5}


@dataclass(eq=False, repr=False)
class ADMM(Solver):
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
                f"{problem.loss!r} defines none",
                "Use LBFGS if it is smooth, or give it conjugate and conjugate_prox.",
            )

    def prepare(self, problem: DualProblem) -> DualProblem:
        return prepared(problem, FIRST_SHARE * self.tol)

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        return self.run(problem, init, monitor)

    def run(self, problem: DualProblem, init: Any, monitor: Monitor, n_iter: int = 0) -> SolverResult:
        """Solve for the solver that the monitor belongs to, which has spent ``n_iter`` of the iterations already."""

        def iterate(problem: DualProblem, spectral: Spectral, A: Any, n_iter: int) -> Reduced:
            return self._iterate(problem, spectral, A, n_iter, monitor)

        return solve_reduced(problem, init, monitor, iterate, n_iter)

    def _iterate(self, problem: DualProblem, spectral: Spectral, init: Any, n_iter: int, monitor: Monitor) -> Reduced:
        """Run until the gap in the eigenbasis is within 90 % of tol."""
        ridge = RidgeStep(problem, spectral)
        unit, A, U = _first_guess(problem, ridge, init)
        sweep = _Sweep(problem, spectral, self.relaxation, self.rho * unit)
        T = A - U / sweep.rho  # z + u with z = A and u = −U/ρ: a fixed point where A is optimal and U = h_A + b
        sweep.start(T)
        aim = 0.9 if problem.loss.smooth or not problem.fit_intercept else WORTH_A_SORT
        looks = _Looks(n_iter, aim * self.tol, **(QUICK if like_square(problem) else SLOW))
        last: Reduced | None = None
        while True:
            n_iter += 1
            look = n_iter >= min(looks.following, self.max_iter)
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
                return Reduced(A, n_iter, certificate.visible_gap, intercept=b)
            last = Reduced(A, n_iter, certificate.visible_gap, stalled=True, intercept=b)
            sweep.rebalance(T)
            looks.plan(n_iter, certificate.visible_gap)

    def _look(self, problem: DualProblem, A: Any, H: Any, multiplier: Any) -> tuple[Certificate, Any]:
        """Return a certificate and the intercept to start from later: that of the iteration, or the best when near."""
        certificate = problem.certificate(A, H, multiplier)
        if problem.intercept is None:
            return certificate, None
        if not problem.intercept.exact:
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
            U = U + problem.intercept.effect(problem.best_intercept(U, init))
    elif quick and problem.measure.observed is None:
        U = Y - ridge(Y)
        A = -problem.loss.gradient(Y, U, problem.measure)
    else:
        return problem.unit, problem.null_array, np.zeros(problem.shape, dtype=Y.dtype)
    return max(problem.unit, _typical_ratio(problem, A, U)) if quick else problem.unit, A, U


def _typical_ratio(problem: DualProblem, A: Any, U: Any) -> float:
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


class _Sweep:
    """One pass over blocks of rows a step: finish the last ridge step, apply the prox, prepare the next one."""

    def __init__(self, problem: DualProblem, spectral: Spectral, relaxation: float, rho: float) -> None:
        self.problem, self.spectral, self.relaxation = problem, spectral, relaxation
        n, m = problem.shape
        parts = 1 if problem.loss.couples_rows else math.ceil(n * m / BLOCK_ENTRIES)
        rows = -(-n // parts)  # blocks of about the same size
        self.blocks = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
        box = problem.box
        if box is None or problem.measure.observed is not None:
            self.prox: _LossProx | _BoxProx = _LossProx(problem)
        else:
            self.prox = _BoxProx(problem, box, rows)
        self.set_rho(rho)
        self.Z = np.zeros((n, m), dtype=problem.Y.dtype)

    def set_rho(self, rho: float) -> None:
        self.rho = rho
        self.ridge = RidgeStep(self.problem, self.spectral, rho)
        self.prox.set_step(1 / rho)

    def start(self, T: np.ndarray) -> None:
        """Apply the prox to T and gather what the first ridge step needs."""
        self._pass(T, None)

    def step(self, T: np.ndarray, measure: bool = False) -> None:
        """T ← T + relaxation·(α − z), then z = prox(T), in place; ``measure`` also takes the two residuals."""
        N, nu = self.ridge.correction(self.coordinates, self.total)
        intercept = self.problem.intercept
        self.multiplier = None if intercept is None else self.rho * nu  # b
        self._pass(T, (self.spectral.spread(N), None if intercept is None else intercept.effect(nu)), measure)

    def _pass(self, T: np.ndarray, correction: Any, measure: bool = False) -> None:
        parts = [self._block(block, T, correction, measure) for block in self.blocks]
        coordinates, self.total, self.apart, self.moved = (sum(part) for part in zip(*parts, strict=True))
        self.coordinates = self.spectral.collect(coordinates)

    def _block(self, block: slice, T: np.ndarray, correction: Any, measure: bool) -> tuple:
        """Work on some rows of T and z, in place; return their share of the sums over all rows."""
        spectral, t, z = self.spectral, T[block], self.Z[block]
        work = np.empty_like(t)
        apart = moved = 0.0
        if correction is not None:  # α − z = z − t − synthesise(N) − c
            N, c = correction
            spectral.rows(N, block, work)
            if c is not None:
                work += c
            np.subtract(z, work, out=work)
            work -= t
            if measure:
                apart = float(np.vdot(work, work))
            work *= self.relaxation
            t += work
        last = z.copy() if measure else None
        self.prox(block, t, z)
        if last is not None:
            last -= z
            moved = float(np.vdot(last, last))
        np.multiply(z, 2, out=work)
        work -= t
        total = self.problem.sample_weight[block] @ work if self.problem.fit_intercept else 0.0
        return spectral.part(work, block), total, apart, moved

    def rebalance(self, T: np.ndarray) -> None:
        """Move ρ to balance the relative residuals ‖α − z‖/‖z‖ and ‖z − z_last‖/‖u‖, u = T − z the multiplier."""
        T -= self.Z
        size, multiplier = float(np.vdot(self.Z, self.Z)), float(np.vdot(T, T))
        apart, moved = self.apart * multiplier, self.moved * size
        ratio = (apart / moved) ** 0.25 if apart > 0 and moved > 0 else 1.0
        ratio = min(max(ratio, 0.2), 5.0) if not 0.6 < ratio < 1.6 else 1.0
        T /= ratio
        T += self.Z
        if ratio != 1:
            self.set_rho(self.rho * ratio)
            self._pass(T, None)


class _LossProx:
    """z = prox of g/ρ, block by block, through the loss; entries that were not observed stay 0."""

    def __init__(self, problem: DualProblem) -> None:
        self.problem = problem

    def set_step(self, step: float) -> None:
        self.step = step

    def __call__(self, block: slice, t: np.ndarray, out: np.ndarray) -> None:
        problem = self.problem
        out[...] = problem.loss.conjugate_prox(problem.Y[block], t, self.step, problem.measure.rows(block))


class _BoxProx:
    """The same for a quadratic on a box, clip((t + Y/ρ)/(1 + c/ρ), lower, upper), without a temporary."""

    def __init__(self, problem: DualProblem, box: Box, rows: int) -> None:
        self.Y = problem.Y
        self.curvature = box.curvature
        self.lower, self.upper = (_by_block(bound, rows, problem) for bound in (box.lower, box.upper))

    def set_step(self, step: float) -> None:
        self.shrink = 1 / (1 + self.curvature * step)
        self.target = step * self.Y

    def __call__(self, block: slice, t: np.ndarray, out: np.ndarray) -> None:
        np.add(t, self.target[block], out=out)
        if self.shrink != 1:
            out *= self.shrink
        np.maximum(out, self.lower(block), out=out)
        np.minimum(out, self.upper(block), out=out)


def _by_block(bound: Any, rows: int, problem: DualProblem) -> Callable[[slice], np.ndarray]:
    """Return bounds by block; those that depend on the node only are spread once, as broadcasting is slow."""
    if bound.ndim == 2:
        return lambda block: bound[block]
    spread = np.ascontiguousarray(np.broadcast_to(bound, (rows, problem.shape[1])))
    return lambda block: spread[: block.stop - block.start]
