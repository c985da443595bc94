"""Bandwidths from data: values and invariances."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from mercer.exceptions import DataError
from mercer.kernels import (
    Gaussian,
    Laplacian,
    Matern,
    RationalQuadratic,
    column_scales,
    median_distance,
)

RULES = ["median", "standardized"]
ROWS = [60, 2500]


def _points(n, d=3):
    return np.random.default_rng(0).normal(size=(n, d)) * np.array([1.0, 5.0, 0.2])[:d]


def _scale(rule, X):
    return median_distance(X) if rule == "median" else column_scales(X)


def test_median_is_that_of_all_distances():
    X = _points(50)
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=1e-14)
    assert median_distance(X, "cityblock") == pytest.approx(np.median(pdist(X, "cityblock")), rel=1e-14)


def test_column_scales_are_deviation_times_median_of_standardised_rows():
    X = _points(50)
    deviations = X.std(axis=0)
    np.testing.assert_allclose(column_scales(X), deviations * np.median(pdist(X / deviations)), rtol=1e-13)


def test_kernels_turn_the_scale_into_their_parameter():
    X = _points(50)
    median, scales = median_distance(X), column_scales(X)
    city = median_distance(X, "cityblock")
    assert Gaussian("median").adapt(X).gamma == pytest.approx(1 / median**2)
    np.testing.assert_allclose(Gaussian("standardized").adapt(X).gamma, 1 / scales**2)
    assert Laplacian("median").adapt(X).gamma == pytest.approx(1 / city)
    np.testing.assert_allclose(Laplacian("standardized").adapt(X).gamma, 1 / column_scales(X, "cityblock"))
    for cls in (Matern, RationalQuadratic):
        assert cls(length_scale="median").adapt(X).length_scale == pytest.approx(median)
        np.testing.assert_allclose(cls(length_scale="standardized").adapt(X).length_scale, scales)


def test_the_rules_agree_on_one_column():
    X = _points(40, 1)
    assert column_scales(X)[0] == pytest.approx(median_distance(X), rel=1e-13)


def test_many_rows_are_thinned_without_bias():
    X = _points(2500)
    assert median_distance(X) == pytest.approx(np.median(pdist(X)), rel=0.03)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("rule", RULES)
def test_order_and_repetition_of_rows_do_not_matter(rule, n):
    X = _points(n)
    rng = np.random.default_rng(1)
    repeated = np.concatenate([X, X[: n // 3], X[:5], X[:5]])
    for other in (rng.permutation(X), rng.permutation(repeated)):
        assert np.array_equal(_scale(rule, X), _scale(rule, other))


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("rule", RULES)
def test_translation_does_not_matter(rule, n):
    X = _points(n)
    np.testing.assert_allclose(_scale(rule, X + 1e6), _scale(rule, X), rtol=1e-7)


@pytest.mark.parametrize("n", ROWS)
@pytest.mark.parametrize("factor", [1e-12, 1e12, 1e-170, 1e170])
@pytest.mark.parametrize("rule", RULES)
def test_scales_with_the_data_however_small_or_large(rule, factor, n):
    X = _points(n)
    np.testing.assert_allclose(_scale(rule, X * factor), _scale(rule, X) * factor, rtol=1e-12)


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern, RationalQuadratic])
@pytest.mark.parametrize("factor", [1e-12, 1e12])
def test_kernel_matrices_survive_tiny_and_huge_units(cls, factor):
    X = _points(30)
    for rule in RULES:
        kernel = cls(**{cls._bandwidth: rule})
        np.testing.assert_allclose(kernel(X * factor), kernel(X), rtol=1e-10)


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern, RationalQuadratic])
def test_units_of_columns_do_not_matter_when_standardized(cls):
    X = _points(40)
    kernel = cls(**{cls._bandwidth: "standardized"})
    units = np.array([1e-12, 3.0, 1e12])
    np.testing.assert_allclose(kernel(X * units), kernel(X), rtol=1e-10)
    plain = cls(**{cls._bandwidth: "median"})
    assert np.max(np.abs(plain(X * units) - plain(X))) > 0.1


@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern, RationalQuadratic])
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e6 + 0.1])
def test_constant_columns_are_ignored(cls, constant):
    X = _points(31)
    wide = np.insert(X, 1, constant, axis=1)
    kernel = cls(**{cls._bandwidth: "standardized"})
    np.testing.assert_allclose(kernel(wide), kernel(X), rtol=1e-12)
    moved = wide.copy()
    moved[:, 1] += 5
    adapted = kernel.adapt(wide)
    np.testing.assert_allclose(adapted(wide, moved), adapted(wide), rtol=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_one_distinct_row_falls_back_to_one(rule):
    X = np.full((5, 2), 3.0)
    assert np.all(_scale(rule, X) == 1.0)
    assert np.all(Gaussian(rule)(X) == 1.0)


def test_zeros_of_either_sign_are_the_same_row():
    assert median_distance(np.array([[0.0], [-0.0]])) == 1.0


def test_float32_and_integers_are_accepted():
    X = _points(30)
    assert median_distance(X.astype(np.float32)) == pytest.approx(median_distance(X), rel=1e-6)
    assert median_distance(np.array([[0], [2]])) == 2.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refuses_what_is_not_finite(bad):
    with pytest.raises(DataError, match="NaN or infinite"):
        Gaussian("median").adapt(np.array([[0.0], [bad]]))
    with pytest.raises(DataError, match="at least one row"):
        Gaussian("median").adapt(np.empty((0, 1)))
