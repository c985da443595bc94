"""Inputs that are functions, in every estimator: alone, with scalars, with holes and at points of their own."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from mercer import (
    ConformalFunctionalRegressor,
    ConformalQuantileRegressor,
    CostMatrixClassifier,
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
)
from mercer.datasets import load_sea_temperatures
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import FunctionalGaussian, Gaussian, IntegralGaussian
from mercer.preprocessing import CurveTable, TableEncoder, curves_from_long

RNG = np.random.default_rng(0)
N, T, GRID = 50, np.linspace(0, 1, 15), np.linspace(0, 1, 8)
PHASE, AGE = RNG.uniform(size=(N, 1)), RNG.normal(size=N)
CURVES = np.sin(2 * np.pi * (T + PHASE)) + 0.1 * RNG.normal(size=(N, 15))
OUTPUTS = np.cos(2 * np.pi * (GRID + PHASE)) + 0.3 * AGE[:, None] + 0.1 * RNG.normal(size=(N, 8))
NUMBER = np.cos(2 * np.pi * PHASE[:, 0]) + 0.3 * AGE + 0.1 * RNG.normal(size=N)
PAIRS = [(T, row) for row in CURVES]
TABLE = CurveTable({"wave": PAIRS, "age": AGE})

ESTIMATORS = {
    "curves": (FunctionalRegressor(grid=GRID), OUTPUTS),
    "curves, tuned": (FunctionalRegressorCV(grid=GRID), OUTPUTS),
    "curves, with bands": (ConformalFunctionalRegressor(FunctionalRegressor(grid=GRID), random_state=0), OUTPUTS),
    "quantiles": (KernelQuantileRegressor(), NUMBER),
    "quantiles, tuned": (KernelQuantileRegressorCV(cv=2), NUMBER),
    "quantiles, calibrated": (ConformalQuantileRegressor(random_state=0), NUMBER),
    "costs": (CostSensitiveClassifier(), NUMBER > 0),
    "cost matrix": (CostMatrixClassifier(), NUMBER > 0),
    "level sets": (LevelSetDetector(), None),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_takes_curves_and_scalars(name):
    estimator, y = ESTIMATORS[name]
    expected = estimator.fit(TABLE, y).predict(TABLE[:5])
    if y is not None:
        assert estimator.score(TABLE, y) > 0.5
    copied = pickle.loads(pickle.dumps(estimator))
    for new in (TABLE[:5], {"wave": PAIRS[:5], "age": AGE[:5]}, pd.DataFrame({"wave": PAIRS[:5], "age": AGE[:5]})):
        np.testing.assert_array_equal(copied.predict(new), expected)
    np.testing.assert_array_equal(copied.predict([PAIRS[:5], AGE[:5]]), expected)


@pytest.mark.parametrize("name", [name for name in ESTIMATORS if name not in ("costs", "curves, tuned")])
def test_a_list_of_parts_is_a_table(name):
    estimator, y = ESTIMATORS[name]
    few = None if y is None else y[:25]
    expected = clone(estimator).fit(TABLE[:25], few).predict(TABLE[:5])
    found = clone(estimator).fit([PAIRS[:25], AGE[:25]], few).predict([PAIRS[:5], AGE[:5]])
    np.testing.assert_array_equal(found, expected)


def test_values_for_kernels_on_functions_and_scores_for_tables():
    kernel = FunctionalGaussian(grid=T)
    for estimator, y in ((FunctionalRegressor(kernel, grid=GRID), OUTPUTS), (KernelQuantileRegressor(kernel), NUMBER)):
        np.testing.assert_array_equal(estimator.fit(PAIRS, y).predict(PAIRS), estimator.fit(CURVES, y).predict(CURVES))
    model = KernelQuantileRegressor().fit(TABLE, NUMBER)
    scores = TableEncoder().fit_transform(TABLE)
    np.testing.assert_array_equal(model.predict(TABLE), KernelQuantileRegressor().fit(scores, NUMBER).predict(scores))
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["wave", "age"]
    detector = LevelSetDetector(kernel=kernel).fit(PAIRS)
    np.testing.assert_array_equal(detector.predict(PAIRS), LevelSetDetector(kernel=kernel).fit(CURVES).predict(CURVES))
    named = (FunctionalGaussian(grid=T).restrict("wave") * Gaussian().restrict("age"),)
    by_number = FunctionalGaussian(grid=T).restrict(range(15)) * Gaussian().restrict([15])
    np.testing.assert_array_equal(
        FunctionalRegressor(named[0], grid=GRID).fit(TABLE, OUTPUTS).predict(TABLE),
        FunctionalRegressor(by_number, grid=GRID)
        .fit(np.column_stack([CURVES, AGE]), OUTPUTS)
        .predict(np.column_stack([CURVES, AGE])),
    )


def test_holes_and_points_of_their_own():
    holes = np.where(np.random.default_rng(1).random(CURVES.shape) < 0.3, np.nan, CURVES)
    model = FunctionalRegressor(grid=GRID).fit([(T, row) for row in holes[:40]], OUTPUTS[:40])
    complete = FunctionalRegressor(grid=GRID).fit(PAIRS[:40], OUTPUTS[:40])
    new = [(T, row) for row in holes[40:]]
    assert model.score(new, OUTPUTS[40:]) > complete.score(PAIRS[40:], OUTPUTS[40:]) - 0.1
    points = [np.sort(RNG.uniform(size=7)) for _ in range(N)]
    own = [(t, np.sin(2 * np.pi * (t + a))) for t, a in zip(points, PHASE[:, 0], strict=True)]
    shifted = np.cos(2 * np.pi * (GRID + PHASE))
    assert FunctionalRegressor(grid=GRID).fit(own[:40], shifted[:40]).score(own[40:], shifted[40:]) > 0.9
    fine = np.linspace(0, 1, 77)
    waves = np.sin(2 * np.pi * (fine + PHASE))
    np.testing.assert_allclose(
        complete.predict([(fine, row) for row in waves]),
        complete.predict(np.sin(2 * np.pi * (T + PHASE))),
        atol=0.05,
    )


def test_a_long_frame_from_end_to_end():
    def long(points, values):
        rows = [(i, t, x) for i, row in enumerate(values) for t, x in zip(points, row, strict=True)]
        return pd.DataFrame(rows, columns=["id", "t", "x"]).sample(frac=0.8, random_state=0)

    inputs, ids = curves_from_long(long(T, CURVES), id="id", t="t", value="x")
    outputs, _ = curves_from_long(long(GRID, OUTPUTS), id="id", t="t", value="x", ids=ids)
    model = FunctionalRegressor(grid=GRID).fit(inputs, outputs)
    assert model.score(inputs, outputs) > 0.5
    assert model.predict(inputs[:3]).shape == (3, 8)


def test_tools_of_scikit_learn():
    model = FunctionalRegressor(Gaussian("standardized"), grid=GRID, alpha=1e-3)
    frame = pd.DataFrame({"wave": PAIRS, "age": AGE})
    expected = cross_val_score(model, TABLE, OUTPUTS, cv=2)
    np.testing.assert_allclose(cross_val_score(model, frame, OUTPUTS, cv=2), expected)
    assert cross_val_score(model, PAIRS, OUTPUTS, cv=2).shape == (2,)
    search = GridSearchCV(model, {"alpha": [1e-3, 1.0]}, cv=2).fit(TABLE, OUTPUTS)
    assert search.best_params_ == {"alpha": 1e-3}
    scores = make_pipeline(TableEncoder(), KernelQuantileRegressor()).fit(TABLE, NUMBER)
    np.testing.assert_array_equal(scores.predict(TABLE), KernelQuantileRegressor().fit(TABLE, NUMBER).predict(TABLE))


def test_the_default_compares_curves_as_curves():
    """A level that says nothing, and a slope that says all: derivatives tell, the L² distance does not."""
    rng = np.random.default_rng(1)
    slope, level = rng.normal(size=(80, 1)), 20 * rng.normal(size=(80, 1))
    curves = level + slope * T
    outputs = np.sin(2 * slope + 3 * GRID) + 0.05 * rng.normal(size=(80, 8))
    model = FunctionalRegressor(grid=GRID).fit([(T, row) for row in curves[:60]], outputs[:60])
    plain = FunctionalRegressor(grid=GRID).fit(curves[:60], outputs[:60])
    score = model.score([(T, row) for row in curves[60:]], outputs[60:])
    assert score > 0.9
    assert score > plain.score(curves[60:], outputs[60:])
    assert model.relevance_ is None  # the kernel is no longer one of columns


def test_curves_are_not_worse_than_their_table():
    """On real curves where one kernel on functions by itself is much worse than the default, as it comes."""
    sea = load_sea_temperatures()
    t, X, Y = sea.months[:6], sea.temperature[:, :6], sea.temperature[:, 6:]
    pairs, errors, median = [(t, row) for row in X], np.zeros(3), IntegralGaussian()
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        plain, integral = (FunctionalRegressor(k, grid=sea.months[6:]).fit(X[train], Y[train]) for k in (None, median))
        curves = FunctionalRegressor(grid=sea.months[6:]).fit([pairs[i] for i in train], Y[train])
        predicted = plain.predict(X[test]), curves.predict([pairs[i] for i in test]), integral.predict(X[test])
        errors += [np.sum((values - Y[test]) ** 2) for values in predicted]
    assert errors[1] < 1.01 * errors[0] < errors[2] / 1.2


def test_a_scalar_that_matters_is_not_one_of_many_columns():
    rng = np.random.default_rng(2)
    age = rng.normal(size=70)
    noise = [(T, row) for row in rng.normal(size=(70, 15))]
    outputs = np.sin(2 * age[:, None] + 3 * GRID) + 0.1 * rng.normal(size=(70, 8))
    model = FunctionalRegressor(grid=GRID).fit([noise[:50], age[:50]], outputs[:50])
    assert model.score([noise[50:], age[50:]], outputs[50:]) > 0.6


@pytest.mark.parametrize(
    ("fit", "X", "kind", "words"),
    [
        (
            PAIRS,
            [PAIRS, AGE],
            DataError,
            "X has 2 columns, of which a curve is one; FunctionalRegressor was fitted on 1",
        ),
        (CURVES, PAIRS, DataError, "was fitted on a table of numbers; now X holds curves"),
        (
            PAIRS,
            [(T + 9, row) for row in CURVES],
            DataError,
            "observed from 9 to 10, the curves of the fit from 0 to 1",
        ),
        (PAIRS, CURVES[:, :4], MercerError, "4"),
    ],
)
def test_errors_of_predictions(fit, X, kind, words):
    model = FunctionalRegressor(grid=GRID, alpha=1e-3).fit(fit, OUTPUTS)
    with pytest.raises(kind, match=words):
        model.predict(X)


def test_errors_of_fits():
    with pytest.raises(UnsupportedError, match="X is a Gram matrix; got curves"):
        FunctionalRegressor("precomputed", grid=GRID).fit(PAIRS, OUTPUTS)
    with pytest.raises(DataError, match=r"inconsistent numbers of samples, 50 and 49"):
        FunctionalRegressor(grid=GRID).fit(PAIRS, OUTPUTS[:-1])
    holes = CURVES.copy()
    holes[0, 0] = np.nan
    with pytest.raises(DataError, match=r"Rows that are curves may have holes.*\[\(t, row\) for row in X\]"):
        FunctionalRegressor(grid=GRID).fit(holes, OUTPUTS)
