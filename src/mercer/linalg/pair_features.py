"""Finite features of observations at points of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.linalg.pair_factors import PairFactors, gather, scatter
from mercer.linalg.thin_features import ThinFeatures, distinct

__all__ = ["PairFeatures"]


class PairFeatures(ThinFeatures):
    """Φ of shape (N·p, r·q·p) for observations at points of their own, from thin factors of K_X, K_Θ and A.

    β has shape (r, p·q), component before right index. The columns of Φ are orthogonal up to the differences between
    the points of different curves; ``spectrum`` is what their squared norms would be without these.
    """

    def __init__(
        self, factors: PairFactors, matrix: np.ndarray, scale: float = 1.0, observed: np.ndarray | None = None
    ) -> None:
        values, vectors = np.linalg.eigh(matrix)
        self.factors, self.scale, self.values = factors, scale, np.maximum(values, 0)
        self.mixing = vectors * np.sqrt(scale * self.values)
        self.components = len(values)
        self.base = scale * factors.values[:, None] * factors.pooled
        share = 1.0 if observed is None else float(np.mean(observed))
        self.bound = (self.base[:, None, :] * self.values[:, None]).reshape(len(self.base), -1)
        self.spectrum = share * self.bound
        (n, r), (N, q) = factors.left.shape, factors.right.shape
        self.work = 2 * self.components * q * (n * r + 3 * N)
        self.n_rows = n

    def synthesise(self, beta: np.ndarray) -> np.ndarray:
        spread = (self.factors.left @ beta).reshape(len(self.factors.left), self.components, -1)
        return gather(self.factors.right, spread, self.factors.rows) @ self.mixing.T

    def analyse(self, array: np.ndarray) -> np.ndarray:
        sums = scatter(self.factors.right, array @ self.mixing, self.factors.rows, len(self.factors.left))
        return self.factors.left.T @ sums.reshape(len(sums), -1)

    @property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return [(index, self.base * self.values[index[0]]) for index in distinct(self.values)]

    def constant(self, direction: np.ndarray) -> np.ndarray:
        along = np.sqrt(self.scale) * self._along(direction)
        return (along[:, None, :] * np.sqrt(self.values)[:, None]).reshape(len(along), -1)

    def _along(self, direction: np.ndarray) -> np.ndarray:
        """Products of the features with the constant, shape (r, q); entries missing from vectors are not seen here."""
        return self.factors.left.T @ self.factors.sums(self.factors.right * direction.mean(axis=1)[:, None])

    def contract(self, beta: np.ndarray) -> np.ndarray:
        cube = beta.reshape(len(beta), self.components, -1)
        return np.broadcast_to(cube.sum(axis=(0, 2))[:, None], cube.shape).reshape(beta.shape)

    def block(self, component: int, counts: np.ndarray, direction: Any) -> np.ndarray:
        """Return ΦᵀCΦ on the leading features of a component, as if no entry of a vector were missing."""
        scale = self.scale * float(self.values[component])
        matrix = scale * self.factors.gram(counts)
        if direction is not None:
            along = np.sqrt(scale) * self._along(direction)
            means = np.concatenate([along[: counts[b], b] for b in np.flatnonzero(counts)])
            matrix -= np.outer(means, means)
        return matrix
