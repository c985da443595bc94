"""Pivoted Cholesky: the trace tolerance, the rank, and how little of the matrix is looked at."""

import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import Dense, memory_limit, pivoted_cholesky, pivoted_factor
from mercer.linalg.pivoted_cholesky import estimated_rank

strict = pytest.importorskip("array_api_strict")


class Spy:
    """A matrix of which only the diagonal and columns can be seen, and columns are counted."""

    def __init__(self, matrix):
        self.matrix, self.seen = matrix, []

    def diagonal(self):
        return np.diag(self.matrix)

    def column(self, index):
        self.seen.append(index)
        return self.matrix[:, index]

    def columns(self):
        return self.column


def low_rank(n, r, seed=0):
    factor = np.random.default_rng(seed).normal(size=(n, r))
    return factor @ factor.T


@pytest.mark.parametrize("tolerance", [10.0, 1.0, 1e-2, 1e-6, 1e-10])
def test_the_trace_of_what_is_left_out_is_within_the_tolerance(tolerance):
    matrix = Gaussian(30.0)(np.random.default_rng(0).random((90, 1)))
    spy = Spy(matrix)
    factor = pivoted_cholesky(spy, tolerance)
    left_out = matrix - factor @ factor.T
    assert np.trace(left_out) <= tolerance + 1e-13
    assert np.linalg.norm(left_out, 2) <= tolerance + 1e-13
    assert np.linalg.eigvalsh(left_out)[0] >= -1e-13
    assert len(spy.seen) == factor.shape[1] == len(set(spy.seen))
    one_less = factor[:, :-1]
    assert np.trace(matrix - one_less @ one_less.T) > tolerance  # no more columns than needed


@pytest.mark.parametrize("rank", [1, 3, 70, 100])
def test_the_rank_is_found(rank):
    matrix = low_rank(100, rank)
    factor = pivoted_cholesky(Spy(matrix), 1e-9)
    assert factor.shape == (100, rank)
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-9)


def test_it_gives_up_at_the_maximal_rank():
    matrix = low_rank(60, 10)
    spy = Spy(matrix)
    assert pivoted_cholesky(spy, 1e-9, max_rank=9) is None
    assert len(spy.seen) == 9
    assert pivoted_cholesky(Spy(matrix), 1e-9, max_rank=10).shape == (60, 10)
    assert pivoted_cholesky(Spy(matrix), 1e-9, max_rank=0) is None


def test_the_kernel_matrix_is_never_formed():
    calls = []

    class Counting(Gaussian):
        def _profile(self, squares, order):
            calls.append(squares.shape)
            return super()._profile(squares, order)

    gram = Counting(5.0).gram(np.random.default_rng(1).random((3000, 1)))
    factor = pivoted_cholesky(gram, 1e-4)
    assert factor.shape[1] < 30
    assert calls.count((3000, 1)) == factor.shape[1]
    assert max(n * m for n, m in calls) < 3000 * 1000


def test_zero_matrices_and_single_precision():
    assert pivoted_cholesky(Dense(np.zeros((3, 3))), 0.0).shape == (3, 0)
    matrix = low_rank(20, 4).astype(np.float32)
    factor = pivoted_cholesky(Dense(matrix), 1e-2)
    assert factor.dtype == np.float32
    np.testing.assert_allclose(factor @ factor.T, matrix, atol=1e-2)


@pytest.mark.parametrize(
    "matrix",
    [np.diag([1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), np.kron(np.eye(30), [[1.0, 1.1], [1.1, 1.0]])],
)
def test_an_indefinite_matrix_is_refused(matrix):
    with pytest.raises(DataError, match="positive semi-definite"):
        pivoted_cholesky(Dense(matrix), 1e-8)


def test_the_matrix_is_not_written_on():
    matrix = low_rank(8, 3)
    kept = matrix.copy()
    pivoted_cholesky(Dense(matrix), 1e-9)
    np.testing.assert_array_equal(matrix, kept)


def test_other_arrays_are_refused_with_a_remedy():
    with pytest.raises(UnsupportedError, match=r"pivoted_cholesky works on NumPy arrays only.*eigendecomposition"):
        pivoted_cholesky(Dense(strict.eye(3)), 1e-8)


def test_pivots_are_the_rows_at_which_the_factor_is_triangular():
    matrix = Gaussian(30.0)(np.random.default_rng(0).random((90, 1)))
    factor, pivots = pivoted_factor(Dense(matrix), 1e-10)
    np.testing.assert_allclose(np.triu(factor[pivots], 1), 0, atol=1e-7)
    np.testing.assert_allclose(factor[pivots] @ factor.T, matrix[pivots], atol=1e-9)


@pytest.mark.parametrize("columns", [3, 6, 10])
def test_the_guess_of_the_rank_is_of_the_right_size_and_optimistic(columns):
    gram = Gaussian(1 / (2 * columns)).gram(np.random.default_rng(0).normal(size=(1500, columns)))
    for share in (1e-2, 1e-4):
        rank = pivoted_cholesky(gram, share * 1500).shape[1]
        assert 0.2 * rank <= min(estimated_rank(gram, share * 1500), 1500) <= 1.5 * rank


def test_few_columns_show_that_the_rank_is_too_large():
    spy = Spy(Gaussian(0.1)(np.random.default_rng(0).normal(size=(1000, 10))))
    assert pivoted_cholesky(spy, 1e-7, max_rank=250) is None
    assert len(spy.seen) == 64


def test_the_factor_fits_into_the_memory_budget():
    matrix = low_rank(100, 50)
    with memory_limit(8 * 4 * 100 * 49):
        assert pivoted_cholesky(Dense(matrix), 1e-9, max_rank=100) is None
    with memory_limit(8 * 4 * 100 * 50):
        assert pivoted_cholesky(Dense(matrix), 1e-9, max_rank=100).shape == (100, 50)
