"""Newton's method in subspaces of few directions: smooth losses of norms, one product with the kernel a step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy, to_numpy
from mercer.linalg import memory_budget, positive_solver
from mercer.linalg.random_pivots import leading_eigen
from mercer.problems import Certificate, DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.factored_admm import FactoredADMM
from mercer.solvers.norm_slopes import NormSlopes, Slopes
from mercer.solvers.stagnation import Stagnation

__all__ = ["SubspaceNewton"]

#: rows that the preconditioner is made of, and in units of all rows at most
CONDITIONING_ROWS, CONDITIONING_SHARE = 64, 0.1
#: ⟨d, Md⟩ that is rounding, in units of ‖d‖‖Md‖, and curvature in a subspace that is, in units of the largest
ROUNDING_OF_NORMS, LEAST_CURVATURE = 1e-12, 1e-9
#: fall along the plain gradient in units of that along the preconditioned one above which landmarks mislead
MISLED = 100.0
#: part of the memory budget that the stored matrix may take
STORED_FOR_PRODUCTS = 0.6
#: rows that are converted to single precision at a time
CONVERTED_ROWS = 64
#: least size of M for which single precision does not underflow, the largest norm and the least gap for which its
#: rounding does no harm
LEAST_SINGLE, LARGEST_SINGLE, SINGLE_TOL = 1e-20, 3e3, 1e-9
#: fall of the objective in a step at which the gap is looked at, in units of tol; the gap that is aimed at afterwards
FIRST_FALL, NEXT_GAP = 0.1, 0.5
#: steps without a look at most, and steps in which the gap has to halve
BLIND_STEPS, STEPS_TO_HAND_OVER = 40, 200
#: Newton steps in a subspace, and the slope at which one ends, in units of the first
SUBSPACE_STEPS, SUBSPACE_SLOPE = 3, 0.1
#: slope at the end of a Newton step, in units of that at its start, from which it is shortened, and trials for that
TOO_FAR, TRIALS_OF_A_STEP = 0.2, 30


@dataclass(eq=False, repr=False)
class SubspaceNewton(Solver):
    """Minimise the primal over the span of a preconditioned gradient and the last steps, again and again.

    In coordinates A with H = 𝐊A/(λn) the primal is Σ_i s_i L_i(h_i) + ½⟨A, H⟩ over n, whose gradient in the norm of
    𝐊 is A − a for a = −∇L(H). The direction is that of Newton's method for rows that are all alike and the kernel of
    few landmarks, (1 + d𝐊̃/(λn))⁻¹(a − A), or a − A where the gap says that landmarks mislead. With its image under 𝐊,
    the one product of a step, and those of the steps before, h is known on a subspace of few dimensions, where Newton's
    method takes next to nothing (for the square loss without landmarks these are conjugate gradients). The dual array
    is a, which is 0 where the loss is flat. Products have single precision where that is enough, the gap has double.

    Prefer it for smooth losses of norms (Huber, ε-ridge), columns that have the same kernel, and λ that is not tiny;
    where it is, the steps of :class:`FactoredADMM` take over.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=2000
        Limit on the number of steps.
    n_steps : int, default=2
        How many of the steps before are in the subspace.
    """

    tol: float = 1e-4
    max_iter: int = 2000
    n_steps: int = 2

    requires = "a smooth loss of norms, columns of one kernel, no intercept, no missing entries and NumPy arrays"

    def _check(self) -> None:
        super()._check()
        check_number(self, "n_steps", self.n_steps, low=1, strict=False, integer=True)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if not (problem.loss.of_norms and problem.loss.smooth and problem.loss.has_conjugate):
            raise self.refuse(f"{problem.loss.named!r} is none", "Use ADMM.")
        if problem.fit_intercept or problem.has_slopes or problem.measure.observed is not None:
            raise self.refuse("this problem has an intercept or missing entries", "Use ADMM.")
        if not problem.gram.columns_alike:
            raise self.refuse("this kernel mixes columns, or treats them differently", "Use ADMM.")

    def prepare(self, problem: DualProblem) -> DualProblem:
        return problem.with_gram(problem.gram.stored(int(STORED_FOR_PRODUCTS * memory_budget())))

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        problem = self.prepare(problem)
        slopes, landmarks = NormSlopes(problem), _Landmarks.of(problem)
        kernel = _Kernel(problem, float(np.trace(landmarks.inner)), self.tol)
        A = np.zeros(problem.shape) if init is None else slopes.whiten(init)
        at = slopes(A, A if init is None else slopes.whiten(problem.predict(init)))
        space, best = _Subspace(slopes), None
        aim, following, crawls = FIRST_FALL * self.tol, BLIND_STEPS, Stagnation(STEPS_TO_HAND_OVER)
        for n_iter in range(1, self.max_iter + 1):
            space.forget(self.n_steps)
            direction = landmarks.precondition(at)
            fall = space.add(direction, kernel(direction), at)
            at = space.minimise(at)
            last = n_iter >= self.max_iter or monitor.must_stop()
            if fall > aim * at.value and n_iter < following and not last:
                continue
            dual = slopes.unwhiten(at.dual)
            certificate = problem.certificate(dual)
            if best is None or certificate.visible_gap < best[1].visible_gap:
                best = dual, certificate
            if monitor.done(n_iter, certificate) or last:
                break
            if crawls(n_iter, certificate.visible_gap):  # λ is tiny
                return self._hand_over(problem, *best, n_iter, monitor)
            aim = min(aim, NEXT_GAP * self.tol / certificate.visible_gap * fall / at.value) if at.value > 0 else 0.0
            following = n_iter + max(BLIND_STEPS, n_iter // 4)
            at = slopes(at.A, slopes.whiten(problem.predict(slopes.unwhiten(at.A))))  # without the rounding of products
            if space.add(at.gradient, slopes.whiten(certificate.prediction) - at.H, at) > MISLED * fall:
                landmarks = landmarks.without()
        assert best is not None  # the last step has a look
        return monitor.result(*best, n_iter)

    def _hand_over(self, problem: DualProblem, A: Any, certificate: Certificate, n_iter: int, monitor: Monitor) -> Any:
        """Let a solver go on that minds no λ; return the better one of both.

        A bounded dual array that is at its bound in most rows says little of where the solution is.
        """
        solver = FactoredADMM(self.tol, max(self.max_iter - n_iter, 1))
        start = A if math.isinf(problem.loss.dual_bound) else None
        other = solver.iterate(problem, start, monitor, n_iter)
        return monitor.result(A, certificate, other.n_iter) if certificate.gap < other.gap else other


class _Kernel:
    """M = S^½KS^½/(λn), the kernel of one column, whose norm is about ``norm``."""

    def __init__(self, problem: DualProblem, norm: float, tol: float) -> None:
        operator = problem.gram.column_operator()
        matrix, root = to_numpy(operator.to_dense()), np.sqrt(to_numpy(problem.sample_weight))
        self.size = problem.scale * float(np.max(np.diagonal(matrix), initial=0.0)) or 1.0  # no entry is larger
        single = tol >= SINGLE_TOL and self.size > LEAST_SINGLE and norm < LARGEST_SINGLE
        self.matrix = np.empty(matrix.shape, dtype=np.float32 if single else float)
        for start in range(0, len(matrix), CONVERTED_ROWS):  # in cache
            rows = slice(start, start + CONVERTED_ROWS)
            self.matrix[rows] = matrix[rows] * (problem.scale / self.size)
        if np.any(root != 1):
            self.matrix *= root.astype(self.matrix.dtype)[:, None]
            self.matrix *= root.astype(self.matrix.dtype)

    def __call__(self, array: np.ndarray) -> np.ndarray:
        """Return MA."""
        size = float(np.max(np.abs(array), initial=0.0)) or 1.0
        return (size * self.size) * (self.matrix @ (array / size).astype(self.matrix.dtype)).astype(float)


@dataclass(frozen=True, eq=False)
class _Landmarks:
    """The leading part of M, FFᵀ, from few rows."""

    factor: np.ndarray
    inner: np.ndarray

    @classmethod
    def of(cls, problem: DualProblem) -> _Landmarks:
        """Return that of a problem."""
        n, root = problem.shape[0], np.sqrt(problem.scale * to_numpy(problem.sample_weight))
        leading = leading_eigen(
            problem.gram.column_operator(), max(1, min(CONDITIONING_ROWS, int(CONDITIONING_SHARE * n)))
        )
        factor = leading.factor * root[:, None]
        return cls(factor, factor.T @ factor)

    def without(self) -> _Landmarks:
        """Return none."""
        return _Landmarks(self.factor[:, :0], self.inner[:0, :0])

    def precondition(self, at: Slopes) -> np.ndarray:
        """Return (1 + dFFᵀ)⁻¹(a − A), d the steepness."""
        matrix = at.steepness * self.inner
        matrix[np.diag_indices_from(matrix)] += 1
        solve = positive_solver(matrix, np.finfo(float).eps * float(np.trace(matrix)))
        return at.gradient - self.factor @ (at.steepness * solve(self.factor.T @ at.gradient))


class _Subspace:
    """A + Σ_j t_j d_j with predictions H + Σ_j t_j Md_j: the last directions, and the minimum over t."""

    def __init__(self, slopes: NormSlopes) -> None:
        self.slopes = slopes
        self.directions: list[np.ndarray] = []
        self.images: list[np.ndarray] = []

    def forget(self, n_steps: int) -> None:
        """Keep the last few directions, which are steps."""
        self.directions, self.images = self.directions[-n_steps:], self.images[-n_steps:]

    def add(self, direction: np.ndarray, image: np.ndarray, at: Slopes) -> float:
        """Take a direction into the subspace; return by how much the objective may fall along it, roughly."""
        size = self._keep(direction, image)
        return float(np.vdot(image / size, at.gradient)) ** 2 / 2 if size > 0 else 0.0

    def _keep(self, direction: np.ndarray, image: np.ndarray) -> float:
        """Append a direction divided by its norm in that of 𝐊, which is returned; 0 where that is rounding."""
        square, most = float(np.vdot(image, direction)), np.linalg.norm(image) * np.linalg.norm(direction)
        if not square > ROUNDING_OF_NORMS * most:
            return 0.0
        size = math.sqrt(square)
        self.directions.append(direction / size)
        self.images.append(image / size)
        return size

    def minimise(self, at: Slopes) -> Slopes:
        """Return the point of the smallest objective, by a few Newton steps in t."""
        if not self.images:
            return at
        images = np.stack(self.images)
        flat, moves = images.reshape(len(images), -1), np.stack(self.directions).reshape(len(images), -1)
        curvature = moves @ flat.T
        curvature = (curvature + curvature.T) / 2
        t, start = np.zeros(len(images)), flat @ at.A.ravel()
        here, slope = at, start - flat @ at.dual.ravel()
        first = float(np.linalg.norm(slope))
        for _ in range(SUBSPACE_STEPS):
            hessian = self.slopes.curvature(here, images) + curvature
            values, vectors = np.linalg.eigh(hessian)
            kept = values > LEAST_CURVATURE * values[-1]
            step = -vectors[:, kept] @ ((vectors[:, kept].T @ slope) / values[kept])
            fall = float(slope @ step)
            if not np.isfinite(fall) or fall >= 0:
                break

            def look(length: float, t: Any = t, step: Any = step) -> tuple[Slopes, np.ndarray]:
                there = t + length * step
                point = self.slopes(at.A, at.H + np.tensordot(there, images, 1))
                return point, start + curvature @ there - flat @ point.dual.ravel()

            length = 1.0
            here, slope = look(1.0)
            if float(slope @ step) > TOO_FAR * abs(fall):
                length, here, slope = _shortened(look, step, fall, float(slope @ step))
            t = t + length * step
            if float(np.linalg.norm(slope)) <= SUBSPACE_SLOPE * first:
                break
        move = (t @ moves).reshape(at.A.shape)
        self.directions.pop()  # the step has its place
        self.images.pop()
        self._keep(move, here.H - at.H)
        return here.of(at.A + move)


def _shortened(look: Any, step: np.ndarray, left: float, right: float) -> tuple[float, Slopes, np.ndarray]:
    """Return a length in (0, 1) at which the slope along a step nearly vanishes, and what is there."""
    low, high, first = 0.0, 1.0, abs(left)
    for k in range(TRIALS_OF_A_STEP):
        length = low - left * (high - low) / (right - left) if k % 3 else (low + high) / 2
        point, slopes = look(length)
        slope = float(slopes @ step)
        if abs(slope) <= TOO_FAR * first:
            break
        low, high, left, right = (length, high, slope, right) if slope < 0 else (low, length, left, slope)
    return length, point, slopes
