"""Gradients and cross-Hessians in d columns: formulas, limits, product rules, digits, dtypes and array libraries."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from mercer.exceptions import DataError, ParameterError, UnsupportedError
from mercer.kernels import (
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
    Radial,
    RationalQuadratic,
)
from mercer.kernels.stationary import Stationary
from mercer.testing import check_kernel

LENGTHS = [0.5, 1.5, np.inf]
RADIAL = [
    Gaussian(0.7),
    Gaussian([0.5, 0.0, 2.0]),
    Matern(1.5, 1.2),
    Matern(1.5, LENGTHS),
    Matern(2.5, 0.9),
    Matern(2.5, LENGTHS),
    RationalQuadratic(1.7, 0.8),
    RationalQuadratic(0.4, LENGTHS),
]
SMOOTH = [
    *RADIAL,
    Periodic(1.3, 0.8),
    Periodic([1.0, 2.0, 3.0], LENGTHS),
    Linear(),
    Polynomial(1, 2.0, 0.0),
    Polynomial(2, 0.3, 0.0),
    Polynomial(3, 0.3, 1.0),
    Constant(2.0),
    (2.0 * Gaussian(1.0).restrict([2, 0]) + Linear()) * Matern(2.5, 1.0) + Polynomial(2).restrict(-2),
]
ROUGH = [
    Laplacian(1.0),
    Matern(0.5, 1.0),
    ExponentiatedChiSquared(),
    Precomputed(),
    FunctionKernel(lambda X, Z: X @ Z.T),
    Gaussian(1.0) + Laplacian(1.0).restrict(0),
]


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    X, Z = rng.uniform(-1, 2, size=(9, 3)), rng.uniform(-1, 2, size=(6, 3))
    Z[2] = X[4]
    return X, Z


def test_gaussian_derivatives_in_closed_form(points):
    X, Z = points
    G = np.diag([0.5, 1.0, 2.0])
    k = Gaussian(np.diag(G))
    slopes, matrices = k.gradient(X, Z), k.cross_hessian(X, Z)
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            value, v = k(X, Z)[i, j], G @ (x - z)
            np.testing.assert_allclose(slopes[i, j], -2 * value * v, rtol=1e-13, atol=1e-15)
            np.testing.assert_allclose(matrices[i, j], value * (2 * G - 4 * np.outer(v, v)), rtol=1e-12, atol=1e-14)


def test_polynomial_derivatives_in_closed_form(points):
    X, Z = points
    k = Polynomial(3, 0.5, 2.0)
    slopes, matrices = k.gradient(X, Z), k.cross_hessian(X, Z)
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            base = 0.5 * x @ z + 2
            np.testing.assert_allclose(slopes[i, j], 1.5 * base**2 * z, rtol=1e-13)
            expected = 1.5 * base**2 * np.eye(3) + 1.5 * base * np.outer(z, x)  # rows are those of x
            np.testing.assert_allclose(matrices[i, j], expected, rtol=1e-12)


def test_linear_and_constant_derivatives(points):
    X, Z = points
    np.testing.assert_array_equal(Linear().gradient(X, Z), np.broadcast_to(Z, (9, 6, 3)))
    np.testing.assert_array_equal(Linear().cross_hessian(X, Z), np.broadcast_to(np.eye(3), (9, 6, 3, 3)))
    assert np.all(Constant().gradient(X, Z) == np.zeros((9, 6, 3)))
    assert np.all(Constant().cross_hessian(X, Z) == np.zeros((9, 6, 3, 3)))
    Linear().gradient(X, Z)[0, 0, 0] = 7.0  # an array of its own, not a view of Z
    assert Z[0, 0] != 7.0


@pytest.mark.parametrize(
    ("kernel", "curvatures"),
    [
        (Gaussian([0.5, 0.0, 2.0]), [1.0, 0.0, 4.0]),
        (Matern(1.5, LENGTHS), 3 / np.square(LENGTHS)),
        (Matern(2.5, LENGTHS), 5 / 3 / np.square(LENGTHS)),
        (RationalQuadratic(0.4, LENGTHS), 1 / np.square(LENGTHS)),
        (Periodic([1.0, 2.0, 3.0], LENGTHS), (2 * np.pi / np.array([1.0, 2.0, 3.0]) / LENGTHS) ** 2),
    ],
    ids=repr,
)
def test_limits_at_coincident_points(kernel, curvatures):
    """∂₁k = 0, and ∂₁∂₂k is the covariance of the spectrum (a test run turns RuntimeWarnings into errors)."""
    X = np.array([[0.3, -1.0, 7.0], [0.3, -1.0, 7.0]])
    expected = np.tile(np.diag(curvatures), (2, 2, 1, 1))
    for others in (None, X.copy()):
        assert np.all(kernel.gradient(X, others) == 0)
        np.testing.assert_allclose(kernel.cross_hessian(X, others), expected, rtol=1e-14)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_matern_curvature_is_the_second_moment_of_its_spectrum(nu):
    """The spectrum of the Matérn kernel is a multivariate t distribution with 2ν degrees of freedom."""
    t = stats.t(df=2 * nu)
    moment = integrate.quad(lambda w: w**2 * t.pdf(w), -np.inf, np.inf, limit=200)[0]
    found = Matern(nu, 2.0).cross_hessian(np.zeros((1, 3)))[0, 0]
    np.testing.assert_allclose(found, moment / 4 * np.eye(3), rtol=1e-6)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_limits_are_approached(kernel):
    origin, direction = np.zeros((1, 3)), np.array([[0.6, -0.5, 0.3]])
    for step in (1e-6, 1e-12, 1e-160, 1e-320):
        near = step * direction
        np.testing.assert_allclose(kernel.gradient(near, origin), kernel.gradient(origin), atol=200 * step)
        np.testing.assert_allclose(kernel.cross_hessian(near, origin), kernel.cross_hessian(origin), atol=200 * step)


def decaying(rate, first, second):
    """κ'(u) and κ''(u) of a kernel κ(u) = polynomial · e^{−rate |u|}, the polynomials given in a = rate |u|."""
    return (
        lambda u: u * first(rate * np.abs(u)) * np.exp(-rate * np.abs(u)),
        lambda u: second(rate * np.abs(u)) * np.exp(-rate * np.abs(u)),
    )


