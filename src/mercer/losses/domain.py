"""What every loss needs to know of L²(μ): observed entries, levels in (0, 1) and conjugates on a box."""

from __future__ import annotations

import math
from typing import Any

from mercer.backend import as_like, machine_epsilon, namespace, to_numpy
from mercer.exceptions import DataError
from mercer.losses.base import Loss, indicator
from mercer.losses.prox import project_box
from mercer.measures import Measure

__all__ = ["BoxLoss", "check_levels", "inside_box", "levels", "node_mean", "observed_only", "residual", "slack"]


def observed_only(values: Any, measure: Measure) -> Any:
    """Return the values with zeros at the entries that the measure does not observe, whatever stood there."""
    if measure.observed is None:
        return values
    xp = namespace(values)
    return xp.where(measure.observed, values, xp.zeros_like(values))


def residual(Y: Any, U: Any, measure: Measure) -> Any:
    """Return r = y − u, a fresh array that is zero at unobserved entries, also where y is NaN there."""
    return observed_only(Y - U, measure)


def node_mean(array: Any, sample_weight: Any, measure: Measure) -> Any:
    """Return Σ_i s_i a_ij / Σ_i s_i over the observed entries of each node, 0 where there are none; shape (m,)."""
    xp = namespace(array)
    if measure.observed is None:
        return sample_weight @ array / xp.sum(sample_weight)
    total = sample_weight @ xp.astype(measure.observed, array.dtype)
    return sample_weight @ observed_only(array, measure) / xp.where(total > 0, total, xp.ones_like(total))


def slack(array: Any) -> float:
    """Return the relative rounding allowed in a test for membership: 7e-10 in double precision."""
    return 0.05 * math.sqrt(machine_epsilon(array))


def levels(measure: Measure, like: Any) -> Any:
    """Return the levels θ_j of the measure, shape (m,), as an array like ``like``."""
    return as_like(measure.locations, like)


def check_levels(owner: object, noun: str, measure: Measure) -> None:
    """Refuse a measure whose points are not in (0, 1); ``noun`` says what they are to ``owner``."""
    theta = to_numpy(measure.locations)
    bad = theta[~((theta > 0) & (theta < 1))]
    if bad.size:
        shown = ", ".join(f"{value:g}" for value in bad[:5]) + (", ..." if bad.size > 5 else "")
        raise DataError(
            f"{type(owner).__name__}: the {noun} are the points of the measure and must lie strictly "
            f"between 0 and 1; got {shown}. Give them as fractions (0.9, not 90), for example "
            "Points([0.1, 0.5, 0.9]), or take a rule on (0, 1) such as GaussLegendre(30)."
        )


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
