"""The square loss on some of the entries of a grid, or at points of each curve's own: preconditioned CG."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from mercer.backend import cholesky_solve, is_numpy, namespace
from mercer.linalg import ThinFeatures, conjugate_gradient
from mercer.losses.observed import observed_only
from mercer.problems import Certificate, DualProblem
from mercer.solvers.base import Interrupted
from mercer.solvers.reduction import STORED_AT_ONCE

__all__ = ["feature_share", "solve_observed"]

#: part of the kernel to leave out first, in units of √tol: an error of this size costs its square in the gap
FEATURE_SHARE = 0.1
#: steps with the diagonal preconditioner before its rate is judged; about as many are needed with an exact block
JUDGED_STEPS = 12
#: largest exact block of the preconditioner, and the least D that is worth a place in it
BLOCK_SIZE = 1000
BLOCK_LEAST = 0.05
#: observed entries up to which a dense factorisation is taken where conjugate gradients are slow
DENSE_ENTRIES = 2000
#: time of an operation on the block in units of one in a step
BLOCK_PRICE = 1.5


def never() -> bool:
    """Say that nobody interrupts."""
    return False


def solve_observed(
    problem: DualProblem, tol: float, max_iter: int, init: Any = None, interrupted: Interrupted = never
) -> tuple[Any, int, Certificate]:
    """Solve (I + 𝐊/(λn))A = Y − b on the observed entries; return A, the number of steps and the certificate.

    With 𝐊/(λn) = ΦΦᵀ (thin features of the Gram operator) and C the projection on observed entries, centred
    where there is an intercept, A = C(Y − Φβ) with

        (I + ΦᵀCΦ) β = ΦᵀCY.

    Conjugate gradients stop once the duality gap, ½‖CΦρ‖²/n for a residual ρ, is within tol of the objective. The
    gap with the whole kernel is what is returned; where it is too large, bases and residual are refined. Once
    ``interrupted`` says so, the next step is the last.
    """
    share, goal, n_iter, A, last = feature_share(tol), 0.5 * tol, 0, init, math.inf
    problem = problem.with_gram(problem.gram.stored(STORED_AT_ONCE))
    while True:
        features = problem.gram.features(problem.tolerance(share), problem.scale, problem.measure.observed)
        system = _System(problem, features, interrupted)
        A, steps = system.solve(goal, max_iter - n_iter, A)
        n_iter += steps
        A = problem.feasible(A)
        certificate = problem.certificate(A)
        stalled = certificate.visible_gap > 0.5 * last  # a finer system gains nothing: rounding limits the gap
        if certificate.visible_gap <= tol or stalled or n_iter >= max_iter or interrupted():
            return A, n_iter, certificate
        share, goal, last = 1e-2 * share, 1e-2 * goal, certificate.visible_gap


def feature_share(tol: float) -> float:
    """Return the part of the kernel that features leave out first for a gap of ``tol``, in units of the problem."""
    return FEATURE_SHARE * math.sqrt(tol)


class _System:
    """(I + ΦᵀCΦ)β = ΦᵀCY in whitened arrays, whose plain inner products are those of the problem."""

    def __init__(self, problem: DualProblem, features: ThinFeatures, interrupted: Interrupted = never) -> None:
        self.problem, self.features, self.interrupted = problem, features, interrupted
        xp = namespace(problem.Y)
        self.direction: Any = None  # of the constants, column by column, of norm 1
        if problem.fit_intercept:
            ones = xp.ones_like(problem.Y) * xp.sqrt(problem.sample_weight)[:, None]
            direction = observed_only(ones, problem.measure)
            size = xp.sqrt(xp.sum(direction * direction, axis=0))
            self.direction = direction / xp.where(size > 0, size, xp.ones_like(size))[None, :]
        self.targets = self.project(problem.gram.whiten(problem.Y))
        self.rhs = features.analyse(self.targets)

    def project(self, array: Any) -> Any:
        """C: zero where nothing was observed, and orthogonal to constants at each node with an intercept."""
        array = observed_only(array, self.problem.measure)
        if self.direction is None:
            return array
        xp = namespace(array)
        return array - self.direction * xp.sum(self.direction * array, axis=0)[None, :]

    def apply(self, beta: Any) -> Any:
        return beta + self.features.analyse(self.project(self.features.synthesise(beta)))

    def solve(self, goal: float, max_iter: int, init: Any) -> tuple[Any, int]:
        """Return A with a relative gap of about ``goal`` in these features, and the number of steps."""
        gram = self.problem.gram
        stop = _Stop(self, goal)
        beta = None if init is None else self.features.analyse(self.project(gram.whiten(init)))
        diagonal = _DiagonalPreconditioner(self)

        def run(precondition: Callable[[Any], Any], beta: Any, steps: int) -> tuple[Any, int]:
            found, n_iter, _ = conjugate_gradient(
                self.apply, self.rhs, precondition=precondition, init=beta, tolerance=0.0, max_iter=steps, stop=stop
            )
            return found, n_iter

        if is_numpy(self.problem.Y):
            stop.patience = _price(self.features)
        beta, n_iter = run(diagonal, beta, max_iter)
        slow = stop.slow and not self.interrupted()
        if slow and self.count <= DENSE_ENTRIES:
            return gram.unwhiten(self.dense_solution()), n_iter + 1
        if slow and n_iter < max_iter:
            stop.patience = math.inf
            beta, more = run(_BlockPreconditioner(self), beta, max_iter - n_iter)
            n_iter += more
        return gram.unwhiten(self.project(self.targets - self.features.synthesise(beta))), n_iter

    @property
    def count(self) -> int:
        """Number of observed entries."""
        observed = self.problem.measure.observed
        return self.problem.Y.size if observed is None else int(observed.sum())

    def dense_solution(self) -> np.ndarray:
        """Return C(I + 𝐊/(λn))⁻¹(Y − b), whitened, from a Cholesky factorisation over the observed entries."""
        problem, gram = self.problem, self.problem.gram
        observed = problem.measure.observed
        i, j = np.nonzero(np.ones(problem.shape, bool) if observed is None else observed)
        matrix = problem.scale * gram.entries(i, j)
        matrix[np.diag_indices_from(matrix)] += 1
        columns = gram.whiten(problem.Y)[i, j][:, None]
        if self.direction is not None:
            nodes = np.unique(j)
            columns = np.hstack([columns, self.direction[i, j][:, None] * (j[:, None] == nodes)])
        solved = cholesky_solve(matrix, columns, overwrite=True)
        answer = solved[:, 0]
        if self.direction is not None:  # the multiple of each constant that leaves nothing along it
            constants = columns[:, 1:]
            answer = answer - solved[:, 1:] @ cholesky_solve(constants.T @ solved[:, 1:], constants.T @ answer)
        array = np.zeros(problem.shape, dtype=problem.Y.dtype)
        array[i, j] = answer
        return array


class _Stop:
    """Stops at a relative gap, or when the steps so far promise that more than ``patience`` will be needed."""

    def __init__(self, system: _System, goal: float) -> None:
        self.system, self.goal = system, goal
        xp = namespace(system.targets)
        self.half_size = 0.5 * float(xp.sum(system.targets * system.targets))
        self.least = 1e-6 * system.problem.null_model[0] / system.problem.share
        self.patience, self.slow = math.inf, False
        self.gaps: list[float] = []

    def __call__(self, beta: Any, residual: Any) -> bool:
        xp = namespace(beta)
        # ‖CΦρ‖² ≤ ‖Φρ‖², which is Σ Dρ² where Φ has orthogonal columns (nearly so for pairs)
        gap = 0.5 * float(xp.sum(self.system.features.bound * residual * residual))
        objective = self.half_size - 0.5 * float(xp.sum(beta * (self.system.rhs + residual)))
        gap = gap / max(objective, self.least, 1e-300)
        self.gaps.append(gap)
        reached = gap <= self.goal
        self.slow = not reached and self._slow()
        return reached or self.slow or self.system.interrupted()

    def _slow(self) -> bool:
        if math.isinf(self.patience) or len(self.gaps) <= JUDGED_STEPS or len(self.gaps) % 4:
            return False
        before, now = self.gaps[-JUDGED_STEPS // 2 - 1], self.gaps[-1]
        rate = math.log(before / now) / (JUDGED_STEPS // 2) if 0 < now < before else 0.0
        return rate * self.patience < math.log(now / self.goal)


class _DiagonalPreconditioner:
    """diag(1 + D) less, with an intercept, what the projection along constants takes away: one vector e each."""

    def __init__(self, system: _System) -> None:
        self.features = system.features
        self.diagonal = 1 + self.features.spectrum
        self.constant: Any = None
        xp = namespace(self.diagonal)
        if system.direction is not None:
            self.constant = self.features.constant(system.direction)
        if self.constant is not None:
            along = self.features.contract(self.constant * self.constant / self.diagonal)
            most = 1 - 1e-8 * xp.ones_like(along)  # it is below 1 but for rounding and missing entries
            self.gain = (self.constant / self.diagonal) / (1 - xp.minimum(along, most))

    def __call__(self, residual: Any) -> Any:
        answer = residual / self.diagonal
        if self.constant is None:
            return answer
        return answer + self.gain * self.features.contract(self.constant * answer)


class _BlockPreconditioner:
    """The exact matrix on the leading features, its diagonal elsewhere.

    Where whole stretches of curves are missing, ΦᵀCΦ is far from diagonal, but only a few features have D large
    enough for that to matter.
    """

    def __init__(self, system: _System) -> None:
        features = system.features
        self.diagonal = 1 + features.spectrum
        self.cube = (self.diagonal.shape[0], features.components, -1)
        self.blocks = []
        for components, counts in _leading(features):
            matrix = features.block(int(components[0]), counts, system.direction)
            matrix[np.diag_indices_from(matrix)] += 1
            try:
                factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:  # a λ so small that 1 is lost in the rounding of D
                continue
            place = (np.concatenate([np.arange(count) for count in counts]), np.repeat(np.arange(len(counts)), counts))
            self.blocks.append((components, place, factor))

    def __call__(self, residual: np.ndarray) -> np.ndarray:
        answer = residual / self.diagonal
        cube, out = residual.reshape(self.cube), answer.reshape(self.cube)
        for components, (a, b), factor in self.blocks:
            place = a[:, None], components, b[:, None]
            out[place] = scipy.linalg.cho_solve(factor, cube[place], check_finite=False)
        return answer


def _leading(features: ThinFeatures) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for components with the same block how many left indices a each right index b has in it.

    They are those of the largest D_ab, unless these are small.
    """
    groups = features.groups
    size = int(BLOCK_SIZE / len(groups) ** (1 / 3))
    leading = []
    for components, spectrum in groups:
        floor = BLOCK_LEAST
        if spectrum.size > size:
            floor = max(floor, float(np.partition(spectrum, -size, axis=None)[-size]))
        counts = np.sum(spectrum >= floor, axis=0)
        if counts.any():
            leading.append((components, counts))
    return leading


def _price(features: ThinFeatures) -> float:
    """Return how many steps may remain before an exact block is worth its time, in steps."""
    sizes = [int(counts.sum()) for _, counts in _leading(features)]
    return JUDGED_STEPS + BLOCK_PRICE * sum((features.n_rows + size / 3) * size**2 for size in sizes) / max(
        features.work, 1
    )
