"""A duality gap: how far, at most, a model is from the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Certificate"]


@dataclass(frozen=True, eq=False)
class Certificate:
    """Primal and dual value of a pair of points; the optimum lies between them.

    ``relative_gap`` = gap / max(|primal|, |dual|, 1e-6·reference), where the reference is the objective of the
    intercept-only model.
    """

    primal: float
    dual: float
    reference: float
    intercept: Any = None

    @property
    def gap(self) -> float:
        """The absolute duality gap, ≥ 0."""
        gap = self.primal - self.dual
        return gap if math.isnan(gap) else max(gap, 0.0)

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective; what ``tol`` bounds."""
        if self.gap == 0 or self.gap == math.inf:  # inf: the dual array is not feasible
            return self.gap
        return self.gap / max(abs(self.primal), abs(self.dual), 1e-6 * self.reference)
