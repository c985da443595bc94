"""Integrals over θ by few points: star discrepancy, and what it says of sampled risks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import DataError
from mercer.guarantees.bound import Bound
from mercer.measures import Measure

__all__ = ["quadrature_error", "star_discrepancy"]


def star_discrepancy(points: Any, weights: Any = None) -> float:
    """Return sup_t |Σ_{θ_j ≤ t} w_j − t| over [0, 1], exactly, of points of the unit interval and their weights.

    For equal weights it is 1/(2m) + max_j |θ_(j) − (2j − 1)/(2m)|.

    Parameters
    ----------
    points : Measure, or array-like of shape (m,)
        θ_j in [0, 1], in any order.
    weights : array-like of shape (m,), optional
        w_j; those of the measure, or 1/m.

    Examples
    --------
    >>> round(star_discrepancy([0.1, 0.35, 0.36, 0.8]), 12)
    0.39
    """
    if isinstance(points, Measure):
        points, weights = points.locations, points.weights
    theta = np.asarray(to_numpy(points), dtype=float).ravel()
    w = np.full(len(theta), 1 / max(len(theta), 1)) if weights is None else np.asarray(to_numpy(weights), dtype=float)
    if len(theta) == 0 or w.shape != theta.shape or np.any((theta < 0) | (theta > 1)) or np.any(w < 0):
        raise DataError("star_discrepancy: points must lie in [0, 1], one weight that is not negative for each.")
    order = np.argsort(theta)
    after = np.cumsum(w[order])
    before = after - w[order]
    ends = [abs(after[-1] - 1), *np.abs(after - theta[order]), *np.abs(before - theta[order])]
    return float(max(ends))


def quadrature_error(measure: Measure, variation: float) -> Bound:
    """Return how far Σ_j w_j f(θ_j) is from ∫₀¹ f dθ at most, for functions f of this variation (Koksma, 1942).

    Examples
    --------
    >>> from mercer.measures import Trapezoid
    >>> round(quadrature_error(Trapezoid(11).build(), 2.0).value, 12)
    0.1
    """
    discrepancy = star_discrepancy(measure)
    constants = {"variation": float(variation), "discrepancy": discrepancy, "m": len(measure)}
    theorem = "Koksma (1942): variation times star discrepancy"
    return Bound(
        variation * discrepancy, theorem, constants, ("the integral is that of the uniform measure on [0, 1]",)
    )
