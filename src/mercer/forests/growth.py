"""How a one-class tree grows: all nodes of a level at once.

Rows are known by the ranks of their values. One sort of the numbers (node, candidate, rank) puts the values of all
nodes and candidates in order; then every threshold between neighbours is a position in that array, and the criterion is
evaluated at all of them together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer.forests.criterion import parent_impurity, split_impurity

__all__ = ["Columns", "Tree", "grow", "ranked"]

#: the least share of a cell: one whose ends are neighbouring numbers still has a volume
SMALLEST_SHARE = 1e-300
#: ranks that are sorted together: arrays that stay in the cache, and in memory that is there already
NUMBERS_TOGETHER = 16384


class Columns(NamedTuple):
    """The columns of the data by ranks."""

    #: sorted distinct values of all columns behind each other, and where those of each begin and end, (d + 1,)
    values: np.ndarray
    ends: np.ndarray
    #: (d, n) the place of each row among the values of each column
    ranks: np.ndarray


def ranked(X: np.ndarray) -> Columns:
    """Return the columns of X, (n, d), by ranks."""
    values, ranks = zip(*(np.unique(column, return_inverse=True) for column in X.T), strict=True)
    ends = np.cumsum([0, *map(len, values)])
    return Columns(np.concatenate(values), ends, np.stack(ranks).astype(np.int32))


class Tree(NamedTuple):
    """Nodes of one tree, level by level; a leaf is its own child, with the threshold infinity.

    Rows with ``x[column] <= threshold`` go to the node ``child``, the others to the one after it. ``size`` are rows of
    the sample, ``volume`` the logarithm of the share of the box of all rows of the data, ``decrease`` of the impurity.
    """

    column: np.ndarray
    threshold: np.ndarray
    child: np.ndarray
    depth: np.ndarray
    size: np.ndarray
    volume: np.ndarray
    decrease: np.ndarray


class Frontier(NamedTuple):
    """Nodes that may be split: their rows, cells and places in the tree."""

    #: (n,) rows of the sample, and the node of each, from 0 to m − 1
    rows: np.ndarray
    node: np.ndarray
    #: (m,) rows of each node
    size: np.ndarray
    #: (m, p) ends of the cells in the p columns of the tree
    low: np.ndarray
    high: np.ndarray
    #: (m,) places in the tree
    place: np.ndarray

    def part(self, chosen: np.ndarray) -> Frontier:
        """Return some nodes, a mask of shape (m,)."""
        kept = chosen[self.node]
        number = np.cumsum(chosen) - 1
        return Frontier(
            self.rows[kept],
            number[self.node[kept]],
            *(values[chosen] for values in (self.size, self.low, self.high, self.place)),
        )


class Splits(NamedTuple):
    """The best splits of some nodes: the columns of the tree, the ranks of the last rows on the left, and the rest."""

    node: np.ndarray
    column: np.ndarray
    rank: np.ndarray
    threshold: np.ndarray
    n_left: np.ndarray
    left_share: np.ndarray
    right_share: np.ndarray
    impurity: np.ndarray


class Sampled:
    """The rows and columns that a tree sees: ranks (p, n), and values with the place where those of a column begin."""

    def __init__(self, columns: Columns, rows: np.ndarray, chosen: np.ndarray) -> None:
        self.ranks = columns.ranks[chosen].take(rows, axis=1)
        self.values = columns.values
        self.start, self.end = columns.ends[chosen], columns.ends[chosen + 1]
        self.n_values = int(np.max(self.end - self.start))

    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the least box that holds all rows of the data, two arrays of shape (1, p)."""
        return self.values[self.start][None], self.values[self.end - 1][None]


