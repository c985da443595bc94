"""Predicted curves against observed ones, however they were observed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.exceptions import DataError, parameter_error
from mercer.measures import Grid
from mercer.plotting.validation import check_numbers, count_rows

__all__ = ["CurveComparison", "compare_arrays", "compare_curves", "real_over_a_line"]


class CurveComparison(NamedTuple):
    """What :func:`compare_curves` finds."""

    points: np.ndarray
    """Points of the predictions, (m, d)."""
    predicted: np.ndarray
    """Predicted curves, (n, m, p)."""
    observed: list[tuple[np.ndarray, np.ndarray]]
    """Points (m_i, d) and values (m_i, p) of each observed curve."""
    errors: np.ndarray
    """Root mean square of each residual curve over what was observed, (n,)."""
    residuals: list[np.ndarray]
    """Observed less predicted values at the points of each observed curve, (m_i, p)."""


def compare_curves(owner: str, estimator: Any, X: Any, Y: Any, component: int | None = None) -> CurveComparison:
    """Predict curves and compare them with observed ones.

    Parameters
    ----------
    owner : str
        Named in errors.
    estimator : estimator
        Fitted, with ``predict(X)`` on ``grid_``, also at the end of a Pipeline; for curves at points of their own with
        ``predict_at(X, points)``. A regressor without a grid predicts at 0, 1, 2, …
    X : array-like of shape (n_samples, n_features)
    Y : array-like of shape (n_samples, m) or (n_samples, m, p), sequence of (points, values[, weights]), or FData
        NaN where a curve was not observed.
    component : int, optional
        The component of curves in R^p to compare; all of them by default.
    """
    model, inner = reach(estimator, X, "predict_at") if offers(estimator, "predict_at") else (estimator, X)
    predicted = _stack(owner, "predictions", model.predict(inner))
    m = predicted.shape[1]
    points, weights = _columns(getattr(model, "grid_", None), m)
    measure = getattr(model, "measure_", None)
    if measure is not None and len(measure) == m:
        weights = np.asarray(to_numpy(measure.weights), dtype=float)
    scattered = _scattered(owner, Y)
    n = count_rows(X)
    if scattered is None:
        return _compare(owner, points, weights, predicted, _stack(owner, "Y", Y), component)
    if len(scattered) != n:
        raise DataError(f"{owner}: X and Y have inconsistent numbers of samples, {n} and {len(scattered)}.")
    predicted = _pick(owner, predicted, component)
    model, inner = reach(estimator, X, "predict_at")
    observed, residuals, errors = [], [], np.empty(n)
    for index, (where, values) in enumerate(scattered):
        fitted = check_numbers(owner, "predictions", model.predict_at(_safe_indexing(inner, [index]), where))
        residual = _pick(owner, values - fitted.reshape(values.shape), component)
        errors[index] = np.sqrt(np.mean(np.sum(residual**2, axis=1)))
        observed.append((where, _pick(owner, values, component)))
        residuals.append(residual)
    return CurveComparison(points, predicted, observed, errors, residuals)


def compare_arrays(
    owner: str, Y: Any, predicted: Any, grid: Any = None, component: int | None = None
) -> CurveComparison:
    """Compare curves on a common grid, both of shape (n_samples, m) or (n_samples, m, p)."""
    predicted = _stack(owner, "predictions", predicted)
    return _compare(owner, *_columns(grid, predicted.shape[1]), predicted, _stack(owner, "Y", Y), component)


def _compare(owner, points, weights, predicted, Y, component) -> CurveComparison:
    if len(points) != predicted.shape[1] or Y.shape != predicted.shape:
        raise DataError(
            f"{owner}: observed and predicted curves must have the same shape, with a column for each point of the "
            f"grid; got {Y.shape}, {predicted.shape} and {len(points)} points."
        )
    Y, predicted = _pick(owner, Y, component), _pick(owner, predicted, component)
    seen = ~np.isnan(Y).any(axis=2)
    if not np.all(seen.any(axis=1)):
        raise DataError(f"{owner}: Y has rows without an observation. Leave them out.")
    squares = np.where(seen, np.sum(np.nan_to_num(Y - predicted) ** 2, axis=2), 0.0)
    errors = np.sqrt((squares @ weights) / (seen @ weights))
    observed = [(points[at], row[at]) for at, row in zip(seen, Y, strict=True)]
    residuals = [row[at] for at, row in zip(seen, Y - predicted, strict=True)]
    return CurveComparison(points, predicted, observed, errors, residuals)


def real_over_a_line(owner: str, comparison: CurveComparison) -> CurveComparison:
    """Return real curves over a line without the axes of length 1, points increasing; refuse others."""
    points, predicted, observed, errors, residuals = comparison
    if points.shape[1] > 1:
        raise DataError(f"{owner}: the points have {points.shape[1]} coordinates, but a curve is over a line.")
    if predicted.shape[2] > 1:
        allowed = f"given for curves with several components, here an integer from 0 to {predicted.shape[2] - 1}"
        raise parameter_error(owner, "component", None, allowed)
    orders = [np.argsort(where[:, 0], kind="stable") for where, _ in observed]
    pairs = [(where[at, 0], values[at, 0]) for at, (where, values) in zip(orders, observed, strict=True)]
    left = [values[at, 0] for at, values in zip(orders, residuals, strict=True)]
    return CurveComparison(points[:, 0], predicted[..., 0], pairs, errors, left)


def _columns(grid: Any, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points (m, d) of the columns and their weights, which are equal without a grid."""
    if grid is None:
        return np.arange(float(m))[:, None], np.full(m, 1 / m)
    measure = Grid(to_numpy(grid)).build()
    return measure.points, measure.weights


