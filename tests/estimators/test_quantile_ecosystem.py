"""Cloning, tuning, pipelines, data frames, pickles, precomputed and callable kernels."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelQuantileRegressor
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.kernels.registry import NAMES
from mercer.measures import GaussLegendre, Points
from mercer.model_selection import (
    make_coverage_scorer,
    make_crossing_scorer,
    make_crps_scorer,
    make_pinball_scorer,
)
from mercer.solvers import ADMM

RNG = np.random.default_rng(4)
N = 36
X = RNG.uniform(0.1, 1.0, size=(N, 2))
Y = np.sin(5 * X[:, 0]) + 0.4 * X[:, 1] * RNG.normal(size=N)
NEW = RNG.uniform(0.1, 1.0, size=(9, 2))
LEVELS = [0.03, 0.4, 0.8]
FEW = Points([0.1, 0.5, 0.9])


def regressor(kernel=None, **settings):
    return KernelQuantileRegressor(kernel, **{"alpha": 1e-2, "measure": FEW, **settings})


def test_clone_makes_an_unfitted_equal():
    model = regressor(Gaussian(2.0), solver=ADMM(tol=1e-2)).fit(X, Y)
    twin = clone(model)
    assert not hasattr(twin, "dual_coef_")
    assert repr(twin) == repr(model)
    assert twin.kernel == model.kernel
    assert twin.kernel is not model.kernel
    np.testing.assert_array_equal(twin.fit(X, Y).predict(NEW), model.predict(NEW))
    assert is_regressor(model)


def test_nested_parameters():
    model = regressor(Gaussian(1.0), measure=GaussLegendre(7), solver=ADMM())
    params = model.get_params()
    assert (params["kernel__gamma"], params["measure__size"], params["solver__rho"]) == (1.0, 7, 1.0)
    model.set_params(kernel__gamma=3.0, measure__size=4, alpha=0.5)
    assert model.kernel == Gaussian(3.0)
    assert len(model.fit(X, Y).measure_) == 4
    with pytest.raises(ValueError, match="gamm"):
        model.set_params(kernel__gamm=1.0)
    with pytest.raises(ValueError, match="gamma must be"):
        model.set_params(kernel__gamma=-1.0)


def test_fit_leaves_the_parameters_alone():
    kernel, output_kernel, rule, solver = Gaussian("median"), Gaussian("median"), GaussLegendre(5), ADMM()
    model = KernelQuantileRegressor(
        kernel, output_kernel=output_kernel, measure=rule, solver=solver, alpha="auto", random_state=0
    )
    before = repr(model)
    model.fit(X, Y)
    assert repr(model) == before
    assert model.kernel is kernel
    assert (kernel, output_kernel, rule, solver) == (Gaussian("median"), Gaussian("median"), GaussLegendre(5), ADMM())
    assert model.kernel_ != kernel


def test_fit_leaves_the_data_alone():
    inputs, targets = X.copy(), Y.copy()
    regressor().fit(inputs, targets, np.ones(N))
    np.testing.assert_array_equal(inputs, X)
    np.testing.assert_array_equal(targets, Y)


@pytest.mark.parametrize(
    "scoring",
    [None, make_pinball_scorer([0.1, 0.9]), make_crps_scorer(), make_coverage_scorer(0.8), make_crossing_scorer()],
    ids=["D2", "pinball", "crps", "coverage", "crossing"],
)
def test_grid_search(scoring):
    grid = {"kernel__gamma": [0.5, 4.0], "alpha": [1e-2, 1.0]}
    search = GridSearchCV(regressor(Gaussian(1.0)), grid, scoring=scoring, cv=3, error_score="raise").fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert scores.shape == (4,)
    assert np.all(np.isfinite(scores))
    assert search.best_score_ == max(scores)
    scorer = scoring or (lambda model, inputs, targets: model.score(inputs, targets))
    folds = []
    for train, test in KFold(3).split(X):
        model = regressor(Gaussian(4.0), alpha=1e-2).fit(X[train], Y[train])
        folds.append(scorer(model, X[test], Y[test]))
    index = search.cv_results_["params"].index({"alpha": 1e-2, "kernel__gamma": 4.0})
    assert scores[index] == pytest.approx(np.mean(folds))
    if scoring is None:
        assert search.best_params_ == {"alpha": 1e-2, "kernel__gamma": 4.0}
    assert search.predict(NEW).shape == (9,)


def test_pipeline():
    pipeline = make_pipeline(StandardScaler(), regressor(Gaussian(1.0))).fit(X, Y)
    scaled = StandardScaler().fit(X)
    direct = regressor(Gaussian(1.0)).fit(scaled.transform(X), Y)
    np.testing.assert_allclose(pipeline.predict(NEW), direct.predict(scaled.transform(NEW)))
    search = GridSearchCV(pipeline, {"kernelquantileregressor__kernel__gamma": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert search.best_score_ <= 1


def test_data_frames():
    pd = pytest.importorskip("pandas")
    frame, series = pd.DataFrame(X, columns=["a", "b"], index=range(5, 5 + N)), pd.Series(Y, index=range(N))
    model = regressor().fit(frame, series, sample_weight=pd.Series(np.ones(N), index=range(9, 9 + N)))
    assert list(model.feature_names_in_) == ["a", "b"]
    new = pd.DataFrame(NEW, columns=["a", "b"])
    np.testing.assert_allclose(model.predict(new), regressor().fit(X, Y).predict(NEW), atol=1e-9)
    assert model.score(frame, series) == pytest.approx(regressor().fit(X, Y).score(X, Y))
    np.testing.assert_array_equal(
        model.predict_cdf(new, pd.Series(np.zeros(9), index=range(3, 12))), model.predict_cdf(new, np.zeros(9))
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[["b", "a"]])
    mixed = frame.assign(a=frame["a"].astype(object), b=(10 * frame["b"]).astype(int))
    assert np.all(np.isfinite(regressor().fit(mixed, series).predict(mixed)))


@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        copy.copy,
        *(lambda m, p=p: pickle.loads(pickle.dumps(m, protocol=p)) for p in (2, 5)),
    ],
    ids=["deepcopy", "copy", "pickle2", "pickle5"],
)
@pytest.mark.parametrize("solver", ["auto", "admm"])
def test_copies_predict_the_same(copied, solver):
    model = regressor(solver=solver, measure=None).fit(X, Y)
    twin = copied(model)
    np.testing.assert_array_equal(twin.predict_quantile(NEW, LEVELS), model.predict_quantile(NEW, LEVELS))
    assert twin.score(X, Y) == model.score(X, Y)
    assert twin.kernel_ == model.kernel_


def test_joblib(tmp_path):
    model = regressor().fit(X, Y)
    joblib.dump(model, tmp_path / "model.joblib")
    twin = joblib.load(tmp_path / "model.joblib")
    np.testing.assert_array_equal(twin.predict(NEW), model.predict(NEW))
    serial = cross_val_score(regressor(), X, Y, cv=3, scoring=make_crps_scorer())
    with joblib.parallel_backend("threading", n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(regressor(), X, Y, cv=3, scoring=make_crps_scorer()), serial)


def test_weights_through_cross_validation():
    weight = RNG.uniform(0.1, 3.0, N)
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_val_score(model, X, Y, cv=KFold(3), params={"sample_weight": weight})
        unweighted = cross_val_score(model, X, Y, cv=KFold(3), scoring=make_pinball_scorer())
    expected = [
        regressor().fit(X[train], Y[train], weight[train]).score(X[test], Y[test], weight[test])
        for train, test in KFold(3).split(X)
    ]
    np.testing.assert_allclose(found, expected)
    assert np.all(np.isfinite(unweighted))


# --- kernels


@pytest.mark.parametrize("given", ["precomputed", Precomputed()])
def test_precomputed_is_the_kernel_itself(given):
    kernel = Gaussian(3.0)
    direct = regressor(kernel, tol=1e-6).fit(X, Y)
    model = regressor(given, tol=1e-6).fit(kernel(X), Y)
    np.testing.assert_allclose(
        model.predict_quantile(kernel(NEW, X), LEVELS), direct.predict_quantile(NEW, LEVELS), atol=1e-3
    )
    assert model.objective_ == pytest.approx(direct.objective_, rel=1e-6)
    auto = regressor(given, alpha="auto").fit(kernel(X), Y)
    assert auto.alpha_ == pytest.approx(regressor(kernel, alpha="auto").fit(X, Y).alpha_)


@pytest.mark.parametrize("given", ["precomputed", Precomputed(), 2.0 * Precomputed()])
def test_precomputed_is_split_by_rows_and_columns(given):
    """The pairwise tag, also for kernels that are made of a precomputed one."""
    scale = 2.0 if given == 2.0 * Precomputed() else 1.0
    K = Gaussian(3.0)(X)
    assert regressor(given).__sklearn_tags__().input_tags.pairwise
    found = cross_val_predict(regressor(given, tol=1e-6), K, Y, cv=KFold(3))
    expected = cross_val_predict(regressor(scale * Gaussian(3.0), tol=1e-6), X, Y, cv=KFold(3))
    np.testing.assert_allclose(found, expected, atol=1e-3)
    search = GridSearchCV(regressor(given), {"alpha": [1e-3, 1e-1]}, cv=3, error_score="raise").fit(K, Y)
    assert search.predict(Gaussian(3.0)(NEW, X)).shape == (9,)


def test_precomputed_with_weights():
    kernel, weight = Gaussian(3.0), RNG.integers(0, 3, N).astype(float)
    assert np.any(weight == 0)
    direct = regressor(kernel, tol=1e-6).fit(X, Y, weight)
    model = regressor("precomputed", tol=1e-6).fit(kernel(X), Y, weight)
    found = model.predict_quantile(kernel(NEW, X), LEVELS)  # one column for each training row, also those of weight 0
    np.testing.assert_allclose(found, direct.predict_quantile(NEW, LEVELS), atol=1e-3)
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(model)).predict(kernel(NEW, X)), model.predict(kernel(NEW, X))
    )
    refitted = model.fit(kernel(X), Y)
    assert refitted.predict(kernel(NEW, X)).shape == (9,)


def polynomial(A, B):
    return (1 + A @ B.T) ** 2


@pytest.mark.parametrize("function", [polynomial, lambda A, B: rbf_kernel(A, B, gamma=3.0)])
def test_functions_as_kernels(function):
    model = regressor(function, tol=1e-6).fit(X, Y)
    same = regressor("precomputed", tol=1e-6).fit(function(X, X), Y)
    np.testing.assert_allclose(model.predict(NEW), same.predict(function(NEW, X)), atol=1e-3)
    clone(model)


def test_a_function_as_output_kernel():
    model = regressor(output_kernel=lambda s, t: np.exp(-5 * (s - t.T) ** 2)).fit(X, Y)
    same = regressor(output_kernel=Gaussian(5.0)).fit(X, Y)
    np.testing.assert_allclose(model.predict_quantile(NEW, LEVELS), same.predict_quantile(NEW, LEVELS), atol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "precomputed"])
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_every_kernel_name_fits(name, alpha):
    model = regressor(name, alpha=alpha).fit(X, Y)
    assert model.relative_gap_ <= 1e-3
    assert np.all(np.isfinite(model.predict_quantile(NEW, LEVELS)))
    assert type(model.kernel_) is type(NAMES[name]())


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern", "linear", "constant"])
def test_kernels_on_levels(name):
    model = regressor(output_kernel=name).fit(X, Y)
    assert model.relative_gap_ <= 1e-3
    assert np.all(np.isfinite(model.predict_quantile(NEW, LEVELS)))


def test_sums_and_products_of_kernels():
    model = regressor(0.5 * Gaussian("median") + Linear() * Gaussian(1.0)).fit(X, Y)
    assert model.relative_gap_ <= 1e-3
    assert model.kernel_.adapted
