"""Values against scikit-learn, the specification and formulas; digits, dtypes and other array libraries."""

import array_api_strict
import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise

from mercer.exceptions import DataError
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
    RationalQuadratic,
    distances,
)
from mercer.linalg import solve

ALL = [
    Gaussian(0.7),
    Gaussian([0.5, 0.0, 2.0]),
    Laplacian(0.7),
    Matern(0.5, 1.2),
    Matern(1.5, [0.5, np.inf, 2.0]),
    Matern(2.5, 0.9),
    RationalQuadratic(1.7, 0.8),
    Periodic(1.3, 0.8),
    Linear(),
    Polynomial(2, 0.3, 1.0),
    Constant(2.0),
    ExponentiatedChiSquared(0.25),
    3.0 * Gaussian("median").restrict([0, 2]) * Matern(1.5, "standardized") + 1.0,
]
SMOOTH = [
    Gaussian(0.7),
    Gaussian([0.7]),
    Matern(1.5, 1.2),
    Matern(2.5, 0.9),
    RationalQuadratic(1.7, 0.8),
    Periodic(1.3, 0.8),
    Linear(),
    Polynomial(3, 0.3, 1.0),
    Constant(2.0),
    (2.0 * Gaussian(1.0) + Linear()) * Matern(2.5, 1.0),
]


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    return rng.uniform(0, 2, size=(40, 3)), rng.uniform(0, 2, size=(23, 3))


@pytest.mark.parametrize(
    ("kernel", "reference"),
    [
        (Gaussian(0.7), lambda X, Z: pairwise.rbf_kernel(X, Z, gamma=0.7)),
        (Laplacian(0.7), lambda X, Z: pairwise.laplacian_kernel(X, Z, gamma=0.7)),
        (Polynomial(3, 0.4, 1.5), lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.4, 1.5)),
        (Linear(), pairwise.linear_kernel),
        (ExponentiatedChiSquared(0.3), lambda X, Z: pairwise.chi2_kernel(X, Z, gamma=0.3)),
        (Matern(0.5, 0.9), gp.Matern(0.9, nu=0.5)),
        (Matern(1.5, 0.9), gp.Matern(0.9, nu=1.5)),
        (Matern(2.5, [0.9, 2.0, 0.5]), gp.Matern([0.9, 2.0, 0.5], nu=2.5)),
        (RationalQuadratic(0.7, 1.4), gp.RationalQuadratic(1.4, alpha=0.7)),
        (Constant(2.0) * Gaussian(0.5), gp.ConstantKernel(2.0) * gp.RBF(1.0)),
    ],
    ids=lambda value: repr(value)[:30].split(" at ")[0].split("<")[0],
)
def test_agrees_with_scikit_learn(kernel, reference, points):
    np.testing.assert_allclose(kernel(*points), reference(*points), rtol=1e-12, atol=1e-13)


def test_periodic_agrees_with_scikit_learn_on_one_column(points):
    X, Z = (P[:, :1] * 5 for P in points)
    expected = gp.ExpSineSquared(length_scale=0.8, periodicity=1.3)(X, Z)
    np.testing.assert_allclose(Periodic(1.3, 0.8)(X, Z), expected, rtol=1e-12)


def test_periodic_sums_over_columns(points):
    X, Z = points
    delta = X[:, None, :] - Z[None, :, :]
    expected = np.exp(-2 * np.sum(np.sin(np.pi * delta / [1.0, 2.0, 0.7]) ** 2 / np.array([1.0, 0.5, 2.0]) ** 2, -1))
    np.testing.assert_allclose(Periodic([1.0, 2.0, 0.7], [1.0, 0.5, 2.0])(X, Z), expected, rtol=1e-11)


@pytest.mark.parametrize("offset", [0.0, 2.5e6], ids=["near the origin", "far away"])
def test_periodic_loses_no_digit_where_lengths_are_small_next_to_periods(points, offset):
    X = offset + points[0][:, :1]
    delta = X.astype(np.longdouble) - X.T.astype(np.longdouble)
    expected = np.exp(-2 * (np.sin(np.arccos(np.longdouble(-1)) * delta / 864.0) / np.longdouble(1e-3)) ** 2)
    np.testing.assert_allclose(Periodic(864.0, 1e-3)(X), expected.astype(float), rtol=1e-13, atol=1e-15)


