"""VectorValuedRegressor among scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import ConformalFunctionalRegressor, LearnedMatrix, VectorValuedRegressor
from mercer.kernels import Gaussian


@parametrize_with_checks(
    [
        VectorValuedRegressor(),
        VectorValuedRegressor(loss="huber", geometry="componentwise"),
        VectorValuedRegressor(output_matrix="learned", metric="variance"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    return X, np.sin(4 * X @ np.array([[1.0, 1.0], [0.0, 1.0]])) + 0.1 * rng.normal(size=(60, 2))


def test_clone_pickle_pipeline_and_grid_search(data):
    X, Y = data
    model = VectorValuedRegressor(Gaussian(2.0), output_matrix=LearnedMatrix(rank=1))
    assert clone(model).set_params(output_matrix__rank=2).output_matrix == LearnedMatrix(rank=2)
    fitted = clone(model).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    search = GridSearchCV(VectorValuedRegressor(Gaussian(1.0), alpha=1e-3), {"kernel__gamma": [0.1, 5.0]}, cv=3)
    assert search.fit(X, Y).best_score_ > 0.8
    assert make_pipeline(StandardScaler(), VectorValuedRegressor()).fit(X, Y).score(X, Y) > 0.8


def test_data_frames(data):
    X, Y = data
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.where(X[:, 0] > 0.5, "yes", "no"))
    model = VectorValuedRegressor().fit(frame, pd.DataFrame(Y, columns=["u", "v"]))
    assert model.predict(frame).shape == (60, 2)
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])


def test_conformal_boxes_cover(data):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(1200, 1))
    Y = np.hstack([np.sin(6 * X), X]) + np.array([0.1, 0.5]) * rng.normal(size=(1200, 2))
    base = VectorValuedRegressor(Gaussian(5.0), alpha=1e-3)
    model = ConformalFunctionalRegressor(base, random_state=0).fit(X[:400], Y[:400])
    band = model.prediction_band(X[400:], coverage=0.9)
    assert band.shape == (800, 2, 2)
    inside = np.all((band[..., 0] <= Y[400:]) & (Y[400:] <= band[..., 1]), axis=1)
    assert 0.84 < inside.mean() < 0.97
    width = (band[..., 1] - band[..., 0]).mean(axis=0)
    assert width[1] > 3 * width[0]