def grow(
    columns: Columns,
    rows: np.ndarray,
    chosen: np.ndarray,
    *,
    n_candidates: int,
    max_depth: int,
    gamma: float,
    rng: np.random.Generator,
) -> Tree:
    """Return the tree of some rows and columns of the data.

    Parameters
    ----------
    columns : Columns
        All columns of the data.
    rows, chosen : array of int
        Rows that the tree is made of, and columns that it may split.
    n_candidates : int
        How many columns each node looks at; where all of them are constant it looks at as many others.
    max_depth : int
        Splits on a path at most.
    gamma : float
        γ of the criterion.
    rng : Generator
        Draws the candidates.
    """
    sample = Sampled(columns, rows, chosen)
    n = len(rows)
    frontier = Frontier(np.arange(n), np.zeros(n, int), np.array([n]), *sample.box(), np.zeros(1, int))
    levels = [_leaves(np.zeros(1, int), 0, frontier.size, np.zeros(1))]
    n_nodes = 1
    for depth in range(1, max_depth + 1):
        frontier = frontier.part(frontier.size > 1)
        if not len(frontier.size):
            break
        best = _best_splits(sample, frontier, n_candidates, gamma, rng)
        if not len(best.node):
            break
        above = levels[-1]
        at = frontier.place[best.node] - (n_nodes - len(above.size))
        above.column[at], above.threshold[at] = chosen[best.column], best.threshold
        above.child[at] = n_nodes + 2 * np.arange(len(at))
        above.decrease[at] = parent_impurity(frontier.size[best.node], gamma) - best.impurity
        frontier = _children(sample, frontier, best, n_nodes)
        shares = np.column_stack([best.left_share, best.right_share])
        volume = (above.volume[at][:, None] + np.log(np.maximum(shares, SMALLEST_SHARE))).ravel()
        levels.append(_leaves(frontier.place, depth, frontier.size, volume))
        n_nodes += len(frontier.size)
    return Tree(*map(np.concatenate, zip(*levels, strict=True)))


def _leaves(place: np.ndarray, depth: int, count: np.ndarray, volume: np.ndarray) -> Tree:
    """Return the nodes of a level, before any of them is split."""
    m = len(place)
    return Tree(
        np.zeros(m, int), np.full(m, np.inf), place.copy(), np.full(m, depth), count.copy(), volume, np.zeros(m)
    )


def _best_splits(sample: Sampled, frontier: Frontier, n_candidates: int, gamma: float, rng) -> Splits:
    """Return the best splits of the nodes that have one; candidates are drawn until one of them is not constant."""
    m, p = frontier.low.shape
    drawn = np.argsort(rng.random((m, p)), axis=1) if n_candidates < p else np.tile(np.arange(p), (m, 1))
    pending, found = np.arange(m), []
    for first in range(0, p, n_candidates):
        looked_at = np.zeros(m, bool)
        looked_at[pending] = True
        part = frontier if len(pending) == m else frontier.part(looked_at)
        best = _best_of(sample, part, drawn[pending, first : first + n_candidates], gamma)
        found.append(best._replace(node=pending[best.node]))
        pending = np.delete(pending, best.node)
        if not len(pending):
            break
    every = Splits(*map(np.concatenate, zip(*found, strict=True)))
    order = np.argsort(every.node)
    return Splits(*(values[order] for values in every))