def test_periodic_keeps_its_digits_many_periods_away():
    t = np.arange(12.0)[:, None] / 16
    away = t + 3.0 * 2**30
    np.testing.assert_allclose(Periodic(0.75)(t, away), Periodic(0.75)(t, t), rtol=1e-14)


def test_chi_squared_value_of_the_specification():
    value = ExponentiatedChiSquared(0.25)(np.array([[1.0, 2.0, 0.0]]), np.array([[2.0, 1.0, 1.0]]))
    assert value[0, 0] == pytest.approx(0.659241, abs=5e-7)


def test_chi_squared_takes_zero_over_zero_as_zero():
    X = np.array([[0.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(ExponentiatedChiSquared(2.0)(X), [[1, np.exp(-2)], [np.exp(-2), 1]], rtol=1e-15)


def test_grams_of_the_tiny_problem_of_the_specification():
    x = np.array([[0.0], [0.3], [0.7], [1.0]])
    theta = np.array([[0.1], [0.5], [0.9]])
    K_x, K_theta = Gaussian(2.0)(x), Gaussian(3.0)(theta)
    np.testing.assert_allclose(K_x[0], [1, 0.835270, 0.375311, 0.135335], atol=5e-7)
    assert K_x[1, 2] == pytest.approx(0.726149, abs=5e-7)
    np.testing.assert_allclose(K_theta[0], [1, 0.618783, 0.146607], atol=5e-7)


def test_gaussian_derivatives_are_those_of_the_specification():
    gamma = 3.0
    x, z = np.array([[0.1], [0.5], [0.9]]), np.array([[0.1], [0.4]])
    delta = x - z.T
    k = np.exp(-gamma * delta**2)
    expected = {
        (1, 0): -2 * gamma * delta * k,
        (0, 1): 2 * gamma * delta * k,
        (1, 1): (2 * gamma - 4 * gamma**2 * delta**2) * k,
    }
    for order, values in expected.items():
        np.testing.assert_allclose(Gaussian(gamma).derivative(x, z, order), values, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_block_gram_of_values_and_derivatives_is_positive(kernel):
    t = np.linspace(-1, 1, 6)[:, None]
    d1, d2, d12 = (kernel.derivative(t, t, order) for order in [(1, 0), (0, 1), (1, 1)])
    block = np.block([[kernel(t), d2], [d1, d12]])
    values = np.linalg.eigvalsh(block)
    np.testing.assert_allclose(block, block.T, rtol=1e-12, atol=1e-13)
    assert values[0] > -1e-12 * values[-1]


@pytest.mark.parametrize(
    ("kernel", "curvature"),
    [
        (Gaussian(0.7), 1.4),
        (Matern(1.5, 0.5), 3 / 0.25),
        (Matern(2.5, 0.5), 5 / 3 / 0.25),
        (RationalQuadratic(1.7, 0.5), 1 / 0.25),
        (Periodic(1.3, 0.8), (2 * np.pi / 1.3) ** 2 / 0.64),
    ],
    ids=repr,
)
def test_derivatives_at_coincident_points(kernel, curvature):
    t = np.array([[0.3], [0.3]])
    assert np.all(kernel.derivative(t, t, (1, 0)) == 0)
    np.testing.assert_allclose(kernel.derivative(t, t, (1, 1)), np.full((2, 2), curvature), rtol=1e-14)


@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("cls", [Gaussian, Laplacian, Matern, RationalQuadratic, Periodic])
def test_diagonal_is_exactly_one(cls, d):
    X = np.random.default_rng(0).normal(5e3, 1, size=(300, d))
    kernel = cls().adapt(X)
    assert np.all(np.diagonal(kernel(X)) == 1)
    assert np.all(np.diagonal(kernel(X, X)) == 1)
    assert np.array_equal(kernel(X), kernel(X).T) or d == 40


@pytest.mark.parametrize("d", [1, 5, 50])
def test_digits_survive_a_large_offset_and_near_points(d):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(60, d)) * 2**10) / 2**10  # exact after the shift
    Z = np.concatenate([X[:10], X[:10] + 2.0**-20])
    kernel = Matern(0.5, 1.0)
    exact = np.exp(-np.sqrt(np.sum((X[:, None, :] - Z[None, :, :]) ** 2, axis=2)))
    shift = 2.0**20
    np.testing.assert_allclose(kernel(X, Z), exact, rtol=0, atol=2e-15 * 60)
    np.testing.assert_allclose(kernel(X + shift, Z + shift), exact, rtol=0, atol=1e-11)


@pytest.mark.parametrize("d", [2, 17, 60])
def test_blocks_do_not_change_the_matrix(d, monkeypatch):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(150, d)), rng.normal(size=(70, d))
    X[140] = X[3]
    expected = cdist(X, X, "sqeuclidean"), cdist(X, Z, "sqeuclidean")
    monkeypatch.setattr(distances, "DISTANCE_ENTRIES", 64)  # many blocks of rows
    for kernel, exact in (
        (Gaussian(0.1), lambda r: np.exp(-0.1 * r)),
        (Matern(0.5, 2.0), lambda r: np.exp(-(r**0.5) / 2)),
    ):
        np.testing.assert_allclose(kernel(X), exact(expected[0]), atol=1e-14, rtol=0)
        np.testing.assert_allclose(kernel(X, Z), exact(expected[1]), atol=1e-14, rtol=0)


def test_tight_clusters_far_apart_keep_their_digits():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(3, 30)) * 1e6, 20, axis=0) + rng.normal(size=(60, 30))
    Z = X[::2].copy()
    expected = np.exp(-0.1 * cdist(X, Z, "sqeuclidean"))
    np.testing.assert_allclose(Gaussian(0.1)(X, Z), expected, atol=1e-8)
    np.testing.assert_allclose(Gaussian(0.1)(X), np.exp(-0.1 * cdist(X, X, "sqeuclidean")), atol=1e-8)


