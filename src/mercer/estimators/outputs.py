"""The outputs of a regression, whatever they are: curves on a grid, scattered curves, objects behind a Gram matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from mercer._state import Stateful
from mercer.backend import machine_epsilon, namespace, to_numpy
from mercer.estimators.intercept_function import InterceptFunction
from mercer.kernels import Kernel
from mercer.losses import Loss
from mercer.measures import Measure
from mercer.problems import DualProblem

__all__ = ["Outputs", "Predict"]

#: (X, points) → values of shape (len(X), len(points)·p)
Predict = Callable[[Any, np.ndarray], Any]
#: dual variables below this share of the largest one are rounding
NO_SUPPORT = 1e-12
#: dual variables this close to their bound, relatively, are at it
AT_BOUND = 1e-3


class Outputs(Stateful, ABC):
    """n outputs with values in R^p at points of Θ, and the one place that knows how they are stored.

    Estimators ask them for norms, weights, a centre, residuals and the problem of fitting them, and never of which kind
    they are. ``values`` is what was observed, NaN where nothing was; residuals have its layout.
    """

    values: Any
    #: number p of components of a value
    n_components: int
    #: dimensions of the array that was given: 1, 2 or 3
    n_dims: int
    #: whether points are locations in Θ, so that there is something between them; else they are mere indices
    located: bool
    #: whether the values of all outputs lie at the same nodes, in columns; else each has points of its own
    on_grid: ClassVar[bool]

    # -- what they are -----------------------------------------------------------------------------------------

    @abstractmethod
    def __len__(self) -> int:
        """Number n of outputs."""

    @property
    @abstractmethod
    def complete(self) -> bool:
        """Whether there is a value of each output at each point."""

    @property
    def n_observed(self) -> int:
        """How many values were observed."""
        return int(np.sum(~np.isnan(to_numpy(self.values))))

    @property
    @abstractmethod
    def measure(self) -> Measure:
        """The points of Θ that were looked at, with their weights."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> Self:
        """Return some of the outputs, by mask or by index."""

    @abstractmethod
    def with_values(self, values: Any) -> Self:
        """Return outputs with other values at the same points."""

    @abstractmethod
    def as_given(self) -> Any:
        """Return the outputs as ``fit`` takes them: an array, or a list of (points, values, weights)."""

    @abstractmethod
    def relative_to(self, scale: Any) -> np.ndarray:
        """Return the values divided by a function of θ: ``scale.scale`` at nodes, ``scale.evaluate(points)``."""

    @abstractmethod
    def keys(self) -> np.ndarray:
        """Return rows of numbers, (n, k), that are equal where outputs are."""

    @abstractmethod
    def check(self, owner: object, X: Any, keep: np.ndarray | None) -> None:
        """Refuse what a fit to the inputs X cannot use; rows outside ``keep``, a mask, do not matter."""

    # -- sizes and means ---------------------------------------------------------------------------------------

    @abstractmethod
    def norms(self, residuals: np.ndarray) -> np.ndarray:
        """Return ‖r_i‖ over what was observed of each output, shape (n,)."""

    @abstractmethod
    def sizes(self, residuals: np.ndarray) -> np.ndarray:
        """Return |r| of all observed values, flat."""

    @abstractmethod
    def value_weights(self, weight: np.ndarray) -> np.ndarray:
        """Return what each of the sizes counts where outputs have the given weights, flat."""

    @abstractmethod
    def mean(self, weight: np.ndarray) -> np.ndarray:
        """Return the mean output, in an array to be taken from ``values``."""

    def centre(self) -> tuple[Any, Self]:
        """Return the mean of each column of values, and the outputs without it.

        Beside a free mean curve this changes nothing but rounding: of curves far from 0 the digits would be lost.
        """
        values = self.values
        xp = namespace(values)
        seen = ~xp.isnan(values)
        count = xp.sum(xp.astype(seen, values.dtype), axis=0)
        centre = xp.sum(xp.where(seen, values, xp.zeros_like(values)) / count[None, :], axis=0)
        return centre, self.less(centre[None, :])

    def less(self, mean: Any) -> Self:
        """Return the outputs less an array that fits to their values; what is left of equal ones is 0, not rounding."""
        xp, rest = namespace(self.values), self.values - mean
        rounding = xp.abs(rest) <= 8 * machine_epsilon(self.values) * xp.abs(mean)
        return self.with_values(xp.where(rounding, xp.zeros_like(rest), rest))

    @abstractmethod
    def common_values(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return points (k, d), the mean of the values there (k, p), and what each of them counts (k,)."""

    @abstractmethod
    def without(self, mean: Any) -> Self:
        """Return the outputs less a function of θ, ``mean.evaluate(points)``."""

    def lengths(self, residuals: np.ndarray, geometry: str) -> np.ndarray:
        """Return |r| of each entry ("componentwise"), or ("pointwise") that of the vector in R^p it belongs to.

        In the layout of the values; components that were not observed are left out.
        """
        if geometry == "componentwise" or self.n_components == 1:
            return np.abs(residuals)
        seen = np.where(np.isnan(to_numpy(self.values)), 0.0, residuals)
        lengths = np.sqrt(np.sum(seen.reshape(-1, self.n_components) ** 2, axis=1))
        return np.repeat(lengths, self.n_components).reshape(residuals.shape)

    def residual_sizes(self, residuals: np.ndarray, geometry: str) -> np.ndarray:
        """Return the sizes that a loss which ``compares`` these takes: norms, or lengths of all observed values."""
        return self.norms(residuals) if geometry == "norm" else self.sizes(self.lengths(residuals, geometry))

    def shortened(self, residuals: np.ndarray, cap: float, geometry: str) -> np.ndarray:
        """Return the residuals, their lengths cut to ``cap``."""
        return residuals * (cap / np.maximum(self.lengths(residuals, geometry), cap))

    def capped_sizes(self, residuals: np.ndarray, cap: float, geometry: str) -> np.ndarray:
        """Return min(‖r_i‖, cap) or, of values, the integral of min(|r_i(θ)|, cap) over what was observed."""
        if geometry == "norm":
            return np.minimum(self.norms(residuals), cap)
        lengths = self.lengths(residuals, geometry)
        roots = np.sqrt(np.minimum(lengths, cap)) / np.where(lengths > 0, lengths, 1.0)
        return self.norms(roots * residuals) ** 2

    def typical_size(self, residuals: np.ndarray, geometry: str, weight: Any = None) -> float:
        """Return the weighted median of the sizes of residuals: their mean if most are 0."""
        s = np.ones(len(self)) if weight is None else to_numpy(weight)
        sizes, weights = self.residual_sizes(residuals, geometry), s if geometry == "norm" else self.value_weights(s)
        order = np.argsort(sizes)
        half = np.searchsorted(np.cumsum(weights[order]), 0.5 * weights.sum())
        median = float(sizes[order[min(half, len(order) - 1)]])
        return median if median > 0 else float(weights @ sizes / weights.sum()) or 1.0

    def total_variation(self, weight: Any = None) -> tuple[float, float]:
        """Return Σ_i s_i ‖y_i − ȳ‖² over observed values, ȳ the mean, and what of it may be rounding."""
        s = np.ones(len(self)) if weight is None else to_numpy(weight)
        values = to_numpy(self.values)
        variation, size = (s @ self.norms(r) ** 2 for r in (values - self.mean(s), values))
        return float(variation), (8 * np.finfo(float).eps) ** 2 * float(size)

    # -- the problem of fitting them ---------------------------------------------------------------------------

    @abstractmethod
    def bind(self, kernel: Kernel, output_kernel: Kernel, output_matrix: Any) -> Any:
        """Return the kernel k_X·k_Θ·A, bound to the points at which there are values."""

    @abstractmethod
    def pose(self, bound: Any, X: Any, loss: Loss, alpha: float, weight: Any, fit_intercept: bool) -> DualProblem:
        """Return the problem of fitting the outputs with a bound kernel."""

    @abstractmethod
    def residuals(self, predict: Predict, X: Any) -> np.ndarray:
        """Return y − f(x) in the layout of the values, NaN where nothing was observed."""

    @abstractmethod
    def largest(self, sizes: np.ndarray) -> np.ndarray:
        """Return the largest size of each output, shape (n,), of sizes of rows of a problem or of their entries."""

    def support(self, problem: DualProblem, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which outputs carry a model, and which are at the bound of the dual, where the loss is linear."""
        largest = self.largest(to_numpy(problem.loss.sizes(A, problem.measure)))
        support = np.flatnonzero(largest > NO_SUPPORT * max(float(largest.max()), np.finfo(float).tiny))
        return support, np.flatnonzero(largest >= (1 - AT_BOUND) * problem.loss.dual_bound)

    # -- prediction --------------------------------------------------------------------------------------------

    @abstractmethod
    def intercept_function(self, intercept: Any) -> InterceptFunction:
        """Return the intercept of a problem as a function of θ."""

    @abstractmethod
    def shaped(self, values: Any, n_points: int) -> Any:
        """Return (n, k·p) values as a user sees them: (n,), (n, k) or (n, k, p), as the outputs were given."""

    @abstractmethod
    def prediction_grid(self, owner: object, grid: Any) -> Any:
        """Return where predictions are made if the user gave that grid: (k,) or, in more dimensions, (k, d)."""

    @abstractmethod
    def reading_grid(self, grid: Any) -> Any:
        """Return where the columns of other arrays lie, to be compared with predictions on that grid."""
