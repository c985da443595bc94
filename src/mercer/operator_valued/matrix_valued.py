"""Kernels whose values are matrices and that need not decompose: of vector fields, tasks and series."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.backend import namespace, to_numpy
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import ColumnLayout, Kernel
from mercer.linalg import FastProducts, FeatureGram, Gram, OperatorGram
from mercer.linalg.memory import BLOCK_BYTES, PAIR_BLOCK
from mercer.measures import Measure
from mercer.operator_valued.base import BoundKernel, Expansion, OperatorValuedKernel, combinations

__all__ = ["BoundMatrixKernel", "MatrixExpansion", "MatrixValuedKernel", "VectorFeatureExpansion"]


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

    def products(self, X: Any, Z: Any, factor: Any = None) -> Callable[[Any], Any]:
        """Return C ↦ Σ_j K(x_i, z_j) c_j, (len(Z), p) to (len(X), p), with what all C share computed once.

        A kernel whose products need less than its blocks overrides this, and :attr:`pair_numbers` with it.

        Parameters
        ----------
        X, Z : arrays of shape (n, d) and (m, d)
            Points.
        factor : array of shape (n, m), optional
            Numbers that the blocks are multiplied by.
        """
        values = np.asarray(self.blocks(X, Z))
        values = values if factor is None else values * factor[:, :, None, None]
        n, m, p, _ = values.shape
        matrix = values.transpose(0, 2, 1, 3).reshape(n * p, m * p)
        return lambda C: (matrix @ C.reshape(-1)).reshape(n, p)

    @property
    def pair_numbers(self) -> int | None:
        """How many numbers :meth:`products` keeps for each pair of rows; None for p², those of the blocks."""
        return None

    def product(self, X: Any, Z: Any, C: Any) -> Any:
        """Return Σ_j K(x_i, z_j) c_j for C of shape (len(Z), p), shape (len(X), p), some rows at a time."""
        X, Z, C = (np.asarray(array, dtype=float) for array in (X, Z, C))
        self.require_outputs(X, C.shape[1])
        return self._by_rows(lambda x: self.products(x, Z)(C), X, C)

    def diagonal(self, X: Any) -> Any:
        """Return K(x_i, x_i), shape (len(X), p, p)."""
        return np.stack([np.asarray(self.blocks(x[None, :], x[None, :]))[0, 0] for x in X])

    def jacobian(self, X: Any, Z: Any, C: Any) -> Any:
        """Return ∂h_a(x_i)/∂x_b at (i, a, b), shape (len(X), p, d), of the function h = Σ_j K(·, z_j) c_j."""
        raise self._no_field("derivatives in x")

    def parts(self, X: Any, Z: Any, C: Any) -> tuple[Any, Any]:
        """Return the parts of h = Σ_j K(·, z_j) c_j without rotation and without sources, two (len(X), d) arrays."""
        raise self._no_field("parts without rotation and without sources")

    def potential(self, X: Any, Z: Any, C: Any) -> Any:
        """Return u(x_i), shape (len(X),), whose gradient is the part of h = Σ_j K(·, z_j) c_j without rotation."""
        raise self._no_field("potential")

    def stream_function(self, X: Any, Z: Any, C: Any) -> Any:
        """Return ψ(x_i), shape (len(X),): in the plane (∂ψ/∂x₂, −∂ψ/∂x₁) is the part of h without sources."""
        raise self._no_field("stream function")

    def _no_field(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"Functions of {type(self).__name__} have no {what} that is known. Those of CurlFree, DivergenceFree and "
            "Helmholtz have, and those of their sums and multiples by numbers."
        )

    @property
    def explicit(self) -> bool:
        """Whether K(x, z) = Φ(x)Φ(z)ᵀ with finitely many features that are known, see :meth:`features`."""
        return False

    def features(self, X: Any) -> Any:
        """Return Φ(x_i) of shape (len(X), p, r), where the kernel is explicit."""
        raise UnsupportedError(
            f"{self!r} has no features that are known. RandomFourier and Nystroem of mercer.features bind it to such."
        )

    def feature_gram(self, X: Any) -> Gram:
        """Return the Gram operator as a product of thin factors, where the kernel is explicit."""
        return FeatureGram(self.features(X))

    def forward(self, X: Any, coef: Any) -> Any:
        """Return h(x_i) = Φ(x_i)w, shape (len(X), p), some rows at a time, where the kernel is explicit."""
        step = max(1, BLOCK_BYTES // (8 * max(len(coef), 1)))
        parts = [self.features(X[start : start + step]) @ coef for start in range(0, len(X), step)]
        return np.concatenate(parts) if parts else self.features(X) @ coef

    def adjoint(self, X: Any, array: Any) -> Any:
        """Return Σ_i Φ(x_i)ᵀa_i, shape (r,), the adjoint of :meth:`forward`."""
        step = max(1, BLOCK_BYTES // (8 * max(array.shape[1], 1)))
        starts = range(0, len(X), step)
        return sum(np.einsum("iar,ia->r", self.features(X[k : k + step]), array[k : k + step]) for k in starts)

    def expansion(self, X: Any, coef: Any) -> Expansion:
        """Return Σ_i K(·, x_i)c_i as a function without training rows, where the kernel is explicit."""
        return self.of_features(self.adjoint(X, coef), coef.shape[1])

    def of_features(self, coef: Any, n_outputs: int) -> Expansion:
        """Return the function Φ(·)w with values in R^p, where the kernel is explicit."""
        return VectorFeatureExpansion(self, coef, n_outputs)

    def feature_coef(self, expansion: Any) -> np.ndarray:
        """Return w of a function that :meth:`of_features` made."""
        return np.asarray(expansion.coef)

    def require_outputs(self, X: Any, n_outputs: int) -> None:
        """Refuse inputs or numbers of outputs p that the kernel is not meant for."""

    def _by_rows(self, function: Callable[[Any], Any], X: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Return a function of the rows of X and of all pairs with the rows of C, some rows at a time."""
        pairs = BLOCK_BYTES // (8 * max(C.shape[1], 1) ** 2) if self.pair_numbers is None else PAIR_BLOCK
        size = max(1, pairs // max(len(C), 1))
        parts = [function(X[k : k + size]) for k in range(0, len(X), size)]
        return np.concatenate(parts) if parts else np.asarray(function(X))

    def adapt(self, X: Any) -> Self:
        """Return a copy in which parameters that depend on the inputs are numbers, those of nested kernels."""
        return self.replace(**{name: kernel.adapt(X) for name, kernel in self._nested().items()})

    def locate(self, layout: ColumnLayout) -> Self:
        """Return a copy in which columns that nested kernels name are numbers."""
        nested = {name: kernel.locate(layout) for name, kernel in self._nested().items()}
        return self.replace(**nested) if nested else self

    def _nested(self) -> dict[str, Any]:
        params = self.get_params(deep=False)
        return {name: value for name, value in params.items() if isinstance(value, (Kernel, OperatorValuedKernel))}

    def times(self, factor: Any) -> MatrixValuedKernel:
        return combinations["modulated"](self, factor)

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
        kernel, p = self.kernel, len(self.measure)
        kernel.require_outputs(X, p)
        if kernel.explicit:
            return kernel.feature_gram(X)
        name = f"{type(kernel).__name__}.blocks"
        if kernel.pair_numbers is None:
            return OperatorGram(kernel.blocks, X, p, name)
        fast = FastProducts(kernel.products, kernel.diagonal, kernel.pair_numbers)
        return OperatorGram(kernel.blocks, X, p, name, fast)

    def blocks(self, X: Any, Z: Any) -> Any:
        return self.kernel.blocks(X, Z)

    def expand(self, X: Any, coef: Any) -> Expansion:
        self.kernel.require_outputs(X, len(self.measure))
        if self.kernel.explicit:
            return self.kernel.expansion(X, coef)
        return MatrixExpansion(self.kernel, X, coef)

    def of_features(self, coef: Any) -> Expansion:
        """Return the function Φ(·)w of one column of coefficients (D, 1), where the kernel is explicit."""
        return self.kernel.of_features(coef[:, 0], len(self.measure))

    def observe(self, expansion: Expansion, X: Any) -> Any:
        return expansion.evaluate(X, np.arange(len(self.measure)))


class VectorExpansion(Expansion):
    """A function with values in R^p: with derivatives, potential and parts where it is a field."""

    kernel: MatrixValuedKernel

    @abstractmethod
    def _of_field(self, what: str, X: Any) -> Any:
        """Return what the kernel knows of h at X, by the name of its method."""

    def jacobian(self, X: Any) -> Any:
        """Return ∂h_a(x_i)/∂x_b at (i, a, b), shape (len(X), p, d)."""
        return self._of_field("jacobian", X)

    def parts(self, X: Any) -> tuple[Any, Any]:
        """Return the parts of h without rotation and without sources, two (len(X), d) arrays."""
        return self._of_field("parts", X)

    def potential(self, X: Any) -> Any:
        """Return u(x_i), shape (len(X),), whose gradient is the part of h without rotation."""
        return self._of_field("potential", X)

    def stream_function(self, X: Any) -> Any:
        """Return ψ(x_i), shape (len(X),): in the plane (∂ψ/∂x₂, −∂ψ/∂x₁) is the part of h without sources."""
        return self._of_field("stream_function", X)


@dataclass(frozen=True, eq=False)
class MatrixExpansion(VectorExpansion):
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
        index = component_indices(points, self.coef.shape[1])
        return self.kernel.product(X, self.X, self.coef)[:, index]

    def _of_field(self, what, X):
        return getattr(self.kernel, what)(X, self.X, self.coef)

    @property
    def norm(self):
        image = self.evaluate(self.X, np.arange(self.coef.shape[1]))
        return math.sqrt(max(float(namespace(image).sum(self.coef * image)), 0.0))


@dataclass(frozen=True, eq=False)
class VectorFeatureExpansion(VectorExpansion):
    """h(x) = Φ(x)w with the features of K(x, z) = Φ(x)Φ(z)ᵀ, a vector in R^p: no training row is needed.

    Parameters
    ----------
    kernel : MatrixValuedKernel
        K, explicit.
    coef : array of shape (r,)
        w.
    n_outputs : int
        p.
    """

    kernel: MatrixValuedKernel
    coef: Any
    n_outputs: int

    @property
    def like(self):
        return self.coef

    def evaluate(self, X, points):
        """Return the components of h(x) that ``points`` names by their indices, shape (len(X), len(points))."""
        index = component_indices(points, self.n_outputs)
        return self.kernel.forward(np.asarray(X, dtype=float), self.coef)[:, index]

    def _of_field(self, what, X):
        known = getattr(self.kernel, f"{what}_of", None)
        if known is None:
            raise self.kernel._no_field(what.replace("_", " "))
        return known(np.asarray(X, dtype=float), self.coef)

    @property
    def norm(self):
        return math.sqrt(float(self.coef @ self.coef))


def component_indices(points: Any, p: int) -> np.ndarray:
    """Return points that are indices of components as integers, or refuse them."""
    index = to_numpy(points).reshape(len(points))
    if not np.all((index == np.round(index)) & (index >= 0) & (index < p)):
        raise DataError(f"Points of a vector are the indices 0, ..., {p - 1} of its components; got {index}.")
    return index.astype(int)
