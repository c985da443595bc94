"""Losses whose points θ are levels in (0, 1): reading and checking them."""

from __future__ import annotations

from typing import Any

from mercer.backend import as_like, to_numpy
from mercer.exceptions import DataError
from mercer.measures import Measure

__all__ = ["check_levels", "levels"]


def levels(measure: Measure, like: Any) -> Any:
    """Return the levels of the measure as an array like ``like``.

    They are the last coordinates of its points, shape (m,), or of shape (n, m) where rows have levels of their own.
    """
    return as_like(measure.points[:, -1] if measure.levels is None else measure.levels, like)


def check_levels(owner: object, noun: str, measure: Measure) -> None:
    """Refuse a measure whose points are not in (0, 1); ``noun`` says what they are to ``owner``."""
    theta = to_numpy(measure.points[:, -1] if measure.levels is None else measure.levels)
    bad = theta[~((theta > 0) & (theta < 1))]
    if bad.size:
        shown = ", ".join(f"{value:g}" for value in bad[:5]) + (", ..." if bad.size > 5 else "")
        raise DataError(
            f"{type(owner).__name__}: the {noun} are the points of the measure and must lie strictly "
            f"between 0 and 1; got {shown}. Give them as fractions (0.9, not 90), for example "
            "Points([0.1, 0.5, 0.9]), or take a rule on (0, 1) such as GaussLegendre(30)."
        )
