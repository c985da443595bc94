"""Curves, vectors and classes: predictions at all θ of a row, or of inputs that one chooses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.exceptions import MercerError
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, histogram, require_numbers, scatter
from mercer.explorer.packing import packed, rounded
from mercer.explorer.subject import Handles, Subject
from mercer.plotting.residuals import CurveComparison, compare_curves

__all__ = ["Curves"]

#: rows that can be chosen, points of a curve, and components of curves in R^p
ROWS_SHOWN, POINTS_SHOWN, COMPONENTS_SHOWN = 60, 121, 4
#: what bands hold
BAND_COVERAGE = 0.9


class Curves(Kind):
    """Whole curves, and vectors."""

    title = "Predicted {target}"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "predict_at") or _is_vector(estimator)

    def show(self, subject: Subject) -> Exhibit:
        require_numbers(subject)
        grid, names = _where(subject)
        kept = np.unique(np.linspace(0, len(grid) - 1, POINTS_SHOWN).round().astype(int)) if names is None else ...

        def predict(rows: Any) -> np.ndarray:
            values = subject.ask("predict", rows)
            stacked = values.reshape(len(values), len(grid), -1)[:, kept, :COMPONENTS_SHOWN]
            return stacked.transpose(0, 2, 1).reshape(len(values), -1)

        m = len(grid[kept])
        handles = Handles(subject, predict)
        chosen = subject.drawn[np.unique(np.linspace(0, len(subject.drawn) - 1, ROWS_SHOWN).round().astype(int))]
        rows = _safe_indexing(subject.rows, chosen)
        predicted = predict(rows).reshape(len(chosen), -1, m)
        held = handles.held()
        data: dict[str, Any] = {
            "points": rounded(grid[kept]),
            "names": names,
            "target": subject.target or "y",
            "handles": handles.described(2),
            "held": packed(held.reshape(*held.shape[:-1], -1, m)) if held.size else None,
            "rows": [int(row) for row in subject.judged[chosen]],
            "predicted": packed(predicted),
        }
        if offers(subject.estimator, "prediction_band"):
            band = subject.ask("prediction_band", rows, BAND_COVERAGE).reshape(len(chosen), len(grid), -1, 2)
            band = band[:, kept, :COMPONENTS_SHOWN].transpose(0, 2, 1, 3)
            data |= {"band": packed(band), "coverage": BAND_COVERAGE}
        panels = effect_bars(handles, "a value of the curve" if names is None else "an output")
        if subject.observed is not None:
            there = _seen(subject.observed)
            rows, seen = (_safe_indexing(each, there) for each in (subject.rows, subject.observed))
            comparison = compare_curves("explore", subject.estimator, rows, seen)
            places = {int(row): place for place, row in enumerate(there)}
            data["observed"] = [_observed(comparison, places.get(int(i))) for i in chosen]
            panels = [*_judged(comparison, names), *panels]
        return Exhibit("curves", data, panels)


def _is_vector(estimator: Any) -> bool:
    inner = estimator
    while hasattr(inner, "steps"):
        inner = inner.steps[-1][1]
    return (
        hasattr(inner, "intercept_") and np.ndim(to_numpy(inner.intercept_)) == 1 and hasattr(inner, "output_kernel_")
    )


def _where(subject: Subject) -> tuple[np.ndarray, list[str] | None]:
    """Return the points of predictions; their numbers and names where they are components of vectors."""
    first = subject.ask("predict", _safe_indexing(subject.rows, np.arange(1)))
    method = "predict_at" if offers(subject.estimator, "predict_at") else "predict"
    model, _ = reach(subject.estimator, subject.rows, method)
    grid = getattr(model, "grid_", None)
    if method == "predict_at" and grid is not None:
        grid = np.asarray(to_numpy(grid), dtype=float)
        if grid.ndim == 2 and grid.shape[1] > 1:
            raise MercerError(
                "explore draws curves over a line; functions of several variables are drawn by CurvesDisplay."
            )
        return grid.reshape(-1), None
    if first.ndim == 1:
        first = first[:, None]
    given = getattr(subject.y, "columns", None)
    names = [str(name) for name in given] if given is not None else [f"output {j}" for j in range(first.shape[1])]
    return np.arange(float(first.shape[1])), names


def _seen(observed: Any) -> np.ndarray:
    """Return the rows of which something was observed."""
    if isinstance(observed, Sequence):  # curves at points of their own
        return np.arange(len(observed))
    values = np.asarray(to_numpy(getattr(observed, "data_matrix", getattr(observed, "values", observed))), dtype=float)
    return np.flatnonzero(np.isfinite(values.reshape(len(observed), -1)).any(axis=1))


def _observed(comparison: CurveComparison, i: int | None) -> dict[str, Any] | None:
    if i is None:
        return None
    points, values = comparison.observed[i]
    return {"t": rounded(points[:, 0], 5), "y": rounded(values[:, :COMPONENTS_SHOWN].T, 5)}


def _judged(comparison: CurveComparison, names: list[str] | None) -> list[dict[str, Any]]:
    """Return panels on residuals: of rows, and along θ."""
    where = np.concatenate([points[:, 0] for points, _ in comparison.observed])
    left = np.concatenate([np.linalg.norm(each, axis=1) for each in comparison.residuals])
    signed = np.concatenate([each[:, 0] for each in comparison.residuals])
    seen = np.concatenate([values[:, 0] for _, values in comparison.observed])
    panels = [
        histogram(
            "How far off each row is",
            "Root mean square of what the prediction leaves, over what was observed of a row.",
            comparison.errors,
            "root mean square residual",
        )
    ]
    centres, groups = _grouped(where)
    if len(centres) > 1:
        size = [np.sqrt(np.mean(left[groups == k] ** 2)) for k in range(len(centres))]
        line = {"name": "residual", "y": rounded(size), "ink": "blue"}
        panels.append(
            {
                "panel": "lines",
                "title": "Where in θ it is off",
                "text": "Root mean square of the residuals of all rows at each θ.",
                "x": rounded(centres),
                "labels": names,
                "names": ["output" if names else "θ", "root mean square residual"],
                "lines": [line],
                "limits": [0, None],
                "theta": True,
            }
        )
    drawn = np.unique(np.linspace(0, len(seen) - 1, 400).round().astype(int))
    panels.append(
        scatter(
            "Observed against predicted",
            "Single values, evenly spaced among all; on the diagonal if they agree.",
            (seen - signed)[drawn],
            seen[drawn],
            ("predicted", "observed"),
            "diagonal",
        )
    )
    return panels


def _grouped(where: np.ndarray, most: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return points and which of them each observation belongs to: the different ones, or means of neighbours."""
    points, groups = np.unique(where, return_inverse=True)
    if len(points) <= most:
        return points, groups
    edges = np.quantile(where, np.linspace(0, 1, 21)[1:-1])
    groups = np.unique(np.searchsorted(edges, where), return_inverse=True)[1]
    return np.array([where[groups == k].mean() for k in range(groups.max() + 1)]), groups
