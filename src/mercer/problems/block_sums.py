"""Intercepts and repairs of dual arrays from sums over blocks of rows, which is all that leaves a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["bracketed_minimum"]

#: widenings of a bracket, and evaluations within it
WIDENINGS, EVALUATIONS = 60, 120


def bracketed_minimum(
    slope: Callable[[np.ndarray], np.ndarray], start: np.ndarray, reach: float, weights: np.ndarray, accuracy: float
) -> np.ndarray:
    """Minimise Σ_j w_j f_j(b_j), f_j convex on the line, given their slopes: each evaluation is a pass over rows.

    Brackets of the sign changes are widened from ``start``, then shrunk by false position and halves. With slopes g
    and g′ at its ends, which have opposite signs, a bracket (b, b′) holds minima no lower than f(b) − |g||b′ − b|, so
    that it may be left as soon as these sum to ``accuracy``.

    Parameters
    ----------
    slope : callable
        b (m,) ↦ f′(b), (m,).
    start : array of shape (m,)
        Where to begin.
    reach : float
        First width of the brackets.
    weights : array of shape (m,)
        w.
    accuracy : float
        How far above the minimum the result may be; 0 asks for all digits.

    Examples
    --------
    >>> b = bracketed_minimum(lambda b: b - 3.0, np.zeros(1), 1.0, np.ones(1), 0.0)
    >>> round(float(b[0]), 6)
    3.0
    """
    low, at_low = start, slope(start)
    high, at_high = low, at_low
    for _ in range(WIDENINGS):
        same = at_low * at_high > 0
        if not np.any(same):
            break
        low, at_low = np.where(same, high, low), np.where(same, at_high, at_low)
        high = np.where(same, high - np.sign(at_high) * reach, high)
        at_high, reach = slope(high), 2 * reach
    best, steepness = _nearer(low, at_low, high, at_high)
    for k in range(1, EVALUATIONS):
        rounding = 4 * np.finfo(float).eps * np.maximum(np.abs(low), np.abs(high))
        width = np.abs(high - low)
        if float(np.sum(weights * steepness * width)) <= accuracy or np.all((steepness == 0) | (width <= rounding)):
            break
        rise = at_high - at_low
        middle = (low + high) / 2
        guess = np.where(rise == 0, middle, low - at_low * (high - low) / np.where(rise == 0, 1.0, rise))
        guess = middle if k % 3 == 0 else guess
        value = slope(guess)
        left = value * at_low > 0
        low, at_low = np.where(left, guess, low), np.where(left, value, at_low)
        high, at_high = np.where(left, high, guess), np.where(left, at_high, value)
        best, steepness = _nearer(low, at_low, high, at_high)
    return best


def _nearer(low: Any, at_low: Any, high: Any, at_high: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the end with the smaller slope, node by node, and that slope."""
    first = np.abs(at_low) <= np.abs(at_high)
    return np.where(first, low, high), np.where(first, np.abs(at_low), np.abs(at_high))
