"""Moments of features and targets: update, merge, downdate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.exceptions import DataError
from mercer.linalg import Moments, representer_coef, right_factor


def data(n, seed=0, shift=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)) + shift, rng.normal(size=(n, 2)) - shift, rng.uniform(0.2, 2.0, size=n)


def reference(features, targets, weight):
    rows = np.hstack([features, targets])
    mean = np.average(rows, axis=0, weights=weight)
    return mean, (rows - mean).T @ (weight[:, None] * (rows - mean))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_batches_add_up_to_the_whole(sizes):
    features, targets, weight = data(sum(sizes), shift=100.0)
    moments, parts = Moments(3, 2), []
    for rows in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]):
        moments.update(features[rows], targets[rows], weight[rows])
        parts.append(Moments(3, 2).update(features[rows], targets[rows], weight[rows]))
    mean, scatter = reference(features, targets, weight)
    left = parts[0]
    for part in parts[1:]:
        left = left.merge(part)
    right = parts[-1]
    for part in parts[-2::-1]:
        right = part.merge(right)
    for one in (moments, left, right):
        assert one.n_rows == sum(sizes)
        assert one.total == pytest.approx(weight.sum(), rel=1e-14)
        np.testing.assert_allclose(one.mean, mean, rtol=1e-13)
        np.testing.assert_allclose(one.scatter, scatter, atol=1e-11)


def test_what_was_added_can_be_taken_back():
    features, targets, weight = data(50)
    other = data(20, seed=1)
    moments = Moments(3, 2).update(features, targets, weight)
    before = moments.copy()
    moments.update(*other).downdate(*other)
    assert moments.n_rows == 50
    np.testing.assert_allclose(moments.mean, before.mean, atol=1e-14)
    np.testing.assert_allclose(moments.scatter, before.scatter, atol=1e-12)
    moments.downdate(features, targets, weight)
    assert (moments.n_rows, moments.total) == (0, 0.0)
    assert not moments.scatter.any()
    with pytest.raises(DataError, match="never added"):
        before.downdate(*data(60))


def test_an_offset_costs_no_digits():
    features, targets, weight = data(400)
    moments = Moments(3, 2)
    for rows in np.split(np.arange(400), 8):
        moments.update(features[rows] + 1e6, targets[rows] + 1e6, weight[rows])
    _, scatter = reference(features, targets, weight)
    np.testing.assert_allclose(
        moments.scatter, scatter, rtol=1e-7, atol=1e-6
    )  # sums of squares of 1e14 would have 1e-2


def test_single_precision_adds_up_in_double():
    features, targets, _weight = data(3000)
    moments = Moments(3, 2)
    for rows in np.split(np.arange(3000), 30):
        moments.update(features[rows].astype(np.float32), targets[rows], None)
    _, scatter = reference(features.astype(np.float32).astype(float), targets, np.ones(3000))
    assert moments.scatter.dtype == np.float64
    np.testing.assert_allclose(moments.scatter, scatter, rtol=1e-5, atol=1e-3)


def test_products_about_the_mean_or_not():
    features, targets, weight = data(30, shift=2.0)
    moments = Moments(3, 2).update(features, targets, weight)
    share = weight[:, None] / weight.sum()
    np.testing.assert_allclose(moments.products(False)[0], features.T @ (share * features))
    np.testing.assert_allclose(moments.products(False)[1], features.T @ (share * targets))
    centred = features - moments.feature_mean
    np.testing.assert_allclose(moments.products(True)[0], centred.T @ (share * centred), atol=1e-13)
    with pytest.raises(DataError, match="no rows"):
        Moments(3, 2).products(True)
    with pytest.raises(DataError, match="3 features and 2 targets"):
        moments.update(features[:, :2], targets)


def test_right_factors_are_thin():
    rng = np.random.default_rng(0)
    thin, weights = rng.normal(size=(6, 2)), rng.uniform(0.1, 1, 6)
    factor = right_factor(thin @ thin.T, weights)
    assert factor.shape == (6, 2)
    np.testing.assert_allclose(factor @ factor.T, thin @ thin.T, atol=1e-12)
    inner = factor.T @ (weights[:, None] * factor)
    np.testing.assert_allclose(inner, np.diag(np.diag(inner)), atol=1e-12)
    with pytest.raises(DataError, match="square"):
        right_factor(thin)


@pytest.mark.parametrize("columns", [2, 6, 9])
def test_representer_coefficients_are_the_same_function(columns):
    rng = np.random.default_rng(0)
    factor, weights = rng.normal(size=(6, columns)), rng.uniform(0.1, 1, 6)
    coef = rng.normal(size=(4, 6)) @ factor
    representers = representer_coef(coef, factor, weights)
    np.testing.assert_allclose(representers @ (factor @ factor.T), coef @ factor.T, atol=1e-11)
