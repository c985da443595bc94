"""How a column of curves becomes columns of numbers: values on one grid, or scores of principal components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.exceptions import DataError, UnsupportedError
from mercer.measures import Grid
from mercer.preprocessing.cells import read_column
from mercer.preprocessing.curve_population import CurvePopulation, by_points

__all__ = ["CurveColumn"]

Pair = tuple[np.ndarray, np.ndarray]

#: points of the grid where curves have too many points of their own
GRID_POINTS = 51
#: scores have this share of the variance of the curves: what matters, as in spectra, may be a thousandth of it
SCORED_SHARE = 0.99999
#: but no more of them than that, or than a tenth of the curves, three at least
MOST_SCORES, SCORES_PER_CURVE, FEWEST_SCORES = 15, 0.1, 3


@dataclass(frozen=True, eq=False)
class CurveColumn(Stateful):
    """Curves: their values on the grid of the training curves, or scores of their principal components in L².

    Attributes
    ----------
    points : array of shape (T,) or (T, d)
        The grid: the points of the training curves together, or 51 equally spaced ones where these are many, and each
        curve has but few of them.
    population : CurvePopulation or None
        What curves with holes, or at other points, are expected to be; None for surfaces, which must be on the grid.
    mean : array of shape (T,)
        The mean of the training curves on the grid.
    components : array of shape (T, r) or None
        Scores are (x − mean) @ components; None where the columns are values.
    """

    points: np.ndarray
    population: CurvePopulation | None
    mean: np.ndarray
    components: np.ndarray | None

    @classmethod
    def learn(cls, pairs: Sequence[Pair], name: Any, weight: np.ndarray, curves: str) -> CurveColumn:
        """Learn grid, population and components from curves, one of them with a value at least, and their weights."""
        seen = [row for row, (points, _) in enumerate(pairs) if len(points)]
        pairs, weight = [pairs[row] for row in seen], weight[seen]
        if any(points.ndim == 2 for points, _ in pairs):
            column = cls(_common_points(pairs, name), None, np.zeros(0), None)
        else:
            column = cls(*_learn_grid(pairs, weight), np.zeros(0), None)
        values = column._values(pairs, name)
        mean = np.average(values, axis=0, weights=weight)
        components = None if curves == "values" else _components(values - mean, weight, column.weights)
        return cls(column.points, column.population, mean, components)

    @cached_property
    def weights(self) -> np.ndarray:
        """Weights of the grid points, of sum 1: trapezoids on the line, equal ones elsewhere."""
        if self.points.ndim == 2 or len(self.points) == 1:
            return np.full(len(self.points), 1 / len(self.points))
        return np.asarray(Grid(self.points).nodes(np.random.default_rng(0))[1])

    def labels(self, name: str) -> list[str]:
        """Return the names of the encoded columns."""
        if self.components is not None:
            return [f"{name} score {k + 1}" for k in range(self.components.shape[1])]
        return [f"{name}({','.join(f'{t:g}' for t in np.atleast_1d(point))})" for point in self.points]

    def encode(self, column: Any, name: Any) -> np.ndarray:
        """Return values on the grid, shape (n, T), or scores, shape (n, r)."""
        kind, pairs = read_column(column, name)
        if kind != "curves":
            raise DataError(
                f"Column {name!r} held curves in the training rows; now it holds {kind}. Read new rows as the training "
                "rows were read: (points, values) pairs, or values on the grid of the fit."
            )
        values = self._values(pairs, name)
        return values if self.components is None else (values - self.mean) @ self.components

    def _values(self, pairs: Sequence[Pair], name: Any) -> np.ndarray:
        values = np.empty((len(pairs), len(self.points)))
        for points, stacked, rows in by_points(pairs):
            if self._is_grid(points):
                values[rows] = stacked
            elif self.population is None:
                raise UnsupportedError(
                    f"Column {name!r}: functions of several variables, or of one point, must be given on the grid of "
                    "the training rows, without holes. Evaluate them there first."
                )
            else:
                low, high = self.population.domain
                if len(points) and (points[-1] < low or points[0] > high):
                    raise DataError(
                        f"Column {name!r}: the curve of row {rows[0]} was observed from {points[0]:g} to "
                        f"{points[-1]:g}, the curves of the fit from {low:g} to {high:g}: it says nothing about what "
                        "the model was fitted on. Check the unit of the points."
                    )
                values[rows] = self.population.expect(_rows(points, stacked), self.points)
        return values

    def _is_grid(self, points: np.ndarray) -> bool:
        """Say whether values at these points are taken as they are: on the whole grid, if they are not all noisy."""
        if points.shape != self.points.shape or (self.population is not None and self.population.length == 0):
            return False
        slack = 1e-9 * np.ptp(self.points, axis=0)
        return bool(np.all(np.abs(points - self.points) <= slack))


def _rows(points: np.ndarray, stacked: np.ndarray) -> list[Pair]:
    return [(points, values) for values in stacked]


def _common_points(pairs: Sequence[Pair], name: Any) -> np.ndarray:
    """Return the points that all functions of several variables must share."""
    first = pairs[0][0]
    for points, _ in pairs:
        if points.shape != first.shape or not np.allclose(points, first):
            raise UnsupportedError(
                f"Column {name!r}: functions of several variables must be on one grid, without holes. Evaluate them on "
                "a common one first."
            )
    return first


def _learn_grid(pairs: Sequence[Pair], weight: np.ndarray) -> tuple[np.ndarray, CurvePopulation | None]:
    """Return the common grid of curves on the line, and their population; none where all are at one point."""
    together = np.unique(np.concatenate([points for points, _ in pairs]))
    span = together[-1] - together[0]
    together = together[np.concatenate([[True], np.diff(together) > 1e-9 * span])]
    if len(together) == 1:
        return together, None
    dense = 2 * np.median([len(points) for points, _ in pairs]) >= len(together)
    grid = together if dense or len(together) <= GRID_POINTS else np.linspace(together[0], together[-1], GRID_POINTS)
    # of curves that are mostly seen, each value is kept; few values of each are taken for noisy ones
    return grid, CurvePopulation.learn(pairs, weight, float(np.median(np.diff(grid))) if dense else 0.0)


def _components(curves: np.ndarray, weight: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return what turns centred curves into scores, shape (T, r); one column of zeros where all curves are equal."""
    root = np.sqrt(weights)
    scaled = np.sqrt(weight / weight.sum())[:, None] * curves * root
    _, sizes, directions = np.linalg.svd(scaled, full_matrices=False)
    total = np.sum(sizes**2)
    if total == 0:
        return np.zeros((len(root), 1))
    most = min(MOST_SCORES, max(FEWEST_SCORES, int(SCORES_PER_CURVE * len(curves))), len(sizes))
    r = min(1 + int(np.searchsorted(np.cumsum(sizes**2), SCORED_SHARE * total)), most)
    directions = directions[:r]
    signs = np.sign(directions[np.arange(r), np.argmax(np.abs(directions), axis=1)])
    return (signs[:, None] * directions * root).T
