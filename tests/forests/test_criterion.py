"""The one-class criterion is the Gini impurity of rows against imagined outliers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.forests import parent_impurity, split_impurity

COUNTS = st.integers(0, 1000)
SHARES = st.floats(1e-6, 1 - 1e-6)
GAMMAS = st.floats(0.01, 100.0)


def gini(inliers, outliers):
    """Half of the number of rows times the Gini impurity of two classes."""
    total = inliers + outliers
    return total * (1 - (inliers / total) ** 2 - (outliers / total) ** 2) / 2


@given(COUNTS, COUNTS, SHARES, GAMMAS)
def test_it_is_the_gini_impurity_against_uniform_outliers(n_left, n_right, share, gamma):
    n = n_left + n_right
    if n == 0:
        return
    expected = gini(n_left, gamma * n * share) + gini(n_right, gamma * n * (1 - share))
    assert split_impurity(n_left, n_right, share, 1 - share, gamma) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert parent_impurity(n, gamma) == pytest.approx(gini(n, gamma * n))


@given(COUNTS, COUNTS, SHARES, GAMMAS)
def test_no_split_is_worse_than_none(n_left, n_right, share, gamma):
    n = n_left + n_right
    if n:
        split = split_impurity(n_left, n_right, share, 1 - share, gamma)
        assert split <= parent_impurity(n, gamma) * (1 + 1e-12)


def test_a_split_that_says_nothing_changes_nothing_and_a_perfect_one_leaves_nothing():
    assert split_impurity(30, 70, 0.3, 0.7, 2.0) == pytest.approx(parent_impurity(100, 2.0))
    assert split_impurity(100, 0, 1e-12, 1 - 1e-12, 1.0) == pytest.approx(0, abs=1e-9)


def test_arrays_are_taken_number_by_number():
    left = np.array([1, 5, 9])
    together = split_impurity(left, 10 - left, 0.25, 0.75, 1.0)
    assert together == pytest.approx([split_impurity(k, 10 - k, 0.25, 0.75, 1.0) for k in left])
