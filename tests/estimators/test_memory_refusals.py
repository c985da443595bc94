"""Fits beyond the memory budget take features or, where these are not wanted, are refused; small ranks work."""

import numpy as np
import pytest

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor
from mercer.exceptions import UnsupportedError
from mercer.linalg import memory_limit

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 10))
GRID = np.linspace(0, 1, 8)


def curves(X):
    return np.sin(3 * GRID + X[:, :1]) + 0.3 * np.random.default_rng(1).normal(size=(len(X), len(GRID)))


FITS = {
    "quantile": lambda X, **how: KernelQuantileRegressor(stages="joint", **how).fit(X, X[:, 0]),
    "cost": lambda X, **how: CostSensitiveClassifier(**how).fit(X, X[:, 0] > 0),
    "curves": lambda X, **how: FunctionalRegressor(grid=GRID, **how).fit(X, curves(X)),
    "robust curves": lambda X, **how: FunctionalRegressor(grid=GRID, loss="huber", **how).fit(X, curves(X)),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_large_ranks_are_refused_with_figures_before_anything_is_chosen(fit):
    with memory_limit(6 * 2**20), pytest.raises(UnsupportedError, match=r"1500 rows.*rank.*MiB.*fewer rows.*memory_l"):
        fit(X, approximation=None)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_by_default_features_take_their_place(fit):
    with memory_limit(12 * 2**20):
        model = fit(X)
    assert model.status_ == "converged"
    assert model.approximation_.n_features == model.approximation_.features.n_landmarks == 262
    assert model.X_fit_ is None


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_small_ranks_work_within_the_same_budget(fit):
    with memory_limit(6 * 2**20):
        model = fit(X[:, :1], approximation=None)
    assert model.status_ == "converged"
    assert model.approximation_ is None
