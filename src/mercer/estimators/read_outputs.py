"""How curves come to an estimator: on a common grid, with or without holes, or each at points of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import array_api_compat as compat
import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.estimators.grid_curves import GridCurves, check_rows_observed
from mercer.estimators.outputs import Outputs
from mercer.estimators.scattered_curves import ScatteredCurves
from mercer.estimators.validation import as_array, as_points, float_array
from mercer.exceptions import DataError, parameter_error
from mercer.magnitudes import check_magnitude
from mercer.measures import Grid, Measure, MeasureRule, Points

__all__ = ["read_outputs"]


def read_outputs(owner: Any, Y: Any, grid: Any, like: Any) -> Outputs:
    """Return the outputs that Y means, in the array library of ``like``.

    Parameters
    ----------
    owner : estimator
        Named in errors.
    Y : array-like of shape (n,), (n, m) or (n, m, p), or list of (points, values[, weights])
        NaN marks what was not observed.
    grid : None, array-like or MeasureRule
        Where the columns of an array lie; indices of weight 1 by default.
    like : array
        The inputs.
    """
    if Y is None:
        raise DataError(f"{type(owner).__name__} requires y to be passed, but the target y is None.")
    Y = _plain(Y)
    if _is_scattered(Y):
        return _read_scattered(owner, Y)
    return _read_grid(owner, Y, grid, like)


def _plain(Y: Any) -> Any:
    """Return masked arrays and data frames with NaN for what is missing, and arrays of (points, values) as lists."""
    if type(Y).__module__.partition(".")[0] == "pandas":
        try:
            return Y.to_numpy(dtype=float, na_value=np.nan)
        except (TypeError, ValueError):  # a series of pairs, or no numbers
            Y = Y.to_numpy()
    if isinstance(Y, np.ma.MaskedArray):
        return np.ma.filled(Y.astype(float), np.nan)
    if isinstance(Y, np.ndarray) and Y.dtype == object and Y.size and isinstance(Y.flat[0], (tuple, np.ndarray)):
        return [tuple(one) for one in Y]
    return Y


def _is_scattered(Y: Any) -> bool:
    """Say whether Y is a sequence of pairs or triples of arrays."""
    if compat.is_array_api_obj(Y) or not isinstance(Y, Sequence) or len(Y) == 0:
        return False
    return all(isinstance(one, (tuple, list)) and len(one) in (2, 3) and _has_length(one[0]) for one in Y) and (
        any(isinstance(one, tuple) for one in Y) or len({len(one[0]) for one in Y}) > 1
    )


def _has_length(values: Any) -> bool:
    return isinstance(values, Sequence) or getattr(values, "ndim", 0) >= 1


def _may_be_a_pair(one: Any) -> bool:
    return isinstance(one, list) and len(one) in (2, 3) and all(isinstance(part, np.ndarray) for part in one)


def _size(values: Any) -> int:
    """Return how many numbers there are in an array, or in lists within lists."""
    return sum(map(_size, values)) if isinstance(values, (tuple, list)) else int(np.size(values))


def _read_grid(owner: Any, Y: Any, grid: Any, like: Any) -> GridCurves:
    name = type(owner).__name__
    if isinstance(Y, Sequence) and len({_size(one) for one in Y}) > 1:
        raise DataError(
            f"{name}: the curves have different numbers of values. Say where each was observed: pass a list of "
            "(points, values) pairs, or values on a common grid with NaN for what is missing."
        )
    if isinstance(Y, Sequence) and Y and all(_may_be_a_pair(one) for one in Y):
        raise DataError(
            f"{name}: Y is a list of lists of two or three arrays. Pass tuples (points, values) for curves at points "
            "of their own, or numpy.asarray(Y) for curves in R^p at two or three points."
        )
    array = Y if compat.is_array_api_obj(Y) else float_array(name, Y)
    if not (array.ndim in (1, 2, 3) and 0 not in array.shape):
        raise DataError(
            f"{name}: Y must have shape (n_samples,), (n_samples, n_points) or (n_samples, n_points, n_components); "
            f"got {tuple(array.shape)}."
        )
    array = as_like(float_array(name, array) if compat.is_numpy_array(array) else array, like)
    xp = namespace(array)
    if bool(xp.any(xp.isinf(array))):
        raise DataError(f"{name}: Input Y contains infinity. NaN marks values that were not observed.")
    check_magnitude(owner, "Y", array)
    n, n_dims = array.shape[0], array.ndim
    m, p = (array.shape[1] if n_dims > 1 else 1), (array.shape[2] if n_dims == 3 else 1)
    nodes = _grid_measure(owner, grid, m, like)
    return GridCurves(xp.reshape(array, (n, m * p)), nodes, p, n_dims, located=grid is not None)


def _grid_measure(owner: Any, grid: Any, m: int, like: Any) -> Measure:
    """Return the measure on m columns: indices of weight 1, a grid with trapezoid weights, or that of a rule."""
    rule = grid
    if grid is None:
        rule = Points(np.arange(float(m)), np.ones(m))
    elif not isinstance(grid, MeasureRule):
        rule = Grid(float_array(type(owner).__name__, as_array(grid), "grid"))
    measure = rule.build(like)
    if len(measure) != m:
        raise parameter_error(
            owner,
            "grid",
            grid,
            f"as long as the curves: {m} points for Y with {m} columns",
            _length_hint(len(rule.nodes(np.random.default_rng(0))[0]), len(measure), m),
        )
    return measure


def _length_hint(n_points: int, n_positive: int, m: int) -> str:
    """Say what is wrong with the length of a grid: points of weight 0, which are dropped, or another number of them."""
    if n_positive == n_points:
        return f"It has {n_points} points. For curves on grids of their own pass a list of (points, values)."
    return (
        f"It has {n_points} points, but only {n_positive} of positive weight, and nothing is learned from the others: "
        f"leave out points of weight 0{' and their columns of Y' if n_points == m else ''}, or give them a weight."
    )


def _read_scattered(owner: Any, Y: Any) -> ScatteredCurves:
    name = type(owner).__name__
    parts = [_one_curve(name, i, one) for i, one in enumerate(Y)]
    for which, what in ((0, "points with {} coordinates"), (1, "values with {} components")):
        sizes = [part[which].shape[1] for part in parts]
        other = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
        if other is not None:
            raise DataError(
                f"{name}: curve 0 has {what.format(sizes[0])}, and curve {other} has {sizes[other]}. All curves need "
                "the same."
            )
    points, values, weights = (np.concatenate(part) for part in zip(*parts, strict=True))
    check_magnitude(owner, "Y", values)
    rows = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    n_dims = 3 if any(np.ndim(to_numpy(one[1])) == 2 for one in Y) else 2
    return ScatteredCurves(rows, points, values, weights, len(parts), n_dims)


def _one_curve(name: str, i: int, one: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points (m_i, d), values (m_i, p) and weights (m_i,) of one curve; values of NaN are dropped."""
    points = as_points(f"{name}: curve {i}", one[0])
    values = float_array(f"{name}: curve {i}", as_array(one[1]), "values")
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(points):
        raise DataError(
            f"{name}: curve {i} has {len(points)} points but values of shape {values.shape}; it needs a value, or a "
            "row of components, for each point."
        )
    weights = (
        np.full(len(points), 1.0 / max(len(points), 1))
        if len(one) < 3
        else float_array(f"{name}: curve {i}", one[2], "weights").ravel()
    )
    if len(weights) != len(points) or not np.all(np.isfinite(weights) & (weights >= 0)):
        raise DataError(f"{name}: curve {i} needs {len(points)} finite, non-negative weights, one for each point.")
    if np.any(np.isinf(values)):
        raise DataError(f"{name}: curve {i} contains infinity.")
    seen = np.isnan(values).sum(axis=1)
    if np.any((seen > 0) & (seen < values.shape[1])):
        raise DataError(f"{name}: curve {i} has a point with NaN for some components only. Leave out such points.")
    keep = (seen == 0) & (weights > 0)
    check_rows_observed(name, np.array([False] * i + [not np.any(keep)]))
    if len(one) < 3:
        weights = weights * (len(points) / keep.sum())
    return points[keep], values[keep], weights[keep]
