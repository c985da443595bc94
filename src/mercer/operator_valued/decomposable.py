"""The decomposable kernel K(x, z) = k_X(x, z)·T ⊗ A, T the integral operator of an output kernel k_Θ."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.backend import namespace, to_numpy
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.kernels import ColumnLayout, Kernel
from mercer.kernels.objects import ObjectKernel
from mercer.linalg import Kronecker, LinearOperator
from mercer.measures import Measure
from mercer.operator_valued.base import BoundKernel, OperatorValuedKernel
from mercer.operator_valued.components import check_output_matrix, component_measure
from mercer.operator_valued.expansion import FeatureExpansion, SeparableExpansion, expand_rows
from mercer.operator_valued.representers import NodeRepresenters, output_gram

__all__ = ["BoundDecomposable", "Decomposable"]

#: error of an interpolated constant beyond which an output kernel is too rough for its nodes
CARRIED = 0.2


@dataclass(eq=False, repr=False)
class Decomposable(OperatorValuedKernel):
    """K(x, z) = k_X(x, z)·T_{k_Θ} ⊗ A: similarity of inputs times smoothness in θ times similarity of components.

    Its space is that of the product kernel k_X(x, z)·k_Θ(θ, τ)·A on pairs (x, θ), so that
    h(x)(θ) = Σ_ij k_X(x, x_i) k_Θ(θ_j, θ) A c_ij.

    Parameters
    ----------
    kernel : Kernel
        k_X on inputs.
    output_kernel : Kernel or ObjectKernel
        k_Θ on Θ. Of objects with features φ, ⟨φ(y), Aφ(z)⟩ in place of T ⊗ A, see ``InputOutputKernelRegressor``.
    output_matrix : array of shape (p, p), optional
        A, symmetric and positive semi-definite, for functions with values in R^p; the identity by default.

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
    output_kernel: Kernel | ObjectKernel
    output_matrix: Any = None

    def _check(self) -> None:
        for name, kinds in (("kernel", Kernel), ("output_kernel", (Kernel, ObjectKernel))):
            if not isinstance(getattr(self, name), kinds):
                raise parameter_error(self, name, getattr(self, name), "a Kernel", "For instance Gaussian(1.0).")
        if isinstance(self.output_kernel, Kernel) and self.output_kernel.pairwise:
            hint = "It is evaluated at any point."
            raise parameter_error(self, "output_kernel", self.output_kernel, "a Kernel on points of Θ", hint)
        if self.output_matrix is not None:
            check_output_matrix(self, self.output_matrix)

    @property
    def pairwise(self) -> bool:
        """That of k_X."""
        return self.kernel.pairwise

    def adapt(self, X: Any) -> Decomposable:
        """Return a copy in which parameters of k_X that depend on the inputs are numbers."""
        return self.replace(kernel=self.kernel.adapt(X))

    def locate(self, layout: ColumnLayout) -> Decomposable:
        """Return a copy in which columns that k_X names are numbers."""
        return self.replace(kernel=self.kernel.locate(layout))

    def times(self, factor: Any) -> Decomposable:
        """Return the kernel in which k_X is multiplied by a scalar kernel or a number."""
        return self.replace(kernel=factor * self.kernel)

    def bind(self, measure: Measure, slopes: Any = None, *, n_components: int | None = None) -> BoundDecomposable:
        """Fix the output representation: values in R^p at the nodes of ``measure`` and, perhaps, slopes at some points.

        Parameters of k_Θ that depend on the points become numbers.

        Parameters
        ----------
        measure : Measure
            Nodes of Θ and their weights.
        slopes : array of shape (k, 1), optional
            Points τ_q of the line at which ∂_θ h(x)(τ_q) is represented, too.
        n_components : int, optional
            p; by default that of the output matrix, or 1.
        """
        matrix = self.output_matrix
        if matrix is not None:
            matrix = check_output_matrix(self, matrix, n_components)
            n_components = len(matrix)
        output_kernel = self.output_kernel
        if not isinstance(output_kernel, Kernel):
            raise UnsupportedError(
                f"{self!r} is a kernel of objects, which are no functions of points: pass it to "
                "InputOutputKernelRegressor."
            )
        output_kernel = output_kernel if output_kernel.adapted else output_kernel.adapt(measure.points)
        return BoundDecomposable(self.kernel, output_kernel, measure, slopes, n_components or 1, matrix)


