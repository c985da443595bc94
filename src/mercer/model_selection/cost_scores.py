"""What the errors of classifiers cost, as functions of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.binary_labels import whether_positive
from mercer.estimators.cost_sensitive import COST_HINT
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError
from mercer.model_selection.quantile_scores import _prepare
from mercer.quantile_function import check_levels

__all__ = ["decisions", "expected_cost"]


def expected_cost(positive: Any, called: Any, costs: Any, sample_weight: Any = None) -> np.ndarray:
    """Return the mean cost of errors at each θ_j, shape (m,): θ_j for a missed positive, 1 − θ_j for a false alarm.

    Parameters
    ----------
    positive : array of bool of shape (n,)
        Whether a row belongs to the positive class.
    called : array of bool of shape (n, m)
        Whether it is called positive at each cost. For a classifier with probabilities p of the positive class that
        is ``p[:, None] > 1 - costs``.
    costs : array of shape (m,)
        Costs θ in (0, 1).
    sample_weight : array of shape (n,), optional

    Examples
    --------
    >>> expected_cost([True, False], [[False, True], [True, False]], [0.25, 0.5])
    array([0.5, 0. ])
    """
    positive, called, share = _prepare(positive, called, sample_weight)
    costs = check_levels("expected_cost", costs, "costs", COST_HINT)
    if called.shape != (len(positive), len(costs)):
        raise DataError(
            f"called must have shape ({len(positive)}, {len(costs)}), a column for each cost; got {called.shape}."
        )
    if not all(np.all((array == 0) | (array == 1)) for array in (positive, called)):
        raise DataError("positive and called must be True or False. Compare labels with the positive one, y == label.")
    missed, alarms = (share * positive) @ (1 - called), (share * (1 - positive)) @ called
    return costs * missed + (1 - costs) * alarms


def decisions(estimator: Any, X: Any, y: Any, costs: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows are positive, (n,), and which a cost-sensitive classifier calls so at each cost, (n, m).

    The classifier may be wrapped: see :func:`~mercer.estimators.delegation.reach`.
    """
    model, inner = reach(estimator, X, "operating_curve")
    called = to_numpy(model.predict_at(inner, costs)) > 0
    return whether_positive(model, y, len(called)), called
