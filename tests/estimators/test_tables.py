"""Data frames with text, categories, booleans, dates and missing cells, in every estimator."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from mixed_frames import LIBRARIES, make_frame
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array

from mercer import (
    ConformalQuantileRegressor,
    CostMatrixClassifier,
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
)
from mercer.exceptions import DataError
from mercer.kernels import Gaussian
from mercer.measures import Points
from mercer.preprocessing import TableEncoder

LEVELS = Points([0.1, 0.5, 0.9])
GRID = np.linspace(0, 1, 5)
JOINT = KernelQuantileRegressor(alpha=0.01, measure=LEVELS)


def identity(y):
    return y


def halves(y):
    return np.where(y > np.median(y), "high", "low")


def thirds(y):
    return np.digitize(y, np.quantile(y, [0.33, 0.67]))


def curves(y):
    return y[:, None] * (1 + GRID)


#: estimators, what their targets are made of, and a parameter to search over
MODELS = {
    "stages": (KernelQuantileRegressor(measure=LEVELS), identity, {"tol": [1e-2]}),
    "joint": (JOINT, identity, {"alpha": [0.01, 0.1]}),
    "tuned": (KernelQuantileRegressorCV(alphas=[0.1, 0.01], measure=LEVELS, cv=3), identity, {"refit": ["one_se"]}),
    "tuned stages": (KernelQuantileRegressorCV(measure=LEVELS, cv=2), identity, {"tol": [1e-2]}),
    "calibrated": (ConformalQuantileRegressor(JOINT, random_state=0), identity, {"estimator__alpha": [0.01, 0.1]}),
    "cross": (ConformalQuantileRegressor(JOINT, method="cross", cv=3, random_state=0), identity, {"cv": [2]}),
    "costs": (CostSensitiveClassifier(alpha=0.01, measure=LEVELS), halves, {"cost": [0.4, 0.5]}),
    "learned costs": (CostSensitiveClassifier(measure=LEVELS), halves, {"cost": [0.4]}),
    "classes": (
        CostMatrixClassifier(CostSensitiveClassifier(alpha=0.01, measure=LEVELS)),
        thirds,
        {"estimator__alpha": [0.01, 0.1]},
    ),
    "level sets": (LevelSetDetector(measure=LEVELS), identity, {"nested": [True]}),
    "curves": (FunctionalRegressor(alpha=1e-3, grid=GRID), curves, {"alpha": [1e-3, 1e-2]}),
    "tuned curves": (FunctionalRegressorCV(alphas=[1e-3, 1e-2], grid=GRID), curves, {"criterion": ["generalised"]}),
}
WITH_ENCODER = [name for name in MODELS if name not in ("calibrated", "cross", "classes")]


def outliers(model, X, y):
    """A score for detectors, which scikit-learn has none for."""
    return -float(np.mean(model.predict(X) == -1))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MODELS)
def test_data_frames_work_out_of_the_box(name, library):
    model, target, grid = MODELS[name]
    X, y = make_frame(library)
    y = target(y)
    model = clone(model).fit(X, y)
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == ["age", "town", "member", "since", "work", "grade"]
    predicted = model.predict(X)
    assert len(predicted) == len(y)
    scoring = outliers if name == "level sets" else None
    if scoring is None:
        assert model.score(X, y) > 0.3  # D², accuracy or R²
    assert np.all(np.isfinite(cross_val_score(model, X, y, cv=2, scoring=scoring)))
    search = GridSearchCV(model, grid, cv=2, scoring=scoring).fit(X, y)
    assert len(search.predict(X[:3])) == 3


@pytest.mark.parametrize("name", WITH_ENCODER)
def test_the_model_is_that_of_the_encoded_table(name):
    model, target, _ = MODELS[name]
    X, y = make_frame("pandas")
    new, _ = make_frame("pandas", n=12, seed=1)
    given = clone(model).fit(X, target(y))
    encoder = TableEncoder().fit(X)
    encoded = clone(model).fit(encoder.transform(X), target(y))
    assert encoded.encoder_ is None
    assert given.encoder_.columns_ == encoder.columns_
    np.testing.assert_array_equal(given.X_fit_, encoded.X_fit_)
    np.testing.assert_array_equal(given.predict(new), encoded.predict(encoder.transform(new)))
    assert given.predict(new.iloc[[4]]).shape == given.predict(new)[4:5].shape


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", WITH_ENCODER)
def test_tables_of_numbers_are_taken_as_they_are(name, library):
    model, target, _ = MODELS[name]
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 3, 60), rng.random(60) < 0.5])
    y = target(X[:, 0] + X[:, 2] + 0.1 * rng.normal(size=60))
    columns = {"a": X[:, 0], "b": X[:, 1], "count": X[:, 2].astype(int), "flag": X[:, 3].astype(bool)}
    table = LIBRARIES[library](columns)
    array = check_array(table, dtype=np.float64)  # in the order of its memory, which rounding knows
    np.testing.assert_array_equal(array, X)
    of_table, of_array = clone(model).fit(table, y), clone(model).fit(array, y)
    np.testing.assert_array_equal(of_table.predict(table), of_array.predict(array))
    assert of_table.encoder_ is None


def test_relevance_has_names():
    X, y = make_frame("pandas", n=200)
    model = KernelQuantileRegressor().fit(X, y)
    shares = dict(zip(model.encoder_.get_feature_names_out(), model.relevance_, strict=True))
    assert shares["age"] > shares["work"]
    assert sum(share for name, share in shares.items() if name.startswith("town=")) > shares["work"]
    assert sum(shares.values()) == pytest.approx(1)


def test_new_rows_with_what_was_never_seen():
    X, y = make_frame("pandas")
    model = clone(JOINT).fit(X, y)
    new = X.iloc[:3].assign(town="Lima", member=[None, True, False], work=pd.NaT)
    assert np.all(np.isfinite(model.predict_interval(new)))
    known = model.encoder_.transform(new)
    np.testing.assert_array_equal(known[:, 2:6], 0)  # a town that has no indicator
    assert known[0, 6] == pytest.approx(X["member"].mean())


def test_a_second_fit_forgets_the_first():
    X, y = make_frame("pandas")
    model = clone(JOINT).fit(X, y)
    assert model.fit(np.arange(90.0)[:, None], y).encoder_ is None
    assert model.predict([[3.0]]).shape == (1,)
    assert not hasattr(model, "feature_names_in_")


def test_rows_of_no_weight_are_not_learned_from():
    X, y = make_frame("pandas")
    weight = np.ones(len(y))
    weight[::4] = 0
    strange = X.copy()
    strange.loc[weight == 0, "town"] = "Lima"
    kept = weight > 0
    some = clone(JOINT).fit(strange, y, sample_weight=weight)
    few = clone(JOINT).fit(X[kept], y[kept])
    np.testing.assert_allclose(some.predict(X), few.predict(X), rtol=1e-12)


def test_frames_out_of_transformers_change_nothing():
    X, y = make_frame("pandas")
    expected = clone(JOINT).fit(X, y).predict(X)
    with config_context(transform_output="pandas"):
        model = clone(JOINT).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), expected)
        pipeline = make_pipeline(TableEncoder(), clone(JOINT)).fit(X, y)
        np.testing.assert_array_equal(pipeline.predict(X), expected)
        assert "town=Rome" in pipeline[-1].feature_names_in_


def test_what_a_pipeline_hides_is_in_reach():
    X, y = make_frame("pandas")
    direct = clone(JOINT).fit(X, y)
    pipeline = make_pipeline(TableEncoder(), clone(JOINT)).fit(X, y)
    np.testing.assert_array_equal(pipeline.predict(X), direct.predict(X))
    inner = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(pipeline[-1].predict_interval(inner, 0.8), direct.predict_interval(X, 0.8))


@pytest.mark.parametrize("name", WITH_ENCODER)
def test_saving(name):
    model, target, _ = MODELS[name]
    X, y = make_frame("pandas")
    model = clone(model).fit(X, target(y))
    expected = model.predict(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), expected)
    dumped = skops.io.dumps(model)
    loaded = skops.io.loads(dumped, trusted=skops.io.get_untrusted_types(data=dumped))
    np.testing.assert_array_equal(loaded.predict(X), expected)


@pytest.mark.parametrize("name", WITH_ENCODER)
def test_arrays_with_missing_cells_are_refused_with_a_recipe(name):
    model, target, _ = MODELS[name]
    X, y = np.arange(60.0).reshape(30, 2), target(np.arange(30.0))
    holes = np.where(X == 7, np.nan, X)
    with pytest.raises(DataError, match=r"Input X contains NaN. Data frames may .*make_pipeline\(TableEncoder\(\)"):
        clone(model).fit(holes, y)
    model = clone(model).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    with pytest.raises(DataError, match=r"Input X contains NaN. .*missing in new rows only"):
        model.predict(pd.DataFrame(holes, columns=["a", "b"]))
    recipe = make_pipeline(TableEncoder(), clone(model)).fit(X, y)
    assert len(recipe.predict(holes)) == 30


def test_text_in_arrays_is_refused_with_a_recipe():
    with pytest.raises(DataError, match=r"must hold numbers: .*TableEncoder"):
        clone(JOINT).fit(np.array([["a"], ["b"], ["c"]]), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", MODELS)
def test_other_columns_are_refused(name, library):
    model, target, _ = MODELS[name]
    X, y = make_frame(library)
    model = clone(model).fit(X, target(y))
    names = list(X.columns)
    with pytest.raises(ValueError, match="same order"):
        model.predict(X[names[::-1]])
    with pytest.raises(ValueError, match="missing"):
        model.predict(X[names[:-1]])
    with pytest.raises(DataError, match="Column 'age' held numbers in the training rows; now it holds categories"):
        model.predict(X.assign(age="old") if library == "pandas" else X.with_columns(age=pl.lit("old")))


def test_a_gram_matrix_is_not_encoded():
    K = pd.DataFrame(np.eye(12))
    K.columns = K.columns.astype(str)
    K.iloc[0, 0] = np.nan
    with pytest.raises(DataError, match="Input X contains NaN"):
        KernelQuantileRegressor("precomputed", alpha=0.1).fit(K, np.arange(12.0))


def test_infinity_is_refused_by_column():
    X, y = make_frame("pandas")
    X.loc[3, "age"] = np.inf
    with pytest.raises(DataError, match="Column 'age' contains infinity"):
        clone(JOINT).fit(X, y)


def test_scales_of_a_kernel_are_those_of_encoded_columns():
    X, y = make_frame("pandas")
    model = KernelQuantileRegressor(Gaussian("standardized"), alpha=0.01, measure=LEVELS).fit(X, y)
    assert len(model.kernel_.gamma) == len(model.encoder_.get_feature_names_out()) == sum(model.encoder_.widths_)
