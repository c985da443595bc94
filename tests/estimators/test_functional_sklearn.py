"""FunctionalRegressor among scikit-learn's tools: checks, cloning, tuning, pipelines, data frames, Gram matrices."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from array_api_checks import run_array_api_checks
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import FunctionalRegressor
from mercer.kernels import Gaussian, Precomputed
from mercer.losses import Huber
from mercer.measures import Points
from mercer.operator_valued import HarmonicBasis
from mercer.solvers import ADMM

RNG = np.random.default_rng(4)
N, M = 30, 6
X = RNG.uniform(0.1, 1.0, size=(N, 2))
GRID = np.linspace(0, 1, M)
CURVES = np.sin(3 * X[:, :1] + 4 * GRID) + 0.1 * RNG.normal(size=(N, M))
HOLES = np.where(RNG.random((N, M)) < 0.2, np.nan, CURVES)
OWN = [(GRID[~np.isnan(y)], y[~np.isnan(y)]) for y in HOLES]
NEW = RNG.uniform(0.1, 1.0, size=(5, 2))


def regressor(kernel=None, **settings):
    kernel = Gaussian(3.0) if kernel is None else kernel
    return FunctionalRegressor(kernel, **{"output_kernel": Gaussian(3.0), "alpha": 1e-2, "grid": GRID} | settings)


@parametrize_with_checks([FunctionalRegressor(), FunctionalRegressor(loss="huber", geometry="pointwise")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_scikit_learn_array_api_checks():
    run_array_api_checks("FunctionalRegressor()")


def test_clone_makes_an_unfitted_equal():
    model = regressor(loss=Huber(0.3), representation=HarmonicBasis(3), solver=ADMM(tol=1e-2)).fit(X, CURVES)
    twin = clone(model)
    assert not hasattr(twin, "dual_coef_")
    assert repr(twin) == repr(model)
    assert (twin.loss, twin.kernel, twin.representation) == (model.loss, model.kernel, model.representation)
    assert twin.loss is not model.loss
    np.testing.assert_array_equal(twin.fit(X, CURVES).predict(NEW), model.predict(NEW))
    assert is_regressor(model)


def test_nested_parameters():
    model = regressor(loss=Huber(0.3), representation=HarmonicBasis(3), grid=Points(GRID))
    params = model.get_params()
    assert (params["kernel__gamma"], params["loss__kappa"], params["representation__size"]) == (3.0, 0.3, 3)
    model.set_params(loss__kappa=0.7, output_kernel__gamma=2.0)
    assert model.fit(X, CURVES).loss_ == Huber(0.7)
    with pytest.raises(ValueError, match="kappa must be"):
        model.set_params(loss__kappa=-1.0)


def test_fit_leaves_parameters_and_data_alone():
    kernel, grid, inputs, targets, weight = Gaussian("median"), GRID.copy(), X.copy(), HOLES.copy(), np.ones(N)
    model = FunctionalRegressor(kernel, grid=grid, loss="huber")
    before = repr(model)
    model.fit(inputs, targets, weight)
    assert repr(model) == before
    assert model.kernel is kernel
    assert model.grid is grid
    assert kernel == Gaussian("median")
    assert model.kernel_.adapted
    for now, was in ((grid, GRID), (inputs, X), (targets, HOLES), (weight, np.ones(N))):
        np.testing.assert_array_equal(now, was)


@pytest.mark.parametrize("Y", [CURVES, HOLES, OWN], ids=["grid", "holes", "scattered"])
def test_grid_search(Y):
    grid = {"kernel__gamma": [0.5, 4.0], "alpha": [1e-3, 1.0], "loss__kappa": [0.1, 10.0]}
    model = regressor(loss=Huber(1.0), tol=1e-3)
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.all(np.isfinite(scores))
    assert search.best_params_["alpha"] == 1e-3
    chosen = clone(model).set_params(kernel__gamma=4.0, alpha=1e-3, loss__kappa=10.0)
    folds = []
    for train, test in KFold(3).split(X):
        part = (lambda rows: [Y[i] for i in rows]) if isinstance(Y, list) else (lambda rows: Y[rows])
        folds.append(clone(chosen).fit(X[train], part(train)).score(X[test], part(test)))
    index = search.cv_results_["params"].index({"alpha": 1e-3, "kernel__gamma": 4.0, "loss__kappa": 10.0})
    assert scores[index] == pytest.approx(np.mean(folds))
    assert search.predict(NEW).shape == (5, M)


def test_cross_validation_where_a_fold_has_no_value_of_a_column():
    Y = CURVES.copy()
    Y[10:20, 2] = np.nan  # the second fold of three is scored on the other columns
    assert np.all(np.isfinite(cross_val_score(regressor(), X, Y, cv=KFold(3), error_score="raise")))


def test_pipelines_and_splits():
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, CURVES)
    scaler = StandardScaler().fit(X)
    direct = regressor().fit(scaler.transform(X), CURVES)
    np.testing.assert_allclose(pipeline.predict(NEW), direct.predict(scaler.transform(NEW)))
    assert pipeline.score(X, CURVES) == pytest.approx(direct.score(scaler.transform(X), CURVES))
    X_train, X_test, Y_train, Y_test = train_test_split(X, OWN, random_state=0)
    assert make_pipeline(StandardScaler(), regressor()).fit(X_train, Y_train).score(X_test, Y_test) > 0.5
    predicted = cross_val_predict(regressor(), X, CURVES, cv=3)
    assert predicted.shape == CURVES.shape


def test_data_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b"], index=range(5, 5 + N))
    targets = pd.DataFrame(HOLES, columns=[f"t{j}" for j in range(M)], index=range(N))
    weight = RNG.uniform(0.5, 2.0, N)
    model = regressor().fit(frame, targets, pd.Series(weight, index=range(9, 9 + N)))
    same = regressor().fit(X, HOLES, weight)
    assert list(model.feature_names_in_) == ["a", "b"]
    new = pd.DataFrame(NEW, columns=["a", "b"])
    np.testing.assert_allclose(model.predict(new), same.predict(NEW), atol=1e-9)
    assert model.score(frame, targets) == pytest.approx(same.score(X, HOLES))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(new[["b", "a"]])
    assert np.all(np.isfinite(cross_val_score(regressor(), frame, targets, cv=3)))
    nullable = targets.convert_dtypes()  # pd.NA where nothing was observed
    np.testing.assert_allclose(regressor().fit(frame, nullable, weight).predict(new), same.predict(NEW), atol=1e-9)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, *(lambda m, p=p: pickle.loads(pickle.dumps(m, protocol=p)) for p in (2, 5))],
    ids=["deepcopy", "pickle2", "pickle5"],
)
@pytest.mark.parametrize(
    ("Y", "settings"),
    [(CURVES, {}), (HOLES, {"loss": "huber"}), (OWN, {"grid": None}), (CURVES, {"representation": HarmonicBasis(3)})],
    ids=["grid", "holes", "scattered", "basis"],
)
def test_copies_predict_the_same(copied, Y, settings):
    model = regressor(**settings).fit(X, Y)
    twin = copied(model)
    np.testing.assert_array_equal(twin.predict_at(NEW, [0.3]), model.predict_at(NEW, [0.3]))
    assert twin.score(X, Y) == model.score(X, Y)
    assert twin.kernel_ == model.kernel_


def test_weights_through_cross_validation():
    weight = RNG.uniform(0.1, 3.0, N)
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        found = cross_val_score(model, X, HOLES, cv=KFold(3), params={"sample_weight": weight})
    expected = [
        regressor().fit(X[train], HOLES[train], weight[train]).score(X[test], HOLES[test], weight[test])
        for train, test in KFold(3).split(X)
    ]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("Y", [CURVES, HOLES, OWN], ids=["grid", "holes", "scattered"])
@pytest.mark.parametrize("alpha", [1e-2, "auto"])
def test_precomputed_is_the_kernel_itself(Y, alpha):
    kernel, weight = Gaussian(3.0), np.r_[0.0, 0.0, RNG.uniform(0.5, 2.0, N - 2)]
    model = regressor("precomputed", alpha=alpha).fit(kernel(X), Y, weight)
    direct = regressor(kernel, alpha=alpha).fit(X, Y, weight)
    np.testing.assert_allclose(model.predict(kernel(NEW, X)), direct.predict(NEW), atol=1e-6)
    assert model.alpha_ == pytest.approx(direct.alpha_)


@pytest.mark.parametrize("given", ["precomputed", 2.0 * Precomputed()], ids=str)
def test_precomputed_is_split_by_rows_and_columns(given):
    scale = 1.0 if given == "precomputed" else 2.0
    K = Gaussian(3.0)(X)
    assert regressor(given).__sklearn_tags__().input_tags.pairwise
    found = cross_val_predict(regressor(given), K, CURVES, cv=KFold(3))
    expected = cross_val_predict(regressor(scale * Gaussian(3.0)), X, CURVES, cv=KFold(3))
    np.testing.assert_allclose(found, expected, atol=1e-8)
    search = GridSearchCV(regressor(given), {"alpha": [1e-3, 1e-1]}, cv=3, error_score="raise").fit(K, HOLES)
    assert search.predict(Gaussian(3.0)(NEW, X)).shape == (5, M)


def test_warm_start():
    model = regressor(loss=Huber(0.1), alpha=1e-3, tol=1e-6, warm_start=True, solver="admm").fit(X, CURVES)
    first, before = model.n_iter_, model.predict(NEW)
    model.fit(X, CURVES)
    assert model.n_iter_ < first
    np.testing.assert_allclose(model.predict(NEW), before, atol=1e-3)
    model.fit(X[:-5], CURVES[:-5])  # other data: only a start
    fresh = regressor(loss=Huber(0.1), alpha=1e-3, tol=1e-6).fit(X[:-5], CURVES[:-5])
    np.testing.assert_allclose(model.predict(NEW), fresh.predict(NEW), atol=2e-3)


def test_every_solver_reaches_the_same_model():
    fitted = [
        regressor(loss=Huber(0.1, "pointwise"), solver=name, tol=1e-6).fit(X, CURVES)
        for name in ("auto", "admm", "interior_point", "proximal_gradient", "lbfgs")
    ]
    for model in fitted[1:]:
        np.testing.assert_allclose(model.predict(NEW), fitted[0].predict(NEW), atol=3e-3)
        assert model.objective_ == pytest.approx(fitted[0].objective_, rel=1e-5)
