"""The best of all label vectors."""

from __future__ import annotations

import numpy as np

__all__ = ["best_labels"]


def best_labels(values: np.ndarray, penalty: float, normalised: bool) -> np.ndarray:
    """Return z ∈ {0, 1}^p of the largest ⟨h, φ(z)⟩ − penalty·‖φ(z)‖² for each row h, with φ(z) = z or z/‖z‖.

    For φ(z) = z labels are called one by one, where h_j > penalty. For z/‖z‖ the best vector with k labels has those of
    the k largest values, of score (their sum)/√k − penalty; without labels the score is 0.

    Parameters
    ----------
    values : array of shape (n, p)
        h.

    Examples
    --------
    >>> import numpy as np
    >>> h = np.array([[0.9, 0.45, 0.1]])
    >>> best_labels(h, 0.5, normalised=False), best_labels(h, 0.5, normalised=True)
    (array([[ True, False, False]]), array([[ True,  True, False]]))
    """
    if not normalised:
        return values > penalty
    order = np.argsort(-values, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(values, order, axis=1), axis=1)
    scores = sums / np.sqrt(np.arange(1, values.shape[1] + 1)) - penalty
    size = np.where(np.max(scores, axis=1) > 0, np.argmax(scores, axis=1) + 1, 0)
    places = np.argsort(order, axis=1, kind="stable")
    return places < size[:, None]
