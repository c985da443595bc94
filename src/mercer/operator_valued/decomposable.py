"""The decomposable kernel K(x, z) = k_X(x, z)·T, T the integral operator of an output kernel k_Θ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import Params
from mercer.backend import namespace, to_numpy
from mercer.exceptions import parameter_error
from mercer.kernels import Kernel
from mercer.kernels.gram import kernel_product
from mercer.linalg import Dense, Kronecker
from mercer.measures import Measure

__all__ = ["BoundDecomposable", "Decomposable"]

#: error of an interpolated constant beyond which an output kernel is too rough for its nodes
CARRIED = 0.2


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

    def bind(self, measure: Measure, slopes: Any = None) -> BoundDecomposable:
        """Fix the output representation: values at the nodes of ``measure`` and, perhaps, slopes at some points."""
        return BoundDecomposable(self.kernel, self.output_kernel, measure, slopes)


@dataclass(frozen=True, eq=False)
class BoundDecomposable:
    """A decomposable kernel whose functions of θ are represented at the nodes of a measure.

    With ``slopes``, points τ_q of shape (k, 1), derivatives ∂_θ h(x)(τ_q) are represented, too; arrays then have m + k
    columns, values first, and h(x)(θ) = Σ_i k_X(x, x_i)[Σ_j c_ij k_Θ(θ_j, θ) + Σ_q c_iq ∂₁k_Θ(τ_q, θ)].
    """

    kernel: Kernel
    output_kernel: Kernel
    measure: Measure
    slopes: Any = None

    def gram(self, X: Any) -> Kronecker:
        """Return K_X ⊗ K_Θ on (n, m) arrays, without weights; K_Θ = [[k, ∂₂k], [∂₁k, ∂₁∂₂k]] with slopes."""
        points, k = self.measure.points, self.output_kernel
        matrix = k(points)
        if self.slopes is not None:
            xp = namespace(matrix)
            cross = k.derivative(points, self.slopes, (0, 1))
            below = xp.concat([cross.T, k.derivative(self.slopes, self.slopes, (1, 1))], axis=1)
            matrix = xp.concat([xp.concat([matrix, cross], axis=1), below], axis=0)
        return Kronecker(self.kernel.gram(X), Dense(matrix, frozenset({"self-adjoint", "psd"})))

    def evaluate(self, X: Any, X_fit: Any, coef: Any, points: Any) -> Any:
        """Return h(x)(θ) at all x and θ from representer coefficients, shape (len(X), len(points))."""
        k, nodes = self.output_kernel, self.measure.points
        section = k(nodes, points)
        if self.slopes is not None:
            section = namespace(section).concat([section, k.derivative(self.slopes, points, (1, 0))], axis=0)
        if points.shape[0] < coef.shape[1]:  # the cheaper order of the two products
            return kernel_product(self.kernel, X, X_fit, coef @ section)
        return kernel_product(self.kernel, X, X_fit, coef) @ section

    def carries_constants(self, points: Any) -> np.ndarray:
        """Say for each point whether interpolation by k_Θ from the nodes gives a constant function back there.

        Where it does not (to 20 %), k_Θ is too rough for the distance of the nodes: h falls back to 0 between them.
        """
        nodes = to_numpy(self.measure.points)
        k, points = self.output_kernel, to_numpy(points)
        weights = np.linalg.pinv(to_numpy(k(nodes)), rcond=1e-10, hermitian=True) @ np.ones(len(nodes))
        return np.abs(to_numpy(k(points, nodes)) @ weights - 1) <= CARRIED

    def slope_section(self, points: Any) -> Any:
        """Return the derivatives at some points of the functions of θ that h is made of, (m + k, len(points))."""
        k, nodes = self.output_kernel, self.measure.points
        section = k.derivative(nodes, points, (0, 1))
        if self.slopes is not None:
            section = namespace(section).concat([section, k.derivative(self.slopes, points, (1, 1))], axis=0)
        return section
