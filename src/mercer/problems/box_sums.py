"""Shifts that give the columns of an array in a box the sums that they ought to have."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["balancing_shift"]

#: Newton steps; each of them, or the bisection that replaces it, keeps the root bracketed
STEPS = 100


def balancing_shift(
    Z: np.ndarray, lower: np.ndarray, upper: np.ndarray, sample_weight: np.ndarray, mean: Any = 0.0
) -> np.ndarray:
    """Return ν (m,) with Σ_i s_i clip(z_i − ν, lower, upper) = mean·Σ_i s_i, up to rounding, column by column.

    The sums are decreasing and piecewise linear in ν: Newton steps from 0, which are exact once the entries strictly
    inside the box are known, safeguarded by a bracket.

    Parameters
    ----------
    Z, lower, upper : array of shape (n, m)
        An array and its box.
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
    nu = np.zeros(Z.shape[1], dtype=Z.dtype)
    low, high = np.full_like(nu, -np.inf), np.full_like(nu, np.inf)
    tiny = 4 * np.finfo(Z.dtype).eps * max(float(np.max(np.abs(np.clip(Z, lower, upper)))), 1e-300)
    best, smallest = nu, np.full_like(nu, np.inf)
    for _ in range(STEPS):
        shifted = Z - nu
        value = share @ np.clip(shifted, lower, upper) - mean
        better = np.abs(value) < smallest
        best, smallest = np.where(better, nu, best), np.where(better, np.abs(value), smallest)
        if np.all(smallest <= tiny):
            break
        low, high = np.where(value > 0, nu, low), np.where(value < 0, nu, high)
        slope = share @ ((shifted > lower) & (shifted < upper))
        guess = nu + value / np.maximum(slope, 1 / (50 * len(Z)))
        bracketed = np.isfinite(low) & np.isfinite(high)
        outside = bracketed & ~((guess > low) & (guess < high))
        guess[outside] = (low[outside] + high[outside]) / 2
        guess = np.where(smallest <= tiny, best, guess)
        if np.all((guess == nu) | (smallest <= tiny)):
            break
        nu = guess
    return best
