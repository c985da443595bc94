"""Curves that stand out: which residual curves are too large for the rest, and a word where a fit follows them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.outputs import Outputs
from mercer.exceptions import ContaminationWarning

__all__ = ["outlying_curves", "warn_of_outliers"]

#: robust standard deviations beyond which a curve is outlying, but for few curves
BEYOND = 4.0
#: how much farther that is for few curves, times their number: their median deviation is uncertain
FEW = 5.0
#: a median deviation for a normal standard deviation
NORMAL_DEVIATION = 1.4826
#: curves below which nothing is called outlying
FEWEST = 10
#: share of the squared residuals in outlying curves from which they rule a square-loss fit
RULING = 0.4
#: residuals below this share of the curves themselves are no noise that it would be worth to guard against
NOTHING_LEFT = 1e-3


def outlying_curves(outputs: Outputs, residuals: np.ndarray, weight: Any = None) -> np.ndarray:
    """Return which residual curves are too large for the others, shape (n,).

    z_i = (c_i − median c)/(1.4826·median|c − median c|) > 4(1 + 5/n),    c_i = (mean square of r_i)^⅓,

    and n > 9. The cube root of the squared norm of a Gaussian curve is nearly normal, whatever its covariance (Wilson
    and Hilferty, 1931): white noise and a random shift of the whole curve are held to the same bar. Medians carry the
    weights of the curves.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.estimators.grid_curves import GridCurves
    >>> from mercer.measures import Grid
    >>> R = np.random.default_rng(0).normal(size=(40, 5))
    >>> R[[3, 8]] *= 10
    >>> np.flatnonzero(outlying_curves(GridCurves(R, Grid(np.arange(5.0)).build(), 1, 2), R))
    array([3, 8])
    """
    n = len(outputs)
    if n < FEWEST:
        return np.zeros(n, dtype=bool)
    s = np.ones(n) if weight is None else to_numpy(weight)
    cubes = (outputs.norms(residuals) / outputs.norms(np.ones(np.shape(residuals)))) ** (2 / 3)
    middle = _median(cubes, s)
    return cubes - middle > BEYOND * (1 + FEW / n) * NORMAL_DEVIATION * _median(np.abs(cubes - middle), s)


def warn_of_outliers(
    owner: object, outputs: Outputs, residuals: np.ndarray, outlying: np.ndarray, weight: Any = None
) -> None:
    """Warn where outlying curves have so much of the squared residuals that the square loss follows them."""
    if not np.any(outlying):
        return
    s = np.ones(len(outputs)) if weight is None else to_numpy(weight)
    squares = s * outputs.norms(residuals) ** 2
    ruled = np.sum(squares[outlying]) > RULING * np.sum(squares)
    if not ruled or np.sum(squares) <= NOTHING_LEFT * outputs.total_variation(s)[0]:
        return
    count = int(np.sum(outlying))
    warnings.warn(
        f"{type(owner).__name__}: {count} of {len(outputs)} curves ({count / len(outputs):.0%}) are outlying and have "
        f"{np.sum(squares[outlying]) / np.sum(squares):.0%} of the squared residuals: the square loss follows them. "
        "They are in outlying_, which counts rows of positive weight, equal ones once. If they are errors, pass "
        "loss='huber', which bounds what a curve can do.",
        ContaminationWarning,
        stacklevel=3,
    )


def _median(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted median."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weight[order])
    return float(values[order[min(int(np.searchsorted(mass, 0.5 * mass[-1])), len(order) - 1)]])
