"""Tables of scored candidates, and the choice among them."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

from mercer.model_selection.choice import best_candidate, most_regular_candidate, tabulate

NAN = np.nan


def test_the_table_has_a_row_for_each_candidate():
    scores, gaps = np.array([[1.0, 3.0], [5.0, 5.0], [NAN, 9.0]]), np.array([[0.1, 0.2], [0.3, 0.1], [0.0, 0.0]])
    table = tabulate([{"alpha": a, "kernel": k} for a, k in [(1.0, "x"), (2.0, "y"), (3.0, "z")]], scores, gaps)
    assert list(table["param_alpha"]) == [1.0, 2.0, 3.0]
    assert list(table["param_kernel"]) == ["x", "y", "z"]
    np.testing.assert_array_equal(table["split1_test_score"], [3, 5, 9])
    np.testing.assert_array_equal(table["mean_test_score"], [2, 5, NAN])
    np.testing.assert_array_equal(table["std_test_score"], [1, 0, NAN])
    np.testing.assert_array_equal(table["rank_test_score"], [2, 1, 3])
    np.testing.assert_array_equal(table["split0_relative_gap"], [0.1, 0.3, 0.0])
    np.testing.assert_array_equal(table["max_relative_gap"], [0.2, 0.3, 0.0])


def test_the_best_is_the_first_of_the_largest_means():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert best_candidate(np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 2.0]]), "me") == 1


def test_what_failed_on_one_fold_is_out():
    with pytest.warns(FitFailedWarning, match="me: 1 of 2 candidates"):
        assert best_candidate(np.array([[9.0, NAN], [1.0, 1.0]]), "me") == 1
    with pytest.raises(ValueError, match="me: no candidate"):
        best_candidate(np.full((2, 2), NAN), "me")


@pytest.mark.parametrize(("second", "expected"), [(3.4, 0), (3.5, 1)])
def test_one_standard_error_of_the_best_row(second, expected):
    """The best row has mean 4 and standard deviation 1 over four folds, that is a standard error of 0.5."""
    best = 4 + np.sqrt(3) / 2 * np.array([1.0, -1.0, 1.0, -1.0])
    scores = np.array([best, np.full(4, second), np.full(4, 3.0)])
    assert most_regular_candidate(scores, [(1.0, 0), (2.0, 0), (3.0, 0)], "me") == expected


def test_ties_go_to_the_larger_second_entry():
    assert most_regular_candidate(np.ones((3, 2)), [(1.0, 0), (2.0, 1), (2.0, 0)], "me") == 1


def test_one_fold_has_no_standard_error():
    assert most_regular_candidate(np.array([[2.0], [1.9]]), [(1.0, 0), (2.0, 0)], "me") == 0
