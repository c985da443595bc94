"""Finite features of a Gram operator, scale·𝐊 ≈ ΦΦᵀ on whitened arrays: what conjugate gradients work in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backend import device, namespace
from mercer.linalg.eigen import Eigen

__all__ = ["FlatFeatures", "GridFeatures", "ThinFeatures", "distinct", "leading_gram"]


class ThinFeatures(ABC):
    """Φ with columns (a, b): left index a, which runs over functions on rows, and right index b.

    Coordinates β have the shape (r, components·q) of ``spectrum``.
    """

    #: squared norms of the columns of Φ, and what a mask of observed entries leaves of them on average
    bound: Any
    spectrum: Any
    #: multiplications in a product by ΦΦᵀ
    work: float
    #: number of rows that left functions have values on
    n_rows: int
    #: number of copies of the features that differ by a factor only
    components: int = 1

    @abstractmethod
    def synthesise(self, beta: Any) -> Any:
        """Return Φβ, shape (n, m)."""

    @abstractmethod
    def analyse(self, array: Any) -> Any:
        """Return Φᵀz, of the shape of β."""

    @property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Components with the same block, and their D."""
        return [(np.zeros(1, dtype=int), self.spectrum)]

    @abstractmethod
    def constant(self, direction: Any) -> Any | None:
        """Return Φᵀ of the constant of each right index, were entries missing evenly; None where that is no help."""

    def contract(self, beta: Any) -> Any:
        """Return the sums over the features that share a constant, to be broadcast against β."""
        return namespace(beta).sum(beta, axis=0)[None, :]

    @abstractmethod
    def block(self, component: int, counts: np.ndarray, direction: Any) -> np.ndarray:
        """Return ΦᵀCΦ on the leading features, the first ``counts[b]`` left indices with each right index b.

        C is the projection on observed entries, orthogonal to ``direction`` (the constants, column by column, of norm
        1) where that is not None.
        """


class GridFeatures(ThinFeatures):
    """Φβ = U(D^½ ∘ β)Vᵀ for β of shape (r, q): the eigenbases of both Gram matrices.

    ``bound`` is D, the squared norms of the columns of Φ; ``spectrum`` is D times the share of observed entries, what
    the mask leaves of them on average.
    """

    def __init__(self, left: Eigen, right: Eigen, scale: float = 1.0, observed: Any = None) -> None:
        self.left, self.right = left.vectors, right.vectors
        self.bound = scale * (left.values[:, None] * right.values[None, :])
        xp = namespace(self.bound)
        self.root = xp.sqrt(self.bound)
        (n, r), (m, q) = self.left.shape, self.right.shape
        self.observed = observed_share(observed, (n, m), self.bound)
        self.spectrum = float(xp.mean(self.observed)) * self.bound
        self.n_rows = n
        costs = n * q * (r + m), r * m * (n + q)  # of the two products in either order
        self.right_first = costs[0] <= costs[1]
        #: multiplications in a step
        self.work = 2 * min(costs)

    def synthesise(self, beta: Any) -> Any:
        beta = self.root * beta
        if self.right_first:
            return (self.left @ beta) @ self.right.T
        return self.left @ (beta @ self.right.T)

    def analyse(self, array: Any) -> Any:
        if self.right_first:
            return self.root * (self.left.T @ (array @ self.right))
        return self.root * ((self.left.T @ array) @ self.right)

    def constant(self, direction: Any) -> Any:
        xp = namespace(direction)
        size = xp.sum(direction * direction, axis=1)  # s_i, up to a factor
        size = xp.sqrt(size / xp.sum(size))
        return xp.sqrt(self.spectrum) * (size @ self.left)[:, None]

    def block(self, component: int, counts: np.ndarray, direction: Any) -> np.ndarray:
        left = self.left * self.root[:, 0]
        # D has rank 1: √D_ab is √D_a0 times the ratio √D_0b/√D_00
        right = self.right * (self.root[:1, :] / self.root[0, 0])
        matrix = leading_gram(left, lambda b: self.observed @ (right * right[:, b : b + 1]), counts)
        if direction is not None:
            along = left.T @ direction  # (r, m)
            means = np.concatenate([along[: counts[b]] * right[:, b] for b in np.flatnonzero(counts)])
            matrix -= means @ means.T
        return matrix


class FlatFeatures(ThinFeatures):
    """Φ = U D^½ from eigenvectors U of the whole whitened matrix, for operators without further structure."""

    def __init__(self, eigen: Eigen, shape: tuple[int, int], scale: float = 1.0, observed: Any = None) -> None:
        self.bound = scale * eigen.values[:, None]
        xp = namespace(self.bound)
        self.factor = eigen.vectors * xp.sqrt(self.bound[:, 0])[None, :]
        self.shape = shape
        self.observed = observed_share(observed, shape, self.bound)
        self.spectrum = float(xp.mean(self.observed)) * self.bound
        self.n_rows = self.factor.shape[0]
        self.work = 4 * self.n_rows * self.factor.shape[1]

    def synthesise(self, beta: Any) -> Any:
        return namespace(beta).reshape(self.factor @ beta, self.shape)

    def analyse(self, array: Any) -> Any:
        return self.factor.T @ namespace(array).reshape(array, (-1, 1))

    def constant(self, direction: Any) -> None:
        return None

    def block(self, component: int, counts: np.ndarray, direction: Any) -> np.ndarray:
        leading = self.factor[:, : counts[0]]
        matrix = leading.T @ (leading * self.observed.reshape(-1, 1))
        if direction is not None:
            parts = leading.reshape(*self.shape, -1) * direction[:, :, None]
            means = parts.sum(axis=0)  # (m, features)
            matrix -= means.T @ means
        return matrix


def observed_share(observed: Any, shape: tuple[int, int], like: Any) -> Any:
    """Return a mask as numbers, all ones where everything was observed."""
    xp = namespace(like)
    if observed is None:
        return xp.ones(shape, dtype=like.dtype, device=device(like))
    return xp.astype(observed, like.dtype)


def distinct(values: np.ndarray) -> list[np.ndarray]:
    """Return the indices of equal eigenvalues, group by group, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> distinct(np.array([1.0, 3.0, 1.0]))
    [array([0, 2]), array([1])]
    """
    order = np.argsort(values, kind="stable")
    jumps = np.diff(values[order]) > 1e-14 * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    return np.split(order, np.flatnonzero(jumps) + 1)


def leading_gram(left: np.ndarray, weights_of: Callable[[int], np.ndarray], counts: np.ndarray) -> np.ndarray:
    """Return the lower triangle of Σ_i (l_i l_iᵀ) ⊗ B_i on the leading features, right index first.

    Features are pairs (a, b); for each right index b the first ``counts[b]`` left indices a lead. O(n K²) operations
    for K of them.

    Parameters
    ----------
    left : array of shape (n, r)
        Rows l_i.
    weights_of : callable
        ``weights_of(b)`` is B_i[b, ·] for all i, shape (n, q).
    counts : array of int of shape (q,)
        How many left indices lead.
    """
    used = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[used])])
    matrix = np.zeros((starts[-1], starts[-1]))
    for position, b in enumerate(used):
        weights = weights_of(int(b))
        later = np.concatenate([left[:, : counts[c]] * weights[:, c : c + 1] for c in used[position:]], axis=1)
        matrix[starts[position] :, starts[position] : starts[position + 1]] = later.T @ left[:, : counts[b]]
    return matrix
