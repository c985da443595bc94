"""A forest as flat arrays: the leaves of new rows, and what they say."""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
from scipy.special import digamma

from mercer._state import Stateful
from mercer.forests.growth import Tree

__all__ = ["Trees", "average_path_length"]

#: rows that go through the trees together, so that they stay in the cache
ROWS_TOGETHER = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class Trees(Stateful):
    """The nodes of several trees behind each other; what was learned of each node is an array over all of them.

    ``roots`` are the places of the first nodes. A row with ``x[column] <= threshold`` goes to the node ``child``, else to
    the one after it; a leaf is its own child. ``depth`` counts splits above a node, ``count`` the rows of its tree in
    it, and ``volume`` is the logarithm of the share of its cell in the box of these rows. ``decrease`` is how much less
    impure its children are. All trees are made of ``n_rows`` rows and reach ``max_depth`` at most.
    """

    roots: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    depth: np.ndarray
    count: np.ndarray
    volume: np.ndarray
    decrease: np.ndarray
    n_rows: int

    @classmethod
    def of(cls, trees: list[Tree]) -> Self:
        """Return the forest of some trees, all of the same number of rows."""
        sizes = [len(tree.count) for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        column, threshold, child, depth, count, volume, decrease = map(np.concatenate, zip(*trees, strict=True))
        child = child + np.repeat(roots, sizes)
        return cls(roots, column, threshold, child, depth, count, volume, decrease, int(trees[0].count[0]))

    @property
    def leaf(self) -> np.ndarray:
        """Which nodes are leaves."""
        return self.child == np.arange(len(self.child))

    def importances(self, n_columns: int) -> np.ndarray:
        """Return the share of each column in the decrease of impurity; zeros where no tree has a split."""
        total = np.bincount(self.column, weights=self.decrease, minlength=n_columns)
        return total / (total.sum() or 1.0)

    def leaves(self, X: np.ndarray, root: int) -> np.ndarray:
        """Return the leaf of each row of X, (n, d), in the tree of a root."""
        rows, node = X.ravel(), np.full(len(X), root)
        first = np.arange(len(X)) * X.shape[1]
        for _ in range(self._height):
            right = rows.take(first + self.column.take(node)) > self.threshold.take(node)
            node = self.child.take(node) + right
        return node

    @property
    def _height(self) -> int:
        return int(self.depth.max())

    def mean(self, values: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Return the mean over trees of the values (n_nodes, k) of the leaves of each row of X, shape (n, k)."""
        means = [self._mean(values, X[k : k + ROWS_TOGETHER]) for k in range(0, len(X), ROWS_TOGETHER)]
        return np.concatenate(means)

    def _mean(self, values: np.ndarray, X: np.ndarray) -> np.ndarray:
        total = np.zeros((len(X), values.shape[1]))
        rows = np.ascontiguousarray(X)
        for root in self.roots:
            total += values.take(self.leaves(rows, int(root)), axis=0)
        return total / len(self.roots)

    def path_lengths(self) -> np.ndarray:
        """Return, for each node, its depth and the mean depth of an isolation tree of its rows, in units of that of all.

        Its mean over trees is −log₂ of the score of isolation forests.
        """
        return (self.depth + average_path_length(self.count)) / average_path_length(np.array([self.n_rows]))


def average_path_length(n: np.ndarray) -> np.ndarray:
    """Return c(n) = 2H(n − 1) − 2(n − 1)/n, the mean depth of an unsuccessful search in a random binary tree.

    Examples
    --------
    >>> average_path_length(np.array([1, 2, 3])).round(4)
    array([0.    , 1.    , 1.6667])
    """
    n = np.asarray(n, float)
    return 2 * (digamma(n) + np.euler_gamma) - 2 * (n - 1) / n
