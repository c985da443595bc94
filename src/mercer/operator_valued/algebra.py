"""Sums of operator-valued kernels, and products with scalar kernels and numbers, are operator-valued kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import ColumnLayout, Kernel
from mercer.linalg import Gram, SumGram
from mercer.measures import Measure
from mercer.operator_valued.base import BoundKernel, Expansion, OperatorValuedKernel, combinations
from mercer.operator_valued.matrix_valued import MatrixValuedKernel

__all__ = ["BoundSum", "MatrixSum", "Modulated", "OperatorSum", "SumExpansion"]


@dataclass(eq=False, repr=False)
class MatrixSum(MatrixValuedKernel):
    """K(x, z) = left(x, z) + right(x, z) for kernels whose values are matrices; written ``left + right``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.operator_valued import CurlFree, DivergenceFree
    >>> kernel = CurlFree(Gaussian(1.0)) + 0.5 * DivergenceFree(Gaussian(4.0))
    >>> kernel.get_params()["right__kernel__kernel__gamma"]
    4.0
    """

    left: Any
    right: Any

    def _check(self) -> None:
        for name in ("left", "right"):
            _check_matrix_valued(self, name)

    def require_outputs(self, X, n_outputs):
        self.left.require_outputs(X, n_outputs)
        self.right.require_outputs(X, n_outputs)

    def blocks(self, X, Z):
        return self.left.blocks(X, Z) + self.right.blocks(X, Z)

    def products(self, X, Z, factor=None):
        left, right = self.left.products(X, Z, factor), self.right.products(X, Z, factor)
        return lambda C: left(C) + right(C)

    @property
    def pair_numbers(self) -> int | None:
        """Those of both kernels."""
        left, right = self.left.pair_numbers, self.right.pair_numbers
        return None if left is None or right is None else left + right

    def diagonal(self, X):
        return self.left.diagonal(X) + self.right.diagonal(X)

    def jacobian(self, X, Z, C):
        return self.left.jacobian(X, Z, C) + self.right.jacobian(X, Z, C)

    def parts(self, X, Z, C):
        left, right = self.left.parts(X, Z, C), self.right.parts(X, Z, C)
        return left[0] + right[0], left[1] + right[1]

    def potential(self, X, Z, C):
        return self.left.potential(X, Z, C) + self.right.potential(X, Z, C)

    def stream_function(self, X, Z, C):
        return self.left.stream_function(X, Z, C) + self.right.stream_function(X, Z, C)


@dataclass(eq=False, repr=False)
class Modulated(MatrixValuedKernel):
    """K(x, z) = factor(x, z)·kernel(x, z) with a scalar kernel or a positive number; written ``factor * kernel``.

    With a scalar kernel fields are no longer free of rotation or sources: h changes in a way of its own, too.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Periodic
    >>> from mercer.operator_valued import CurlFree
    >>> Periodic(24.0).restrict(0) * CurlFree(Gaussian(1.0))
    Modulated(kernel=CurlFree(kernel=Gaussian(gamma=1)), factor=Restricted(kernel=Periodic(period=24), columns=0))
    """

    kernel: Any
    factor: Any

    def _check(self) -> None:
        _check_matrix_valued(self, "kernel")
        if not isinstance(self.factor, Kernel):
            check_number(self, "factor", self.factor, low=0, hint="Or a Kernel on inputs, Gaussian(1.0), say.")
        elif self.factor.pairwise:
            raise parameter_error(self, "factor", self.factor, "a Kernel on vectors", "K is evaluated at any point.")

    @property
    def _number(self) -> float | None:
        return float(self.factor) if isinstance(self.factor, Real) else None

    def require_outputs(self, X, n_outputs):
        self.kernel.require_outputs(X, n_outputs)

    def blocks(self, X, Z):
        number = self._number
        return self.kernel.blocks(X, Z) * (self.factor(X, Z)[:, :, None, None] if number is None else number)

    def products(self, X, Z, factor=None):
        number = self._number
        if number is not None:
            product = self.kernel.products(X, Z, factor)
            return lambda C: product(number * C)
        values = self.factor(X, Z)
        return self.kernel.products(X, Z, values if factor is None else values * factor)

    @property
    def pair_numbers(self) -> int | None:
        """Those of the kernel."""
        return self.kernel.pair_numbers

    def diagonal(self, X):
        number = self._number
        return self.kernel.diagonal(X) * (self.factor.diagonal(X)[:, None, None] if number is None else number)

    def jacobian(self, X, Z, C):
        return self.kernel.jacobian(X, Z, self._multiplied(C, "Jacobian"))

    def parts(self, X, Z, C):
        return self.kernel.parts(X, Z, self._multiplied(C, "parts without rotation and without sources"))

    def potential(self, X, Z, C):
        return self.kernel.potential(X, Z, self._multiplied(C, "potential"))

    def stream_function(self, X, Z, C):
        return self.kernel.stream_function(X, Z, self._multiplied(C, "stream function"))

    def _multiplied(self, C: Any, what: str) -> np.ndarray:
        """Return the coefficients times the number; with a scalar kernel there is nothing of the kind."""
        number = self._number
        if number is None:
            raise self._no_field(what)
        return number * np.asarray(C, dtype=float)


@dataclass(eq=False, repr=False)
class OperatorSum(OperatorValuedKernel):
    """K(x, z) = left(x, z) + right(x, z) for any two kernels of the same outputs; written ``left + right``.

    A sum of decomposable kernels does not decompose: products with both Gram operators are added. Two kernels whose
    values are matrices make a :class:`MatrixSum`. Vectors in R^p are functions of the indices 0, ..., p − 1, so that
    ``Decomposable(k, Indexed(Γ)) + CurlFree(l)`` is a sum, too.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Linear
    >>> from mercer.measures import Grid
    >>> from mercer.operator_valued import Decomposable
    >>> kernel = Decomposable(Gaussian(1.0), Gaussian(5.0)) + Decomposable(Linear(), Gaussian(0.5))
    >>> kernel.bind(Grid([0.0, 0.5, 1.0]).build()).gram(np.array([[0.0], [1.0]])).array_shape
    (2, 3)
    """

    left: Any
    right: Any

    def _check(self) -> None:
        for name in ("left", "right"):
            if not isinstance(getattr(self, name), OperatorValuedKernel):
                hint = "A scalar kernel k becomes one by Decomposable(k, output_kernel)."
                raise parameter_error(self, name, getattr(self, name), "an OperatorValuedKernel", hint)

    @property
    def pairwise(self) -> bool:
        """Whether one of them is."""
        return self.left.pairwise or self.right.pairwise

    @property
    def continuous(self) -> bool:
        """Whether both are."""
        return self.left.continuous and self.right.continuous

    @property
    def terms(self) -> tuple[OperatorValuedKernel, ...]:
        """What is summed, from left to right."""
        return (*self.left.terms, *self.right.terms)

    def adapt(self, X: Any) -> OperatorSum:
        """Return a copy of adapted kernels."""
        return self.replace(left=self.left.adapt(X), right=self.right.adapt(X))

    def locate(self, layout: ColumnLayout) -> OperatorSum:
        """Return a copy of located kernels."""
        return self.replace(left=self.left.locate(layout), right=self.right.locate(layout))

    def times(self, factor: Any) -> OperatorSum:
        """Return the sum of both kernels, multiplied."""
        return OperatorSum(self.left.times(factor), self.right.times(factor))

    def bind(self, measure: Measure, *, n_components: int | None = None) -> BoundSum:
        """Bind both kernels to the measure."""
        left, right = (kernel.bind(measure, n_components=n_components) for kernel in (self.left, self.right))
        if len(left.measure) != len(right.measure):
            raise DataError(
                f"OperatorSum: the left kernel has {len(left.measure)} columns, the right one {len(right.measure)}. "
                "Give both the same components; vectors are functions of indices, as for Decomposable(k, Indexed(Γ))."
            )
        return BoundSum(self, left, right)


@dataclass(frozen=True, eq=False)
class BoundSum(BoundKernel):
    """Two bound kernels on arrays of the same columns, added."""

    kernel: OperatorSum
    left: BoundKernel
    right: BoundKernel

    @property
    def measure(self) -> Measure:  # type: ignore[override]
        """That of both kernels."""
        return self.left.measure

    @property
    def terms(self) -> tuple[BoundKernel, ...]:
        """What is summed, from left to right."""
        return (*self.left.terms, *self.right.terms)

    @property
    def slopes(self) -> Any:
        """Those of both kernels."""
        return self.left.slopes

    def gram(self, X: Any) -> Gram:
        return SumGram([self.left.gram(X), self.right.gram(X)])

    def blocks(self, X: Any, Z: Any) -> Any:
        return self.left.blocks(X, Z) + self.right.blocks(X, Z)

    def expand(self, X: Any, coef: Any) -> SumExpansion:
        return SumExpansion(self.left.expand(X, coef), self.right.expand(X, coef))

    def observe(self, expansion: Any, X: Any) -> Any:
        return self.left.observe(expansion.left, X) + self.right.observe(expansion.right, X)

    def like(self, array: Any) -> BoundSum:
        return replace(self, left=self.left.like(array), right=self.right.like(array))

    def with_slopes(self, points: Any) -> BoundSum:
        return replace(self, left=self.left.with_slopes(points), right=self.right.with_slopes(points))

    def slope_sizes(self) -> np.ndarray:
        return self.left.slope_sizes() + self.right.slope_sizes()

    def carries_constants(self, points: Any) -> np.ndarray:
        return self.left.carries_constants(points) | self.right.carries_constants(points)


@dataclass(frozen=True, eq=False)
class SumExpansion(Expansion):
    """h = f + g for functions of two kernels with the same coefficients, so that ‖h‖² = ‖f‖² + ‖g‖².

    Parameters
    ----------
    left, right : Expansion
        f and g.
    """

    left: Expansion
    right: Expansion

    @property
    def like(self):
        return self.left.like

    def evaluate(self, X, points):
        return self.left.evaluate(X, points) + self.right.evaluate(X, points)

    def slope(self, X, points):
        return self.left.slope(X, points) + self.right.slope(X, points)

    @property
    def norm(self):
        return math.hypot(self.left.norm, self.right.norm)


def _check_matrix_valued(owner: Any, name: str) -> None:
    value = getattr(owner, name)
    if not isinstance(value, MatrixValuedKernel):
        hint = "For instance CurlFree(Gaussian()); + and * take other operator-valued kernels, too."
        raise parameter_error(owner, name, value, "a MatrixValuedKernel", hint)


def _sum(left: Any, right: Any) -> Any:
    if not isinstance(right, OperatorValuedKernel):
        return NotImplemented
    both = isinstance(left, MatrixValuedKernel) and isinstance(right, MatrixValuedKernel)
    return MatrixSum(left, right) if both else OperatorSum(left, right)


combinations.update(sum=_sum, modulated=Modulated)
