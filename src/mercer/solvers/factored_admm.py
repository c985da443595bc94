"""ADMM whose ridge step is a solve with one Cholesky factor: for many rows of full rank and losses of norms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._params import check_number
from mercer.backend import require_numpy, to_numpy
from mercer.linalg import positive_solver
from mercer.linalg.announcement import announce
from mercer.problems import DualProblem
from mercer.solvers.admm import like_square, typical_ratio
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.stagnation import Stagnation

__all__ = ["FactoredADMM"]

#: imbalance of the residuals of ADMM from which ρ is changed, which costs another factorisation
WORTH_A_FACTOR = 3.0
#: steps after which ρ is looked at first, and factorisations at most
FIRST_BALANCE, MOST_FACTORS = 10, 6
#: steps in which the gap has to halve
SLOWEST = 500


@dataclass(eq=False, repr=False)
class FactoredADMM(Solver):
    """Alternate a ridge step, by a Cholesky factor of 𝐊/(λn) + ρ, and the prox of the conjugate loss.

    The steps are those of :class:`ADMM`, in the n rows as they are: z = prox_{g/ρ}(T), α = ρ(𝐊/(λn) + ρ)⁻¹(2z − T),
    T ← T + relaxation·(α − z). A factor costs a twenty-seventh of the eigendecomposition that ADMM takes, and each
    change of ρ takes another one. Prefer it for losses like the square loss of vectors, all of whose columns have the
    same kernel, where n is large, the kernel of full rank and no intercept asked for.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=5000
        Limit on the number of steps.
    relaxation : float, default=1.6
        In (0, 2).
    """

    tol: float = 1e-4
    max_iter: int = 5000
    relaxation: float = 1.6

    requires = "columns that have the same kernel, a loss with a conjugate prox, no intercept and NumPy arrays"

    def _check(self) -> None:
        super()._check()
        check_number(self, "relaxation", self.relaxation, low=0, high=2)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if not problem.loss.has_conjugate:
            raise self.refuse(f"{problem.loss.named!r} defines none", "Use LBFGS if it is smooth.")
        if problem.fit_intercept or problem.has_slopes:
            raise self.refuse("this problem has an intercept", "Use ADMM.")
        if not problem.gram.columns_alike:
            raise self.refuse("this kernel mixes columns, or treats them differently", "Use ADMM.")

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        return self.iterate(problem, init, monitor)

    def iterate(self, problem: DualProblem, init: Any, monitor: Monitor, n_iter: int = 0) -> SolverResult:
        """Solve for the solver that the monitor belongs to, which has spent ``n_iter`` iterations already."""
        before = n_iter
        matrix, root = _whitened(problem)
        quick = like_square(problem) and problem.measure.observed is None
        rho = 1.0 if quick else problem.unit
        step = _RidgeFactor(matrix, root, rho)
        A, U = self._start(problem, step, init, quick)
        if quick:
            ratio = max(problem.unit, typical_ratio(problem, A, U))
            if not 1 / WORTH_A_FACTOR < ratio < WORTH_A_FACTOR:
                rho, step = ratio, _RidgeFactor(matrix, root, ratio)
        T, n_factors = A - U / rho, 1
        crawls, best, last, following = Stagnation(SLOWEST), None, A, 3
        for n_iter in range(1, self.max_iter + 1):
            Z = problem.conjugate_prox(T, 1 / rho)
            change = step(2 * Z - T) - Z
            T = T + self.relaxation * change
            if n_iter < min(following, self.max_iter) and not monitor.must_stop():
                last = Z
                continue
            H = _predicted(matrix, root, Z)
            certificate = problem.certificate(Z, H)
            if best is None or certificate.visible_gap < best[1].visible_gap:
                best = Z, certificate
            if monitor.done(before + n_iter, certificate, share=0.9) or crawls(n_iter, certificate.visible_gap):
                break
            following = n_iter + max(2, n_iter // 5)
            if n_iter >= FIRST_BALANCE and n_factors < MOST_FACTORS:
                factor = _imbalance(change, Z - last, Z, T - Z)
                if not 1 / WORTH_A_FACTOR < factor < WORTH_A_FACTOR:
                    T = Z + (T - Z) / factor
                    rho, n_factors = rho * factor, n_factors + 1
                    step = _RidgeFactor(matrix, root, rho)
            last = Z
        assert best is not None  # the last step has a look
        exact = problem.certificate(best[0])
        return monitor.result(best[0], exact, before + n_iter, None if n_iter >= self.max_iter else "stalled")

    @staticmethod
    def _start(problem: DualProblem, step: _RidgeFactor, init: Any, quick: bool) -> tuple[Any, Any]:
        """Return a dual array and predictions: those of ``init``, of the ridge fit (``step`` has ρ = 1), or zeros."""
        if init is not None:
            return init, problem.predict(init)
        if quick:
            U = problem.Y - step(problem.Y)
            return -problem.loss.gradient(problem.Y, U, problem.measure), U
        return problem.null_array, np.zeros(problem.shape, dtype=problem.Y.dtype)


class _RidgeFactor:
    """v ↦ ρ(𝐊/(λn) + ρ)⁻¹v."""

    def __init__(self, matrix: np.ndarray, root: np.ndarray | None, rho: float) -> None:
        self.root, self.rho = root, rho
        shifted = matrix.copy(order="F")
        shifted[np.diag_indices_from(shifted)] += rho
        try:
            factor = scipy.linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:  # rounding of a matrix so large that ρ is nothing beside it
            self.solve = positive_solver(matrix + rho * np.eye(len(matrix)), rho)
        else:
            self.solve = lambda right: scipy.linalg.cho_solve(factor, right, overwrite_b=True, check_finite=False)

    def __call__(self, array: np.ndarray) -> np.ndarray:
        solution = self.solve(self.rho * (array if self.root is None else array * self.root))
        return solution if self.root is None else solution / self.root


def _whitened(problem: DualProblem) -> tuple[np.ndarray, np.ndarray | None]:
    """Return S^½KS^½/(λn) and the roots of the weights (n, 1), or None where all are 1."""
    operator = problem.gram.column_operator()
    announce("Cholesky factorisation", operator, operator.shape[0] ** 3 / 3)
    matrix = problem.scale * to_numpy(operator.to_dense())
    weight = to_numpy(problem.sample_weight)
    if np.all(weight == weight[0]):
        return matrix * weight[0], None
    root = np.sqrt(weight)[:, None]
    return matrix * root * root.T, root


def _predicted(matrix: np.ndarray, root: np.ndarray | None, A: np.ndarray) -> np.ndarray:
    return matrix @ A if root is None else matrix @ (A * root) / root


def _imbalance(apart: Any, moved: Any, size: Any, multiplier: Any) -> float:
    """Return the factor of ρ that balances ‖α − z‖/‖z‖ and ‖z − z_last‖/‖u‖, as :class:`Sweep` does."""
    top = float(np.vdot(apart, apart)) * float(np.vdot(multiplier, multiplier))
    bottom = float(np.vdot(moved, moved)) * float(np.vdot(size, size))
    if top > 0 and not np.any(size):
        return 10.0  # z = 0, which is infinitely far from α in its own units
    if not (top > 0 and bottom > 0 and math.isfinite(top) and math.isfinite(bottom)):
        return 1.0
    return min(max((top / bottom) ** 0.25, 0.1), 10.0)
