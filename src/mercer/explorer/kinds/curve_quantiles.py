"""Quantiles of curves: every level at every point, for a row or for inputs that one chooses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.backend import to_numpy
from mercer.estimators import FunctionalQuantileRegressor
from mercer.estimators.delegation import reach
from mercer.exceptions import UnsupportedError
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, reliability
from mercer.explorer.packing import packed, rounded
from mercer.explorer.subject import Handles, Subject
from mercer.plotting.residuals import compare_curves

__all__ = ["CurveQuantiles"]

#: levels that can be chosen, points of a curve, and rows that can be chosen
FAN_LEVELS = np.array([0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99])
POINTS_OF_FANS, ROWS_OF_FANS = 31, 60
#: levels of the interval that is judged along the curve
JUDGED = (0.05, 0.95)


class CurveQuantiles(Kind):
    """Every level at every point of a curve."""

    title = "Quantiles of {target}"

    def takes(self, estimator: Any) -> bool:
        inner = estimator
        while hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        return isinstance(inner, FunctionalQuantileRegressor)

    def show(self, subject: Subject) -> Exhibit:
        model, _ = reach(subject.estimator, subject.rows, "predict_quantile")
        grid = np.asarray(to_numpy(model.grid_), dtype=float)
        if grid.ndim == 2 and grid.shape[1] > 1:
            raise UnsupportedError("explore draws quantiles of curves over a line; those over domains have no page.")
        grid, L = grid.reshape(-1), len(FAN_LEVELS)
        kept = np.unique(np.linspace(0, len(grid) - 1, POINTS_OF_FANS).round().astype(int))

        def predict(rows: Any) -> np.ndarray:
            found = subject.ask("predict_quantile", rows, FAN_LEVELS)[:, kept]
            return found.reshape(len(found), -1)

        handles = Handles(subject, lambda rows: subject.ask("predict", rows).reshape(-1, len(grid)))
        panels = effect_bars(handles, "the median at some point")
        handles.predict = predict
        chosen = subject.drawn[np.unique(np.linspace(0, len(subject.drawn) - 1, ROWS_OF_FANS).round().astype(int))]
        held = handles.held()
        data: dict[str, Any] = {
            "levels": rounded(FAN_LEVELS),
            "start": int(np.argmin(np.abs(FAN_LEVELS - 0.9))),
            "points": rounded(grid[kept]),
            "target": subject.target or "y",
            "handles": handles.described(2),
            "held": packed(held.reshape(*held.shape[:-1], len(kept), L)) if held.size else None,
            "rows": [int(row) for row in subject.judged[chosen]],
            "predicted": packed(predict(_safe_indexing(subject.rows, chosen)).reshape(len(chosen), len(kept), L)),
        }
        if subject.observed is not None:
            seen = compare_curves("explore", subject.estimator, subject.rows, subject.observed).observed
            data["observed"] = [{"t": rounded(seen[i][0][:, 0], 5), "y": rounded(seen[i][1][:, 0], 5)} for i in chosen]
            panels = [*_judged(subject, grid, seen), *panels]
        return Exhibit("curvefan", data, panels)


def _judged(subject: Subject, grid: np.ndarray, seen: list) -> list[dict[str, Any]]:
    """Return panels on shares of values below each level, at all points and along the curve."""
    predicted = subject.ask("predict_quantile", subject.rows, FAN_LEVELS)
    found = list(_below(grid, predicted, seen))
    t, below = np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])
    text = "Shares of values below their quantiles. The band is that of as many curves: values of one hang together."
    low, high = (int(np.argmin(np.abs(FAN_LEVELS - level))) for level in JUDGED)
    inside = below[:, high] & ~below[:, low]
    parts = np.array_split(np.argsort(t, kind="stable"), min(20, len(np.unique(t))))
    return [
        reliability(
            "Are levels what they say?",
            text,
            FAN_LEVELS,
            below.mean(axis=0),
            len(seen),
            ("level θ", "share of values below"),
        ),
        {
            "panel": "lines",
            "title": "Do intervals hold along the curve?",
            "text": "The share of values between the 5 and the 95 % quantile.",
            "x": rounded([t[part].mean() for part in parts]),
            "names": ["point", "share inside"],
            "lines": [
                {"name": "observed", "y": rounded([inside[part].mean() for part in parts]), "ink": "blue"},
                {"name": "nominal", "y": [JUDGED[1] - JUDGED[0]] * len(parts), "ink": "soft", "dash": True},
            ],
            "limits": [0, 1],
        },
    ]


def _below(grid: np.ndarray, predicted: np.ndarray, seen: list) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the points of each curve, and whether its values are below each quantile there, straight between points."""
    for functions, (points, values) in zip(predicted, seen, strict=True):
        t, y = points[:, 0], values[:, 0]
        there = np.isfinite(y)
        quantiles = np.stack([np.interp(t[there], grid, column) for column in functions.T], axis=1)
        yield t[there], y[there, None] <= quantiles
