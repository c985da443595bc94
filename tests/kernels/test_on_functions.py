"""Kernels on functions: values against direct sums, weights of grids, bandwidths, tiles and messages."""

import tracemalloc

import array_api_strict
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ParameterGrid

from mercer.exceptions import DataError, MercerError, ParameterError
from mercer.kernels import FunctionalGaussian, Gaussian, IntegralGaussian, IntegralLaplacian, as_kernel, on_functions
from mercer.measures import GaussLegendre, Grid, Points, Trapezoid
from mercer.testing import check_kernel

KINDS = [IntegralGaussian, IntegralLaplacian, FunctionalGaussian]
INTEGRALS = KINDS[:2]
UNEVEN = np.array([0.0, 0.1, 0.4, 1.2, 2.0])


def curves(n, columns, seed=0):
    return np.random.default_rng(seed).normal(3.0, 1.0, size=(n, columns))


def integrand(kind, gamma):
    """The function under the integral sign."""
    if kind is IntegralGaussian:
        return lambda x, z: np.exp(-gamma * (x - z) ** 2)
    return lambda x, z: np.exp(-gamma * abs(x - z))


def direct(kind, gamma, weights, X, Z):
    """The definition, pair after pair."""
    matrix = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            if kind is FunctionalGaussian:
                matrix[i, j] = np.exp(-gamma * sum(weights * (x - z) ** 2))
            else:
                matrix[i, j] = sum(weights * integrand(kind, gamma)(x, z))
    return matrix


@pytest.mark.parametrize("grid", [np.linspace(0, 1, 641), np.linspace(-3, 5, 641), None, Trapezoid(641)])
def test_values_of_the_specification(grid):
    t = np.linspace(0, 1, 641)
    x, z = t[None, :], t[None, :] ** 2
    assert round(IntegralLaplacian(7.0, grid)(x, z).item(), 6) == 0.360919
    assert round(IntegralGaussian(7.0, grid)(x, z).item(), 6) == 0.801220


