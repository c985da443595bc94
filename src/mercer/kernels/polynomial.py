"""Kernels with finitely many features: constant, linear, polynomial."""

from __future__ import annotations

from dataclasses import dataclass

import array_api_compat as compat

from mercer._params import check_number
from mercer.backend import namespace
from mercer.kernels.base import Kernel

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

    def _evaluate(self, X, Z):
        xp = namespace(X, Z)
        dtype = xp.result_type(X.dtype, Z.dtype)
        return xp.full((X.shape[0], Z.shape[0]), float(self.value), dtype=dtype, device=compat.device(X))

    def _diagonal(self, X):
        return namespace(X).full(X.shape[0], float(self.value), dtype=X.dtype, device=compat.device(X))

    def _differentiate(self, X, Z, order):
        return 0 * self._evaluate(X, Z)


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

    def _differentiate(self, X, Z, order):
        if order == (1, 0):
            return 0 * X + Z.T
        return X + 0 * Z.T if order == (0, 1) else 1 + 0 * (X + Z.T)


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

    def _differentiate(self, X, Z, order):
        degree, gamma = int(self.degree), float(self.gamma)
        products = X * Z.T
        base = self._base(products)
        first = degree * gamma * base ** (degree - 1)  # derivative in ⟨x, z⟩
        if order == (1, 0):
            return first * Z.T
        if order == (0, 1):
            return first * X
        if degree == 1:
            return first
        return first + degree * (degree - 1) * gamma**2 * products * base ** (degree - 2)
