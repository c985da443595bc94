"""Candidates by their scores: the best, the best few, and where the truth is among them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["best_first", "score_blocks", "truth_ranks"]

#: difference of scores that is rounding, in units of the largest one
TIED = 1e-10
#: rows whose scores are in memory at a time, and numbers that these are at most
RANKED_ROWS, RANKED_SCORES = 256, 2**25
#: groups of candidates for each of the best ones that is looked for
GROUPS_FOR_EACH = 4


def score_blocks(
    h: np.ndarray, coordinates: np.ndarray, sizes: np.ndarray, penalty: float
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield ⟨h_i, φ(z_j)⟩ − penalty·‖φ(z_j)‖² of some rows i at a time, in one array that each block overwrites.

    What is done with scores then finds them in cache, and memory for all of them is not asked for.

    Parameters
    ----------
    h : array of shape (n, r)
        Predictions.
    coordinates, sizes : arrays of shape (m, r) and (m,)
        φ(z_j), and ‖φ(z_j)‖².

    Examples
    --------
    >>> import numpy as np
    >>> for rows, scores in score_blocks(np.eye(2), np.eye(2), np.ones(2), 0.5):
    ...     print(rows, scores.tolist())
    slice(0, 2, None) [[0.5, -0.5], [-0.5, 0.5]]
    """
    step = max(1, min(RANKED_ROWS, len(h), RANKED_SCORES // len(sizes)))
    buffer, offset = np.empty((step, len(sizes))), penalty * sizes
    for start in range(0, len(h), step):
        rows = slice(start, min(start + step, len(h)))
        scores: Any = np.matmul(h[rows], coordinates.T, out=buffer[: rows.stop - start])
        if penalty:
            scores -= offset
        yield rows, scores


def best_first(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the indices of the k largest scores of each row, the largest first and of equal ones the first.

    Examples
    --------
    >>> import numpy as np
    >>> best_first(np.array([[0.5, 2.0, 0.5, 1.0]]), 3)
    array([[1, 3, 0]])
    """
    n, m = scores.shape
    if k == 1:
        return np.argmax(scores, axis=1)[:, None]
    width = m // max(GROUPS_FOR_EACH * k, math.isqrt(m))
    if width < 2:
        return np.argsort(-scores, axis=1, kind="stable")[:, :k]
    # the k-th largest of the maxima of groups is no larger than the k-th largest score: few scores are above it
    groups = m // width
    maxima = scores[:, : width * groups].reshape(n, width, groups).max(axis=1)
    bound = np.partition(maxima, groups - k, axis=1)[:, groups - k]
    rows, columns = np.nonzero(scores >= bound[:, None])
    order = np.lexsort((-scores[rows, columns], rows))  # stable, so that of equals the first comes first
    first = np.searchsorted(rows, np.arange(n))
    return columns[order[first[:, None] + np.arange(k)]]


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
