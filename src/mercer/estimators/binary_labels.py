"""Two classes, one of them the positive one: what labels mean, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from mercer.backend import to_numpy
from mercer.estimators.validation import validate_labels
from mercer.exceptions import DataError, parameter_error

__all__ = ["check_both", "positive_class", "two_classes", "whether_positive"]


def two_classes(owner: Any, labels: np.ndarray) -> np.ndarray:
    """Return the two labels in sorted order; more or fewer are refused."""
    classes = np.unique(labels)
    if len(classes) > 2:
        shown = ", ".join(map(repr, classes.tolist()[:10])) + (", ..." if len(classes) > 10 else "")
        raise DataError(
            f"{type(owner).__name__}: Only binary classification is supported. The type of the target is "
            f"{type_of_target(labels)}: y has {len(classes)} classes: {shown}. CostMatrixClassifier() takes "
            "several; for one class against the rest pass y == label."
        )
    if len(classes) < 2:
        raise DataError(
            f"{type(owner).__name__}: y must have two classes; there is one class only: {classes.tolist()[0]!r}."
        )
    return classes


def positive_class(owner: Any, classes: np.ndarray) -> int:
    """Return which of the two classes is the positive one, by the parameter ``pos_label``: 0 or 1."""
    if owner.pos_label is None:
        return 1
    try:
        return classes.tolist().index(owner.pos_label)
    except ValueError as error:
        allowed = f"None or one of the classes, {classes.tolist()}"
        raise parameter_error(owner, "pos_label", owner.pos_label, allowed) from error


def check_both(owner: Any, signs: np.ndarray, names: np.ndarray) -> None:
    """Refuse rows of positive weight among which the negative or the positive class is missing."""
    for sign, label in zip((-1, 1), names.tolist(), strict=True):
        if not np.any(signs == sign):
            raise DataError(f"{type(owner).__name__}: no row of positive weight has the class {label!r}.")


def whether_positive(model: Any, y: Any, n: int) -> np.ndarray:
    """Return which of n labels are the positive class of a fitted model; others than its two are refused."""
    labels, classes = validate_labels(model, y), to_numpy(model.classes_)
    if len(labels) != n:
        raise DataError(f"y must have shape ({n},), one label for each row of X; got {labels.shape}.")
    strange = ~np.isin(labels, classes)
    if np.any(strange):
        raise DataError(
            f"{type(model).__name__}: y must have the labels of the fit, {classes.tolist()}; "
            f"got {labels[strange].tolist()[0]!r}."
        )
    return labels == model.pos_label_
