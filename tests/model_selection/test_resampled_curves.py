"""Bands by the bootstrap: against their definition, and how often they cover."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.model_selection import ResampledCurves, resample_curves, resample_effects, settle
from mercer.model_selection.columns import with_column

GRID = np.linspace(0, 1, 8)
FIXED = {"kernel": Gaussian(1.0), "output_kernel": Gaussian(10.0), "alpha": 1e-3, "grid": GRID}


class Linear(RegressorMixin, BaseEstimator):
    """Least squares by one factorisation, for many fits."""

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
        return self

    def predict(self, X):
        return np.column_stack([np.ones(len(X)), X]) @ self.coef_


def linear_data(rng, n=50):
    X = rng.normal(size=(n, 2))
    noise = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 8))
    return X, 1 + X[:, :1] * GRID + X[:, 1:] * GRID**2 + noise


def test_simultaneous_bands_of_a_model_without_bias_cover_the_mean():
    rng, new = np.random.default_rng(0), np.array([[0.5, -0.5]])
    truth = 1 + 0.5 * GRID - 0.5 * GRID**2
    whole, single = [], []
    for _ in range(100):
        curves = resample_curves(Linear(), *linear_data(rng), new, n_resamples=49, random_state=rng.integers(2**31))
        for kind, inside in (("simultaneous", whole), ("pointwise", single)):
            low, high = curves.band(0.9, kind)[0].T
            inside.append((low <= truth) & (truth <= high))
    assert np.all(whole, axis=1).mean() == pytest.approx(0.9, abs=0.08)
    assert np.mean(single) == pytest.approx(0.9, abs=0.05)
    assert np.all(single, axis=1).mean() < np.all(whole, axis=1).mean()


def test_a_difference_between_values_covers_the_effect():
    rng, inside = np.random.default_rng(1), []
    for _ in range(80):
        X, Y = linear_data(rng)
        effects = resample_effects(Linear(), X, Y, 1, [-1.0, 1.0], n_resamples=49, random_state=rng.integers(2**31))
        low, high = effects.difference(1, 0).band(0.9)[0].T
        inside.append(np.all((low <= 2 * GRID**2) & (high >= 2 * GRID**2)))
    assert np.mean(inside) == pytest.approx(0.9, abs=0.09)


def test_effects_are_partial_dependence():
    X, Y = linear_data(np.random.default_rng(2))
    model = FunctionalRegressor(**FIXED).fit(X, Y)
    effects = resample_effects(model, X, Y, 0, [0.0, 2.0], n_resamples=3, random_state=0)
    for place, value in enumerate([0.0, 2.0]):
        changed = X.copy()
        changed[:, 0] = value
        np.testing.assert_allclose(effects.curves[place], model.predict(changed).mean(axis=0))
    rows = np.random.RandomState(0).randint(50, size=50)
    changed = X.copy()
    changed[:, 0] = 2.0
    again = FunctionalRegressor(**FIXED).fit(X[rows], Y[rows]).predict(changed).mean(axis=0)
    np.testing.assert_allclose(effects.replicates[0, 1], again)
    np.testing.assert_allclose(effects.grid, GRID)


def test_the_band_by_its_definition():
    rng = np.random.default_rng(3)
    curves, replicates = rng.normal(size=(2, 4)), rng.normal(size=(19, 2, 4)) * [1.0, 2.0, 3.0, 0.0]
    found = ResampledCurves(curves, replicates, None, np.arange(2))
    quartiles = np.quantile(replicates, [0.25, 0.75], axis=0)
    error = (quartiles[1] - quartiles[0]) / 1.349
    away = np.abs(replicates - np.median(replicates, axis=0))[..., :3] / error[..., :3]
    q = np.sort(away.max(axis=2), axis=0)[17]  # the 18th of 19 + 1
    band = found.band(0.9)
    np.testing.assert_allclose(band[..., 1] - curves, q[:, None] * error)
    np.testing.assert_allclose(band[..., 0] + band[..., 1], 2 * curves)
    pointwise = found.band(0.9, "pointwise")[..., :3, 1] - curves[:, :3]
    np.testing.assert_allclose(pointwise, np.sort(away, axis=0)[17] * error[:, :3])
    difference = found.difference(1, 0)
    np.testing.assert_allclose(difference.replicates[:, 0], replicates[:, 1] - replicates[:, 0])


def test_pipelines_frames_lists_and_vectors():
    pd = pytest.importorskip("pandas")
    X, Y = linear_data(np.random.default_rng(4), 30)
    frame = pd.DataFrame({"a": X[:, 0], "kind": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    model = FunctionalRegressor(grid=GRID).fit(frame, Y)
    effects = resample_effects(settle(model), frame, Y, "kind", n_resamples=4, random_state=0)
    assert effects.values.tolist() == ["u", "v"]
    assert effects.band(0.5).shape == (2, 8, 2)
    pipeline = make_pipeline(StandardScaler(), FunctionalRegressor(**FIXED))
    curves = resample_curves(pipeline, X, np.stack([Y, -Y], axis=2), X[:3], n_resamples=4, random_state=0)
    assert curves.band(0.5).shape == (3, 8, 2, 2)
    pairs = [(GRID[i % 2 :], row[i % 2 :]) for i, row in enumerate(Y)]
    assert resample_curves(FunctionalRegressor(**FIXED), X, pairs, X[:2], n_resamples=2).replicates.shape == (2, 2, 8)
    assert resample_effects(LinearRegression(), X, Y, 0, n_resamples=2).grid is None


def test_settled_estimators_choose_nothing():
    X, Y = linear_data(np.random.default_rng(5), 30)
    for model in (
        FunctionalRegressor(grid=GRID),
        FunctionalRegressorCV(grid=GRID, loss="huber", alphas=[1e-3, 1e-1], cv=2),
        GridSearchCV(FunctionalRegressor(grid=GRID), {"alpha": [1e-3, 1e-1]}, cv=2),
        make_pipeline(StandardScaler(), FunctionalRegressor(grid=GRID)),
    ):
        model.fit(X, Y)
        same = settle(model)
        assert "auto" not in str(same.get_params().get("alpha", ""))
        np.testing.assert_allclose(same.fit(X, Y).predict(X), model.predict(X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("settings", [{"representation": "eigen"}, {"kernel": "precomputed"}])
def test_other_settings_are_settled(settings):
    X, Y = linear_data(np.random.default_rng(6), 30)
    inputs = Gaussian(0.3)(X, X) if "kernel" in settings else X
    model = FunctionalRegressor(grid=GRID, **settings).fit(inputs, Y)
    np.testing.assert_allclose(settle(model).fit(inputs, Y).predict(inputs), model.predict(inputs), atol=1e-6)


def test_columns_of_tables():
    whole = np.arange(6).reshape(3, 2)
    np.testing.assert_allclose(with_column("f", whole, 0, 0.5)[:, 0], 0.5)  # not cut to a whole number
    with pytest.raises(MercerError, match="one of 2 columns"):
        with_column("f", whole, 2, 0)
    with pytest.raises(MercerError, match="data frame"):
        with_column("f", whole, "a", 0)
    with pytest.raises(DataError, match="two dimensions"):
        with_column("f", np.arange(3), 0, 0)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert with_column("f", frame, 0, 0.5)["a"].tolist() == [0.5, 0.5]
    assert frame["a"].tolist() == [1, 2]
    with pytest.raises(MercerError, match=r"one of \['a', 'b'\]"):
        with_column("f", frame, "c", 0)


def test_refusals():
    X, Y = linear_data(np.random.default_rng(7), 20)
    curves = resample_curves(Linear(), X, Y, X[:1], n_resamples=5, random_state=0)
    with pytest.raises(MercerError, match="Draw more"):
        curves.band(0.9)
    with pytest.raises(MercerError, match="kind"):
        curves.band(0.5, "uniform")
    with pytest.raises(DataError, match="inconsistent"):
        resample_curves(Linear(), X, Y[:5], X)
    with pytest.raises(UnsupportedError, match="Gram matrices"):
        resample_curves(FunctionalRegressor("precomputed"), X @ X.T, Y, X @ X.T)
    with pytest.raises(DataError, match="curves"):
        resample_curves(LinearRegression(), X, Y[:, 0], X)
