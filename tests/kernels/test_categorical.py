"""The categorical kernel: what it is on codes, on text, and on categories that lie in several columns."""

import array_api_strict as strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.exceptions import DataError
from mercer.kernels import Categorical, ColumnLayout, Gaussian, as_kernel
from mercer.testing import check_kernel

CODES = np.random.default_rng(0).integers(0, 3, size=(25, 3)).astype(float)
TEXT = np.array(["red", "green", "blue"])[CODES.astype(int)]


def by_definition(X, Z, similarity):
    return np.prod(np.where(X[:, None, :] == Z[None, :, :], 1.0, similarity), axis=2)


@pytest.mark.parametrize("similarity", [0.0, 0.3, 0.99])
def test_values_are_products_over_columns(similarity):
    kernel = Categorical(similarity)
    np.testing.assert_allclose(kernel(CODES, CODES[:7]), by_definition(CODES, CODES[:7], similarity), rtol=1e-14)
    np.testing.assert_allclose(kernel(CODES), by_definition(CODES, CODES, similarity), rtol=1e-14)
    check_kernel(kernel, CODES)


@settings(max_examples=25, derandomize=True, deadline=None)
@given(
    similarity=st.floats(0, 0.999),
    n=st.integers(1, 12),
    columns=st.integers(1, 4),
    seed=st.integers(0, 1000),
)
def test_matrices_are_positive(similarity, n, columns, seed):
    rows = np.random.default_rng(seed).integers(0, 3, size=(n, columns))
    values = np.linalg.eigvalsh(Categorical(similarity)(rows))
    assert values.min() >= -1e-12 * values.max()


@pytest.mark.parametrize("convert", [np.asarray, lambda text: text.astype(object), lambda text: text.tolist()])
def test_text_is_compared_as_text(convert):
    kernel = Categorical(0.3)
    rows, others = convert(TEXT), convert(TEXT[:6])
    np.testing.assert_array_equal(kernel(rows), kernel(CODES))
    np.testing.assert_array_equal(kernel(rows, others), kernel(CODES, CODES[:6]))
    np.testing.assert_array_equal(kernel.diagonal(rows), np.ones(25))
    np.testing.assert_array_equal(kernel.gram(rows).to_dense(), kernel(CODES))
    np.testing.assert_array_equal(kernel.gram_columns(rows)(4), kernel(CODES)[:, 4])
    assert kernel.adapt(rows) == kernel


def test_missing_cells_are_a_category():
    rows = np.array([["a", None], ["a", 1], ["b", None]], dtype=object)
    np.testing.assert_array_equal(Categorical(0.5)(rows), [[1, 0.5, 0.5], [0.5, 1, 0.25], [0.5, 0.25, 1]])


def test_indicators_of_a_column_count_once():
    indicators = np.concatenate([np.eye(3)[CODES[:, k].astype(int)] for k in range(3)], axis=1)
    kernel = Categorical(0.3).locate(ColumnLayout(None, (3, 3, 3)))
    assert kernel == Categorical(0.3, widths=[3, 3, 3])
    np.testing.assert_allclose(kernel(indicators), Categorical(0.3)(CODES), rtol=1e-14)
    never_seen = np.zeros((1, 9))
    np.testing.assert_allclose(kernel(never_seen, indicators), 0.3**3)
    assert kernel.locate(ColumnLayout(None, (9,))) == kernel  # what was said stays
    assert Categorical(0.3).locate(ColumnLayout(("a", "b"), (1, 1))) == Categorical(0.3)
    with pytest.raises(DataError, match=r"widths=\[3, 3, 3\] are those of 9 columns, but the points have 3"):
        kernel(CODES)


def test_the_name_and_other_arrays():
    assert as_kernel("categorical") == Categorical()
    np.testing.assert_array_equal(
        np.asarray(Categorical(0.25)(strict.asarray(CODES), strict.asarray(CODES[:5]))),
        Categorical(0.25)(CODES, CODES[:5]),
    )
    product = Gaussian(1.0).restrict(0) * Categorical(0.5).restrict([1, 2])
    np.testing.assert_allclose(product(CODES), Gaussian(1.0)(CODES[:, :1]) * Categorical(0.5)(CODES[:, 1:]))
