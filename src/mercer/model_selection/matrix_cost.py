"""What the errors of classifiers of several classes cost, each at its own price."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.model_selection.quantile_scores import _prepare

__all__ = ["check_cost_matrix", "misclassification_cost"]


def misclassification_cost(
    y: Any, predicted: Any, cost_matrix: Any, labels: Any = None, sample_weight: Any = None
) -> float:
    """Return the mean over rows of C_jl, the price of calling l what is j.

    Parameters
    ----------
    y, predicted : arrays of shape (n,)
        True and predicted labels.
    cost_matrix : array of shape (k, k)
        C: a row for each true class and a column for each predicted one. Its diagonal need not be 0.
    labels : array of shape (k,), optional
        The classes in the order of the matrix, such as ``model.classes_``; by default those of y and of the predictions
        in sorted order, which must be all k.
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> misclassification_cost(["cat", "dog", "dog"], ["cat", "cat", "dog"], [[0, 1], [6, 0]])
    2.0
    """
    C = check_cost_matrix("misclassification_cost", cost_matrix)
    y, predicted = np.asarray(to_numpy(y)), np.asarray(to_numpy(predicted))
    if y.ndim != 1 or y.shape != predicted.shape or y.size == 0:
        raise DataError(
            f"misclassification_cost: y and the predictions must have the same shape (n,); got {y.shape} and "
            f"{predicted.shape}."
        )
    classes = np.unique(np.concatenate([y, predicted])) if labels is None else np.asarray(to_numpy(labels))
    if classes.shape != (len(C),):
        raise DataError(
            f"misclassification_cost: the cost matrix has {len(C)} classes, but there are {classes.size}: "
            f"{classes.ravel().tolist()[:10]}. Pass labels, all classes in the order of the matrix."
        )
    true, called = (_places(name, each, classes) for name, each in (("y", y), ("the predictions", predicted)))
    true, called, share = _prepare(true, called, sample_weight)
    return float(share @ C[true.astype(int), called.astype(int)])


def check_cost_matrix(owner: object, cost_matrix: Any) -> np.ndarray:
    """Return C as a square array of floats."""
    allowed = "finite numbers of shape (k, k), k ≥ 2"
    hint = "Rows are true classes, columns are predicted ones."
    try:
        matrix = np.asarray(to_numpy(cost_matrix))
    except ValueError as error:  # rows of different lengths
        raise parameter_error(owner, "cost_matrix", cost_matrix, allowed, hint) from error
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 2
    if not square or matrix.dtype.kind not in "iuf" or not np.all(np.isfinite(matrix)):
        raise parameter_error(owner, "cost_matrix", cost_matrix, allowed, hint)
    return matrix.astype(float)


def _places(name: str, labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return where labels are among the classes, in whatever order these are."""
    places = {label: index for index, label in enumerate(classes.tolist())}
    strange = [label for label in labels.tolist() if label not in places]
    if strange:
        raise DataError(f"misclassification_cost: {name} must have the labels {classes.tolist()}; got {strange[0]!r}.")
    return np.array([places[label] for label in labels.tolist()])
