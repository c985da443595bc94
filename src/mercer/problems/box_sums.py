"""Shifts that give the columns of an array in a box the sums that they ought to have."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["balancing_shift"]

#: steps, of which each third halves the bracket of the root
STEPS = 200


def balancing_shift(
    Z: np.ndarray, lower: np.ndarray, upper: np.ndarray, sample_weight: np.ndarray, mean: Any = 0.0
) -> np.ndarray:
    """Return ν (m,) with Σ_i s_i clip(z_i − ν, lower, upper) = mean·Σ_i s_i, up to rounding, column by column.

    The sums are decreasing and piecewise linear in ν: Newton steps from 0, which are exact once the entries strictly
    inside the box are known, within a bracket that is halved from time to time.

    Parameters
    ----------
    Z, lower, upper : array of shape (n, m)
        An array and its box, which is bounded.
    sample_weight : array of shape (n,)
        s, positive.
    mean : float or array of shape (m,), default=0.0
        What the mean is to be; it must be within reach.

    Examples
    --------
    >>> import numpy as np
    >>> Z = np.array([[0.9], [0.2], [-0.2]])
    >>> balancing_shift(Z, np.full_like(Z, -0.5), np.full_like(Z, 0.5), np.ones(3))
    array([0.25])
    """
    share = sample_weight / sample_weight.sum()
    low, high = np.min(Z - upper, axis=0), np.max(Z - lower, axis=0)  # where all entries are at one bound
    nu = np.clip(np.zeros(Z.shape[1], dtype=Z.dtype), low, high)
    tiny = 4 * np.finfo(Z.dtype).eps * max(float(np.max(np.abs(np.clip(Z, lower, upper)))), 1e-300)
    best, smallest = nu, np.full_like(nu, np.inf)
    for step in range(STEPS):
        shifted = Z - nu
        value = share @ np.clip(shifted, lower, upper) - mean
        better = np.abs(value) < smallest
        best, smallest = np.where(better, nu, best), np.where(better, np.abs(value), smallest)
        if np.all(smallest <= tiny):
            break
        low, high = np.where(value > 0, nu, low), np.where(value < 0, nu, high)
        slope = share @ ((shifted > lower) & (shifted < upper))
        guess = nu + value / np.where(slope > 0, slope, 1.0)
        bisected = (step % 3 == 2) | ~((guess > low) & (guess < high))
        guess[bisected] = (low[bisected] + high[bisected]) / 2
        nu = np.where(smallest <= tiny, best, guess)
    return best
