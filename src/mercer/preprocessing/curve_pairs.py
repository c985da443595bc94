"""Curves as (points, values) pairs: how they are told from other data, and read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.exceptions import DataError

__all__ = ["as_pairs", "is_pairs", "on_grid", "read_pair"]


def is_pairs(X: Any) -> bool:
    """Say whether these are curves at points of their own: a sequence of tuples of two arrays, or None for no curve."""
    if isinstance(X, np.ndarray) and not (X.dtype == object and X.ndim == 1):
        return False
    if not isinstance(X, (Sequence, np.ndarray)) or isinstance(X, (str, bytes)):
        return False
    there = [one for one in X if one is not None]
    return bool(there) and all(map(_is_pair, there))


def _is_pair(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and np.ndim(one[0]) in (1, 2) and np.ndim(one[1]) == 1


def on_grid(points: Any, values: Any) -> list[tuple[Any, Any]]:
    """Return rows of values on one grid as pairs."""
    return [(points, row) for row in values]


def as_pairs(curves: Sequence[Any]) -> np.ndarray:
    """Return curves as a column: an array of objects, of shape (n,)."""
    column = np.empty(len(curves), dtype=object)
    for row, curve in enumerate(curves):
        column[row] = curve
    return column


def read_pair(cell: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    """Return points, increasing and each once, (k,) or (k, d), and values (k,) of a curve; NaN is left out.

    Values at equal points are averaged. ``where`` is named in errors.
    """
    if cell is None:
        return np.zeros(0), np.zeros(0)
    if not _is_pair(cell):
        raise DataError(
            f"{where}: a curve is a tuple (points, values), of as many values as points; got {type(cell).__name__} "
            f"with parts of shape {[np.shape(part) for part in cell]}. Components of a function with values in R^p are "
            "curves of their own."
        )
    try:
        points, values = (np.asarray(part, dtype=float) for part in cell)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: points and values must hold numbers: {str(error).rstrip('.')}.") from error
    if len(points) != len(values):
        raise DataError(
            f"{where}: points have shape {points.shape} and values {values.shape}; a curve needs as many values as "
            "points."
        )
    there = ~np.isnan(values)
    if not there.all():
        points, values = points[there], values[there]
    if not (np.all(np.isfinite(points)) and np.all(np.isfinite(values))):
        raise DataError(f"{where}: points must be finite, and values finite or NaN, where nothing was observed.")
    if points.ndim == 2 and points.shape[1] == 1:
        points = points[:, 0]
    if points.ndim == 2 or np.all(np.diff(points) > 0):
        return points, values
    distinct, place, counts = np.unique(points, return_inverse=True, return_counts=True)
    return distinct, np.bincount(place, weights=values) / counts
