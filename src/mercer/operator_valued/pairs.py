"""Curves that were observed at points of their own: one coefficient an observation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.exceptions import DataError
from mercer.kernels import Kernel
from mercer.linalg import Gram
from mercer.measures import Measure
from mercer.operator_valued.base import BoundKernel
from mercer.operator_valued.components import check_output_matrix
from mercer.operator_valued.expansion import ScatteredExpansion, pair_gram
from mercer.operator_valued.representers import NodeRepresenters

__all__ = ["BoundPairs"]


@dataclass(frozen=True, eq=False)
class BoundPairs(BoundKernel):
    """K(x, z) = k_X(x, z)·T_{k_Θ}·A, with functions of θ represented where they were observed.

    Observation q = 1, ..., N is a vector in R^p, seen at the point θ_q of the curve i(q), and

        h(x)(θ) = Σ_q k_X(x, x_i(q)) k_Θ(θ_q, θ) A c_q,        c of shape (N, p).

    A mean curve that is free at each point makes no sense where each point is seen once. There are two others. The
    intercept of :class:`~mercer.problems.DualProblem` is a constant b ∈ R^p, free. And a constant that is added to k_X
    makes room for a smooth function of θ alone.

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

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> pairs = BoundPairs(Gaussian(1.0), Gaussian(5.0), np.array([0, 0, 1]), np.array([0.1, 0.7, 0.4]))
    >>> X = np.array([[0.0], [1.0]])
    >>> pairs.gram(X).shape
    (3, 3)
    >>> pairs.expand(X, np.ones((3, 1))).evaluate(X, np.array([[0.0], [0.5]])).shape
    (2, 2)
    """

    kernel: Kernel
    output_kernel: Kernel = field()  # required, though the base class has None
    rows: Any
    points: Any
    n_components: int = 1
    output_matrix: Any = None

    def __post_init__(self) -> None:
        remedy = "Put the curves on a common grid, with NaN where nothing was observed."
        require_numpy(self, remedy, self.rows, self.points)
        check_number(self, "n_components", self.n_components, low=1, strict=False, integer=True)
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
    def measure(self) -> Measure:  # type: ignore[override]
        """The p components, with weight 1 each: what the columns of coefficients stand for."""
        return Measure(np.arange(float(self.n_components)), np.ones(self.n_components))

    @cached_property
    def _distinct(self) -> tuple[np.ndarray, np.ndarray]:
        points, nodes = np.unique(self.points, axis=0, return_inverse=True)
        return points, nodes.reshape(-1)

    @property
    def representers(self) -> NodeRepresenters:
        """k_Θ(θ, ·) at the distinct points."""
        return NodeRepresenters(self.output_kernel, self._distinct[0])

    def gram(self, X: Any) -> Gram:
        """Return 𝐊 ⊗ A on (N, p) arrays, without weights, for the inputs X of the curves."""
        if len(self.rows) and self.rows[-1] >= len(X):
            raise DataError(f"BoundPairs: rows names curve {self.rows[-1]}, but X has {len(X)} rows.")
        matrix = np.eye(self.n_components) if self.output_matrix is None else self.output_matrix
        return pair_gram(self._inputs(X), X, self.rows, self.representers, self._distinct[1], matrix)

    def analyse(self, Y: Any) -> Any:
        """Return the targets, which are the observations themselves: (N, p), or (N,) where p = 1."""
        return Y[:, None] if Y.ndim == 1 else Y

    def expand(self, X: Any, coef: Any) -> ScatteredExpansion:
        kernel = self._inputs(X)
        return ScatteredExpansion(kernel, X, coef, self.rows, self.representers, self._distinct[1], self.output_matrix)

    def observe(self, expansion: Any, X: Any) -> Any:
        """Return h where curves were observed, shape (N, p)."""
        points, nodes = self._distinct
        values = expansion.evaluate(X, points).reshape(len(X), len(points), self.n_components)
        return values[self.rows, nodes]

    def _inputs(self, X: Any) -> Kernel:
        """k_X with numbers for its parameters."""
        return self.kernel if self.kernel.adapted else self.kernel.adapt(X)
