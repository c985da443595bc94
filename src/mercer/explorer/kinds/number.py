"""One number, and probabilities of several classes: predictions along a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, histogram, require_numbers, scatter
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject

__all__ = ["Classes", "Number"]


class Classes(Kind):
    """Probabilities of several classes."""

    title = "Probabilities of {target}"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "predict_proba")

    def show(self, subject: Subject) -> Exhibit:
        model, _ = reach(subject.estimator, subject.rows, "predict_proba")
        names = [str(label) for label in to_numpy(model.classes_)]
        data, handles = _along(subject, lambda rows: subject.ask("predict_proba", rows))
        data |= {"lines": names, "limits": [0, 1], "target": "probability"}
        panels = effect_bars(handles, "a probability")
        if subject.observed is not None:
            seen = np.asarray(to_numpy(subject.observed)).astype(str)
            called = np.asarray(subject.ask("predict", subject.rows)).astype(str)
            counts = [[int(np.sum((seen == one) & (called == other))) for other in names] for one in names]
            text = "Rows by what they are (down) and what they are called (across)."
            panels.insert(
                0, {"panel": "counts", "title": "Right and wrong", "text": text, "names": names, "counts": counts}
            )
        return Exhibit("lines", data, panels)


class Number(Kind):
    """One number for each row."""

    title = "Predicted {target}"

    def takes(self, estimator: Any) -> bool:
        return offers(estimator, "predict")

    def show(self, subject: Subject) -> Exhibit:
        require_numbers(subject)

        def predict(rows: Any) -> np.ndarray:
            return subject.ask("predict", rows).reshape(len(rows), -1).astype(float)

        data, handles = _along(subject, predict)
        target = subject.target or "y"
        data |= {"lines": [target], "limits": None, "target": target}
        panels = effect_bars(handles, "the prediction")
        if subject.observed is not None:
            y, found = np.asarray(subject.observed, dtype=float), predict(subject.rows)[:, 0]
            data["y"] = rounded(y[subject.drawn], 5)
            panels = [
                scatter("Residuals", "No trend should be left.", found, y - found, ("predicted", "residual"), "zero"),
                histogram("Sizes of residuals", "Observed less predicted.", y - found, "residual"),
                *panels,
            ]
        return Exhibit("lines", data, panels)


def _along(subject: Subject, predict: Any) -> tuple[dict[str, Any], Handles]:
    handles = Handles(subject, predict)
    width = predict(subject.rows[:1]).shape[1]
    count = handles.resolution(width)
    return {"handles": handles.described(count), "slices": handles.slices(count)}, handles
