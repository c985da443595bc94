"""One name for values at several θ: every estimator has predict_at(X, θ), and the old names warn."""

import warnings

import numpy as np
import pytest

from mercer import (
    ConformalQuantileRegressor,
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
)
from mercer.exceptions import MercerError
from mercer.measures import GaussLegendre, Points

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2))
Y = np.sin(4 * X[:, 0]) + 0.3 * RNG.normal(size=40)
GRID = np.linspace(0, 1, 6)
CURVES = np.sin(3 * (GRID + X[:, :1])) + 0.1 * RNG.normal(size=(40, 6))
SMALL = {"alpha": 0.05, "measure": GaussLegendre(4)}
MODELS = {
    "quantiles": KernelQuantileRegressor(**SMALL).fit(X, Y),
    "stages": KernelQuantileRegressor().fit(X, Y),
    "quantiles, tuned": KernelQuantileRegressorCV(alphas=[0.05], measure=GaussLegendre(4), cv=2).fit(X, Y),
    "calibrated": ConformalQuantileRegressor(KernelQuantileRegressor(**SMALL), random_state=0).fit(X, Y),
    "costs": CostSensitiveClassifier(**SMALL).fit(X, Y > 0),
    "level sets": LevelSetDetector(measure=Points([0.1, 0.5, 0.9])).fit(X),
    "curves": FunctionalRegressor(grid=GRID, alpha=0.01).fit(X, CURVES),
    "curves, tuned": FunctionalRegressorCV(grid=GRID, alphas=[0.01]).fit(X, CURVES),
}
NEW, THETA = X[:5] + 0.01, [0.5, 0.2, 0.77]
OLD = {"costs": "predict_function", "level sets": "decision_functions", "curves": "predict_function"}


@pytest.mark.parametrize("name", MODELS)
def test_values_at_all_rows_and_all_theta(name):
    model = MODELS[name]
    together = model.predict_at(NEW, THETA)
    assert together.shape == (5, 3)
    assert np.ptp(together[0]) > 0  # they are functions of θ
    for j, theta in enumerate(THETA):
        np.testing.assert_allclose(model.predict_at(NEW, [theta]), together[:, [j]], rtol=1e-10, atol=1e-12)
    for refused in ([], [np.nan], [[[0.5]]], "half"):
        with pytest.raises(MercerError):
            model.predict_at(NEW, refused)


@pytest.mark.parametrize("name", ["quantiles", "stages", "quantiles, tuned", "calibrated"])
def test_quantiles_have_a_word_of_their_own(name):
    model = MODELS[name]
    np.testing.assert_array_equal(model.predict_at(NEW, THETA), model.predict_quantile(NEW, THETA))


def test_what_it_is_at_one_theta():
    at = {name: MODELS[name].predict_at(NEW, THETA) for name in ("costs", "level sets", "curves")}
    np.testing.assert_allclose(at["costs"][:, 1], MODELS["costs"].decision_function(NEW, cost=0.2))
    np.testing.assert_allclose(at["level sets"][:, 1], MODELS["level sets"].decision_function(NEW, level=0.2))
    np.testing.assert_allclose(MODELS["curves"].predict_at(NEW, GRID), MODELS["curves"].predict(NEW))


@pytest.mark.parametrize("name", OLD)
def test_old_names_warn_and_answer(name):
    model = MODELS[name]
    with pytest.warns(FutureWarning, match=rf"{OLD[name]} is called predict_at now; .* mercer 0\.3") as told:
        found = getattr(model, OLD[name])(NEW, THETA)
    assert told[0].filename == __file__  # the line of who calls
    np.testing.assert_array_equal(found, model.predict_at(NEW, THETA))


def test_the_keywords_of_old_names_are_those_of_the_new_one():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        MODELS["costs"].predict_function(NEW, costs=0.5)
        MODELS["level sets"].decision_functions(NEW, levels=0.5)
        MODELS["curves"].predict_function(NEW, points=[2.0], extrapolate=True)
