"""The operator contract and the small operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from mercer.backend import namespace
from mercer.exceptions import DataError, UnsupportedError

__all__ = ["Dense", "LinearOperator", "LowRank", "Masked"]

#: largest dense matrix that ``to_dense`` makes without being told to, in bytes
DENSE_LIMIT = 2**30


class LinearOperator(ABC):
    """A linear map of arrays: ``shape``, ``tags``, ``apply`` (also ``@``), ``adjoint``, ``diagonal``, ``to_dense``,
    ``like``.

    Matrix-like operators act on the first axis of ``(n, k)`` arrays. Operators on ``(n, m)`` arrays as a whole
    (:class:`Kronecker`, :class:`Masked`) have ``shape = (n·m, n·m)`` and a dense form in row-major order.
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

    def to_dense(self, max_bytes: int = DENSE_LIMIT) -> Any:
        """Return the dense matrix, or refuse when it would take more than ``max_bytes``."""
        size = self.shape[0] * self.shape[1] * 8
        if size > max_bytes:
            raise UnsupportedError(
                f"{type(self).__name__}.to_dense would need {size / 2**30:.1f} GiB, more than max_bytes = "
                f"{max_bytes / 2**30:.1f} GiB. Use apply (or @), or pass a larger max_bytes."
            )
        return self._dense()

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
        """Return one column, for algorithms that look at few of them."""
        return self.matrix[:, index]

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

    tags = frozenset({"self-adjoint", "psd"})

    def __init__(self, factor: Any) -> None:
        if factor.ndim != 2:
            raise DataError(f"LowRank: the factor must have two dimensions; got {factor.ndim}.")
        self.factor = factor

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
        return namespace(self.factor).sum(self.factor**2, axis=1)

    def _dense(self):
        return self.factor @ self.factor.T


class Masked(LinearOperator):
    """A ↦ M ∘ K(M ∘ A): an operator on ``(n, m)`` arrays seen through a mask M of observed entries."""

    def __init__(self, operator: LinearOperator, mask: Any) -> None:
        size = mask.shape[0] * mask.shape[1]
        if operator.shape != (size, size):
            raise DataError(f"Masked: a mask of shape {tuple(mask.shape)} does not fit {operator!r}.")
        self.operator = operator
        self.mask = mask
        self.tags = operator.tags

    @property
    def shape(self):
        return self.operator.shape

    @property
    def like(self):
        return self.operator.like

    @property
    def adjoint(self):
        return Masked(self.operator.adjoint, self.mask)

    def _cut(self, array: Any) -> Any:
        xp = namespace(array)
        return xp.where(self.mask, array, xp.zeros_like(array))

    def apply(self, array):
        return self._cut(self.operator.apply(self._cut(array)))

    def diagonal(self):
        xp = namespace(self.like)
        values = self.operator.diagonal()
        return xp.where(xp.reshape(self.mask, (-1,)), values, xp.zeros_like(values))

    def _dense(self):
        xp = namespace(self.like)
        flat = xp.reshape(self.mask, (-1,))
        values = self.operator.to_dense()
        return xp.where(flat[:, None] & flat[None, :], values, xp.zeros_like(values))
