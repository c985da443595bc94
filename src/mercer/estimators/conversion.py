"""Curves of other libraries as outputs: opened into arrays at the door of an estimator, predictions closed again.

Inputs that are curves are opened as tables are (``estimators/tables.py``).
"""

from __future__ import annotations

from typing import Any

from mercer.preprocessing.providers import provider_of

__all__ = ["open_curves"]


def open_curves(owner: object, Y: Any, grid: Any) -> tuple[Any, Any, Any]:
    """Return curves as an array or a list of (points, values), their grid, and the form that closes predictions."""
    provider = provider_of(Y)
    return (Y, grid, None) if provider is None else provider.open_curves(owner, Y, grid)
