"""Data of other libraries at the door of an estimator: opened into arrays, predictions closed again.

A library is known by the top name of the module of its types. What knows its types, a module of ``mercer.interop``,
enters itself here, so that estimators know no library, and nothing is imported that the user has not imported.
"""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Provider", "open_curves", "open_inputs", "register"]


class Provider(Protocol):
    """What opens the data of one library, without importing it before they arrive."""

    def open_inputs(self, X: Any) -> tuple[Any, Any]:
        """Return inputs as an array, and the form that they came in."""

    def open_curves(self, owner: object, Y: Any, grid: Any) -> tuple[Any, Any, Any]:
        """Return curves, their grid, and the form that closes predictions."""


#: top-level package of a type → what opens its objects; filled by register
providers: dict[str, Provider] = {}


def register(package: str, provider: Provider) -> None:
    """Let ``provider`` open the objects whose types come from the top-level ``package``."""
    providers[package] = provider


def _provider(value: Any) -> Provider | None:
    return providers.get(type(value).__module__.partition(".")[0])


def open_inputs(X: Any) -> tuple[Any, Any]:
    """Return inputs as an array, and the form that they came in (None: as they are)."""
    provider = _provider(X)
    return (X, None) if provider is None else provider.open_inputs(X)


def open_curves(owner: object, Y: Any, grid: Any) -> tuple[Any, Any, Any]:
    """Return curves as an array or a list of (points, values), their grid, and the form that closes predictions."""
    provider = _provider(Y)
    return (Y, grid, None) if provider is None else provider.open_curves(owner, Y, grid)
