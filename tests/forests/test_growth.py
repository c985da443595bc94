"""Trees against a slow reference that looks at one node, one column and one threshold at a time."""

from itertools import pairwise

import numpy as np
import pytest

from mercer.forests import grow, growth, ranked

GAMMA = 0.7


def best_split(X, rows, low, high, columns, gamma):
    """Return (impurity, column, threshold) of least impurity by trying all, None where all values are equal."""
    best = None
    for j in columns:
        values = sorted({X[i, j] for i in rows})
        for a, b in pairwise(values):
            threshold = (a + b) / 2
            n_left = sum(X[i, j] <= threshold for i in rows)
            n_right, n = len(rows) - n_left, len(rows)
            left = (threshold - low[j]) / (high[j] - low[j])
            outliers = gamma * n * left, gamma * n * (1 - left)
            impurity = sum(m * o / (m + o) for m, o in zip((n_left, n_right), outliers, strict=True))
            if best is None or impurity < best[0] - 1e-12 * n:
                best = impurity, j, threshold
    return best


def reference(X, rows, columns, max_depth, gamma):
    """Return nodes by levels: (rows, depth, low, high, the best split or None)."""
    level, nodes = [(list(rows), X.min(axis=0), X.max(axis=0))], []
    for depth in range(max_depth + 1):
        following = []
        for inside, low, high in level:
            split = best_split(X, inside, low, high, columns, gamma) if depth < max_depth else None
            nodes.append((inside, depth, low, high, split))
            if split is not None:
                _, j, threshold = split
                ends = high.copy(), low.copy()
                ends[0][j] = ends[1][j] = threshold
                following.append(([i for i in inside if X[i, j] <= threshold], low, ends[0]))
                following.append(([i for i in inside if X[i, j] > threshold], ends[1], high))
        level = following
    return nodes


def make(kind, n=90, d=3):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, d)) * [1.0, 10.0, 0.5][:d]
    return np.round(X * 2) if kind == "ties" else X


@pytest.mark.parametrize("kind", ["numbers", "ties"])
@pytest.mark.parametrize("together", [1, 100, 16384])
def test_a_tree_is_the_one_of_the_definition(kind, together, monkeypatch):
    monkeypatch.setattr(growth, "NUMBERS_TOGETHER", together)
    X = make(kind)
    rows = np.random.default_rng(0).choice(len(X), 60, replace=False)
    columns = np.array([0, 2]) if kind == "numbers" else np.arange(3)
    tree = grow(ranked(X), rows, columns, n_candidates=3, max_depth=5, gamma=GAMMA, rng=np.random.default_rng(0))
    nodes = reference(X, rows, columns, 5, GAMMA)
    box = X.max(axis=0) - X.min(axis=0)
    assert len(tree.size) == len(nodes) > 10
    following = 1
    for k, (inside, depth, low, high, split) in enumerate(nodes):
        assert tree.size[k] == len(inside)
        assert tree.depth[k] == depth
        assert tree.volume[k] == pytest.approx(np.sum(np.log((high - low) / box)), abs=1e-9)
        if split is None:
            assert (tree.child[k], tree.threshold[k], tree.decrease[k]) == (k, np.inf, 0)
            continue
        impurity, column, threshold = split
        assert (tree.column[k], tree.child[k]) == (column, following)
        assert tree.threshold[k] == pytest.approx(threshold, rel=1e-12)
        before = len(inside) * GAMMA / (1 + GAMMA)
        assert tree.decrease[k] == pytest.approx(before - impurity, abs=1e-9)
        following += 2


def test_masses_and_volumes_of_the_children_are_those_of_the_parent():
    X = np.random.default_rng(1).normal(size=(500, 4))
    tree = grow(
        ranked(X), np.arange(500), np.arange(4), n_candidates=2, max_depth=9, gamma=1.0, rng=np.random.default_rng(2)
    )
    inner = np.flatnonzero(tree.child != np.arange(len(tree.child)))
    left = tree.child[inner]
    assert np.array_equal(tree.size[inner], tree.size[left] + tree.size[left + 1])
    assert np.exp(tree.volume[inner]) == pytest.approx(np.exp(tree.volume[left]) + np.exp(tree.volume[left + 1]))
    leaves = np.setdiff1d(np.arange(len(tree.child)), inner)
    assert tree.size[leaves].sum() == 500
    assert np.exp(tree.volume[leaves]).sum() == pytest.approx(1)
    assert np.all(tree.size > 0)
    assert np.all(tree.decrease >= -1e-9)
    assert tree.depth.max() == 9


def test_constant_candidates_are_replaced_by_others():
    X = np.ones((50, 6))
    X[:, 4] = np.arange(50.0)
    tree = grow(
        ranked(X), np.arange(50), np.arange(6), n_candidates=1, max_depth=3, gamma=1.0, rng=np.random.default_rng(0)
    )
    assert len(tree.size) > 3
    assert set(tree.column[tree.threshold < np.inf]) == {4}


def test_rows_that_are_all_alike_are_one_leaf():
    X = np.ones((5, 2))
    tree = grow(
        ranked(X), np.arange(5), np.arange(2), n_candidates=2, max_depth=3, gamma=1.0, rng=np.random.default_rng(0)
    )
    assert list(tree.size) == [5]
    assert list(tree.volume) == [0.0]


def test_neighbouring_numbers_are_parted():
    a = 1.0
    b = np.nextafter(a, 2)
    X = np.array([[a], [b], [b]])
    tree = grow(
        ranked(X), np.arange(3), np.arange(1), n_candidates=1, max_depth=3, gamma=1.0, rng=np.random.default_rng(0)
    )
    assert list(tree.size) == [3, 1, 2]
    assert tree.threshold[0] == a
    assert np.all(np.isfinite(tree.volume))