@dataclass(frozen=True, eq=False)
class BoundDecomposable(BoundKernel):
    """A decomposable kernel whose functions of θ are represented at the nodes of a measure.

    Arrays have m·p columns, (node, component) with the component last. With ``slopes``, points τ_q of shape (k, 1),
    derivatives ∂_θ h(x)(τ_q) are represented, too; arrays then have (m + k)·p columns, values first, and

        h(x)(θ) = Σ_i k_X(x, x_i) A [Σ_j k_Θ(θ_j, θ) c_ij + Σ_q ∂₁k_Θ(τ_q, θ) c_iq],    c_ij, c_iq ∈ R^p.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import Grid
    >>> K = Decomposable(Gaussian(1.0), Gaussian(5.0)).bind(Grid([0.0, 0.5, 1.0]).build(), n_components=2)
    >>> K.gram(np.array([[0.0], [1.0]])).array_shape
    (2, 6)
    """

    nodal = True

    kernel: Kernel
    output_kernel: Kernel = field()  # required, though the base class has None
    nodes: Measure
    slopes: Any = None
    n_components: int = 1
    output_matrix: Any = None

    @cached_property
    def measure(self) -> Measure:  # type: ignore[override]
        """The measure of the columns of values: each node once for each component."""
        return component_measure(self.nodes, self.n_components)

    @property
    def representers(self) -> NodeRepresenters:
        """k_Θ(θ_j, ·), and ∂₁k_Θ(τ_q, ·) with slopes."""
        return NodeRepresenters(self.output_kernel, self.nodes.points, self.slopes)

    def gram(self, X: Any) -> Kronecker:
        """Return K_X ⊗ (K_Θ ⊗ A), without weights."""
        return Kronecker(self.kernel.gram(X), self.output_gram())

    def blocks(self, X: Any, Z: Any) -> Any:
        return self.kernel(X, Z)[:, :, None, None] * self.output_gram().to_dense()

    def output_gram(self) -> LinearOperator:
        """Return K_Θ ⊗ A, without weights."""
        return output_gram(self.representers, self.n_components, self.output_matrix)

    def expand(self, X: Any, coef: Any) -> SeparableExpansion:
        return expand_rows(self.kernel, X, coef, self.representers, self.n_components, self.output_matrix)

    def of_features(self, coef: Any) -> FeatureExpansion:
        """Return h(x)(θ) = Σ_j φ(x) c_j k_Θ(θ_j, θ) from coefficients (D, m·p), where k_X has explicit features."""
        return FeatureExpansion(self.kernel, coef, self.representers, self.n_components, self.output_matrix)

    def observe(self, expansion: Any, X: Any) -> Any:
        """Return values at the nodes and, after them, slopes at their points."""
        values = expansion.evaluate(X, self.nodes.points)
        if self.slopes is None:
            return values
        return namespace(values).concat([values, expansion.slope(X, self.slopes)], axis=1)

    def like(self, array: Any) -> BoundDecomposable:
        return replace(self, nodes=self.nodes.like(array))

    def with_slopes(self, points: Any) -> BoundDecomposable:
        return replace(self, slopes=points)

    def slope_sizes(self) -> np.ndarray:
        return np.diag(self.output_kernel.derivative(self.slopes, None, (1, 1)))

    def carries_constants(self, points: Any) -> np.ndarray:
        """Say for each point whether interpolation by k_Θ from the nodes gives a constant function back there.

        Where it does not (to 20 %), k_Θ is too rough for the distance of the nodes: h falls back to 0 between them.
        """
        nodes = to_numpy(self.nodes.points)
        k, points = self.output_kernel, to_numpy(points)
        weights = np.linalg.pinv(to_numpy(k(nodes)), rcond=1e-10, hermitian=True) @ np.ones(len(nodes))
        return np.abs(to_numpy(k(points, nodes)) @ weights - 1) <= CARRIED
