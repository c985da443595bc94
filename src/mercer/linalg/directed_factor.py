"""Thin factors of features times directions: what Fourier features of vector fields are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from mercer import backend
from mercer.exceptions import DataError
from mercer.linalg.eigen import congruence, norm2, solve
from mercer.linalg.memory import beyond_budget, memory_budget
from mercer.linalg.operators import Dense, LowRank

__all__ = ["DirectedFactor", "lift"]


def lift(places: np.ndarray, directions: np.ndarray, size: int) -> scipy.sparse.csr_array:
    """Return L with (Lw)_qa = Σ_ρ Σ_{t: q_t(ρ) = q} b_tρa w_ρ, flat in (q, a), shape (size·p, r).

    Examples
    --------
    >>> lift(np.array([[0, 1]]), np.array([[[1.0, 2.0], [3.0, 4.0]]]), 2).toarray()
    array([[1., 0.],
           [2., 0.],
           [0., 3.],
           [0., 4.]])
    """
    _, r, p = directions.shape
    rows = places[:, :, None] * p + np.arange(p)
    columns = np.broadcast_to(np.arange(r)[None, :, None], rows.shape)
    entries = (directions.ravel(), (rows.ravel(), columns.ravel()))
    return scipy.sparse.csr_array(entries, shape=(size * p, r))


class DirectedFactor(LowRank):
    """D F Fᵀ D with F_(ia)ρ = Σ_t φ_{i q_t(ρ)} b_tρa and D diagonal: scalar features φ_q(x_i) times vectors b in R^p.

    Only φ (n × q) and the vectors are kept: products are one product with φ, O(nqp), and FᵀF is an entrywise product of
    φᵀφ with inner products of the vectors, O(nq² + r²p). F itself, n·p × r, is made where eigenvectors are asked for.

    Parameters
    ----------
    features : array of shape (n, q)
        φ (NumPy).
    places : array of int of shape (t, r)
        q_t(ρ).
    directions : array of shape (t, r, p)
        b.
    scale : array of shape (n·p,), optional
        The diagonal of D; ones by default.

    Examples
    --------
    >>> operator = DirectedFactor(np.array([[1.0], [2.0]]), np.array([[0]]), np.array([[[1.0, 0.0]]]))
    >>> operator.to_dense()
    array([[1., 0., 2., 0.],
           [0., 0., 0., 0.],
           [2., 0., 4., 0.],
           [0., 0., 0., 0.]])
    """

    def __init__(self, features: np.ndarray, places: np.ndarray, directions: np.ndarray, scale: Any = None) -> None:
        if features.ndim != 2 or directions.ndim != 3 or places.shape != directions.shape[:2]:
            raise DataError(
                "DirectedFactor: features (n, q), places (t, r) and directions (t, r, p) must fit; got shapes "
                f"{features.shape}, {places.shape} and {directions.shape}."
            )
        self.features, self.places, self.directions, self.scale = features, places, directions, scale
        self._lift = lift(places, directions, features.shape[1])

    @property
    def rank(self) -> int:
        return int(self.directions.shape[1])

    @property
    def shape(self):
        size = self.features.shape[0] * self.directions.shape[2]
        return (size, size)

    @property
    def like(self):
        return self.features

    @property
    def factor(self) -> np.ndarray:
        """DF itself, of shape (n·p, r)."""
        (n, _), (_, r, p) = self.features.shape, self.directions.shape
        if 2 * 8 * n * p * r > memory_budget():
            remedy = "Use fewer features, or the square loss, whose solution needs no eigenvectors."
            raise beyond_budget(2 * 8 * n * p * r, f"A factor of {n * p} × {r} numbers", remedy)
        values = np.zeros((n, p, r))
        for place, vectors in zip(self.places, self.directions, strict=True):
            for a in range(p):
                values[:, a, :] += self.features[:, place] * vectors[:, a]
        flat = values.reshape(n * p, r)
        return flat if self.scale is None else flat * self.scale[:, None]

    def forward(self, coef: np.ndarray) -> np.ndarray:
        """Return DFw for the columns of an (r, k) array, shape (n·p, k)."""
        (n, q), p, k = self.features.shape, self.directions.shape[2], coef.shape[1]
        image = (self.features @ (self._lift @ coef).reshape(q, p * k)).reshape(n * p, k)
        return image if self.scale is None else image * self.scale[:, None]

    def backward(self, array: np.ndarray) -> np.ndarray:
        """Return FᵀDa for the columns of an (n·p, k) array, shape (r, k)."""
        (n, q), p, k = self.features.shape, self.directions.shape[2], array.shape[1]
        array = array if self.scale is None else array * self.scale[:, None]
        return np.asarray(self._lift.T @ (self.features.T @ array.reshape(n, p * k)).reshape(q * p, k))

    def normal(self) -> np.ndarray:
        """Return FᵀD²F, shape (r, r)."""
        n, p = self.features.shape[0], self.directions.shape[2]
        squares = np.ones((n, p)) if self.scale is None else self.scale.reshape(n, p) ** 2
        rows, columns = squares[:, 0], squares[0] / squares[0, 0]
        if np.max(np.abs(squares - rows[:, None] * columns)) > 1e-12 * np.max(squares):
            factor = self.factor
            return factor.T @ factor
        gram = (self.features * rows[:, None]).T @ self.features
        total = np.zeros((self.rank, self.rank))
        for place, vectors in zip(self.places, self.directions, strict=True):
            for other, more in zip(self.places, self.directions, strict=True):
                total += gram[np.ix_(place, other)] * ((vectors * columns) @ more.T)
        return total

    def apply(self, array):
        return self.forward(self.backward(array))

    def diagonal(self):
        (n, _), (terms, _, p) = self.features.shape, self.directions.shape
        values = np.zeros((n, p))
        for s in range(terms):
            for t in range(terms):
                pairs = self.features[:, self.places[s]] * self.features[:, self.places[t]]
                values += pairs @ (self.directions[s] * self.directions[t])
        return values.ravel() if self.scale is None else values.ravel() * self.scale**2

    def column(self, index: int) -> Any:
        unit = np.zeros((self.shape[0], 1))
        unit[index] = 1.0
        return self.apply(unit)[:, 0]

    @property
    def product_cost(self) -> float:
        return 2.0 * self.features.size * self.directions.shape[2]

    def _dense(self):
        factor = self.factor
        return factor @ factor.T


@congruence.register
def _(operator: DirectedFactor, scale: Any) -> DirectedFactor:
    both = scale if operator.scale is None else operator.scale * scale
    return DirectedFactor(operator.features, operator.places, operator.directions, both)


@norm2.register
def _(operator: DirectedFactor, steps: int = 60) -> float:
    small = operator.rank <= operator.shape[0]
    return norm2(Dense(operator.normal() if small else operator.to_dense()), steps)


@solve.register
def _(operator: DirectedFactor, shift: float, rhs: Any) -> Any:
    if operator.rank > operator.shape[0]:
        return solve(Dense(operator.to_dense()), shift, rhs)
    small = operator.normal()
    np.einsum("ii->i", small)[...] += shift
    coef = backend.cholesky_solve(small, operator.backward(rhs), overwrite=True)
    return (rhs - operator.forward(coef)) / shift
