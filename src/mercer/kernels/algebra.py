"""Sums, products, multiples and restrictions of kernels are kernels."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import numpy as np

from mercer._params import check_number
from mercer.backend import namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel, as_points, combinations
from mercer.kernels.layout import column_names
from mercer.kernels.polynomial import Constant

__all__ = ["Product", "Restricted", "Scaled", "Sum"]


class _Pair(Kernel):
    """Two kernels on the same points."""

    left: Kernel
    right: Kernel

    def _check(self) -> None:
        for name in ("left", "right"):
            _check_kernel(self, name, getattr(self, name))

    @property
    def differentiable(self) -> bool:
        """Whether both kernels are."""
        return self.left.differentiable and self.right.differentiable


@dataclass(eq=False, repr=False)
class Sum(_Pair):
    """Sum k(x, z) = left(x, z) + right(x, z): functions with a part of each kind; written ``left + right``.

    Where both kernels have explicit features, the sum has them side by side, [φ, ψ].

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear
    >>> Gaussian(gamma=1.0) + Linear()
    Sum(left=Gaussian(gamma=1), right=Linear())
    """

    left: Any
    right: Any

    @property
    def explicit(self) -> bool:
        """Whether both kernels are."""
        return self.left.explicit and self.right.explicit

    def features(self, X):
        if not self.explicit:
            return super().features(X)
        X = as_points(self, X)
        return namespace(X).concat([self.left.features(X), self.right.features(X)], axis=1)

    def _evaluate(self, X, Z):
        return self.left._evaluate(X, Z) + self.right._evaluate(X, Z)

    def _diagonal(self, X):
        return self.left._diagonal(X) + self.right._diagonal(X)

    def _gradient(self, X, Z):
        return self.left._gradient(X, Z) + self.right._gradient(X, Z)

    def _cross_hessian(self, X, Z):
        return self.left._cross_hessian(X, Z) + self.right._cross_hessian(X, Z)


@dataclass(eq=False, repr=False)
class Product(_Pair):
    """Product k(x, z) = left(x, z) · right(x, z): interactions; written ``left * right``.

    It has no explicit features, as there would be one for each pair.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Periodic
    >>> Periodic() * Gaussian(gamma=0.1)
    Product(left=Periodic(), right=Gaussian(gamma=0.1))
    """

    left: Any
    right: Any

    def _evaluate(self, X, Z):
        return self.left._evaluate(X, Z) * self.right._evaluate(X, Z)

    def _diagonal(self, X):
        return self.left._diagonal(X) * self.right._diagonal(X)

    def _gradient(self, X, Z):
        left, right = self.left._evaluate(X, Z), self.right._evaluate(X, Z)
        return self.left._gradient(X, Z) * right[:, :, None] + left[:, :, None] * self.right._gradient(X, Z)

    def _cross_hessian(self, X, Z):
        # Leibniz: each of ∂₁ and ∂₂ falls on one of the two factors
        total = self.left._cross_hessian(X, Z) * self.right._evaluate(X, Z)[:, :, None, None]
        total = total + self.left._evaluate(X, Z)[:, :, None, None] * self.right._cross_hessian(X, Z)
        for one, other in ((self.left, self.right), (self.right, self.left)):
            total = total + one._gradient(X, Z)[:, :, :, None] * other._second_gradient(X, Z)[:, :, None, :]
        return total


@dataclass(eq=False, repr=False)
class Scaled(Kernel):
    """Multiple k(x, z) = scale · kernel(x, z), written ``2.0 * kernel``: how much a part of a sum may vary.

    Features φ of the kernel, where it has explicit ones, become √scale·φ.

    Parameters
    ----------
    scale : float
        Factor, > 0.
    kernel : Kernel
        The kernel.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> 2.0 * Gaussian(gamma=3.0)
    Scaled(scale=2, kernel=Gaussian(gamma=3))
    """

    scale: Any
    kernel: Any

    def _check(self) -> None:
        check_number(self, "scale", self.scale, low=0, hint="Only positive multiples of a kernel are kernels.")
        _check_kernel(self, "kernel", self.kernel)

    @property
    def differentiable(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.differentiable

    @property
    def explicit(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.explicit

    def features(self, X):
        return math.sqrt(self.scale) * self.kernel.features(X)

    def _evaluate(self, X, Z):
        return float(self.scale) * self.kernel._evaluate(X, Z)

    def _diagonal(self, X):
        return float(self.scale) * self.kernel._diagonal(X)

    def _gradient(self, X, Z):
        return float(self.scale) * self.kernel._gradient(X, Z)

    def _cross_hessian(self, X, Z):
        return float(self.scale) * self.kernel._cross_hessian(X, Z)


@dataclass(eq=False, repr=False)
class Restricted(Kernel):
    """A kernel that sees only some columns, written ``kernel.restrict([0, 2])``: additive and partial models.

    Its features, where the kernel has explicit ones, are those of these columns. Names, ``kernel.restrict(["age",
    "town"])``, become numbers when an estimator is fitted on a data frame that has such columns. Columns of text
    and those with missing cells are encoded as several; by name or by number, all of these are meant.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    columns : int, str or sequence of them
        Which columns, all by number or all by name; negative numbers count from the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> Linear().restrict(1)(np.array([[1.0, 2.0], [5.0, 3.0]]))
    array([[4., 6.],
           [6., 9.]])
    """

    kernel: Any
    columns: Any

    def _check(self) -> None:
        _check_kernel(self, "kernel", self.kernel)
        if self.kernel.pairwise:
            raise parameter_error(
                self,
                "kernel",
                self.kernel,
                "a kernel on vectors",
                "The columns of precomputed values are training points.",
            )
        names = column_names(self.columns)
        columns = np.asarray(to_numpy(self.columns) if names is None else names)
        if (columns.dtype.kind not in "iu" and names is None) or columns.ndim > 1 or columns.size == 0:
            allowed = "an integer or a name, or a sequence of integers or of names"
            raise parameter_error(self, "columns", self.columns, allowed)
        if np.unique(columns).size < columns.size:
            raise parameter_error(self, "columns", self.columns, "distinct integers or names")

    @property
    def differentiable(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.differentiable

    @property
    def explicit(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.explicit

    def features(self, X):
        return self.kernel.features(self._take(as_points(self, X)))

    def locate(self, layout):
        columns, inner = layout.take(self.columns)
        return self.replace(kernel=self.kernel.locate(inner), columns=columns)

    def _places(self, X):
        if (names := column_names(self.columns)) is not None:
            raise DataError(
                f"Restricted: columns are given by name, {names}, which an estimator finds when it is fitted on a data "
                "frame. An array has numbers of columns only."
            )
        columns = np.atleast_1d(to_numpy(self.columns))
        d = X.shape[1]
        if np.any(columns >= d) or np.any(columns < -d):
            raise DataError(f"Restricted: columns are {columns.tolist()}, but the points have {d} columns.")
        return columns % d

    def _take(self, X):
        xp = namespace(X)
        return xp.take(X, xp.asarray(self._places(X), device=compat.device(X)), axis=1)

    def _both(self, X, Z):
        taken = self._take(X)
        return taken, taken if Z is X else self._take(Z)

    def _spread(self, values, X, axis):
        """Return values of the columns seen, along an axis, as those of all columns: 0 for the others."""
        xp = namespace(values)
        places = self._places(X)
        source = np.full(X.shape[1], len(places))  # by default the 0 behind the values
        source[places] = np.arange(len(places))
        index = xp.asarray(source, device=compat.device(values))
        zero = xp.zeros_like(xp.take(values, index[:1] * 0, axis=axis))
        return xp.take(xp.concat([values, zero], axis=axis), index, axis=axis)

    def _adapt(self, X):
        return self.replace(kernel=self.kernel._adapt(self._take(X)))

    def _evaluate(self, X, Z):
        return self.kernel._evaluate(*self._both(X, Z))

    def _diagonal(self, X):
        return self.kernel._diagonal(self._take(X))

    def _gradient(self, X, Z):
        return self._spread(self.kernel._gradient(*self._both(X, Z)), X, axis=-1)

    def _cross_hessian(self, X, Z):
        matrices = self.kernel._cross_hessian(*self._both(X, Z))
        return self._spread(self._spread(matrices, X, axis=-1), X, axis=-2)


def _check_kernel(owner: object, name: str, value: Any) -> None:
    if not isinstance(value, Kernel):
        raise parameter_error(owner, name, value, "a kernel", "For instance Gaussian(); as_kernel reads a name.")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


def _sum(left: Any, right: Any) -> Any:
    terms = [Constant(term) if _is_number(term) else term for term in (left, right)]
    return Sum(*terms) if all(isinstance(term, Kernel) for term in terms) else NotImplemented


def _product(left: Any, right: Any) -> Any:
    if _is_number(left):
        return Scaled(left, right)
    if _is_number(right):
        return Scaled(right, left)
    both = isinstance(left, Kernel) and isinstance(right, Kernel)
    return Product(left, right) if both else NotImplemented


combinations.update(sum=_sum, product=_product, restrict=Restricted)
