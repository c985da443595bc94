"""The Gram matrix of observations (x_i, θ_ij) at points that differ from curve to curve."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer.backend import require_numpy
from mercer.exceptions import DataError, UnsupportedError
from mercer.linalg.eigen import EIGH_COPIES, Eigen, congruence, eigh
from mercer.linalg.memory import memory_budget
from mercer.linalg.operators import PSD, Dense, LinearOperator, LowRank
from mercer.linalg.pair_factors import PairFactors, gather, scatter, sum_over_curves
from mercer.linalg.pivoted_cholesky import pivoted_cholesky

__all__ = ["PairGram"]

#: bytes that the thin factor of the output Gram may take, one row an observation
FACTOR_LIMIT = 2**28
#: bytes that the Gram matrix of the curves' inputs may take to be stored
STORED_INPUTS = 2**30
#: rows of the matrix that are made at a time where nothing is stored
BLOCK_ROWS = 256
#: share of the size beyond which a dense eigendecomposition is cheaper than a thin one
RANK_SHARE = 0.5


class PairGram(LinearOperator):
    """The N×N matrix 𝐊_pq = K_X[i(p), i(q)] · K_Θ[j(p), j(q)] of N observations, never formed.

    Observation p belongs to the curve i(p) and was made at the point j(p). With K_Θ = G Gᵀ, G thin (a pivoted Cholesky
    factor to rounding, q columns), a product is a weighted sum over each curve (n × q numbers), one product by
    K_X and one gathering: O(N q + n² q).

    Parameters
    ----------
    inputs : LinearOperator
        K_X of the n curves.
    outputs : LinearOperator
        K_Θ of the distinct points, or :class:`LowRank` where a factor of it is known.
    rows : array of int of shape (N,)
        i(p), the curve of each observation, not decreasing.
    nodes : array of int of shape (N,), optional
        j(p), the point of each observation; by default observation p is made at point p.
    scale : array of shape (N,), optional
        A diagonal D: the operator is D𝐊D.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> K_X = Dense(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> K = PairGram(K_X, Dense(np.eye(2)), rows=np.array([0, 0, 1]), nodes=np.array([0, 1, 1]))
    >>> K @ np.ones((3, 1))
    array([[2.],
           [3.],
           [3.]])
    """

    tags = PSD

    def __init__(
        self, inputs: LinearOperator, outputs: LinearOperator, rows: Any, nodes: Any = None, scale: Any = None
    ) -> None:
        remedy = "Put the curves on a common grid, with NaN where nothing was observed."
        require_numpy("PairGram", remedy, inputs.like, outputs.like)
        rows = np.asarray(rows)
        nodes = np.arange(outputs.shape[0]) if nodes is None else np.asarray(nodes)
        _check_index("rows", rows, inputs.shape[0])
        _check_index("nodes", nodes, outputs.shape[0])
        if rows.shape != nodes.shape:
            raise DataError(f"PairGram: rows and nodes must have one length; got {len(rows)} and {len(nodes)}.")
        if np.any(np.diff(rows) < 0):
            raise DataError("PairGram: rows must not decrease: the observations of a curve stand together.")
        self.inputs, self.rows, self.scale = inputs.stored(STORED_INPUTS), rows, scale
        self.points = _Points(outputs, nodes)

    @property
    def shape(self):
        return (len(self.rows), len(self.rows))

    @property
    def like(self):
        return self.inputs.like

    @property
    def adjoint(self):
        return self

    def apply(self, array):
        factor = self._factor
        if factor is None:
            return self._apply_without_factor(array)
        sums = scatter(factor, array, self.rows, self.inputs.shape[0])
        spread = (self.inputs @ sums.reshape(len(sums), -1)).reshape(sums.shape)
        return gather(factor, spread, self.rows)

    @property
    def thin(self) -> bool:
        """Whether K_Θ has a thin factor on these points, so that products are fast."""
        return self.points.factor is not None

    @cached_property
    def _factor(self) -> np.ndarray | None:
        """The rows of G for the observations, scaled, or None where it is not thin enough."""
        thin = self.points.factor
        if thin is None:
            return None
        factor = thin[self.points.nodes]
        return factor if self.scale is None else factor * self.scale[:, None]

    def _apply_without_factor(self, array: np.ndarray) -> np.ndarray:
        """Use the matrix if it is small; otherwise some of its rows at a time, which takes long but no memory."""
        if self._matrix is not None:
            return self._matrix @ array
        product = np.empty(array.shape, dtype=np.result_type(self.like, array))
        for first in range(0, len(product), BLOCK_ROWS):
            block = range(first, min(first + BLOCK_ROWS, len(product)))
            product[first : block.stop] = np.stack([self.column(p) for p in block]) @ array
        return product

    @cached_property
    def _matrix(self) -> np.ndarray | None:
        """The matrix, where it is small: made at the first product, as K_Θ most often has a thin factor."""
        return self._dense() if self.dense_bytes <= min(FACTOR_LIMIT, memory_budget()) else None

    def diagonal(self):
        values = self.inputs.diagonal()[self.rows] * self.points.operator.diagonal()[self.points.nodes]
        return values if self.scale is None else values * self.scale**2

    def column(self, index: int) -> Any:
        """Return one column, for algorithms that look at few of them."""
        values = self.inputs.column(int(self.rows[index]))[self.rows]
        values = values * self.points.operator.column(int(self.points.nodes[index]))[self.points.nodes]
        return values if self.scale is None else values * self.scale * self.scale[index]

    def _dense(self):
        left, right, nodes = self.inputs.to_dense(), self.points.operator, self.points.nodes
        matrix = np.empty(self.shape, dtype=np.result_type(left, right.like))
        for first in range(0, len(matrix), BLOCK_ROWS):  # no other matrix of this size is made
            block = slice(first, first + BLOCK_ROWS)
            sections = right.some_columns(nodes[block])
            np.multiply(left[self.rows[block]][:, self.rows], sections[:, nodes], out=matrix[block])
        if self.scale is not None:
            matrix *= self.scale[:, None]
            matrix *= self.scale[None, :]
        return matrix

    def own_dense(self) -> Any:
        return self.to_dense()  # made anew at each call

    def factors(self, tolerance: float = 0.0) -> PairFactors | None:
        """Return thin factors of both Gram matrices that leave out at most ``tolerance`` of the trace of 𝐊.

        None where K_Θ has no thin factor.
        """
        if self._factor is None:
            return None
        weight = np.ones(len(self.rows)) if self.scale is None else self.scale**2
        mass = sum_over_curves(weight, self.rows, self.inputs.shape[0])
        mass = np.where(mass > 0, mass, max(float(mass.max(initial=0.0)), 1.0))  # a curve without any observation
        # what is left out of K_X costs at most its own trace, in this metric, times the largest K_Θ[j, j]
        top = float(self.points.operator.diagonal().max(initial=0.0))
        left = eigh(congruence(self.inputs, np.sqrt(mass)), tolerance / top if top > 0 else 0.0)
        values, turn = np.linalg.eigh(self._factor.T @ self._factor / weight.sum())
        order = np.argsort(values)[::-1]
        order = order[values[order] > np.finfo(float).eps * values[order[:1]]]
        return PairFactors(
            left.factor / np.sqrt(mass)[:, None],
            left.values,
            self._factor @ turn[:, order],
            values[order],
            self.rows,
            left.trace_left_out * top,
        )


class _Points:
    """K_Θ of the distinct points and the point of each observation; shared by scaled copies of a Gram operator."""

    def __init__(self, operator: LinearOperator, nodes: np.ndarray) -> None:
        self.operator, self.nodes = operator, nodes

    @cached_property
    def factor(self) -> np.ndarray | None:
        """G with G Gᵀ = K_Θ up to rounding, or None where N rows of it would take too much memory."""
        if isinstance(self.operator, LowRank):
            return self.operator.factor
        operator = self.operator.stored(FACTOR_LIMIT)
        most = max(FACTOR_LIMIT // (8 * max(len(self.nodes), 1)), 1)
        trace = float(np.sum(operator.diagonal()))
        return pivoted_cholesky(operator, np.finfo(float).eps * trace, max_rank=min(most, operator.shape[0]))


def _check_index(name: str, index: np.ndarray, size: int) -> None:
    if index.ndim != 1 or not np.issubdtype(index.dtype, np.integer):
        raise DataError(f"PairGram: {name} must be a one-dimensional array of integers; got {index.dtype}.")
    if len(index) and (index.min() < 0 or index.max() >= size):
        raise DataError(f"PairGram: {name} must be in 0, ..., {size - 1}; got {index.min()} to {index.max()}.")


@congruence.register
def _(operator: PairGram, scale: Any) -> LinearOperator:
    both = scale if operator.scale is None else operator.scale * scale
    scaled = PairGram(operator.inputs, operator.points.operator, operator.rows, operator.points.nodes, both)
    scaled.points = operator.points  # its factor is the same
    return scaled


@eigh.register
def _(operator: PairGram, tolerance: float = 0.0, max_rank_share: float = RANK_SHARE) -> Eigen:
    """From thin factors where the rank is small, dense up to the guard of ``to_dense``, refused beyond."""
    size = operator.shape[0]
    large, most = EIGH_COPIES * operator.dense_bytes > memory_budget(), int(max_rank_share * size)
    if large:  # no other way: as many columns as fit
        most = memory_budget() // (8 * EIGH_COPIES * size)
        tolerance = max(tolerance, float(np.finfo(float).eps * np.sum(operator.diagonal())))
    if tolerance > 0 and size > 100:
        factors = operator.factors(tolerance / 2)
        eigen = None if factors is None else factors.eigen(tolerance, most)
        if eigen is not None:
            return eigen
        factor = pivoted_cholesky(operator, tolerance / 2, max_rank=most)
        if factor is not None:
            thin = eigh(LowRank(factor), tolerance / 2)
            return Eigen(thin.values, thin.vectors, thin.trace_left_out + tolerance / 2)
    if large:
        raise UnsupportedError(
            f"The Gram matrix of {size} observations has no thin eigenbasis at this tolerance, and the dense one would "
            "take too much memory. Use solver='proximal_gradient', a smoother kernel, a larger tol or a common grid."
        )
    return eigh(Dense(operator.to_dense(), operator.tags), tolerance)