def _best_of(sample: Sampled, frontier: Frontier, candidates: np.ndarray, gamma: float) -> Splits:
    """Return the best splits in candidates (m, c), for the nodes where there are some; some candidates at a time."""
    together = max(1, NUMBERS_TOGETHER // len(frontier.rows))
    blocks = [candidates[:, k : k + together] for k in range(0, candidates.shape[1], together)]
    parts = [_thresholds(sample, frontier, block, gamma) for block in blocks]
    if len(parts) == 1:
        return parts[0]
    every = Splits(*map(np.concatenate, zip(*parts, strict=True)))
    order = np.argsort(every.node, kind="stable")
    best = order[_least(every.impurity[order], np.unique(every.node, return_counts=True)[1])] if len(order) else order
    return Splits(*(values[best] for values in every))


def _thresholds(sample: Sampled, frontier: Frontier, candidates: np.ndarray, gamma: float) -> Splits:
    """Return the threshold of least impurity, of all of candidates (m, c), for the nodes where there is one.

    A group is a node with one of its candidates; groups of a node follow each other. Numbers of groups are repeated for
    each of their rows, which is far quicker than to look them up.
    """
    m, n_slots = candidates.shape
    column, count = candidates.ravel(), np.repeat(frontier.size, n_slots)
    at = np.repeat(np.arange(m) * frontier.low.shape[1], n_slots) + column
    low, high = frontier.low.take(at), frontier.high.take(at)
    keys, shift = _sorted_keys(sample, frontier, candidates)
    value = sample.values.take(keys + np.repeat(sample.start[column] - shift, count))
    ends = np.cumsum(count)
    threshold = _between(value)
    per_width = np.repeat(1 / np.where(high > low, high - low, 1.0), count)
    left, right = (threshold - np.repeat(low, count)) * per_width, (np.repeat(high, count) - threshold) * per_width
    n_left = np.arange(1.0, len(keys) + 1) - np.repeat(ends - count, count)
    n_right = np.repeat(count, count) - n_left
    with np.errstate(invalid="ignore"):  # a constant column has nothing on its right, and no width
        impurity = split_impurity(n_left, n_right, left, right, gamma)
    impurity[:-1][keys[1:] == keys[:-1]] = np.inf
    impurity[ends - 1] = np.inf  # nothing is right of the last one
    best = _least(impurity, frontier.size * n_slots)
    best = best[np.isfinite(impurity[best])]
    its = np.searchsorted(ends, best, side="right")
    return Splits(
        its // n_slots,
        column[its],
        keys[best] - shift[its],
        threshold[best],
        n_left[best].astype(int),
        left[best],
        right[best],
        impurity[best],
    )


def _sorted_keys(sample: Sampled, frontier: Frontier, candidates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return group·size + rank for all rows in all groups, in order, and group·size for all groups."""
    fits = candidates.size * sample.n_values <= np.iinfo(np.int32).max
    shift = np.arange(candidates.size, dtype=np.int32 if fits else np.int64) * sample.n_values
    at = (candidates * sample.ranks.shape[1]).take(frontier.node, axis=0) + frontier.rows[:, None]
    keys = sample.ranks.take(at) + shift.reshape(candidates.shape).take(frontier.node, axis=0)
    return np.sort(keys, axis=None), shift


def _between(values: np.ndarray) -> np.ndarray:
    """Return the middle of each number and the next; the number itself where there is none between them."""
    right = np.append(values[1:], values[-1])
    middle = 0.5 * (values + right)
    return np.where(middle < right, middle, values)


def _least(values: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return where the least value of each part stands, the first of equals; parts have these sizes."""
    starts = np.cumsum(sizes) - sizes
    where = np.flatnonzero(values == np.repeat(np.minimum.reduceat(values, starts), sizes))
    return where[np.searchsorted(where, starts)]


def _children(sample: Sampled, frontier: Frontier, best: Splits, first: int) -> Frontier:
    """Return the two children of each node that is split, left ones first, at the places from ``first`` on."""
    split = np.zeros(len(frontier.size), bool)
    split[best.node] = True
    parents = frontier if np.all(split) else frontier.part(split)
    m = len(best.node)
    right = sample.ranks[best.column[parents.node], parents.rows] > best.rank[parents.node]
    low, high = (np.repeat(ends, 2, axis=0) for ends in (parents.low, parents.high))
    high[2 * np.arange(m), best.column] = best.threshold
    low[2 * np.arange(m) + 1, best.column] = best.threshold
    count = np.column_stack([best.n_left, parents.size - best.n_left]).ravel()
    return Frontier(parents.rows, 2 * parents.node + right, count, low, high, first + np.arange(2 * m))
