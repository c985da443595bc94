"""Kernels on histograms and other non-negative vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat

from mercer._params import check_number
from mercer.backend import holds, namespace
from mercer.exceptions import DataError
from mercer.kernels.base import Kernel, as_points
from mercer.kernels.distances import assemble, column_sum
from mercer.kernels.stationary import check_bandwidth, per_column

__all__ = ["ExponentiatedChiSquared", "SkewedChiSquared"]


@dataclass(eq=False, repr=False)
class ExponentiatedChiSquared(Kernel):
    """Exponentiated χ² kernel exp(−γ Σ_k (x_k − z_k)²/(x_k + z_k)) on x, z ≥ 0, with 0/0 := 0.

    Prefer it to :class:`Gaussian` on counts and histograms, where a difference matters more in a small bin.

    Parameters
    ----------
    gamma : float, default=1.0
        γ > 0.

    Examples
    --------
    >>> import numpy as np
    >>> ExponentiatedChiSquared(gamma=0.25)(np.array([[1, 2, 0]]), np.array([[2, 1, 1]])).round(6)
    array([[0.659241]])
    """

    gamma: float = 1.0

    def _check(self) -> None:
        check_number(self, "gamma", self.gamma, low=0)

    def _evaluate(self, X, Z):
        for name, points in (("X", X), ("Z", Z)):
            self._refuse_negative(name, points)
        xp = namespace(X, Z)
        gamma = float(self.gamma)

        def term(x, z):
            total = x + z
            difference = x - z
            return difference * (difference / xp.where(total > 0, total, xp.ones_like(total)))

        return assemble(lambda x, z: xp.exp(-gamma * column_sum(term, x, z)), X, Z)

    def _diagonal(self, X):
        self._refuse_negative("X", X)
        return namespace(X).ones(X.shape[0], dtype=X.dtype, device=compat.device(X))

    def _refuse_negative(self, name, points):
        xp = namespace(points)
        if points.shape[0] and holds(xp.any(points < 0), unknown=False):
            raise DataError(
                f"{type(self).__name__}: {name} must be >= 0, as histograms are; its smallest entry is "
                f"{float(xp.min(points)):g}. Gaussian or Laplacian take entries of any sign."
            )


@dataclass(eq=False, repr=False)
class SkewedChiSquared(Kernel):
    """Skewed χ² kernel Π_k 2√((x_k + c_k)(z_k + c_k))/(x_k + z_k + 2c_k) on x_k, z_k > −c_k.

    It depends on the ratios (x_k + c_k)/(z_k + c_k) only: it is invariant under the group with the product
    (x ⊙ z)_k = (x_k + c_k)(z_k + c_k) − c_k, and 1/cosh(t/2) of differences t of :meth:`coordinates`. For
    histograms and other positive numbers of which ratios matter.

    Parameters
    ----------
    skew : float or sequence of shape (d,), default=1.0
        c ≥ 0, or one for each column: what is added to counts before their ratios are taken.

    Examples
    --------
    >>> import numpy as np
    >>> SkewedChiSquared(skew=1.0)(np.array([[0.0, 1.0]]), np.array([[3.0, 1.0]]))
    array([[0.8]])
    """

    skew: Any = 1.0

    def _check(self) -> None:
        if isinstance(self.skew, (int, float)) and not isinstance(self.skew, bool):
            check_number(self, "skew", self.skew, low=0, strict=False)
        else:
            check_bandwidth(self, "skew", self.skew, zero=True)

    def coordinates(self, X: Any) -> Any:
        """Return log(x_k + c_k), in which the group is that of sums, shape (n, d)."""
        return self._coordinates(as_points(self, X), "X")

    def _coordinates(self, points, name):
        xp = namespace(points)
        shifted = points + per_column(self, "skew", None, points)
        if points.shape[0] and not holds(xp.all(shifted > 0)):
            lowest = float(xp.min(xp.where(xp.isnan(shifted), -xp.ones_like(shifted), shifted)))
            raise DataError(
                f"{type(self).__name__}: {name} must be > −skew in each column, with skew={self.skew!r}; its smallest "
                f"entry is {lowest:g} above that. Pass a larger skew; Gaussian or Laplacian take entries of any sign."
            )
        return xp.log(shifted)

    def _evaluate(self, X, Z):
        xp = namespace(X, Z)
        left = self._coordinates(X, "X")
        right = left if Z is X else self._coordinates(Z, "Z")

        def logarithm(x, z):  # log cosh(t/2) without overflow
            size = xp.abs(x - z)
            return size / 2 + xp.log1p(xp.exp(-size)) - math.log(2)

        return assemble(lambda x, z: xp.exp(-column_sum(logarithm, x, z)), left, right)

    def _diagonal(self, X):
        self._coordinates(X, "X")
        return namespace(X).ones(X.shape[0], dtype=X.dtype, device=compat.device(X))
