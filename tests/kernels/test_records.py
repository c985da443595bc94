"""Parameters, operators, names and error messages."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.exceptions import DataError, MercerError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.kernels import (
    Categorical,
    Constant,
    ExponentiatedChiSquared,
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    Product,
    RationalQuadratic,
    Restricted,
    Scaled,
    Sum,
    as_kernel,
)

X = np.array([[0.0, 1.0], [0.5, 2.0], [2.0, 0.5]])
T = np.array([[0.0], [0.5]])


def test_operators_build_the_records():
    a, b = Gaussian(1.0), Linear()
    assert a + b == Sum(a, b)
    assert a * b == Product(a, b)
    assert 2.0 * a == a * 2.0 == Scaled(2.0, a)
    assert np.float64(2.0) * a == Scaled(np.float64(2.0), a)
    assert a + 2.0 == Sum(a, Constant(2.0))
    assert 2.0 + a == Sum(Constant(2.0), a)
    assert sum([a, b]) == Sum(a, b)
    assert a.restrict([0]) == Restricted(a, [0])
    assert a + b != b + a


def test_algebra_of_unlike_kernels():
    a, b = Gaussian(1.3), Polynomial(2, 0.5, 1.0)
    np.testing.assert_allclose((a + 3.0 * b)(X), a(X) + 3 * b(X))
    np.testing.assert_allclose((a * (b + 1.0))(X), a(X) * (b(X) + 1))
    np.testing.assert_allclose(a.restrict([1])(X), a(X[:, 1:]))
    np.testing.assert_allclose(a.restrict(-1)(X, X[:2]), a(X[:, 1:], X[:2, 1:]))


def test_adapt_reaches_every_leaf_on_the_columns_it_sees():
    kernel = 2.0 * Gaussian("median").restrict([1]) + Laplacian("standardized") * Matern(length_scale="median")
    adapted = kernel.adapt(X)
    assert not kernel.adapted
    assert adapted.adapted
    assert kernel.left.kernel.kernel.gamma == "median"
    assert adapted.left.kernel.kernel == Gaussian("median").adapt(X[:, 1:])
    assert adapted.right.left == Laplacian("standardized").adapt(X)
    assert adapted.right.right.length_scale == Matern().adapt(X).length_scale


def test_nested_parameters_are_tunable():
    kernel = clone(2.0 * Gaussian(1.0) + Linear())
    kernel.set_params(left__kernel__gamma=5.0, left__scale=3.0)
    assert kernel == 3.0 * Gaussian(5.0) + Linear()
    with pytest.raises(ParameterError, match="gamma must be a positive number"):
        kernel.set_params(left__kernel__gamma=-5.0)


@pytest.mark.parametrize(
    "make",
    [
        *[lambda v=v: Gaussian(v) for v in (0, -1.0, np.nan, np.inf, "mean", [1.0, -1.0], [], [[1.0]], True, None)],
        lambda: Gaussian([1.0, np.inf]),
        lambda: Gaussian([1.0, np.nan]),
        lambda: Laplacian(-1),
        lambda: Matern(nu=2.0),
        lambda: Matern(nu="1.5"),
        lambda: Matern(length_scale=0.0),
        lambda: Matern(length_scale=np.inf),
        lambda: Matern(length_scale=[1.0, 0.0]),
        lambda: RationalQuadratic(shape=0.0),
        lambda: RationalQuadratic(length_scale="auto"),
        lambda: Periodic(period=0.0),
        lambda: Periodic(period=np.inf),
        lambda: Periodic(length_scale="median"),
        lambda: Polynomial(degree=1.5),
        lambda: Polynomial(degree=0),
        lambda: Polynomial(gamma=0.0),
        lambda: Polynomial(constant=-1.0),
        lambda: Constant(0.0),
        lambda: ExponentiatedChiSquared(-1.0),
        lambda: ExponentiatedChiSquared("median"),
        lambda: Linear().restrict([0, "age"]),
        lambda: Linear().restrict(["age", "age"]),
        lambda: Linear().restrict([["age"]]),
        lambda: Categorical(1.0),
        lambda: Categorical(-0.1),
        lambda: Categorical("0.5"),
        lambda: Categorical(0.5, [1.5]),
        lambda: Categorical(0.5, []),
        lambda: Linear().restrict([0, 0]),
        lambda: Linear().restrict([True, False]),
        lambda: Linear().restrict([]),
        lambda: Precomputed().restrict([0]),
        lambda: -1.0 * Linear(),
        lambda: Linear() + 0.0,
        lambda: Sum(Linear(), "gaussian"),
        lambda: Scaled(1.0, Linear),
        lambda: FunctionKernel(3),
        lambda: FunctionKernel(Linear()),
    ],
)
def test_bad_parameters_are_refused_by_name(make):
    with pytest.raises(MercerError, match=r"^\w+: \w+ must be .*; got "):
        make()


def test_operators_with_foreign_objects_are_type_errors():
    for operate in (lambda: Linear() + "x", lambda: [1.0] * Linear(), lambda: Linear() * None):
        with pytest.raises(TypeError):
            operate()


def test_unresolved_bandwidth_with_two_sets_of_points():
    with pytest.raises(ParameterError, match=r"gamma='median' depends on the data.*kernel\.adapt\(X\)"):
        Gaussian("median")(X, X[:1])
    with pytest.raises(ParameterError, match=r"left__kernel__length_scale='standardized'"):
        (2.0 * Matern(length_scale="standardized") + Linear())(X, X)
    with pytest.raises(ParameterError, match=r"kernel\.adapt\(X\)"):
        Gaussian("median").derivative(T, T, (1, 0))
    assert Gaussian("median").derivative(T, None, (1, 0)).shape == (2, 2)


def test_points_of_the_wrong_shape():
    with pytest.raises(DataError, match=r"gamma has 3 values, one per column, but the points have 2 columns"):
        Gaussian([1.0, 1.0, 1.0])(X)
    with pytest.raises(DataError, match=r"length_scale has 1 values"):
        Matern(length_scale=[1.0])(X)
    with pytest.raises(DataError, match="as many columns; got 2 and 1"):
        Linear()(X, T)
    with pytest.raises(DataError, match=r"X\.reshape\(-1, 1\)"):
        Gaussian(1.0)(np.arange(3.0))
    with pytest.raises(DataError, match=r"Z must have shape"):
        Gaussian(1.0)(X, np.zeros((1, 1, 2)))
    with pytest.raises(DataError, match="no columns"):
        Gaussian(1.0)(np.empty((3, 0)))
    with pytest.raises(DataError, match="real numbers"):
        Gaussian(1.0)(X + 1j)
    with pytest.raises(DataError, match="real numbers"):
        Gaussian(1.0)([["a", "b"]])
    with pytest.raises(DataError, match=r"columns are \[2\], but the points have 2"):
        Linear().restrict(2)(X)


def test_histograms_must_not_be_negative():
    kernel = ExponentiatedChiSquared()
    for call in (lambda: kernel(-X), lambda: kernel(X, -X), lambda: kernel.diagonal(-X)):
        with pytest.raises(DataError, match="must be >= 0, as histograms are; its smallest entry is -2"):
            call()


def test_precomputed_shapes():
    with pytest.raises(DataError, match="must be square"):
        Precomputed()(X)
    with pytest.raises(DataError, match="2 columns and 3 rows"):
        Precomputed()(X, np.eye(3))
    with pytest.raises(DataError, match="square Gram matrix only"):
        Precomputed().diagonal(X)
    assert (2.0 * Precomputed() + 1.0).pairwise
    assert not Gaussian().pairwise


def test_functions_are_checked():
    with pytest.raises(DataError, match=r"must return the matrix of all pairs.*\(3, 3\).*looped"):
        FunctionKernel(lambda X, Z: X @ Z[0])(X)
    with pytest.raises(DataError, match="NaN or infinite"):
        FunctionKernel(lambda X, Z: np.full((len(X), len(Z)), np.nan))(X)
    with pytest.raises(DataError, match="no array of numbers"):
        FunctionKernel(lambda X, Z: "matrix")(X)


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(1.0),
        Matern(0.5, 1.0),
        ExponentiatedChiSquared(),
        Gaussian(1.0) * Laplacian(1.0),
        Precomputed(),
    ],
    ids=repr,
)
def test_kernels_without_derivatives_name_those_that_have_them(kernel):
    assert not kernel.differentiable
    with pytest.raises(UnsupportedError, match=r"has no derivatives.*Gaussian, Matern with nu=1\.5"):
        kernel.derivative(T, T, (1, 0))


def test_derivatives_are_for_one_column_and_three_orders():
    with pytest.raises(DataError, match="one column; got 2 columns"):
        Gaussian(1.0).derivative(X, X, (1, 0))
    for order in ((2, 0), (0, 0), 1, (1,), "10"):
        with pytest.raises(ParameterError, match=r"order must be \(1, 0\), \(0, 1\) or \(1, 1\)"):
            Gaussian(1.0).derivative(T, T, order)
    assert Gaussian(1.0).derivative(T, T, [1, 0]).shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("gaussian", Gaussian()),
        ("rbf", Gaussian()),
        ("laplacian", Laplacian()),
        ("matern", Matern()),
        ("rational_quadratic", RationalQuadratic()),
        ("periodic", Periodic()),
        ("linear", Linear()),
        ("polynomial", Polynomial()),
        ("poly", Polynomial()),
        ("constant", Constant()),
        ("chi2", ExponentiatedChiSquared()),
        ("precomputed", Precomputed()),
    ],
)
def test_names(name, kernel):
    assert as_kernel(name) == kernel


def test_as_kernel_passes_kernels_and_wraps_functions():
    kernel = Gaussian(3.0)
    assert as_kernel(kernel) is kernel

    def function(X, Z):
        return X @ Z.T

    assert as_kernel(function) == FunctionKernel(function)


def test_as_kernel_says_what_was_meant():
    with pytest.raises(ParameterError, match="Did you mean 'gaussian'"):
        as_kernel("Gaussian")
    with pytest.raises(ParameterError, match="Did you mean 'laplacian'"):
        as_kernel("laplace")
    with pytest.raises(MercerError, match=r"Pass an instance: Gaussian\(\)"):
        as_kernel(Gaussian)
    with pytest.raises(ParameterTypeError, match="kernel must be a Kernel, a function"):
        as_kernel(None)


def test_repr_shows_what_was_set():
    assert repr(Gaussian()) == "Gaussian()"
    assert repr(2.0 * Matern(2.5, 0.5)) == "Scaled(scale=2, kernel=Matern(nu=2.5, length_scale=0.5))"
