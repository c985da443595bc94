"""Level sets that are coupled, by their offsets or by the output kernel: ADMM in the two eigenbases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.linalg import Eigen, eigh
from mercer.problems.level_sets import LevelSetProblem, box_simplex_projection
from mercer.solvers.base import Monitor, SolverResult
from mercer.solvers.level_sets import LevelPath, LevelSetSolver

__all__ = ["LevelSetADMM"]

RELAXATION = 1.6


@dataclass(eq=False, repr=False)
class LevelSetADMM(LevelSetSolver):
    """Alternate a ridge step and an exact projection, for any penalty on offsets and any coupling.

    In the array √η δ the quadratic term is K_X ⊗ S with S = η^½Gη^½, diagonal in two eigenbases. The other step
    projects each column on its box, with the offsets: column sums 1 where they are free, and otherwise Newton's method
    on the m numbers t = K_b v/α. Starts from the independent levels of :class:`LevelPath`.

    The eigenbasis of K_X leaves out what is negligible at ``tol``; the gap that is reported has the whole kernel.

    Parameters
    ----------
    tol : float, default=1e-3
        Bound on the relative duality gap.
    max_iter : int, default=20000
        Limit on the number of steps.
    """

    tol: float = 1e-3
    max_iter: int = 20_000

    def _solve(self, problem: Any, init: Any, monitor: Monitor) -> SolverResult:
        return self.run(problem, independent_levels(problem) if init is None else init, monitor)

    def run(self, problem: LevelSetProblem, A: np.ndarray, monitor: Monitor, n_iter: int = 0) -> SolverResult:
        """Iterate from a feasible A, with n_iter of the iterations already spent."""
        trace = float(np.sum(problem.gram.diagonal()))
        share = min(10 * self.tol, 1e-2)
        while True:
            eigen = eigh(problem.gram, share * trace)
            A, n_iter, reduced_gap = self._iterate(problem, eigen, A, n_iter, monitor)
            certificate = problem.certificate(A)
            stalled = certificate.relative_gap > self.tol >= reduced_gap and not monitor.stopped
            if not stalled or n_iter >= self.max_iter or eigen.trace_left_out == 0 or share < 1e-14:
                return monitor.result(A, certificate, n_iter, "stalled" if stalled else None)
            share *= 1e-2

    def _iterate(
        self, problem: LevelSetProblem, eigen: Eigen, A: np.ndarray, n_iter: int, monitor: Monitor
    ) -> tuple[np.ndarray, int, float]:
        """Run until the gap in the eigenbases is within 90 % of tol."""
        sweep = _Sweep(problem, eigen, A)
        next_check = n_iter + 10
        while True:
            n_iter += 1
            sweep.step()
            if n_iter < min(next_check, self.max_iter):
                continue
            A = sweep.Z / sweep.root
            certificate = problem.certificate(A, sweep.scores(A))
            if monitor.done(n_iter, certificate, share=0.9) or n_iter >= self.max_iter:
                return A, n_iter, certificate.relative_gap
            sweep.rebalance()
            next_check = n_iter + min(50, max(10, n_iter // 5))


def independent_levels(problem: LevelSetProblem) -> np.ndarray:
    """Return the dual array of the same levels without penalty on offsets and without coupling."""
    alone = LevelSetProblem(problem.gram, problem.measure, problem.sample_weight)
    return LevelPath(tol=1e-2, max_iter=1000).solve(alone).coef


class _Sweep:
    """The running arrays in units of √η δ: X after the ridge step, Z after the projection, U the scaled multiplier."""

    def __init__(self, problem: LevelSetProblem, eigen: Eigen, A: np.ndarray) -> None:
        self.problem, self.left, self.right = problem, eigen, problem.mixing
        self.root = np.sqrt(problem.weights)
        self.spectrum = eigen.values[:, None] * self.right.values[None, :]
        self.Z = A * self.root
        gradient = self._quadratic(self.Z, self.spectrum)
        size = float(np.vdot(self.Z, self.Z))
        self.least = max(1e-9 * float(np.max(self.spectrum, initial=0.0)), np.finfo(float).tiny)
        self.rho = max(float(np.vdot(self.Z, gradient)) / size, self.least)
        offset = problem.offset(A, gradient / self.root)
        self.U = (offset * self.root - gradient) / self.rho  # stays where it is when A is optimal
        self.projection = _FreeOffsets(problem) if problem.alpha == 0 else _PenalisedOffsets(problem, A)
        self.apart = self.moved = 0.0

    def _quadratic(self, array: np.ndarray, factors: np.ndarray) -> np.ndarray:
        V, W = self.left.vectors, self.right.vectors
        return V @ ((factors * (V.T @ array @ W)) @ W.T)

    def scores(self, A: np.ndarray) -> np.ndarray:
        """Return h at the data, with the kernel of the eigenbasis."""
        return self._quadratic(A * self.root, self.spectrum) / self.root

    def step(self) -> None:
        """Take one over-relaxed step."""
        target = self.Z - self.U
        X = target - self._quadratic(target, self.spectrum / (self.spectrum + self.rho))
        relaxed = RELAXATION * X + (1 - RELAXATION) * self.Z
        Z = self.root * self.projection((relaxed + self.U) / self.root, self.rho)
        self.U += relaxed - Z
        self.apart, self.moved = float(np.sum((X - Z) ** 2)), float(np.sum((Z - self.Z) ** 2))
        self.Z = Z

    def rebalance(self) -> None:
        """Move ρ to balance the two residuals, each relative to its array."""
        apart = self.apart * float(np.vdot(self.U, self.U))
        moved = self.moved * float(np.vdot(self.Z, self.Z))
        ratio = (apart / moved) ** 0.25 if apart > 0 and moved > 0 else 1.0
        if not 0.6 < ratio < 1.6:
            ratio = max(min(max(ratio, 0.2), 5.0), self.least / self.rho)
            self.rho *= ratio
            self.U /= ratio


class _FreeOffsets:
    """The projection on the box with column sums 1; shifts are remembered as first guesses."""

    def __init__(self, problem: LevelSetProblem) -> None:
        self.upper = problem.upper
        self.shift: np.ndarray | None = None

    def __call__(self, P: np.ndarray, rho: float) -> np.ndarray:
        projected, self.shift = box_simplex_projection(P, self.upper, self.shift)
        return projected


class _PenalisedOffsets:
    """argmin over the box of Σ_j (ρη_j/2)‖δ_j − p_j‖² + (1/2α) vᵀK_b v, by Newton's method on β = v/α.

    δ = clip(p + t/ρ) with t = K_bβ, where β = η(1 − Σ_i δ_ij)/α: the stationary point of a convex, piecewise quadratic
    function of β, on which the step is shortened where needed.
    """

    def __init__(self, problem: LevelSetProblem, A: np.ndarray) -> None:
        self.problem = problem
        self.beta = problem.excess(A) / problem.alpha

    def _look(self, P: np.ndarray, rho: float, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return δ, the residual of β and the value of the function."""
        problem = self.problem
        t = problem.offset_gram @ beta
        delta = np.clip(P + t / rho, 0, problem.upper)
        residual = beta - problem.excess(delta) / problem.alpha
        inner = np.sum(delta * t - 0.5 * rho * (delta - P) ** 2 + 0.5 * rho * P**2, axis=0)
        return delta, residual, 0.5 * problem.alpha * float(beta @ t) + float((inner - t) @ problem.weights)

    def __call__(self, P: np.ndarray, rho: float) -> np.ndarray:
        problem, beta = self.problem, self.beta
        delta, residual, value = self._look(P, rho, beta)
        for _ in range(50):
            if np.max(np.abs(residual)) <= 1e-13 * max(float(np.max(np.abs(beta))), 1.0):
                break
            free = np.sum((delta > 0) & (delta < problem.upper), axis=0) / rho
            jacobian = np.eye(len(beta)) + (problem.weights * free / problem.alpha)[:, None] * problem.offset_gram
            direction = -np.linalg.solve(jacobian, residual)
            descent = problem.alpha * float(residual @ problem.offset_gram @ direction)
            length = 1.0
            while length > 1e-6:
                found = self._look(P, rho, beta + length * direction)
                if found[2] <= value + 1e-4 * length * descent + 1e-14 * abs(value):
                    break
                length /= 2
            beta = beta + length * direction
            delta, residual, value = found
        self.beta = beta
        return delta