def test_far_points_give_zero_and_not_nan():
    X = np.array([[0.0, 0.0], [1e200, 1e200]])
    for kernel in (Gaussian(1.0), Laplacian(1.0), Matern(2.5, 1.0), RationalQuadratic(1.0, 1.0)):
        np.testing.assert_array_equal(kernel(X), np.eye(2))


@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_strict_arrays_agree_with_numpy(kernel, d):
    rng = np.random.default_rng(3)
    X, Z = rng.uniform(0, 1, size=(12, d)), rng.uniform(0, 1, size=(7, d))
    if d != 3 and any(np.ndim(value) for value in kernel.get_params().values()):
        kernel = kernel.restrict([0, 1, 2])
    strict = array_api_strict.asarray
    adapted, same = kernel.adapt(X), kernel.adapt(strict(X))
    assert adapted == same
    for found, expected in [
        (kernel(strict(X)), kernel(X)),
        (adapted(strict(X), strict(Z)), adapted(X, Z)),
        (adapted.diagonal(strict(X)), adapted.diagonal(X)),
    ]:
        assert isinstance(found, array_api_strict._array_object.Array)
        np.testing.assert_allclose(np.from_dlpack(found), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(3.0), Matern(0.5, 0.1), RationalQuadratic(1.0, 0.1)], ids=repr)
