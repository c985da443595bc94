"""Bands around predicted curves, out of the residuals of curves that calibrate."""

from __future__ import annotations

import numpy as np

from mercer.estimators.calibration_rows import SCORE_ENTRIES
from mercer.estimators.modulation import Modulation
from mercer.estimators.outputs import Outputs

__all__ = ["conformal_band", "conformity_scores"]


def conformity_scores(residuals: Outputs, s: Modulation) -> np.ndarray:
    """Return max_θ |r_i(θ)|/s(θ) of each curve over what was observed of it, shape (n,)."""
    sizes = np.abs(residuals.relative_to(s))
    return residuals.largest(np.where(np.isnan(sizes), 0.0, sizes))


def conformal_band(predicted: list, widths: list, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return order statistics over i of f₋ᵢ ∓ width_i, from below the ranks-th largest, from above the smallest."""
    low, high = -_ordered([-f for f in predicted], widths, ranks), _ordered(predicted, widths, ranks)
    middle = (low + high) / 2
    return np.minimum(low, middle), np.maximum(high, middle)


def _ordered(predicted: list, widths: list, ranks: np.ndarray) -> np.ndarray:
    """Return the ranks-th smallest over i of f₋ᵢ(x) + width_i in each column, a row for each x."""
    index, some = ranks - 1, np.unique(ranks - 1)
    if len(predicted) == 1:  # the order is that of the widths, at each x
        return predicted[0] + np.take_along_axis(np.partition(widths[0], some, axis=0), index[None, :], axis=0)
    step = max(1, SCORE_ENTRIES // sum(width.size for width in widths))
    blocks = []
    for start in range(0, len(predicted[0]), step):
        moved = [f[start : start + step, None, :] + width for f, width in zip(predicted, widths, strict=True)]
        ordered = np.partition(np.concatenate(moved, axis=1), some, axis=1)
        blocks.append(np.take_along_axis(ordered, index[None, None, :], axis=1)[:, 0])
    return np.concatenate(blocks)
