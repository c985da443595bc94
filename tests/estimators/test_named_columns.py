"""Kernels that name columns, under estimators fitted on data frames."""

import numpy as np
import pandas as pd
import pytest
from mixed_frames import LIBRARIES, make_frame
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
)
from mercer.exceptions import DataError
from mercer.kernels import Categorical, Gaussian, Linear
from mercer.measures import Points
from mercer.operator_valued import Decomposable

LEVELS = Points([0.1, 0.5, 0.9])
NAMED = Gaussian("standardized").restrict(["age", "since"]) * (0.1 + Categorical(0.3).restrict(["town", "grade"]))
#: age, since and their indicators; town and grade, four columns each
PLACES = [[0, 1, 7, 8], [2, 3, 4, 5, 10, 11, 12, 13]]

MODELS = {
    "quantiles": lambda kernel: KernelQuantileRegressor(kernel, alpha=0.01, measure=LEVELS),
    "whole": lambda kernel: KernelQuantileRegressor(Decomposable(kernel, Gaussian(5.0)), alpha=0.01, measure=LEVELS),
    "tuned": lambda kernel: KernelQuantileRegressorCV([kernel], alphas=[0.01, 0.1], measure=LEVELS, cv=3),
    "costs": lambda kernel: CostSensitiveClassifier(kernel, alpha=0.01, measure=LEVELS),
    "level sets": lambda kernel: LevelSetDetector(kernel, measure=LEVELS),
    "curves": lambda kernel: FunctionalRegressor(kernel, alpha=1e-3),
    "tuned curves": lambda kernel: FunctionalRegressorCV([kernel], alphas=[1e-3]),
}


def target(name, y):
    if name == "costs":
        return y > np.median(y)
    return np.column_stack([y, -y]) if "curves" in name else y


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MODELS)
def test_names_become_places(name, library):
    X, y = make_frame(library)
    given = MODELS[name](NAMED)
    model = clone(given).fit(X, target(name, y))
    assert model.kernel_.left.columns == PLACES[0]
    assert model.kernel_.right.right.columns == PLACES[1]
    assert model.kernel_.right.right.kernel == Categorical(0.3, widths=[4, 4])
    np.testing.assert_allclose(model.kernel_(model.X_fit_[:3], model.X_fit_), model.kernel_(model.X_fit_)[:3])
    assert np.all(np.isfinite(np.asarray(model.predict(X), dtype=float)))
    assert given.get_params() == MODELS[name](NAMED).get_params()  # the record is as it was


def test_names_of_tables_of_numbers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    y = X["b"].to_numpy()
    named = KernelQuantileRegressor(Linear().restrict(["c", "b"]), alpha=0.01, measure=LEVELS).fit(X, y)
    placed = KernelQuantileRegressor(Linear().restrict([2, 1]), alpha=0.01, measure=LEVELS).fit(X, y)
    np.testing.assert_array_equal(named.predict(X), placed.predict(X))
    assert named.kernel_ == placed.kernel_


def test_categories_of_a_frame_are_compared_as_codes_are():
    X, y = make_frame("pandas")
    town = X["town"].fillna("none").to_numpy()[:, None]
    model = KernelQuantileRegressor(Categorical(0.4).restrict("town"), alpha=0.01, measure=LEVELS).fit(X, y)
    encoded = model.encoder_.transform(X)
    np.testing.assert_allclose(model.kernel_(encoded), Categorical(0.4)(town))


def test_similarity_is_tuned_by_search():
    X, y = make_frame("pandas")
    model = KernelQuantileRegressor(Gaussian().restrict("age") * Categorical().restrict("town"), alpha=0.01)
    search = GridSearchCV(model, {"kernel__right__kernel__similarity": [0.0, 0.5]}, cv=2).fit(X, y)
    assert search.best_params_["kernel__right__kernel__similarity"] == 0.5


def test_unknown_names_are_refused():
    X, y = make_frame("pandas")
    model = KernelQuantileRegressor(Linear().restrict("height"), alpha=0.01)
    with pytest.raises(DataError, match="X has no column 'height'; it has 'age', 'town'"):
        model.fit(X, y)
    with pytest.raises(DataError, match="those of X have no names"):
        model.fit(np.ones((3, 2)), [1.0, 2.0, 3.0])
