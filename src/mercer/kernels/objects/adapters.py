"""Kernels on vectors and functions of the user as kernels on objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mercer._params import read_numbers
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel
from mercer.kernels.objects.base import ObjectKernel
from mercer.kernels.polynomial import Linear

__all__ = ["ObjectFunction", "OnVectors", "PairFunction", "as_vectors"]


def as_vectors(owner: object, objects: Any) -> np.ndarray:
    """Return objects that are vectors, or numbers, as an array of floats of shape (n, d)."""
    if scipy.sparse.issparse(objects):
        return objects.toarray().astype(float)
    try:
        array = read_numbers(objects)
    except (TypeError, ValueError) as error:
        raise DataError(f"{type(owner).__name__}: objects must be vectors of numbers of the same length.") from error
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise DataError(f"{type(owner).__name__}: objects must be vectors; got an array of shape {array.shape}.")
    return array


@dataclass(eq=False, repr=False)
class OnVectors(ObjectKernel):
    """A kernel of :mod:`mercer.kernels` on objects that are vectors: rows of an array, or a list of them.

    Parameters
    ----------
    kernel : Kernel
        The kernel; :class:`~mercer.kernels.Linear` has the vectors as features.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> OnVectors(Gaussian(gamma=1.0))([[0.0, 0.0], [1.0, 0.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    kernel: Kernel

    def _check(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.pairwise:
            raise parameter_error(self, "kernel", self.kernel, "a Kernel of vectors")

    @property
    def explicit(self) -> bool:
        """Whether the kernel is linear, or knows its features."""
        return self.kernel == Linear() or self.kernel.explicit

    def _adapt(self, objects):
        return self.replace(kernel=self.kernel.adapt(self.read(objects)))

    def _read(self, objects):
        return as_vectors(self, objects)

    def _compare(self, left, right):
        return np.asarray(self.kernel(left, right))

    def _sizes(self, read):
        return np.asarray(self.kernel.diagonal(read))

    def _features(self, read):
        return read if self.kernel == Linear() else np.asarray(self.kernel.features(read))


@dataclass(eq=False, repr=False)
class ObjectFunction(ObjectKernel):
    """The kernel function(objects, others), for a function of two lists that returns the matrix.

    The function must be symmetric and positive semi-definite; fits refuse what is clearly not.

    Parameters
    ----------
    function : callable
        Takes lists (or arrays) of n and of m objects, returns an array of shape (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> overlap = ObjectFunction(lambda A, B: np.array([[len(a & b) for b in B] for a in A], dtype=float))
    >>> overlap([{1, 2}, {3}], [{2, 3}])
    array([[1.],
           [1.]])
    """

    function: Callable[[Any, Any], Any]

    def _check(self) -> None:
        if not callable(self.function) or isinstance(self.function, (Kernel, ObjectKernel, type)):
            raise parameter_error(self, "function", self.function, "a function of two lists of objects")

    @property
    def definite(self) -> bool:
        """Not known."""
        return False

    def _read(self, objects):
        return objects

    def _compare(self, left, right):
        name = getattr(self.function, "__name__", repr(self.function))
        expected = (_length(left), _length(right))
        try:
            matrix = np.asarray(self.function(left, right), dtype=float)
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise DataError(
                f"ObjectFunction: {name}(objects, others) failed, or returned no array of numbers: {error}."
            ) from error
        if matrix.shape != expected:
            raise DataError(
                f"ObjectFunction: {name}(objects, others) must return the matrix of all pairs, of shape {expected}; "
                f"got {matrix.shape}. PairFunction(function) loops over the pairs of a function of two objects."
            )
        return matrix


@dataclass(eq=False, repr=False)
class PairFunction(ObjectKernel):
    """The kernel function(y, z), for a function of two objects that returns a number; pairs are looped over.

    Parameters
    ----------
    function : callable
        Symmetric and positive semi-definite.

    Examples
    --------
    >>> PairFunction(lambda y, z: float(y[0] == z[0]))(["ab", "cd", "ax"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    function: Callable[[Any, Any], float]

    def _check(self) -> None:
        if not callable(self.function) or isinstance(self.function, (Kernel, ObjectKernel, type)):
            raise parameter_error(self, "function", self.function, "a function of two objects")

    @property
    def definite(self) -> bool:
        """Not known."""
        return False

    def _read(self, objects):
        return objects

    def _compare(self, left, right):
        matrix = np.empty((_length(left), _length(right)))
        try:
            for i in range(len(matrix)):
                for j in range(i if right is left else 0, matrix.shape[1]):
                    matrix[i, j] = self.function(left[i], right[j])
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise DataError(f"PairFunction: the function of two objects failed: {error}.") from error
        if right is left:
            below = np.tril_indices(len(matrix), -1)
            matrix[below] = matrix.T[below]
        return matrix

    def _sizes(self, read):
        return np.array([float(self.function(read[i], read[i])) for i in range(_length(read))])


def _length(read: Any) -> int:
    return int(read.shape[0]) if hasattr(read, "shape") else len(read)
