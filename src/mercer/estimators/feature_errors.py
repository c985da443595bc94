"""Ridge regression in the features that a kernel is made of: left-out errors of all λ, and λ by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.regularisation import MOST_ROWS, TIE
from mercer.linalg import right_factor
from mercer.measures import Measure
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations

__all__ = ["alpha_of_features", "errors_of_features", "output_factor"]

#: λ that features have to choose from, in units of that of the kernel: what they leave out of it acts as noise
ALPHA_FACTORS = np.logspace(-2, 6, 33)
#: another λ than that of the kernel must be better by 2/n, as a parameter is in Akaike's criterion
PRICE_OF_CHANGE = 2.0


def output_factor(bound: Any) -> tuple[Measure, np.ndarray]:
    """Return the nodes that a bound kernel k_X·k_Θ has its outputs at, and R with RRᵀ = K_Θ there."""
    measure = bound.measure
    weights = np.asarray(to_numpy(measure.weights), dtype=float)
    return measure, right_factor(to_numpy(bound.output_gram().to_dense()), weights)


def errors_of_features(
    bound: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, fit_intercept: bool, alphas: np.ndarray
) -> np.ndarray:
    """Return the leave-one-out error of ridge regression for each λ, learned from all rows.

    One pass adds up products of features (:class:`~mercer.solvers.NormalEquations`). Of many rows the errors of
    2 000, at equal steps, are averaged.

    Parameters
    ----------
    bound : BoundDecomposable
        With explicit features in place of k_X.
    X, Y : arrays of shape (n, d) and (n, m)
        Rows and complete targets.
    weight : array of shape (n,) or None
        Positive weights.
    fit_intercept : bool
        Whether there is b, free at each node.
    alphas : array of shape (k,)
        Values of λ.
    """
    equations = NormalEquations(bound.kernel, *output_factor(bound), fit_intercept)
    path = equations.read(ArrayRows(X, Y, weight)).solve(alphas)
    few = np.unique(np.linspace(0, len(X) - 1, min(len(X), MOST_ROWS)).round().astype(int))
    return path.leave_one_out_errors(ArrayRows(X[few], Y[few], None if weight is None else weight[few]))


def alpha_of_features(
    bound: Any, X: np.ndarray, Y: np.ndarray, weight: np.ndarray | None, fit_intercept: bool, alpha: float
) -> float:
    """Return λ for features that have taken the place of a kernel whose λ is ``alpha``.

    It has the least leave-one-out error, or is ``alpha`` where no other is better by 2/n.

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
    errors = errors_of_features(bound, X, Y, weight, fit_intercept, alphas)
    if not errors.min() < (1 - PRICE_OF_CHANGE / len(X)) * errors[-1]:
        return alpha
    return float(max(alphas[errors <= errors.min() * (1 + TIE)]))
