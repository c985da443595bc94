"""How one column of a table becomes columns of numbers: what was learned from training rows."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.exceptions import DataError
from mercer.preprocessing.cells import as_objects, read_column
from mercer.preprocessing.curve_column import CurveColumn

__all__ = ["CategoryColumn", "EmptyColumn", "NumberColumn", "learn_column"]

#: microseconds of a day, in which dates and durations are counted
DAY = 86_400e6


@dataclass(frozen=True)
class NumberColumn(Stateful):
    """Numbers, dates or durations: (t − origin)/unit, the mean where a cell is missing, and whether it is.

    Attributes
    ----------
    kind : {"numbers", "dates", "durations"}
        What the column holds.
    origin : float
        0, or the first date of the training rows.
    mean : float
        Mean of the training cells, after that.
    indicator : bool
        Whether cells were missing in training, so that a column says where they are.
    """

    kind: str
    origin: float
    mean: float
    indicator: bool

    @classmethod
    def learn(cls, kind: str, cells: np.ndarray, weight: np.ndarray) -> NumberColumn:
        """Learn origin and mean from cells, of which one is there at least, and their weights."""
        there = ~np.isnan(cells)
        origin = float(cells[there].min()) if kind == "dates" else 0.0
        values = (cells[there] - origin) / (1.0 if kind == "numbers" else DAY)
        return cls(kind, origin, float(np.average(values, weights=weight[there])), not bool(there.all()))

    def labels(self, name: str) -> list[str]:
        """Return the names of the encoded columns."""
        return [name, f"{name}=(missing)"] if self.indicator else [name]

    def encode(self, column: Any, name: Any) -> np.ndarray:
        """Return the cells of a column as numbers, shape (n, 1) or (n, 2)."""
        kind, cells = read_column(column, name)
        if not any(map(_is_there, cells)):
            cells = np.full(len(cells), np.nan)
        elif kind != self.kind:
            raise DataError(
                f"Column {name!r} held {self.kind} in the training rows; now it holds {kind}. Read new rows as the "
                "training rows were read."
            )
        missing = np.isnan(cells)
        values = np.where(missing, self.mean, (cells - self.origin) / (1.0 if self.kind == "numbers" else DAY))
        return np.column_stack([values, missing]) if self.indicator else values[:, None]


@dataclass(frozen=True)
class CategoryColumn(Stateful):
    """Categories: an indicator for each of those that are kept, one for the others, and one for missing cells.

    Attributes
    ----------
    categories : tuple of str
        What the encoded columns stand for.
    seen : tuple
        Categories seen in training.
    places : tuple of int
        Which of the encoded columns each of them has.
    missing : bool
        Whether cells were missing in training, which have the last column then.
    text : bool or None
        Whether all categories are text (True) or none is (False).
    """

    categories: tuple[str, ...]
    seen: tuple[Any, ...]
    places: tuple[int, ...]
    missing: bool
    text: bool | None

    @cached_property
    def codes(self) -> dict[Any, int]:
        """The encoded column of each category seen in training."""
        return dict(zip(self.seen, self.places, strict=True))

    @classmethod
    def learn(cls, cells: Sequence[Any], weight: np.ndarray, most: int) -> CategoryColumn:
        """Learn which categories there are; of more than ``most`` the most frequent ones are kept."""
        counts: dict[Any, float] = {}
        for cell, each in zip(cells, weight.tolist(), strict=True):
            counts[cell] = counts.get(cell, 0.0) + each
        missing = counts.pop(None, None) is not None
        kept = sorted(sorted(counts, key=_rank), key=lambda cell: -counts[cell])[:most]
        kept = sorted(kept, key=_rank)
        codes = {cell: code for code, cell in enumerate(kept)}
        names = [_label(cell) for cell in kept]
        if len(counts) > most:
            codes |= {cell: most for cell in counts if cell not in codes}
            names.append("(other)")
        if missing:
            names.append("(missing)")
        texts = {isinstance(cell, str) for cell in counts}
        text = texts.pop() if len(texts) == 1 else None
        return cls(tuple(names), tuple(codes), tuple(codes.values()), missing, text)

    def labels(self, name: str) -> list[str]:
        """Return the names of the encoded columns."""
        return [f"{name}={category}" for category in self.categories]

    def encode(self, column: Any, name: Any) -> np.ndarray:
        """Return indicators of the cells of a column, shape (n, len(categories)); 0 for those never seen."""
        cells = as_objects(column)
        missing = len(self.categories) - 1 if self.missing else -1
        codes = np.array([missing if cell is None else self.codes.get(cell, -1) for cell in cells], dtype=int)
        for place in np.flatnonzero(codes < 0):
            cell = cells[place]
            if cell is not None and self.text is not None and isinstance(cell, str) != self.text:
                raise DataError(
                    f"Column {name!r} held {'text' if self.text else 'categories that are no text'} in the training "
                    f"rows; now it holds {cell!r}. Read new rows as the training rows were read."
                )
        indicators = np.zeros((len(cells), len(self.categories)))
        seen = np.flatnonzero(codes >= 0)
        indicators[seen, codes[seen]] = 1.0
        return indicators


@dataclass(frozen=True)
class EmptyColumn(Stateful):
    """A column without any value in the training rows: it is left out."""

    def labels(self, name: str) -> list[str]:
        """Return no names."""
        return []

    def encode(self, column: Any, name: Any) -> np.ndarray:
        """Return no columns, shape (n, 0)."""
        return np.zeros((len(column), 0))


def learn_column(
    column: Any, name: Any, weight: np.ndarray, most: int, curves: str
) -> NumberColumn | CategoryColumn | CurveColumn | EmptyColumn:
    """Learn how a column is encoded from its training cells and their positive weights."""
    kind, cells = read_column(column, name)
    if kind == "curves":
        there = any(len(points) for points, _ in cells)
        return CurveColumn.learn(cells, name, weight, curves) if there else EmptyColumn()
    if not any(map(_is_there, cells)):
        return EmptyColumn()
    if kind == "categories":
        return CategoryColumn.learn(cells, weight, most)
    return NumberColumn.learn(kind, cells, weight)


def _is_there(cell: Any) -> bool:
    return cell is not None and cell == cell


def _label(cell: Any) -> str:
    """Return a category as text; integers that missing cells beside them have made floats as integers."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _rank(cell: Any) -> tuple[bool, float, str]:
    """Return what categories of any type are sorted by: numbers first, then text."""
    number = isinstance(cell, numbers.Real)
    return not number, float(cell) if number else 0.0, str(cell)
