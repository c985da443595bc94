"""Sizes of data whose squares, products and ratios stay within floating point: what lies beyond is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.exceptions import DataError

__all__ = [
    "LARGEST_NUMBER",
    "LARGEST_ALPHA",
    "LARGEST_SCALE",
    "SMALLEST_ALPHA",
    "SMALLEST_SPREAD",
    "WIDEST",
    "check_alpha",
    "check_magnitude",
]

#: largest number, and smallest difference of numbers, that data may hold: products of several of them stay finite
LARGEST_NUMBER, SMALLEST_SPREAD = 1e60, 1e-60
#: largest ratio of weights
WIDEST = 1e30
#: bounds of λ, and of kernel values over λn
SMALLEST_ALPHA, LARGEST_ALPHA, LARGEST_SCALE = 1e-100, 1e100, 1e90


def check_magnitude(owner: object, name: str, values: Any, *, spread: bool = True) -> None:
    """Refuse numbers beyond ±1e60 and columns that vary, but by less than 1e-60.

    Parameters
    ----------
    owner : object or str
        Who asks.
    name : str
        What the numbers are called.
    values : array of shape (n,) or (n, d)
        NaN is passed over.
    spread : bool, default=True
        Whether columns are compared with themselves; of a Gram matrix they are not.
    """
    array = np.asarray(to_numpy(values), dtype=float)
    array = array.reshape(len(array), -1)
    if not array.size:
        return
    who = owner if isinstance(owner, str) else type(owner).__name__
    low, high = (extreme(array, axis=0) for extreme in (np.fmin.reduce, np.fmax.reduce))
    largest = float(np.fmax.reduce(np.maximum(np.abs(low), np.abs(high))))  # NaN where there is nothing else
    remedy = f"Give {name} in another unit (sklearn.preprocessing.StandardScaler does)."
    if largest > LARGEST_NUMBER:
        raise DataError(f"{who}: {name} must not have numbers beyond {LARGEST_NUMBER:g}; got {largest:.3g}. {remedy}")
    if not spread:
        return
    width = high - low
    if np.any((width > 0) & (width < SMALLEST_SPREAD)):
        column = int(np.argmax((width > 0) & (width < SMALLEST_SPREAD)))
        where = f"{name} varies" if array.shape[1] == 1 else f"column {column} of {name} varies"
        raise DataError(
            f"{who}: {where} by no more than {width[column]:.3g}, and differences below {SMALLEST_SPREAD:g} are lost "
            f"in squares. {remedy}"
        )


def check_alpha(owner: object, alpha: Any, hint: str = "") -> None:
    """Refuse a λ that is no positive number, or one beyond 1e±100."""
    check_number(owner, "alpha", alpha, low=0, hint=hint)
    check_number(owner, "alpha", alpha, low=SMALLEST_ALPHA, high=LARGEST_ALPHA, strict=False, hint=hint)
