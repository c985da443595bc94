"""Array type in = array type out, with the numbers of NumPy."""

import numpy as np
import pytest

from mercer import KernelQuantileRegressor
from mercer.backend import to_numpy
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.measures import Points

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(16, 2))
Y = np.sin(4 * X[:, 0]) + 0.3 * RNG.normal(size=16)
WEIGHT = RNG.integers(0, 3, 16).astype(float)
NEW = RNG.uniform(size=(7, 2))
LEVELS = [0.1, 0.33, 0.5, 0.9]
# the same algorithm on both sides, so that equal means equal and not "within the gap"
SETTINGS = {"alpha": 0.05, "tol": 1e-4, "measure": Points([0.1, 0.5, 0.9]), "solver": "proximal_gradient"}


def strict():
    return pytest.importorskip("array_api_strict")


def jax_x64():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return pytest.importorskip("jax.numpy")


@pytest.mark.parametrize("library", [strict, jax_x64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("noncrossing", ["rearrange", None])
def test_other_arrays_give_the_same(library, weighted, noncrossing):
    xp = library()
    settings = SETTINGS | {"noncrossing": noncrossing}
    x, y, new = xp.asarray(X), xp.asarray(Y), xp.asarray(NEW)
    here = KernelQuantileRegressor(**settings).fit(X, Y, WEIGHT if weighted else None)
    there = KernelQuantileRegressor(**settings).fit(x, y, xp.asarray(WEIGHT) if weighted else None)
    target = RNG.normal(size=7)
    pairs = {
        "predict": (there.predict(new), here.predict(NEW)),
        "predict_quantile": (there.predict_quantile(new, LEVELS), here.predict_quantile(NEW, LEVELS)),
        "predict_interval": (there.predict_interval(new, 0.7), here.predict_interval(NEW, 0.7)),
        "predict_mean": (there.predict_mean(new), here.predict_mean(NEW)),
        "predict_cdf": (there.predict_cdf(new, xp.asarray(target)), here.predict_cdf(NEW, target)),
        "sample": (there.sample(new, 3, random_state=1), here.sample(NEW, 3, random_state=1)),
        "dual_coef_": (there.dual_coef_, here.dual_coef_),
        "intercept_": (there.intercept_, here.intercept_),
        "grid_": (there.grid_, here.grid_),
        "X_fit_": (there.X_fit_, here.X_fit_),
    }
    for name, (got, wanted) in pairs.items():
        assert type(got) is type(x), name
        np.testing.assert_allclose(to_numpy(got), wanted, rtol=1e-6, atol=1e-6, err_msg=name)
    assert there.score(x, y) == pytest.approx(here.score(X, Y), abs=1e-6)
    assert type(there.alpha_) is type(there.relative_gap_) is float


def test_the_default_solver_for_other_arrays_reaches_the_same_model():
    xp = strict()
    settings = {key: value for key, value in SETTINGS.items() if key != "solver"} | {"tol": 1e-8}
    here = KernelQuantileRegressor(**settings).fit(X, Y)
    there = KernelQuantileRegressor(**settings).fit(xp.asarray(X), xp.asarray(Y))
    assert type(here.solver_) is not type(there.solver_)
    found = to_numpy(there.predict_quantile(xp.asarray(NEW), LEVELS))
    np.testing.assert_allclose(found, here.predict_quantile(NEW, LEVELS), atol=1e-4)


def test_stages_are_for_numpy():
    xp = strict()
    x, y = xp.asarray(X), xp.asarray(Y)
    model = KernelQuantileRegressor(measure=Points([0.1, 0.5, 0.9]), tol=0.1).fit(x, y)
    assert model.stages_ is None
    assert type(model.predict(x)) is type(x)
    with pytest.raises(UnsupportedError, match=r"stages='separate' works on NumPy arrays only.*stages='joint'"):
        KernelQuantileRegressor(stages="separate").fit(x, y)


def test_alpha_auto_on_other_arrays():
    xp = strict()
    settings = SETTINGS | {"alpha": "auto", "tol": 0.1}
    here = KernelQuantileRegressor(**settings).fit(X, Y, WEIGHT)
    there = KernelQuantileRegressor(**settings).fit(xp.asarray(X), xp.asarray(Y), WEIGHT)
    assert there.alpha_ == pytest.approx(here.alpha_, rel=1e-12)


def test_precomputed_on_other_arrays_with_rows_of_weight_zero():
    xp = strict()
    K, k = Gaussian(2.0)(X), Gaussian(2.0)(NEW, X)
    settings = SETTINGS | {"kernel": "precomputed"}
    here = KernelQuantileRegressor(**settings).fit(K, Y, WEIGHT)
    there = KernelQuantileRegressor(**settings).fit(xp.asarray(K), xp.asarray(Y), WEIGHT)
    found = to_numpy(there.predict_quantile(xp.asarray(k), LEVELS))
    np.testing.assert_allclose(found, here.predict_quantile(k, LEVELS), atol=1e-6)


def test_integers_and_single_precision_of_other_libraries():
    xp = strict()
    settings = SETTINGS | {"tol": 1e-2}
    whole = RNG.integers(0, 9, (12, 2))
    y = RNG.integers(0, 5, 12)
    here = KernelQuantileRegressor(**settings).fit(whole, y)
    there = KernelQuantileRegressor(**settings).fit(xp.asarray(whole), xp.asarray(y))
    np.testing.assert_allclose(to_numpy(there.predict(xp.asarray(whole))), here.predict(whole), atol=1e-9)
    single = KernelQuantileRegressor(**settings).fit(xp.asarray(X, dtype=xp.float32), xp.asarray(Y, dtype=xp.float32))
    assert bool(xp.all(xp.isfinite(single.predict(xp.asarray(NEW, dtype=xp.float32)))))


def test_arrays_of_two_libraries_are_not_mixed_at_prediction():
    xp = strict()
    model = KernelQuantileRegressor(**SETTINGS).fit(X, Y)
    with pytest.raises(DataError, match="must use the same namespace"):
        model.predict(xp.asarray(NEW))
    with pytest.raises(DataError, match="must use the same namespace"):
        KernelQuantileRegressor(**SETTINGS).fit(xp.asarray(X), xp.asarray(Y)).predict(NEW)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda xp, x, y: (x[:, 0], y, None), "Expected 2D array"),
        (lambda xp, x, y: (x[:0, :], y[:0], None), "minimum of 1"),
        (lambda xp, x, y: (xp.asarray(np.full((16, 2), np.nan)), y, None), "X contains NaN"),
        (lambda xp, x, y: (x, y + np.inf, None), "y contains NaN or infinity"),
        (lambda xp, x, y: (x, y[:-1], None), r"y must have shape \(16,\)"),
        (lambda xp, x, y: (x, None, None), "requires y"),
        (lambda xp, x, y: (x, y, -(y**2)), "sample_weight must be non-negative"),
    ],
)
def test_bad_arrays_of_other_libraries(change, message):
    xp = strict()
    x, y, weight = change(xp, xp.asarray(X), xp.asarray(Y))
    with pytest.raises(DataError, match=message):
        KernelQuantileRegressor(**SETTINGS).fit(x, y, weight)
