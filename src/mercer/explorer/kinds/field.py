"""Vector fields in the plane: arrows, a streamline through a place, sources and rotation as shades."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators import VectorFieldRegressor
from mercer.estimators.delegation import reach
from mercer.explorer.kinds.base import Exhibit, Kind, histogram, scatter
from mercer.explorer.packing import packed, rounded
from mercer.explorer.slices import Column
from mercer.explorer.subject import Subject

__all__ = ["Field"]

#: arrows along each axis, and how far beyond the rows the plane goes
SIDE, MARGIN_SHARE = 25, 0.06


class Field(Kind):
    """A vector at each position of the plane."""

    title = "Vector field"

    def takes(self, estimator: Any) -> bool:
        inner = estimator
        while hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        return isinstance(inner, VectorFieldRegressor) and getattr(inner, "n_features_in_", 0) == 2

    def show(self, subject: Subject) -> Exhibit:
        table = subject.table
        assert table is not None
        axes = [_extended(column) for column in table.columns]
        rows = table.product(table.columns, axes)  # the second coordinate the fastest

        def of(method: str) -> np.ndarray:
            return subject.ask(method, rows).reshape(SIDE, SIDE, -1)

        model, inner = reach(subject.estimator, rows, "parts")
        fields = {"the whole field": of("predict")}
        parts = [np.asarray(part).reshape(SIDE, SIDE, 2) for part in model.parts(inner)]
        if all(np.ptp(part) > 1e-9 * np.ptp(fields["the whole field"]) for part in parts[:2]):
            fields |= {"the part without rotation": parts[0], "the part without sources": parts[1]}
        shades = {"nothing": None, "divergence": of("divergence")[..., 0], "curl": of("curl")[..., 0]}
        data: dict[str, Any] = {
            "names": [column.name for column in table.columns],
            "x": rounded(axes[0]),
            "y": rounded(axes[1]),
            "fields": [{"name": name, "values": packed(field)} for name, field in fields.items()],
            "shades": [
                {"name": name, "values": None if field is None else packed(field)} for name, field in shades.items()
            ],
            "rows": rounded([column.cells[subject.judged[subject.drawn]] for column in table.columns], 5),
            "vectors": None,
        }
        panels = []
        if subject.observed is not None:
            seen = np.asarray(subject.observed, dtype=float)
            left = seen - subject.ask("predict", subject.rows)
            data["vectors"] = rounded(seen[subject.drawn].T, 5)
            for j, name in enumerate(getattr(subject.y, "columns", ["first component", "second component"])):
                panels.append(
                    scatter(
                        f"Residuals: {name}",
                        "Observed less predicted; no trend should be left.",
                        (seen - left)[subject.drawn, j],
                        left[subject.drawn, j],
                        ("predicted", "observed less predicted"),
                        "zero",
                    )
                )
            size = np.linalg.norm(left, axis=1)
            panels.append(histogram("How far off each row is", "Lengths of the residuals.", size, "length of residual"))
        return Exhibit("field", data, panels)


def _extended(column: Column) -> list[float]:
    low, high = np.min(column.cells), np.max(column.cells)
    margin = MARGIN_SHARE * (high - low)
    return np.linspace(low - margin, high + margin, SIDE).tolist()
