"""The permutation test: its level, its power, and its statistic by definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

from mercer import FunctionalRegressor
from mercer.exceptions import DataError
from mercer.kernels import Gaussian
from mercer.measures import Grid
from mercer.model_selection import permutation_test

GRID = np.linspace(0, 1, 8)
FIXED = {"kernel": Gaussian(0.5), "output_kernel": Gaussian(10.0), "alpha": 1e-2, "grid": GRID}


class Ridge(RegressorMixin, BaseEstimator):
    """Kernel ridge regression without looks at its inputs, for thousands of fits."""

    def fit(self, X, y):
        self.X_, self.mean_ = X, y.mean(axis=0)
        self.coef_ = np.linalg.solve(self._gram(X) + 1.0 * np.eye(len(X)), y - self.mean_)
        return self

    def predict(self, X):
        return self.mean_ + self._gram(X) @ self.coef_

    def _gram(self, X):
        return np.exp(-0.3 * np.sum((X[:, None] - self.X_) ** 2, axis=2))


def curves(rng, effect, n=25):
    """Correlated columns, of which the second has an effect on the last half of the curve only."""
    X = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=n)
    noise = 0.5 * rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 8))
    return X, np.sin(X[:, :1] + GRID) + effect * X[:, 1:] * (GRID > 0.5) + noise


def repeated(effect, repetitions, columns):
    rng = np.random.default_rng(0)
    return [
        permutation_test(Ridge(), *curves(rng, effect), columns, n_permutations=19, random_state=rng.integers(2**31))
        for _ in range(repetitions)
    ]


def test_level_given_another_column():
    found = repeated(0.0, 160, 1)
    for p in ([one.p_value for one in found], [one.p_values.min() for one in found]):
        assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.055)
        assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.1)


def test_level_of_all_columns_is_exact():
    rng, p = np.random.default_rng(1), []
    for _ in range(250):
        X, Y = rng.normal(size=(20, 1)), rng.standard_t(3, size=(20, 8))
        p.append(permutation_test(Ridge(), X, Y, [0], n_permutations=9, random_state=rng.integers(2**31)).p_value)
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.045)


def test_power_is_where_the_effect_is():
    found = repeated(1.0, 20, 1)
    assert np.mean([one.p_value <= 0.05 for one in found]) > 0.8
    at = np.mean([one.p_values <= 0.05 for one in found], axis=0)
    assert at[GRID > 0.5].min() > 0.5
    assert at[GRID <= 0.5].max() < 0.3


def test_statistics_by_definition():
    X, Y = curves(np.random.default_rng(2), 0.5)
    model = FunctionalRegressor(**FIXED)
    found = permutation_test(model, X, np.stack([Y, 2 * Y], axis=2), 1, n_permutations=2, random_state=0)
    constant = X.copy()
    constant[:, 1] = X[0, 1]
    both = np.stack([Y, 2 * Y], axis=2)
    without, given = (
        np.sum((both - FunctionalRegressor(**FIXED).fit(inputs, both).predict(inputs)) ** 2, axis=(0, 2))
        for inputs in (constant, X)
    )
    np.testing.assert_allclose(found.statistics, without / given - 1, rtol=1e-6)
    weights = Grid(GRID).build().weights
    assert found.statistic == pytest.approx(weights @ without / (weights @ given) - 1, rel=1e-6)
    assert found.p_value in (1 / 3, 2 / 3, 1.0)
    np.testing.assert_allclose(found.grid, GRID)


def test_frames_and_several_columns():
    pd = pytest.importorskip("pandas")
    X, Y = curves(np.random.default_rng(3), 1.0, 30)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 0] > 0, "u", "v")})
    model = FunctionalRegressor(**FIXED)
    assert permutation_test(model, frame, Y, ["b"], n_permutations=9, random_state=0).p_value == 0.1
    assert permutation_test(model, frame, Y, ["a", "c"], n_permutations=4, random_state=0).n_permutations == 4


def test_incomplete_curves_are_refused():
    X, Y = curves(np.random.default_rng(4), 0.0)
    Y[0, 0] = np.nan
    with pytest.raises(DataError, match="complete"):
        permutation_test(FunctionalRegressor(**FIXED), X, Y, 0)
    with pytest.raises(DataError, match="complete"):
        permutation_test(FunctionalRegressor(**FIXED), X, [(GRID[i % 2 :], GRID[i % 2 :]) for i in range(25)], 0)
