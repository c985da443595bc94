"""Over-relaxed ADMM in the two eigenbases, in the geometry of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.quadratic import RidgeStep, thin_eigen

__all__ = ["ADMM"]

#: entries of an (n, m) array that are worked on at a time, so that they stay in cache
BLOCK_ENTRIES = 2**15


@dataclass(eq=False, repr=False)
class ADMM(Solver):
    """Alternate a ridge step and the prox of the conjugate loss: the workhorse.

    With T the running array, one step is z = prox_{g/ρ}(T), α = ridge(2z − T), T ← T + relaxation·(α − z), where g is
    the conjugate loss and the ridge step (with the constraint of the intercept) is two thin products in the
    eigenbases of the Gram matrices. ρ starts at the natural scale of the problem and follows the residuals; changing it
    costs nothing in the eigenbases (Boyd et al., 2011; Eckstein and Bertsekas, 1992).

    The eigenbases leave out a part of the kernel that is negligible at ``tol``. The gap that is reported is
    computed with the whole kernel; if it exceeds ``tol``, the bases are refined and the iteration goes on.

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
            raise self.refuse(f"{problem.loss!r} defines none", "Use LBFGS, which needs value and gradient only.")

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        share, n_iter, A = 0.1 * self.tol, 0, init
        while True:
            eigen = thin_eigen(problem, share)
            left_out = eigen.left.trace_left_out + eigen.right.trace_left_out
            A, n_iter, gap = self._iterate(problem, RidgeStep(problem, eigen), A, n_iter, monitor)
            certificate = problem.certificate(A)
            reduced_enough = certificate.relative_gap <= self.tol or gap > self.tol
            if reduced_enough or left_out == 0 or n_iter >= self.max_iter or monitor.stopped:
                return monitor.result(A, certificate, n_iter)
            share *= 1e-2

    def _iterate(
        self, problem: DualProblem, ridge: RidgeStep, init: Any, n_iter: int, monitor: Monitor
    ) -> tuple[Any, int, float]:
        """Run until the gap in the eigenbases is within 90 % of tol; return A, the step count and that gap."""
        rho = self.rho * problem.unit
        T = np.zeros(problem.shape, dtype=problem.Y.dtype) if init is None else np.array(init)
        sweep = _Sweep(problem, ridge, self.relaxation)
        sweep.start(T, rho)
        next_check, interval = n_iter + 10, 10
        while True:
            n_iter += 1
            sweep.step(T, rho)
            if n_iter < next_check and n_iter < self.max_iter:
                continue
            A = problem.feasible(sweep.Z) if problem.fit_intercept else sweep.Z.copy()
            H = ridge.synthesise(ridge.spectrum * ridge.analyse(A))
            certificate = problem.certificate(A, H)
            if monitor.done(n_iter, certificate, share=0.9) or n_iter >= self.max_iter:
                return A, n_iter, certificate.relative_gap
            rho = sweep.rebalance(T, rho)
            interval = min(50, max(10, n_iter // 5))
            next_check = n_iter + interval


class _Sweep:
    """One pass over blocks of rows a step: finish the last ridge step, apply the prox, prepare the next one."""

    def __init__(self, problem: DualProblem, ridge: RidgeStep, relaxation: float) -> None:
        self.problem, self.ridge, self.relaxation = problem, ridge, relaxation
        n, m = problem.shape
        self.Z = np.zeros((n, m), dtype=problem.Y.dtype)
        rows = max(1, BLOCK_ENTRIES // m)
        self.blocks = [slice(start, min(start + rows, n)) for start in range(0, n, rows)]
        self.measures = [problem.measure.rows(block) for block in self.blocks]

    def start(self, T: np.ndarray, rho: float) -> None:
        """Apply the prox to T and gather what the first ridge step needs."""
        self._pass(T, rho, None)

    def step(self, T: np.ndarray, rho: float) -> None:
        """T ← T + relaxation·(α − z), then z = prox(T); in place."""
        self._pass(T, rho, self.ridge.correction(self.coordinates, self.total, rho))

    def _pass(self, T: np.ndarray, rho: float, correction: Any) -> None:
        problem, ridge = self.problem, self.ridge
        observed = problem.measure.observed
        coordinates = np.zeros((ridge.left_in.shape[1], T.shape[1]), dtype=T.dtype)
        total = np.zeros(T.shape[1], dtype=T.dtype)
        self.moved = self.apart = 0.0
        if correction is not None:
            N, c = correction
            back = N @ ridge.right_out.T
        for block, measure in zip(self.blocks, self.measures, strict=True):
            t, z = T[block], self.Z[block]
            if correction is not None:  # α − z = z − t − U N Vᵀ − c
                change = ridge.left_out[block] @ back
                change += c
                np.subtract(z, change, out=change)
                change -= t
                self.apart += float(np.vdot(change, change))
                change *= self.relaxation
                t += change
            new = problem.loss.conjugate_prox(problem.Y[block], t, 1 / rho, measure)
            if observed is not None:
                new = np.where(observed[block], new, 0.0)
            z -= new
            self.moved += float(np.vdot(z, z))
            z[...] = new
            new = 2 * new - t
            coordinates += ridge.left_in[block].T @ new
            if ridge.intercept:
                total += ridge.sample_weight[block] @ new
        self.coordinates = coordinates @ ridge.right_in
        self.total = total

    def rebalance(self, T: np.ndarray, rho: float) -> float:
        """Return a ρ that balances ‖α − z‖ against ‖z − z_last‖; rescale the multiplier in T to match."""
        if not (self.apart > 0 and self.moved > 0):
            return rho
        ratio = float(np.clip(np.sqrt(np.sqrt(self.apart / self.moved)), 0.2, 5.0))
        if 0.6 < ratio < 1.6:
            return rho
        T -= self.Z
        T /= ratio
        T += self.Z
        new_rho = rho * ratio
        self._pass(T, new_rho, None)
        return new_rho
