"""A duality gap: how far, at most, a model is from the optimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import machine_epsilon

__all__ = ["Certificate"]

#: the power of the machine's ε that is the share of an objective up to which its rounding is no part of the gap: a
#: third of all digits of it are right, five in double precision
RIGHT_DIGITS = 1 / 3


@dataclass(frozen=True, eq=False)
class Certificate:
    """Primal and dual value of a pair of points; the optimum lies between them, up to rounding.

    ``relative_gap`` = gap / max(|primal| − doubt, |dual| − doubt, 1e-6·reference), where the reference is the objective
    of the intercept-only model. ``rounding`` bounds what rounding errors have changed in the difference of the two
    values and ``doubt`` what they have in the values themselves (:class:`~mercer.problems.Rounding`); both contain what
    a reduced kernel leaves out (:func:`~mercer.problems.left_out`). The gap contains the former, and the latter as far
    as it exceeds what five digits of the values say (two in single precision), so that the objective as it was computed
    is no further from the optimum than that. The doubt is taken off the unit of the relative gap, too. ``prediction``
    is h_A at the data, without the intercept.
    """

    primal: float
    dual: float
    reference: float
    intercept: Any = None
    rounding: float = 0.0
    doubt: float = 0.0
    prediction: Any = None

    @property
    def gap(self) -> float:
        """The absolute duality gap, ≥ 0, with the rounding of its own computation and that of the objective."""
        return self._visible + max(self.rounding, self.doubt - self._granted)

    @property
    def relative_gap(self) -> float:
        """The gap in units of the objective; what ``tol`` bounds."""
        return self._relative(self.gap, self.doubt)

    @property
    def visible_gap(self) -> float:
        """The relative gap without its rounding: what an algorithm can still make smaller."""
        return self._relative(self._visible, 0.0)

    @property
    def _visible(self) -> float:
        gap = self.primal - self.dual
        return gap if math.isnan(gap) else max(gap, 0.0)

    def _relative(self, gap: float, doubt: float) -> float:
        if gap == 0 or not math.isfinite(gap):  # infinite: the dual array is not feasible
            return gap
        unit = self._unit(doubt)
        return gap / unit if unit > 0 else math.inf

    @property
    def _granted(self) -> float:
        """Return the rounding of the objective that everybody reckons with."""
        epsilon = float(np.finfo(float).eps) if self.prediction is None else machine_epsilon(self.prediction)
        return epsilon**RIGHT_DIGITS * self._unit(self.doubt)

    def _unit(self, doubt: float) -> float:
        return max(abs(self.primal) - doubt, abs(self.dual) - doubt, 1e-6 * self.reference)
