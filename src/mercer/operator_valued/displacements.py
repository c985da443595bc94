"""Differences of points in the metric of a radial kernel, and sums over pairs of points without an array of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.kernels import Radial
from mercer.kernels.distances import FAR_POINTS, squared_distances

__all__ = ["Displacements", "displacements"]


@dataclass(frozen=True, eq=False)
class Displacements:
    """v_ij = W²(x_i − z_j) for two sets of points, W = diag(w) with the inverse lengths of a radial kernel.

    Sums over j are products of n × m matrices with the points, as v_ij is a difference: no array of all v_ij is made.

    Parameters
    ----------
    left, right : arrays of shape (n, d) and (m, d)
        W²(x_i − c) and W²(z_j − c), c the mean of the second set.
    squares : array of shape (n, m)
        s_ij = Σ_k w_k²(x_ik − z_jk)².
    metric : array of shape (d,)
        The diagonal w² of W².
    """

    left: np.ndarray
    right: np.ndarray
    squares: np.ndarray
    metric: np.ndarray

    @property
    def isotropic(self) -> bool:
        """Whether all columns have the same length."""
        return bool(np.all(self.metric == self.metric[0]))

    @property
    def sizes(self) -> np.ndarray:
        """‖v_ij‖², shape (n, m)."""
        return self.metric[0] * self.squares if self.isotropic else squared_distances(self.left, self.right)

    def along(self, C: np.ndarray) -> np.ndarray:
        """⟨v_ij, c_j⟩, shape (n, m)."""
        return self.left @ C.T - np.sum(self.right * C, axis=1)

    def total(self, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_ij v_ij, shape (n, d)."""
        return np.sum(weights, axis=1)[:, None] * self.left - weights @ self.right

    def outer(self, weights: np.ndarray, C: np.ndarray) -> np.ndarray:
        """Σ_j weights_ij v_ij c_jᵀ, shape (n, d, p)."""
        d, p = self.right.shape[1], C.shape[1]
        pairs = (self.right[:, :, None] * C[:, None, :]).reshape(len(C), d * p)
        return self.left[:, :, None] * (weights @ C)[:, None, :] - (weights @ pairs).reshape(-1, d, p)

    def square(self, weights: np.ndarray) -> np.ndarray:
        """Σ_j weights_ij v_ij v_ijᵀ, shape (n, d, d)."""
        return self.total(weights)[:, :, None] * self.left[:, None, :] - self.outer(weights, self.right)


class FarDisplacements(Displacements):
    """The same where points are so many lengths from their mean that W²(x − c) has lost digits: column after column.

    ``left`` and ``right`` are the points as they came.
    """

    def _column(self, k: int) -> np.ndarray:
        """v_ijk, shape (n, m)."""
        return self.metric[k] * (self.left[:, k : k + 1] - self.right[:, k])

    @property
    def _columns(self) -> range:
        return range(len(self.metric))

    @property
    def sizes(self):
        return sum((self._column(k) ** 2 for k in self._columns), np.zeros_like(self.squares))

    def along(self, C):
        return sum((self._column(k) * C[:, k] for k in self._columns), np.zeros_like(self.squares))

    def total(self, weights):
        return np.stack([np.sum(weights * self._column(k), axis=1) for k in self._columns], axis=1)

    def outer(self, weights, C):
        return np.stack([(weights * self._column(k)) @ C for k in self._columns], axis=1)

    def square(self, weights):
        return np.stack([self.total(weights * self._column(k)) for k in self._columns], axis=1)


def displacements(kernel: Radial, X: np.ndarray, Z: np.ndarray) -> Displacements:
    """Return the displacements of the points in the metric of a kernel."""
    squares, weights = kernel.squared_distances(X, Z), kernel.weights(X)
    centre = np.mean(Z, axis=0) if len(Z) else np.zeros(Z.shape[1])
    left, right = ((points - centre) * weights for points in (X, Z))
    if max(np.max(np.abs(points), initial=0.0) for points in (left, right)) > FAR_POINTS:
        return FarDisplacements(X, Z, squares, weights**2)
    return Displacements(left * weights, right * weights, squares, weights**2)
