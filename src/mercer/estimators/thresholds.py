"""κ or ε of a loss by left-out curves: which values to try, and how well their fits predict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.outputs import Outputs
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import Smoothness, ridge_residuals
from mercer.losses import Loss, Threshold
from mercer.solvers import loss_path

__all__ = ["default_thresholds", "threshold_errors"]

#: number of thresholds to try, but for the largest one
N_THRESHOLDS = 11


def default_thresholds(sample: Sample, chosen: Smoothness, loss: Loss, threshold: Threshold, unit: float) -> np.ndarray:
    """Return thresholds in falling order, from the largest one that matters; ``unit`` is the typical ridge residual.

    Beyond the largest ridge residual a loss that is the square loss inside is ridge regression; beyond the largest
    curve the mean curve costs nothing for a loss that costs nothing inside.
    """
    outputs = sample.outputs
    ridge = threshold.inside == "square"
    compared = ridge_residuals(sample, chosen, loss) if ridge else to_numpy(outputs.values)
    top = float(np.max(outputs.residual_sizes(compared, loss.compares)))
    path = unit * np.geomspace(*threshold.span, N_THRESHOLDS)
    return np.append([top], path[path < top]) if top > 0 else path


def threshold_errors(
    given: Sample,
    folds: Iterable[tuple[np.ndarray, np.ndarray]],
    chosen: Smoothness,
    loss: Loss,
    values: np.ndarray,
    sizes: Callable[[Outputs, np.ndarray], np.ndarray],
    *,
    solver: Any,
    tol: float,
) -> np.ndarray:
    """Return the mean over held-out rows of ``sizes(outputs, residuals)``, shape (n,), for each threshold.

    Rows of weight 0 are left out of training and test; identical training rows are merged. The fits to a fold start
    from one another along the thresholds.
    """
    pairwise = chosen.kernel.pairwise
    weight = np.ones(len(given)) if given.weight is None else to_numpy(given.weight)
    errors, total = np.zeros(len(values)), 0.0
    for train, test in folds:
        train, test = (rows[weight[rows] > 0] for rows in (train, test))
        if len(train) == 0 or len(test) == 0:  # all of weight 0
            continue
        inside, X_test, outside = given.split(train, test, pairwise)
        inside = inside if pairwise else inside.merged()
        bound = inside.bind(chosen.kernel, chosen.output_kernel, loss)
        problem = inside.pose(bound, loss, chosen.alpha)
        threshold: Any = problem.loss.threshold  # where the problem has a loss of its own made of this one, that of it
        path = loss_path(problem, threshold.name, values, solver, tol=tol)
        for place, result in enumerate(path):
            residuals = outside.residuals(inside.predictor(bound, problem, result), X_test)
            errors[place] += weight[test] @ sizes(outside, residuals)
        total += float(weight[test].sum())
    return errors / total
