"""Smoothness and thresholds without tuning: λ and the scale of k_Θ by ridge regression, κ and ε by its residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.backend import as_like
from mercer.estimators.curves import GridCurves, ScatteredCurves
from mercer.estimators.functional_model import mean_function, nodes_of, pose, residual_sizes, squared_error
from mercer.estimators.validation import take_columns, take_rows
from mercer.kernels import Gaussian, Identity, Kernel
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Loss, Square
from mercer.measures import Measure
from mercer.solvers import ClosedForm, leave_one_out_errors

__all__ = ["ALPHAS", "choose_smoothness", "default_output_kernels", "thresholds"]

#: λ to choose from, in closed form
ALPHAS = np.logspace(-8, 1, 37)
#: λ to choose from where each of them takes a solve
FEW_ALPHAS = np.logspace(-6, 0, 7)
#: rows that the choice looks at with a complete grid, and without one
MOST_ROWS, FEW_ROWS = 2000, 150
#: scales of the default output kernel, as divisors of the median distance of the grid
DIVISORS = (1.0, 2.0, 4.0, 8.0, 16.0)
#: errors that differ by less than this, relatively, are equal but for rounding
TIE = 1e-6
#: κ and ε in units of the median size of ridge residuals: few with Gaussian noise are beyond κ, half within ε
KAPPA, EPSILON = 1.345, 1.0

Curves = GridCurves | ScatteredCurves


def default_output_kernels(nodes: Measure, has_grid: bool) -> list[Kernel]:
    """Return the candidates for k_Θ where none is given: identity for mere columns, Gaussians of falling scale."""
    if not has_grid or len(nodes) == 1:
        return [Identity()]
    widest: Any = Gaussian("median").adapt(nodes.points)
    return [Gaussian(float(widest.gamma) * divisor**2) for divisor in DIVISORS]


def choose_smoothness(
    X: Any,
    curves: Curves,
    weight: Any,
    kernels: Sequence[Kernel],
    alpha: float | None,
    bind: Callable[[Curves, Kernel], Any],
    intercept: bool,
) -> tuple[Kernel, float]:
    """Return the output kernel and λ whose ridge regression predicts left-out curves best.

    On a complete grid the error is that of leave-one-out, in closed form; otherwise curves are left out by halves, λ
    and scales are fewer, and at most 150 curves are looked at. Where several are as good, the smoothest is taken.

    Parameters
    ----------
    X, curves, weight
        The data.
    kernels : list of Kernel
        Candidates for k_Θ, smooth ones first.
    alpha : float or None
        λ where it is given.
    bind : callable
        Binds an output kernel to the representation of curves.
    intercept : bool
        Whether there is a mean curve.
    """
    if len(kernels) == 1 and alpha is not None:
        return kernels[0], alpha
    if curves.complete:
        alphas = ALPHAS if alpha is None else np.array([alpha])
        X, curves, weight = _some(X, curves, weight, MOST_ROWS, bind(curves, kernels[0]).kernel.pairwise)
        errors = np.array([_left_out_one(X, curves, weight, bind(curves, k), alphas, intercept) for k in kernels])
    else:
        alphas = FEW_ALPHAS if alpha is None else np.array([alpha])
        kernels = kernels[::2]
        X, curves, weight = _some(X, curves, weight, FEW_ROWS, bind(curves, kernels[0]).kernel.pairwise)
        errors = np.array([_left_out_half(X, curves, weight, k, alphas, bind, intercept) for k in kernels])
    as_good = np.argwhere(errors <= np.nanmin(errors) * (1 + TIE))
    which, where = min(as_good.tolist(), key=lambda pair: (pair[0], -pair[1]))
    return kernels[which], float(alphas[where])


def _some(X: Any, curves: Curves, weight: Any, most: int, pairwise: bool) -> tuple[Any, Curves, Any]:
    """Return at most so many rows, at equal steps."""
    n = len(curves)
    if n <= most:
        return X, curves, weight
    rows = np.unique(np.linspace(0, n - 1, most).round().astype(int))
    return _rows(X, rows, pairwise), curves.take(rows), None if weight is None else take_rows(weight, rows)


def _rows(X: Any, rows: np.ndarray, pairwise: bool) -> Any:
    X = take_rows(X, rows)
    return take_columns(X, rows) if pairwise else X


def _left_out_one(X: Any, curves: Curves, weight: Any, bound: Any, alphas: np.ndarray, intercept: bool) -> np.ndarray:
    return leave_one_out_errors(pose(curves, bound, X, Square(), 1.0, weight, intercept), alphas)


def _left_out_half(
    X: Any, curves: Curves, weight: Any, kernel: Kernel, alphas: np.ndarray, bind: Any, intercept: bool
) -> np.ndarray:
    """Return the mean squared error on each half of the curves of a fit to the other half, for each λ."""
    n = len(curves)
    if n < 2:
        return np.zeros(len(alphas))
    errors = np.zeros(len(alphas))
    for side in (0, 1):
        train, test = np.arange(side, n, 2), np.arange(1 - side, n, 2)
        inside, outside = curves.take(train), curves.take(test)
        bound = bind(inside, kernel)
        X_train = _rows(X, train, bound.kernel.pairwise)
        X_test = take_rows(X, test)
        X_test = take_columns(X_test, train) if bound.kernel.pairwise else X_test
        problem = pose(
            inside, bound, X_train, Square(), 1.0, None if weight is None else take_rows(weight, train), intercept
        )
        for k, alpha in enumerate(alphas):
            at_alpha = problem.with_alpha(float(alpha))
            result = ClosedForm(tol=1e-3).solve(at_alpha)
            errors[k] += _error(bound, at_alpha, result, X_test, X_train, outside)
    return errors


def _error(bound: Any, problem: Any, result: Any, X: Any, X_fit: Any, curves: Curves) -> float:
    """Return the mean squared error on observed values of curves that were left out."""
    coef = problem.primal_coef(result.coef)

    def predict(X, points):
        b = mean_function(result.intercept, nodes_of(curves), bound.output_kernel, points)
        return bound.evaluate(X, X_fit, coef, as_like(points, X)) + b[None, :]

    return squared_error(predict, X, curves)[0]


def thresholds(loss: Loss, curves: Curves, residuals: np.ndarray) -> Loss:
    """Return the loss with κ or ε in proportion to the median size of ridge residuals: of curves, or of points."""
    sizes = residual_sizes(curves, residuals, loss.pointwise)
    typical = float(np.median(sizes))
    typical = typical if typical > 0 else float(np.max(sizes)) or 1.0
    if isinstance(loss, Huber):
        return loss.replace(kappa=KAPPA * typical)
    if isinstance(loss, (EpsilonRidge, EpsilonInsensitive)):
        return loss.replace(epsilon=EPSILON * typical)
    return loss
