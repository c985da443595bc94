"""Rows that were never observed: some columns moved, the others at their medians or most frequent values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.preprocessing.cells import read_column, take_column

__all__ = ["Column", "Table", "effects", "handles_of", "read_input_table"]

#: levels of a number at which it is held while another is moved
HELD_AT = (0.05, 0.25, 0.5, 0.75, 0.95)
#: categories that can be chosen, and columns that can be moved
MOST_CATEGORIES, MOST_HANDLES = 6, 3
#: columns beyond which nobody asks how far predictions move along each
MOST_COLUMNS = 60


@dataclass(frozen=True)
class Column:
    """A column of the inputs as a page knows it.

    Attributes
    ----------
    name : str
    place : int
        Its number.
    kind : {"number", "date", "category", "other"}
        An "other" column cannot be moved.
    cells : array of float or list
        Numbers, days since 1970, or objects.
    """

    name: str
    place: int
    kind: str
    cells: Any

    @property
    def ordered(self) -> bool:
        """Whether it has so many values, in an order, that it can be an axis."""
        return self.kind in ("number", "date") and len(np.unique(self._there())) > len(HELD_AT)

    @property
    def movable(self) -> bool:
        """Whether it has several values."""
        return self.kind != "other" and len(self.held()) > 1

    def _there(self) -> np.ndarray:
        return self.cells[np.isfinite(self.cells)]

    def fine(self, count: int, margin: float = 0.0) -> list[Any]:
        """Return values evenly spaced along the column, and a little beyond; of no axis, those to hold it at."""
        if not self.ordered:
            return self.held()
        low, high = np.min(self._there()), np.max(self._there())
        return np.linspace(low - margin * (high - low), high + margin * (high - low), count).tolist()

    def held(self) -> list[Any]:
        """Return few values at which it is held: levels of numbers, the most frequent categories."""
        if self.kind == "category":
            names, counts = _counted(self.cells)
            return [names[k] for k in np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]]
        if self.kind == "other" or not len(self._there()):
            return []
        values = np.unique(self._there())
        return (values if len(values) <= len(HELD_AT) else np.unique(np.quantile(self._there(), HELD_AT))).tolist()

    @property
    def typical(self) -> Any:
        """The median, or the most frequent category."""
        if self.kind == "category":
            return next(iter(self.held()), None)
        if self.kind == "other" or not len(self._there()):
            return None
        middle = float(np.median(self._there()))
        return middle if self.ordered else min(self.held(), key=lambda value: abs(value - middle))

    def label(self, value: Any) -> str:
        """Return a value as people write it."""
        if self.kind == "date":
            return str(np.datetime64(round(86400 * value), "s"))[: 10 if self._whole_days() else 16]
        return f"{value:.4g}".replace("-", "−") if self.kind == "number" else str(value)

    def _whole_days(self) -> bool:
        there = self._there()
        return bool(np.ptp(there) > 3) if len(there) else True


class Table:
    """Inputs with rows and columns, an array or a data frame of pandas, whose columns can be given other values.

    Parameters
    ----------
    X : array of shape (n, d) or data frame of pandas
    names : sequence of str, optional
        Names of the columns of an array.
    """

    def __init__(self, X: Any, names: Sequence[str] | None = None) -> None:
        self.X, self.frame = X, hasattr(X, "iloc")
        if names is None:
            names = X.columns if self.frame else [f"column {j}" for j in range(X.shape[1])]
        self.columns = [_column(str(name), j, take_column(X, j)) for j, name in enumerate(names)]

    def typical_rows(self, count: int) -> Any:
        """Return rows of typical values."""
        if not self.frame:
            return np.tile([column.typical for column in self.columns], (count, 1)).astype(float)
        rows = self.X.iloc[np.zeros(count, dtype=int)].reset_index(drop=True)
        for column in self.columns:
            rows = self.moved(rows, column, [column.typical] * count)
        return rows

    def moved(self, rows: Any, column: Column, values: Sequence[Any]) -> Any:
        """Return rows with other values in a column; those of a data frame keep the type of the column."""
        if column.kind == "other" or (len(values) and values[0] is None):
            return rows
        if not self.frame:
            changed = rows.copy()
            changed[:, column.place] = values
            return changed
        changed = rows.copy()
        changed.isetitem(column.place, self._typed(rows.iloc[:, 0], column, values))
        return changed

    def _typed(self, like: Any, column: Column, values: Sequence[Any]) -> Any:
        """Return values as a column of the data frame, of the type that it has there."""
        kind = self.X.dtypes.iloc[column.place]
        if column.kind == "number" and kind.kind in "iuf":  # medians of whole numbers need not be whole
            return np.asarray(values, dtype=float)
        zoned = getattr(kind, "tz", None) is not None
        cells: Any = list(values)
        if column.kind == "date":
            cells = np.round(86400e6 * np.asarray(values)).astype("datetime64[us]")
        elif kind.kind == "b":
            cells = np.asarray(values, dtype=bool)
        series = type(like)(cells, index=like.index)
        series = series.dt.tz_localize("UTC") if zoned else series
        return series.astype(kind) if zoned or column.kind == "category" else series

    def product(self, columns: Sequence[Column], values: Sequence[Sequence[Any]]) -> Any:
        """Return rows of all combinations of values, the last column the fastest."""
        grid = np.meshgrid(*[np.arange(len(each)) for each in values], indexing="ij")
        rows = self.typical_rows(grid[0].size if grid else 1)
        for column, each, at in zip(columns, values, grid, strict=True):
            rows = self.moved(rows, column, [each[k] for k in at.ravel().tolist()])
        return rows


def read_input_table(X: Any, names: Sequence[str] | None = None) -> Table | None:
    """Return inputs as a table whose columns can be moved; None for functions and what else is no table."""
    if not hasattr(X, "iloc") and hasattr(X, "to_pandas"):  # polars
        try:
            X = X.to_pandas()
        except ImportError:
            return None
    if hasattr(X, "iloc"):
        return Table(X, names) if getattr(X, "ndim", 0) == 2 and len(X) else None
    try:
        array = np.asarray(X, dtype=float)
    except (TypeError, ValueError):
        return None
    return Table(array, names) if array.ndim == 2 and array.size else None


def effects(table: Table, predict: Callable[[Any], np.ndarray]) -> np.ndarray:
    """Return how far predictions (n, k) move along each column, the others at typical values; NaN if it cannot move."""
    found = np.full(len(table.columns), np.nan)
    for column in table.columns[:MOST_COLUMNS]:
        if column.movable:
            values = predict(table.product([column], [column.held()]))
            found[column.place] = np.max(np.ptp(values.reshape(len(values), -1), axis=0))
    return found


def handles_of(table: Table | None, moved: np.ndarray, *, most: int = MOST_HANDLES) -> list[Column]:
    """Return the columns that a page lets one move: those that move predictions the most, one that is ordered first."""
    if table is None:
        return []
    order = np.argsort(-np.nan_to_num(moved, nan=-1.0), kind="stable")
    found = [table.columns[j] for j in order if table.columns[j].movable][:most]
    axes = [column for column in table.columns if column.ordered and column not in found]
    if found and axes and not any(column.ordered for column in found):
        found[-1] = axes[0]
    return sorted(found, key=lambda column: not column.ordered)


def _column(name: str, place: int, column: Any) -> Column:
    kind, cells = read_column(column, name)
    if kind == "numbers":
        return Column(name, place, "number", np.asarray(cells, dtype=float))
    if kind == "dates":
        return Column(name, place, "date", np.asarray(cells, dtype=float) / 86400e6)
    if kind == "categories" and _alike(cells):
        return Column(name, place, "category", list(cells))
    return Column(name, place, "other", cells)


def _alike(cells: Sequence[Any]) -> bool:
    return all(cell is None or isinstance(cell, str) for cell in cells) or all(not isinstance(c, tuple) for c in cells)


def _counted(cells: Sequence[Any]) -> tuple[list[Any], np.ndarray]:
    """Return the different cells that are there, in order of their names, and how often each is."""
    counts: dict[Any, int] = {}
    for cell in cells:
        if cell is not None:
            counts[cell] = counts.get(cell, 0) + 1
    names = sorted(counts, key=str)
    return names, np.array([counts[name] for name in names])
