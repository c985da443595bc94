"""Median heuristics: scales that the data suggest, the same for permuted, repeated and shifted rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from mercer.backend import to_numpy
from mercer.exceptions import DataError

__all__ = ["column_scales", "median_distance"]

#: more distinct rows than this are thinned
LARGEST = 1000


def median_distance(X: Any, metric: str = "euclidean") -> float:
    """Return the median distance between distinct rows; 1.0 when there is only one of them.

    Beyond 1 000 distinct rows an even stride over the lexicographically sorted ones is used, so that the
    result depends neither on the order of the rows nor on repetitions. O(min(n, 1000)² d) after a sort.

    Parameters
    ----------
    X : array of shape (n, d)
        Points.
    metric : {"euclidean", "cityblock"}
        Which distance.

    Examples
    --------
    >>> import numpy as np
    >>> median_distance(np.array([[0.0], [1.0], [3.0], [3.0]]))
    2.0
    """
    rows = _distinct(X)
    if len(rows) == 1:
        return 1.0
    unit = _power_of_two(rows - rows.mean(axis=0))  # scaled before it is squared: no overflow, no underflow
    return unit * _median(rows / unit, metric)


def column_scales(X: Any, metric: str = "euclidean") -> np.ndarray:
    """Return one scale per column: its standard deviation times the median distance of the standardised rows.

    No column's unit matters. Constant columns have an infinite scale, which is weight 0; when there is only
    one distinct row all scales are 1. Rows are thinned as in :func:`median_distance`.

    Examples
    --------
    >>> import numpy as np
    >>> column_scales(np.array([[0.0, 0.0, 7.0], [1.0, 10.0, 7.0]])).round(4)
    array([ 1.4142, 14.1421,     inf])
    """
    rows = _distinct(X)
    if len(rows) == 1:
        return np.ones(rows.shape[1])
    varying = rows.min(axis=0) < rows.max(axis=0)
    rows = rows[:, varying] - rows[:, varying].mean(axis=0)
    units = np.array([_power_of_two(column) for column in rows.T])
    rows = rows / units
    deviations = rows.std(axis=0)
    scales = np.full(varying.shape, math.inf)
    scales[varying] = units * deviations * _median(rows / deviations, metric)
    return scales


def _distinct(X: Any) -> np.ndarray:
    rows = np.asarray(to_numpy(X), dtype=float)
    if rows.shape[0] == 0:
        raise DataError("The median distance needs at least one row; X has none.")
    if not np.all(np.isfinite(rows)):
        raise DataError("The median distance needs finite numbers; X has NaN or infinite entries.")
    return np.unique(rows)[:, None] if rows.shape[1] == 1 else np.unique(rows, axis=0)  # the former is faster


def _median(rows: np.ndarray, metric: str) -> float:
    if len(rows) > LARGEST:
        rows = rows[np.linspace(0, len(rows) - 1, LARGEST).round().astype(int)]
    distances = pdist(rows, metric)
    distances = distances[distances > 0]  # a difference may still underflow beside a huge one
    return float(np.median(distances)) if distances.size else 1.0


def _power_of_two(values: np.ndarray) -> float:
    """Return the size of the values as a power of two, by which division is exact."""
    largest = float(np.max(np.abs(values)))
    return math.ldexp(1.0, math.frexp(largest)[1]) if largest > 0 else 1.0
