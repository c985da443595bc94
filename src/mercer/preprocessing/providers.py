"""Libraries whose objects are opened at the door, each known by the top name of the module of its types.

What knows the types of a library, a module of ``mercer.interop``, enters itself here, so that nothing is imported that
the user has not imported.
"""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Provider", "provider_of", "register"]


class Provider(Protocol):
    """What opens the data of one library, without importing it before they arrive."""

    def open_inputs(self, X: Any) -> list[tuple[str | None, list[Any]]]:
        """Return functions as columns, one for each component: a name, or None, and (points, values) of each row."""

    def open_curves(self, owner: object, Y: Any, grid: Any) -> tuple[Any, Any, Any]:
        """Return curves, their grid, and the form that closes predictions."""


#: top-level package of a type → what opens its objects; filled by register
providers: dict[str, Provider] = {}


def register(package: str, provider: Provider) -> None:
    """Let ``provider`` open the objects whose types come from the top-level ``package``."""
    providers[package] = provider


def provider_of(value: Any) -> Provider | None:
    """Return what opens an object, None where it is of no library that was entered."""
    return providers.get(type(value).__module__.partition(".")[0])
