"""The contract of a kernel on objects: anything that can be compared, vectors or not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse

from mercer._params import Params
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels.base import DIAGONAL_BLOCK

__all__ = ["ObjectKernel", "as_objects", "take_objects"]


class ObjectKernel(Params, ABC):
    """A positive semi-definite function k(y, z) of two objects, evaluated on two sequences of them.

    Objects are whatever the kernel can compare: strings, sets, graphs, fingerprints, vectors. A kernel of one's own
    implements :meth:`_read`, which turns a sequence into what is compared (once, however often it is compared), and
    :meth:`_compare`; and :meth:`_sizes` where there is a formula for k(y, y). One that knows finitely many features
    says so in :attr:`explicit` and implements :meth:`_features`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(eq=False, repr=False)
    ... class SameLength(ObjectKernel):
    ...     def _read(self, objects):
    ...         return np.array([len(one) for one in objects])
    ...     def _compare(self, left, right):
    ...         return (left[:, None] == right).astype(float)
    >>> SameLength()(["a", "bc"], ["de", "fgh"])
    array([[0., 0.],
           [1., 0.]])
    """

    @abstractmethod
    def _read(self, objects: Any) -> Any:
        """Return what is compared: an array, a sparse matrix or a list, with an entry for each object."""

    @abstractmethod
    def _compare(self, left: Any, right: Any) -> np.ndarray:
        """Return k(y_i, z_j), shape (n, m), of what was read; ``right is left`` where they are the same."""

    def _sizes(self, read: Any) -> np.ndarray:
        """Return k(y_i, y_i), shape (n,)."""
        n = _length(read)
        blocks = [_take(read, np.arange(i, min(i + DIAGONAL_BLOCK, n))) for i in range(0, n, DIAGONAL_BLOCK)]
        return np.concatenate([np.zeros(0), *(np.diagonal(self._compare(block, block)) for block in blocks)])

    def _features(self, read: Any) -> np.ndarray:
        """Return φ(y_i), shape (n, D)."""
        raise NotImplementedError(f"{type(self).__name__} is explicit; it has to implement _features(read)")

    def _adapt(self, objects: Any) -> Self:
        """Return a copy whose parameters that depend on data are numbers; by default it recurses."""
        inner = {name: value for name, value in self.get_params(deep=False).items() if isinstance(value, ObjectKernel)}
        return self.replace(**{name: kernel.adapt(objects) for name, kernel in inner.items()}) if inner else self

    @property
    def definite(self) -> bool:
        """Whether it is positive semi-definite by construction, so that fits need not look; that of what is nested."""
        nested = [value for value in self.get_params(deep=False).values() if isinstance(value, ObjectKernel)]
        return all(kernel.definite for kernel in nested)

    @property
    def explicit(self) -> bool:
        """Whether :meth:`features` works: there are finitely many, the same for all objects."""
        return False

    def __call__(self, objects: Any, others: Any = None) -> np.ndarray:
        """Return the matrix of k(y_i, z_j).

        Parameters
        ----------
        objects, others : sequences of n and of m objects
            Lists, or arrays and sparse matrices whose rows are objects; without others those are the objects.

        Returns
        -------
        array of shape (n, m)
        """
        left = self.read(objects)
        right = left if others is None or others is objects else self.read(others)
        return self._checked(self._compare(left, right))

    def diagonal(self, objects: Any) -> np.ndarray:
        """Return k(y_i, y_i), shape (n,), without the matrix."""
        return self._checked(self._sizes(self.read(objects)))

    def features(self, objects: Any) -> np.ndarray:
        """Return φ(y_i), shape (n, D), of a kernel k(y, z) = φ(y)·φ(z) whose features are known."""
        if not self.explicit:
            raise UnsupportedError(f"{self!r} has no features that are the same for all objects.")
        return self._checked(self._features(self.read(objects)))

    def columns(self, objects: Any) -> Callable[[int], np.ndarray]:
        """Return j ↦ k(y_i, y_j), shape (n,), for algorithms that look at few columns; objects are read once."""
        read = self.read(objects)
        return lambda index: self._checked(self._compare(read, _take(read, np.array([index])))[:, 0])

    def adapt(self, objects: Any) -> Self:
        """Return a copy in which what depends on the objects (a bandwidth, a centre) is known."""
        return self._adapt(objects)

    def read(self, objects: Any) -> Any:
        """Return what the kernel makes of the objects, or refuse what it cannot compare."""
        objects = as_objects(self, objects)
        try:
            return self._read(objects)
        except MercerError:
            raise
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise DataError(
                f"{type(self).__name__}: these objects cannot be compared by this kernel: {error}. The first is "
                f"{_shown(objects)}."
            ) from error

    def _checked(self, values: np.ndarray) -> np.ndarray:
        if not np.all(np.isfinite(values)):
            raise DataError(f"{type(self).__name__}: the kernel has NaN or infinite values.")
        return values


def as_objects(owner: object, objects: Any) -> Any:
    """Return a sequence of objects: arrays and sparse matrices as they are, anything else as a list.

    Examples
    --------
    >>> as_objects("kernel", ("ab", "c"))
    ['ab', 'c']
    """
    name = owner if isinstance(owner, str) else type(owner).__name__
    if isinstance(objects, (str, bytes)) or not (hasattr(objects, "__iter__") or hasattr(objects, "__array__")):
        raise DataError(f"{name}: objects come as a list or as rows of an array; got {type(objects).__name__}.")
    if scipy.sparse.issparse(objects):
        return scipy.sparse.csr_array(objects)
    if hasattr(objects, "__array__"):  # data frames and arrays of other libraries, too
        array = np.asarray(objects)
        if array.ndim == 0:
            raise DataError(f"{name}: objects come as a list or as rows of an array; got a single number.")
        return array
    return list(objects)


def take_objects(objects: Any, rows: Any) -> Any:
    """Return some of the objects, by index: of the same kind as they came.

    Examples
    --------
    >>> take_objects(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    return _take(objects, np.asarray(rows, dtype=int))


def _take(read: Any, rows: np.ndarray) -> Any:
    if isinstance(read, Sequence) and not isinstance(read, np.ndarray):
        return [read[int(row)] for row in rows]
    return read[rows]


def _length(read: Any) -> int:
    return int(read.shape[0]) if hasattr(read, "shape") else len(read)


def _shown(objects: Any) -> str:
    try:
        shown = repr(objects[0])
    except (IndexError, TypeError):
        return "none"
    return shown if len(shown) <= 60 else f"{shown[:50]}... ({type(objects[0]).__name__})"
