"""Random Fourier features: the laws of frequencies, their error, and kernels made of several parts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from mercer.exceptions import DataError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import FourierKernel, LinearFeatures, Nystroem, RandomFourier
from mercer.features.fourier_kernel import write_waves
from mercer.kernels import (
    Categorical,
    Constant,
    ExponentiatedChiSquared,
    FunctionalGaussian,
    Gaussian,
    IntegralGaussian,
    IntegralLaplacian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Precomputed,
    Projected,
    RationalQuadratic,
    SkewedChiSquared,
)
from mercer.testing import check_kernel

X = np.random.default_rng(0).uniform(0.1, 1.6, size=(12, 3))

#: kernels with k(x, x) = 1 on three columns
KERNELS = [
    Gaussian(0.7),
    Gaussian([0.5, 0.0, 2.0]),
    Laplacian(0.6),
    Laplacian([0.2, 1.0, 0.0]),
    Matern(0.5, 1.3),
    Matern(1.5, [0.7, 1.0, 3.0]),
    Matern(2.5, [0.7, np.inf, 3.0]),
    RationalQuadratic(0.7, 1.1),
    RationalQuadratic(4.0, [0.5, 1.0, 2.0]),
    Periodic(1.3, 0.8),
    Periodic([0.7, 1.0, 5.0], [1.0, np.inf, 0.3]),
    SkewedChiSquared(0.3),
    SkewedChiSquared([0.0, 1.0, 2.0]),
    FunctionalGaussian(2.0),
    FunctionalGaussian(2.0, [0.0, 0.1, 1.0]),
    IntegralGaussian(2.0),
    IntegralLaplacian(1.5, [0.0, 0.1, 1.0]),
    Gaussian(0.4) * Matern(1.5, 1.0),
    Gaussian(0.4) * Periodic(2.0),
    Gaussian(0.4) * 0.5 * (2.0 * Laplacian(0.3)),
    Gaussian(0.4).restrict(1) * SkewedChiSquared(1.0).restrict([0, 2]),
    Gaussian(0.4).restrict([0, -1]) * Laplacian(0.5).restrict([1]),
    Projected(Gaussian(0.3), np.array([[1.0, 0.0], [-1.0, 2.0], [0.0, 1.0]])) * Matern(0.5, 2.0),
]


def waves_of(kernel, sampling="iid", size=400, seed=0):
    made = RandomFourier(size, sampling, random_state=seed).bind(kernel, X)
    assert isinstance(made, FourierKernel)
    assert made.n_features == 2 * size
    return made


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "quasi"])
def test_the_mean_over_draws_is_the_kernel(kernel, sampling):
    rows, exact = X[:6], kernel(X[:6])
    # draws of 64 frequencies: exactly unbiased, whatever hangs together in one draw
    draws = np.array([waves_of(kernel, sampling, 64, seed)(rows) for seed in range(60)])
    error = np.std(draws, axis=0) / np.sqrt(len(draws))
    assert np.max(np.abs(np.mean(draws, axis=0) - exact) - 6 * error) < 1e-12
    assert np.max(error) < 0.02
    np.testing.assert_allclose(np.diagonal(draws, axis1=1, axis2=2), 1.0)


@pytest.mark.parametrize("kernel", [k for k in KERNELS if "SkewedChi" not in repr(k)], ids=repr)
def test_the_variance_of_independent_frequencies_is_the_exact_one(kernel):
    # D·Var k̃(δ) = ½(1 + k(2δ)) − k(δ)²
    pairs = np.array([[0, 1], [2, 3], [4, 7], [5, 9]])
    x, z = X[pairs[:, 0]], X[pairs[:, 1]]
    once, twice = (np.diagonal(kernel(point, z)) for point in (x, 2 * x - z))
    exact = (1 + twice) / 2 - once**2
    made = RandomFourier(200_000, "iid", random_state=1).bind(kernel, X)
    terms = np.cos((x - z) @ spread(made))
    np.testing.assert_allclose(np.var(terms, axis=1), exact, atol=0.01)
    np.testing.assert_allclose(np.mean(terms, axis=1), once, atol=0.01)


def spread(made):
    """The frequencies for all columns."""
    full = np.zeros((X.shape[1], made.frequencies.shape[1]))
    np.add.at(full, range(3) if made.columns is None else made.columns, made.frequencies)
    return full


def test_frequencies_of_the_skewed_kernel_have_variance_a_quarter():
    made = RandomFourier(100_000, "iid", random_state=0).bind(SkewedChiSquared(1.0), X)
    np.testing.assert_allclose(np.var(made.frequencies, axis=1), 0.25, rtol=0.02)


@pytest.mark.parametrize("columns", [2, 5])
def test_orthogonal_and_quasi_random_frequencies_have_smaller_errors(columns):
    points = np.random.default_rng(3).normal(size=(60, columns))
    kernel = Gaussian(0.5 / columns)

    def error(sampling):
        made = [RandomFourier(128, sampling, random_state=seed).bind(kernel, points) for seed in range(20)]
        return np.sqrt(np.mean([(one(points) - kernel(points)) ** 2 for one in made]))

    iid, orthogonal, quasi = map(error, ["iid", "orthogonal", "quasi"])
    assert orthogonal < 0.8 * iid
    assert quasi < 0.8 * iid


def test_directions_are_orthogonal_in_blocks():
    frequencies = RandomFourier(7, "orthogonal", random_state=0).bind(Matern(1.5, 1.0), X).frequencies
    for start in (0, 3, 6):
        block = frequencies[:, start : start + 3]
        products = block.T @ block
        np.testing.assert_allclose(products, np.diag(np.diagonal(products)), atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian("median"),
        Matern(2.5, "standardized"),
        2.0 * RationalQuadratic(1.0, 1.0) + Linear() + 3.0,
        Gaussian(0.4).restrict(1) * SkewedChiSquared(1.0).restrict([0, 2]),
        Gaussian(1.0).restrict([0, 2]) + Periodic(2.0).restrict(1),
        Projected(Gaussian(0.3) + Linear(), np.array([[1.0], [-1.0], [0.0]])),
    ],
    ids=repr,
)
@pytest.mark.parametrize("sampling", ["iid", "orthogonal", "quasi"])
def test_what_it_makes_is_a_kernel(kernel, sampling):
    made = RandomFourier(9, sampling, random_state=0).bind(kernel, X)
    check_kernel(made, X)
    assert made.explicit
    assert made.differentiable == kernel.differentiable
    twin = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(twin.features(X), made.features(X))
    assert clone(made) == made
    assert len(repr(made)) < 300
    assert "\n" not in repr(made)
    assert RandomFourier(9, sampling, random_state=0).bind(kernel, X) == made


def test_terms_of_a_sum_have_frequencies_in_proportion():
    made = RandomFourier(100, random_state=0).bind(3.0 * Gaussian(1.0) + Matern() + Linear() + 1.0, X)
    assert made.right == Constant(1.0)
    assert isinstance(made.left.right, LinearFeatures)
    pair = made.left.left
    assert (pair.left.n_features, pair.right.n_features) == (150, 50)
    assert (pair.left.mass, pair.right.mass) == (3.0, 1.0)
    np.testing.assert_allclose(made.diagonal(X), 5 + np.sum(X**2, axis=1))


def test_products_are_distributed_over_sums():
    kernel = (Gaussian(0.5) + 1.0) * Laplacian(0.2)
    made = RandomFourier(20_000, random_state=0).bind(kernel, X)
    np.testing.assert_allclose(made(X), kernel(X), atol=0.03)


def test_frequencies_converge_to_the_kernel():
    kernel = Gaussian(0.7)
    errors = [np.max(np.abs(waves_of(kernel, "quasi", size)(X) - kernel(X))) for size in (64, 1024, 16384)]
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def test_points_far_from_zero_keep_their_digits():
    kernel = Gaussian(0.7)
    near, far = (RandomFourier(50, random_state=0).bind(kernel, points) for points in (X, X + 1e9))
    shifted = (X + 1e9) - 1e9
    np.testing.assert_allclose(far(X + 1e9), near(shifted), atol=1e-6)


def test_the_dtype_is_that_of_the_points():
    made = RandomFourier(10, random_state=0).bind(Gaussian(), X.astype(np.float32))
    assert made.features(X.astype(np.float32)).dtype == np.float32
    assert made.features(X).dtype == np.float64
    np.testing.assert_allclose(made.features(X.astype(np.float32)), made.features(X), atol=1e-5)


def test_rows_are_blocks():
    made = RandomFourier(3000, random_state=0).bind(Gaussian(1.0), X)
    many = np.tile(X, (20, 1))  # more than one block
    np.testing.assert_array_equal(made.features(many)[-12:], made.features(many)[:12])


def test_a_generator_goes_on_and_no_seed_is_new():
    first, second = (RandomFourier(5).bind(Gaussian(1.0), X) for _ in range(2))
    assert first != second
    rng = np.random.default_rng(0)
    assert RandomFourier(5).bind(Gaussian(1.0), X, rng) != RandomFourier(5).bind(Gaussian(1.0), X, rng)
    assert RandomFourier(5).bind(Gaussian(1.0), X, 7) == RandomFourier(5).bind(Gaussian(1.0), X, 7)
    assert RandomFourier(5, random_state=1).bind(Gaussian(1.0), X, 7) == RandomFourier(5, random_state=1).bind(
        Gaussian(1.0), X, 8
    )


def test_kernels_with_known_features_stay():
    assert RandomFourier(5).bind(Constant(2.0), X) == Constant(2.0)
    assert isinstance(RandomFourier(5).bind(Linear(), X), LinearFeatures)
    np.testing.assert_allclose(RandomFourier(5).bind(Constant(2.0) * Constant(3.0), X)(X), 6.0)


@pytest.mark.parametrize("kernel", [Polynomial(), ExponentiatedChiSquared(), Categorical(), Linear() * Gaussian()])
def test_kernels_without_a_spectral_density_are_refused(kernel):
    with pytest.raises(UnsupportedError, match=r"RandomFourier: .* has no spectral density .* Nystroem"):
        RandomFourier(5).bind(kernel, X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_frequencies": 0}, "n_frequencies must be an integer >= 1; got 0"),
        ({"n_frequencies": 2.5}, "n_frequencies must be an integer"),
        ({"sampling": "sobol"}, "sampling must be 'auto' or 'orthogonal' or 'quasi' or 'iid'"),
        ({"random_state": -1}, "random_state must be None, an integer >= 0"),
        ({"random_state": "a"}, "random_state must be"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises((ParameterError, ParameterTypeError), match=message):
        RandomFourier(**arguments)


def test_bad_input_is_refused():
    with pytest.raises(UnsupportedError, match="given by its values"):
        RandomFourier(5).bind(Precomputed(), X @ X.T)
    with pytest.raises(ParameterError, match="at least 2, one for each term"):
        RandomFourier(1).bind(Gaussian() + Laplacian(), X)
    with pytest.raises((ParameterError, ParameterTypeError), match="kernel must be a kernel"):
        RandomFourier(1).bind("gaussian", X)
    with pytest.raises(DataError, match="no rows"):
        RandomFourier(1).bind(Gaussian(1.0), X[:0])
    with pytest.raises(DataError, match="NaN or infinite"):
        RandomFourier(1).bind(Gaussian(1.0), X * np.nan)
    made = RandomFourier(5).bind(Gaussian(1.0), X)
    with pytest.raises(DataError, match="points of 3 columns; got 2"):
        made.features(X[:, :2])
    made = RandomFourier(5).bind(Gaussian(1.0).restrict(2), X)
    with pytest.raises(DataError, match="sees the columns"):
        made.features(X[:, :2])
    made = RandomFourier(5).bind(SkewedChiSquared(1.0), X)
    with pytest.raises(DataError, match="X must be > −skew"):
        made.features(X - 2)


@pytest.mark.parametrize("size", [1e-9, 1.0, 100.0, 1e6])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_waves_are_cosines_and_sines_to_rounding(size, dtype):
    u = np.linspace(-size, size, 20_001, dtype=dtype)[:, None]
    out = np.empty((len(u), 2), dtype=dtype)
    write_waves(u, np.ones((1, 1), dtype=dtype), 3.0, out)
    exact = u.astype(np.longdouble)
    epsilon = 16 * np.finfo(dtype).eps
    np.testing.assert_allclose(out, 3 * np.hstack([np.cos(exact), np.sin(exact)]).astype(float), atol=epsilon, rtol=0)
    quarters = np.pi / 2 * np.arange(-8, 9, dtype=dtype)[:, None]
    out = np.empty((17, 2), dtype=dtype)
    write_waves(quarters, np.ones((1, 1), dtype=dtype), 1.0, out)
    np.testing.assert_allclose(out, np.hstack([np.cos(quarters), np.sin(quarters)]), atol=epsilon, rtol=0)


def test_other_arrays():
    xp = pytest.importorskip("array_api_strict")
    for approximation in (RandomFourier(10, random_state=0), Nystroem(5, random_state=0)):
        kernel = approximation.bind(2.0 * Gaussian(1.0).restrict([0, 2]) + Linear(), X)
        features = kernel.features(xp.asarray(X))
        assert isinstance(features, type(xp.asarray(X)))
        np.testing.assert_allclose(np.from_dlpack(features), kernel.features(X), atol=1e-12)


def test_auto_takes_the_sampling_with_the_smaller_error():
    rng = np.random.default_rng(0)
    for columns, better, worse in [(3, "quasi", "orthogonal"), (40, "orthogonal", "quasi")]:
        points = rng.normal(size=(50, columns))
        kernel = Gaussian(0.5 / columns)
        auto, same = (RandomFourier(128, one, random_state=0).bind(kernel, points) for one in ("auto", better))
        assert auto == same

        def error(sampling, kernel=kernel, points=points):
            made = [RandomFourier(128, sampling, random_state=seed).bind(kernel, points) for seed in range(10)]
            return np.mean([(one(points) - kernel(points)) ** 2 for one in made])

        assert error(better) < 0.9 * error(worse)
    with_periods = Gaussian(1.0) * Periodic(2.0)
    orthogonal, quasi = (RandomFourier(9, one, random_state=0).bind(with_periods, X) for one in ("orthogonal", "quasi"))
    assert orthogonal == quasi  # directions of sums of waves are no longer orthogonal
