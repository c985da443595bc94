"""From curves and kernels to a problem, and from its intercept back to a mean curve."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backend import machine_epsilon, namespace, to_numpy
from mercer.estimators.curves import GridCurves, ScatteredCurves
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.validation import merge_duplicates, take_columns, take_rows
from mercer.kernels import Kernel
from mercer.losses import Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import Basis, BoundBasis, BoundCoefficients, BoundPairs, Decomposable, ExpansionKernel
from mercer.problems import DualProblem, curve_problem

__all__ = [
    "CurveSample",
    "capped_sizes",
    "centred",
    "curve_norms",
    "dual_support",
    "nodes_of",
    "residuals_of",
    "squared_errors",
    "total_variation",
    "typical_size",
    "value_sizes",
]

#: prior variance of a smooth mean curve, in units of that of the deviations from it
MEAN_SCALE = 100.0
#: scattered curves whose points are predicted together
BLOCK_CURVES = 64
#: bins for the mean curve of scattered observations
MEAN_BINS = 20
#: inner products of basis functions up to which they are orthonormal
ORTHONORMAL = 1e-5

Curves = GridCurves | ScatteredCurves
#: (X, points) → values of shape (len(X), len(points)·p)
Predict = Callable[[Any, np.ndarray], Any]


@dataclass(frozen=True, eq=False)
class CurveSample:
    """Inputs and curves with their weights, and how the curves are to be represented.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs, or their Gram matrix.
    curves : GridCurves or ScatteredCurves
        What was observed.
    weight : array of shape (n,) or None
        Positive weights.
    output_matrix : array of shape (p, p) or None
        A.
    basis : Basis, BoundBasis or None
        Functions that k_Θ is truncated to; a bound one does not depend on k_Θ.
    fit_intercept : bool
        Whether there is a mean curve.
    """

    X: Any
    curves: Curves
    weight: Any = None
    output_matrix: Any = None
    basis: Basis | BoundBasis | None = None
    fit_intercept: bool = True

    def __len__(self) -> int:
        return len(self.curves)

    @property
    def measure(self) -> Measure:
        """The points of Θ that were looked at, with their share of all observations: the grid where there is one."""
        if isinstance(self.curves, GridCurves):
            return self.curves.nodes
        distinct, where = np.unique(self.curves.points, axis=0, return_inverse=True)
        weights = np.bincount(where.ravel(), weights=self.curves.weights)
        return Measure(distinct, weights / weights.sum())

    def take(self, rows: np.ndarray, pairwise: bool) -> CurveSample:
        """Return some of the rows; of a Gram matrix (``pairwise``) the columns, too."""
        X = take_rows(self.X, rows)
        weight = None if self.weight is None else take_rows(self.weight, rows)
        return replace(self, X=take_columns(X, rows) if pairwise else X, curves=self.curves.take(rows), weight=weight)

    def merged(self) -> CurveSample:
        """Return distinct pairs of inputs and curves with summed weights: the same objective."""
        if not isinstance(self.curves, GridCurves):
            return self._merged_scattered(self.curves)
        X, values, weight = merge_duplicates(self.X, self.curves.values, self.weight)
        return replace(self, X=X, curves=replace(self.curves, values=values), weight=weight)

    def _merged_scattered(self, curves: ScatteredCurves) -> CurveSample:
        edges = np.searchsorted(curves.rows, np.arange(len(curves) + 1))
        parts = (curves.points, curves.values, curves.weights)
        first: dict[tuple[bytes, ...], int] = {}
        group = np.empty(len(curves), dtype=int)
        for i, (start, stop) in enumerate(itertools.pairwise(edges)):
            key = (self.X[i].tobytes(), *(part[start:stop].tobytes() for part in parts))
            group[i] = first.setdefault(key, i)
        keep, where = np.unique(group, return_inverse=True)
        if len(keep) == len(curves):
            return self
        weight = np.bincount(where, weights=None if self.weight is None else to_numpy(self.weight)).astype(float)
        return replace(self, X=self.X[keep], curves=curves.take(keep), weight=weight)

    def bind(self, kernel: Kernel, output_kernel: Kernel, loss: Loss) -> Any:
        """Return the bound kernel that represents the curves.

        A basis truncates the output kernel. Square and norm losses of complete curves without an intercept then work on
        coefficients, as many as the basis has functions, where these are orthonormal on the grid; everything else has
        the truncated kernel at the points.
        """
        curves, p = self.curves, self.curves.n_components
        if self.basis is not None:
            bound = self.basis.bind(self.measure, output_kernel) if isinstance(self.basis, Basis) else self.basis
            by_norm = (isinstance(loss, Square) or not loss.pointwise) and not self.fit_intercept
            complete = isinstance(curves, GridCurves) and curves.complete
            if by_norm and complete and bound.defect(self.measure) <= ORTHONORMAL:
                return BoundCoefficients(kernel, bound, self.measure, p, self.output_matrix)
            output_kernel = ExpansionKernel(bound)
        if isinstance(curves, GridCurves):
            return Decomposable(kernel, output_kernel, self.output_matrix).bind(curves.nodes, n_components=p)
        scale = MEAN_SCALE if self.fit_intercept else 0.0
        return BoundPairs(kernel, output_kernel, curves.rows, curves.points, p, self.output_matrix, scale)

    def pose(self, bound: Any, loss: Loss, alpha: float) -> DualProblem:
        """Return the problem of fitting the curves: its rows are curves on a grid, or single observations."""
        curves, gram = self.curves, bound.gram(self.X)
        if isinstance(curves, GridCurves):
            Y = bound.analyse(curves.values)
            return DualProblem(gram, loss, Y, bound.measure, alpha, self.weight, self.fit_intercept)
        weight = None if self.weight is None else to_numpy(self.weight)
        rows, weights = curves.rows, curves.weights
        return curve_problem(
            gram,
            loss,
            curves.values,
            rows,
            alpha,
            weights=weights,
            sample_weight=weight,
            fit_intercept=self.fit_intercept,
            n_curves=len(curves),
        )

    def predictor(self, bound: Any, problem: DualProblem, result: Any) -> Predict:
        """Return h + b of a solved problem as a function of inputs and points."""
        expansion, nodes = bound.expand(self.X, problem.primal_coef(result.coef)), nodes_of(self.curves)

        def predict(X: Any, points: np.ndarray) -> Any:
            h = expansion.evaluate(X, points)
            if not self.fit_intercept:
                return h
            return h + InterceptFunction(result.intercept, nodes).evaluate(points)[None, :]

        return predict


def centred(curves: Curves) -> tuple[Any, Curves]:
    """Return the mean of the curves, at each node or of all scattered values, and the curves without it.

    Beside a free mean curve this changes nothing but rounding: of curves far from 0 the digits would be lost.
    """
    values = curves.values
    xp = namespace(values)
    seen = ~xp.isnan(values)
    count = xp.sum(xp.astype(seen, values.dtype), axis=0)
    centre = xp.sum(xp.where(seen, values, xp.zeros_like(values)) / count[None, :], axis=0)
    rest = values - centre[None, :]
    rounding = xp.abs(rest) <= 8 * machine_epsilon(values) * xp.abs(centre)[None, :]
    return centre, replace(curves, values=xp.where(rounding, xp.zeros_like(rest), rest))


def nodes_of(curves: Curves) -> Measure | None:
    """Return the nodes at which there is an intercept; scattered curves have none."""
    return curves.nodes if isinstance(curves, GridCurves) else None


def curve_norms(curves: Curves, residuals: np.ndarray) -> np.ndarray:
    """Return ‖r_i‖ of residuals where curves were observed, in their own layout."""
    if isinstance(curves, ScatteredCurves):
        squares = curves.weights * np.sum(residuals**2, axis=1)
        return np.sqrt(np.bincount(curves.rows, weights=squares, minlength=len(curves)))
    weights = np.repeat(to_numpy(curves.nodes.weights), curves.n_components)
    return np.sqrt((np.where(np.isnan(to_numpy(curves.values)), 0.0, residuals) ** 2) @ weights)


def capped_sizes(curves: Curves, residuals: np.ndarray, cap: float, pointwise: bool) -> np.ndarray:
    """Return min(‖r_i‖, cap) or, pointwise, the integral of min(|r_i(θ)|, cap) over what was observed of each curve."""
    if not pointwise:
        return np.minimum(curve_norms(curves, residuals), cap)
    return curve_norms(curves, np.sqrt(np.minimum(np.abs(residuals), cap))) ** 2


def value_sizes(curves: Curves, residuals: np.ndarray) -> np.ndarray:
    """Return |r| of all observed values, flat."""
    if isinstance(curves, ScatteredCurves):
        return np.abs(residuals).ravel()
    return np.abs(residuals)[~np.isnan(to_numpy(curves.values))]


def typical_size(sample: CurveSample, residuals: np.ndarray, pointwise: bool) -> float:
    """Return the weighted median of the sizes of residuals, of curves or of values: their mean if most are 0."""
    curves = sample.curves
    s = np.ones(len(curves)) if sample.weight is None else to_numpy(sample.weight)
    if not pointwise:
        sizes, weights = curve_norms(curves, residuals), s
    else:
        sizes = value_sizes(curves, residuals)
        if isinstance(curves, ScatteredCurves):
            weights = np.repeat(s[curves.rows] * curves.weights, curves.n_components)
        else:
            every = s[:, None] * np.repeat(to_numpy(curves.nodes.weights), curves.n_components)
            weights = every[~np.isnan(to_numpy(curves.values))]
    order = np.argsort(sizes)
    half = np.searchsorted(np.cumsum(weights[order]), 0.5 * weights.sum())
    median = float(sizes[order[min(half, len(order) - 1)]])
    return median if median > 0 else float(weights @ sizes / weights.sum()) or 1.0


def dual_support(curves: Curves, problem: DualProblem, loss: Loss, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which curves carry a model, and which of them are at the bound of the dual, where the loss is linear."""
    if isinstance(curves, ScatteredCurves):
        largest = np.zeros(len(curves))
        np.maximum.at(largest, curves.rows, np.max(np.abs(A), axis=1))
        largest = largest if loss.pointwise else curve_norms(curves, A)
    else:
        largest = np.max(np.abs(A), axis=1) if loss.pointwise else to_numpy(problem.measure.norm(A))
    support = np.flatnonzero(largest > 1e-12 * max(float(largest.max()), np.finfo(float).tiny))
    return support, np.flatnonzero(largest >= (1 - 1e-3) * loss.dual_bound)


