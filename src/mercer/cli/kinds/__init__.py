"""Kinds of problems, a file each: a new one is written there and entered here."""

from __future__ import annotations

from typing import Any

from mercer.cli.kinds.base import Kind
from mercer.cli.kinds.cost import Cost
from mercer.cli.kinds.curves import Curves
from mercer.cli.kinds.field import Field
from mercer.cli.kinds.levels import Levels
from mercer.cli.kinds.quantile import Quantile
from mercer.cli.kinds.structured import Structured

__all__ = ["PROBLEM_KINDS", "kind_of"]

#: what follows ``mercer fit``
PROBLEM_KINDS: tuple[Kind, ...] = (Quantile(), Cost(), Levels(), Curves(), Field(), Structured())


def kind_of(model: Any) -> Kind | None:
    """Return the kind whose predictions a model makes; None where it is of none that the command knows."""
    return next((kind for kind in PROBLEM_KINDS if isinstance(model, kind.models)), None)