def test_diagonal_is_exactly_one_on_strict_arrays(kernel):
    X = array_api_strict.asarray(np.random.default_rng(0).normal(10, 1, size=(30, 25)))
    assert np.all(np.diagonal(np.from_dlpack(kernel(X))) == 1)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_strict_derivatives_agree_with_numpy(kernel):
    t, s = np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 4)[:, None]
    strict = array_api_strict.asarray
    for order in [(1, 0), (0, 1), (1, 1)]:
        found = kernel.derivative(strict(t), strict(s), order)
        assert found.shape == (5, 4)
        np.testing.assert_allclose(np.from_dlpack(found), kernel.derivative(t, s, order), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("module", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_float32_stays_float32(kernel, module, points):
    X, Z = (module.asarray(P.astype(np.float32)) for P in points)
    adapted = kernel.adapt(X)
    for values in (kernel(X), adapted(X, Z), kernel.diagonal(X)):
        assert values.dtype == module.float32
    if module is np:
        exact = adapted(*(P.astype(np.float32).astype(float) for P in points))
        np.testing.assert_allclose(adapted(X, Z), exact, rtol=2e-5)


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_float32_derivatives_stay_float32(kernel):
    t = np.linspace(0, 1, 5, dtype=np.float32)[:, None]
    for order in [(1, 0), (0, 1), (1, 1)]:
        assert kernel.derivative(t, t, order).dtype == np.float32


def test_integers_and_lists_are_read_as_floats():
    np.testing.assert_allclose(Gaussian(1.0)([[0], [1]]), [[1, np.exp(-1)], [np.exp(-1), 1]])
    assert Linear()(np.array([[1, 2]])).dtype == np.float64


def test_no_new_rows_give_an_empty_matrix():
    for kernel in [*ALL[:-1], FunctionKernel(lambda X, Z: X @ Z.T)]:
        assert kernel(np.empty((0, 3)), np.ones((4, 3))).shape == (0, 4)
        assert kernel.diagonal(np.empty((0, 3))).shape == (0,)


def test_precomputed_returns_the_matrix_itself():
    gram = np.array([[2.0, 1.0], [1.0, 3.0]])
    assert Precomputed()(gram) is gram
    rows = np.array([[0.5, 0.2]])
    assert Precomputed()(rows, gram) is rows
    np.testing.assert_array_equal(Precomputed().diagonal(gram), [2.0, 3.0])


def test_function_kernel_diagonal_goes_by_blocks():
    X = np.random.default_rng(0).normal(size=(150, 2))
    sizes = []

    def linear(X, Z):
        sizes.append(len(X))
        return X @ Z.T

    np.testing.assert_allclose(FunctionKernel(linear).diagonal(X), np.sum(X**2, axis=1))
    assert max(sizes) <= 64


def test_a_large_gram_needs_hardly_more_memory_than_the_result():
    import tracemalloc

    X = np.random.default_rng(0).normal(size=(1500, 30))
    tracemalloc.start()
    for kernel in (Gaussian(0.1), Matern(2.5, 1.0)):
        tracemalloc.reset_peak()
        matrix = kernel(X)
        assert tracemalloc.get_traced_memory()[1] < 2 * matrix.nbytes
        del matrix
    tracemalloc.stop()


@pytest.mark.parametrize(
    "kernel", [Gaussian(0.02), Laplacian(0.3), Matern(1.5, 3.0), RationalQuadratic(1.0, 5.0)], ids=repr
)
@pytest.mark.parametrize("columns", [1, 2, 20])
def test_near_points_far_from_the_others_keep_their_distance(kernel, columns):
    """Differences are exact, however far the points are from their mean."""
    far = np.full((1, columns), 1e12)
    X = np.concatenate([far, far + 2.0**-6, far + 0.5, -3 * far])
    steps = np.array([[0.0], [2.0**-6], [0.5]]) * np.ones((1, columns))
    np.testing.assert_allclose(kernel(X)[:3, :3], kernel(steps), rtol=1e-13)
    np.testing.assert_allclose(kernel(X[:2], X[2:])[:, 0], kernel(steps)[:2, 2], rtol=1e-13)


def test_precomputed_matrices_become_symmetric_and_stay_what_they_are(monkeypatch):
    monkeypatch.setattr("mercer.kernels.precomputed.SYMMETRY_BLOCK", 2)
    rng = np.random.default_rng(0)
    exact = (factor := rng.normal(size=(5, 5))) @ factor.T
    exact = (exact + exact.T) / 2
    given = exact.copy()
    operator = Precomputed().gram(given)
    np.testing.assert_array_equal(operator.to_dense(), exact)
    solve(operator, 1.0, np.ones((5, 1)))
    np.testing.assert_array_equal(given, exact)
    for i, j in ((0, 4), (1, 0), (3, 2)):
        rounded = exact.copy()
        rounded[i, j] *= 1 + 1e-15
        whole = Precomputed().gram(rounded).to_dense()
        np.testing.assert_array_equal(whole, whole.T)
        rounded[i, j] += 1.0
        with pytest.raises(DataError, match="not symmetric"):
            Precomputed().gram(rounded)
    assert Precomputed().gram(np.eye(3, dtype=int)).to_dense().dtype.kind == "f"