def _stack(owner: str, name: str, curves: Any) -> np.ndarray:
    """Return curves on a common grid, an FDataGrid included, as an array (n, m, p)."""
    array = check_numbers(owner, name, getattr(curves, "data_matrix", curves))
    if array.ndim not in (2, 3) or array.size == 0:
        raise DataError(
            f"{owner}: {name} must have shape (n_samples, m) or (n_samples, m, p) and not be empty; got {array.shape}."
        )
    return array.reshape(*array.shape[:2], -1)


def _scattered(owner: str, Y: Any) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the points (m_i, d) and values (m_i, p) of curves at points of their own, None for those on a grid."""
    if hasattr(Y, "start_indices"):  # an FDataIrregular
        cuts = np.asarray(Y.start_indices)[1:]
        Y = list(zip(np.split(Y.points, cuts), np.split(Y.values, cuts), strict=True))
    pairs = isinstance(Y, Sequence) and len(Y) > 0 and all(isinstance(curve, tuple) for curve in Y)
    if not pairs:
        return None
    curves = []
    for index, curve in enumerate(Y):
        points, values = (check_numbers(owner, f"curve {index}", part) for part in curve[:2])
        points, values = (part[:, None] if part.ndim == 1 else part for part in (points, values))
        if len(points) != len(values):
            raise DataError(f"{owner}: curve {index} has {len(points)} points and {len(values)} values.")
        seen = ~np.isnan(values).any(axis=1)
        if not seen.any():
            raise DataError(f"{owner}: curve {index} has no observation. Leave it out.")
        curves.append((points[seen], values[seen]))
    return curves


def _pick(owner: str, values: np.ndarray, component: int | None) -> np.ndarray:
    """Return one component, or all, along the last axis, which stays."""
    if component is None:
        return values
    p = values.shape[-1]
    if isinstance(component, bool) or not isinstance(component, (int, np.integer)) or not 0 <= component < p:
        raise parameter_error(owner, "component", component, f"an integer from 0 to {p - 1}")
    return values[..., [component]]
