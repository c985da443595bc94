"""What a page is about: a fitted model, rows, what was observed of them, and how to predict other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.backend import to_numpy
from mercer.estimators.delegation import reach
from mercer.explorer.packing import packed, rounded
from mercer.explorer.slices import Column, Table, effects, handles_of, read_input_table

__all__ = ["Handles", "Subject", "share_within"]

#: rows whose predictions are compared with what was observed, and those of them that are drawn
ROWS_COMPARED, DRAWN_ROWS = 5000, 500
#: numbers of one kind that a page holds at most: with two bytes each in base64, 2.7 characters
MOST_NUMBERS = 70_000
#: points along a column
FINEST, COARSEST = 61, 13


@dataclass(frozen=True, eq=False)
class Subject:
    """A model and rows.

    Attributes
    ----------
    estimator : estimator
        Fitted, perhaps at the end of a pipeline.
    X : array, data frame or functions
        Rows.
    y : object or None
        What was observed of them, in the form that ``fit`` takes; None where nothing was.
    names : sequence of str or None
        Names of the columns of an array.
    target : str or None
        What is predicted.
    """

    estimator: Any
    X: Any
    y: Any
    names: Sequence[str] | None = None
    target: str | None = None

    @cached_property
    def n(self) -> int:
        """Number of rows."""
        if getattr(self.X, "shape", ()):
            return int(self.X.shape[0])
        return len(self.X if self.y is None else self.y)  # inputs may be a list of parts

    @cached_property
    def judged(self) -> np.ndarray:
        """Rows that are compared with what was observed: all, or evenly spaced ones of very many."""
        return _spread(self.n, ROWS_COMPARED)

    @cached_property
    def drawn(self) -> np.ndarray:
        """Places, among the judged rows, of those that are drawn."""
        return _spread(len(self.judged), DRAWN_ROWS)

    @cached_property
    def rows(self) -> Any:
        """The judged rows of X."""
        return self.X if len(self.judged) == self.n else _safe_indexing(self.X, self.judged)

    @cached_property
    def observed(self) -> Any:
        """What was observed of the judged rows, or None."""
        if self.y is None or len(self.judged) == self.n:
            return self.y
        return _safe_indexing(self.y, self.judged)

    @cached_property
    def table(self) -> Table | None:
        """The inputs as a table, None where they are none."""
        return read_input_table(self.X, self.names)

    def ask(self, method: str, rows: Any, *arguments: Any, **settings: Any) -> np.ndarray:
        """Return what a method of the model, or of the one that it wraps, says of rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # rows that were never observed may be far from all
            last, inner = reach(self.estimator, rows, method)
            found = getattr(last, method)(inner, *arguments, **settings)
            return np.asarray(to_numpy(getattr(found, "data_matrix", found)))  # curves of scikit-fda, too


class Handles:
    """Columns that are moved, and predictions on rows where they are.

    Parameters
    ----------
    subject : Subject
    predict : callable
        Of rows, (n, L) numbers.
    """

    def __init__(self, subject: Subject, predict: Callable[[Any], np.ndarray]) -> None:
        self.table, self.predict = subject.table, predict
        self.moved = np.empty(0) if self.table is None else effects(self.table, predict)
        self.columns: list[Column] = handles_of(self.table, self.moved)
        self.drawn = subject.judged[subject.drawn]

    def described(self, count: int, margin: float = 0.0) -> list[dict[str, Any]]:
        """Return the columns for the page: where they are moved to, held, and where the drawn rows lie."""
        return [self._described(column, column.fine(count, margin)) for column in self.columns]

    def _described(self, column: Column, fine: list[Any]) -> dict[str, Any]:
        held = column.held()
        cells = column.cells if column.kind == "category" else np.asarray(column.cells)[self.drawn]
        if column.kind == "category":
            at = [held.index(cells[i]) if cells[i] in held else None for i in self.drawn]
        else:
            at = rounded(cells)
        return {
            "name": column.name,
            "kind": column.kind,
            "ordered": column.ordered,
            "fine": _listed(column, fine),
            "held": _listed(column, held),
            "start": [_nearest(column, fine), _nearest(column, held)],
            "rows": at,
        }

    def resolution(self, width: int, n_axes: int = 1) -> int:
        """Return the number of points along an axis, so that all slices of predictions of some width fit on a page."""
        sizes = [len(column.held()) for column in self.columns]
        total = 0.0
        for axes in combinations(range(len(sizes)), min(n_axes, len(sizes))):
            total += width * float(np.prod([size for k, size in enumerate(sizes) if k not in axes]))
        most = (MOST_NUMBERS / max(total, 1.0)) ** (1 / n_axes)
        return int(np.clip(most, COARSEST, FINEST))

    def slices(self, count: int) -> list[dict[str, Any]]:
        """Return predictions along each column, (values of the others ..., count, L)."""
        return [self._along([k], count) for k in range(len(self.columns))]

    def maps(self, count: int, margin: float) -> list[dict[str, Any]]:
        """Return predictions over each pair of ordered columns, (values of the others ..., count, count, L)."""
        ordered = [k for k, column in enumerate(self.columns) if column.ordered]
        return [self._along(list(pair), count, margin) for pair in combinations(ordered, 2)]

    def held(self) -> np.ndarray:
        """Return predictions where all columns are held, (values ..., L)."""
        if self.table is None or not self.columns:
            return np.empty((0, 0))
        values = [column.held() for column in self.columns]
        found = self.predict(self.table.product(self.columns, values))
        return found.reshape(*map(len, values), -1)

    def _along(self, axes: list[int], count: int, margin: float = 0.0) -> dict[str, Any]:
        assert self.table is not None
        others = [k for k in range(len(self.columns)) if k not in axes]
        columns = [self.columns[k] for k in [*others, *axes]]
        values = [self.columns[k].held() for k in others] + [self.columns[k].fine(count, margin) for k in axes]
        found = self.predict(self.table.product(columns, values))
        return {"axes": axes, "values": packed(found.reshape(*map(len, values), -1))}

    def bars(self) -> list[tuple[str, float]]:
        """Return how far predictions move along each column, largest first."""
        if self.table is None:
            return []
        order = [j for j in np.argsort(-np.nan_to_num(self.moved, nan=-1.0)) if np.isfinite(self.moved[j])]
        return [(self.table.columns[j].name, float(self.moved[j])) for j in order]


def share_within(inside: np.ndarray) -> list[float]:
    """Return the share of rows for which something holds, column by column."""
    return rounded(np.mean(inside, axis=0))


def _spread(n: int, most: int) -> np.ndarray:
    return np.arange(n) if n <= most else np.unique(np.linspace(0, n - 1, most).round().astype(int))


def _listed(column: Column, values: list[Any]) -> dict[str, Any]:
    at = list(range(len(values))) if column.kind == "category" else rounded(values)
    return {"at": at, "labels": [column.label(value) for value in values]}


def _nearest(column: Column, values: list[Any]) -> int:
    if column.kind == "category":
        return 0
    return int(np.argmin(np.abs(np.asarray(values, dtype=float) - column.typical)))
