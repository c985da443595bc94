"""Passes of ADMM over blocks of rows that stay in cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.linalg import Spectral
from mercer.losses import Box
from mercer.problems import DualProblem
from mercer.solvers.ridge_step import RidgeStep

__all__ = ["Sweep"]

#: entries of an (n, m) array that are worked on at a time, so that they stay in cache
BLOCK_ENTRIES = 2**15


class Sweep:
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
        ratio = math.inf if apart > 0 and size == 0 else ratio  # z = 0 is infinitely far from α in its own units
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
