"""A discrete measure μ = Σ_j w_j δ_{θ_j} and the geometry of L²(μ)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mercer._state import Stateful
from mercer.backend import as_like, device, namespace, to_numpy
from mercer.exceptions import DataError

__all__ = ["Measure"]


@dataclass(frozen=True, eq=False)
class Measure(Stateful):
    """Points and non-negative weights; functions of θ are rows of ``(n, m)`` arrays.

    ⟨u, v⟩_μ = Σ_j w_j u_j v_j. Splitting a point into two that share its weight changes no inner product, no norm
    and, as everything in mercer is written with these, no result. A measure is what ``fit`` makes of a
    :class:`MeasureRule`; it is immutable.

    Parameters
    ----------
    points : array of shape (m, d)
        Locations θ_j. A one-dimensional array is taken as d = 1.
    weights : array of shape (m,)
        Positive weights; build from a rule to have zero weights dropped.
    observed : array of bool of shape (n, m), optional
        Entries that count, where each of n functions has been seen at some of the points only.
    levels : array of shape (n, m), optional
        The level of each entry, where rows have levels of their own and points are mere places.

    Examples
    --------
    >>> import numpy as np
    >>> mu = Measure(np.array([0.2, 0.8]), np.array([0.5, 0.5]))
    >>> mu.inner(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([5.5])
    """

    points: Any
    weights: Any
    observed: Any = field(default=None)
    levels: Any = field(default=None)

    def __post_init__(self) -> None:
        if self.points.ndim == 1:
            object.__setattr__(self, "points", self.points[:, None])
        if self.points.ndim != 2 or tuple(self.weights.shape) != (self.points.shape[0],):
            raise DataError(
                "Measure: points must have shape (m, d) and weights shape (m,); got "
                f"{tuple(self.points.shape)} and {tuple(self.weights.shape)}."
            )
        xp = namespace(self.points, self.weights)
        if not bool(xp.all(xp.isfinite(self.points))) or not bool(xp.all(xp.isfinite(self.weights))):
            raise DataError("Measure: points and weights must be finite.")
        if not bool(xp.all(self.weights > 0)):
            raise DataError(
                "Measure: weights must be positive (negative ones destroy convexity). "
                "A rule such as Points(points, weights) drops zero weights."
            )

    def __len__(self) -> int:
        return int(self.points.shape[0])

    @property
    def locations(self) -> Any:
        """The points of a measure on the line, shape (m,)."""
        if self.points.shape[1] != 1:
            raise DataError(f"This needs a measure on the line; the points have dimension {self.points.shape[1]}.")
        return self.points[:, 0]

    @property
    def total(self) -> float:
        """The mass μ(Θ) = Σ_j w_j."""
        return float(namespace(self.weights).sum(self.weights))

    def integrate(self, values: Any) -> Any:
        """Return Σ_j w_j f_ij for each row, over observed entries."""
        xp = namespace(values)
        if self.observed is not None:
            values = xp.where(self.observed, values, xp.zeros_like(values))
        return values @ as_like(self.weights, values)

    def inner(self, left: Any, right: Any) -> Any:
        """Return ⟨u_i, v_i⟩_μ for each row."""
        return self.integrate(left * right)

    def norm(self, values: Any) -> Any:
        """Return ‖u_i‖_μ for each row."""
        return namespace(values).sqrt(self.inner(values, values))

    def restricted(self, observed: Any) -> Measure:
        """Return the same measure seen through a mask of observed entries (None: all of them)."""
        return replace(self, observed=observed)

    def rows(self, index: slice) -> Measure:
        """Return the measure for some of the rows, for work in blocks of samples."""
        if self.observed is None and self.levels is None:
            return self
        parts = (None if array is None else array[index, :] for array in (self.observed, self.levels))
        return Measure(self.points, self.weights, *parts)

    def like(self, array: Any) -> Measure:
        """Return the measure in the library, device and dtype of ``array``."""
        observed = self.observed
        if observed is not None and namespace(observed) is not namespace(array):
            observed = namespace(array).asarray(to_numpy(observed), device=device(array))
        levels = None if self.levels is None else as_like(self.levels, array)
        return Measure(as_like(self.points, array), as_like(self.weights, array), observed, levels)
