"""What a Gram operator does to one column, where it does the same to all."""

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import PSD, Dense, FlatGram, Kronecker, scaled

RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 2))
S, W = RNG.uniform(0.5, 2.0, size=7), RNG.uniform(0.1, 0.6, size=3)
A = RNG.normal(size=(7, 3))


@pytest.mark.parametrize("rows", [None, S])
@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("factor", [1.0, 0.3])
def test_a_product_whose_columns_are_alike(rows, stored, factor):
    gram = Kronecker(Gaussian(0.5).gram(X), Dense(np.diag(factor / W), PSD)).weighted(rows, W)
    gram = gram.stored() if stored else gram
    assert gram.columns_alike
    operator = gram.column_operator()
    assert operator.shape == (7, 7)
    assert np.allclose(operator @ (A if rows is None else rows[:, None] * A), gram @ A, atol=1e-13)
    assert np.allclose(operator.to_dense(), factor * Gaussian(0.5)(X), atol=1e-14)


def test_a_matrix_on_the_entries_of_one_column():
    gram = FlatGram(Dense(Gaussian(0.5)(X), PSD), (7, 1)).weighted(S, W[:1])
    assert np.allclose(gram.column_operator() @ (S[:, None] * A[:, :1]), gram @ A[:, :1])


def test_what_mixes_columns_says_so():
    mixed = Kronecker(Dense(np.eye(7)), Dense(np.ones((3, 3)))).weighted(S, W)
    unequal = Kronecker(Dense(np.eye(7)), Dense(np.eye(3))).weighted(S, W)
    flat = FlatGram(Dense(np.eye(21)), (7, 3))
    for gram in (mixed, unequal, flat):
        assert not gram.columns_alike
        with pytest.raises(UnsupportedError, match="mixes the columns"):
            gram.column_operator()


def test_a_multiple_of_an_operator():
    operator = Gaussian(0.5).gram(X)
    assert scaled(operator, 1.0) is operator
    assert np.allclose(scaled(operator, 2.5) @ A, 2.5 * (operator @ A))
