"""What displays refuse to draw, and say so in words of what they draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import read_numbers
from mercer.backend import to_numpy
from mercer.exceptions import DataError, UnsupportedError, parameter_error

__all__ = [
    "check_numbers",
    "check_outlier_levels",
    "check_targets",
    "count_rows",
    "name_of",
    "refuse_gram",
    "trained_levels",
]


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, a data frame, a sparse matrix or a list."""
    return X.shape[0] if getattr(X, "shape", ()) else len(X)


def check_numbers(owner: str, name: str, values: Any) -> np.ndarray:
    """Return values as a float array, or refuse what does not hold numbers."""
    try:
        return np.asarray(to_numpy(values), dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{owner}: {name} must hold numbers; {error}.") from error


def check_targets(owner: str, y: Any, n_rows: int | None = None) -> np.ndarray:
    """Return targets as a float array of shape (n_samples,), finite and as many as there are rows."""
    y = check_numbers(owner, "y", y)
    if y.ndim != 1 or y.size == 0:
        hint = " Pass y.ravel()." if y.ndim == 2 and y.shape[1] == 1 and y.size else ""
        raise DataError(f"{owner}: y must have shape (n_samples,) with a sample at least; got shape {y.shape}.{hint}")
    if not np.all(np.isfinite(y)):
        raise DataError(f"{owner}: y must not contain NaN or infinity. Leave out the rows without a target.")
    if n_rows is not None and len(y) != n_rows:
        raise DataError(f"{owner}: X and y have inconsistent numbers of samples, {n_rows} and {len(y)}.")
    return y


def name_of(y: Any, given: str | None = None) -> str | None:
    """Return what the targets are called: as given, or as a Series of pandas or polars says; None where none does."""
    name = getattr(y, "name", None) if given is None else given
    return None if name is None or str(name) == "" else str(name)


def check_outlier_levels(owner: str, levels: Any) -> np.ndarray:
    """Return sorted fractions of outliers, each once, or refuse what is not in (0, 1]."""
    allowed = "a number or a non-empty one-dimensional array of numbers in (0, 1]"
    hint = "Levels are fractions of outliers: 0.05, not 5."
    try:
        array = np.atleast_1d(read_numbers(to_numpy(levels)))
    except (TypeError, ValueError) as error:
        raise parameter_error(owner, "levels", levels, allowed, hint) from error
    if array.ndim != 1 or array.size == 0 or not np.all((array > 0) & (array <= 1)):
        raise parameter_error(owner, "levels", levels, allowed, hint)
    return np.unique(array)


def trained_levels(detector: Any) -> np.ndarray | None:
    """Return the sorted levels that a detector was trained on, or None for one that does not tell."""
    measure = getattr(detector, "measure_", None)
    return None if measure is None else np.unique(to_numpy(measure.locations))


def refuse_gram(owner: str, estimator: Any) -> None:
    """Refuse a model of Gram matrices: a grid of inputs has no row in them."""
    tags = getattr(estimator, "__sklearn_tags__", None)  # which estimators in scikit-learn's manner have
    if tags is not None and tags().input_tags.pairwise:
        raise UnsupportedError(
            f"{owner}: {type(estimator).__name__} takes Gram matrices (kernel='precomputed'), and a grid of inputs has "
            "none. Fit it with a kernel on inputs, such as 'gaussian' or a callable."
        )
