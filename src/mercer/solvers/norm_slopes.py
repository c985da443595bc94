"""Slopes and curvatures of a loss of norms, f(‖r‖), in plain coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mercer.backend import to_numpy
from mercer.measures import Measure
from mercer.problems import DualProblem

__all__ = ["NormSlopes", "Slopes"]

#: relative step of the difference that stands for the second derivative of f
SLOPE_DIFFERENCE = 1e-4


@dataclass(frozen=True, eq=False)
class Slopes:
    """Coordinates A with predictions H, the residual R, and what the loss says of it.

    ``risk`` is the sum of the losses; ``dual`` is a = −∇L(H) = wR, w = f'(‖r‖)/‖r‖; ``bend`` is f'' − w, the curvature
    along a residual less that across it. All are in coordinates in which inner products are plain.
    """

    A: np.ndarray
    H: np.ndarray
    R: np.ndarray
    risk: float
    dual: np.ndarray
    sizes: np.ndarray
    weights: np.ndarray
    bend: np.ndarray

    @property
    def value(self) -> float:
        """The objective times n."""
        return self.risk + max(float(np.vdot(self.A, self.H)), 0.0) / 2

    @property
    def gradient(self) -> np.ndarray:
        """The direction of steepest descent in the norm of 𝐊, a − A."""
        return self.dual - self.A

    @property
    def steepness(self) -> float:
        """The mean curvature of the loss over rows and directions."""
        return float(np.mean(self.weights + self.bend / self.R.shape[1]))

    def of(self, A: np.ndarray) -> Slopes:
        """Return the same with the coordinates that the residual belongs to."""
        return replace(self, A=A)


class NormSlopes:
    """L_i(h) = f(‖y_i − h‖) in coordinates √(s_i w_j)·a_ij, where ⟨A, B⟩ is the plain inner product.

    f' is the gradient of the loss in one column, as the loss depends on norms alone.

    Parameters
    ----------
    problem : DualProblem
        With a smooth loss of norms.
    """

    def __init__(self, problem: DualProblem) -> None:
        self.loss, self.one = problem.loss, Measure(np.zeros(1), np.ones(1))
        self.rows = np.sqrt(to_numpy(problem.sample_weight).astype(float))
        self.columns = np.sqrt(to_numpy(problem.measure.weights).astype(float))
        self.root = self.rows[:, None] * self.columns
        self.Y = self.whiten(problem.Y)
        self.dtype = problem.Y.dtype

    def whiten(self, array: np.ndarray) -> np.ndarray:
        """Return the coordinates of an array."""
        return array * self.root

    def unwhiten(self, array: np.ndarray) -> np.ndarray:
        """Return the array with these coordinates."""
        return (array / self.root).astype(self.dtype, copy=False)

    def __call__(self, A: np.ndarray, H: np.ndarray) -> Slopes:
        """Return what the loss says of coordinates A with predictions H."""
        R = self.Y - H
        sizes = np.sqrt(np.einsum("ij,ij->i", R, R)) / self.rows
        safe = np.where(sizes > 0, sizes, 1.0)
        weights = self._slope(safe) / safe
        curvature = (self._slope((1 + SLOPE_DIFFERENCE) * safe) - self._slope((1 - SLOPE_DIFFERENCE) * safe)) / (
            2 * SLOPE_DIFFERENCE
        )
        bend = np.maximum(curvature / safe, 0.0) - weights
        risk = float(self.rows**2 @ self.loss.value(sizes[:, None], np.zeros((len(sizes), 1)), self.one))
        return Slopes(A, H, R, risk, weights[:, None] * R, sizes, weights, bend)

    def curvature(self, at: Slopes, images: np.ndarray) -> np.ndarray:
        """Return Σ_i of the second derivative of the loss between predictions, shape (d, n, m) → (d, d)."""
        flat = images.reshape(len(images), -1)
        along = np.einsum("dij,ij->di", images, at.R) / (np.where(at.sizes > 0, at.sizes, 1.0) * self.rows)
        across = (images * at.weights[:, None]).reshape(flat.shape)
        return across @ flat.T + (along * at.bend) @ along.T

    def _slope(self, sizes: np.ndarray) -> np.ndarray:
        """Return f' of sizes of residuals."""
        return -self.loss.gradient(sizes[:, None], np.zeros((len(sizes), 1)), self.one)[:, 0]