@pytest.mark.parametrize("kind", KINDS)
def test_trapezoid_sums_on_an_uneven_grid(kind):
    X = curves(4, 5)
    length = UNEVEN[-1] - UNEVEN[0]
    for i, j in [(0, 1), (2, 3), (1, 1)]:
        found = kind(0.4, UNEVEN.tolist())(X)[i, j]
        if kind is FunctionalGaussian:
            expected = np.exp(-0.4 * np.trapezoid((X[i] - X[j]) ** 2, UNEVEN) / length)
        else:
            expected = np.trapezoid(integrand(kind, 0.4)(X[i], X[j]), UNEVEN) / length
        np.testing.assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("columns", [1, 2, 16, 17, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_definition(kind, columns):
    weights = np.random.default_rng(1).uniform(0, 2, columns)
    kernel = kind(0.3, Points(np.arange(columns), weights))
    X, Z = curves(63, columns), curves(31, columns, seed=2)
    np.testing.assert_allclose(kernel(X, Z), direct(kind, 0.3, weights, X, Z), rtol=1e-11)
    np.testing.assert_allclose(kernel(X), direct(kind, 0.3, weights, X, X), rtol=1e-11)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(direct(kind, 0.3, weights, X, X)), rtol=1e-13)


@pytest.mark.parametrize("tile", [1, 50, 300])
@pytest.mark.parametrize("kind", INTEGRALS)
def test_tiles_of_any_size_make_the_same_matrix(kind, tile, monkeypatch):
    X, Z = curves(13, 20), curves(8, 20, seed=2)
    kernel = kind(0.3)
    one, other = kernel(X), kernel(X, Z)
    monkeypatch.setattr(on_functions, "TILE", tile)
    np.testing.assert_allclose(kernel(X), one, rtol=1e-14)
    np.testing.assert_allclose(kernel(X, Z), other, rtol=1e-14)


def test_each_pair_of_curves_is_compared_once():
    X = curves(300, 100)
    compared = []

    def size(values, out):
        compared.append(values.size // 100)
        return np.square(values, out=out)

    on_functions._in_tiles(size, X, X, np.full(100, 0.01))
    assert sum(compared) <= 0.55 * 300**2
    compared.clear()
    on_functions._in_tiles(size, X, X.copy(), np.full(100, 0.01))
    assert sum(compared) == 300**2


@pytest.mark.parametrize("kind", INTEGRALS)
def test_memory_is_that_of_the_result(kind):
    X = curves(250, 300)
    kernel = kind(0.3)
    kernel(X[:20])
    tracemalloc.start()
    try:
        matrix = kernel(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # the points are centred and scaled, which takes two arrays of their size
    assert peak < matrix.nbytes + 2 * X.nbytes + 2 * 8 * on_functions.TILE + 100_000


@pytest.mark.parametrize("kind", INTEGRALS)
def test_integral_kernels_are_means_and_bounded_by_the_disturbed_length(kind):
    x = np.linspace(0, 1, 101)[None, :]
    z = x.copy()
    z[0, 40:50] = 1e6  # ten of the hundred steps
    np.testing.assert_allclose(kind(2.0)(x, z), 0.9, rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.7, "median"])
@pytest.mark.parametrize("columns", [5, 30])
@pytest.mark.parametrize("kind", KINDS)
def test_splitting_a_point_changes_nothing(kind, columns, gamma):
    t = np.linspace(0, 1, columns) ** 2
    weights = np.random.default_rng(3).uniform(0.1, 1, columns)
    X = curves(12, columns)
    split = [*range(3), *range(2, columns)]  # column 2 twice
    halves = weights[split].copy()
    halves[[2, 3]] /= 2
    whole = kind(gamma, Points(t, weights)).adapt(X)
    parts = kind(gamma, Points(t[split], halves)).adapt(X[:, split])
    np.testing.assert_allclose(parts.gamma, whole.gamma, rtol=1e-13)
    np.testing.assert_allclose(parts(X[:, split]), whole(X), rtol=1e-12)
    np.testing.assert_allclose(parts.diagonal(X[:, split]), whole.diagonal(X), rtol=1e-13)


@pytest.mark.parametrize("gamma", [0.7, "median"])
@pytest.mark.parametrize("kind", KINDS)
def test_points_of_weight_zero_do_not_count(kind, gamma):
    X = curves(9, 5)
    weights = np.array([1.0, 0.0, 2.0, 3.0, 0.0])
    seen = weights > 0
    K = kind(gamma, Points(UNEVEN, weights))(X)
    np.testing.assert_allclose(K, kind(gamma, Points(UNEVEN[seen], weights[seen]))(X[:, seen]), rtol=1e-12)


def test_grids_as_arrays_rules_and_quadratures():
    X = curves(6, 5)
    for kind in KINDS:
        np.testing.assert_array_equal(kind(1.0, UNEVEN)(X), kind(1.0, Grid(UNEVEN))(X))
        np.testing.assert_allclose(kind(1.0)(X), kind(1.0, Trapezoid(5))(X), rtol=1e-14)
        assert abs(kind(1.0, GaussLegendre(5))(X) - kind(1.0)(X)).max() > 1e-3
    np.testing.assert_allclose(IntegralGaussian(1.0, Points(UNEVEN, np.full(5, 2.0))).diagonal(X), 10.0)


def test_gaussian_of_the_distance_is_the_gaussian_of_weighted_columns():
    X, Z = curves(40, 25), curves(7, 25, seed=2)
    weights = Grid(np.linspace(0, 2, 25) ** 2 + 1).build().weights
    found = FunctionalGaussian(0.8, np.linspace(0, 2, 25) ** 2 + 1)(X, Z)
    np.testing.assert_allclose(found, rbf_kernel(X * np.sqrt(weights), Z * np.sqrt(weights), gamma=0.8), rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_median_bandwidth(kind):
    X = curves(7, 5)
    weights = Grid(UNEVEN).build().weights
    power = 1 if kind is IntegralLaplacian else 2
    pairs = [(i, j) for i in range(7) for j in range(i)]
    distances = [sum(weights * abs(X[i] - X[j]) ** power) ** (1 / power) for i, j in pairs]
    expected = np.median(distances) ** -power
    kernel = kind(grid=UNEVEN)
    np.testing.assert_allclose(kernel.adapt(X).gamma, expected, rtol=1e-13)
    np.testing.assert_allclose(kernel.adapt(10 * X + 3).gamma, expected / 10**power, rtol=1e-12)
    assert kernel.adapt(X[:1]).gamma == 1.0
    assert kernel.gamma == "median"
    np.testing.assert_array_equal(kernel(X), kernel.adapt(X)(X))
    # the mass is a factor of the kernel, or of the exponent where γ makes up for it
    mass = 1.0 if kind is FunctionalGaussian else 4.0
    np.testing.assert_allclose(kind(grid=Points(UNEVEN, 4 * weights))(X), mass * kernel(X), rtol=1e-12)


@pytest.mark.parametrize("gamma", [0.7, "median"])
@pytest.mark.parametrize("kind", KINDS)
def test_contract(kind, gamma):
    check_kernel(kind(gamma))
    check_kernel(kind(gamma, [0.0, 1.0, 4.0]))
    check_kernel(kind(gamma, Points([0.0, 1.0, 4.0], [1.0, 0.0, 5.0])))
    check_kernel(kind(gamma), curves(12, 23))
    check_kernel(kind(gamma), curves(12, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_functions_and_scalar_covariates_together(kind):
    X, Z = curves(9, 22), curves(4, 22, seed=2)
    t = np.linspace(0, 1, 20) ** 2
    kernel = kind(grid=t).restrict(range(20)) * Gaussian().restrict([20, 21])
    adapted = kernel.adapt(X)
    functions, scalars = kind(grid=t).adapt(X[:, :20]), Gaussian().adapt(X[:, 20:])
    assert adapted == functions.restrict(range(20)) * scalars.restrict([20, 21])
    expected = functions(X[:, :20], Z[:, :20]) * scalars(X[:, 20:], Z[:, 20:])
    np.testing.assert_allclose(adapted(X, Z), expected, rtol=1e-13)
    check_kernel(kernel + 1.0, X)


@pytest.mark.parametrize("grid", [None, Points(np.arange(20), np.r_[0.0, np.arange(1.0, 20)])])
@pytest.mark.parametrize("kind", KINDS)
def test_strict_arrays_agree_with_numpy(kind, grid):
    X, Z = curves(9, 20), curves(4, 20, seed=2)
    strict = array_api_strict.asarray
    kernel = kind(grid=grid)
    adapted = kernel.adapt(X)
    assert kernel.adapt(strict(X)) == adapted
    for found, expected in [
        (kernel(strict(X)), kernel(X)),
        (adapted(strict(X), strict(Z)), adapted(X, Z)),
        (adapted.diagonal(strict(X)), adapted.diagonal(X)),
    ]:
        assert isinstance(found, array_api_strict._array_object.Array)
        np.testing.assert_allclose(np.from_dlpack(found), expected, rtol=1e-12)


@pytest.mark.parametrize("module", [np, array_api_strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("columns", [5, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_float32_stays_float32(kind, columns, module):
    X = curves(9, columns).astype(np.float32)
    kernel = kind().adapt(X)
    moved = module.asarray(X)
    assert kernel(moved).dtype == kernel(moved, moved[:2, :]).dtype == kernel.diagonal(moved).dtype == module.float32
    if module is np:
        np.testing.assert_allclose(kernel(X), kernel(X.astype(float)), rtol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_no_functions_at_all(kind):
    for columns in (3, 20):
        X = curves(4, columns)
        assert kind(1.0)(X[:0], X).shape == (0, 4)
        assert kind(1.0)(X, X[:0]).shape == (4, 0)
        assert kind(1.0)(X[:0]).shape == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_records(kind):
    kernel = kind(2.0, UNEVEN)
    assert clone(kernel) == kernel != kind(2.0, UNEVEN[:4])
    assert repr(kind()) == f"{kind.__name__}()"
    assert repr(kind(2.0, Trapezoid(5))) == f"{kind.__name__}(gamma=2, grid=Trapezoid(size=5))"
    rule = kind(2.0, Trapezoid(5))
    assert rule.set_params(grid__size=7).grid == Trapezoid(7)
    for params in ParameterGrid({"gamma": np.logspace(-1, 1, 3), "grid": [None, UNEVEN]}):
        assert clone(kernel).set_params(**params) == kind(**params)
    assert not kernel.differentiable


def test_names():
    assert as_kernel("integral_gaussian") == IntegralGaussian()
    assert as_kernel("integral_laplacian") == IntegralLaplacian()
    assert as_kernel("functional_gaussian") == FunctionalGaussian()


@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "mean", "standardized", [1.0, 2.0], None, True])
@pytest.mark.parametrize("kind", KINDS)
def test_bad_bandwidths_are_refused(kind, gamma):
    with pytest.raises(MercerError, match=rf'^{kind.__name__}: gamma must be a finite number > 0; got .*"median"'):
        kind(gamma)


@pytest.mark.parametrize(
    "grid", [[0.0, 0.0, 1.0], [1.0, 0.0], [0.0, np.nan], [], 3, "uniform", object(), np.zeros((2, 2, 2)), Trapezoid]
)
@pytest.mark.parametrize("kind", KINDS)
def test_bad_grids_are_refused(kind, grid):
    with pytest.raises(MercerError, match=rf"^{kind.__name__}: grid must be None, strictly increasing numbers"):
        kind(1.0, grid)


@pytest.mark.parametrize("grid", [UNEVEN, Points(UNEVEN), Trapezoid(5)])
@pytest.mark.parametrize("kind", KINDS)
def test_grids_of_another_length_are_refused(kind, grid):
    X = curves(4, 6)
    message = rf"^{kind.__name__}: grid has 5 points, but the functions have 6 columns.*restrict"
    fixed = kind(1.0, grid)
    for call in (fixed, fixed.diagonal, fixed.adapt, kind(grid=grid), lambda X: fixed(X, X[:1])):
        with pytest.raises(DataError, match=message):
            call(X)


def test_unresolved_bandwidth_with_two_sets_of_functions():
    X = curves(4, 6)
    with pytest.raises(ParameterError, match=r"gamma='median' depends on the data.*kernel\.adapt\(X\)"):
        IntegralGaussian()(X, X[:1])
