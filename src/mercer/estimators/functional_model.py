"""From curves and kernels to a problem, and from its intercept back to a mean curve."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.estimators.curves import GridCurves, ScatteredCurves
from mercer.functions import interpolation, interpolation_slopes
from mercer.kernels import Kernel
from mercer.losses import Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import Basis, BoundComponents, BoundExpansion, BoundPairs, ExpansionKernel
from mercer.problems import DualProblem, curve_problem

__all__ = [
    "bind_curves",
    "mean_function",
    "nodes_of",
    "pooled_measure",
    "pose",
    "residual_sizes",
    "squared_error",
    "total_variation",
]

#: prior variance of a smooth mean curve, in units of that of the deviations from it
MEAN_SCALE = 100.0
#: scattered curves whose points are predicted together
BLOCK_CURVES = 64


def pooled_measure(curves: GridCurves | ScatteredCurves) -> Measure:
    """Return the points of Θ that were looked at, with their share of all observations: the grid where there is one."""
    if isinstance(curves, GridCurves):
        return curves.nodes
    distinct, where = np.unique(curves.points, axis=0, return_inverse=True)
    weights = np.bincount(where.ravel(), weights=curves.weights)
    return Measure(distinct, weights / weights.sum())


def bind_curves(
    curves: GridCurves | ScatteredCurves,
    kernel: Kernel,
    output_kernel: Kernel,
    output_matrix: Any,
    basis: Basis | None,
    loss: Loss,
    fit_intercept: bool,
) -> Any:
    """Return the bound kernel that represents the curves.

    A basis truncates the output kernel. Square and norm losses of complete curves without an intercept then work on
    coefficients, as many as the basis has functions; everything else has the truncated kernel at the points.
    """
    if basis is not None:
        bound = basis.bind(pooled_measure(curves), output_kernel)
        coefficients = isinstance(loss, Square) or not loss.pointwise
        if coefficients and not fit_intercept and isinstance(curves, GridCurves) and curves.complete:
            return BoundExpansion(kernel, bound, curves.nodes, curves.n_components, output_matrix)
        output_kernel = ExpansionKernel(bound)
    if isinstance(curves, GridCurves):
        return BoundComponents(kernel, output_kernel, curves.nodes, curves.n_components, output_matrix)
    scale = MEAN_SCALE if fit_intercept else 0.0
    return BoundPairs(kernel, output_kernel, curves.rows, curves.points, curves.n_components, output_matrix, scale)


def pose(
    curves: GridCurves | ScatteredCurves, bound: Any, X: Any, loss: Loss, alpha: float, weight: Any, intercept: bool
) -> DualProblem:
    """Return the problem of fitting the curves: its rows are curves on a grid, or single observations."""
    if isinstance(curves, GridCurves):
        Y = bound.analyse(curves.values)
        return DualProblem(bound.gram(X), loss, Y, bound.measure, alpha, weight, intercept)
    return curve_problem(
        bound.gram(X),
        loss,
        curves.values,
        curves.rows,
        alpha,
        weights=curves.weights,
        sample_weight=None if weight is None else to_numpy(weight),
        fit_intercept=intercept,
    )


def nodes_of(curves: GridCurves | ScatteredCurves) -> Measure | None:
    """Return the nodes at which there is an intercept; scattered curves have none."""
    return curves.nodes if isinstance(curves, GridCurves) else None


def residual_sizes(curves: GridCurves | ScatteredCurves, residuals: Any, pointwise: bool) -> np.ndarray:
    """Return the sizes of residuals that a loss sees: at each observed point, or the norm of each curve."""
    r = to_numpy(residuals)
    if isinstance(curves, GridCurves):
        observed = ~np.isnan(to_numpy(curves.values))
        if pointwise:
            return np.abs(r)[observed] if r.shape == observed.shape else np.abs(r).ravel()
        if r.shape != observed.shape:  # coefficients in an orthonormal basis
            return np.sqrt(np.sum(r**2, axis=1))
        weights = np.repeat(to_numpy(curves.nodes.weights), curves.n_components)
        return np.sqrt((np.where(observed, r, 0.0) ** 2) @ weights)
    if pointwise:
        return np.abs(r).ravel()
    return np.sqrt(np.bincount(curves.rows, weights=curves.weights * np.sum(r**2, axis=1), minlength=len(curves)))


def squared_error(predict: Any, X: Any, curves: GridCurves | ScatteredCurves, weight: Any = None) -> tuple[float, Any]:
    """Return Σ_i s_i ‖y_i − f(x_i)‖² over observed values, and the predictions in the layout of the observations.

    Parameters
    ----------
    predict : callable
        (X, points) → values of shape (len(X), len(points)·p).
    X, curves, weight
        Inputs, what was observed for them, and weights s.
    """
    s = np.ones(len(curves)) if weight is None else to_numpy(weight)
    if isinstance(curves, GridCurves):
        predicted = to_numpy(predict(X, to_numpy(curves.nodes.points)))
        weights = np.repeat(to_numpy(curves.nodes.weights), curves.n_components)
        return float(s @ (np.nan_to_num((to_numpy(curves.values) - predicted) ** 2) @ weights)), predicted
    predicted = np.empty_like(curves.values)
    for start in range(0, len(curves), BLOCK_CURVES):
        inside = (curves.rows >= start) & (curves.rows < start + BLOCK_CURVES)
        points, where = np.unique(curves.points[inside], axis=0, return_inverse=True)
        values = to_numpy(predict(X[start : start + BLOCK_CURVES, :], points))
        values = values.reshape(len(values), len(points), -1)
        predicted[inside] = values[curves.rows[inside] - start, where.ravel()]
    error = np.sum((curves.values - predicted) ** 2, axis=1)
    return float((s[curves.rows] * curves.weights) @ error), predicted


def total_variation(curves: GridCurves | ScatteredCurves, weight: Any = None) -> float:
    """Return Σ_i s_i ‖y_i − ȳ‖² over observed values, ȳ the mean curve, or the mean value of scattered curves."""
    s = np.ones(len(curves)) if weight is None else to_numpy(weight)
    if isinstance(curves, GridCurves):
        values = to_numpy(curves.values)
        counts = s[:, None] * ~np.isnan(values)
        centred = np.nan_to_num(
            values - np.nansum(s[:, None] * values, axis=0) / np.maximum(counts.sum(axis=0), 1e-300)
        )
        weights = np.repeat(to_numpy(curves.nodes.weights), curves.n_components)
        return float(s @ (centred**2 @ weights))
    share = s[curves.rows] * curves.weights
    mean = share @ curves.values / share.sum()
    return float(share @ np.sum((curves.values - mean) ** 2, axis=1))


def mean_function(
    intercept: Any, nodes: Measure | None, output_kernel: Kernel, points: np.ndarray, derivative: bool = False
) -> Any:
    """Return the intercept at any points, shape (k·p,): at the nodes it is b itself.

    In between it is

    - on the line the straight lines through b, constant beyond;
    - in the plane and beyond the interpolant of b by the output kernel;
    - without nodes (scattered observations) the constant that it is.
    """
    xp = namespace(intercept)
    if nodes is None:
        constant = 0 * intercept if derivative else intercept
        return xp.reshape(xp.broadcast_to(constant[None, :], (len(points), constant.shape[0])), (-1,))
    b = xp.reshape(intercept, (len(nodes), -1))
    if nodes.points.shape[1] == 1:
        weights = (interpolation_slopes if derivative else interpolation)(nodes.locations, points[:, 0])
    else:
        on_nodes = to_numpy(output_kernel(nodes.points)).astype(float)
        section = to_numpy(output_kernel(nodes.points, as_like(points, nodes.points))).astype(float)
        weights = np.linalg.pinv(on_nodes, rcond=1e-10, hermitian=True) @ section
    return xp.reshape(as_like(weights, b).T @ b, (-1,))
