"""The sizes of a problem: what relative gaps, first steps and negligible parts of a kernel are measured in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.backend import as_like, machine_epsilon, namespace

if TYPE_CHECKING:
    from mercer.problems.dual import DualProblem

__all__ = ["Scales", "TargetScales"]

#: part of the trace of a kernel, in units of the relative gap, that dual arrays of many nonzero entries hardly notice,
#: and its largest value
TARGET_LEFT_OUT, MOST_LEFT_OUT = 20.0, 0.02


class Scales:
    """Sizes at the intercept-only model h = 0, whose dual array is 0."""

    def null_array(self, problem: DualProblem) -> Any:
        """Return a dual array that meets the constraint of the intercept, whatever the data."""
        return namespace(problem.Y).zeros_like(problem.Y)

    def null_model(self, problem: DualProblem) -> tuple[float, Any]:
        """Return objective and intercept of the intercept-only model."""
        H = namespace(problem.Y).zeros_like(problem.Y)
        b = problem.best_intercept(H)
        return problem.risk(H, b), b

    def trivial(self, problem: DualProblem) -> bool:
        """Say whether it fits perfectly (up to the rounding of b), so that it is optimal."""
        xp = namespace(problem.Y)
        value, b = problem.null_model
        error = float(xp.max(xp.abs(problem.cut(problem.Y - b[None, :]))))
        return value == 0 or error <= 8 * machine_epsilon(problem.Y) * float(xp.max(xp.abs(problem.Y)))

    def unit(self, problem: DualProblem) -> float:
        """Return its typical residual over its typical dual variable."""
        xp = namespace(problem.Y)
        H = xp.zeros_like(problem.Y) + problem.null_model[1][None, :]
        residual = problem.cut(problem.Y - H)
        slope = problem.cut(problem.loss.gradient(problem.Y, H, problem.measure))
        with np.errstate(over="ignore"):  # of losses that grow like exp: there is no ratio then
            return _ratio(problem.inner(residual, residual), problem.inner(slope, slope))

    def tolerance(self, problem: DualProblem, share: float) -> float:
        """Return a part of the trace of 𝐊 that is too small to matter at a relative gap of ``share``.

        Leaving it out changes predictions by at most ``share`` × (unit of y/α) × |α|, because its norm times 1/(λn) is
        at most ``share·unit``.
        """
        return share * problem.unit / problem.scale


class TargetScales(Scales):
    """Sizes where dual arrays sum to a target τ: those of a_i = τ/Σ_i s_i and its predictions, were all rows alike.

    With h = 0 the objective is 0 and nothing can be said of its size. The size of predictions is taken from the
    diagonal of 𝐊; products with 𝐊 could cancel, and cost more than some algorithms do.
    """

    def null_array(self, problem: DualProblem) -> Any:
        return namespace(problem.Y).zeros_like(problem.Y) + self._mean(problem)[None, :]

    def null_model(self, problem: DualProblem) -> tuple[float, Any]:
        """Return the size of the objective at the uniform array, and no intercept."""
        weights, mean = as_like(problem.measure.weights, problem.Y), self._mean(problem)
        size = problem.mass / 2 * float(weights @ (mean * self._predictions(problem)))
        assert problem.intercept is not None  # which has the target
        return size, 0 * problem.intercept.pull(problem, mean)

    def trivial(self, problem: DualProblem) -> bool:
        """Say whether the kernel vanishes at the data."""
        return problem.null_model[0] == 0

    def unit(self, problem: DualProblem) -> float:
        """Return typical prediction over typical dual variable of the uniform array."""
        weights, mean, H = as_like(problem.measure.weights, problem.Y), self._mean(problem), self._predictions(problem)
        return _ratio(float(weights @ (H * H)), float(weights @ (mean * mean)))

    def tolerance(self, problem: DualProblem, share: float) -> float:
        """Return a share of the trace of 𝐊 that changes the objective of most arrays by less."""
        return min(TARGET_LEFT_OUT * share, MOST_LEFT_OUT) * float(namespace(problem.Y).sum(problem.gram.diagonal()))

    @staticmethod
    def _mean(problem: DualProblem) -> Any:
        assert problem.intercept is not None  # which has the target
        return as_like(problem.intercept.target, problem.Y) / problem.total_weight

    def _predictions(self, problem: DualProblem) -> Any:
        """Return what the uniform array would predict at each node if all rows, and no columns, were alike.

        Rows are alike in their mean, with or without their weights: the smaller one is the safer unit of a gap.
        """
        xp = namespace(problem.Y)
        by_row = xp.reshape(problem.gram.diagonal(), problem.shape)  # s_i w_j K_(ij)(ij)
        weighted, plain = xp.sum(by_row, axis=0), xp.sum(by_row / problem.sample_weight[:, None], axis=0)
        return problem.scale * xp.minimum(weighted, plain) * self._mean(problem)


def _ratio(top: float, bottom: float) -> float:
    """Return the root of a ratio of squares, 1 where there is none."""
    if not (top > 0 and bottom > 0):
        return 1.0
    ratio = math.sqrt(top / bottom)
    return ratio if math.isfinite(ratio) and ratio > 0 else 1.0
