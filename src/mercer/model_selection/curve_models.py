"""What is asked of any estimator of curves: its curves as an array, and where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

from mercer.backend import to_numpy
from mercer.estimators.conversion import open_curves
from mercer.estimators.delegation import reach_attribute
from mercer.exceptions import DataError, UnsupportedError

__all__ = ["check_table", "grid_of", "predicted_curves"]


def check_table(owner: str, estimator: Any, X: Any, y: Any) -> None:
    """Refuse Gram matrices, of which rows cannot be drawn or changed, and curves that do not belong to the rows."""
    if get_tags(estimator).input_tags.pairwise:
        raise UnsupportedError(
            f"{owner}: {type(estimator).__name__} takes Gram matrices, in which rows of inputs cannot be drawn anew or "
            "changed. Pass inputs and a kernel on them, such as 'gaussian' or a callable."
        )
    if _num_samples(X) != _num_samples(y):
        raise DataError(
            f"{owner}: X and y have inconsistent numbers of samples, {_num_samples(X)} and {_num_samples(y)}."
        )


def predicted_curves(model: Any, X: Any) -> np.ndarray:
    """Return the curves of a fitted estimator, (n, m) or (n, m, p), those for another library included."""
    values = np.asarray(to_numpy(open_curves(model, model.predict(X), None)[0]), dtype=float)
    if values.ndim < 2:
        raise DataError(
            f"{type(model).__name__}.predict must return curves, shape (n_samples, m) or (n_samples, m, p); got shape "
            f"{values.shape}."
        )
    return values


def grid_of(model: Any) -> np.ndarray | None:
    """Return where the curves of a fitted estimator are; None where it does not say."""
    try:
        last, _ = reach_attribute(model, "grid_")
    except UnsupportedError:
        return None
    return to_numpy(last.grid_) if getattr(getattr(last, "layout_", None), "located", True) else None
