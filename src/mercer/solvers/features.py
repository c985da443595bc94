"""Finite features of a Gram operator: 𝐊/(λn) = ΦΦᵀ on whitened arrays, for grids and for pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backend import namespace
from mercer.exceptions import UnsupportedError
from mercer.linalg import KroneckerEigen, PairFactors, PairGram
from mercer.problems import DualProblem
from mercer.solvers.reduction import thin_eigen

__all__ = ["GridFeatures", "PairFeatures", "distinct", "thin_features"]


def thin_features(problem: DualProblem, share: float) -> GridFeatures | PairFeatures:
    """Return features that leave out a part of the kernel too small to matter (see :func:`thin_eigen`)."""
    left = problem.gram.left
    if not isinstance(left, PairGram):
        return GridFeatures(problem, thin_eigen(problem, share))
    trace = float(np.sum(problem.gram.right.diagonal()))
    factors = left.factors(share * problem.unit / (problem.scale * trace) if trace > 0 else 0.0)
    if factors is None:
        raise UnsupportedError(
            f"The output kernel has no thin factor on the points of these {left.shape[0]} observations, and a dense "
            "solution would take too much memory. Use a smoother output kernel, or points rounded to a common grid."
        )
    return PairFeatures(problem, factors)


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


class GridFeatures:
    """Φβ = U(D^½ ∘ β)Vᵀ for β of shape (r, q): the eigenbases of both Gram matrices.

    ``bound`` is D, the squared norms of the columns of Φ; ``spectrum`` is D times the share of observed entries, what
    the mask leaves of them on average.
    """

    components = 1

    def __init__(self, problem: DualProblem, eigen: KroneckerEigen) -> None:
        xp = namespace(problem.Y)
        self.left, self.right = eigen.left.vectors, eigen.right.vectors
        self.bound = problem.scale * eigen.spectrum
        self.root = xp.sqrt(self.bound)
        observed = problem.measure.observed
        self.observed = xp.ones_like(problem.Y) if observed is None else xp.astype(observed, problem.Y.dtype)
        self.spectrum = float(xp.mean(self.observed)) * self.bound
        (n, r), (m, q) = self.left.shape, self.right.shape
        costs = n * q * (r + m), r * m * (n + q)  # of the two products in either order
        self.right_first = costs[0] <= costs[1]
        #: multiplications in a step
        self.work = 2 * min(costs)

    def synthesise(self, beta: Any) -> Any:
        """Return Φβ, shape (n, m)."""
        beta = self.root * beta
        if self.right_first:
            return (self.left @ beta) @ self.right.T
        return self.left @ (beta @ self.right.T)

    def analyse(self, array: Any) -> Any:
        """Return Φᵀz, shape (r, q)."""
        if self.right_first:
            return self.root * (self.left.T @ (array @ self.right))
        return self.root * ((self.left.T @ array) @ self.right)

    @property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Components with the same block, and their D."""
        return [(np.zeros(1, dtype=int), self.spectrum)]

    def constant(self, direction: Any) -> Any:
        """Return Φᵀ of the constant of each right index, were entries missing evenly; see :meth:`contract`."""
        xp = namespace(direction)
        size = xp.sum(direction * direction, axis=1)  # s_i, up to a factor
        size = xp.sqrt(size / xp.sum(size))
        return xp.sqrt(self.spectrum) * (size @ self.left)[:, None]

    def contract(self, beta: Any) -> Any:
        """Return the sums over the features that share a constant."""
        return namespace(beta).sum(beta, axis=0)[None, :]

    def block(self, component: int, counts: np.ndarray, direction: Any) -> np.ndarray:
        """Return ΦᵀCΦ on the leading features, the first ``counts[b]`` left indices with each right index b."""
        left = self.left * self.root[:, 0]
        # D has rank 1: √D_ab is √D_a0 times the ratio √D_0b/√D_00
        right = self.right * (self.root[:1, :] / self.root[0, 0])
        matrix = _assemble(left, lambda b: self.observed @ (right * right[:, b : b + 1]), counts)
        if direction is not None:
            along = left.T @ direction  # (r, m)
            means = np.concatenate([along[: counts[b]] * right[:, b] for b in np.flatnonzero(counts)])
            matrix -= means @ means.T
        return matrix


