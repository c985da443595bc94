"""Candidates by their scores: the best, the best few, and where the truth is among them."""

from __future__ import annotations

import numpy as np

__all__ = ["best_first", "truth_ranks"]

#: difference of scores that is rounding, in units of the largest one
TIED = 1e-10


def best_first(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest scores of each row, the largest first and of equal ones the first.

    Examples
    --------
    >>> import numpy as np
    >>> best_first(np.array([[0.5, 2.0, 0.5, 1.0]]), 3)
    array([[1, 3, 0]])
    """
    m = scores.shape[1]
    if k == 1:
        return np.argmax(scores, axis=1)[:, None]
    if k >= m:
        return np.argsort(-scores, axis=1, kind="stable")
    chosen = np.sort(np.argpartition(scores, m - k, axis=1)[:, m - k :], axis=1)
    values = np.take_along_axis(scores, chosen, axis=1)
    # stable, so that of equals the first comes first
    chosen = np.take_along_axis(chosen, np.argsort(-values, axis=1, kind="stable"), axis=1)
    tied = np.count_nonzero(scores >= values.min(axis=1)[:, None], axis=1) > k  # with what was left out
    if np.any(tied):
        chosen[tied] = np.argsort(-scores[tied], axis=1, kind="stable")[:, :k]
    return chosen


def truth_ranks(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the place of the truth among candidates, 1 being the best; of ties it has the middle.

    Parameters
    ----------
    scores : array of shape (n, m)
        Of the candidates of each row.
    truth : array of shape (n,)
        Of the true object, whether it is a candidate or not.

    Examples
    --------
    >>> import numpy as np
    >>> truth_ranks(np.array([[3.0, 2.0, 1.0], [1.0, 1.0, 1.0]]), np.array([2.0, 1.0]))
    array([2., 2.])
    """
    slack = TIED * np.maximum(np.max(np.abs(scores), axis=1), np.abs(truth))
    higher = np.sum(scores > (truth + slack)[:, None], axis=1)
    tied = np.sum(np.abs(scores - truth[:, None]) <= slack[:, None], axis=1)
    return 1 + higher + np.maximum(tied - 1, 0) / 2
