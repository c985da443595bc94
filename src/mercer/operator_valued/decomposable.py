"""The decomposable kernel K(x, z) = k_X(x, z)·T, T the integral operator of an output kernel k_Θ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._params import Params
from mercer.exceptions import parameter_error
from mercer.kernels import Kernel
from mercer.kernels.gram import kernel_product
from mercer.linalg import Dense, Kronecker
from mercer.measures import Measure

__all__ = ["BoundDecomposable", "Decomposable"]


@dataclass(eq=False, repr=False)
class Decomposable(Params):
    """K(x, z) = k_X(x, z)·T_{k_Θ}: similarity of inputs times smoothness in θ.

    Its space is that of the product kernel k_X(x, z)·k_Θ(θ, τ) on pairs (x, θ), so that
    h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ).

    Parameters
    ----------
    kernel : Kernel
        k_X on inputs.
    output_kernel : Kernel
        k_Θ on Θ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import GaussLegendre
    >>> K = Decomposable(Gaussian(1.0), Gaussian(5.0)).bind(GaussLegendre(3).build())
    >>> K.gram(np.array([[0.0], [1.0]])).shape
    (6, 6)
    """

    kernel: Kernel
    output_kernel: Kernel

    def _check(self) -> None:
        for name in ("kernel", "output_kernel"):
            if not isinstance(getattr(self, name), Kernel):
                raise parameter_error(self, name, getattr(self, name), "a Kernel", "For instance Gaussian(1.0).")

    def bind(self, measure: Measure) -> BoundDecomposable:
        """Fix the output representation: values at the nodes of ``measure``."""
        return BoundDecomposable(self.kernel, self.output_kernel, measure)


@dataclass(frozen=True, eq=False)
class BoundDecomposable:
    """A decomposable kernel whose functions of θ are represented at the nodes of a measure."""

    kernel: Kernel
    output_kernel: Kernel
    measure: Measure

    def gram(self, X: Any) -> Kronecker:
        """Return K_X ⊗ K_Θ on (n, m) arrays, without weights."""
        points = self.measure.points
        right = Dense(self.output_kernel(points), frozenset({"self-adjoint", "psd"}))
        return Kronecker(self.kernel.gram(X), right)

    def evaluate(self, X: Any, X_fit: Any, coef: Any, points: Any) -> Any:
        """Return h(x)(θ) at all x and θ from representer coefficients, shape (len(X), len(points))."""
        output = self.output_kernel(self.measure.points, points)
        if points.shape[0] < coef.shape[1]:  # the cheaper order of the two products
            return kernel_product(self.kernel, X, X_fit, coef @ output)
        return kernel_product(self.kernel, X, X_fit, coef) @ output
