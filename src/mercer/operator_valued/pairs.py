"""Curves that were observed at points of their own: one coefficient an observation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.exceptions import DataError
from mercer.kernels import Constant, Kernel
from mercer.kernels.gram import BLOCK_BYTES, kernel_product
from mercer.linalg import Dense, PairGram, PairKronecker
from mercer.measures import Measure
from mercer.operator_valued.components import check_output_matrix

__all__ = ["BoundPairs"]


@dataclass(frozen=True, eq=False)
class BoundPairs:
    """K(x, z) = k_X(x, z)·T_{k_Θ}·A, with functions of θ represented where they were observed.

    Observation q = 1, ..., N is a vector in R^p, seen at the point θ_q of the curve i(q), and

        h(x)(θ) = Σ_q k_X(x, x_i(q)) k_Θ(θ_q, θ) A c_q,        c of shape (N, p).

    A mean curve that is free at each point makes no sense where each point is seen once. There are two others. The
    intercept of :class:`~mercer.problems.DualProblem` is a constant b ∈ R^p, free. And ``mean_scale`` adds to h a
    smooth function of θ alone: k_X becomes k_X + ``mean_scale``·(mean of k_X(x_i, x_i)), under which a
    function that does not depend on x costs 1/``mean_scale`` of what it would cost otherwise.

    Parameters
    ----------
    kernel, output_kernel : Kernel
        k_X and k_Θ.
    rows : array of int of shape (N,)
        The curve i(q) of each observation, not decreasing.
    points : array of shape (N, d)
        The point θ_q of each observation; a one-dimensional array is taken as d = 1.
    n_components : int, default=1
        p.
    output_matrix : array of shape (p, p), optional
        A, symmetric and positive semi-definite; the identity by default.
    mean_scale : float, default=0.0
        How much more freely than the rest the mean curve varies; 100 leaves it almost free, 0 is without one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> pairs = BoundPairs(Gaussian(1.0), Gaussian(5.0), np.array([0, 0, 1]), np.array([0.1, 0.7, 0.4]))
    >>> X = np.array([[0.0], [1.0]])
    >>> pairs.gram(X).shape
    (3, 3)
    >>> pairs.evaluate(X, X, np.ones((3, 1)), np.array([[0.0], [0.5]])).shape
    (2, 2)
    """

    kernel: Kernel
    output_kernel: Kernel
    rows: Any
    points: Any
    n_components: int = 1
    output_matrix: Any = None
    mean_scale: float = 0.0

    def __post_init__(self) -> None:
        remedy = "Put the curves on a common grid, with NaN where nothing was observed."
        require_numpy(self, remedy, self.rows, self.points)
        check_number(self, "n_components", self.n_components, low=1, strict=False, integer=True)
        check_number(self, "mean_scale", self.mean_scale, low=0, strict=False)
        if self.points.ndim == 1:
            object.__setattr__(self, "points", self.points[:, None])
        if self.points.ndim != 2 or self.rows.shape != (len(self.points),):
            raise DataError(
                "BoundPairs: points must have shape (N, d) and rows shape (N,); got "
                f"{self.points.shape} and {self.rows.shape}."
            )
        if self.output_matrix is not None:
            matrix = check_output_matrix(self, self.output_matrix, self.n_components)
            object.__setattr__(self, "output_matrix", matrix)

    @cached_property
    def measure(self) -> Measure:
        """The p components, with weight 1 each: what the columns of coefficients stand for."""
        return Measure(np.arange(float(self.n_components)), np.ones(self.n_components))

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        points, nodes = np.unique(self.points, axis=0, return_inverse=True)
        return points, nodes.reshape(-1)

    def gram(self, X: Any) -> PairKronecker:
        """Return 𝐊 ⊗ A on (N, p) arrays, without weights, for the inputs X of the curves."""
        if len(self.rows) and self.rows[-1] >= len(X):
            raise DataError(f"BoundPairs: rows names curve {self.rows[-1]}, but X has {len(X)} rows.")
        points, nodes = self._distinct
        left = PairGram(self._inputs(X).gram(X), self.output_kernel.gram(points), self.rows, nodes)
        matrix = np.eye(self.n_components) if self.output_matrix is None else self.output_matrix
        return PairKronecker(left, Dense(matrix, frozenset({"self-adjoint", "psd"})))

    def analyse(self, Y: Any) -> Any:
        """Return the targets, which are the observations themselves: (N, p), or (N,) where p = 1."""
        return Y[:, None] if Y.ndim == 1 else Y

    def evaluate(self, X: Any, X_fit: Any, coef: Any, points: Any) -> Any:
        """Return h(x)(θ) at all x and θ from representer coefficients, shape (len(X), len(points)·p), component last.

        The observations of each curve are summed first, some points at a time: O(N len(points) p) for that.
        """
        return self._combine(X, X_fit, coef, points, self.output_kernel)

    def slope(self, X: Any, X_fit: Any, coef: Any, points: Any) -> Any:
        """Return ∂_θ h(x)(θ), for Θ on the line and an output kernel with derivatives, like :meth:`evaluate`."""
        return self._combine(
            X, X_fit, coef, points, lambda nodes, points: self.output_kernel.derivative(nodes, points, (0, 1))
        )

    def _combine(self, X: Any, X_fit: Any, coef: Any, points: Any, section: Callable[[Any, Any], Any]) -> Any:
        """Return Σ_q k_X(x, x_i(q)) section(θ_q, θ) A c_q."""
        n, p = len(X_fit), self.n_components
        nodes, index = self._distinct
        vectors = coef if self.output_matrix is None else coef @ self.output_matrix
        place = (self.rows[:, None] * p + np.arange(p)).ravel()
        # row (i, component): the coefficients of curve i at the distinct points
        sums = scipy.sparse.csr_array((vectors.ravel(), (place, np.repeat(index, p))), shape=(n * p, len(nodes)))
        kernel = self._inputs(X_fit)
        size = max(1, BLOCK_BYTES // (8 * max(len(nodes), n * p, 1)))
        blocks = [np.zeros((len(X), 0))]
        for start in range(0, len(points), size):
            part = sums @ section(nodes, points[start : start + size])  # (n·p, points)
            columns = part.reshape(n, p, -1).transpose(0, 2, 1).reshape(n, -1)
            blocks.append(kernel_product(kernel, X, X_fit, columns))
        return np.concatenate(blocks, axis=1)

    def _inputs(self, X_fit: Any) -> Kernel:
        """k_X, with the constant that makes room for a mean curve."""
        level = self.mean_scale * float(np.mean(self.kernel.diagonal(X_fit))) if self.mean_scale else 0.0
        return self.kernel + Constant(level) if level > 0 else self.kernel
