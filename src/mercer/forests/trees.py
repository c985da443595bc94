"""A forest as flat arrays: the leaves of new rows, and what is known of these."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
from scipy.special import digamma
from sklearn.utils.parallel import Parallel, delayed

from mercer._state import Stateful
from mercer.forests.growth import Tree

__all__ = ["Trees", "average_path_length"]

#: rows that go through the trees together, so that they stay in the cache
ROWS_TOGETHER = 4096


@dataclasses.dataclass(frozen=True, eq=False)
class Trees(Stateful):
    """The nodes of several trees behind each other; what was learned of each node is an array over all of them.

    ``roots`` are the places of the first nodes. A row with ``x[column] <= threshold`` goes to the node ``child``, any
    other to the one after it; a leaf is its own child. ``depth`` counts splits above a node, ``size`` the rows of its
    tree in it, and ``volume`` is the logarithm of the share of its cell in the box of all data. ``decrease`` is
    how much less impure its children are. All trees are made of ``n_rows`` rows.
    """

    roots: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    depth: np.ndarray
    size: np.ndarray
    volume: np.ndarray
    decrease: np.ndarray
    n_rows: int

    @classmethod
    def of(cls, trees: list[Tree]) -> Self:
        """Return the forest of some trees, all of the same number of rows."""
        sizes = [len(tree.size) for tree in trees]
        roots = np.cumsum([0, *sizes[:-1]])
        column, threshold, child, depth, size, volume, decrease = map(np.concatenate, zip(*trees, strict=True))
        child = child + np.repeat(roots, sizes)
        return cls(roots, column, threshold, child, depth, size, volume, decrease, int(trees[0].size[0]))

    @property
    def leaf(self) -> np.ndarray:
        """Which nodes are leaves."""
        return self.child == np.arange(len(self.child))

    def importances(self, n_columns: int) -> np.ndarray:
        """Return the share of each column in the decrease of impurity; zeros where no tree has a split."""
        total = np.bincount(self.column, weights=self.decrease, minlength=n_columns)
        return total / (total.sum() or 1.0)

    def leaves(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield, tree by tree, the leaf of each row of X, (n, d)."""
        rows, first = X.ravel(), np.arange(len(X)) * X.shape[1]
        ends = [*self.roots[1:], len(self.depth)]
        for root, end in zip(self.roots, ends, strict=True):
            node = np.full(len(X), root)
            for _ in range(self.depth[end - 1]):  # the last node is one of the deepest
                right = rows.take(first + self.column.take(node)) > self.threshold.take(node)
                node = self.child.take(node) + right
            yield node

    def mean(self, values: np.ndarray, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return the mean over trees of the values (n_nodes,) of the leaves of each row of X, shape (n,)."""

        def means(rows: np.ndarray) -> np.ndarray:
            total = np.zeros(len(rows))
            for leaf in self.leaves(rows):
                total += values.take(leaf)
            return total / len(self.roots)

        return _by_blocks(means, X, n_jobs)

    def log_mean(self, logarithms: np.ndarray, X: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        """Return log of the mean over trees of exp of values (n_nodes,) of the leaves of each row of X, shape (n,)."""

        def means(rows: np.ndarray) -> np.ndarray:
            largest, total = np.full(len(rows), -np.inf), np.zeros(len(rows))
            for leaf in self.leaves(rows):  # in units of the largest so far: what is the same in all trees is exact
                new = logarithms.take(leaf)
                before, largest = largest, np.maximum(largest, new)
                total = total * np.exp(before - largest) + np.exp(new - largest)
            return largest + np.log(total / len(self.roots))

        return _by_blocks(means, X, n_jobs)

    def path_lengths(self) -> np.ndarray:
        """Return depth + c(size) of each node, in units of c of all rows of a tree.

        c is :func:`average_path_length`. Its mean over trees is −log₂ of the score of isolation forests.
        """
        return (self.depth + average_path_length(self.size)) / average_path_length(np.array([self.n_rows]))


def _by_blocks(means: Callable[[np.ndarray], np.ndarray], X: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """Return a number for each row of X, from blocks of rows, in threads."""
    blocks = (np.ascontiguousarray(X[k : k + ROWS_TOGETHER]) for k in range(0, len(X), ROWS_TOGETHER))
    return np.concatenate(Parallel(n_jobs=n_jobs, prefer="threads")(delayed(means)(block) for block in blocks))


def average_path_length(n: np.ndarray) -> np.ndarray:
    """Return c(n) = 2H(n − 1) − 2(n − 1)/n, the mean depth of an unsuccessful search in a random binary tree.

    Examples
    --------
    >>> average_path_length(np.array([1, 2, 3])).round(4)
    array([0.    , 1.    , 1.6667])
    """
    n = np.asarray(n, float)
    return 2 * (digamma(n) + np.euler_gamma) - 2 * (n - 1) / n
