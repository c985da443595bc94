"""Functions with values in R^p: K(x, z) = k_X(x, z)·T with the matrix-valued output kernel k_Θ(θ, τ)·A."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import DataError
from mercer.kernels import Kernel
from mercer.kernels.gram import kernel_product
from mercer.linalg import Dense, Kronecker, LowRank, Tensor
from mercer.measures import Measure

__all__ = ["BoundComponents", "check_output_matrix", "component_measure", "leading_components"]

#: nodes from which on the output Gram matrix is formed only where its rank asks for it
MANY_NODES = 1000


@dataclass(frozen=True, eq=False)
class BoundComponents:
    """A decomposable kernel whose functions of θ take values in R^p, represented at the nodes of a measure.

    Arrays have m·p columns, (node, component) with the component last, and

        h(x)(θ) = Σ_ij k_X(x, x_i) k_Θ(θ_j, θ) A c_ij,    c_ij ∈ R^p.

    Parameters
    ----------
    kernel, output_kernel : Kernel
        k_X and k_Θ.
    nodes : Measure
        Nodes θ_j of Θ and their weights.
    n_components : int, default=1
        p.
    output_matrix : array of shape (p, p), optional
        A, symmetric and positive semi-definite; the identity by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import Grid
    >>> K = BoundComponents(Gaussian(1.0), Gaussian(5.0), Grid([0.0, 0.5, 1.0]).build(), n_components=2)
    >>> K.gram(np.array([[0.0], [1.0]])).right.shape
    (6, 6)
    """

    kernel: Kernel
    output_kernel: Kernel
    nodes: Measure
    n_components: int = 1
    output_matrix: Any = None

    @cached_property
    def measure(self) -> Measure:
        """The measure of the columns: each node once for each component."""
        return component_measure(self.nodes, self.n_components)

    def gram(self, X: Any) -> Kronecker:
        """Return K_X ⊗ (K_Θ ⊗ A) on (n, m·p) arrays, without weights."""
        right = self.output_kernel.gram(self.nodes.points)
        if len(self.nodes) <= MANY_NODES and not isinstance(right, LowRank):
            right = Dense(right.to_dense(), right.tags)
        if self.n_components > 1 or self.output_matrix is not None:
            right = Tensor(right, self._matrix(right.like))
        return Kronecker(self.kernel.gram(X), right)

    def analyse(self, Y: Any) -> Any:
        """Return the targets of the problem for curves at the nodes: themselves."""
        return Y

    def evaluate(self, X: Any, X_fit: Any, coef: Any, points: Any) -> Any:
        """Return h(x)(θ) at all x and θ from representer coefficients, shape (len(X), len(points)·p)."""
        return self._combine(X, X_fit, coef, self.output_kernel(self.nodes.points, points))

    def slope(self, X: Any, X_fit: Any, coef: Any, points: Any) -> Any:
        """Return ∂_θ h(x)(θ), for Θ on the line and an output kernel with derivatives, like :meth:`evaluate`."""
        return self._combine(X, X_fit, coef, self.output_kernel.derivative(self.nodes.points, points, (0, 1)))

    def _combine(self, X: Any, X_fit: Any, coef: Any, section: Any) -> Any:
        """Return Σ_ij k_X(x, x_i) section_jk A c_ij in the cheaper order of the two products."""
        p, (m, k) = self.n_components, section.shape
        xp = namespace(coef)

        def along_theta(array):
            if p == 1:
                return array @ section
            parts = xp.permute_dims(xp.reshape(array, (-1, m, p)), (0, 2, 1)) @ section
            return xp.reshape(xp.permute_dims(parts, (0, 2, 1)), (-1, k * p))

        few = k < m
        values = kernel_product(self.kernel, X, X_fit, along_theta(coef) if few else coef)
        values = values if few else along_theta(values)
        if self.output_matrix is None:
            return values
        return xp.reshape(xp.reshape(values, (-1, p)) @ self._matrix(values), (-1, k * p))

    def _matrix(self, like: Any) -> Any:
        if self.output_matrix is None:
            return as_like(np.eye(self.n_components), like)
        return as_like(self.output_matrix, like)


def component_measure(nodes: Measure, n_components: int) -> Measure:
    """Return the measure of (node, component) columns: points and weights of each node, p times.

    Examples
    --------
    >>> import numpy as np
    >>> component_measure(Measure(np.array([0.0, 1.0]), np.array([0.25, 0.75])), 2).weights
    array([0.25, 0.25, 0.75, 0.75])
    """
    if n_components == 1:
        return nodes
    xp = namespace(nodes.points)
    points = xp.repeat(nodes.points, n_components, axis=0)
    return Measure(points, xp.repeat(nodes.weights, n_components))


def check_output_matrix(owner: object, matrix: Any, n_components: int) -> np.ndarray:
    """Return A as a symmetric float array of shape (p, p), or refuse what is not positive semi-definite."""
    name = owner if isinstance(owner, str) else type(owner).__name__
    try:
        A = np.asarray(to_numpy(matrix), dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: output_matrix must hold numbers: {error}.") from error
    p = n_components
    if A.shape != (p, p):
        raise DataError(
            f"{name}: output_matrix must have shape (n_components, n_components) = ({p}, {p}); got {A.shape}."
        )
    if not np.all(np.isfinite(A)):
        raise DataError(f"{name}: output_matrix must not contain NaN or infinity.")
    size = float(np.max(np.abs(A)))
    if np.max(np.abs(A - A.T)) > 1e-9 * size:
        raise DataError(f"{name}: output_matrix must be symmetric. Pass (A + A.T) / 2.")
    A = (A + A.T) / 2
    values = np.linalg.eigvalsh(A)
    if size == 0 or values[0] < -max(1e-9, 100 * p * np.finfo(float).eps) * values[-1]:
        raise DataError(
            f"{name}: output_matrix must be positive semi-definite and not zero; its eigenvalues go from "
            f"{values[0]:.3g} to {values[-1]:.3g}. A covariance matrix of the outputs is a natural choice."
        )
    return A


def leading_components(Y: np.ndarray, rank: int) -> np.ndarray:
    """Return the projector V_r V_rᵀ on the r leading eigenvectors of Σ YᵀY, for targets Y of shape (..., p).

    As an output matrix it makes a fit that of the first r principal components (of uncentred outputs).

    Examples
    --------
    >>> import numpy as np
    >>> leading_components(np.array([[3.0, 0.0], [0.0, 1.0]]), rank=1)
    array([[1., 0.],
           [0., 0.]])
    """
    check_number("leading_components", "rank", rank, low=1, high=Y.shape[-1], strict=False, integer=True)
    rows = Y.reshape(-1, Y.shape[-1])
    rows = rows[np.all(np.isfinite(rows), axis=1)]
    vectors = np.linalg.eigh(rows.T @ rows)[1][:, ::-1][:, :rank]
    return vectors @ vectors.T