def residuals_of(predict: Predict, X: Any, curves: Curves) -> np.ndarray:
    """Return y − f(x) in the layout of the curves, NaN where a grid was not observed."""
    if isinstance(curves, GridCurves):
        return to_numpy(curves.values) - to_numpy(predict(X, to_numpy(curves.nodes.points)))
    residuals = curves.values.copy()
    for start in range(0, len(curves), BLOCK_CURVES):
        inside = (curves.rows >= start) & (curves.rows < start + BLOCK_CURVES)
        points, where = np.unique(curves.points[inside], axis=0, return_inverse=True)
        values = to_numpy(predict(X[start : start + BLOCK_CURVES, :], points))
        values = values.reshape(len(values), len(points), -1)
        residuals[inside] -= values[curves.rows[inside] - start, where.ravel()]
    return residuals


def squared_errors(predict: Predict, X: Any, curves: Curves) -> np.ndarray:
    """Return ‖y_i − f(x_i)‖² over observed values, for each curve."""
    return curve_norms(curves, residuals_of(predict, X, curves)) ** 2


def total_variation(curves: Curves, weight: Any = None) -> tuple[float, float]:
    """Return Σ_i s_i ‖y_i − ȳ‖² over observed values, and what of it may be rounding.

    ȳ is the mean curve, that of scattered curves by :func:`scattered_mean`.
    """
    s = np.ones(len(curves)) if weight is None else to_numpy(weight)
    if isinstance(curves, GridCurves):
        values = to_numpy(curves.values)
        counts = s[:, None] * ~np.isnan(values)
        mean = np.nansum(s[:, None] * values, axis=0) / np.maximum(counts.sum(axis=0), np.finfo(float).tiny)
    else:
        values = curves.values
        mean = scattered_mean(curves, s[curves.rows] * curves.weights)
    variation, size = (s @ curve_norms(curves, r) ** 2 for r in (values - mean, values))
    return float(variation), (8 * np.finfo(float).eps) ** 2 * float(size)


def scattered_mean(curves: ScatteredCurves, share: np.ndarray) -> np.ndarray:
    """Return the mean curve at each observation, shape (N, p): of all values at its point where points are shared.

    Otherwise, on the line, it is the straight lines through the means over bins of 20 observations at least, 20 bins at
    most; in other domains the mean of all values.
    """
    distinct, group = np.unique(curves.points, axis=0, return_inverse=True)
    group, n, shared = group.ravel(), len(curves.points), 2 * len(distinct) <= len(curves.points)
    if not shared:
        bins = min(MEAN_BINS, n // MEAN_BINS) if curves.points.shape[1] == 1 else 1
        ranks = np.argsort(np.argsort(curves.points[:, 0], kind="stable"), kind="stable")
        group = ranks * max(bins, 1) // n
    mass = np.bincount(group, weights=share)
    means = np.column_stack([np.bincount(group, weights=share * column) for column in curves.values.T]) / mass[:, None]
    if shared or len(means) == 1:
        return means[group]
    centres = np.bincount(group, weights=share * curves.points[:, 0]) / mass
    return np.column_stack([np.interp(curves.points[:, 0], centres, column) for column in means.T])
