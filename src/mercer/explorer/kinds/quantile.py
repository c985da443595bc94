"""Quantiles: a fan along a column, the quantile function at a point of it, and whether levels are what they say."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, histogram, reliability, scatter
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject, share_within
from mercer.quantile_function import QuantileFunction

__all__ = ["Quantiles"]

#: levels that can be chosen
MOVED_LEVELS = np.concatenate([[0.01], np.arange(1, 40) / 40, [0.99]])


class Quantiles(Kind):
    """Every quantile of a number."""

    title = "Quantiles of {target}"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "predict_quantile")

    def show(self, subject: Subject) -> Exhibit:
        levels = _levels(subject)

        def predict(rows: Any) -> np.ndarray:
            return subject.ask("predict_quantile", rows, levels)

        handles = Handles(subject, lambda rows: predict(rows)[:, [len(levels) // 2]])
        panels = effect_bars(handles, "the predicted median")
        handles.predict = predict
        count = handles.resolution(len(levels))
        data: dict[str, Any] = {
            "levels": rounded(levels),
            "start": int(np.argmin(np.abs(levels - 0.9))),
            "target": subject.target or "y",
            "handles": handles.described(count),
            "slices": handles.slices(count),
        }
        if subject.observed is not None:
            y = np.asarray(subject.observed, dtype=float)
            predicted = predict(subject.rows)
            data |= _rows(subject, y, predicted)
            panels = [*_judged(y, levels, predicted, data["target"]), *panels]
        return Exhibit("fan", data, panels)


def _levels(subject: Subject) -> np.ndarray:
    """Return the levels that the model predicts: few rows of a calibration leave out the outer ones."""
    model, _ = reach(subject.estimator, subject.rows, "predict_quantile")
    n = getattr(model, "n_calibration_", None)
    lowest = 0.0 if n is None else 1 / (n + 1)
    return MOVED_LEVELS[(lowest <= MOVED_LEVELS) & (1 - lowest >= MOVED_LEVELS) | (MOVED_LEVELS == 0.5)]


def _rows(subject: Subject, y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Return the drawn rows, how many quantiles each is above, and the shares below each quantile."""
    above = np.sum(y[subject.drawn, None] > predicted[subject.drawn], axis=1)
    below = share_within(y[:, None] <= predicted)
    return {"y": rounded(y[subject.drawn], 5), "above": above.tolist(), "below": below, "n": len(y)}


def _judged(y: np.ndarray, levels: np.ndarray, predicted: np.ndarray, target: str) -> list[dict[str, Any]]:
    observed, median = np.mean(y[:, None] <= predicted, axis=0), predicted[:, len(levels) // 2]
    pit = np.asarray(QuantileFunction(levels, predicted).cdf(y))
    drawn = np.unique(np.linspace(0, len(y) - 1, 400).round().astype(int))
    text = (
        "On the diagonal quantiles hold the share that they say; in the band lie 95 % of calibrated models, at each θ."
    )
    return [
        reliability("Are levels what they say?", text, levels, observed, len(y), ("level θ", "share of rows below")),
        histogram(
            "Where rows lie in their distributions",
            "Flat if calibrated; a hump says too wide, a valley too narrow, a slope biased.",
            pit,
            f"predicted level of {target}",
            (0.0, 1.0),
            even=True,
        ),
        scatter(
            "What the median leaves",
            "Differences from the predicted median. No trend should be left.",
            median[drawn],
            (y - median)[drawn],
            ("predicted median", f"{target} less the median"),
            "zero",
        ),
    ]
