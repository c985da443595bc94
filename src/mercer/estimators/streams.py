"""What a stream remembers between batches: moments of the square loss, or where stochastic gradients are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.losses import Loss
from mercer.measures import Measure
from mercer.solvers import NormalEquations, StochasticGradient

__all__ = ["GradientStream", "SquareStream"]


@dataclass(frozen=True, eq=False)
class SquareStream(Stateful):
    """What the square loss remembers of rows: their moments.

    Parameters
    ----------
    kernel : Kernel or MatrixValuedKernel
        With explicit features.
    measure : Measure
        Nodes of the targets.
    factor : array of shape (m, q) or None
        R; None for a kernel whose values are matrices.
    fit_intercept : bool
        Whether there is b.
    b : array of shape (m,)
        Of the first fit.
    n_rows, total, mean, scatter
        Those of :class:`~mercer.linalg.Moments`.
    """

    kernel: Any
    measure: Measure
    factor: np.ndarray | None
    fit_intercept: bool
    b: np.ndarray
    n_rows: int = 0
    total: float = 0.0
    mean: Any = None
    scatter: Any = None

    @property
    def n_steps(self) -> int:
        """Solves."""
        return 1

    def after(self, batch: tuple, alpha: float) -> tuple[SquareStream, np.ndarray, np.ndarray, float]:
        """Return the stream with a batch more, and C, b and objective of its model."""
        equations = NormalEquations(self.kernel, self.measure, self.factor, self.fit_intercept)
        if self.n_rows:
            equations.resume(self.n_rows, self.total, self.mean, self.scatter)
        moments: Any = equations.update(batch).moments
        fit = equations.solve([alpha]).fit(alpha)
        grown = replace(self, n_rows=moments.n_rows, total=moments.total, mean=moments.mean, scatter=moments.scatter)
        return grown, fit.coef, fit.intercept, fit.objective


@dataclass(frozen=True, eq=False)
class GradientStream(Stateful):
    """Where averaged stochastic gradients are.

    The intercept is pulled towards where it was before a batch (a proximal point), no longer towards that of the first
    fit, so that nothing holds it back in the long run.

    Parameters
    ----------
    kernel, measure, factor, fit_intercept, b
        Those of :class:`SquareStream`.
    loss : Loss
        The loss.
    alpha : float
        λ.
    coef, average : array of shape (D, q)
        C of the last step, and its mean.
    shift, mean_shift : array of shape (m,)
        b less that of the first fit, and its mean.
    intercept_slope : array of shape (m,) or None
        What b costs, in offsets of level sets.
    n_rows, n_steps, start, total
        Rows, steps, t₀ and the sum of weights so far.
    """

    kernel: Any
    measure: Measure
    factor: np.ndarray | None
    fit_intercept: bool
    b: np.ndarray
    loss: Loss
    alpha: float
    coef: np.ndarray
    average: np.ndarray
    shift: np.ndarray
    mean_shift: np.ndarray
    intercept_slope: Any = None
    n_rows: int = 0
    n_steps: int = 0
    start: Any = 0.0
    total: Any = 0.0

    def after(self, batch: tuple, alpha: float) -> tuple[GradientStream, np.ndarray, np.ndarray, float]:
        """Return the stream with a batch more, and C, b and objective (unknown) of its model."""
        learner = StochasticGradient(
            self.kernel,
            self.loss,
            self.measure,
            self.alpha,
            self.factor,
            self.fit_intercept,
            self.b,
            intercept_slope=self.intercept_slope,
        )
        learner.go_on(
            self.coef, self.average, self.shift, self.mean_shift, self.n_rows, self.n_steps, self.start, self.total
        )
        learner.update(batch)
        position = learner.position()
        moved = position["mean_shift"]
        position |= {"b": self.b + moved, "shift": position["shift"] - moved, "mean_shift": np.zeros_like(moved)}
        grown = replace(self, **position)
        return grown, grown.average, grown.b, math.nan
