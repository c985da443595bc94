"""What costs and level sets share: where a function of inputs and θ is positive, over a plane or along a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject

__all__ = ["regions"]

#: how far a plane goes beyond the rows, as a share of their range
MARGIN_OF_MAPS = 0.05


def regions(subject: Subject, handles: Handles, levels: np.ndarray, *, start: float, what: str) -> dict[str, Any]:
    """Return decisions at each level over pairs of columns, or along one, and at the drawn rows.

    Predictions of the handles are those at the levels, positive inside, and perhaps one more, which is shown as shades.
    """
    shaded = 1 if what == "cost" else 0
    width, plane = len(levels) + shaded, sum(column.ordered for column in handles.columns) > 1
    count = handles.resolution(width, 2 if plane else 1)
    rows = handles.predict(subject.rows)[subject.drawn, : len(levels)] >= 0
    return {
        "what": what,
        "levels": rounded(levels),
        "start": int(np.argmin(np.abs(levels - start))),
        "shaded": bool(shaded),
        "handles": handles.described(count, MARGIN_OF_MAPS if plane else 0.0),
        "plane": plane,
        "slices": handles.maps(count, MARGIN_OF_MAPS) if plane else handles.slices(count),
        "inside": ["".join("1" if one else "0" for one in row) for row in rows],
        "target": subject.target,
    }
