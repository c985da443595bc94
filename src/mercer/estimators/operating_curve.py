"""Sensitivity and specificity at each cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["OperatingCurve"]


@dataclass(frozen=True, eq=False)
class OperatingCurve:
    """What a classifier does at each cost: the points of an ROC curve, labelled by the cost that leads there.

    Parameters
    ----------
    costs : array of shape (k,)
        Costs θ of the positive class.
    sensitivity : array of shape (k,)
        Share of the positives that are called positive.
    specificity : array of shape (k,)
        Share of the negatives that are called negative.
    """

    costs: np.ndarray
    sensitivity: np.ndarray
    specificity: np.ndarray
