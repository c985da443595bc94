"""Fitted functions: sums over training rows, products of features, and sums over single observations."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import numpy as np
import scipy.sparse

from mercer.backend import as_like, is_numpy, namespace
from mercer.kernels import Constant, Kernel
from mercer.kernels.gram import BLOCK_BYTES, kernel_product
from mercer.linalg import PSD, Dense, Gram, PairGram, PairKronecker
from mercer.linalg.memory import row_blocks
from mercer.operator_valued.base import Expansion
from mercer.operator_valued.landmarks import compress
from mercer.operator_valued.representers import NodeRepresenters, Representers, output_gram

__all__ = ["FeatureExpansion", "KernelExpansion", "ScatteredExpansion", "expand_rows", "pair_gram"]


class SeparableExpansion(Expansion):
    """h(x)(θ) = Σ_ij f_i(x) g_j(θ) A c_ij, with functions f_i of the inputs and representers g_j of θ."""

    kernel: Kernel
    coef: Any
    representers: Representers
    n_components: int
    output_matrix: Any

    @abstractmethod
    def _along_inputs(self, X: Any, array: Any) -> Any:
        """Return Σ_i f_i(x) array_i for the rows of X."""

    @abstractmethod
    def _inner_products(self, array: Any) -> Any:
        """Return Σ_j ⟨f_i, f_j⟩ array_j."""

    def averaged(self, X: Any, weight: Any = None) -> FeatureExpansion:
        """Return the function that is Σ_i s_i h(x_i) / Σ_i s_i at every x, for rows X and their weights s."""
        xp, values = namespace(self.coef), self._along_inputs(X, self.coef)
        mean = xp.mean(values, axis=0) if weight is None else weight @ values / xp.sum(weight)
        return FeatureExpansion(Constant(1.0), mean[None, :], self.representers, self.n_components, self.output_matrix)

    @property
    def like(self):
        return self.coef

    def evaluate(self, X, points):
        return self._combine(X, self.representers.values(as_like(column_of(points), self.coef)))

    def slope(self, X, points):
        return self._combine(X, self.representers.slopes(as_like(column_of(points), self.coef)))

    @property
    def norm(self):
        right = output_gram(self.representers, self.n_components, self.output_matrix)
        image = self._inner_products((right @ self.coef.T).T)
        return math.sqrt(max(float(namespace(self.coef).sum(self.coef * image)), 0.0))

    def _combine(self, X: Any, section: Any) -> Any:
        """Return Σ_ij f_i(x) section_jk A c_ij, in the cheaper order of the two products."""
        section, p = as_like(section, self.coef), self.n_components
        few = section.shape[1] < section.shape[0]
        values = self._along_inputs(X, along_theta(self.coef, section, p) if few else self.coef)
        values = values if few else along_theta(values, section, p)
        if self.output_matrix is None:
            return values
        xp = namespace(values)
        mixed = xp.reshape(values, (-1, p)) @ as_like(self.output_matrix, values)
        return xp.reshape(mixed, tuple(values.shape))


@dataclass(frozen=True, eq=False)
class KernelExpansion(SeparableExpansion):
    """h(x)(θ) = Σ_ij k_X(x, x_i) g_j(θ) A c_ij, over the training rows x_i or landmarks among them.

    Parameters
    ----------
    kernel : Kernel
        k_X, with numbers for its parameters.
    X : array of shape (n, d)
        Training rows or landmarks, or their Gram matrix where the kernel is precomputed.
    coef : array of shape (n, m·p)
        c; columns (j, component), component last.
    representers : Representers
        g_j, m functions of θ.
    n_components : int, default=1
        p.
    output_matrix : array of shape (p, p), optional
        A; None is the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import Grid
    >>> from mercer.operator_valued import Decomposable
    >>> X = np.array([[0.0], [1.0]])
    >>> h = Decomposable(Gaussian(1.0), Gaussian(5.0)).bind(Grid([0.0, 0.5, 1.0]).build()).expand(X, np.ones((2, 3)))
    >>> h.evaluate(np.array([[0.5]]), np.array([[0.2], [0.7]])).shape
    (1, 2)
    >>> KernelExpansion.from_state(h.state()).norm == h.norm
    True
    """

    kernel: Kernel
    X: Any
    coef: Any
    representers: Representers
    n_components: int = 1
    output_matrix: Any = None

    def _along_inputs(self, X, array):
        return kernel_product(self.kernel, X, self.X, array)

    def _inner_products(self, array):
        return self.kernel.gram(self.X) @ array


@dataclass(frozen=True, eq=False)
class FeatureExpansion(SeparableExpansion):
    """h(x)(θ) = Σ_lj φ_l(x) g_j(θ) A c_lj with the features φ of k_X(x, z) = φ(x)·φ(z): no training row is needed.

    Parameters
    ----------
    kernel : Kernel
        k_X, with numbers for its parameters.
    coef : array of shape (D, m·p)
        c; columns (j, component), component last.
    representers, n_components, output_matrix
        As those of :class:`KernelExpansion`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FeatureKernel, Gaussian
    >>> from mercer.measures import Grid
    >>> from mercer.operator_valued import Decomposable
    >>> K = Decomposable(FeatureKernel(lambda X: np.hstack([X**0, X])), Gaussian(5.0))
    >>> h = K.bind(Grid([0.0, 0.5, 1.0]).build()).expand(np.linspace(0, 1, 50)[:, None], np.ones((50, 3)))
    >>> h.coef.shape
    (2, 3)
    """

    kernel: Kernel
    coef: Any
    representers: Representers
    n_components: int = 1
    output_matrix: Any = None

    def _along_inputs(self, X, array):
        return feature_product(self.kernel, X, array)

    def _inner_products(self, array):
        return array


def expand_rows(
    kernel: Kernel, X: Any, coef: Any, representers: Representers, n_components: int, output_matrix: Any
) -> SeparableExpansion:
    """Return Σ_ij k_X(·, x_i) g_j A c_ij, in features of k_X where they are known, and over few rows where these do."""
    kernel = kernel if kernel.adapted else kernel.adapt(X)
    if kernel.explicit:
        coef = feature_sums(kernel, X, coef)
        return FeatureExpansion(kernel, coef, representers, n_components, output_matrix)
    few = compress(kernel, X, coef)
    X, coef = (X, coef) if few is None else few
    return KernelExpansion(kernel, X, coef, representers, n_components, output_matrix)


def feature_product(kernel: Kernel, X: Any, array: Any) -> Any:
    """Return φ(X)·array; on NumPy arrays some rows at a time, so that features of all rows are never held."""
    if not is_numpy(X):
        return kernel.features(X) @ array
    product = np.empty((len(X), array.shape[1]), dtype=np.result_type(X, array))
    for part in row_blocks(len(X), len(array)):
        np.matmul(kernel.features(X[part]), array, out=product[part])
    return product


def feature_sums(kernel: Kernel, X: Any, array: Any) -> Any:
    """Return φ(X)ᵀ·array, the same way."""
    if not is_numpy(X):
        return kernel.features(X).T @ array
    width = kernel.features(X[:1]).shape[1]
    return sum(kernel.features(X[part]).T @ array[part] for part in row_blocks(len(X), width))


def along_theta(array: Any, section: Any, n_components: int) -> Any:
    """Return Σ_j a_{i(jc)} section_jk for columns (j, component c): (n, m·p) and (m, k) give (n, k·p)."""
    if n_components == 1:
        return array @ section
    xp, (m, k) = namespace(array), section.shape
    parts = xp.permute_dims(xp.reshape(array, (-1, m, n_components)), (0, 2, 1)) @ section
    return xp.reshape(xp.permute_dims(parts, (0, 2, 1)), (-1, k * n_components))


@dataclass(frozen=True, eq=False)
class ScatteredExpansion(Expansion):
    """h(x)(θ) = Σ_q k_X(x, x_i(q)) k_Θ(θ_q, θ) A c_q, over single observations of curves.

    Parameters
    ----------
    kernel : Kernel
        k_X, with numbers for its parameters.
    X : array of shape (n, d)
        Training rows, or their Gram matrix where the kernel is precomputed.
    coef : array of shape (N, p)
        c.
    rows : array of int of shape (N,)
        i(q), the row of X of each observation.
    representers : NodeRepresenters
        k_Θ(θ, ·) at the distinct points of all observations.
    nodes : array of int of shape (N,)
        Which of these points an observation was made at.
    output_matrix : array of shape (p, p) or None
        A; None is the identity.
    """

    kernel: Kernel
    X: Any
    coef: Any
    rows: Any
    representers: NodeRepresenters
    nodes: Any
    output_matrix: Any = None

    @property
    def like(self):
        return self.coef

    def evaluate(self, X, points):
        """Return h(x)(θ); the observations of each row are summed first, some points at a time, O(N len(points) p)."""
        return self._combine(X, column_of(points), self.representers.values)

    def slope(self, X, points):
        return self._combine(X, column_of(points), self.representers.slopes)

    @property
    def norm(self):
        matrix = pair_gram(self.kernel, self.X, self.rows, self.representers, self.nodes, self._matrix)
        return math.sqrt(max(float(np.sum(self.coef * (matrix @ self.coef))), 0.0))

    @property
    def _matrix(self) -> Any:
        return np.eye(self.coef.shape[1]) if self.output_matrix is None else self.output_matrix

    def _combine(self, X: Any, points: Any, section: Any) -> Any:
        """Return Σ_q k_X(x, x_i(q)) section(θ)_q A c_q."""
        n, p = len(self.X), self.coef.shape[1]
        vectors = self.coef if self.output_matrix is None else self.coef @ self.output_matrix
        place = (self.rows[:, None] * p + np.arange(p)).ravel()
        # row (i, component): the coefficients of curve i at the distinct points
        shape = (n * p, len(self.representers.points))
        sums = scipy.sparse.csr_array((vectors.ravel(), (place, np.repeat(self.nodes, p))), shape=shape)
        size = max(1, BLOCK_BYTES // (8 * max(*shape, 1)))
        blocks = [np.zeros((len(X), 0))]
        for start in range(0, len(points), size):
            part = sums @ section(points[start : start + size])  # (n·p, points)
            columns = part.reshape(n, p, -1).transpose(0, 2, 1).reshape(n, -1)
            blocks.append(kernel_product(self.kernel, X, self.X, columns))
        return np.concatenate(blocks, axis=1)


def column_of(points: Any) -> Any:
    """Return points of Θ with a column for each coordinate: on the line a plain list of numbers will do."""
    points = points if compat.is_array_api_obj(points) else np.asarray(points, dtype=float)
    return points[:, None] if points.ndim == 1 else points


def pair_gram(
    kernel: Kernel, X: Any, rows: Any, representers: NodeRepresenters, nodes: Any, output_matrix: Any
) -> Gram:
    """Return 𝐊 ⊗ A on (N, p) arrays, without weights: the products k_X(x_i(q), x_i(r)) k_Θ(θ_q, θ_r) A."""
    left = PairGram(kernel.gram(X), representers.kernel.gram(representers.points), rows, nodes)
    return PairKronecker(left, Dense(output_matrix, PSD))
