"""What a forest says of new rows, against walks through its trees."""

import numpy as np
import pytest

from mercer.forests import Trees, average_path_length, grow, ranked, trees

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
LIMITS = {"n_candidates": 2, "max_depth": 6, "gamma": 1.0}
FOREST = Trees.of(
    [grow(ranked(X), RNG.choice(200, 80, replace=False), np.arange(3), rng=RNG, **LIMITS) for _ in range(7)]
)
NEW = 2 * RNG.normal(size=(50, 3))


def walk(x, root):
    """Return the leaf of one row, one split at a time."""
    node = root
    while FOREST.child[node] != node:
        node = FOREST.child[node] + (x[FOREST.column[node]] > FOREST.threshold[node])
    return node


@pytest.mark.parametrize("together", [7, 4096])
def test_means_over_leaves(together, monkeypatch):
    monkeypatch.setattr(trees, "ROWS_TOGETHER", together)
    leaves = np.array([[walk(x, root) for root in FOREST.roots] for x in NEW])
    assert np.array_equal(np.array(list(FOREST.leaves(NEW))).T, leaves)
    values = RNG.normal(size=len(FOREST.size))
    assert FOREST.mean(values, NEW) == pytest.approx(values[leaves].mean(axis=1))
    assert FOREST.log_mean(values, NEW, 2) == pytest.approx(np.log(np.exp(values[leaves]).mean(axis=1)))


def test_all_rows_of_a_tree_are_in_its_leaves():
    tree = grow(ranked(X), np.arange(200), np.arange(3), rng=np.random.default_rng(1), **LIMITS)
    alone = Trees.of([tree])
    leaf = next(alone.leaves(X))
    assert np.array_equal(
        np.bincount(leaf, minlength=len(alone.size)), np.where(tree.threshold < np.inf, 0, alone.size)
    )


def test_average_path_length_against_its_sums():
    n = np.arange(1, 13)
    harmonic = np.array([sum(1 / k for k in range(1, m)) for m in n])
    assert average_path_length(n) == pytest.approx(2 * harmonic - 2 * (n - 1) / n, abs=1e-12)


def test_importances_are_shares_of_the_decrease():
    by_hand = np.array([FOREST.decrease[FOREST.column == k].sum() for k in range(3)])
    assert FOREST.importances(3) == pytest.approx(by_hand / by_hand.sum())
    flat = Trees.of([grow(ranked(np.ones((4, 2))), np.arange(4), np.arange(2), rng=RNG, **LIMITS)])
    assert np.array_equal(flat.importances(2), [0, 0])


def test_a_state_gives_the_same_forest():
    again = Trees.from_state(FOREST.state())
    assert np.array_equal(again.mean(again.path_lengths(), NEW), FOREST.mean(FOREST.path_lengths(), NEW))
