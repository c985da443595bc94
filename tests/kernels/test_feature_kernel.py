"""Kernels of explicit features: values, thin Gram matrices, and features that are refused."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import FeatureKernel, Gaussian, Linear
from mercer.linalg import LowRank
from mercer.testing import check_kernel

X = np.random.default_rng(0).uniform(size=(9, 2))


def features(x):
    return np.hstack([x**0, x, x[:, :1] * x[:, 1:]])


def test_it_is_the_inner_product_of_its_features():
    kernel = FeatureKernel(features)
    check_kernel(kernel, X)
    check_kernel(2.0 * kernel + Linear(), X)
    np.testing.assert_allclose(kernel(X[:3], X), features(X[:3]) @ features(X).T, atol=1e-14)
    assert kernel.explicit
    assert clone(kernel) == kernel
    assert repr(kernel) == "FeatureKernel(function=features)"


def test_its_gram_matrix_is_a_thin_factor():
    gram = FeatureKernel(features).gram(X)
    assert isinstance(gram, LowRank)
    assert gram.factor.shape == (9, 5)
    np.testing.assert_allclose(gram.to_dense(), FeatureKernel(features)(X), atol=1e-14)


def test_kernels_without_known_features_say_so():
    assert not Gaussian(1.0).explicit
    with pytest.raises(UnsupportedError, match=r"Gaussian\(gamma=1\) has no features .*FeatureKernel"):
        Gaussian(1.0).features(X)


@pytest.mark.parametrize("function", ["sin", None, Gaussian(1.0), np.float64, 3.0])
def test_what_is_no_function_is_refused(function):
    with pytest.raises(
        (ParameterError, ParameterTypeError), match="FeatureKernel: function must be a function of points"
    ):
        FeatureKernel(function)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x[:, 0], r"row of features for each row of X, shape \(9, D\); got \(9,\)"),
        (lambda x: x.T, r"got \(2, 9\)"),
        (lambda x: x[:, :0], r"got \(9, 0\)"),
        (lambda x: x * np.nan, "NaN or infinite"),
        (lambda x: "no", "no array of numbers"),
        (lambda x: x @ x, "failed"),
    ],
)
def test_features_that_do_not_fit_are_refused(function, message):
    with pytest.raises(DataError, match=message):
        FeatureKernel(function).features(X)


def test_other_array_libraries():
    xp = pytest.importorskip("array_api_strict")
    kernel = FeatureKernel(lambda x: xp.concat([x, x**2], axis=1))
    values = kernel(xp.asarray(X))
    assert type(values) is type(xp.asarray(X))
    np.testing.assert_allclose(np.from_dlpack(values), X @ X.T + X**2 @ (X**2).T, atol=1e-14)
