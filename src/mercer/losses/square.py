"""The square loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.losses.base import Loss
from mercer.losses.observed import node_mean, observed_only, residual
from mercer.measures import Measure

__all__ = ["Square"]


@dataclass(eq=False, repr=False)
class Square(Loss):
    """The square loss, whose minimiser is the conditional mean.

    L(u) = ½‖y − u‖²_μ,    L*(−a) = ½‖a‖²_μ − ⟨a, y⟩_μ

    Prefer it for Gaussian-like noise and for speed: with a decomposable kernel the fit is in closed form for
    every λ at once. It is pointwise and a function of the norm at the same time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> Square().value(np.array([[1.0, 2.0]]), np.array([[0.0, 0.0]]), mu)
    array([1.25])
    """

    smooth = True
    lipschitz = 1.0
    growth = 2
    of_norms = True

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ½‖y_i − u_i‖²_μ for each row."""
        r = residual(Y, U, measure)
        return 0.5 * measure.inner(r, r)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return u − y."""
        return observed_only(U - Y, measure)

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return (z + t·y)/(1 + t)."""
        return Z + (t / (1 + t)) * residual(Y, Z, measure)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return ½‖a‖²_μ − ⟨a, y⟩_μ for each row."""
        return measure.inner(A, 0.5 * A - Y)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return (z + t·y)/(1 + t)."""
        return observed_only((Z + t * Y) / (1 + t), measure)

    def intercept(self, Y: Any, U: Any, sample_weight: Any, measure: Measure) -> Any:
        """Return the weighted means of the residuals, node by node."""
        return node_mean(Y - U, sample_weight, measure)
