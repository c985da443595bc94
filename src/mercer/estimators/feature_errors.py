"""Left-out errors of ridge regression in the features that a kernel is made of, for all λ from one pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.linalg import right_factor
from mercer.losses import Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations, leave_one_out_errors

__all__ = ["errors_of_features", "outnumber", "output_factor"]

#: rows that products of features are added up of: more of them hardly change λ
FEATURE_ROWS = 100_000


def output_factor(bound: Any) -> tuple[Measure, np.ndarray]:
    """Return the nodes that a bound kernel k_X·k_Θ has its outputs at, and R with RRᵀ = K_Θ there."""
    measure = bound.measure
    weights = np.asarray(to_numpy(measure.weights), dtype=float)
    return measure, right_factor(to_numpy(bound.output_gram().to_dense()), weights)


def outnumber(kernel: Any, X: np.ndarray) -> bool:
    """Whether there are more features than rows, so that products of features are the larger matrix."""
    return bool(kernel.features(X[:1, :]).shape[1] > len(X))


def errors_of_features(
    bound: Any, X: np.ndarray, Y: np.ndarray, weight: Any, fit_intercept: bool, alphas: np.ndarray, judged: int
) -> np.ndarray:
    """Return the leave-one-out error of ridge regression for each λ, learned from all rows (of 100 000 at most).

    One pass adds up products of features (:class:`~mercer.solvers.NormalEquations`); then the errors of some rows are
    averaged. Where rows are fewer than features, their Gram matrix is the smaller one, and all rows are judged.

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
    judged : int
        Rows at most whose errors are looked at, at equal steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.features import RandomFourier
    >>> from mercer.kernels import Gaussian, Identity
    >>> from mercer.measures import Points
    >>> from mercer.operator_valued import Decomposable
    >>> X = np.random.default_rng(0).uniform(size=(60, 2))
    >>> waves = RandomFourier(20, random_state=0).bind(Gaussian(1.0), X)
    >>> bound = Decomposable(waves, Identity()).bind(Points([0.0], [1.0]).build())
    >>> large, small = errors_of_features(bound, X, np.sin(5 * X[:, :1]), None, True, np.array([1.0, 1e-4]), 60)
    >>> bool(small < large)
    True
    """
    if outnumber(bound.kernel, X):
        problem = DualProblem(bound.gram(X), Square(), Y, bound.measure, 1.0, weight, fit_intercept)
        return leave_one_out_errors(problem, alphas)

    def rows(most: int) -> ArrayRows:
        some = np.unique(np.linspace(0, len(X) - 1, min(len(X), most)).round().astype(int))
        return ArrayRows(X[some], Y[some], None if weight is None else weight[some])

    equations = NormalEquations(bound.kernel, *output_factor(bound), fit_intercept)
    return equations.read(rows(FEATURE_ROWS)).solve(alphas).leave_one_out_errors(rows(judged))
