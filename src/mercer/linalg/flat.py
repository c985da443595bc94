"""Gram operators without a product structure: a matrix on the n·m entries of an array, stored or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import device, machine_epsilon, namespace
from mercer.exceptions import DataError
from mercer.linalg.conjugate_gradient import conjugate_gradient
from mercer.linalg.eigen import CHOLESKY_COPIES, Eigen, congruence, eigh, norm2, require_eigh, scaled, solve
from mercer.linalg.gram import GATHERED, Costs, Gram
from mercer.linalg.memory import memory_budget
from mercer.linalg.operators import PSD, Dense, LinearOperator, LowRank
from mercer.linalg.random_pivots import leading_eigen
from mercer.linalg.spectral import Spectral
from mercer.linalg.thin_features import FlatFeatures, ThinFeatures

__all__ = ["FlatGram", "FlatSpectral"]


class FlatGram(Gram):
    """An operator on (n, m) arrays given by a symmetric matrix on their n·m entries, in row-major order.

    Parameters
    ----------
    operator : LinearOperator
        The matrix 𝐊 of shape (n·m, n·m), symmetric and positive semi-definite, without weights.
    array_shape : (int, int)
        (n, m).
    row_weights, column_weights : array, optional
        Positive s (n,) and w (m,); ones by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> K = FlatGram(Dense(np.diag([1.0, 2.0, 3.0, 4.0])), (2, 2))
    >>> K @ np.ones((2, 2))
    array([[1., 2.],
           [3., 4.]])
    """

    def __init__(
        self,
        operator: LinearOperator,
        array_shape: tuple[int, int],
        row_weights: Any = None,
        column_weights: Any = None,
    ) -> None:
        super().__init__(array_shape, row_weights, column_weights)
        if operator.shape != self.shape:
            raise DataError(f"{type(self).__name__}: arrays of shape {self.array_shape} do not fit {operator!r}.")
        self._given = operator
        weighted = self._row_root is not None or self._column_root is not None
        self._operator = congruence(operator, self._root()) if weighted else operator

    def _root(self) -> Any:
        """The root of the weight of each entry, flat."""
        like = self._given.like
        xp = namespace(like)
        return xp.reshape(self.whiten(xp.ones(self.array_shape, dtype=like.dtype, device=device(like))), (-1,))

    @property
    def like(self):
        return self._given.like

    def weighted(self, row_weights: Any, column_weights: Any) -> FlatGram:
        return FlatGram(self._given, self.array_shape, row_weights, column_weights)

    def _whitened(self, array: Any) -> Any:
        return namespace(array).reshape(self.whiten(array), (-1, 1))

    def _back(self, flat: Any) -> Any:
        return self.unwhiten(namespace(flat).reshape(flat, self.array_shape))

    def apply(self, array):
        return self._back(self._operator @ self._whitened(array))

    def diagonal(self):
        return self._operator.diagonal()

    def _dense(self):
        root = self._root()
        return self._operator.to_dense() * root[None, :] / root[:, None]

    def norm2(self) -> float:
        return norm2(self._operator)

    def _decompose(self, tolerance: float) -> FlatSpectral:
        return FlatSpectral(eigh(self._operator, tolerance), self.array_shape, self._root())

    def leading(self, rank: int, tolerance: float = 0.0) -> FlatSpectral:
        return FlatSpectral(leading_eigen(self._operator, rank, tolerance), self.array_shape, self._root())

    def require_spectral(self, tolerance: float) -> None:
        require_eigh(self._operator, tolerance)

    def features(self, tolerance: float, scale: float = 1.0, observed: Any = None) -> ThinFeatures:
        spectral: Any = self.spectral(tolerance)
        return FlatFeatures(spectral.eigen, self.array_shape, scale, observed)

    def taken(self, rows: Any, columns: Any) -> Gram:
        flat = (np.asarray(rows)[:, None] * self.array_shape[1] + np.asarray(columns)).ravel()
        return FlatGram(Dense(self._given.to_dense()[np.ix_(flat, flat)], PSD), (len(rows), len(columns)))

    def entries(self, rows: Any, columns: Any) -> Any:
        flat = rows * self.array_shape[1] + columns
        return self._operator.to_dense()[np.ix_(flat, flat)]

    @property
    def columns_alike(self) -> bool:
        return self.array_shape[1] == 1

    def column_operator(self) -> LinearOperator:
        if not self.columns_alike:
            return super().column_operator()
        return scaled(self._given, 1.0 if self._column_root is None else float(self._column_root[0]) ** 2)

    @property
    def costs(self) -> Costs:
        size = float(self.shape[0])
        entry = GATHERED if isinstance(self._operator, Dense) else np.inf
        solve_cost = size**3 / 3 if self.direct else np.inf
        if isinstance(self._operator, LowRank):  # by the small matrix FᵀF + t
            rank = min(self._operator.rank, size)
            solve_cost = min(solve_cost, (size + rank) * rank**2)
        return Costs(self._operator.product_cost, solve_cost, 9 * size**3, entry)

    @property
    def direct(self) -> bool:
        if isinstance(self._operator, LowRank):
            return CHOLESKY_COPIES * 8 * min(self._operator.rank, self.shape[0]) ** 2 <= memory_budget()
        return CHOLESKY_COPIES * self.dense_bytes <= memory_budget()

    def stored(self, limit: int | None = None) -> Gram:
        operator = self._operator.stored(limit)
        if operator is self._operator:
            return self
        other = FlatGram.__new__(FlatGram)
        other.__dict__.update(self.__dict__ | {"_operator": operator})
        return other

    def shifted_solve(self, shift: float, rhs: Any, centred: bool = False) -> Any:
        columns = self._whitened(rhs)
        if centred:
            columns = namespace(rhs).concat([columns, self._constants(rhs)], axis=1)
        solved = solve(self._operator, shift, columns) if self.direct else self._iterate(shift, columns)
        if not centred:
            return self._back(solved)
        answer, constants = solved[:, :1], columns[:, 1:]
        small, moment = constants.T @ solved[:, 1:], constants.T @ answer
        return self._back(answer - solved[:, 1:] @ namespace(rhs).linalg.solve(small, moment))

    def _constants(self, like: Any) -> Any:
        """The whitened arrays whose rows are all a unit vector of R^m, flat: shape (n·m, m)."""
        xp, m = namespace(like), self.array_shape[1]
        unit = xp.eye(m, dtype=like.dtype, device=device(like))
        rows = xp.broadcast_to(unit[None, :, :], (*self.array_shape, m))
        return xp.reshape(rows, (-1, m)) * self._root()[:, None]

    def _iterate(self, shift: float, columns: Any) -> Any:
        """Conjugate gradients, one column after the other: no matrix is formed."""
        xp = namespace(columns)

        def one(column: Any) -> Any:
            return conjugate_gradient(
                lambda array: self._operator @ array + shift * array,
                column,
                tolerance=1e2 * machine_epsilon(columns),
                max_iter=10 * self.shape[0],
            )[0]

        return xp.concat([one(columns[:, k : k + 1]) for k in range(columns.shape[1])], axis=1)


class FlatSpectral(Spectral):
    """Eigenvectors of a whitened matrix on n·m entries; coordinates have shape (r,).

    Parameters
    ----------
    eigen : Eigen
        Eigenpairs of the whitened matrix.
    array_shape : (int, int)
        (n, m).
    root : array of shape (n·m,)
        Roots of the weights of entries.
    """

    def __init__(self, eigen: Eigen, array_shape: tuple[int, int], root: Any) -> None:
        self.eigen, self.array_shape = eigen, array_shape
        self.spectrum, self.left_out = eigen.values, eigen.trace_left_out
        self._in, self._back = eigen.vectors * root[:, None], eigen.vectors / root[:, None]
        xp = namespace(self._in)
        self._ones = xp.sum(xp.reshape(self._in, (*array_shape, -1)), axis=0)  # (m, r): coordinates of constants

    @property
    def product_cost(self) -> float:
        return float(self._in.shape[0] * self.rank)

    def analyse(self, array: Any) -> Any:
        return namespace(array).reshape(array, (-1,)) @ self._in

    def synthesise(self, coordinates: Any) -> Any:
        return namespace(coordinates).reshape(self._back @ coordinates, self.array_shape)

    def _entries(self, block: slice) -> slice:
        m = self.array_shape[1]
        return slice(block.start * m, block.stop * m)

    def spread(self, coordinates: Any) -> Any:
        return coordinates

    def rows(self, spread: Any, block: slice, out: Any) -> None:
        np.matmul(self._back[self._entries(block)], spread, out=out.reshape(-1))

    def part(self, array: Any, block: slice) -> Any:
        return array.reshape(-1) @ self._in[self._entries(block)]

    def collect(self, total: Any) -> Any:
        return total

    @property
    def entry_width(self) -> int:
        return self.rank

    def _flat(self, rows: Any, columns: Any) -> Any:
        return rows * self.array_shape[1] + columns

    def entry_block(self, rows: Any, columns: Any) -> Any:
        features = self._back[self._flat(rows, columns)] * np.sqrt(self.spectrum)
        return features @ features.T

    def entry_features(self, rows: Any, columns: Any, kept: Any) -> Any:
        return (self._back[self._flat(rows, columns)[:, None], kept] * np.sqrt(self.spectrum[kept])).T

    def entry_values(self, coordinates: Any, rows: Any, columns: Any) -> Any:
        return self._back[self._flat(rows, columns)] @ coordinates

    def constant(self, row: Any) -> Any:
        return row @ self._ones

    def constant_sums(self, coordinates: Any) -> Any:
        return self._ones @ coordinates

    def constant_gram(self, gain: Any) -> Any:
        return (self._ones * gain) @ self._ones.T
