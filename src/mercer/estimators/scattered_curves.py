"""Curves that were observed at points of their own."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.backend import require_numpy, to_numpy
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.outputs import Outputs, Predict
from mercer.estimators.validation import as_points
from mercer.exceptions import parameter_error
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.measures import Measure, MeasureRule, Points
from mercer.operator_valued import BoundPairs
from mercer.problems import DualProblem, curve_problem

__all__ = ["ScatteredCurves"]

#: curves whose points are predicted together
BLOCK_CURVES = 64
#: bins for the mean curve, and observations in each of them at least
MEAN_BINS = 20
#: points of the default grid of predictions
DEFAULT_GRID = 101


@dataclass(frozen=True, eq=False)
class ScatteredCurves(Outputs):
    """n curves, each observed at points of its own: N observations in all.

    Parameters
    ----------
    rows : array of int of shape (N,)
        Which curve an observation belongs to, nondecreasing.
    points : array of shape (N, d)
        Where it was made.
    values : array of shape (N, p)
        What was observed.
    weights : array of shape (N,)
        How much it counts within its curve; 1/m_i by default.
    n_curves : int
        n.
    n_dims : int
        2 for real values, 3 for values in R^p.
    """

    rows: np.ndarray
    points: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    n_curves: int
    n_dims: int

    located = True
    on_grid = False

    def __len__(self) -> int:
        return self.n_curves

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of components p of a value."""
        return int(self.values.shape[1])

    @property
    def complete(self) -> bool:
        """Never: there is no common grid."""
        return False

    @property
    def measure(self) -> Measure:
        """The distinct points with their share of all observations."""
        distinct, where = np.unique(self.points, axis=0, return_inverse=True)
        weights = np.bincount(where.ravel(), weights=self.weights)
        return Measure(distinct, weights / weights.sum())

    @property
    def _edges(self) -> np.ndarray:
        """Where the observations of each curve begin, and where those of the last one end."""
        return np.searchsorted(self.rows, np.arange(self.n_curves + 1))

    def take(self, rows: np.ndarray) -> Self:
        """Return some of the curves, by mask or by index."""
        index = np.flatnonzero(rows) if np.asarray(rows).dtype == bool else np.asarray(rows)
        edges = self._edges
        chosen = [np.arange(edges[i], edges[i + 1]) for i in index]
        which = np.concatenate(chosen) if chosen else np.zeros(0, dtype=int)
        return replace(
            self,
            rows=np.repeat(np.arange(len(index)), [len(one) for one in chosen]),
            points=self.points[which],
            values=self.values[which],
            weights=self.weights[which],
            n_curves=len(index),
        )

    def with_values(self, values: Any) -> Self:
        """Return curves with other values at the same points."""
        return replace(self, values=values)

    def as_given(self) -> Any:
        """Return a list of (points, values, weights)."""
        values = self.values[:, 0] if self.n_dims == 2 else self.values
        parts = (np.split(part, self._edges[1:-1]) for part in (self.points, values, self.weights))
        return list(zip(*parts, strict=True))

    def relative_to(self, scale: Any) -> np.ndarray:
        """Return the values divided by those of a function at their points."""
        return self.values / scale.evaluate(self.points)

    def keys(self) -> np.ndarray:
        """Return the number of the first curve that was observed at the same points, with the same values."""
        parts = (self.points, self.values, self.weights)
        first: dict[tuple[bytes, ...], int] = {}
        spans = itertools.pairwise(self._edges)
        return np.array(
            [
                [first.setdefault(tuple(part[start:stop].tobytes() for part in parts), i)]
                for i, (start, stop) in enumerate(spans)
            ],
            dtype=float,
        )

    def check(self, owner: object, X: Any, keep: np.ndarray | None = None) -> None:
        """Refuse inputs of other array libraries; each curve has been looked at when it was read."""
        require_numpy(owner, "Put the curves on a common grid, with NaN where nothing was observed.", X)

    def norms(self, residuals: np.ndarray) -> np.ndarray:
        """Return ‖r_i‖ of each curve."""
        squares = self.weights * np.sum(residuals**2, axis=1)
        return np.sqrt(np.bincount(self.rows, weights=squares, minlength=len(self)))

    def sizes(self, residuals: np.ndarray) -> np.ndarray:
        """Return |r| of all values, flat."""
        return np.abs(residuals).ravel()

    def value_weights(self, weight: np.ndarray) -> np.ndarray:
        """Return s_i η_ij of all values, flat."""
        return np.repeat(weight[self.rows] * self.weights, self.n_components)

    def common_values(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return shared points, or means of points over bins, with the means of the values there and their weights."""
        group, share = self._groups(), weight[self.rows] * self.weights
        mass = np.bincount(group, weights=share)
        points, values = (
            np.column_stack([np.bincount(group, weights=share * column) for column in array.T])
            / np.where(mass > 0, mass, 1.0)[:, None]  # points that only curves of weight 0 have
            for array in (self.points, self.values)
        )
        return points[mass > 0], values[mass > 0], mass[mass > 0]

    def without(self, mean: Any) -> Self:
        """Return the curves less a function of θ."""
        return self.less(mean.evaluate(self.points).reshape(-1, self.n_components))

    def _groups(self) -> np.ndarray:
        """Return which values are averaged for a mean curve: those at one point, or those of a bin, or all."""
        distinct, group = np.unique(self.points, axis=0, return_inverse=True)
        if self._shares_points(len(distinct)):
            return group.ravel()
        n = len(self.points)
        bins = min(MEAN_BINS, n // MEAN_BINS) if self.points.shape[1] == 1 else 1
        ranks = np.argsort(np.argsort(self.points[:, 0], kind="stable"), kind="stable")
        return ranks * max(bins, 1) // n

    def _shares_points(self, n_distinct: int) -> bool:
        return 2 * n_distinct <= len(self.points)

    def mean(self, weight: np.ndarray) -> np.ndarray:
        """Return the mean curve at each observation, shape (N, p): of all values at its point where points are shared.

        Otherwise, on the line, it is the straight lines through the means over bins of 20 observations at least, 20
        bins at most; in other domains the mean of all values.
        """
        group, (points, means, _) = self._groups(), self.common_values(weight)
        present = np.bincount(group, weights=weight[self.rows] * self.weights) > 0
        place = np.maximum(np.cumsum(present) - 1, 0)[group]  # where only curves of weight 0 have been, any will do
        if len(means) == 1 or self._shares_points(len(np.unique(self.points, axis=0))):
            return means[place]
        return np.column_stack([np.interp(self.points[:, 0], points[:, 0], column) for column in means.T])

    def bind(self, kernel: Kernel, output_kernel: Kernel, output_matrix: Any) -> Any:
        """Return the kernel at the observations."""
        return BoundPairs(kernel, output_kernel, self.rows, self.points, self.n_components, output_matrix)

    def pose(self, bound: Any, X: Any, loss: Loss, alpha: float, weight: Any, fit_intercept: bool) -> DualProblem:
        """Return the problem whose rows are the observations."""
        return curve_problem(
            bound.gram(X),
            loss,
            self.values,
            self.rows,
            alpha,
            weights=self.weights,
            sample_weight=None if weight is None else to_numpy(weight),
            fit_intercept=fit_intercept,
            n_curves=len(self),
        )

    def residuals(self, predict: Predict, X: Any) -> np.ndarray:
        """Return y − f(x) at the observations, curves being predicted by blocks."""
        residuals = self.values.copy()
        for start in range(0, len(self), BLOCK_CURVES):
            inside = (self.rows >= start) & (self.rows < start + BLOCK_CURVES)
            points, where = np.unique(self.points[inside], axis=0, return_inverse=True)
            values = to_numpy(predict(X[start : start + BLOCK_CURVES, :], points))
            values = values.reshape(len(values), len(points), -1)
            residuals[inside] -= values[self.rows[inside] - start, where.ravel()]
        return residuals

    def largest(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest size of each curve: of its observations, or its own as it is."""
        if sizes.ndim == 1:
            return sizes
        largest = np.zeros(len(self))
        np.maximum.at(largest, self.rows, np.max(sizes, axis=1))
        return largest

    def intercept_function(self, intercept: Any) -> InterceptFunction:
        """Return the constant that it is."""
        return InterceptFunction(intercept, None)

    def shaped(self, values: Any, n_points: int) -> Any:
        """Return (n, k·p) values as a user sees them: (n, k) or (n, k, p)."""
        return values.reshape(-1, n_points, self.n_components) if self.n_dims == 3 else values

    def prediction_grid(self, owner: object, grid: Any) -> Any:
        """Return the points of the grid that is given.

        Without one it is 101 equal steps over the interval of what was observed, or all points of a domain of more
        dimensions.
        """
        points, dimension = self.measure.points, self.points.shape[1]
        if grid is not None:
            rule = grid if isinstance(grid, MeasureRule) else Points(as_points(type(owner).__name__, grid, "grid"))
            points = rule.nodes(np.random.default_rng(0))[0]
            if points.shape[1] != dimension:
                raise parameter_error(owner, "grid", grid, f"points of {dimension} coordinates, as those of the curves")
        elif dimension == 1:
            points = np.linspace(points.min(), points.max(), DEFAULT_GRID)[:, None]
        return points[:, 0] if dimension == 1 else points

    def reading_grid(self, grid: Any) -> Any:
        """Return the grid of predictions."""
        return grid
