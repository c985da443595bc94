"""Columns by name, and columns of tables that lie in several columns of an array."""

import numpy as np
import pandas as pd
import pytest

from mercer.exceptions import DataError, MercerError
from mercer.kernels import ColumnLayout, Gaussian, Linear, Restricted
from mercer.operator_valued import Decomposable

LAYOUT = ColumnLayout(("age", "town", "income"), (1, 3, 2))
PLAIN = ColumnLayout(("age", "town", "income"), (1, 1, 1))


@pytest.mark.parametrize("names", ["town", ["town"], ("town",), np.array(["town"]), pd.Index(["town"])])
def test_a_name_is_all_of_its_columns(names):
    assert Linear().restrict(names).locate(LAYOUT) == Linear().restrict([1, 2, 3])
    assert Linear().restrict(names).locate(PLAIN) == Linear().restrict([1])


def test_numbers_are_those_of_the_table():
    assert Linear().restrict([0, -1]).locate(LAYOUT) == Linear().restrict([0, 4, 5])
    for columns in (1, -1, [2, 0]):  # where the array is the table, they stay as they are
        assert Linear().restrict(columns).locate(PLAIN) == Linear().restrict(columns)


def test_names_are_found_in_every_part():
    kernel = 2.0 * Gaussian(1.0).restrict("age") + Linear().restrict(["income", "town"]) * Linear()
    expected = 2.0 * Gaussian(1.0).restrict([0]) + Linear().restrict([4, 5, 1, 2, 3]) * Linear()
    assert kernel.locate(LAYOUT) == expected
    whole = Decomposable(kernel, Gaussian(5.0).restrict(0))
    assert whole.locate(LAYOUT) == Decomposable(expected, Gaussian(5.0).restrict(0))


def test_restrictions_of_restrictions_count_what_is_left():
    nested = Restricted(Linear().restrict("town"), ["income", "town"])
    assert nested.locate(LAYOUT) == Restricted(Linear().restrict([2, 3, 4]), [4, 5, 1, 2, 3])
    by_number = Restricted(Linear().restrict(1), [2, 1])
    assert by_number.locate(LAYOUT) == nested.locate(LAYOUT)
    X = np.random.default_rng(0).normal(size=(5, 6))
    np.testing.assert_allclose(nested.locate(LAYOUT)(X), Linear()(X[:, 1:4]))


def test_what_is_refused():
    with pytest.raises(DataError, match="no column 'size'; it has 'age', 'town', 'income'"):
        Linear().restrict("size").locate(LAYOUT)
    with pytest.raises(DataError, match="those of X have no names"):
        Linear().restrict("age").locate(ColumnLayout(None, (1, 1)))
    with pytest.raises(DataError, match=r"columns are \[3\], but the points have 3 columns"):
        Linear().restrict(3).locate(LAYOUT)
    with pytest.raises(DataError, match="no value in the training rows"):
        Linear().restrict("a").locate(ColumnLayout(("a", "b"), (0, 2)))
    with pytest.raises(DataError, match=r"given by name, \['age'\]"):
        Linear().restrict("age")(np.ones((2, 2)))
    with pytest.raises(MercerError, match="distinct integers or names"):
        Linear().restrict(["age", "age"])
