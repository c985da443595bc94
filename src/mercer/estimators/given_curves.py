"""Curves that are read once, for those who also hand them on as they were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators.grid_curves import check_rows_observed
from mercer.estimators.outputs import Outputs

__all__ = ["GivenCurves"]


@dataclass(frozen=True, eq=False)
class GivenCurves:
    """Curves as they are compared, ``outputs``, and as the base estimator gets them.

    ``given`` are those of another library, whose rows are taken as it does; None for what mercer reads by itself.
    """

    outputs: Outputs
    given: Any

    def __len__(self) -> int:
        return len(self.outputs)

    def take(self, rows: np.ndarray) -> GivenCurves:
        """Return some of the curves."""
        return GivenCurves(self.outputs.take(rows), None if self.given is None else self.given[rows])

    def for_base(self) -> Any:
        """Return an array, or a list of (points, values, weights), or curves of another library."""
        return self.outputs.as_given() if self.given is None else self.given

    def check_observed(self, name: str, weight: np.ndarray | None) -> None:
        """Refuse curves of positive weight without an observation, which have no score."""
        if self.outputs.on_grid:
            missing = np.all(np.isnan(self.outputs.values), axis=1)
            check_rows_observed(name, missing if weight is None else missing & (weight > 0))
