"""ADMM over blocks of rows: a step is one pass, and what is exchanged has the size of the features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.problems import Block, FeatureProblem
from mercer.problems.block_work import Dual
from mercer.problems.problem_rows import FeatureTerms
from mercer.solvers.feature_ridge import Correction, FeatureBasis
from mercer.solvers.streamed import Looks, StreamedResult, StreamedSolver

__all__ = ["StreamedADMM"]

#: steps before the first look at the gap, least number between two looks, and most, as a share of those so far
STEPS_BEFORE_A_LOOK, LEAST_WAIT, MOST_WAIT = 8, 2, 0.4
#: bounds of a change of ρ at a look, and changes that are not worth it
MOST_CHANGE, IDLE = 5.0, 1.6


@dataclass(eq=False, repr=False)
class StreamedADMM(StreamedSolver):
    """Alternate the prox of the conjugate loss on blocks of rows and a ridge step of the size of the features.

    With T the running array, one step is z = prox_{g/ρ}(T), α = ridge(2z − T), T ← T + relaxation·(α − z), where g is
    the conjugate loss. T lives with its rows, one number a row and node; a ridge step needs Σ_i s_i φ(x_i) r_i W R and
    gives D × q numbers. Features are kept between steps where they fit into ``memory``, else made anew. The workhorse
    for losses with kinks and large n; for the square loss take :class:`NormalEquations`, for smooth ones
    :class:`StreamedLBFGS`. :class:`ADMM` is the same in memory.

    Parameters
    ----------
    tol : float, default=1e-3
        Bound on the relative duality gap.
    max_iter : int, default=1000
        Limit on the number of steps.
    relaxation : float, default=1.6
        In (0, 2).
    rho : float, default=1.0
        First penalty, in units of typical residual over typical dual variable.
    memory : int, optional
        Bytes of features that may be kept: the memory budget by default.
    """

    tol: float = 1e-3
    max_iter: int = 1000
    relaxation: float = 1.6
    rho: float = 1.0
    memory: int | None = None

    requires = "a FeatureProblem and a loss with a conjugate prox"

    def _check(self) -> None:
        super()._check()
        check_number(self, "relaxation", self.relaxation, low=0, high=2)
        check_number(self, "rho", self.rho, low=0)
        if self.memory is not None:
            check_number(self, "memory", self.memory, low=0, strict=False, integer=True)

    def check(self, problem: Any) -> None:
        super().check(problem)
        if not problem.loss.has_conjugate:
            raise self.refuse(f"{problem.loss.named!r} defines none", "Use StreamedLBFGS if it is smooth.")

    def _stream(self, problem: FeatureProblem, init: Any, looks: Looks) -> StreamedResult:
        basis, rho, n_iter = FeatureBasis(problem), self.rho * problem.unit, 0
        states, (along, total) = problem.blocks.map(Start(problem.terms, rho, init))
        if init is not None:  # which may be good enough
            arrays, _ = problem.blocks.map(Proxes(problem.terms, rho), states, features=False)
            if looks.done(arrays, init[0], init[1], n_iter):
                return looks.result(n_iter)
        following, last, last_gap = STEPS_BEFORE_A_LOOK, 0, math.inf
        while True:
            n_iter += 1
            look = n_iter >= min(following, self.max_iter) or looks.monitor.must_stop()
            correction = basis.correction(along, total, rho)
            step = Step(problem.terms, rho, correction, self.relaxation, look)
            states, sums = problem.blocks.map(step, states)
            along, total = sums[:2]
            if not look:
                continue
            if not np.all(np.isfinite(along)):
                return looks.result(n_iter, "stalled")
            arrays, _ = problem.blocks.map(Proxes(problem.terms, rho), states, features=False)
            C = rho * correction.N
            b = rho * correction.nu - basis.offset(C)
            if looks.done(arrays, C, b, n_iter):
                return looks.result(n_iter)
            ratio = balance(*sums[2:])
            if ratio != 1.0:
                rho *= ratio
                states, (along, total) = problem.blocks.map(Rescaled(problem.terms, rho, ratio), states)
            gap = looks.monitor.history[-1][1]
            following = n_iter + wait(n_iter, gap / self.tol, n_iter - last, last_gap / gap)
            last, last_gap = n_iter, gap


def wait(n_iter: int, off: float, steps: int, fall: float) -> int:
    """Return the steps to the next look: where the fall of the gap over the last ones would bring it within tol.

    A look costs two steps or three, and ρ follows the residuals at looks only.
    """
    longest = max(LEAST_WAIT, math.ceil(MOST_WAIT * n_iter))
    if not (1 < fall < math.inf and off > 1):
        return longest
    return min(longest, max(LEAST_WAIT, math.ceil(steps * math.log(off) / math.log(fall))))


def balance(apart: float, moved: float, size: float, multiplier: float) -> float:
    """Return the factor of ρ that balances the relative residuals ‖α − z‖/‖z‖ and ‖z − z_last‖/‖u‖."""
    if not (apart * multiplier > 0 and moved * size > 0):
        return 1.0
    ratio = (apart * multiplier / (moved * size)) ** 0.25
    return 1.0 if 1 / IDLE < ratio < IDLE else min(max(ratio, 1 / MOST_CHANGE), MOST_CHANGE)


@dataclass(frozen=True)
class Start:
    """T = A − U/ρ of a model: a fixed point where it is optimal; zeros without one."""

    terms: FeatureTerms
    rho: float
    init: Any

    def __call__(self, block: Block, state: Any) -> tuple[np.ndarray, tuple]:
        rows = self.terms.rows(block, block.features.dtype.type)
        T = np.zeros(rows.Y.shape, dtype=rows.Y.dtype)
        if self.init is not None:
            U = rows.predict(np.asarray(self.init[0])) + np.asarray(self.init[1], dtype=T.dtype)
            A = -rows.slope(U) if rows.loss.smooth else rows.prox(-U / self.rho, 1 / self.rho)
            T = A - U / self.rho
        z = rows.prox(T, 1 / self.rho)
        return T, along(rows, 2 * z - T)


@dataclass(frozen=True)
class Step:
    """T ← T + relaxation·(α − z), and what the next ridge step needs of r = 2z − T; ``measure`` adds the residuals."""

    terms: FeatureTerms
    rho: float
    correction: Correction
    relaxation: float
    measure: bool

    def __call__(self, block: Block, T: np.ndarray) -> tuple[np.ndarray, tuple]:
        rows = self.terms.rows(block, T.dtype.type)
        N, c, _ = self.correction
        z = rows.prox(T, 1 / self.rho)
        change = rows.predict(N)  # α − z = z − T − φNRᵀ − c
        change += c.astype(T.dtype, copy=False)
        np.subtract(z, change, out=change)
        change -= T
        after = T + self.relaxation * change
        new = rows.prox(after, 1 / self.rho)
        parts = along(rows, 2 * new - after)
        if self.measure:
            parts += tuple(float(np.vdot(x, x)) for x in (change, new - z, new, after - new))
        return after, parts


@dataclass(frozen=True)
class Rescaled:
    """The running array for another ρ: z and the multiplier ρ(T − z) stay as they are."""

    terms: FeatureTerms
    rho: float
    ratio: float

    def __call__(self, block: Block, T: np.ndarray) -> tuple[np.ndarray, tuple]:
        rows = self.terms.rows(block, T.dtype.type)
        z = rows.prox(T, self.ratio / self.rho)
        after = z + (T - z) / self.ratio
        return after, along(rows, 2 * z - after)


@dataclass(frozen=True)
class Proxes:
    """The dual variables z = prox(T)."""

    terms: FeatureTerms
    rho: float

    def __call__(self, block: Block, T: np.ndarray) -> tuple[Dual, tuple]:
        return Dual(self.terms.rows(block, T.dtype.type).prox(T, 1 / self.rho)), ()


def along(rows: Any, array: np.ndarray) -> tuple:
    """Return Σ_i s_i φ(x_i) r_i W R and Σ_i s_i r_i, in double precision."""
    return rows.along(array).astype(float, copy=False), (rows.sample_weight @ array).astype(float, copy=False)
