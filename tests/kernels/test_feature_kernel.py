"""Kernels of explicit features: values, thin Gram matrices, and features that are refused."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.base import clone

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import Constant, ExplicitKernel, FeatureKernel, Gaussian, Linear
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


# -- combinations --------------------------------------------------------------------------------------------------

WAVES = FeatureKernel(lambda x: np.hstack([np.sin(x), np.cos(x)]))
POLYNOMIALS = FeatureKernel(features)
FIRST = FeatureKernel(lambda x: np.hstack([x[:, :1] ** k for k in range(3)]))

COMBINATIONS = {
    "sum": (POLYNOMIALS + WAVES, lambda x: np.hstack([features(x), np.sin(x), np.cos(x)])),
    "multiple": (4.0 * WAVES, lambda x: 2 * np.hstack([np.sin(x), np.cos(x)])),
    "restriction": (FIRST.restrict(1), lambda x: x[:, 1:] ** np.arange(3)),
    "last column": (FIRST.restrict([-1]), lambda x: x[:, 1:] ** np.arange(3)),
    "constant": (Constant(9.0), lambda x: np.full((len(x), 1), 3.0)),
    "sum with a number": (WAVES + 4.0, lambda x: np.hstack([np.sin(x), np.cos(x), 2 * x[:, :1] ** 0])),
    "nested": (
        4.0 * (FIRST.restrict(0) + 9.0 * FIRST.restrict(1)) + WAVES,
        lambda x: np.hstack(
            [2 * x[:, :1] ** np.arange(3), 6 * x[:, 1:] ** np.arange(3), np.sin(x), np.cos(x)],
        ),
    ),
}


@pytest.mark.parametrize("name", COMBINATIONS)
def test_combinations_keep_the_features(name):
    kernel, expected = COMBINATIONS[name]
    assert kernel.explicit
    np.testing.assert_allclose(kernel.features(X), expected(X), atol=1e-14)
    np.testing.assert_allclose(kernel(X[:3], X), expected(X[:3]) @ expected(X).T, atol=1e-13)
    gram = kernel.gram(X)
    assert isinstance(gram, LowRank)
    assert gram.factor.shape == expected(X).shape
    check_kernel(kernel, X)


@pytest.mark.parametrize(
    "kernel",
    [WAVES + Gaussian(1.0), Gaussian(1.0) + WAVES, WAVES * POLYNOMIALS, 2.0 * Gaussian(1.0), Linear().restrict(0)],
    ids=["sum", "sum, other order", "product", "multiple", "restriction"],
)
def test_other_combinations_have_no_features(kernel):
    assert not kernel.explicit
    assert not isinstance(kernel.gram(X), LowRank)
    with pytest.raises(UnsupportedError, match="has no features that are known"):
        kernel.features(X)
    check_kernel(kernel, X)


def test_columns_that_are_not_there():
    with pytest.raises(DataError, match=r"columns are \[2\], but the points have 2 columns"):
        FIRST.restrict(2).features(X)


def test_features_with_a_bandwidth_from_the_data():
    @dataclass(eq=False, repr=False)
    class Bumps(ExplicitKernel):
        inner: Gaussian

        def features(self, X):
            return self.inner(X, np.eye(2))

    kernel = Bumps(Gaussian("median")) + 2.0 * Bumps(Gaussian(3.0))
    assert not kernel.adapted
    check_kernel(kernel, X)
    np.testing.assert_allclose(kernel.gram(X).to_dense(), kernel.adapt(X)(X), atol=1e-14)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda self, X: X[:, 0], r"features\(X\) must have shape \(9, D\)"),
        (lambda self, X: 2 * X, r"differs from K\(X\)"),
        (lambda self, X: X * (-1.0) ** len(X), "features of some points depend on others"),
    ],
)
def test_features_that_are_not_those_of_the_kernel_are_found(function, message):
    wrong = type("Wrong", (Linear,), {"explicit": True, "features": function})
    with pytest.raises(AssertionError, match=message):
        check_kernel(wrong(), X)
