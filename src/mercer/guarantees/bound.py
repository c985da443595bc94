"""A number, and why it is true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Bound"]


@dataclass(frozen=True)
class Bound:
    """A bound, the theorem it comes from, the constants that were used, and what it takes for granted.

    Examples
    --------
    >>> bound = Bound(0.25, "star discrepancy of the midpoint rule", {"m": 2}, ("uniform measure on [0, 1]",))
    >>> float(bound), bound.constants["m"]
    (0.25, 2)
    >>> print(bound)
    0.25: star discrepancy of the midpoint rule
      m = 2
      if: uniform measure on [0, 1]
    """

    value: Any
    theorem: str
    constants: dict[str, Any]
    assumptions: tuple[str, ...]

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        shown = f"{self.value:.6g}" if isinstance(self.value, float) else str(self.value)
        lines = [f"{shown}: {self.theorem}"]
        lines += [f"  {name} = {value:.6g}" for name, value in self.constants.items()]
        return "\n".join(lines + [f"  if: {one}" for one in self.assumptions])
