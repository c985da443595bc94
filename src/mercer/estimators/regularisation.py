"""λ without tuning: from the leave-one-out error of the square loss, in closed form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import copy_numpy
from mercer.exceptions import parameter_error
from mercer.losses import Square
from mercer.problems import DualProblem
from mercer.solvers import leave_one_out_errors

__all__ = ["choose_alpha"]

#: rows that the choice looks at; more of them would cost more than the fit
MOST_ROWS = 2000
CANDIDATES = np.logspace(-9, 1, 41)


def choose_alpha(owner: Any, alpha: Any, bound: Any, X: Any, y: Any, weight: Any, intercept: bool) -> float:
    """Return λ for a loss of the scale of |y|: a number as it is, ``"auto"`` by leave-one-out.

    λ minimises the closed-form leave-one-out error of the square loss with the same kernels, measure and intercept
    over a logarithmic grid; dividing it by the mean absolute deviation of y carries it to losses that grow
    like |r|, and makes predictions equivariant to y ↦ cy + d. Of more than 2 000 rows, 2 000 at equal steps are used.
    """
    if not isinstance(alpha, str):
        check_number(owner, "alpha", alpha, low=0, hint="Or pass alpha='auto'.")
        return float(alpha)
    if alpha != "auto":
        raise parameter_error(owner, "alpha", alpha, "a positive number or 'auto'")
    y, weight = copy_numpy(y).astype(float), None if weight is None else copy_numpy(weight).astype(float)
    share = np.full(len(y), 1 / len(y)) if weight is None else weight / weight.sum()
    deviation = float(share @ np.abs(y - share @ y))
    if deviation == 0:
        return 1.0
    rows = np.unique(np.linspace(0, len(y) - 1, min(len(y), MOST_ROWS)).round().astype(int))
    target = np.broadcast_to(((y - share @ y) / deviation)[rows, None], (len(rows), len(bound.measure)))
    bound = replace(bound, measure=bound.measure.like(target))
    problem = DualProblem(
        bound.gram(copy_numpy(X).astype(float)[rows]),
        Square(),
        target,
        bound.measure,
        1.0,
        None if weight is None else weight[rows],
        intercept,
    )
    errors = leave_one_out_errors(problem, CANDIDATES)
    return float(CANDIDATES[int(np.argmin(errors))] / deviation)
