"""Losses whose conjugate is a quadratic on a box, and membership in a box up to rounding."""

from __future__ import annotations

import math
from typing import Any

from mercer.backend import machine_epsilon, namespace
from mercer.losses.base import Loss, indicator
from mercer.losses.observed import observed_only
from mercer.losses.prox import project_box
from mercer.measures import Measure

__all__ = ["BoxLoss", "inside_box", "slack"]


def slack(array: Any) -> float:
    """Return the relative rounding allowed in a test for membership: 7e-10 in double precision."""
    return 0.05 * math.sqrt(machine_epsilon(array))


def inside_box(A: Any, lower: Any, upper: Any) -> Any:
    """Say for each row whether lower ≤ a ≤ upper, up to rounding, shape (n,)."""
    xp = namespace(A)
    room = slack(A) * xp.maximum(xp.max(upper), -xp.min(lower))
    return xp.all((lower - room <= A) & (upper + room >= A), axis=1)


class BoxLoss(Loss):
    """A loss whose conjugate is of the form :class:`~mercer.losses.Box`; subclasses give value and box.

    L*(−a) = ½c‖a‖²_μ − ⟨a, y⟩_μ on lower ≤ a ≤ upper, a box that contains 0, and so
    prox_{t L*(−·)}(z) = clip((z + t·y)/(1 + t·c), lower, upper).
    """

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        return box_conjugate(self.box(Y, measure), Y, A, measure)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        return box_conjugate_prox(self.box(Y, measure), Y, Z, t, measure)


def box_conjugate(box: Any, Y: Any, A: Any, measure: Measure) -> Any:
    """Return Σ_j w_j [½ c a_j² − y_j a_j] on the box and +inf elsewhere."""
    linear = -measure.inner(A, Y)
    value = linear + 0.5 * box.curvature * measure.inner(A, A) if box.curvature else linear
    return value + indicator(inside_box(observed_only(A, measure), box.lower, box.upper), value)


def box_conjugate_prox(box: Any, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
    """Return clip((z + t·y)/(1 + t·c), lower, upper)."""
    shifted = observed_only(Z + t * Y, measure)
    if box.curvature:
        shifted = shifted / (1 + t * box.curvature)
    return project_box(shifted, box.lower, box.upper)
