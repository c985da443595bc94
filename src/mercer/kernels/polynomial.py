"""Kernels with finitely many features: constant, linear, polynomial."""

from __future__ import annotations

import math
from dataclasses import dataclass

import array_api_compat as compat

from mercer._params import check_number
from mercer.backend import namespace
from mercer.kernels.base import Kernel, as_points
from mercer.kernels.derivatives import column_identity, zeros

__all__ = ["Constant", "Linear", "Polynomial"]


@dataclass(eq=False, repr=False)
class Constant(Kernel):
    """Constant kernel k(x, z) = value: a penalised intercept when added to another kernel.

    Parameters
    ----------
    value : float, default=1.0
        The value, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> (Linear() + 2.0)(np.array([[1.0], [3.0]]))
    array([[ 3.,  5.],
           [ 5., 11.]])
    """

    value: float = 1.0

    def _check(self) -> None:
        check_number(self, "value", self.value, low=0)

    @property
    def differentiable(self) -> bool:
        """All derivatives are 0."""
        return True

    @property
    def explicit(self) -> bool:
        """There is one feature, √value."""
        return True

    def features(self, X):
        X = as_points(self, X)
        return namespace(X).full((X.shape[0], 1), math.sqrt(self.value), dtype=X.dtype, device=compat.device(X))

    def _evaluate(self, X, Z):
        xp = namespace(X, Z)
        dtype = xp.result_type(X.dtype, Z.dtype)
        return xp.full((X.shape[0], Z.shape[0]), float(self.value), dtype=dtype, device=compat.device(X))

    def _diagonal(self, X):
        return namespace(X).full(X.shape[0], float(self.value), dtype=X.dtype, device=compat.device(X))

    def _gradient(self, X, Z):
        return zeros(X, Z, 1)

    def _cross_hessian(self, X, Z):
        return zeros(X, Z, 2)


@dataclass(eq=False, repr=False)
class Linear(Kernel):
    """Linear kernel k(x, z) = ⟨x, z⟩: linear models, and the usual kernel of vector outputs.

    Examples
    --------
    >>> import numpy as np
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    @property
    def differentiable(self) -> bool:
        """A polynomial of degree 1 in each argument."""
        return True

    def _evaluate(self, X, Z):
        return X @ Z.T

    def _diagonal(self, X):
        return namespace(X).sum(X * X, axis=1)

    def _gradient(self, X, Z):
        return zeros(X, Z, 1) + Z[None, :, :]

    def _cross_hessian(self, X, Z):
        return zeros(X, Z, 2) + column_identity(X)


@dataclass(eq=False, repr=False)
class Polynomial(Kernel):
    """Polynomial kernel k(x, z) = (γ⟨x, z⟩ + constant)^degree: interactions of the columns up to the degree.

    Scale the columns first; values grow like ‖x‖^(2·degree). For smooth functions without a known degree
    prefer :class:`Gaussian`.

    Parameters
    ----------
    degree : int, default=3
        At least 1.
    gamma : float, default=1.0
        γ > 0.
    constant : float, default=1.0
        At least 0; 0 leaves the monomials of exactly that degree.

    Examples
    --------
    >>> import numpy as np
    >>> Polynomial(degree=2)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    degree: int = 3
    gamma: float = 1.0
    constant: float = 1.0

    def _check(self) -> None:
        check_number(self, "degree", self.degree, low=1, strict=False, integer=True)
        check_number(self, "gamma", self.gamma, low=0)
        check_number(self, "constant", self.constant, low=0, strict=False)

    @property
    def differentiable(self) -> bool:
        """A polynomial in each argument."""
        return True

    def _evaluate(self, X, Z):
        return self._base(X @ Z.T) ** int(self.degree)

    def _diagonal(self, X):
        return self._base(namespace(X).sum(X * X, axis=1)) ** int(self.degree)

    def _base(self, products):
        return float(self.gamma) * products + float(self.constant)

    def _gradient(self, X, Z):
        return self._slope(X, Z)[:, :, None] * Z[None, :, :]

    def _cross_hessian(self, X, Z):
        degree, gamma = int(self.degree), float(self.gamma)
        matrices = self._slope(X, Z)[:, :, None, None] * column_identity(X)
        if degree == 1:
            return matrices
        curvature = degree * (degree - 1) * gamma**2 * self._base(X @ Z.T) ** (degree - 2)
        return matrices + (curvature[:, :, None] * Z[None, :, :])[:, :, :, None] * X[:, None, None, :]

    def _slope(self, X, Z):
        """Return the derivative in ⟨x, z⟩, shape (n, m)."""
        degree = int(self.degree)
        return degree * float(self.gamma) * self._base(X @ Z.T) ** (degree - 1)
