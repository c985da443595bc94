"""The operator contract and the small operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backend import device, is_numpy, namespace
from mercer.exceptions import DataError, UnsupportedError
from mercer.linalg.memory import memory_budget

__all__ = ["PSD", "Dense", "LinearOperator", "LowRank"]

#: the tags of a Gram matrix
PSD = frozenset({"self-adjoint", "psd"})


class LinearOperator(ABC):
    """A linear map of arrays: ``shape``, ``tags``, ``like``, ``apply`` (also ``@``), ``adjoint``, ``diagonal``,
    ``column``, ``to_dense`` and ``stored``.

    Matrix-like operators act on the first axis of ``(n, k)`` arrays. Operators on ``(n, m)`` arrays as a whole
    (:class:`~mercer.linalg.Gram`) have ``shape = (n·m, n·m)`` and a dense form in row-major order. All are immutable.
    """  # noqa: D205

    #: properties that algorithms may rely on: "self-adjoint", "psd"
    tags: frozenset[str] = frozenset()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the dense form."""

    @property
    @abstractmethod
    def like(self) -> Any:
        """An array whose library, device and dtype are those of the operator."""

    @abstractmethod
    def apply(self, array: Any) -> Any:
        """Return the image of an array."""

    @property
    @abstractmethod
    def adjoint(self) -> LinearOperator:
        """The adjoint for the inner product of the operator (the weighted one for :class:`Kronecker`)."""

    @abstractmethod
    def diagonal(self) -> Any:
        """Return the diagonal of the dense form."""

    @abstractmethod
    def _dense(self) -> Any:
        """Return the dense form without asking how large it is."""

    def column(self, index: int) -> Any:
        """Return one column of the dense form, for algorithms that look at few of them."""
        xp = namespace(self.like)
        unit = xp.zeros((self.shape[1], 1), dtype=self.like.dtype, device=device(self.like))
        unit[index, 0] = 1.0
        return self.apply(unit)[:, 0]

    def some_columns(self, indices: Any) -> Any:
        """Return several columns, one in each row of an array."""
        return namespace(self.like).stack([self.column(int(index)) for index in indices])

    def columns(self) -> Callable[[int], Any]:
        """Return :meth:`column` as a function, with what all columns have in common computed once."""
        return self.column

    @property
    def dense_bytes(self) -> int:
        """Bytes that the dense form takes in double precision."""
        return self.shape[0] * self.shape[1] * 8

    @property
    def product_cost(self) -> float:
        """Multiplications of a product with one column, roughly."""
        return float(self.shape[0] * self.shape[1])

    @property
    def most_rank(self) -> int:
        """The largest rank that the operator can have."""
        return min(self.shape)

    def to_dense(self, max_bytes: int | None = None) -> Any:
        """Return the dense matrix, or refuse when it would take more than ``max_bytes``, the memory budget by default.

        Nothing is kept: :meth:`stored` is for that.
        """
        limit = memory_budget() if max_bytes is None else max_bytes
        if self.dense_bytes > limit:
            raise UnsupportedError(
                f"{type(self).__name__}.to_dense would need {self.dense_bytes / 2**30:.1f} GiB, more than "
                f"{'the memory budget' if max_bytes is None else 'max_bytes'} = {limit / 2**30:.1f} GiB. Use apply "
                "(or @), or pass a larger max_bytes."
            )
        return self._dense()

    def own_dense(self) -> Any:
        """Return :meth:`to_dense` as an array that the caller may write on."""
        return namespace(self.like).asarray(self.to_dense(), copy=True)

    def stored(self, limit: int | None = None) -> LinearOperator:
        """Return the same operator with its matrix stored, where that takes at most ``limit`` bytes, else itself.

        Products with a stored kernel matrix are several times faster. The memory budget is a limit in any case.
        """
        if self.dense_bytes > min(memory_budget(), self.dense_bytes if limit is None else limit):
            return self
        return Dense(self._dense(), self.tags)

    def sample_spectrum(self, rows: Any) -> Any | None:
        """Return the eigenvalues (ascending) of the block of some rows and columns; None where that is not cheap."""
        return None

    def __matmul__(self, array: Any) -> Any:
        return self.apply(array)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape})"


class Dense(LinearOperator):
    """A matrix that is stored.

    Examples
    --------
    >>> import numpy as np
    >>> Dense(np.array([[2.0, 1.0], [1.0, 2.0]])) @ np.ones((2, 1))
    array([[3.],
           [3.]])
    """

    def __init__(self, matrix: Any, tags: frozenset[str] = frozenset()) -> None:
        if matrix.ndim != 2:
            raise DataError(f"Dense: the matrix must have two dimensions; got {matrix.ndim}.")
        self.matrix = matrix
        self.tags = tags

    @property
    def shape(self):
        return tuple(self.matrix.shape)

    @property
    def like(self):
        return self.matrix

    @property
    def adjoint(self):
        return self if "self-adjoint" in self.tags else Dense(self.matrix.T)

    def apply(self, array):
        return self.matrix @ array

    def diagonal(self):
        return namespace(self.matrix).linalg.diagonal(self.matrix)

    def column(self, index: int) -> Any:
        return self.matrix[:, index]

    def some_columns(self, indices: Any) -> Any:
        return self.matrix.T[indices, :]

    def stored(self, limit: int | None = None) -> LinearOperator:
        return self

    def sample_spectrum(self, rows: Any) -> Any | None:
        return np.linalg.eigvalsh(self.matrix[np.ix_(rows, rows)]) if is_numpy(self.matrix) else None

    def _dense(self):
        return self.matrix


class LowRank(LinearOperator):
    """F Fᵀ with a thin factor F of shape (n, r): positive semi-definite, products in O(n r).

    Examples
    --------
    >>> import numpy as np
    >>> LowRank(np.array([[1.0], [2.0]])).to_dense()
    array([[1., 2.],
           [2., 4.]])
    """

    tags = PSD

    def __init__(self, factor: Any) -> None:
        if factor.ndim != 2:
            raise DataError(f"LowRank: the factor must have two dimensions; got {factor.ndim}.")
        self.factor = factor

    @property
    def rank(self) -> int:
        """Columns of the factor."""
        return int(self.factor.shape[1])

    @property
    def shape(self):
        return (self.factor.shape[0], self.factor.shape[0])

    @property
    def like(self):
        return self.factor

    @property
    def adjoint(self):
        return self

    def apply(self, array):
        return self.factor @ (self.factor.T @ array)

    def diagonal(self):
        if is_numpy(self.factor):
            return np.einsum("ij,ij->i", self.factor, self.factor)
        return namespace(self.factor).sum(self.factor**2, axis=1)

    def column(self, index: int) -> Any:
        return self.factor @ self.factor[index, :]

    @property
    def product_cost(self) -> float:
        return 2.0 * self.factor.shape[0] * self.factor.shape[1]

    @property
    def most_rank(self) -> int:
        return min(tuple(self.factor.shape))

    def stored(self, limit: int | None = None) -> LinearOperator:
        return self  # the factor is what is stored

    def _dense(self):
        return self.factor @ self.factor.T
