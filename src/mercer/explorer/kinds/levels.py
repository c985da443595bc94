"""Level sets: regions that leave out any fraction of the rows, and scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.estimators import LevelSetDetector
from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, histogram, reliability
from mercer.explorer.kinds.regions import regions
from mercer.explorer.subject import Handles, Subject, share_within

__all__ = ["LevelSets"]

#: fractions of outliers that can be chosen
SHOWN_FRACTIONS = np.array([0.01, 0.02, 0.05, 0.075, *(np.arange(2, 20) / 20)])


class LevelSets(Kind):
    """What is usual, at every fraction of outliers."""

    title = "What is usual"

    def takes(self, estimator: Any) -> bool:
        if not (offers(estimator, "score_samples") and offers(estimator, "predict_at")):
            return False
        inner = estimator
        while not isinstance(inner, LevelSetDetector) and hasattr(inner, "steps"):
            inner = inner.steps[-1][1]
        return isinstance(inner, LevelSetDetector)

    def show(self, subject: Subject) -> Exhibit:
        model, _ = reach(subject.estimator, subject.rows, "score_samples")
        trained = np.unique(np.asarray(model.measure_.locations, dtype=float))
        near = [np.min(np.abs(trained - level)) < 0.05 for level in SHOWN_FRACTIONS]
        levels = SHOWN_FRACTIONS[near] if len(trained) > 1 else trained

        def predict(rows: Any) -> np.ndarray:
            return subject.ask("predict_at", rows, levels)

        handles = Handles(subject, predict)
        data = regions(subject, handles, levels, start=0.1, what="level")
        outside = predict(subject.rows) < 0
        score = subject.ask("score_samples", subject.rows)
        data |= {"outside": share_within(outside), "n": len(outside)}
        panels = [
            reliability(
                "Are fractions what they say?",
                "New rows lie outside as often as θ says; rows of the fit more rarely: the regions were made for them.",
                levels,
                np.mean(outside, axis=0),
                len(outside),
                ("fraction of outliers θ", "share of rows outside"),
            ),
            histogram(
                "Scores", "The largest θ at which a row is still inside: small scores are anomalies.", score, "score"
            )
            | {"theta": True},
            *effect_bars(handles, "the margin"),
        ]
        return Exhibit("regions", data, panels)
