"""The best few of many scores, by brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.estimators.ranking import best_first, score_blocks


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 400), st.integers(1, 12), st.sampled_from([2, 5, 1e9]))
def test_the_best_few_in_their_order(seed, n, m, k, levels):
    scores = np.random.default_rng(seed).integers(-levels, levels, size=(n, m)).astype(float)  # ties, or hardly any
    k = min(k, m)
    np.testing.assert_array_equal(best_first(scores, k), np.argsort(-scores, axis=1, kind="stable")[:, :k])


def test_sorted_and_constant_scores():
    for scores in (np.arange(300.0)[None], -np.arange(300.0)[None], np.zeros((2, 300))):
        np.testing.assert_array_equal(best_first(scores, 7), np.argsort(-scores, axis=1, kind="stable")[:, :7])


def test_blocks_of_scores(monkeypatch):
    rng = np.random.default_rng(0)
    h, coordinates = rng.normal(size=(11, 3)), rng.normal(size=(20, 3))
    sizes = np.sum(coordinates**2, axis=1)
    monkeypatch.setattr("mercer.estimators.ranking.RANKED_ROWS", 4)
    for penalty in (0.0, 0.5):
        found = np.empty((11, 20))
        for rows, scores in score_blocks(h, coordinates, sizes, penalty):
            found[rows] = scores
        np.testing.assert_allclose(found, h @ coordinates.T - penalty * sizes)
