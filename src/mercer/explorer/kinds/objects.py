"""Objects as outputs: the candidates that a row ranks first, and where the truth is among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.backend import to_numpy
from mercer.estimators import ConformalCandidates
from mercer.estimators.delegation import offers, reach
from mercer.explorer.kinds.base import Exhibit, Kind, effect_bars, reliability
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject

__all__ = ["Objects", "texts_of"]

#: candidates that are shown of each row, rows that can be chosen, and places up to which the truth is counted
RANKED, ROWS_RANKED, PLACES_COUNTED = 10, 60, 20
#: candidates whose scores say how far a column moves them, and characters of a name
MOST_CANDIDATES, LONGEST_NAME = 60, 48
#: coverages of sets that are looked at
COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


class Objects(Kind):
    """Label sets, strings, graphs and other objects."""

    title = "Candidates for {target}"

    def takes(self, estimator: Any) -> bool:
        return offers(_scorer(estimator), "score_candidates")

    def show(self, subject: Subject) -> Exhibit:
        conformal = subject.estimator if isinstance(subject.estimator, ConformalCandidates) else None
        subject = replace(subject, estimator=_scorer(subject.estimator))
        model, _ = reach(subject.estimator, subject.rows, "score_candidates")
        columns = getattr(subject.y, "columns", None)
        names = texts_of(model.candidates_.objects, columns)
        few = np.unique(np.linspace(0, len(names) - 1, MOST_CANDIDATES).round().astype(int))
        k = min(RANKED, len(names))

        def scores(rows: Any) -> np.ndarray:
            return subject.ask("score_candidates", rows)

        def best(rows: Any) -> np.ndarray:
            found = scores(rows)
            order = np.argsort(-found, axis=1, kind="stable")[:, :k]
            return np.hstack([order, np.take_along_axis(found, order, axis=1)])

        handles = Handles(subject, lambda rows: scores(rows)[:, few])
        panels = effect_bars(handles, "a score")
        handles.predict = best
        chosen = subject.drawn[np.unique(np.linspace(0, len(subject.drawn) - 1, ROWS_RANKED).round().astype(int))]
        found, held = best(_safe_indexing(subject.rows, chosen)), handles.held()
        shown = np.unique(np.concatenate([found[:, :k].ravel(), held[..., :k].ravel()])).astype(int)
        place = np.zeros(len(names), dtype=int)
        place[shown] = np.arange(len(shown))
        data: dict[str, Any] = {
            "names": [names[j] for j in shown],
            "total": len(names),
            "handles": handles.described(2),
            "rows": [int(row) for row in subject.judged[chosen]],
            "best": place[found[:, :k].astype(int)].tolist(),
            "scores": rounded(found[:, k:], 5),
            "heldShape": list(held.shape[:-1]) if held.size else None,
            "heldBest": place[held[..., :k].astype(int)].reshape(-1, k).tolist() if held.size else None,
            "heldScores": rounded(held[..., k:].reshape(-1, k), 5) if held.size else None,
            "target": subject.target or "the object",
        }
        if subject.observed is not None:
            ranks = subject.ask("truth_rank", subject.rows, subject.observed)
            data["truth"] = texts_of(_safe_indexing(subject.observed, chosen), columns)
            data["ranks"] = rounded(ranks[chosen])
            panels = [_judged(ranks, len(names)), *panels]
            if conformal is not None:
                misfits = subject.ask("misfit", subject.rows, subject.observed)
                panels = [_coverage(conformal.misfits_, misfits), *panels]
        return Exhibit("candidates", data, panels)


def _judged(ranks: np.ndarray, total: int) -> dict[str, Any]:
    places = np.arange(1, min(PLACES_COUNTED, total) + 1)
    return {
        "panel": "lines",
        "title": "How far down the truth is",
        "text": f"The share of rows whose true object is among the best k of {total} candidates; dashed, by chance.",
        "x": places.tolist(),
        "names": ["k", "share of rows"],
        "lines": [
            {"name": "this model", "y": rounded([np.mean(ranks <= k) for k in places]), "ink": "blue"},
            {"name": "by chance", "y": rounded(places / total), "ink": "soft", "dash": True},
        ],
        "limits": [0, 1],
    }


def _scorer(estimator: Any) -> Any:
    """Return what scores candidates: the regression within sets that cover."""
    return getattr(estimator, "estimator_", estimator) if isinstance(estimator, ConformalCandidates) else estimator


def _coverage(calibrating: np.ndarray, misfits: np.ndarray) -> dict[str, Any]:
    """Return a panel of how often sets of candidates hold the truth: it is in all sets of at least its rank."""
    rank = 1 + np.searchsorted(calibrating, misfits)
    levels = [level for level in COVERAGES if level * (len(calibrating) + 1) <= len(calibrating)]
    observed = [np.mean(rank <= np.ceil((len(calibrating) + 1) * level)) for level in levels]
    text = "On the diagonal sets of candidates hold what they say; in the band lie 95 % of calibrated models, at each."
    names = ("coverage asked for", "share of rows whose truth is held")
    return reliability("Do sets hold what they say?", text, levels, observed, len(misfits), names)


def texts_of(objects: Any, columns: Any = None) -> list[str]:
    """Return objects as a person would name them; label vectors by the names of their labels.

    Examples
    --------
    >>> texts_of(np.array([[1, 0, 1], [0, 0, 0]]), ["sea", "sky", "sun"])
    ['sea, sun', 'none']
    >>> texts_of(["CCO", {2, 1}, (0.5, 0.25)])
    ['CCO', '1, 2', '0.5, 0.25']
    """
    values = objects if isinstance(objects, (list, tuple)) else to_numpy(getattr(objects, "values", objects))
    if isinstance(values, np.ndarray) and values.ndim == 2 and np.isin(values, (0, 1)).all():
        labels = [str(name) for name in (columns if columns is not None else range(values.shape[1]))]
        return [", ".join(label for label, there in zip(labels, row, strict=True) if there) or "none" for row in values]
    return [_text(one) for one in values]


def _text(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        text = ", ".join(sorted(map(str, value))) or "none"
    elif isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, str):
        text = ", ".join(f"{one:.3g}" if isinstance(one, (float, np.floating)) else str(one) for one in value)
    elif isinstance(value, Mapping):
        text = ", ".join(f"{key}: {one}" for key, one in value.items())
    else:
        text = f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"
