"""Detectors of outliers by a score: what lies below any share of the scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import MOST_BARS, Exhibit, Kind, effect_bars, histogram
from mercer.explorer.kinds.levels import SHOWN_FRACTIONS
from mercer.explorer.kinds.regions import regions
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject, share_within

__all__ = ["Scores"]


class Scores(Kind):
    """How usual rows are, with a threshold that leaves out any share of those given."""

    title = "What is usual"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "score_samples")

    def show(self, subject: Subject) -> Exhibit:
        own = subject.ask("score_samples", subject.rows)
        thresholds = np.quantile(own, SHOWN_FRACTIONS)

        def predict(rows: Any) -> np.ndarray:
            return subject.ask("score_samples", rows)[:, None] - thresholds

        handles = Handles(subject, predict)
        data = regions(subject, handles, SHOWN_FRACTIONS, start=0.1, what="level")
        data |= {"outside": share_within(predict(subject.rows) < 0), "n": len(own)}
        text = "Small scores are anomalies. The threshold at θ is the score below which a share θ of these rows lies."
        panels = [histogram("Scores", text, own, "score"), *_importances(subject), *effect_bars(handles, "the score")]
        return Exhibit("regions", data, panels)


def _importances(subject: Subject) -> list[dict[str, Any]]:
    """Return a panel on the columns by which a forest tells outliers, where the model is one."""
    model, _ = reach(subject.estimator, subject.rows, "score_samples")
    shares = getattr(model, "feature_importances_", None)
    if shares is None or subject.table is None or len(shares) != len(subject.table.columns):
        return []
    order = np.argsort(-to_numpy(shares), kind="stable")[:MOST_BARS]
    drawn = {"names": [subject.table.columns[j].name for j in order], "values": rounded(to_numpy(shares)[order])}
    text = "The share of what the splits of the trees gain that each column has."
    return [{"panel": "bars", "title": "Which columns split", "text": text, **drawn}]
