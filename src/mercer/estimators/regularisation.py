"""λ without tuning: from the leave-one-out error of the square loss, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import is_numpy, to_numpy
from mercer.estimators.feature_errors import errors_of_features, outnumber
from mercer.exceptions import parameter_error
from mercer.losses import Square
from mercer.magnitudes import SMALLEST_SPREAD, check_alpha
from mercer.operator_valued import BoundDecomposable
from mercer.problems import DualProblem
from mercer.solvers import leave_one_out_errors

__all__ = ["CHOOSING", "alpha_of_features", "choose_alpha", "mean_deviation", "smallest_alpha"]

#: what progress says of it
CHOOSING = "choosing alpha by leave-one-out"

#: rows that the choice looks at; more of them would cost more than the fit
MOST_ROWS = 2000
#: on data without noise the error falls with λ for ever; below 1e-6 fits are no better, and hard to certify
CANDIDATES = np.logspace(-6, 1, 29)
#: λ that features have to choose from, in units of that of the kernel: what they leave out of it acts as noise
ALPHA_FACTORS = np.logspace(-2, 6, 33)
#: another λ than that of the kernel must be better by 2/n, as a parameter is in Akaike's criterion
PRICE_OF_CHANGE = 2.0
#: errors that differ by less than this, relatively, are equal but for rounding
TIE = 1e-6


def choose_alpha(
    owner: Any,
    alpha: Any,
    bound: Any,
    growth: int,
    X: Any,
    y: Any,
    weight: Any,
    intercept: bool,
    most_rows: int = MOST_ROWS,
) -> float:
    """Return λ for a loss of the scale of |y|: a number as it is, ``"auto"`` by leave-one-out.

    λ minimises the closed-form leave-one-out error of the square loss with the same kernels, measure and intercept
    over a logarithmic grid, the largest one where several are as good; dividing it by the mean absolute deviation of y
    (from 0 without an intercept) carries it to losses that grow like |r|, and makes predictions equivariant to
    y ↦ cy + d (d = 0 without an intercept). Of more rows than ``most_rows``, so many at equal steps are used; features
    learn from all rows, and errors of so many are averaged.
    """
    if not isinstance(alpha, str):
        check_alpha(owner, alpha, "Or pass alpha='auto'.")
        return float(alpha)
    if alpha != "auto":
        raise parameter_error(owner, "alpha", alpha, "a positive number or 'auto'")
    residual, deviation = mean_deviation(y, weight, intercept)
    if deviation == 0:
        return 1.0
    weight = None if weight is None else to_numpy(weight).astype(float)
    rows = np.unique(np.linspace(0, len(residual) - 1, min(len(residual), most_rows)).round().astype(int))
    target = np.broadcast_to((residual / deviation)[:, None], (len(residual), len(bound.measure)))
    if most_rows >= MOST_ROWS and len(rows) < len(residual) and _streams(bound, X):  # a rough choice sees few rows
        errors = errors_of_features(bound, X, target, weight, intercept, CANDIDATES, most_rows)
    else:
        errors = _errors(bound, X, target, weight, intercept, rows)
    as_good = np.flatnonzero(errors <= errors.min() * (1 + TIE))
    return float(CANDIDATES[as_good[-1]] * deviation ** (growth - 2))


def _streams(bound: Any, X: Any) -> bool:
    """Whether products of features say all of many rows, and are no larger than the matrix of these."""
    explicit = isinstance(bound, BoundDecomposable) and bound.slopes is None and bound.kernel.explicit
    return explicit and is_numpy(X) and not outnumber(bound.kernel, X)


def _errors(bound: Any, X: Any, target: np.ndarray, weight: Any, intercept: bool, rows: np.ndarray) -> np.ndarray:
    """Return leave-one-out errors of some rows, learned from these."""
    X, target = to_numpy(X).astype(float), target[rows]
    X = X[np.ix_(rows, rows)] if bound.pairwise else X[rows]
    bound = bound.like(target)
    problem = DualProblem(
        bound.gram(X),
        Square(),
        target,
        bound.measure,
        1.0,
        None if weight is None else weight[rows],
        intercept,
    )
    return leave_one_out_errors(problem, CANDIDATES)


def alpha_of_features(
    bound: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, fit_intercept: bool, alpha: float
) -> float:
    """Return λ of ridge regression in features that have taken the place of a kernel whose λ is ``alpha``.

    It has the least leave-one-out error, or is ``alpha`` where no other is better by 2/n.

    Parameters
    ----------
    bound, X, Y, weight, fit_intercept
        As :func:`~mercer.estimators.feature_errors.errors_of_features` takes them.
    alpha : float
        λ of the kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian, Identity
    >>> from mercer.measures import Points
    >>> from mercer.operator_valued import Decomposable
    >>> X = np.random.default_rng(0).uniform(size=(60, 4))
    >>> y = np.sin(5 * X[:, :1])
    >>> few = RandomFourier(25, random_state=0).bind(Gaussian(4.0), X)
    >>> bound = Decomposable(few, Identity()).bind(Points([0.0], [1.0]).build())
    >>> bool(alpha_of_features(bound, X, y, None, True, 1e-6) > 1e-5)
    True
    """
    alphas = np.append(alpha * ALPHA_FACTORS, alpha)
    errors = errors_of_features(bound, X, Y, weight, fit_intercept, alphas, MOST_ROWS)
    if not errors.min() < (1 - PRICE_OF_CHANGE / len(X)) * errors[-1]:
        return alpha
    return float(max(alphas[errors <= errors.min() * (1 + TIE)]))


def smallest_alpha(growth: int, y: Any, weight: Any, intercept: bool) -> float:
    """Return the smallest λ that ``"auto"`` may choose, in the unit of y; smaller ones fit no better."""
    deviation = mean_deviation(y, weight, intercept)[1]
    return 1.0 if deviation == 0 else float(CANDIDATES[0] * deviation ** (growth - 2))


def mean_deviation(y: Any, weight: Any, intercept: bool) -> tuple[np.ndarray, float]:
    """Return y about its mean (about 0 without an intercept), and its mean size: 0 if that is lost in rounding."""
    y = to_numpy(y).astype(float)
    share = np.full(len(y), 1 / len(y)) if weight is None else to_numpy(weight).astype(float)
    share = share / share.sum()
    residual = y - share @ y if intercept else y
    deviation = float(share @ np.abs(residual))
    least = max(8 * np.finfo(float).eps * float(np.max(np.abs(y))), SMALLEST_SPREAD)
    return residual, deviation if deviation > least else 0.0
