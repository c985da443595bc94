"""Where values lie in predicted quantile functions, as levels, and the functions at such levels.

Functions G(x, t, ·) are known on a grid of levels, linear in between, and continued by lines beyond, so that every
value has a level, and an outer level moves the outer quantile as far as a value was from it.
"""

from __future__ import annotations

import numpy as np

from mercer.quantile_function import QuantileFunction

__all__ = ["level_scores", "quantiles_at"]


def level_scores(grid: np.ndarray, functions: np.ndarray, values: np.ndarray, slope: float) -> np.ndarray:
    """Return u with G(u) = y at each time, shape (n, m), NaN where y is NaN.

    Parameters
    ----------
    grid : array of shape (g,)
        Levels.
    functions : array of shape (n, m, g)
        Sorted values there.
    values : array of shape (n, m)
        y.
    slope : float
        Of the lines beyond.

    Examples
    --------
    >>> level_scores(np.array([0.25, 0.75]), np.array([[[0.0, 1.0]]]), np.array([[0.5]]), 1.0)
    array([[0.5]])
    """
    n, m, g = functions.shape
    flat, y = functions.reshape(-1, g), values.ravel()
    seen = ~np.isnan(y)
    known = np.where(seen, y, flat[:, 0])
    level = np.clip(QuantileFunction(grid, flat).cdf(known), grid[0], grid[-1])
    level = np.where(known > flat[:, -1], grid[-1] + (known - flat[:, -1]) / slope, level)
    level = np.where(known < flat[:, 0], grid[0] + (known - flat[:, 0]) / slope, level)
    return np.where(seen, level, np.nan).reshape(n, m)


def quantiles_at(grid: np.ndarray, functions: np.ndarray, levels: np.ndarray, slope: float) -> np.ndarray:
    """Return G(u) for levels u of each time, shape (n, m, l): it rises with u.

    Parameters
    ----------
    grid, functions, slope :
        As those of :func:`level_scores`.
    levels : array of shape (m, l)
        u, also beyond the grid.

    Examples
    --------
    >>> quantiles_at(np.array([0.25, 0.75]), np.array([[[0.0, 1.0]]]), np.array([[0.5, 1.75]]), 1.0)
    array([[[0.5, 2. ]]])
    """
    found = np.empty((*functions.shape[:2], levels.shape[1]))
    for time, at in enumerate(levels):
        inside = np.clip(at, grid[0], grid[-1])
        excess = slope * (at - inside)
        found[:, time] = QuantileFunction(grid, functions[:, time])(inside) + excess
    return found
