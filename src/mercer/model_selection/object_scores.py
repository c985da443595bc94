"""What predicted objects are worth: label sets in common, labels that are wrong, places of the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from mercer._params import check_number
from mercer.estimators.validation import read_weight
from mercer.exceptions import DataError

__all__ = ["example_f1", "hamming_error", "top_k_accuracy"]


def example_f1(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Return the mean over rows of 2|A ∩ B|/(|A| + |B|) of true and predicted label sets, 1 where both are empty.

    Parameters
    ----------
    truth, predicted : arrays of 0 and 1 of shape (n, p), or lists of n sets
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> round(example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]), 3)
    0.833
    >>> example_f1([{"a", "b"}], [{"b"}])
    0.6666666666666666
    """
    if _are_sets(truth) and _are_sets(predicted):
        _same_number(len(truth), len(predicted))
        pairs = [(set(a), set(b)) for a, b in zip(truth, predicted, strict=True)]
        common = np.array([len(a & b) for a, b in pairs], dtype=float)
        sizes = np.array([len(a) + len(b) for a, b in pairs], dtype=float)
    else:
        A, B = _labels(truth, predicted)
        common, sizes = np.sum(A * B, axis=1), np.sum(A, axis=1) + np.sum(B, axis=1)
    f1 = np.where(sizes > 0, 2 * common / np.maximum(sizes, 1), 1.0)
    return _mean(f1, sample_weight)


def hamming_error(truth: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Return the share of labels that are wrong, of arrays of 0 and 1 of shape (n, p).

    Examples
    --------
    >>> hamming_error([[1, 1, 0, 0]], [[1, 0, 0, 0]])
    0.25
    """
    A, B = _labels(truth, predicted)
    return _mean(np.mean(A != B, axis=1), sample_weight)


def top_k_accuracy(ranks: Any, k: int, sample_weight: Any = None) -> float:
    """Return the share of rows whose true object is among the k best, from its ranks (``truth_rank``), 1 the best.

    Examples
    --------
    >>> top_k_accuracy([1, 3, 2, 12], k=2)
    0.5
    """
    check_number("top_k_accuracy", "k", k, low=1, strict=False, integer=True)
    return _mean((np.asarray(ranks, dtype=float) <= k).astype(float), sample_weight)


def _are_sets(objects: Any) -> bool:
    return isinstance(objects, list) and all(isinstance(one, (set, frozenset)) for one in objects)


def _labels(truth: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    A, B = (np.asarray(one.toarray() if scipy.sparse.issparse(one) else one) for one in (truth, predicted))
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != B.shape[1]:
        raise DataError(f"Label vectors must be arrays of one shape (n, p); got {A.shape} and {B.shape}.")
    _same_number(len(A), len(B))
    if not all(np.all((one == 0) | (one == 1)) for one in (A, B)):
        raise DataError("Label vectors must hold 0 and 1.")
    return A.astype(float), B.astype(float)


def _same_number(n: int, m: int) -> None:
    if n != m:
        raise DataError(f"There must be as many predictions as true objects; got {m} and {n}.")


def _mean(values: np.ndarray, sample_weight: Any) -> float:
    if sample_weight is None:
        return float(np.mean(values))
    weight = read_weight(sample_weight, values)
    return float(weight @ values / weight.sum())
