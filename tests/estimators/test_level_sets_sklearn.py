"""What scikit-learn asks of every outlier detector, and how the detector lives with its tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import LevelSetDetector
from mercer.kernels import Gaussian
from mercer.measures import Points

TRANSLATION = (
    "it asks that decision_function = score_samples - offset_; here the former is h(x)(θ) - t(θ) at one level and the "
    "latter a level. test_scores_and_decisions_agree asks the rest of it, and that the signs agree"
)


@parametrize_with_checks(
    [LevelSetDetector(), LevelSetDetector(nested=True, alpha=0.01, coupling=0.1, measure=Points([0.05, 0.3, 0.7]))],
    expected_failed_checks=lambda estimator: {"check_outliers_train": TRANSLATION},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


X, _ = make_blobs(120, random_state=0)
FEW = Points([0.05, 0.2, 0.5, 0.9])


@pytest.mark.parametrize("nested", [False, True])
def test_scores_and_decisions_agree(nested):
    detector = LevelSetDetector(nested=nested, calibration=None).fit(X)
    decision, labels, scores = detector.decision_function(X), detector.predict(X), detector.score_samples(X)
    assert labels.dtype.kind == "i"
    assert set(labels) == {-1, 1}
    assert np.array_equal(labels, np.where(decision >= 0, 1, -1))
    assert decision.shape == scores.shape == (120,)
    assert np.all(decision[scores < detector.level_ - 1e-9] < 0)
    assert np.array_equal(detector.fit_predict(X), labels)
    if nested:
        clear = np.abs(decision) > 1e-12
        assert np.array_equal((decision >= 0)[clear], (scores >= detector.level_)[clear])


def test_clone_and_pickle():
    detector = LevelSetDetector(Gaussian(0.3), alpha=0.1, measure=FEW, nested=True)
    copy = clone(detector)
    assert copy.get_params() == detector.get_params()
    fitted = copy.fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.score_samples(X), fitted.score_samples(X))


def test_fitting_leaves_parameters_alone():
    detector = LevelSetDetector(Gaussian("median"), measure=FEW)
    before = repr(detector.get_params())
    detector.fit(X)
    assert repr(detector.get_params()) == before
    assert isinstance(detector.kernel_.gamma, float)


def test_data_frames():
    frame = pd.DataFrame(X, columns=["a", "b"])
    detector = LevelSetDetector(measure=FEW).fit(frame)
    assert list(detector.feature_names_in_) == ["a", "b"]
    assert np.array_equal(detector.predict(frame), LevelSetDetector(measure=FEW).fit(X).predict(X))


def test_pipelines_and_searches():
    pipeline = make_pipeline(StandardScaler(), LevelSetDetector(Gaussian(), measure=FEW))
    assert pipeline.fit(X).predict(X).shape == (120,)
    assert pipeline.predict(X, level=0.5).sum() == pytest.approx(0, abs=12)
    labels = np.where(np.linalg.norm(X - X.mean(axis=0), axis=1) < 4, 1, 0)

    def area(model, rows, truth):
        return roc_auc_score(truth, model.score_samples(rows))

    search = GridSearchCV(pipeline, {"levelsetdetector__kernel__gamma": [1e4, 0.1]}, scoring=area, cv=2)
    assert search.fit(X, labels).best_params_["levelsetdetector__kernel__gamma"] == 0.1


def test_a_precomputed_kernel_is_the_kernel():
    kernel, new = Gaussian(0.2), np.random.default_rng(0).normal(size=(7, 2))
    settings = {"measure": FEW, "tol": 1e-9, "calibration": None}  # folds follow the order of the rows of a matrix
    direct = LevelSetDetector(kernel, **settings).fit(X)
    given = LevelSetDetector("precomputed", **settings).fit(kernel(X))
    assert given.score_samples(kernel(new, X)) == pytest.approx(direct.score_samples(new), abs=1e-4)
    weight = np.ones(120)
    weight[:10] = 0  # their columns are dropped, too
    some = LevelSetDetector("precomputed", **settings).fit(kernel(X), sample_weight=weight)
    rest = LevelSetDetector(kernel, **settings).fit(X[10:])
    assert some.decision_function(kernel(new, X)) == pytest.approx(rest.decision_function(new), abs=1e-6)


@pytest.mark.parametrize("settings", [{}, {"coupling": 0.1}])
def test_a_precomputed_kernel_is_calibrated_as_the_kernel(settings):
    kernel, rows = Gaussian(0.2), X[np.lexsort(X.T)]
    direct = LevelSetDetector(kernel, measure=FEW, tol=1e-9, **settings).fit(rows)
    given = LevelSetDetector("precomputed", measure=FEW, tol=1e-9, **settings).fit(kernel(rows))
    assert given.n_calibration_ == 120
    assert given.offset_ == pytest.approx(direct.offset_, abs=1e-6)
    assert np.max(np.abs(given.offset_ - given.optimal_offset_)) > 1e-3


def test_outliers_are_found():
    rng = np.random.default_rng(1)
    far = rng.uniform(-12, 12, size=(20, 2))
    detector = LevelSetDetector().fit(np.vstack([X, far]))
    truth = np.r_[np.ones(120), np.zeros(20)]
    assert roc_auc_score(truth, detector.score_samples(np.vstack([X, far]))) > 0.85
