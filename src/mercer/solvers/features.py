"""Finite features of a Gram operator: 𝐊/(λn) = ΦΦᵀ on whitened arrays, for grids and for pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import namespace
from mercer.exceptions import UnsupportedError
from mercer.linalg import KroneckerEigen, PairFactors, PairGram
from mercer.linalg.pair_factors import gather, leading_gram, scatter
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
        matrix = leading_gram(left, lambda b: self.observed @ (right * right[:, b : b + 1]), counts)
        if direction is not None:
            along = left.T @ direction  # (r, m)
            means = np.concatenate([along[: counts[b]] * right[:, b] for b in np.flatnonzero(counts)])
            matrix -= means @ means.T
        return matrix


class PairFeatures:
    """Φ of shape (N·p, r·q·p) for observations at points of their own, from thin factors of K_X, K_Θ and A.

    β has shape (r, p·q), component before right index. The columns of Φ are orthogonal up to the differences between
    the points of different curves; ``spectrum`` is what their squared norms would be without these.
    """

    def __init__(self, problem: DualProblem, factors: PairFactors) -> None:
        values, vectors = np.linalg.eigh(problem.gram.right.to_dense())
        self.factors, self.scale, self.values = factors, problem.scale, np.maximum(values, 0)
        self.mixing = vectors * np.sqrt(problem.scale * self.values)
        self.components = len(values)
        self.base = problem.scale * factors.values[:, None] * factors.pooled
        share = 1.0 if problem.measure.observed is None else float(np.mean(problem.measure.observed))
        self.bound = (self.base[:, None, :] * self.values[:, None]).reshape(len(self.base), -1)
        self.spectrum = share * self.bound
        (n, r), (N, q) = factors.left.shape, factors.right.shape
        self.work = 2 * self.components * q * (n * r + 3 * N)

    @property
    def left(self) -> np.ndarray:
        """Values of the left features at the curves, shape (n, r)."""
        return self.factors.left

    def synthesise(self, beta: np.ndarray) -> np.ndarray:
        """Return Φβ, shape (N, p)."""
        spread = (self.left @ beta).reshape(len(self.left), self.components, -1)
        return gather(self.factors.right, spread, self.factors.rows) @ self.mixing.T

    def analyse(self, array: np.ndarray) -> np.ndarray:
        """Return Φᵀz, shape (r, p·q)."""
        sums = scatter(self.factors.right, array @ self.mixing, self.factors.rows, len(self.left))
        return self.left.T @ sums.reshape(len(sums), -1)

    @property
    def groups(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Components with the same block, and their D."""
        return [(index, self.base * self.values[index[0]]) for index in distinct(self.values)]

    def constant(self, direction: np.ndarray) -> np.ndarray:
        """Return Φᵀ of the constant of each component; see :meth:`contract`."""
        along = np.sqrt(self.scale) * self._along(direction)
        return (along[:, None, :] * np.sqrt(self.values)[:, None]).reshape(len(along), -1)

    def _along(self, direction: np.ndarray) -> np.ndarray:
        """Products of the features with the constant, shape (r, q); entries missing from vectors are not seen here."""
        return self.factors.left.T @ self.factors.sums(self.factors.right * direction.mean(axis=1)[:, None])

    def contract(self, beta: np.ndarray) -> np.ndarray:
        """Return the sums over the features that share a constant."""
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
