"""What a kind of model shows: the view that θ and the inputs move, and panels on how well it does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom
from sklearn.utils import _safe_indexing

from mercer.exceptions import UnsupportedError
from mercer.explorer.packing import rounded
from mercer.explorer.subject import Handles, Subject

__all__ = ["Exhibit", "Kind", "effect_bars", "histogram", "reliability", "require_numbers", "scatter"]

#: bars of a histogram, and columns that are compared
BINS, MOST_BARS = 20, 12


class Exhibit(NamedTuple):
    """What is shown.

    Attributes
    ----------
    view : str
        The script that draws it, in ``assets``.
    data : dict
        What the script is given.
    panels : list of dict
        Pictures beside it, with their kind.
    """

    view: str
    data: dict[str, Any]
    panels: list[dict[str, Any]]


class Kind(ABC):
    """A kind of model, and what a page shows of it."""

    #: what the page is about, for its title: "Quantiles of {target}"
    title: str

    @abstractmethod
    def takes(self, estimator: Any) -> bool:
        """Say whether an estimator, perhaps a wrapped one, is of this kind."""

    @abstractmethod
    def show(self, subject: Subject) -> Exhibit:
        """Return what the page shows."""


def require_numbers(subject: Subject) -> None:
    """Refuse models that predict words, sets, graphs and other objects, which no page draws yet."""
    try:
        kind = subject.ask("predict", _safe_indexing(subject.rows, [0])).dtype.kind
    except (TypeError, ValueError):  # objects that make no array
        kind = "O"
    if kind not in "biuf":
        name = type(subject.estimator).__name__
        raise UnsupportedError(
            f"explore: {name} predicts objects; there are pages of numbers, classes, quantiles, curves and fields only."
        )


def reliability(title: str, text: str, levels: Any, observed: Any, n: int, names: tuple[str, str]) -> dict[str, Any]:
    """Return a panel of observed shares against nominal ones, with the range of 95 % of them if all is well."""
    levels = np.asarray(levels, dtype=float)
    low, high = binom.ppf([[0.025], [0.975]], n, levels[None, :]) / n
    shown = {"levels": rounded(levels), "observed": rounded(observed), "low": rounded(low), "high": rounded(high)}
    return {"panel": "reliability", "title": title, "text": text, "names": list(names), **shown}


def histogram(
    title: str, text: str, values: Any, name: str, limits: tuple[float, float] | None = None, even: bool = False
) -> dict[str, Any]:
    """Return a panel of a histogram; ``even`` draws what it would be if all values were as likely."""
    values = np.asarray(values, dtype=float)
    counts, edges = np.histogram(values[np.isfinite(values)], bins=BINS if even else "auto", range=limits)
    if len(counts) > 2 * BINS:
        counts, edges = np.histogram(values[np.isfinite(values)], bins=2 * BINS, range=limits)
    drawn = {"counts": counts.tolist(), "edges": rounded(edges)}
    if even:
        drawn["expected"] = rounded(counts.sum() / len(counts))
        drawn["range"] = rounded(binom.ppf([0.025, 0.975], counts.sum(), 1 / len(counts)))
    return {"panel": "histogram", "title": title, "text": text, "name": name, **drawn}


def scatter(title: str, text: str, x: Any, y: Any, names: tuple[str, str], line: str) -> dict[str, Any]:
    """Return a panel of points; ``line`` is "zero" or "diagonal", where they would like to be."""
    return {
        "panel": "scatter",
        "title": title,
        "text": text,
        "x": rounded(x, 5),
        "y": rounded(y, 5),
        "names": list(names),
        "line": line,
    }


def effect_bars(handles: Handles, what: str) -> list[dict[str, Any]]:
    """Return a panel on how far predictions move along each column; none where nothing can be moved."""
    bars = handles.bars()
    if len(bars) < 2:
        return []
    text = f"How far {what} moves, at most, when one column goes through its values and the others stay typical."
    if len(bars) > MOST_BARS:
        text += f" The largest {MOST_BARS} of {len(bars)}."
    bars = bars[:MOST_BARS]
    drawn = {"names": [name for name, _ in bars], "values": rounded([value for _, value in bars])}
    return [{"panel": "bars", "title": "Which columns matter", "text": text, **drawn}]
