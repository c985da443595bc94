"""Where series enter: arrays and data frames in the order of time, one or several."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from mercer.backend import to_numpy
from mercer.estimators.validation import is_foreign
from mercer.exceptions import DataError

__all__ = ["read_series"]


def read_series(estimator: Any, Y: Any, *, reset: bool, fewest: int) -> tuple[list[np.ndarray], bool]:
    """Return series as arrays of shape (T, p), and whether there were several.

    A list of arrays of two dimensions is several series; anything else is one. With ``reset`` their columns, and the
    names of those, become those of the estimator, which others must have, too.
    """
    several = isinstance(Y, (list, tuple)) and len(Y) > 0 and all(np.ndim(one) == 2 for one in Y)
    given = list(Y) if several else [Y]
    return [_read(estimator, one, reset and k == 0, fewest) for k, one in enumerate(given)], several


def _read(estimator: Any, Y: Any, reset: bool, fewest: int) -> np.ndarray:
    owner = type(estimator).__name__
    _check_times(owner, Y)
    if is_foreign(Y):
        Y = to_numpy(Y)
    if not hasattr(Y, "columns") and np.ndim(Y) == 1:
        Y = np.asarray(Y)[:, None]
    try:
        values = validate_data(estimator, Y, reset=reset, dtype=np.float64, ensure_all_finite=False)
    except ValueError as error:
        raise DataError(f"{owner}: {error}") from error
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row, column = wrong[0]
        raise DataError(
            f"{owner}: {len(wrong)} of the values are NaN or infinite, the first in row {row} of column {column}, and "
            "a value without a past cannot be predicted. Fill gaps in, say by interpolation, or pass a list of the "
            "parts between them."
        )
    if len(values) < fewest:
        raise DataError(
            f"{owner}: a series has {len(values)} rows; with order={estimator.order} it needs {fewest} at least. Pass "
            "a longer one, or a smaller order."
        )
    return values


def _check_times(owner: str, Y: Any) -> None:
    """Refuse a data frame whose times do not rise."""
    index: Any = getattr(Y, "index", None)
    if not hasattr(index, "is_monotonic_increasing"):
        return
    of_times = str(index.dtype).startswith("period") or getattr(index.dtype, "kind", "O") in "Mmiuf"
    if of_times and not (index.is_monotonic_increasing and index.is_unique):
        raise DataError(f"{owner}: the index of Y must rise, a row for each time. Try Y.sort_index().")