class PairFeatures:
    """Φ of shape (N·p, r·q·p) for observations at points of their own, from thin factors of K_X, K_Θ and A.

    β has shape (r, q·p), component last. The columns of Φ are orthogonal up to the differences between the points of
    different curves; ``spectrum`` is what their squared norms would be without these.
    """

    def __init__(self, problem: DualProblem, factors: PairFactors) -> None:
        self.gram: Any = problem.gram.left
        values, vectors = np.linalg.eigh(problem.gram.right.to_dense())
        values = np.maximum(values, 0)
        self.left = factors.left * np.sqrt(problem.scale * factors.values)
        self.right = factors.right
        self.mixing = vectors * np.sqrt(values)
        self.values = values
        self.components = len(values)
        self.base = problem.scale * factors.values[:, None] * factors.pooled
        share = 1.0 if problem.measure.observed is None else float(np.mean(problem.measure.observed))
        self.bound = (self.base[:, :, None] * values).reshape(len(self.base), -1)
        self.spectrum = share * self.bound
        (n, r), (N, q) = self.left.shape, self.right.shape
        self.work = 2 * self.components * q * (n * r + 3 * N)

    def synthesise(self, beta: np.ndarray) -> np.ndarray:
        """Return Φβ, shape (N, p)."""
        spread = (self.left @ beta).reshape(len(self.left), -1, self.components)
        parts = [np.einsum("pq,pq->p", self.right, spread[self.gram.rows, :, c]) for c in range(self.components)]
        return np.stack(parts, axis=1) @ self.mixing.T

    def analyse(self, array: np.ndarray) -> np.ndarray:
        """Return Φᵀz, shape (r, q·p)."""
        mixed = array @ self.mixing
        sums = np.stack([self.gram.sum_over_curves(self.right * column[:, None]) for column in mixed.T], axis=2)
        return self.left.T @ sums.reshape(len(sums), -1)

    @property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Components with the same block, and their D."""
        return [(index, self.base * self.values[index[0]]) for index in distinct(self.values)]

    def constant(self, direction: np.ndarray) -> np.ndarray:
        """Return Φᵀ of the constant of each component; see :meth:`contract`."""
        along = self.left.T @ self.gram.sum_over_curves(self.right * direction.mean(axis=1)[:, None])
        return (along[:, :, None] * np.sqrt(self.values)).reshape(len(along), -1)

    def contract(self, beta: np.ndarray) -> np.ndarray:
        """Return the sums over the features that share a constant."""
        cube = beta.reshape(*self.base.shape, self.components)
        return np.broadcast_to(cube.sum(axis=(0, 1)), cube.shape).reshape(beta.shape)

    def block(self, component: int, counts: np.ndarray, direction: Any) -> np.ndarray:
        """Return ΦᵀCΦ on the leading features of a component; entries missing from vectors are not seen here."""
        left, right = self.left * np.sqrt(self.values[component]), self.right
        matrix = _assemble(left, lambda b: self.gram.sum_over_curves(right * right[:, b : b + 1]), counts)
        if direction is not None:
            along = left.T @ self.gram.sum_over_curves(right * direction.mean(axis=1)[:, None])  # (r, q)
            means = np.concatenate([along[: counts[b], b] for b in np.flatnonzero(counts)])
            matrix -= np.outer(means, means)
        return matrix


def _assemble(left: np.ndarray, weights_of: Callable[[int], np.ndarray], counts: np.ndarray) -> np.ndarray:
    """Return the lower triangle of Σ_i (l_i l_iᵀ) ⊗ B_i on the leading features, right index first.

    ``weights_of(b)`` is B_i[b, ·] for all i, shape (n, q). O(n K²) operations for K features.
    """
    used = np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[used])])
    matrix = np.zeros((starts[-1], starts[-1]))
    for position, b in enumerate(used):
        weights = weights_of(int(b))
        later = np.concatenate([left[:, : counts[c]] * weights[:, c : c + 1] for c in used[position:]], axis=1)
        matrix[starts[position] :, starts[position] : starts[position + 1]] = later.T @ left[:, : counts[b]]
    return matrix
