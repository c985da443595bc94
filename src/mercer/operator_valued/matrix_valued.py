"""Kernels whose values are matrices and that need not decompose: of vector fields, tasks and series."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import namespace, to_numpy
from mercer.exceptions import DataError
from mercer.linalg import Gram, OperatorGram
from mercer.linalg.memory import BLOCK_BYTES
from mercer.measures import Measure
from mercer.operator_valued.base import BoundKernel, Expansion, OperatorValuedKernel

__all__ = ["BoundMatrixKernel", "MatrixExpansion", "MatrixValuedKernel"]


class MatrixValuedKernel(OperatorValuedKernel):
    """K(x, z) ∈ R^{p×p}, for functions h: x ↦ R^p, whatever the form of K.

    A kernel of one's own implements :meth:`blocks`. It is bound to a measure of p indices (``Measure(np.arange(p),
    np.ones(p))``), and with a problem on its Gram operator every loss and every solver that does not need a product of
    two Gram matrices works; ``mercer.testing.check_operator_valued_kernel`` tests it. NumPy only.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> @dataclass(eq=False, repr=False)
    ... class Turning(MatrixValuedKernel):  # exp(−(x − z)²) R(x)R(z)ᵀ with rotations R
    ...     def blocks(self, X, Z):
    ...         angle = X - Z.T
    ...         turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1)
    ...         return np.exp(-(angle**2))[:, :, None, None] * turn.reshape(*angle.shape, 2, 2)
    >>> bound = Turning().bind(Measure(np.arange(2.0), np.ones(2)))
    >>> X = np.array([[0.0], [1.0]])
    >>> h = bound.expand(X, np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> h.evaluate(X, np.arange(2.0)).round(3)
    array([[1.31 , 0.199],
           [0.199, 1.31 ]])
    """

    @property
    def continuous(self) -> bool:
        """No: h(x) is a vector."""
        return False

    @abstractmethod
    def blocks(self, X: Any, Z: Any) -> Any:
        """Return K(x_i, z_j) for the rows of two arrays, shape (len(X), len(Z), p, p); K(z, x) is K(x, z)ᵀ."""

    def bind(self, measure: Measure, *, n_components: int | None = None) -> BoundMatrixKernel:
        """Return the kernel for vectors in R^p, p the number of points of the measure (indices, as a rule)."""
        if n_components not in (None, 1):
            raise DataError(
                f"{type(self).__name__}: the components of a vector are the points of the measure; got n_components = "
                f"{n_components}. Pass a measure with {n_components} points instead."
            )
        return BoundMatrixKernel(self, measure)


@dataclass(frozen=True, eq=False)
class BoundMatrixKernel(BoundKernel):
    """A :class:`MatrixValuedKernel` on vectors of the p points of a measure."""

    kernel: MatrixValuedKernel
    measure: Measure

    @property
    def pairwise(self) -> bool:
        return False

    def gram(self, X: Any) -> Gram:
        return OperatorGram(self.kernel.blocks, X, len(self.measure), name=f"{type(self.kernel).__name__}.blocks")

    def expand(self, X: Any, coef: Any) -> MatrixExpansion:
        return MatrixExpansion(self.kernel, X, coef)

    def observe(self, expansion: Expansion, X: Any) -> Any:
        return expansion.evaluate(X, np.arange(len(self.measure)))


@dataclass(frozen=True, eq=False)
class MatrixExpansion(Expansion):
    """h(x) = Σ_i K(x, x_i) c_i, a vector in R^p.

    Parameters
    ----------
    kernel : MatrixValuedKernel
        K.
    X : array of shape (n, d)
        Training rows.
    coef : array of shape (n, p)
        c.
    """

    kernel: MatrixValuedKernel
    X: Any
    coef: Any

    @property
    def like(self):
        return self.coef

    def evaluate(self, X, points):
        """Return the components of h(x) that ``points`` names by their indices, shape (len(X), len(points))."""
        index = to_numpy(points).reshape(len(points))
        p = self.coef.shape[1]
        if not np.all((index == np.round(index)) & (index >= 0) & (index < p)):
            raise DataError(f"MatrixExpansion: points are the indices 0, ..., {p - 1} of components; got {index}.")
        step = max(1, BLOCK_BYTES // max(8 * self.coef.size * p, 1))
        parts = [self._values(X[start : start + step]) for start in range(0, len(X), step)]
        return np.concatenate([np.zeros((0, p)), *parts])[:, index.astype(int)]

    def _values(self, X: np.ndarray) -> np.ndarray:
        return np.einsum("ijab,jb->ia", np.asarray(self.kernel.blocks(X, self.X)), self.coef, optimize=True)

    @property
    def norm(self):
        image = self.evaluate(self.X, np.arange(self.coef.shape[1]))
        return math.sqrt(max(float(namespace(image).sum(self.coef * image)), 0.0))
