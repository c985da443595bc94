"""Curves on a common grid, with or without holes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.outputs import Outputs, Predict
from mercer.estimators.validation import take_rows
from mercer.exceptions import DataError
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.measures import Measure, Points
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem

__all__ = ["GridCurves", "check_rows_observed"]


@dataclass(frozen=True, eq=False)
class GridCurves(Outputs):
    """n curves on a common grid of m nodes, with values in R^p; NaN where a value was not observed.

    Parameters
    ----------
    values : array of shape (n, m·p)
        Component last.
    nodes : Measure
        The grid and its weights.
    n_components : int
        p.
    n_dims : int
        Dimensions of the array that was given: 1, 2 or 3.
    located : bool, default=True
        Whether the nodes are locations; without a grid they are mere indices.
    """

    values: Any
    nodes: Measure
    n_components: int
    n_dims: int
    located: bool = True

    on_grid = True

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def complete(self) -> bool:
        """Whether everything was observed."""
        xp = namespace(self.values)
        return not bool(xp.any(xp.isnan(self.values)))

    @property
    def measure(self) -> Measure:
        """The grid."""
        return self.nodes

    @property
    def _missing(self) -> np.ndarray:
        return np.isnan(to_numpy(self.values))

    @property
    def _column_weights(self) -> np.ndarray:
        return np.repeat(to_numpy(self.nodes.weights), self.n_components)

    def take(self, rows: Any) -> Self:
        """Return some of the curves, by mask or by index."""
        return replace(self, values=take_rows(self.values, rows))

    def at_nodes(self, nodes: np.ndarray) -> Self:
        """Return the curves at some of the nodes, given by index, with weights of the same sum."""
        xp = namespace(self.values)
        p, w = self.n_components, to_numpy(self.nodes.weights)
        columns = (np.asarray(nodes)[:, None] * p + np.arange(p)).ravel()
        weights = w[nodes] * (w.sum() / w[nodes].sum())
        measure = Measure(to_numpy(self.nodes.points)[nodes], weights).like(self.values)
        return replace(self, values=xp.take(self.values, xp.asarray(columns), axis=1), nodes=measure)

    def with_values(self, values: Any) -> Self:
        """Return curves with other values on the same grid."""
        return replace(self, values=values)

    def as_given(self) -> Any:
        """Return the values, NaN where there are none."""
        return self.shaped(self.values, self.values.shape[1] // self.n_components)

    def relative_to(self, scale: Any) -> np.ndarray:
        """Return the values divided by those of a function at the nodes."""
        return to_numpy(self.values) / scale.scale.ravel()

    def keys(self) -> np.ndarray:
        """Return the values, and which of them are missing: NaN equals nothing, not even itself."""
        values, missing = to_numpy(self.values), self._missing
        return np.column_stack([np.where(missing, 0.0, values), missing])

    def check(self, owner: object, X: Any, keep: np.ndarray | None = None) -> None:
        """Refuse curves, and nodes of the grid, without an observation in the rows to keep (all by default)."""
        name, missing = type(owner).__name__, self._missing
        keep = np.ones(len(self), dtype=bool) if keep is None else keep
        check_rows_observed(name, np.all(missing, axis=1) & keep)
        nowhere = np.flatnonzero(np.all(missing[keep], axis=0))
        if len(nowhere):
            raise DataError(
                f"{name}: column {int(nowhere[0]) // self.n_components} of Y holds NaN only (in rows of positive "
                "weight): nothing was observed there. Leave it out."
            )

    def norms(self, residuals: np.ndarray) -> np.ndarray:
        """Return ‖r_i‖ over what was observed."""
        return np.sqrt((np.where(self._missing, 0.0, residuals) ** 2) @ self._column_weights)

    def sizes(self, residuals: np.ndarray) -> np.ndarray:
        """Return |r| of all observed values, flat."""
        return np.abs(residuals)[~self._missing]

    def value_weights(self, weight: np.ndarray) -> np.ndarray:
        """Return s_i w_j of all observed values, flat."""
        return (weight[:, None] * self._column_weights)[~self._missing]

    def common_values(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the nodes, the means there, and the weights of the nodes times those of the curves that were seen."""
        p, seen = self.n_components, (weight @ ~self._missing).reshape(-1, self.n_components).mean(axis=1)
        return to_numpy(self.nodes.points), self.mean(weight).reshape(-1, p), to_numpy(self.nodes.weights) * seen

    def without(self, mean: Any) -> Self:
        """Return the curves less a function of θ."""
        return self.less(as_like(mean.evaluate(self.nodes.points), self.values)[None, :])

    def mean(self, weight: np.ndarray) -> np.ndarray:
        """Return the mean at each node, shape (m·p,)."""
        values = to_numpy(self.values)
        counts = (weight[:, None] * ~self._missing).sum(axis=0)
        return np.nansum(weight[:, None] * values, axis=0) / np.maximum(counts, np.finfo(float).tiny)

    def bind(self, kernel: Kernel, output_kernel: Kernel, output_matrix: Any) -> Any:
        """Return the kernel at the nodes."""
        return Decomposable(kernel, output_kernel, output_matrix).bind(self.nodes, n_components=self.n_components)

    def pose(self, bound: Any, X: Any, loss: Loss, alpha: float, weight: Any, fit_intercept: bool) -> DualProblem:
        """Return the problem whose rows are the curves."""
        Y, loss = bound.analyse(self.values), loss.of_vectors(self.n_components)
        return DualProblem(bound.gram(X), loss, Y, bound.measure, alpha, weight, fit_intercept)

    def residuals(self, predict: Predict, X: Any) -> np.ndarray:
        """Return y − f(x) at the nodes, NaN where nothing was observed."""
        return to_numpy(self.values) - to_numpy(predict(X, to_numpy(self.nodes.points)))

    def largest(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest size in each row."""
        return sizes if sizes.ndim == 1 else np.max(sizes, axis=1)

    def intercept_function(self, intercept: Any) -> InterceptFunction:
        """Return the function through the values at the nodes."""
        return InterceptFunction(intercept, self.nodes)

    def shaped(self, values: Any, n_points: int) -> Any:
        """Return (n, k·p) values as a user sees them: (n,), (n, k) or (n, k, p), as the curves were given."""
        if self.n_dims == 3:
            return namespace(values).reshape(values, (-1, n_points, self.n_components))
        return values[:, 0] if self.n_dims == 1 else values

    def prediction_grid(self, owner: object, grid: Any) -> Any:
        """Return the grid of the curves."""
        points = self.nodes.points
        return points[:, 0] if points.shape[1] == 1 else points

    def reading_grid(self, grid: Any) -> Any:
        """Return the grid of the curves with its weights."""
        return Points(to_numpy(self.nodes.points), to_numpy(self.nodes.weights))


def check_rows_observed(name: str, missing: np.ndarray) -> None:
    """Refuse curves without an observation; ``missing`` says which those are."""
    if np.any(missing):
        raise DataError(
            f"{name}: curve {int(np.flatnonzero(missing)[0])} has no observation (only NaN, or weights 0). Leave out "
            "such rows of X and Y."
        )