@pytest.mark.parametrize(
    ("kernel", "scale", "profiles"),
    [
        (Gaussian(4.0), 2.0, (lambda u: -2 * u * np.exp(-(u**2)), lambda u: (4 * u**2 - 2) * np.exp(-(u**2)))),
        (Matern(1.5, 0.8), 1.25, decaying(3**0.5, lambda a: -3, lambda a: 3 * (a - 1))),
        (Matern(2.5, 0.8), 1.25, decaying(5**0.5, lambda a: -5 / 3 * (1 + a), lambda a: -5 / 3 * (1 + a - a * a))),
        (
            RationalQuadratic(1.0, 0.5),
            2.0,
            (lambda u: -u / (1 + u**2 / 2) ** 2, lambda u: (1.5 * u**2 - 1) / (1 + u**2 / 2) ** 3),
        ),
        (
            Periodic(2 * np.pi, 1.0),
            1.0,
            (
                lambda u: -np.sin(u) * np.exp(np.cos(u) - 1),
                lambda u: (np.sin(u) ** 2 - np.cos(u)) * np.exp(np.cos(u) - 1),
            ),
        ),
    ],
    ids=lambda value: repr(value) if isinstance(value, Stationary) else "",
)
def test_one_column_agrees_with_derivative_and_formulas(kernel, scale, profiles):
    rng = np.random.default_rng(1)
    t, s = rng.normal(size=(7, 1)), rng.normal(size=(4, 1))
    s[2] = t[3]
    u = scale * (t - s.T)
    slope, curvature = (profile(u) for profile in profiles)
    expected = {(1, 0): scale * slope, (0, 1): -scale * slope, (1, 1): -(scale**2) * curvature}
    found = {
        (1, 0): kernel.gradient(t, s)[:, :, 0],
        (0, 1): kernel.gradient(s, t)[:, :, 0].T,
        (1, 1): kernel.cross_hessian(t, s)[:, :, 0, 0],
    }
    for order, values in expected.items():
        np.testing.assert_allclose(kernel.derivative(t, s, order), values, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(found[order], kernel.derivative(t, s, order))


LEAVES = st.one_of(
    st.builds(Gaussian, st.sampled_from([0.3, 2.0, [0.5, 0.0, 1.0]])),
    st.builds(Matern, st.sampled_from([1.5, 2.5]), st.sampled_from([0.8, [1.0, 0.5, 2.0]])),
    st.builds(RationalQuadratic, st.sampled_from([0.5, 2.0]), st.just(0.7)),
    st.builds(Periodic, st.sampled_from([0.9, 2.0])),
    st.builds(Polynomial, st.integers(1, 3), st.just(0.5), st.sampled_from([0.0, 1.0])),
    st.builds(Linear),
    st.builds(Constant, st.sampled_from([0.5, 3.0])),
    st.builds(lambda columns: Gaussian(1.0).restrict(columns), st.sampled_from([0, -1, [2, 0], [1]])),
    st.builds(lambda columns: Polynomial(2).restrict(columns), st.sampled_from([1, [2, 0, 1], [0, 1]])),
)


def _grow(children):
    return st.one_of(
        st.builds(lambda a, b: a + b, children, children),
        st.builds(lambda a, b: a * b, children, children),
        st.builds(lambda a: 0.25 * a, children),
        st.builds(lambda a: a.restrict([2, 0, 1]), children),
    )


@given(kernel=st.recursive(LEAVES, _grow, max_leaves=6))
def test_random_expressions_keep_the_contract_of_derivatives(kernel):
    X = np.random.default_rng(2).uniform(0, 1.5, size=(7, 3))
    X[4] = X[1]
    assert kernel.differentiable
    check_kernel(kernel, X)


def test_restricted_kernels_pad_with_zeros(points):
    X, Z = points
    k = Gaussian([0.5, 2.0])
    padded = k.restrict([2, -3])
    slopes, matrices = padded.gradient(X, Z), padded.cross_hessian(X, Z)
    assert slopes.shape == (9, 6, 3)
    assert np.all(slopes[:, :, 1] == 0)
    assert np.all(matrices[:, :, 1, :] == 0)
    assert np.all(matrices[:, :, :, 1] == 0)
    seen = [2, 0]
    np.testing.assert_array_equal(slopes[:, :, seen], k.gradient(X[:, seen], Z[:, seen]))
    np.testing.assert_array_equal(matrices[:, :, seen][:, :, :, seen], k.cross_hessian(X[:, seen], Z[:, seen]))


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_profile_gives_products_without_matrices(kernel, points):
    """The closed form of Σ_j ∂₁∂₂k(x_i, z_j) c_j that curl-free kernels use, at coincident points too."""
    X, Z = points
    C = np.random.default_rng(3).normal(size=Z.shape)
    assert isinstance(kernel, Radial)
    s, w = kernel.squared_distances(X, Z), kernel.weights(X)
    np.testing.assert_allclose(kernel.profile(s), kernel(X, Z), rtol=1e-14)
    P = kernel.profile(s, 2) * ((w**2 * X) @ C.T - np.sum(w**2 * Z * C, axis=1))
    product = -4 * w**2 * (np.sum(P, axis=1)[:, None] * X - P @ Z) - 2 * kernel.profile(s, 1) @ (w**2 * C)
    expected = np.einsum("ijab,jb->ia", kernel.cross_hessian(X, Z), C)
    np.testing.assert_allclose(product, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_profiles_are_derivatives_of_each_other(kernel):
    s, step = np.array([0.01, 0.3, 1.0, 4.0, 30.0]), 1e-6
    for order in range(1, kernel.profile_order + 1):
        ahead, behind = (kernel.profile(s + sign * step, order - 1) for sign in (1, -1))
        np.testing.assert_allclose(kernel.profile(s, order), (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-9)


def test_profile_at_zero_and_infinity():
    ends = [0.0, np.inf]
    for kernel, values in [
        (Gaussian(), (1, -1, 1, -1)),
        (Matern(1.5), (1, -3 / 2, 0)),  # φ″ is infinite there; 0 is what its products with s tend to
        (Matern(2.5), (1, -5 / 6, 25 / 12, 0)),  # likewise φ‴
        (RationalQuadratic(2.0), (1, -1 / 2, 3 / 8, -3 / 8)),
    ]:
        for order, value in enumerate(values):
            np.testing.assert_allclose(kernel.profile(ends, order), [value, 0], rtol=1e-15)
    np.testing.assert_array_equal(Matern(0.5).profile(ends), [1, 0])


def test_profile_refuses():
    with pytest.raises(UnsupportedError, match=r"Matern\(nu=0.5\) has no derivatives because it is not C²"):
        Matern(0.5).profile([1.0], 1)
    with pytest.raises(UnsupportedError, match=r"Matern\(\) has no third derivative .* Matern with nu=2.5"):
        Matern(1.5).profile([1.0], 3)
    for order in (4, -1, 1.0, "1"):
        with pytest.raises(ParameterError, match=r"order must be 0, 1, 2 or 3"):
            Gaussian(1.0).profile([1.0], order)


def test_weights_are_inverse_lengths():
    X = np.array([[0.0, 0.0], [2.0, 0.0]])
    np.testing.assert_allclose(Gaussian(4.0).weights(X), [2, 2])
    np.testing.assert_allclose(Matern(1.5, [0.5, np.inf]).weights(X), [2, 0])
    np.testing.assert_allclose(Gaussian("median").weights(X), [0.5, 0.5])
    np.testing.assert_allclose(Gaussian("median").squared_distances(X), [[0, 1], [1, 0]])


@pytest.mark.parametrize("kernel", ROUGH, ids=repr)
def test_rough_kernels_name_those_that_have_derivatives(kernel):
    X = np.eye(3)
    assert not kernel.differentiable
    for derivatives in (kernel.gradient, kernel.cross_hessian):
        with pytest.raises(UnsupportedError, match=r"has no derivatives.*Gaussian, Matern with nu=1\.5"):
            derivatives(X)


def test_points_and_bandwidths_are_those_of_a_call(points):
    X, Z = points
    for name in ("gradient", "cross_hessian"):
        derivatives = getattr(Gaussian("median"), name)
        np.testing.assert_array_equal(derivatives(X), getattr(Gaussian("median").adapt(X), name)(X, X))
        with pytest.raises(ParameterError, match=r"gamma='median' depends on the data.*kernel\.adapt\(X\)"):
            derivatives(X, Z)
        with pytest.raises(DataError, match="as many columns; got 3 and 2"):
            getattr(Linear(), name)(X, Z[:, :2])
        with pytest.raises(DataError, match=r"X\.reshape\(-1, 1\)"):
            getattr(Linear(), name)(X[:, 0])
        with pytest.raises(DataError, match="gamma has 2 values, one per column, but the points have 3 columns"):
            getattr(Gaussian([1.0, 2.0]), name)(X)
    with pytest.raises(DataError, match=r"one column; got 3 columns\. gradient\(X, Z\) and cross_hessian"):
        Linear().derivative(X, Z, (1, 0))


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_no_points_give_empty_arrays(kernel):
    X, nothing = np.ones((4, 3)), np.empty((0, 3))
    assert kernel.gradient(nothing, X).shape == (0, 4, 3)
    assert kernel.gradient(X, nothing).shape == (4, 0, 3)
    assert kernel.cross_hessian(nothing, X).shape == (0, 4, 3, 3)
    assert kernel.cross_hessian(X, nothing).shape == (4, 0, 3, 3)


def test_periodic_derivatives_keep_their_digits_many_periods_away():
    t = np.arange(12.0)[:, None] / 16
    away = t + 3.0 * 2**30
    kernel = Periodic(0.75)
    np.testing.assert_allclose(kernel.gradient(t, away), kernel.gradient(t, t), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel.cross_hessian(away, t), kernel.cross_hessian(t, t), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.filterwarnings("ignore:overflow")
def test_far_points_have_no_slope(kernel):
    X, Z = np.array([[1e200, -1e200, 1e200]]), np.zeros((1, 3))
    assert np.all(kernel.gradient(X, Z) == 0)
    assert np.all(kernel.cross_hessian(X, Z) == 0)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_strict_arrays_agree_with_numpy(kernel, points):
    X, Z = points
    strict = array_api_strict.asarray
    for name in ("gradient", "cross_hessian"):
        derivatives = getattr(kernel, name)
        for found, expected in [
            (derivatives(strict(X), strict(Z)), derivatives(X, Z)),
            (derivatives(strict(X)), derivatives(X)),
        ]:
            assert isinstance(found, array_api_strict._array_object.Array)
            np.testing.assert_allclose(np.from_dlpack(found), expected, rtol=1e-12, atol=1e-13)


def test_strict_profiles_agree_with_numpy(points):
    strict = array_api_strict.asarray
    X, _ = points
    for kernel in RADIAL:
        s = kernel.squared_distances(X)
        np.testing.assert_allclose(np.from_dlpack(kernel.weights(strict(X))), kernel.weights(X), rtol=1e-15)
        np.testing.assert_allclose(np.from_dlpack(kernel.squared_distances(strict(X))), s, rtol=1e-13, atol=1e-13)
        for order in (0, 1, 2):
            np.testing.assert_allclose(np.from_dlpack(kernel.profile(strict(s), order)), kernel.profile(s, order))


@pytest.mark.parametrize("module", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_float32_stays_float32(kernel, module, points):
    single = [P.astype(np.float32) for P in points]
    X, Z = (module.asarray(P) for P in single)
    for name in ("gradient", "cross_hessian"):
        found = getattr(kernel, name)(X, Z)
        assert found.dtype == module.float32
        exact = getattr(kernel, name)(*(P.astype(float) for P in single))
        largest = max(1.0, np.max(np.abs(exact)))
        np.testing.assert_allclose(np.from_dlpack(found), exact, rtol=1e-4, atol=1e-5 * largest)
