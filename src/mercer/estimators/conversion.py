"""Data of other libraries at the door of an estimator: opened into arrays, predictions closed again.

A library is known by the top name of the module of its types; what knows its types is loaded only when one of them
arrives, so that nothing is imported that the user has not imported.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["open_curves", "open_inputs"]

#: top-level package of a type → module that offers open_curves(owner, value, grid) and open_inputs(value)
PROVIDERS: dict[str, str] = {"skfda": "mercer.interop.skfda"}


def _provider(value: Any) -> Any:
    name = PROVIDERS.get(type(value).__module__.partition(".")[0])
    return None if name is None else importlib.import_module(name)


def open_inputs(X: Any) -> tuple[Any, Any]:
    """Return inputs as an array, and the form that they came in (None: as they are)."""
    provider = _provider(X)
    return (X, None) if provider is None else provider.open_inputs(X)


def open_curves(owner: object, Y: Any, grid: Any) -> tuple[Any, Any, Any]:
    """Return curves as an array or a list of (points, values), their grid, and the form that closes predictions."""
    provider = _provider(Y)
    return (Y, grid, None) if provider is None else provider.open_curves(owner, Y, grid)
