"""Curves that stand out: named whatever κ is, and a warning where a square-loss fit follows them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.datasets import contaminate_curves, drop_observations, make_curves
from mercer.estimators.grid_curves import GridCurves
from mercer.estimators.outlying import outlying_curves
from mercer.exceptions import ContaminationWarning
from mercer.kernels import Gaussian
from mercer.measures import Grid
from mercer.operator_valued import HarmonicBasis

GRID = np.linspace(0, 1, 20)
#: of make_curves, whose map is linear: nothing to choose but κ
FIXED = {"kernel": Gaussian(1e-3), "output_kernel": Gaussian(150.0), "alpha": 1e-6}


def curves_of(residuals):
    return GridCurves(residuals, Grid(GRID).build(), 1, 2)


def noise(kind, n, rng):
    """Gaussian residual curves: white, smooth, or a random shift of the whole curve."""
    if kind == "white":
        return rng.normal(size=(n, len(GRID)))
    length = 0.2 if kind == "smooth" else 1e3
    root = np.linalg.cholesky(Gaussian(0.5 / length**2)(GRID[:, None]) + 1e-8 * np.eye(len(GRID)))
    return rng.normal(size=(n, len(GRID))) @ root.T


def data(kind, share, seed, n=80):
    data = make_curves(n, 20, random_state=seed)
    if share == 0:
        return data, data.Y, np.zeros(n, dtype=bool)
    return data, *contaminate_curves(data.Y, kind, share, 2.0, random_state=seed)


def test_tuned_kappa_names_the_contaminated_curves():
    # κ, chosen by held-out curves, makes the loss linear on most curves here: saturated_ does not name outliers
    data = make_curves(100, 30, random_state=0)
    Y, touched = contaminate_curves(data.Y, "global", 0.1, 2.0, random_state=0)
    model = FunctionalRegressorCV(grid=data.grid, loss="huber").fit(data.X, Y)
    np.testing.assert_array_equal(model.outlying_, np.flatnonzero(touched))
    assert len(model.saturated_) > 2 * touched.sum()


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("kind", "share"), [("global", 0.0), ("global", 0.05), ("global", 0.2), ("foreign", 0.1), ("foreign", 0.2)]
)
def test_robust_fits_name_contaminated_curves(kind, share, seed):
    curves, Y, touched = data(kind, share, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContaminationWarning)  # a robust loss has no need of it
        model = FunctionalRegressor(grid=curves.grid, loss="huber", **FIXED).fit(curves.X, Y)
    assert touched[model.outlying_].sum() >= 0.85 * touched.sum()  # "global" ones that are nearly 0 remain so
    assert (~touched)[model.outlying_].sum() <= 1


@pytest.mark.parametrize("kind", ["white", "smooth", "shift"])
def test_gaussian_residuals_are_hardly_ever_outlying(kind):
    rng = np.random.default_rng(0)
    found = [outlying_curves(curves_of(R), R).mean() for R in (noise(kind, 60, rng) for _ in range(200))]
    assert np.mean(found) < 5e-4


def test_weights_are_copies():
    R = noise("smooth", 40, np.random.default_rng(1))
    R[5] *= 6
    weight = np.ones(40)
    weight[:10] = 3
    copies = np.concatenate([np.arange(40), np.repeat(np.arange(10), 2)])
    twice = outlying_curves(curves_of(R[copies]), R[copies])
    once = outlying_curves(curves_of(R), R, weight)
    np.testing.assert_array_equal(once, twice[:40])  # the bar depends on the number of curves, the medians do not


def test_curves_with_holes_are_held_to_the_mean_of_what_was_seen():
    curves, Y, touched = data("global", 0.1, 3)
    holes = drop_observations(Y, "random", 0.4, random_state=0)
    model = FunctionalRegressor(grid=curves.grid, loss="huber", **FIXED).fit(curves.X, holes)
    assert set(np.flatnonzero(touched)) <= set(model.outlying_.tolist())
    assert len(model.outlying_) <= touched.sum() + 2


@pytest.mark.parametrize("loss", ["square", "huber", "epsilon_insensitive"])
@pytest.mark.parametrize("mean", ["smooth", "free", None])
@pytest.mark.parametrize("layout", ["grid", "vectors", "holes", "basis", "scattered"])
def test_outlying_curves_are_those_of_the_residuals_of_predictions(layout, mean, loss):
    rng, n, m = np.random.default_rng(4), 40, 8
    X, grid, weight = rng.uniform(size=(n, 2)), np.linspace(0, 1, m), rng.uniform(0.5, 2, size=n)
    Y: Any = np.sin(3 * grid + 3 * X[:, :1]) + 0.2 * rng.normal(size=(n, m))
    Y[[3, 20]] *= [[9.0], [-6.0]]
    basis = HarmonicBasis(m - 1) if layout == "basis" else "nodes"  # with as many coefficients as there are nodes
    if layout == "vectors":
        Y = np.stack([Y, Y[:, ::-1]], axis=2)
    if layout == "holes":
        Y[rng.random(Y.shape) < 0.2] = np.nan
    if layout == "scattered":
        Y = [(np.sort(rng.uniform(size=m)), row) for row in Y]
    kernel = {"kernel": Gaussian(2.0), "output_kernel": Gaussian(5.0), "alpha": 1e-2}
    model = FunctionalRegressor(
        grid=None if layout == "scattered" else grid,
        loss=loss,
        representation=basis,
        fit_intercept=mean is not None,
        mean_curve=mean or "free",
        **kernel,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContaminationWarning)
        model.fit(X, Y, sample_weight=weight)
    expected = np.flatnonzero(model.diagnose(X, Y, sample_weight=weight).outlying)
    assert {3, 20} <= set(expected.tolist())
    np.testing.assert_array_equal(model.outlying_, expected)


def test_few_curves_have_no_outliers():
    R = noise("white", 9, np.random.default_rng(0))
    R[0] *= 100
    assert not outlying_curves(curves_of(R), R).any()


@pytest.mark.parametrize(("kind", "share"), [("global", 0.05), ("global", 0.1), ("foreign", 0.1)])
def test_square_loss_warns_of_contamination(kind, share):
    curves, Y, touched = data(kind, share, 1)
    with pytest.warns(ContaminationWarning, match="loss='huber'"):
        model = FunctionalRegressor(grid=curves.grid).fit(curves.X, Y)
    named = np.isin(np.flatnonzero(touched), model.outlying_)
    assert named.mean() >= 0.8


@pytest.mark.parametrize("kind", ["white", "smooth", "shift", "more with x"])
def test_square_loss_is_silent_on_clean_curves(kind):
    kernels = {"kernel": Gaussian(2.0), "output_kernel": Gaussian(10.0), "alpha": 1e-3}
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(60, 2))
        errors = noise("smooth", 60, rng) * (0.3 + 1.7 * X[:, :1]) if kind == "more with x" else noise(kind, 60, rng)
        Y = np.sin(2 * np.pi * (GRID + X[:, :1])) + 0.2 * errors
        with warnings.catch_warnings():
            warnings.simplefilter("error", ContaminationWarning)
            FunctionalRegressor(grid=GRID, **kernels).fit(X, Y)


def test_curves_without_noise_are_no_cause_for_a_warning():
    X = np.random.default_rng(0).uniform(size=(80, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContaminationWarning)
        FunctionalRegressor(grid=GRID).fit(X, np.sin(2 * np.pi * (GRID + X)))
