"""A duality gap: how far, at most, a model is from the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = ["Certificate"]


@dataclass(frozen=True, eq=False)
class Certificate:
    """Primal and dual value of a pair of points; the optimum lies between them, up to rounding.

    ``relative_gap`` = gap / max(|primal| − doubt, |dual| − doubt, 1e-6·reference), where the reference is the objective
    of the intercept-only model. ``doubt`` bounds what rounding errors have changed in the two values
    (:class:`~mercer.problems.Rounding`) and what a reduced kernel leaves out (:func:`~mercer.problems.left_out`). It is
    a part of the gap, so that the primal value as it was computed is no further from the optimum than the gap says, and
    is taken off the unit of the relative one. ``prediction`` is h_A at the data, without the intercept.
    """

    primal: float
    dual: float
    reference: float
    intercept: Any = None
    doubt: float = 0.0
    prediction: Any = None

    @property
    def gap(self) -> float:
        """The absolute duality gap, ≥ 0, with the rounding of its two values."""
        return self._visible + self.doubt

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective; what ``tol`` bounds."""
        return self._relative(self.gap, self.doubt)

    @property
    def visible_gap(self) -> float:
        """The relative gap without that doubt: what an algorithm can still make smaller."""
        return self._relative(self._visible, 0.0)

    @property
    def _visible(self) -> float:
        gap = self.primal - self.dual
        return gap if math.isnan(gap) else max(gap, 0.0)

    def _relative(self, gap: float, doubt: float) -> float:
        if gap == 0 or not math.isfinite(gap):  # infinite: the dual array is not feasible
            return gap
        unit = max(abs(self.primal) - doubt, abs(self.dual) - doubt, 1e-6 * self.reference)
        return gap / unit if unit > 0 else math.inf
