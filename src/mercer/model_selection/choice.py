"""The choice among candidates that were scored on held-out folds."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import FitFailedWarning

from mercer.exceptions import DataError

__all__ = ["best_candidate", "falls", "most_regular_candidate", "tabulate"]


def tabulate(params: Sequence[dict[str, Any]], scores: np.ndarray, gaps: np.ndarray) -> dict[str, Any]:
    """Return the table of a comparison, with the columns of scikit-learn's ``cv_results_``.

    Parameters
    ----------
    params : sequence of dict
        The candidates; all have the same keys.
    scores, gaps : arrays of shape (n_candidates, n_splits)
        Scores on held-out folds, larger is better, NaN for a candidate that failed; relative duality gaps of the fits.

    Examples
    --------
    >>> table = tabulate([{"alpha": 1.0}, {"alpha": 2.0}], np.array([[-1.0, -3.0], [-1.0, -1.0]]), np.zeros((2, 2)))
    >>> table["mean_test_score"], table["rank_test_score"]
    (array([-2., -1.]), array([2, 1], dtype=int32))
    """
    table: dict[str, Any] = {"params": list(params)}
    for name in params[0]:
        column = np.empty(len(params), dtype=object)
        column[:] = [candidate[name] for candidate in params]
        table[f"param_{name}"] = column
    for split in range(scores.shape[1]):
        table[f"split{split}_test_score"] = scores[:, split]
        table[f"split{split}_relative_gap"] = gaps[:, split]
    mean = scores.mean(axis=1)
    table["mean_test_score"], table["std_test_score"] = mean, scores.std(axis=1)
    table["rank_test_score"] = _ranks(mean)
    table["max_relative_gap"] = gaps.max(axis=1)
    return table


def _ranks(mean: np.ndarray) -> np.ndarray:
    """Rank 1 for the largest mean; all that failed share the last rank."""
    lowest = np.where(np.isnan(mean), math.inf, -mean)
    return rankdata(lowest, method="min").astype(np.int32)


def best_candidate(scores: np.ndarray, owner: str) -> int:
    """Return the row with the largest mean, the first of several; rows with a NaN have failed and never win."""
    mean = scores.mean(axis=1)
    failed = np.isnan(mean)
    if np.all(failed):
        raise DataError(
            f"{owner}: no candidate has a score on every fold, so that none can be chosen. See what `scoring` "
            "returns for a fitted model and a small part of the data."
        )
    if np.any(failed):
        warnings.warn(
            f"{owner}: {failed.sum()} of {len(mean)} candidates have no finite score on some fold and are ranked last.",
            FitFailedWarning,
            stacklevel=4,
        )
    return int(np.nanargmax(mean))


def most_regular_candidate(scores: np.ndarray, regularity: Sequence[tuple], owner: str) -> int:
    """Return the most regular row whose mean is within one standard error of the best (Breiman et al., 1984).

    The standard error is that of the mean of the best row over the folds; ``regularity`` has one tuple for each row,
    the largest of which is the most regular.
    """
    best = best_candidate(scores, owner)
    mean, splits = scores.mean(axis=1), scores.shape[1]
    error = scores[best].std(ddof=1) / math.sqrt(splits) if splits > 1 else 0.0
    good = [index for index in range(len(mean)) if mean[index] >= mean[best] - error]
    return max(good, key=lambda index: regularity[index])


def falls(scores: np.ndarray) -> bool:
    """Whether the last row is clearly below an earlier one: by two standard errors of the mean difference over folds.

    For candidates that are tried in an order along which scores rise and then fall, such as smaller and smaller λ.

    Examples
    --------
    >>> falls(np.array([[-3.0, -4.0, -5.0], [-1.0, -2.0, -3.0], [-1.5, -2.4, -3.6]]))
    True
    >>> falls(np.array([[-3.0, -4.0, -5.0], [-1.0, -2.0, -3.0], [-0.5, -2.4, -3.6]]))
    False
    """
    if len(scores) < 2 or scores.shape[1] < 3 or not np.all(np.isfinite(scores)):
        return False
    best = int(np.argmax(scores.mean(axis=1)))
    behind = scores[best] - scores[-1]
    return float(behind.mean()) > 2 * float(behind.std(ddof=1)) / math.sqrt(scores.shape[1])
