"""How good predicted quantiles are, as functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import DataError
from mercer.losses.quantiles import weighted_quantile
from mercer.quantile_function import QuantileFunction, check_levels

__all__ = ["coverage", "crossing", "d2_integrated_pinball", "integrated_pinball", "mean_crps"]


def _prepare(y: Any, predicted: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y, predicted = _numbers("y", y), _numbers("the predictions", predicted)
    if y.ndim != 1 or predicted.shape[0] != len(y):
        raise DataError(f"y must have shape ({predicted.shape[0]},), one target a prediction; got {y.shape}.")
    if sample_weight is None:
        return y, predicted, np.full(len(y), 1 / len(y))
    weight = _numbers("sample_weight", sample_weight)
    if weight.shape != y.shape:
        raise DataError(f"sample_weight must have shape {y.shape}, as y; got {weight.shape}.")
    if np.any(weight < 0) or not np.any(weight > 0):
        raise DataError("sample_weight must be non-negative and not all zero.")
    return y, predicted, weight / weight.sum()


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        array = to_numpy(values).astype(float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} must hold numbers; {error}.") from error
    if not np.all(np.isfinite(array)):
        raise DataError(f"{name} must be finite; there are NaN or infinite values among them.")
    return array


def integrated_pinball(y: Any, quantiles: Any, levels: Any, weights: Any = None, sample_weight: Any = None) -> float:
    """Return Σ_j w_j of the mean pinball loss at level θ_j (mean over levels by default).

    Parameters
    ----------
    y : array of shape (n,)
    quantiles : array of shape (n, m)
        Predictions at the levels.
    levels : array of shape (m,)
    weights : array of shape (m,), optional
        Weights of the levels, 1/m by default.
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> integrated_pinball(np.array([1.0]), np.array([[0.0, 3.0]]), [0.25, 0.75])
    0.375
    """
    y, quantiles, share = _prepare(y, quantiles, sample_weight)
    levels = check_levels("integrated_pinball", levels)
    if quantiles.shape != (len(y), len(levels)):
        raise DataError(f"quantiles must have shape ({len(y)}, {len(levels)}); got {quantiles.shape}.")
    weights = np.full(len(levels), 1 / len(levels)) if weights is None else _numbers("weights", weights)
    if weights.shape != levels.shape:
        raise DataError(f"weights must have shape {levels.shape}, one for each level; got {weights.shape}.")
    residual = y[:, None] - quantiles
    return float(share @ np.maximum(levels * residual, (levels - 1) * residual) @ weights)


def d2_integrated_pinball(y: Any, quantiles: Any, levels: Any, weights: Any = None, sample_weight: Any = None) -> float:
    """Return 1 − integrated pinball of the predictions / that of the quantiles of y itself."""
    values, _, share = _prepare(y, quantiles, sample_weight)
    levels = check_levels("d2_integrated_pinball", levels)
    columns = np.broadcast_to(values[:, None], (len(values), len(levels)))
    null = np.broadcast_to(weighted_quantile(columns, share, levels), columns.shape)
    reference = integrated_pinball(values, null, levels, weights, sample_weight)
    loss = integrated_pinball(values, quantiles, levels, weights, sample_weight)
    if reference == 0:
        return 1.0 if loss == 0 else 0.0
    return 1 - loss / reference


def mean_crps(y: Any, function: QuantileFunction, sample_weight: Any = None) -> float:
    """Return the mean continuous ranked probability score 2 ∫₀¹ pinball_θ(y − Q(θ)) dθ.

    The integral is exact for the piecewise linear Q.

    Examples
    --------
    >>> mean_crps(np.array([1.0]), QuantileFunction([0.5], np.array([[3.0]])))  # a point mass: the absolute error
    2.0
    """
    y, values, share = _prepare(y, function.values, sample_weight)
    levels = np.concatenate([[0.0], function.levels, [1.0]])
    residual = y[:, None] - np.concatenate([values[:, :1], values, values[:, -1:]], axis=1)
    left, right = residual[:, :-1], residual[:, 1:]
    below, above = levels[:-1], levels[1:]
    # pinball is θr + (−r)₊ with r linear in each cell: Simpson's rule is exact for θr ...
    slanted = (below * left + (below + above) * (left + right) + above * right) / 6
    # ... and (−r)₊ is a trapezium, or a triangle where r changes its sign
    negative = (np.maximum(-left, 0) + np.maximum(-right, 0)) / 2
    crosses = left * right < 0
    height = np.maximum(np.maximum(-left, -right), 0)
    negative = np.where(crosses, height**2 / (2 * np.where(crosses, np.abs(left - right), 1)), negative)
    return float(2 * share @ (slanted + negative) @ np.diff(levels))


def coverage(y: Any, interval: Any, sample_weight: Any = None) -> float:
    """Return the share of targets inside their intervals, ends included; ``interval`` has shape (n, 2)."""
    y, interval, share = _prepare(y, interval, sample_weight)
    if interval.shape != (len(y), 2):
        raise DataError(f"interval must have shape ({len(y)}, 2); got {interval.shape}.")
    return float(share @ ((interval[:, 0] <= y) & (y <= interval[:, 1])))


def crossing(quantiles: Any) -> float:
    """Return the mean over samples and neighbouring levels of (q_j − q_{j+1})₊; 0 when nothing crosses."""
    quantiles = _numbers("quantiles", quantiles)
    if quantiles.ndim != 2:
        raise DataError(f"quantiles must have shape (n, m), one column for each level; got {quantiles.shape}.")
    return float(np.mean(np.maximum(quantiles[:, :-1] - quantiles[:, 1:], 0))) if quantiles.shape[1] > 1 else 0.0
