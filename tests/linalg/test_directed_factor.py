"""Factors of features times directions: the same as the dense factor, in products, solves and norms."""

import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.linalg import Dense, DirectedFactor, FeatureGram, LowRank, leading_pivots, memory_limit
from mercer.linalg.eigen import congruence, eigh, norm2, solve
from mercer.testing import check_operator

RNG = np.random.default_rng(0)


def example(n=6, q=5, r=4, p=3, terms=2):
    features, directions = RNG.normal(size=(n, q)), RNG.normal(size=(terms, r, p))
    return DirectedFactor(features, RNG.integers(0, q, size=(terms, r)), directions)


@pytest.mark.parametrize("operator", [example(), example(terms=1), example(2, 4, 9, 2)], ids=["two", "one", "wide"])
def test_it_is_its_dense_factor(operator):
    n, p = operator.features.shape[0], operator.directions.shape[2]
    factor = np.zeros((n, p, operator.rank))
    for place, vectors in zip(operator.places, operator.directions, strict=True):
        factor += np.einsum("ir,ra->iar", operator.features[:, place], vectors)
    dense = LowRank(factor.reshape(n * p, -1))
    check_operator(operator, RNG.normal(size=(n * p, 2)))
    for scale in (None, RNG.uniform(1, 2, n * p), np.outer(RNG.uniform(1, 2, n), RNG.uniform(1, 2, p)).ravel()):
        ours, theirs = (one if scale is None else congruence(one, scale) for one in (operator, dense))
        twice = ours if scale is None else congruence(congruence(operator, scale**0.5), scale**0.5)
        assert isinstance(ours, DirectedFactor)
        rhs = RNG.normal(size=(n * p, 2))
        np.testing.assert_allclose(ours @ rhs, theirs @ rhs, atol=1e-10)
        np.testing.assert_allclose(twice @ rhs, theirs @ rhs, atol=1e-10)
        np.testing.assert_allclose(ours.normal(), theirs.factor.T @ theirs.factor, atol=1e-10)
        np.testing.assert_allclose(solve(ours, 0.3, rhs), np.linalg.solve(theirs.to_dense() + 0.3 * np.eye(n * p), rhs))
        np.testing.assert_allclose(norm2(ours), norm2(theirs))
        np.testing.assert_allclose(eigh(ours).values, eigh(theirs).values)
        left, right = RNG.normal(size=(operator.rank, 2)), rhs
        np.testing.assert_allclose(np.sum(ours.forward(left) * right), np.sum(left * ours.backward(right)))


def test_a_wide_factor_is_solved_by_rows():
    wide = LowRank(RNG.normal(size=(3, 50)))
    rhs = RNG.normal(size=(3, 1))
    np.testing.assert_allclose(solve(wide, 0.1, rhs), solve(Dense(wide.to_dense()), 0.1, rhs))
    np.testing.assert_allclose(norm2(wide), np.linalg.norm(wide.factor, 2) ** 2)
    assert FeatureGram(RNG.normal(size=(3, 2, 50))).costs.factorisation <= 12 * 36


def test_bad_shapes_and_too_large_factors_are_refused():
    with pytest.raises(DataError, match="must fit"):
        DirectedFactor(np.ones((3, 2)), np.zeros((1, 4), dtype=int), np.ones((1, 5, 2)))
    operator = example(200, 5, 40, 3)
    with memory_limit(10_000), pytest.raises(UnsupportedError, match="Use fewer features"):
        _ = operator.factor


def test_leading_pivots():
    matrix = np.diag([3.0, 1.0, 2.0, 0.0])
    assert leading_pivots(Dense(matrix), 2).tolist() == [0, 2]
    assert leading_pivots(Dense(matrix), 4).tolist() == [0, 2, 1]
