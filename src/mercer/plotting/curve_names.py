"""What curves are over, and what their values are called."""

from __future__ import annotations

from typing import Any

__all__ = ["curve_names"]


def curve_names(Y: Any, component: int | None, theta_name: str | None, target_name: str | None) -> tuple[str, str]:
    """Return the names of θ and of the values: those that are given, those that curves of scikit-fda have, or θ, y(θ).

    Examples
    --------
    >>> curve_names([[0.0, 1.0]], None, "day", None)
    ('day', 'y(θ)')
    """
    arguments: Any = getattr(Y, "argument_names", None) or ()
    coordinates: Any = getattr(Y, "coordinate_names", None) or ()
    place = 0 if component is None else component
    of_theta = arguments[0] if len(arguments) == 1 else None
    of_values = coordinates[place] if place < len(coordinates) else None
    return theta_name or of_theta or "θ", target_name or of_values or "y(θ)"
