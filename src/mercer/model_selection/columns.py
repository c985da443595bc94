"""Tables with another value in a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import DataError, parameter_error

__all__ = ["with_column"]


def with_column(owner: str, X: Any, column: Any, value: Any) -> Any:
    """Return a copy of a table, an array or a data frame of pandas, with one value in a column.

    Examples
    --------
    >>> with_column("f", [[1.0, 2.0], [3.0, 4.0]], 1, 9)
    array([[1., 9.],
           [3., 9.]])
    """
    if hasattr(X, "iloc"):  # pandas
        return _with_column_of_frame(owner, X, column, value)
    changed = np.array(X, dtype=None if np.asarray(X).dtype.kind in "OUS" else float)
    if changed.ndim != 2:
        raise DataError(f"{owner}: X must be a table, an array of two dimensions or a data frame of pandas.")
    whole = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if not whole or not -changed.shape[1] <= column < changed.shape[1]:
        allowed = f"the number of one of {changed.shape[1]} columns"
        raise parameter_error(owner, "column", column, allowed, "Names are those of a data frame of pandas.")
    changed[:, column] = value
    return changed


def _with_column_of_frame(owner: str, X: Any, column: Any, value: Any) -> Any:
    names = list(X.columns)
    if column not in names and isinstance(column, (int, np.integer)) and -len(names) <= column < len(names):
        column = names[column]
    if column not in names:
        raise parameter_error(owner, "column", column, f"one of {names}, or the number of one")
    changed, kind = X.copy(), X[column].dtype
    changed[column] = value
    return changed.astype({column: kind}) if str(kind) == "category" else changed
