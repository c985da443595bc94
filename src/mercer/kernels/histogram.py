"""Kernels on histograms and other non-negative vectors."""

from __future__ import annotations

from dataclasses import dataclass

import array_api_compat as compat

from mercer._params import check_number
from mercer.backend import holds, namespace
from mercer.exceptions import DataError
from mercer.kernels.base import Kernel
from mercer.kernels.distances import assemble, column_sum

__all__ = ["ExponentiatedChiSquared"]


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
