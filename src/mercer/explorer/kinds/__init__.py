"""Kinds of models, a file each, with the script that draws them: a new one is written there and entered here."""

from __future__ import annotations

from typing import Any

from mercer.explorer.kinds.base import Exhibit, Kind
from mercer.explorer.kinds.codes import Codes
from mercer.explorer.kinds.cost import Costs
from mercer.explorer.kinds.curve_quantiles import CurveQuantiles
from mercer.explorer.kinds.curves import Curves
from mercer.explorer.kinds.field import Field
from mercer.explorer.kinds.levels import LevelSets
from mercer.explorer.kinds.number import Classes, Number
from mercer.explorer.kinds.objects import Objects
from mercer.explorer.kinds.quantile import Quantiles
from mercer.explorer.kinds.scores import Scores
from mercer.explorer.kinds.series import Series

__all__ = ["EXPLORED_KINDS", "Exhibit", "Kind", "explored_kind"]

#: the first that takes a model shows it
EXPLORED_KINDS: tuple[Kind, ...] = (
    *(Series(), Objects(), CurveQuantiles(), Quantiles(), Costs(), LevelSets(), Codes(), Field()),
    *(Classes(), Scores(), Curves(), Number()),
)


def explored_kind(estimator: Any) -> Kind | None:
    """Return the kind that shows a model; None where there is none yet."""
    return next((kind for kind in EXPLORED_KINDS if kind.takes(estimator)), None)
