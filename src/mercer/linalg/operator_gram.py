"""Gram operators of kernels that do not decompose, of explicit features, and sums of Gram operators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import namespace, require_numpy
from mercer.exceptions import DataError
from mercer.linalg.directed_factor import DirectedFactor
from mercer.linalg.eigen import congruence
from mercer.linalg.flat import FlatGram
from mercer.linalg.gram import Gram
from mercer.linalg.memory import BLOCK_BYTES, PAIR_BLOCK, memory_budget
from mercer.linalg.operators import PSD, LinearOperator, LowRank

__all__ = ["FastProducts", "FeatureGram", "OperatorGram", "SumGram"]


class FastProducts(NamedTuple):
    """What a kernel with p × p values does faster, and with less memory, than by its blocks."""

    #: (X, Z) ↦ (C ↦ Σ_j K(x_i, z_j) c_j), from (len(Z), p) to (len(X), p)
    products: Callable[[Any, Any], Callable[[Any], Any]]
    #: X ↦ K(x_i, x_i), shape (len(X), p, p)
    diagonal: Callable[[Any], Any]
    #: how many numbers ``products`` keeps for each pair of rows
    pair_numbers: int


class OperatorGram(FlatGram):
    """(𝐊A)_i = Σ_j K(x_i, x_j) a_j for a kernel whose values are p × p matrices, evaluated on demand.

    Products are made some rows at a time and never form the (n·p)² matrix unless it is stored (:meth:`stored`); thin
    bases come from a pivoted Cholesky factorisation, which looks at few columns.

    Parameters
    ----------
    blocks : callable
        (X, Z) ↦ K(x_i, z_j), an array of shape (len(X), len(Z), p, p).
    X : array of shape (n, d)
        Inputs (NumPy).
    n_outputs : int
        p.
    name : str, default="blocks"
        What ``blocks`` is called in errors.
    fast : FastProducts, optional
        What is faster than by blocks.

    Examples
    --------
    >>> import numpy as np
    >>> turn = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> def blocks(X, Z):
    ...     return np.exp(-((X - Z.T) ** 2))[:, :, None, None] * turn
    >>> OperatorGram(blocks, np.array([[0.0], [9.0]]), 2) @ np.array([[1.0, 0.0], [0.0, 1.0]])
    array([[2., 1.],
           [1., 2.]])
    """

    def __init__(
        self,
        blocks: Callable[[Any, Any], Any],
        X: Any,
        n_outputs: int,
        name: str = "blocks",
        fast: FastProducts | None = None,
    ) -> None:
        super().__init__(_BlockMatrix(blocks, X, n_outputs, name, fast), (len(X), n_outputs))


class FeatureGram(FlatGram):
    """𝐊 = ΦΦᵀ for explicit features Φ(x_i) of shape (m, D): a thin factor is all that is stored.

    Parameters
    ----------
    features : array of shape (n, m, D), or DirectedFactor
        Φ(x_i), for which h(x) = Φ(x)w with w ∈ R^D; or the factor with what it is made of.

    Examples
    --------
    >>> import numpy as np
    >>> FeatureGram(np.ones((2, 1, 3))) @ np.ones((2, 1))
    array([[6.],
           [6.]])
    """

    def __init__(self, features: Any) -> None:
        if isinstance(features, DirectedFactor):
            m = features.directions.shape[2]
            super().__init__(features, (len(features.features), m))
            return
        if features.ndim != 3:
            raise DataError(f"FeatureGram: features must have shape (n, m, D); got {tuple(features.shape)}.")
        n, m, size = features.shape
        super().__init__(LowRank(namespace(features).reshape(features, (n * m, size))), (n, m))


class SumGram(FlatGram):
    """A sum of Gram operators on arrays of one shape: products and columns add.

    Solves take a factorisation where its memory is in the budget, and conjugate gradients beyond.

    Parameters
    ----------
    terms : sequence of Gram
        Their kernels are added; weights that they may have do not count.
    """

    def __init__(self, terms: Sequence[Gram]) -> None:
        terms = [term.weighted(None, None) for term in terms]
        if len({term.array_shape for term in terms}) != 1:
            raise DataError(f"SumGram: the terms must act on arrays of one shape; got {terms!r}.")
        super().__init__(_Sum(terms), terms[0].array_shape)


class _BlockMatrix(LinearOperator):
    """D𝐊D with 𝐊 the n·p × n·p matrix of a matrix-valued kernel, evaluated on demand, and D diagonal."""

    tags = PSD

    def __init__(
        self, blocks: Callable[[Any, Any], Any], X: np.ndarray, p: int, name: str, fast: FastProducts | None
    ) -> None:
        require_numpy("OperatorGram", "Convert X with numpy.asarray.", X)
        self.blocks, self.X, self.p, self.name, self.fast = blocks, X, p, name, fast
        self.scale: Any = None
        self.kept: Callable[[Any], Any] | None = None  # products with what they share stored

    @property
    def shape(self):
        return (len(self.X) * self.p, len(self.X) * self.p)

    @property
    def like(self):
        return self.X

    @property
    def adjoint(self):
        return self

    def _rows(self, first: int, stop: int) -> np.ndarray:
        """The matrix on the samples first, ..., stop − 1."""
        values = self._values(self.X[first:stop], self.X)
        matrix = values.transpose(0, 2, 1, 3).reshape((stop - first) * self.p, -1)
        if self.scale is None:
            return matrix
        return matrix * self.scale[first * self.p : stop * self.p, None] * self.scale

    def _values(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """K(x, z), or a refusal of what is no such array."""
        values, expected = np.asarray(self.blocks(X, Z)), (len(X), len(Z), self.p, self.p)
        if values.shape != expected:
            raise DataError(
                f"{self.name} must return shape (len(X), len(Z), p, p) = {expected} for p = {self.p} outputs; got "
                f"{values.shape}. Is it bound to a measure with as many points as outputs?"
            )
        return values

    def apply(self, array):
        if self.fast is not None:
            return np.stack([self._product(column, self.fast) for column in array.T], axis=1)
        step = max(1, BLOCK_BYTES // max(8 * self.p**2 * len(self.X), 1))
        parts = [self._rows(k, min(k + step, len(self.X))) @ array for k in range(0, len(self.X), step)]
        return np.concatenate(parts)

    def _product(self, column: np.ndarray, fast: FastProducts) -> np.ndarray:
        """The product with one column, by what is faster than blocks."""
        C = (column if self.scale is None else column * self.scale).reshape(-1, self.p)
        if self.kept is not None:
            image = self.kept(C).reshape(-1)
        else:
            step = max(1, PAIR_BLOCK // max(len(self.X), 1))
            starts = range(0, len(self.X), step)
            parts = [fast.products(self.X[k : k + step], self.X)(C).reshape(-1) for k in starts]
            image = np.concatenate(parts) if parts else column
        return image if self.scale is None else image * self.scale

    def diagonal(self):
        if self.fast is not None:
            values = np.einsum("iaa->ia", self.fast.diagonal(self.X)).reshape(-1)
        else:
            own = [np.diagonal(self._values(x[None, :], x[None, :])[0, 0]) for x in self.X]
            values = np.concatenate(own) if own else np.zeros(0)
        return values if self.scale is None else values * self.scale**2

    def column(self, index: int) -> Any:
        sample, component = divmod(index, self.p)
        one = self.X[sample : sample + 1]
        if self.fast is not None:
            values = self.fast.products(self.X, one)(np.eye(self.p)[component : component + 1]).reshape(-1)
        else:
            values = self._values(self.X, one)[:, 0, :, component].reshape(-1)
        return values if self.scale is None else values * self.scale * self.scale[index]

    def stored(self, limit: int | None = None) -> LinearOperator:
        """Return the matrix where it is within the limit, else what products share where that is."""
        whole = super().stored(limit)
        if whole is not self or self.fast is None or self.kept is not None:
            return whole
        size = 8 * self.fast.pair_numbers * len(self.X) ** 2
        if size > min(memory_budget(), size if limit is None else limit):
            return self
        other = copy.copy(self)
        other.kept = self.fast.products(self.X, self.X)
        return other

    @property
    def product_cost(self) -> float:
        n = float(len(self.X))
        return (n * self.p) ** 2 if self.fast is None else n * n * self.p * (self.fast.pair_numbers + 1)

    def _dense(self):
        return self._rows(0, len(self.X))


class _Sum(LinearOperator):
    """DKD with K the sum of several Gram operators without weights, and D diagonal."""

    tags = PSD

    def __init__(self, terms: Sequence[Gram], scale: Any = None) -> None:
        self.terms, self.scale = list(terms), scale

    @property
    def shape(self):
        return self.terms[0].shape

    @property
    def like(self):
        return self.terms[0].like

    @property
    def adjoint(self):
        return self

    def _scaled(self, flat: Any) -> Any:
        return flat if self.scale is None else flat * self.scale[:, None]

    def apply(self, array):
        xp = namespace(array)
        columns, shape = self._scaled(array), self.terms[0].array_shape
        images = [
            xp.reshape(sum(term @ xp.reshape(columns[:, k], shape) for term in self.terms), (-1, 1))
            for k in range(columns.shape[1])
        ]
        return self._scaled(xp.concat(images, axis=1))

    def diagonal(self):
        values = sum(term.diagonal() for term in self.terms)
        return values if self.scale is None else values * self.scale**2

    def column(self, index: int) -> Any:
        values = sum(term.column(index) for term in self.terms)
        return values if self.scale is None else values * self.scale * self.scale[index]

    def stored(self, limit: int | None = None) -> LinearOperator:
        whole = super().stored(limit)
        if whole is not self:
            return whole
        share = None if limit is None else limit // len(self.terms)
        terms = [term.stored(share) for term in self.terms]
        same = all(new is old for new, old in zip(terms, self.terms, strict=True))
        return self if same else _Sum(terms, self.scale)

    @property
    def product_cost(self) -> float:
        return sum(term.costs.product for term in self.terms)

    def _dense(self):
        matrix = sum(term.to_dense() for term in self.terms)
        return matrix if self.scale is None else matrix * self.scale[:, None] * self.scale[None, :]


@congruence.register
def _(operator: _BlockMatrix, scale: Any) -> LinearOperator:
    other = copy.copy(operator)
    other.scale = scale if operator.scale is None else operator.scale * scale
    return other


@congruence.register
def _(operator: _Sum, scale: Any) -> LinearOperator:
    return _Sum(operator.terms, scale if operator.scale is None else operator.scale * scale)
