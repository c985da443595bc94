"""Conjugate gradients with a Nyström preconditioner: the exact fit of a hundred thousand rows without their matrix."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.linalg import Spectral, affordable_rank, conjugate_gradient, memory_budget
from mercer.losses.observed import node_mean
from mercer.losses.square import Square
from mercer.problems import Certificate, DualProblem
from mercer.solvers.admm import ADMM
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.ridge_step import RidgeStep
from mercer.solvers.stagnation import Stagnation

__all__ = ["PreconditionedCG"]

#: landmarks in units of √n
LANDMARKS_PER_ROOT = 5.0
#: how much of the memory budget a stored matrix may take
STORED_SHARE = 0.6
#: by how much the residual of a ridge step of ADMM falls, and in how many steps at most
RIDGE_DECREASE, RIDGE_STEPS = 0.1, 10
#: steps in which the gap has to halve
STEPS_TO_HALVE_GAP = 300
#: gap of the solution with the landmarks that ADMM starts from, at least
START_TOL = 1e-4
#: the gap at which a step is looked at with the whole kernel, in units of tol
NEAR = 0.5
#: asked before each step with a correction and what is left of the residual
Stop = Callable[[Any, Any], bool]


@dataclass(eq=False, repr=False)
class PreconditionedCG(Solver):
    """Solve (I + 𝐊/(λn)) A = Y − b by conjugate gradients, preconditioned by the ridge fit of few landmarks.

    The preconditioner is the inverse for Nyström's approximation 𝐊̃ of 𝐊, of rows drawn by what those before have left
    (Rudi, Carratino and Rosasco, 2017, precondition likewise; here the system is that of *all* rows, and the fit is
    exact). The condition number is at most 1 + ‖𝐊 − 𝐊̃‖/(λn): a handful of products with 𝐊 do, each of n²/2
    values of the kernel that are made anew in blocks of rows: the matrix is never stored. All columns of Y go through
    a product together. For the square loss the duality gap is share/2 times the squared residual, so that looks
    at it are free, but for the last.

    Other losses have the steps of :class:`ADMM`, from its solution with 𝐊̃; their ridge step goes on from the last one
    by conjugate gradients, with the preconditioner for its ρ, as far as pays. As these take more products, the matrix
    is stored where it fits into the memory budget.

    Prefer it to :class:`ClosedForm` and :class:`ADMM` for many rows, a kernel of large rank and one λ that is not tiny:
    these need an eigenbasis of the matrix, or its Cholesky factor.

    Parameters
    ----------
    tol : float, default=1e-8
        Bound on the relative duality gap.
    max_iter : int, default=1000
        Limit on the products with 𝐊.
    n_landmarks : int, optional
        The most rows that the preconditioner is made of; 5√n by default. Fewer are taken where these leave a trace
        below λn, as the condition number is then at most 2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorValuedRegressor
    >>> from mercer.kernels import Laplacian
    >>> X = np.random.default_rng(0).uniform(size=(500, 2))
    >>> solver = PreconditionedCG()
    >>> model = VectorValuedRegressor(Laplacian(2.0), alpha=1e-3, approximation=None, solver=solver)
    >>> model.fit(X, np.sin(6 * X)).status_
    'converged'
    """

    tol: float = 1e-8
    max_iter: int = 1000
    n_landmarks: int | None = None

    requires = "a loss with a conjugate prox, complete targets and NumPy arrays"

    def _check(self) -> None:
        super()._check()
        if self.n_landmarks is not None:
            check_number(self, "n_landmarks", self.n_landmarks, low=1, strict=False, integer=True)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        self.require_plain_intercept(problem)
        if not problem.loss.has_conjugate:
            raise self.refuse(f"{problem.loss.named!r} defines none", "Use LBFGS.")
        if problem.measure.observed is not None:
            raise self.refuse("some targets are missing", "Use ClosedForm for the square loss, ADMM for others.")

    def prepare(self, problem: DualProblem) -> DualProblem:
        if isinstance(problem.loss, Square):  # a handful of products, each of half the values of the matrix
            return problem
        return problem.with_gram(problem.gram.stored(int(STORED_SHARE * memory_budget())))

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        problem = self.prepare(problem)
        spectral = problem.gram.leading(self.landmarks(problem.shape[0]), problem.shift)
        system = _System(self, problem, spectral, monitor)
        if isinstance(problem.loss, Square):
            _fit_targets(system, init)
        else:
            _fit_by_admm(system, spectral, init)
        assert system.best is not None  # the last step has a look
        status = None if system.n_iter >= self.max_iter else "stalled"
        return monitor.result(*system.best, system.n_iter, status)

    def landmarks(self, n: int) -> int:
        """Return how many rows the preconditioner of n rows is made of, at most."""
        wished = math.ceil(LANDMARKS_PER_ROOT * math.sqrt(n)) if self.n_landmarks is None else self.n_landmarks
        return max(1, min(wished, n, affordable_rank(n)))


class _System:
    """(ρ + 𝐊/(λn))A = R up to a constant in each column, and looks at the gap."""

    def __init__(self, solver: PreconditionedCG, problem: DualProblem, spectral: Spectral, monitor: Monitor) -> None:
        self.solver, self.problem, self.spectral, self.monitor = solver, problem, spectral, monitor
        self.n_iter = 0
        self.crawls = Stagnation(STEPS_TO_HALVE_GAP)
        self.best: tuple[Any, Certificate] | None = None
        self.set_rho(1.0)

    def set_rho(self, rho: float) -> None:
        """Change ρ, and the preconditioner with it."""
        self.rho, self.ridge = rho, RidgeStep(self.problem, self.spectral, rho)

    def centred(self, array: Any) -> Any:
        """Return an array less what an intercept takes off it: the mean of each column."""
        problem = self.problem
        if not problem.fit_intercept:
            return array
        return array - node_mean(array, problem.sample_weight, problem.measure)[None, :]

    def predict(self, A: Any) -> Any:
        """Return h_A, one product with the kernel."""
        self.n_iter += 1
        return self.problem.predict(A)

    def solve(self, residual: Any, stop: Stop, decrease: float = 0.0, steps: int | None = None) -> tuple[Any, Any]:
        """Return a correction D and what is left of the residual: conjugate gradients in whitened coordinates.

        ``stop(D, residual)`` is asked before each step.
        """
        gram, left = self.problem.gram, self.problem.gram.whiten(residual)
        room = max(0, self.solver.max_iter - self.n_iter)
        last = self.n_iter + (room if steps is None else min(room, steps))

        def image(x: Any) -> Any:
            x = gram.unwhiten(x)
            return gram.whiten(self.centred(self.rho * x + self.predict(x)))

        def asked(x: Any, r: Any) -> bool:
            nonlocal left
            left = r
            return stop(gram.unwhiten(x), gram.unwhiten(r)) or self.n_iter >= last or self.monitor.must_stop()

        found, _, _ = conjugate_gradient(
            image,
            left,
            precondition=lambda r: gram.whiten(self.centred(self.ridge(gram.unwhiten(r) / self.rho))),
            tolerance=decrease,
            max_iter=room + 1,
            stop=asked,
        )
        return gram.unwhiten(found), gram.unwhiten(left)

    def look(self, A: Any, H: Any) -> bool:
        """Look at the gap of A with predictions as the iteration has them; return whether to certify it."""
        certificate = self.problem.certificate(A, H)
        near = self.monitor.done(self.n_iter, certificate, share=NEAR)
        return near or self.over or self.crawls(self.n_iter, certificate.visible_gap)

    def keep(self, A: Any) -> Certificate:
        """Certify a feasible array with the whole kernel, and keep the best one."""
        certificate = self.problem.certificate(A)
        if self.best is None or certificate.visible_gap < self.best[1].visible_gap:
            self.best = A, certificate
        self.monitor.done(self.n_iter, self.best[1])
        return certificate

    @property
    def over(self) -> bool:
        """Whether no more steps are to be made."""
        return self.monitor.must_stop() or self.n_iter >= self.solver.max_iter


def _fit_targets(system: _System, init: Any) -> None:
    """Solve (I + 𝐊/(λn))A = Y; where rounding has spoilt the residual, start anew from what was found."""
    problem, gap = system.problem, math.inf
    Y = problem.Y
    A = system.ridge(Y) if init is None else system.centred(init)
    while True:
        base = A
        residual = system.centred(Y - base - system.predict(base))
        correction, _ = system.solve(residual, partial(_look_at, system, base))
        A = problem.feasible(base + correction)
        last, gap = gap, system.keep(A).visible_gap
        if system.over or gap <= system.solver.tol or not gap <= last / 2:
            return


def _look_at(system: _System, base: Any, D: Any, rest: Any) -> bool:
    """Look at the array base + D: its predictions and intercept are Y less it and less the residual."""
    return system.look(base + D, system.problem.Y - base - D - rest)


def _fit_by_admm(system: _System, spectral: Spectral, init: Any) -> None:
    """Alternate the prox of the conjugate loss and a ridge step whose system is solved as far as pays.

    T = z + u, u = −U/ρ with the predictions U of the multipliers; α and what it predicts, H, go on from step to step.
    """
    problem, solver = system.problem, system.solver
    if init is None:
        start = ADMM(max(solver.tol, START_TOL))
        init = start.iterate(problem, spectral, None, 0, Monitor(start, None, system.monitor.interrupted)).A
    alpha = z = problem.feasible(init)
    H = system.predict(alpha)
    system.set_rho(problem.unit)
    T = alpha - (H + problem.effect(problem.best_intercept(H, alpha))) / system.rho
    while True:
        last, z = z, problem.cut(problem.loss.conjugate_prox(problem.Y, T, 1 / system.rho, problem.measure))
        residual = system.centred(system.rho * (2 * z - T - alpha) - H)
        D, rest = system.solve(residual, lambda D, r: False, RIDGE_DECREASE, RIDGE_STEPS)
        alpha = alpha + D
        H = system.centred(H + residual - rest - system.rho * D)
        feasible = problem.feasible(z)
        if system.look(feasible, H):
            gap = system.keep(feasible).visible_gap
            if system.over or gap <= solver.tol or system.crawls(system.n_iter, gap):
                return
        u = T - z
        T = T + ADMM.relaxation * (alpha - z)
        if not np.all(np.isfinite(T)):  # rounding has made it diverge
            system.keep(problem.feasible(problem.null_array))
            return
        ratio = _balance(problem, z, u, alpha - z, z - last)
        if ratio != 1:
            T = z + (T - z) / ratio
            system.set_rho(system.rho * ratio)


def _balance(problem: DualProblem, z: Any, u: Any, apart: Any, moved: Any) -> float:
    """Return by how much to change ρ: until ‖α − z‖/‖z‖ and the last step relative to ‖u‖ are alike."""
    size, multiplier, one, other = (problem.inner(part, part) for part in (z, u, apart, moved))
    one, other = one * multiplier, other * size
    ratio = (one / other) ** 0.25 if one > 0 and other > 0 else 1.0
    return min(max(ratio, 0.2), 5.0) if not 0.5 < ratio < 2.0 else 1.0
