"""The primal problem behind a box dual, in thin features and with proximal terms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.linalg import Spectral
from mercer.problems import DualProblem

__all__ = ["BoxPrimal"]

#: multiplications that one elementwise pass over an (n, m) array is worth, several of which surround a product
PASS = 60.0


class BoxPrimal:
    """min_{C,b} ½‖C‖² + Σ_ij ω_ij max_{lower ≤ a ≤ upper} [a R_ij − c a²/2], n times the primal objective.

    R = Y − ΦC − bE are the residuals, ω_ij = s_i w_j the weights and c the curvature of the box. Φ maps coordinates to
    (n, m) arrays: √D ∘ (eigenbasis of 𝐊), D the spectrum of 𝐊/(λn); its adjoint for ω is Φ*. The maximisers a are the
    dual array, and at the optimum C = Φ*a.

    Parameters
    ----------
    problem : DualProblem
        With a box.
    spectral : Spectral
        Eigenpairs of its Gram operator.
    """

    def __init__(self, problem: DualProblem, spectral: Spectral) -> None:
        box = problem.box
        assert box is not None  # SemismoothNewton.check has seen to it
        self.problem, self.spectral = problem, spectral
        self.spectrum = problem.scale * spectral.spectrum
        self.root = np.sqrt(self.spectrum)
        self.curvature = float(box.curvature)
        # copies of full shape, as broadcasting is slow; entries that were not observed have an empty box
        self.lower, self.upper = (
            problem.cut(np.ascontiguousarray(np.broadcast_to(bound, problem.shape), dtype=problem.Y.dtype))
            for bound in (box.lower, box.upper)
        )
        intercept = problem.intercept
        self.intercept = intercept
        self.penalty = 0.0 if intercept is None else intercept.penalty / problem.share
        width = self.upper - self.lower
        finite = np.where(np.isfinite(width), width, 0.0)
        self._reach = math.sqrt(problem.inner(finite, finite))

    @property
    def pass_cost(self) -> float:
        """Multiplications of ΦC or Φ*A, and of the passes around it."""
        n, m = self.problem.shape
        return 2 * self.spectral.product_cost + PASS * n * m

    # -- the maps ----------------------------------------------------------------------------------------------

    def lift(self, C: np.ndarray) -> np.ndarray:
        """Return ΦC, an (n, m) array."""
        return self.spectral.synthesise(self.root * C)

    def features(self, A: np.ndarray) -> np.ndarray:
        """Return Φ*A, coordinates."""
        return self.root * self.spectral.analyse(A)

    def lifted_entries(self, C: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return some entries of ΦC."""
        return self.spectral.entry_values(self.root * C, rows, columns)

    def effect(self, b: Any) -> Any:
        """Return bE, zeros without an intercept."""
        return 0.0 if self.intercept is None else self.intercept.effect(b)

    def slope_of_intercept(self, A: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the gradient in b: the constraint on the sums of a dual array, and the penalty of b."""
        if self.intercept is None:
            return np.zeros_like(b)
        return self.penalty * b - self.intercept.moment(self.problem, A)

    def residual(self, C: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return Y − ΦC − bE."""
        R = self.lift(C)
        R += self.effect(b)
        return np.subtract(self.problem.Y, R, out=R)

    def clip(self, V: np.ndarray) -> np.ndarray:
        """Return the projection on the box."""
        A = np.maximum(V, self.lower)
        return np.minimum(A, self.upper, out=A)

    def free(self, V: np.ndarray) -> np.ndarray:
        """Return where V is strictly inside the box."""
        return (self.lower < V) & (self.upper > V)

    def inexactness(self, G: np.ndarray, g: np.ndarray) -> float:
        """Return a bound of the first-order effect of gradients (G, g) on n times the gap of the dual array.

        Its predictions differ from ΦC + bE by ΦG, and by those of the repair of its sums, which are off by g; the gap
        changes with predictions by at most the width of the box at each entry.
        """
        off = math.sqrt(float(np.sum(self.spectrum * G * G)))
        if self.intercept is not None and self.penalty == 0:
            weights = self.problem.measure.weights
            weights = weights if self.intercept.design is None else float(np.mean(weights))
            repair = math.sqrt(float(np.sum(g * g / weights)) / self.problem.total_weight)
            off += float(np.max(self.spectrum)) * repair
        return self._reach * off
