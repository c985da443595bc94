"""Products of measures, such as time × level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.exceptions import parameter_error
from mercer.measures.rules import MeasureRule

__all__ = ["ProductMeasure"]


@dataclass(eq=False, repr=False)
class ProductMeasure(MeasureRule):
    """Pairs (t, θ) of the points of two rules, with the products of their weights; θ varies fastest.

    With a kernel k_T ⊗ k_Θ, written ``k_T.restrict(0) * k_Θ.restrict(1)``, the Gram matrix of its points is a Kronecker
    product of two small matrices, and is kept as that. Losses that are indexed by levels take the last coordinate.

    Parameters
    ----------
    left, right : MeasureRule
        The rules.

    Examples
    --------
    >>> from mercer.measures import Grid, Points
    >>> mu = ProductMeasure(Grid([0.0, 1.0]), Points([0.1, 0.9])).build()
    >>> mu.points.tolist()
    [[0.0, 0.1], [0.0, 0.9], [1.0, 0.1], [1.0, 0.9]]
    >>> mu.weights
    array([0.25, 0.25, 0.25, 0.25])
    """

    left: Any
    right: Any

    def _check(self) -> None:
        for name in ("left", "right"):
            if not isinstance(getattr(self, name), MeasureRule):
                hint = "For instance ProductMeasure(Grid(times), Points([0.1, 0.5, 0.9]))."
                raise parameter_error(self, name, getattr(self, name), "a MeasureRule", hint)

    def nodes(self, rng):
        (slow, v), (fast, w) = self.left.nodes(rng), self.right.nodes(rng)
        points = np.hstack([np.repeat(slow, len(fast), axis=0), np.tile(fast, (len(slow), 1))])
        return points, np.outer(v, w).ravel()
