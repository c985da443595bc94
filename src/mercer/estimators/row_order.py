"""An order of rows that is the same however they came."""

from __future__ import annotations

import numpy as np

__all__ = ["canonical_order"]


def canonical_order(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the order of the rows by y, then by their size in standard deviations, then by columns.

    Folds and subsets are drawn from it, so that neither the order of rows nor that of columns matters.
    """
    spread = X.std(axis=0)
    size = np.sum(((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) ** 2, axis=1)
    return np.lexsort([*X.T, size.round(6), y])
