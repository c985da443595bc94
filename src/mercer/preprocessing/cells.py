"""Cells of a table: what a column of any library holds, as numbers or as plain objects.

Columns are asked for what pandas, polars and NumPy have in common, so that no library is imported.
"""

from __future__ import annotations

import numbers
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from mercer.exceptions import DataError
from mercer.preprocessing.curve_pairs import as_pairs, read_pair
from mercer.preprocessing.providers import provider_of

__all__ = ["as_objects", "is_table", "needs_encoding", "read_column", "take_column"]

#: how the types of categorical columns are written, in pandas and in polars
CATEGORY_TYPES = ("category", "Categorical", "Enum")
#: what cells of a column of objects may be, and what the column then is
OBJECTS = {
    "numbers": (numbers.Real, np.bool_, Decimal),
    "dates": (date, np.datetime64),
    "durations": (timedelta, np.timedelta64),
    "categories": (str, bytes, numbers.Real, np.bool_),
    "curves": (tuple,),
}


def is_table(X: Any) -> bool:
    """Say whether this is a data frame: rows and columns, each column of a type of its own."""
    return all(hasattr(X, name) for name in ("columns", "dtypes", "shape"))


def take_column(X: Any, place: int) -> Any:
    """Return a column of a data frame or of an array."""
    return X.iloc[:, place] if hasattr(X, "iloc") else X[:, place]


def needs_encoding(X: Any) -> bool:
    """Say whether a data frame has a column that does not hold numbers or booleans, or a missing cell."""
    for place, name in enumerate(X.columns):
        kind, cells = read_column(take_column(X, place), name)
        if kind != "numbers" or np.isnan(cells).any():
            return True
    return False


def read_column(column: Any, name: Any) -> tuple[str, Any]:
    """Return what a column holds, and its cells.

    "numbers" are floats, NaN where a cell is missing; "dates" (since 1970, UTC where they have no zone) and "durations"
    are floats, too, in microseconds; "categories" are a list of objects, None where a cell is missing; "curves" are a
    list of (points, values), without any points where a cell is missing. A column of objects without any value is
    one of missing numbers.
    """
    column = _opened(column, name)
    if str(column.dtype).startswith(CATEGORY_TYPES):
        return "categories", as_objects(column)
    array = np.asarray(column)
    if array.dtype.kind in "biuf":
        return "numbers", array.astype(np.float64, copy=False)
    if array.dtype.kind in "Mm":
        return "dates" if array.dtype.kind == "M" else "durations", _microseconds(array)
    if array.dtype.kind not in "OUST":
        raise _strange(name, str(column.dtype))
    cells = as_objects(array)
    types = {type(cell) for cell in cells} - {type(None)}
    for kind, allowed in OBJECTS.items():
        if all(issubclass(each, allowed) for each in types):
            if kind == "curves":
                return kind, [read_pair(cell, f"Column {name!r}, row {row}") for row, cell in enumerate(cells)]
            return kind, cells if kind == "categories" else np.array([_number(cell) for cell in cells], dtype=float)
    raise _strange(name, ", ".join(sorted(each.__name__ for each in types)))


def _opened(column: Any, name: Any) -> Any:
    """Return a column of functions of another library, within a data frame, as one of (points, values)."""
    held = getattr(column, "array", column)
    provider = provider_of(held)
    if provider is None:
        return column
    parts = provider.open_inputs(held)
    if len(parts) > 1:
        raise DataError(
            f"Column {name!r} holds functions with {len(parts)} components. Give each component a column of its own."
        )
    return as_pairs(parts[0][1])


def as_objects(column: Any) -> list[Any]:
    """Return the cells of a column as they are, None where they are missing."""
    return [None if _is_missing(cell) else cell for cell in np.asarray(column, dtype=object).tolist()]


def _is_missing(cell: Any) -> bool:
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(cell, (numbers.Real, Decimal, np.datetime64, np.timedelta64)) and bool(cell != cell)


def _microseconds(array: np.ndarray) -> np.ndarray:
    """Return dates or durations of NumPy as floats, NaN for NaT."""
    return np.where(np.isnat(array), np.nan, array.astype(f"{array.dtype.kind}8[us]").astype(np.int64))


def _number(cell: Any) -> float:
    if cell is None:
        return np.nan
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(_microseconds(np.asarray(cell)))
    if isinstance(cell, timedelta):
        return cell / timedelta(microseconds=1)
    if isinstance(cell, date):
        moment = cell if isinstance(cell, datetime) else datetime(cell.year, cell.month, cell.day)
        return 1e6 * (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return float(cell)


def _strange(name: Any, found: str) -> DataError:
    hint = "Complex data not supported. " if "complex" in found else ""
    return DataError(
        f"Column {name!r} holds {found}. {hint}What is read are numbers, booleans, text, categories, dates, "
        "durations and curves, tuples (points, values), and missing cells of all of them; turn it into one of these, "
        "or leave it out."
    )
