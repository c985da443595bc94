"""The chooser among scikit-learn's tools: its checks, pipelines, data frames, clones, pickles, Gram matrices."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import KernelQuantileRegressorCV
from mercer.kernels import Gaussian, Precomputed
from mercer.measures import Points

FEW = Points([0.25, 0.75])
SMALL = KernelQuantileRegressorCV("gaussian", alphas=[1e-3, 0.1], measure=FEW, cv=2)
RNG = np.random.default_rng(3)
N = 40
X = RNG.uniform(size=(N, 2))
Y = np.sin(5 * X[:, 0]) + 0.4 * X[:, 1] * RNG.normal(size=N)
NEW = RNG.uniform(size=(6, 2))


@parametrize_with_checks([SMALL])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def small(**settings):
    return clone(SMALL).set_params(**settings)


def test_clone_and_pickle():
    model = small(kernels=[Gaussian(3.0), "laplacian"], alphas=np.array([1e-2, 1.0]), cv=KFold(2))
    twin = clone(model)
    assert twin.kernels == model.kernels
    assert twin.kernels[0] is not model.kernels[0]
    model.fit(X, Y)
    np.testing.assert_array_equal(twin.fit(X, Y).predict(NEW), model.predict(NEW))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_interval(NEW), model.predict_interval(NEW))
    assert again.best_params_ == model.best_params_
    assert is_regressor(model)
    assert model.kernels[1] == "laplacian"  # fit writes on no parameter


def test_pipelines_and_nested_cross_validation():
    pipeline = make_pipeline(StandardScaler(), small())
    pipeline.fit(X, Y, kernelquantileregressorcv__sample_weight=np.ones(N))
    direct = small().fit(StandardScaler().fit_transform(X), Y)
    np.testing.assert_allclose(pipeline.predict(NEW), direct.predict(StandardScaler().fit(X).transform(NEW)))
    scores = cross_val_score(pipeline, X, Y, cv=2)
    assert scores.shape == (2,)
    assert np.all(np.isfinite(scores))


def test_data_frames():
    frame, target = pd.DataFrame(X, columns=["a", "b"], index=np.arange(N) + 100), pd.Series(Y)
    groups = pd.Series(np.arange(N) % 4)
    model = small(cv=GroupKFold(2)).fit(frame, target, pd.Series(np.ones(N)), groups)
    same = small(cv=GroupKFold(2)).fit(X, Y, np.ones(N), groups.to_numpy())
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b"])
    np.testing.assert_array_equal(model.predict(frame), same.predict(X))
    assert model.best_score_ == same.best_score_
    table = pd.DataFrame(model.cv_results_)
    assert list(table["param_alpha"]) == [1e-3, 0.1]


def test_groups_are_routed():
    groups = np.arange(N) % 4
    with sklearn.config_context(enable_metadata_routing=True):
        model = small(cv=GroupKFold(2)).set_fit_request(groups=True, sample_weight=False)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, Y, groups=groups)
    same = small(cv=GroupKFold(2)).fit(StandardScaler().fit_transform(X), Y, groups=groups)
    assert pipeline[-1].best_score_ == same.best_score_


@pytest.mark.parametrize("weighted", [False, True])
def test_gram_matrices(weighted):
    kernel, weight = Gaussian(3.0), RNG.integers(0, 3, N).astype(float) if weighted else None
    settings = {"alphas": [1e-3, 0.1], "tol": 1e-6, "cv_tol": 1e-6}
    direct = small(kernels=kernel, **settings).fit(X, Y, weight)
    for given in ["precomputed", [Precomputed()]]:
        model = small(kernels=given, **settings).fit(kernel(X), Y, weight)
        assert model.__sklearn_tags__().input_tags.pairwise
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"], direct.cv_results_["mean_test_score"], rtol=1e-4
        )
        np.testing.assert_allclose(model.predict(kernel(NEW, X)), direct.predict(NEW), atol=1e-3)
    assert not direct.__sklearn_tags__().input_tags.pairwise
    assert not KernelQuantileRegressorCV().__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match="negative eigenvalues"):
        small(kernels="precomputed").fit(-kernel(X), Y)
    assert small(kernels="precomputed", alphas=None).fit(kernel(X), Y).alpha_ > 0


def test_arrays_of_another_library():
    strict = pytest.importorskip("array_api_strict")
    foreign = strict.asarray(X)
    settings = {"alphas": [0.1, 1.0], "cv_tol": 1e-2}
    model = small(**settings).fit(foreign, strict.asarray(Y))
    same = small(**settings).fit(X, Y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], same.cv_results_["mean_test_score"], rtol=2e-2)
    assert type(model.predict(foreign)) is type(foreign)
