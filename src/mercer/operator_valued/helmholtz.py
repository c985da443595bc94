"""Vector fields with a part without rotation and a part without sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer._params import check_number
from mercer.kernels import Gaussian
from mercer.operator_valued.algebra import MatrixSum
from mercer.operator_valued.fields import CurlFree, DivergenceFree, check_radial
from mercer.operator_valued.matrix_valued import MatrixValuedKernel

__all__ = ["Helmholtz"]


@dataclass(eq=False, repr=False)
class Helmholtz(MatrixValuedKernel):
    """K = weight·(−∇∇ᵀk) + (1 − weight)·(∇∇ᵀ − Δ I)l: any smooth field on R^d, as the sum of its two parts.

    The first part is :class:`CurlFree`, the second :class:`DivergenceFree`, each with a kernel and lengths of its
    own. Where one length σ serves both (k = exp(−‖δ‖²/(2σ²))), K(x, x) is (weight + (1 − weight)(d − 1))/σ² times
    the identity. :meth:`parts` takes a fitted field apart.

    Parameters
    ----------
    curl_free : Radial, default=Gaussian("median")
        k; see :class:`CurlFree`.
    divergence_free : Radial, default=Gaussian("median")
        l.
    weight : float, default=0.5
        Between 0, without sources, and 1, without rotation.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = Helmholtz(Gaussian(1.0), Gaussian(0.1), weight=0.2)
    >>> X = np.array([[0.0, 0.0], [1.0, 0.5]])
    >>> C = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> rotation_free, source_free = kernel.parts(X, X, C)
    >>> np.allclose(rotation_free + source_free, kernel.product(X, X, C))
    True
    """

    curl_free: Any = field(default_factory=Gaussian)
    divergence_free: Any = field(default_factory=Gaussian)
    weight: float = 0.5

    def _check(self) -> None:
        check_radial(self, "curl_free", self.curl_free)
        check_radial(self, "divergence_free", self.divergence_free)
        check_number(self, "weight", self.weight, low=0, high=1, strict=False)

    @property
    def mixture(self) -> MatrixValuedKernel:
        """The kernel as the sum that it is, without a part of weight 0."""
        gradients, flows = CurlFree(self.curl_free), DivergenceFree(self.divergence_free)
        if self.weight in (0, 1):
            return gradients if self.weight == 1 else flows
        return MatrixSum(gradients.times(float(self.weight)), flows.times(1 - float(self.weight)))

    @property
    def pair_numbers(self) -> int | None:
        """Those of both parts."""
        return self.mixture.pair_numbers

    def require_outputs(self, X, n_outputs):
        self.mixture.require_outputs(X, n_outputs)

    def blocks(self, X, Z):
        return self.mixture.blocks(X, Z)

    def products(self, X, Z, factor=None):
        return self.mixture.products(X, Z, factor)

    def diagonal(self, X):
        return self.mixture.diagonal(X)

    def jacobian(self, X, Z, C):
        return self.mixture.jacobian(X, Z, C)

    def parts(self, X, Z, C):
        return self.mixture.parts(X, Z, C)

    def potential(self, X, Z, C):
        return self.mixture.potential(X, Z, C)

    def stream_function(self, X, Z, C):
        return self.mixture.stream_function(X, Z, C)
