"""Kernels on functions: the columns of X are the values x(t_1), …, x(t_T) of each sample on one grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import array_api_compat as compat
import numpy as np

from mercer._params import check_number
from mercer.backend import is_numpy, namespace, to_numpy
from mercer.exceptions import DataError, MercerError, parameter_error
from mercer.kernels.bandwidth import median_distance
from mercer.kernels.base import Array, Kernel
from mercer.kernels.distances import assemble, scale_points
from mercer.kernels.radial import Gaussian
from mercer.measures import Grid, MeasureRule

__all__ = ["FunctionalGaussian", "IntegralGaussian", "IntegralLaplacian"]

#: values of a tile of pairs of curves, small enough for the cache
TILE = 2**15
#: from so many columns on, curves are compared one pair after the other; below, one column after the other
MANY_COLUMNS = 17


class _Functional(Kernel):
    """Kernels of |x(t) − z(t)|^p, p = ``_power``, in a measure on t: one bandwidth γ and the weights of the grid."""

    _power: ClassVar[int] = 2
    gamma: Any
    grid: Any

    def _check(self) -> None:
        if not (isinstance(self.gamma, str) and self.gamma == "median"):
            check_number(self, "gamma", self.gamma, low=0, hint='The rule "median" takes it from the data.')
        if self.grid is None or isinstance(self.grid, MeasureRule):
            return
        try:
            Grid(to_numpy(self.grid))
        except MercerError as error:
            raise parameter_error(
                self,
                "grid",
                self.grid,
                "None, strictly increasing numbers, one per column, or a measure rule such as Points(t, weights)",
                "Sort the grid, and the columns of X with it: order = numpy.argsort(grid).",
            ) from error

    def _unresolved(self) -> list[str]:
        return ["gamma='median'"] if isinstance(self.gamma, str) else []

    def _adapt(self, X: Array) -> Self:
        weights = self._weights(X)
        if not isinstance(self.gamma, str):
            return self.replace()
        rows = np.asarray(to_numpy(X), dtype=float) * self._relative(weights) ** (1 / self._power)
        length = median_distance(rows, "euclidean" if self._power == 2 else "cityblock")
        return self.replace(gamma=(1 / length) ** self._power)

    @staticmethod
    def _relative(weights: np.ndarray) -> np.ndarray:
        """Return the weights with which distances are measured for the rule ``"median"``."""
        return weights

    def _weights(self, X: Array) -> np.ndarray:
        """Return the weights of the columns, shape (T,), as a NumPy array."""
        columns = X.shape[1]
        if self.grid is None:
            rule: MeasureRule = Grid(np.arange(columns))
        else:
            rule = self.grid if isinstance(self.grid, MeasureRule) else Grid(to_numpy(self.grid))
        # not the measure that the rule builds: that one has no zero weights, and here each column needs its own
        weights = rule.nodes(np.random.default_rng(0))[1]
        if len(weights) != columns:
            raise DataError(
                f"{type(self).__name__}: grid has {len(weights)} points, but the functions have {columns} columns, "
                "one per point. kernel.restrict(columns) leaves out columns that are no values of the function."
            )
        return weights


class _Integral(_Functional):
    """Kernels Σ_k w_k exp(−γ |x(t_k) − z(t_k)|^p): n·m·T exponentials, in tiles that stay in the cache."""

    @staticmethod
    def _relative(weights: np.ndarray) -> np.ndarray:
        return weights / np.sum(weights)  # the mass multiplies the kernel, not the distances in its exponent

    def _evaluate(self, X: Array, Z: Array) -> Array:
        weights = self._weights(X)
        X, Z, scale = scale_points(X, Z, float(self.gamma) ** (1 / self._power))
        if is_numpy(X, Z) and X.shape[1] >= MANY_COLUMNS and scale is None:
            return _in_tiles(np.square if self._power == 2 else np.abs, X, Z, weights)
        xp = namespace(X, Z)
        size = xp.square if self._power == 2 else xp.abs

        def block(x: Array, z: Array) -> Array:
            total: Any = 0.0
            for k, weight in enumerate(weights.tolist()):
                difference = x[:, k : k + 1] - z[:, k : k + 1].T
                total = total + weight * xp.exp(-size(difference if scale is None else scale * difference))
            return total

        return assemble(block, X, Z)

    def _diagonal(self, X: Array) -> Array:
        mass = float(np.sum(self._weights(X)))
        return namespace(X).full(X.shape[0], mass, dtype=X.dtype, device=compat.device(X))


def _in_tiles(size: np.ufunc, X: np.ndarray, Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return Σ_k w_k exp(−size(x_ik − z_jk)), of each pair of rows once where ``Z is X``."""
    n, m, columns = X.shape[0], Z.shape[0], X.shape[1]
    matrix = np.empty((n, m), dtype=np.result_type(X.dtype, Z.dtype))
    weights = weights.astype(matrix.dtype)
    height = max(1, min(n, math.isqrt(TILE // columns)))
    width = max(1, min(m, TILE // (columns * height)))
    buffer = np.empty(height * width * columns, dtype=matrix.dtype)
    for top in range(0, n, height):
        rows = slice(top, min(n, top + height))
        for left in range(top if Z is X else 0, m, width):
            others = slice(left, min(m, left + width))
            shape = (rows.stop - top, others.stop - left, columns)
            tile = buffer[: math.prod(shape)].reshape(shape)
            np.subtract(X[rows, None, :], Z[None, others, :], out=tile)
            size(tile, out=tile)
            np.negative(tile, out=tile)
            np.exp(tile, out=tile)
            values = tile.reshape(-1, columns) @ weights
            matrix[rows, others] = values.reshape(shape[:2])
            if Z is X:
                matrix[others, rows] = matrix[rows, others].T
    return matrix


@dataclass(eq=False, repr=False)
class IntegralGaussian(_Integral):
    """Integral Gaussian kernel ∫ exp(−γ (x(t) − z(t))²) dt on functions: a mean of Gaussian kernels over t.

    Functions are alike where their values are, for a large part of the t; what happens on a short interval
    changes the kernel by no more than the length of that interval. Prefer it to :class:`FunctionalGaussian`
    where functions have spikes or outlying stretches. O(n·m·T) exponentials, memory of the result.

    Parameters
    ----------
    gamma : float or "median", default="median"
        γ > 0. ``"median"`` is 1/median² with the median over pairs of distinct functions of the root mean square
        difference (∫ (x − z)² dt / ∫ dt)^½.
    grid : array-like of shape (T,) or MeasureRule, optional
        The points t_k of the columns, increasing: integrals are trapezoid sums, divided by the length of the grid. A
        rule such as ``Points(t, weights)`` or ``GaussLegendre(T)`` is taken literally, with its total mass. By
        default the points are equally spaced.

    Examples
    --------
    The functions t and t² on [0, 1]:

    >>> import numpy as np
    >>> t = np.linspace(0, 1, 641)
    >>> IntegralGaussian(gamma=7.0, grid=t)(t[None, :], t[None, :] ** 2).round(6)
    array([[0.80122]])

    Functions and scalar covariates together, the latter in two last columns:

    >>> kernel = IntegralGaussian(grid=t).restrict(range(641)) * Gaussian().restrict([641, 642])
    >>> covariates = np.array([[20.0, 1.0], [30.0, 0.0]])
    >>> kernel(np.hstack([np.stack([t, t**2]), covariates])).round(6)
    array([[1.      , 0.166891],
           [0.166891, 1.      ]])
    """

    gamma: Any = "median"
    grid: Any = None


@dataclass(eq=False, repr=False)
class IntegralLaplacian(_Integral):
    """Integral Laplacian kernel ∫ exp(−γ |x(t) − z(t)|) dt on functions: a mean of Laplacian kernels over t.

    Like :class:`IntegralGaussian`, with dependence on the values that is continuous but rough.

    Parameters
    ----------
    gamma : float or "median", default="median"
        γ > 0. ``"median"`` is 1/median with the median over pairs of distinct functions of the mean difference
        ∫ |x − z| dt / ∫ dt.
    grid : array-like of shape (T,) or MeasureRule, optional
        As in :class:`IntegralGaussian`.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 641)
    >>> IntegralLaplacian(gamma=7.0, grid=t)(t[None, :], t[None, :] ** 2).round(6)
    array([[0.360919]])
    """

    gamma: Any = "median"
    grid: Any = None

    _power: ClassVar[int] = 1


@dataclass(eq=False, repr=False)
class FunctionalGaussian(_Functional):
    """Gaussian kernel exp(−γ ∫ (x(t) − z(t))² dt) of the L² distance of functions.

    The functions count as a whole; the price is that of :class:`Gaussian`, one matrix product for many columns,
    which is far less than that of :class:`IntegralGaussian`.

    Parameters
    ----------
    gamma : float or "median", default="median"
        γ > 0. ``"median"`` is 1/median² with the median L² distance of the distinct functions.
    grid : array-like of shape (T,) or MeasureRule, optional
        As in :class:`IntegralGaussian`.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 641)
    >>> FunctionalGaussian(gamma=30.0, grid=t)(t[None, :], t[None, :] ** 2).round(6)  # ∫ (t − t²)² dt = 1/30
    array([[0.367879]])
    """

    gamma: Any = "median"
    grid: Any = None

    def _evaluate(self, X: Array, Z: Array) -> Array:
        return Gaussian(float(self.gamma) * self._weights(X))._evaluate(X, Z)

    def _diagonal(self, X: Array) -> Array:
        self._weights(X)  # refuses a grid of another length
        return namespace(X).ones(X.shape[0], dtype=X.dtype, device=compat.device(X))
