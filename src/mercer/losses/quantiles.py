"""Weighted quantiles, column by column: the minimisers of pinball losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import as_like, is_numpy, machine_epsilon, namespace

__all__ = ["weighted_quantile"]

#: ties of Σ s_i with θ Σ s_i survive rounding: what is allowed for it, in units of √n·ε of the sum
ROUNDING_OF_SUMS = 4.0


def weighted_quantile(values: Any, weights: Any, levels: Any) -> Any:
    """Return for each column j the θ_j-quantile, the midpoint where all of an interval qualifies.

    The result minimises Σ_i s_i·pinball_{θ_j}(v_ij − q) over q.

    Parameters
    ----------
    values : array of shape (n, m)
        One sample in each column.
    weights : array of shape (n,) or (n, m)
        Non-negative weights; entries of weight 0 do not count.
    levels : array of shape (m,)
        One level in (0, 1) for each column.

    Examples
    --------
    >>> import numpy as np
    >>> v = np.array([[1.0], [2.0], [3.0], [10.0]])
    >>> weighted_quantile(v, np.ones(4), np.array([0.5])), weighted_quantile(v, np.ones(4), np.array([0.6]))
    (array([2.5]), array([3.]))
    """
    xp = namespace(values)
    n = values.shape[0]
    if is_numpy(values, weights) and weights.ndim == 1 and n and weights.min() == weights.max():
        return _plain_quantile(values, as_like(levels, values))
    order = xp.argsort(values, axis=0)
    ordered = xp.take_along_axis(values, order, axis=0)
    if weights.ndim == 1:
        sorted_weights = xp.reshape(xp.take(weights, xp.reshape(order, (-1,)), axis=0), tuple(values.shape))
    else:
        sorted_weights = xp.take_along_axis(weights, order, axis=0)
    cumulative = xp.cumulative_sum(sorted_weights, axis=0)
    total = cumulative[-1, :]
    target = as_like(levels, values) * total
    slack = ROUNDING_OF_SUMS * n**0.5 * machine_epsilon(values) * total
    first = xp.sum(xp.astype(cumulative < (target - slack)[None, :], xp.int64), axis=0)
    last = xp.sum(xp.astype(cumulative <= (target + slack)[None, :], xp.int64), axis=0)
    index = xp.stack([first, last])
    index = xp.where(index > n - 1, xp.full_like(index, n - 1), index)
    ends = xp.take_along_axis(ordered, index, axis=0)
    return (ends[0, :] + ends[1, :]) / 2


def _plain_quantile(values: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """:func:`weighted_quantile` for equal weights: places are known in advance, so that no column is sorted."""
    n = len(values)
    target, slack = levels * n, ROUNDING_OF_SUMS * n**0.5 * machine_epsilon(values) * n
    first, last = np.ceil(target - slack).astype(int) - 1, np.floor(target + slack).astype(int)
    places = np.clip(np.stack([first, last]), 0, n - 1)
    ends = [np.partition(column, place)[place] for column, place in zip(values.T, places.T, strict=True)]
    return np.mean(ends, axis=1)
