"""Functions of θ of which a fitted function is made: the representers of what was looked at.

A column of an (n, m) array stands for a functional of functions of θ: the value at a node, the slope at a point, the
coefficient of a function of a basis. In the space of k_Θ each of them is an inner product with a function, its
representer: k_Θ(θ_j, ·), ∂₁k_Θ(τ_q, ·), λ_j ψ_j. Functions that are known on a grid only are linear between its points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.backend import as_like, device, namespace, to_numpy
from mercer.interpolation import interpolation, interpolation_slopes
from mercer.kernels import Kernel, Product, Restricted
from mercer.linalg import PSD, Dense, LinearOperator, Tensor
from mercer.operator_valued.bases import BoundBasis

__all__ = ["BasisRepresenters", "NodeRepresenters", "PiecewiseLinearRepresenters", "Representers", "output_gram"]

#: nodes from which on the output Gram matrix is formed only where its rank asks for it
MANY_NODES = 1000


class Representers(Stateful, ABC):
    """m functions of θ, which are evaluated and differentiated at any points."""

    @abstractmethod
    def values(self, points: Any) -> Any:
        """Return the functions at points of shape (k, d), shape (m, k)."""

    @abstractmethod
    def slopes(self, points: Any) -> Any:
        """Return their derivatives at points of shape (k, 1), shape (m, k)."""

    @abstractmethod
    def gram(self) -> LinearOperator:
        """Return their inner products in the space of k_Θ, (m, m)."""


@dataclass(frozen=True, eq=False)
class NodeRepresenters(Representers):
    """k_Θ(θ_j, ·) for values at some points and, perhaps, ∂₁k_Θ(τ_q, ·) for slopes at others, values first.

    Parameters
    ----------
    kernel : Kernel
        k_Θ.
    points : array of shape (m, d)
        θ_j.
    slope_points : array of shape (k, 1), optional
        τ_q, for Θ on the line and a kernel with derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> NodeRepresenters(Polynomial(degree=2), np.array([[0.0], [1.0]])).values(np.array([[2.0]]))
    array([[1.],
           [9.]])
    """

    kernel: Kernel
    points: Any
    slope_points: Any = None

    def values(self, points):
        return self._stacked(self.kernel(self.points, points), points, (1, 0))

    def slopes(self, points):
        return self._stacked(self.kernel.derivative(self.points, points, (0, 1)), points, (1, 1))

    def _stacked(self, upper: Any, points: Any, order: tuple[int, int]) -> Any:
        if self.slope_points is None:
            return upper
        return namespace(upper).concat([upper, self.kernel.derivative(self.slope_points, points, order)], axis=0)

    def gram(self):
        """Return K_Θ or, with slopes, [[k, ∂₂k], [∂₁k, ∂₁∂₂k]]."""
        if self.slope_points is not None:
            return Dense(self._with_slopes(), PSD)
        gram = _tensor_gram(self.kernel, self.points) or self.kernel.gram(self.points)
        if isinstance(gram, Tensor):
            return gram
        stored = self.points.shape[0] <= MANY_NODES and not self.kernel.explicit
        return Dense(gram.to_dense(), gram.tags) if stored else gram

    def _with_slopes(self) -> Any:
        xp, k, tau = namespace(self.points), self.kernel, self.slope_points
        cross = k.derivative(self.points, tau, (0, 1))
        upper = xp.concat([k(self.points), cross], axis=1)
        return xp.concat([upper, xp.concat([cross.T, k.derivative(tau, tau, (1, 1))], axis=1)], axis=0)


@dataclass(frozen=True, eq=False)
class BasisRepresenters(Representers):
    """λ_j ψ_j for coefficients in a basis.

    Parameters
    ----------
    basis : BoundBasis
        ψ_j and λ_j.
    """

    basis: BoundBasis

    def values(self, points):
        return self._scaled(self.basis.evaluate(points))

    def slopes(self, points):
        return self._scaled(self.basis.differentiate(points))

    def _scaled(self, functions: Any) -> Any:
        return functions.T * as_like(self.basis.spectrum, functions)[:, None]

    def gram(self):
        """Return diag(λ)."""
        spectrum = self.basis.spectrum
        eye = namespace(spectrum).eye(len(self.basis), dtype=spectrum.dtype, device=device(spectrum))
        return Dense(spectrum[:, None] * eye, PSD)


@dataclass(frozen=True, eq=False)
class PiecewiseLinearRepresenters(Representers):
    """Functions on the line that are linear between the points of a grid, and constant beyond.

    Parameters
    ----------
    grid : array of shape (k,)
        The points, sorted.
    heights : array of shape (m, k)
        The functions there.
    products : array of shape (m, m)
        Their inner products.

    Examples
    --------
    >>> import numpy as np
    >>> PiecewiseLinearRepresenters(np.array([0.0, 1.0]), np.eye(2), np.eye(2)).values(np.array([[0.25], [2.0]]))
    array([[0.75, 0.  ],
           [0.25, 1.  ]])
    """

    grid: Any
    heights: Any
    products: Any

    def values(self, points):
        return self.heights @ as_like(interpolation(self.grid, points[:, 0]), self.heights)

    def slopes(self, points):
        """Return the slopes; at a point of the grid those on the right, beyond it 0."""
        theta = to_numpy(points)[:, 0]
        inside = (theta >= float(self.grid[0])) & (theta <= float(self.grid[-1]))
        return self.heights @ as_like(interpolation_slopes(self.grid, theta) * inside, self.heights)

    def gram(self):
        return Dense(self.products, PSD)


def _tensor_gram(kernel: Kernel, points: Any) -> Tensor | None:
    """Return the Gram matrix of a kernel k(t, t')·l(θ, θ') at all pairs of some t and some θ, θ varying fastest.

    None where the kernel is no such product of restricted kernels, or the points are no such pairs.
    """
    both = (kernel.left, kernel.right) if isinstance(kernel, Product) else ()
    columns = [np.atleast_1d(to_numpy(part.columns)) for part in both if isinstance(part, Restricted)]
    if len(columns) < 2 or any(places.dtype.kind not in "iu" for places in columns):
        return None
    theta = to_numpy(points)
    pairs = [(places % theta.shape[1], part.kernel) for places, part in zip(columns, both, strict=True)]
    (slow, slow_kernel), (fast, fast_kernel) = sorted(pairs, key=lambda pair: pair[0][0])
    if not set(slow).isdisjoint(fast):
        return None
    p = 1 + int(np.argmax(np.append(np.any(theta[1:, slow] != theta[0, slow], axis=1), True)))
    first, second = theta[::p], theta[:p]
    if len(theta) % p or set(slow) | set(fast) != set(range(theta.shape[1])):
        return None
    repeated, tiled = np.repeat(first[:, slow], p, axis=0), np.tile(second[:, fast], (len(first), 1))
    if not (np.array_equal(theta[:, slow], repeated) and np.array_equal(theta[:, fast], tiled)):
        return None
    nodes, components = (as_like(part, points) for part in (first[:, slow], second[:, fast]))
    return Tensor(Dense(slow_kernel(nodes), PSD), fast_kernel(components))


def output_gram(representers: Representers, n_components: int = 1, output_matrix: Any = None) -> LinearOperator:
    """Return K_Θ ⊗ A, the inner products of representers with values in R^p; A None is the identity."""
    gram = representers.gram()
    if n_components == 1 and output_matrix is None:
        return gram
    return Tensor(gram, as_like(np.eye(n_components) if output_matrix is None else output_matrix, gram.like))
