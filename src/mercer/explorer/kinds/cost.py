"""Costs: decisions over the inputs as the cost moves, and what they do to the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, histogram
from mercer.explorer.kinds.regions import regions
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject

__all__ = ["Costs"]

#: costs that can be chosen
SHOWN_COSTS = np.arange(1, 20) / 20
#: groups of predicted probabilities that are compared with shares
GROUPS = 10


class Costs(Kind):
    """Two classes, for every cost of errors."""

    title = "Decisions on {target} for every cost"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "operating_curve")

    def show(self, subject: Subject) -> Exhibit:
        model, _ = reach(subject.estimator, subject.rows[:1], "operating_curve")
        labels = to_numpy(model.classes_).tolist()
        place = labels.index(
            to_numpy(model.pos_label_).item() if hasattr(model.pos_label_, "item") else model.pos_label_
        )

        def probability(rows: Any) -> np.ndarray:
            return subject.ask("predict_proba", rows)[:, [place]]

        def predict(rows: Any) -> np.ndarray:
            return np.hstack([subject.ask("predict_at", rows, SHOWN_COSTS), probability(rows)])

        handles = Handles(subject, probability)
        names = [str(labels[1 - place]), str(labels[place])]
        data: dict[str, Any] = {"classes": names}
        panels = effect_bars(handles, f"the probability of {names[1]}")
        handles.predict = predict
        data |= regions(subject, handles, SHOWN_COSTS, start=0.5, what="cost")
        if subject.observed is not None:
            positive = np.asarray(to_numpy(subject.observed)).astype(object) == labels[place]
            found = predict(subject.rows)
            data |= {"label": positive[subject.drawn].astype(int).tolist(), "n": len(positive)}
            panels = [*_judged(data, found[:, :-1] >= 0, found[:, -1], positive, names), *panels]
        return Exhibit("regions", data, panels)


def _judged(data: dict, called: np.ndarray, p: np.ndarray, positive: np.ndarray, names: list[str]) -> list[dict]:
    """Return panels on errors at each cost and on probabilities; the shares of errors enter the data, too."""
    missed = np.mean(~called[positive], axis=0) if positive.any() else np.full(len(SHOWN_COSTS), np.nan)
    false = np.mean(called[~positive], axis=0) if (~positive).any() else np.full(len(SHOWN_COSTS), np.nan)
    data |= {"missed": rounded(missed), "false": rounded(false), "called": rounded(np.mean(called, axis=0))}
    share = np.mean(positive)
    cost = SHOWN_COSTS * share * missed + (1 - SHOWN_COSTS) * (1 - share) * false
    trivial = np.minimum(SHOWN_COSTS * share, (1 - SHOWN_COSTS) * (1 - share))
    edges = np.unique(np.quantile(p, np.arange(1, GROUPS) / GROUPS))
    group = np.searchsorted(edges, p, side="right")
    there = np.unique(group)
    means = [[np.mean(values[group == k]) for k in there] for values in (p, positive)]
    x = rounded(SHOWN_COSTS)
    return [
        {
            "panel": "lines",
            "title": "What is found as the cost moves",
            "text": f"The share of each class that is recognised. A high cost θ makes a missed {names[1]} dear.",
            "x": x,
            "names": [f"cost θ of a missed {names[1]}", "share recognised"],
            "lines": [
                {"name": names[1], "y": rounded(1 - missed), "ink": "orange"},
                {"name": names[0], "y": rounded(1 - false), "ink": "blue"},
            ],
            "limits": [0, 1],
            "theta": True,
        },
        {
            "panel": "lines",
            "title": "What errors cost",
            "text": "Mean cost of a row: θ for a miss, 1 − θ for a false alarm; against calling all rows the same.",
            "x": x,
            "names": ["cost θ", "mean cost of errors"],
            "lines": [
                {"name": "this model", "y": rounded(cost), "ink": "blue"},
                {"name": "one answer for all", "y": rounded(trivial), "ink": "soft", "dash": True},
            ],
            "limits": [0, None],
            "theta": True,
        },
        {
            "panel": "scatter",
            "title": "Are probabilities what they say?",
            "text": f"Rows in groups by their probability: the mean of it, and the share of {names[1]} in the group.",
            "x": rounded(means[0]),
            "y": rounded(means[1]),
            "names": [f"predicted probability of {names[1]}", f"share of {names[1]}"],
            "line": "diagonal",
            "joined": True,
        },
        histogram(
            "Predicted probabilities", "Sure decisions lie at the ends.", p, f"probability of {names[1]}", (0.0, 1.0)
        ),
    ]
