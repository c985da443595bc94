"""Fits beyond the memory budget are refused before they start; those of small rank work."""

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
    "quantile": lambda X: KernelQuantileRegressor(stages="joint").fit(X, X[:, 0]),
    "cost": lambda X: CostSensitiveClassifier().fit(X, X[:, 0] > 0),
    "curves": lambda X: FunctionalRegressor(grid=GRID).fit(X, curves(X)),
    "robust curves": lambda X: FunctionalRegressor(grid=GRID, loss="huber").fit(X, curves(X)),
}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_large_ranks_are_refused_with_figures_before_anything_is_chosen(fit):
    with memory_limit(6 * 2**20), pytest.raises(UnsupportedError, match=r"1500 rows.*rank.*MiB.*fewer rows.*memory_l"):
        fit(X)


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_small_ranks_work_within_the_same_budget(fit):
    with memory_limit(6 * 2**20):
        assert fit(X[:, :1]).status_ == "converged"
