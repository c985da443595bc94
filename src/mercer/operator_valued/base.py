"""The contracts: an operator-valued kernel, the kernel bound to outputs, and the function that is learned with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from mercer._params import Params
from mercer._state import Stateful
from mercer.exceptions import UnsupportedError
from mercer.kernels import ColumnLayout, Kernel
from mercer.linalg import Gram
from mercer.measures import Measure

__all__ = ["BoundKernel", "Expansion", "OperatorValuedKernel", "combinations"]

#: what + and * build; mercer.operator_valued.algebra enters its records here, as they are such kernels too
combinations: dict[str, Callable[[Any, Any], Any]] = {}


class OperatorValuedKernel(Params, ABC):
    """What a user passes: a kernel K whose values K(x, z) are operators on functions of θ, or matrices.

    It is a record: comparable, printable, tunable as ``kernel__kernel__gamma``. A kernel of one's own implements
    :meth:`bind`, and :meth:`adapt` where parameters depend on data;
    :func:`mercer.testing.check_operator_valued_kernel` tests it. :class:`Decomposable` is the one that mercer uses by
    itself. They are added, and multiplied with positive numbers and with scalar kernels on inputs.
    """

    # np.float64(2) * kernel must reach __rmul__ instead of making an object array
    __array_ufunc__ = None

    @property
    def pairwise(self) -> bool:
        """Whether X holds kernel values already, so that it is a Gram matrix."""
        return False

    @property
    def terms(self) -> tuple[OperatorValuedKernel, ...]:
        """What a sum adds up; the kernel alone where it is none."""
        return (self,)

    def adapt(self, X: Any) -> OperatorValuedKernel:
        """Return a copy in which parameters that depend on the inputs, such as ``"median"``, are numbers."""
        return self.replace()

    def locate(self, layout: ColumnLayout) -> OperatorValuedKernel:
        """Return the kernel for the array that a table was encoded as; see :meth:`mercer.kernels.Kernel.locate`."""
        return self

    @property
    def continuous(self) -> bool:
        """Whether h(x) is a function of θ that is evaluated at any point, not only a vector of values at nodes."""
        return True

    @abstractmethod
    def bind(self, measure: Measure, *, n_components: int | None = None) -> BoundKernel:
        """Fix what functions of θ are represented by: their values in R^p at the nodes of a measure.

        Parameters
        ----------
        measure : Measure
            Nodes of Θ and their weights. Vectors in R^m are functions of the indices 0, ..., m − 1, of weight 1 each.
        n_components : int, optional
            p; 1 by default, or what the kernel itself asks for.
        """

    def times(self, factor: Any) -> OperatorValuedKernel:
        """Return l(x, z) K(x, z) for a scalar kernel l, or c K(x, z) for a number c > 0; also written ``l * K``."""
        raise UnsupportedError(
            f"{type(self).__name__} is not multiplied with anything. Decomposable and MatrixValuedKernel are, and so "
            "are their sums."
        )

    def __add__(self, other: Any) -> OperatorValuedKernel:
        return combinations["sum"](self, other)

    def __radd__(self, other: Any) -> OperatorValuedKernel:
        return self if type(other) is int and other == 0 else NotImplemented  # sum(kernels) starts from 0

    def __mul__(self, other: Any) -> OperatorValuedKernel:
        number = isinstance(other, Real) and not isinstance(other, (bool, np.bool_))
        return self.times(other) if number or isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__


class BoundKernel(ABC):
    """An operator-valued kernel and what stands for functions of θ in (n, m) arrays; immutable.

    A column is a functional of functions of θ, such as the value at a node. :meth:`observe` applies these functionals
    to a function h at the rows of X, and then 𝐊c = observe(expand(X, c), X): the reproducing property.
    """

    #: the geometry of the columns of (n, m) arrays; that of columns of slopes is said by the problem
    measure: Measure
    #: k_X, or the operator-valued kernel itself where it has no factor on the inputs
    kernel: Any
    #: k_Θ, where there is one
    output_kernel: Any = None
    #: whether columns are values at nodes, whatever the output kernel, with K_Θ ⊗ A as their ``output_gram()``
    nodal: ClassVar[bool] = False
    #: points at which slopes in θ are represented, too, after the values
    slopes: Any = None

    @property
    def pairwise(self) -> bool:
        """Whether X holds kernel values already."""
        return self.kernel.pairwise

    @property
    def terms(self) -> tuple[BoundKernel, ...]:
        """What a sum adds up; the kernel alone where it is none."""
        return (self,)

    @abstractmethod
    def gram(self, X: Any) -> Gram:
        """Return 𝐊 on (n, m) arrays, without weights."""

    def blocks(self, X: Any, Z: Any) -> Any:
        """Return K(x_i, z_j) as matrices on the columns of arrays, shape (len(X), len(Z), m, m)."""
        raise UnsupportedError(f"{type(self).__name__} has no values K(x, z) as matrices.")

    def analyse(self, Y: Any) -> Any:
        """Return the targets of the problem for curves as they were given."""
        return Y

    @abstractmethod
    def expand(self, X: Any, coef: Any) -> Expansion:
        """Return h = Σ_i K(·, x_i) c_i from representer coefficients."""

    @abstractmethod
    def observe(self, expansion: Expansion, X: Any) -> Any:
        """Return what the columns stand for, of a function h at the inputs of the problem."""

    def like(self, array: Any) -> BoundKernel:
        """Return the kernel with its arrays in the library, device and dtype of ``array``."""
        return self

    def with_slopes(self, points: Any) -> BoundKernel:
        """Return the kernel under which slopes ∂_θ h(x)(τ) at some points are represented after the values."""
        raise UnsupportedError(
            f"{type(self).__name__} represents no slopes in θ. Use noncrossing='rearrange' or None, or a Decomposable "
            "kernel whose output kernel has derivatives."
        )

    def slope_sizes(self) -> Any:
        """Return ∂₁∂₂k_Θ(τ, τ) at the points of ``slopes``: how large squared slopes of h are, k_X being about 1."""
        raise UnsupportedError(f"{type(self).__name__} represents no slopes in θ.")

    def carries_constants(self, points: Any) -> np.ndarray:
        """Say for each point whether a function that is constant at the nodes is about that constant there, too."""
        return np.ones(len(points), dtype=bool)


class Expansion(Stateful, ABC):
    """A fitted function h: what is left of a fit when the solver has done its work.

    Subclasses are frozen dataclasses whose fields are arrays, numbers, strings, None, records (kernels) and objects
    with a state of their own (representers, bases, measures). :meth:`state` writes them down, and
    ``Expansion.from_state(state)`` makes the function again.
    """

    @abstractmethod
    def evaluate(self, X: Any, points: Any) -> Any:
        """Return h(x)(θ) at all x and θ, shape (len(X), len(points)·p), component last.

        Parameters
        ----------
        X : array of shape (n, d)
            Inputs; kernel values with the training rows where the kernel is precomputed.
        points : array of shape (k, d), or (k,) on the line
            Points of Θ.
        """

    def slope(self, X: Any, points: Any) -> Any:
        """Return ∂_θ h(x)(θ), for Θ on the line, like :meth:`evaluate`."""
        raise UnsupportedError(f"{type(self).__name__} has no slopes in θ.")

    @property
    @abstractmethod
    def norm(self) -> float:
        """‖h‖ in the space of the kernel."""

    @property
    @abstractmethod
    def like(self) -> Any:
        """An array whose library, device and dtype are those of the function."""
