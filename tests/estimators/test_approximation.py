"""Features in place of the kernel, in every estimator: what they are exact for, what they leave, what they refuse."""

import pickle
import warnings

import numpy as np
import pytest
from numbers_as_fields import MULTIOUTPUT, NumbersAsFields
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    InputOutputKernelRegressor,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
    SimplexClassifier,
    VectorFieldRegressor,
    VectorValuedRegressor,
)
from mercer.estimators import approximation
from mercer.exceptions import MercerError
from mercer.features import Explicit, Nystroem, RandomFourier
from mercer.kernels import Gaussian, Linear
from mercer.linalg import memory_limit
from mercer.losses import Huber
from mercer.measures import Points
from mercer.operator_valued import Helmholtz
from mercer.solvers import SemismoothNewton
from mercer.solvers.streamed import StreamedSolver

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
NEW = RNG.normal(size=(20, 3))
Y = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=150)
GRID = np.linspace(0, 1, 8)
CURVES = np.sin(3 * GRID + X[:, :1]) + 0.1 * RNG.normal(size=(150, 8))
LEVELS = Points([0.1, 0.5, 0.9])
GIVEN = Gaussian(0.2)


def quantiles(**how):
    how = {"alpha": 1e-2, "measure": LEVELS, "tol": 1e-7, **how}
    return KernelQuantileRegressor(GIVEN, **how).fit(X, Y).predict_quantile(NEW, [0.1, 0.4])


def costs(**how):
    how = {"alpha": 1e-2, "measure": LEVELS, "tol": 1e-7, **how}
    return CostSensitiveClassifier(GIVEN, **how).fit(X, Y > 0).predict_at(NEW, [0.1, 0.4])


def level_sets(**how):
    return LevelSetDetector(GIVEN, measure=LEVELS, tol=1e-8, **how).fit(X).predict_at(NEW, [0.1, 0.4])


def curves(**how):
    how = {"alpha": 1e-3, "output_kernel": Gaussian(5.0), "grid": GRID, "tol": 1e-8, **how}
    return FunctionalRegressor(GIVEN, **how).fit(X, CURVES).predict_at(NEW, [0.1, 0.33])


def vectors(**how):
    how = {"alpha": 1e-3, "output_matrix": np.array([[2.0, 1.0], [1.0, 1.0]]), "tol": 1e-8, **how}
    return VectorValuedRegressor(GIVEN, **how).fit(X, CURVES[:, :2]).predict(NEW)


FITS = {"quantiles": quantiles, "costs": costs, "level sets": level_sets, "curves": curves, "vectors": vectors}


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_all_rows_as_landmarks_give_the_fit_of_the_kernel(fit):
    exact, all_rows = fit(approximation=None), fit(approximation=Nystroem(150))
    np.testing.assert_allclose(all_rows, exact, atol=2e-3 * np.abs(exact).max())


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_more_frequencies_are_nearer_to_the_kernel(fit):
    exact = fit(approximation=None)
    errors = [np.abs(fit(approximation=RandomFourier(D, random_state=0)) - exact).mean() for D in (10, 2000)]
    assert errors[1] < 0.4 * errors[0]


def test_the_fit_is_exactly_that_of_the_features():
    """A feature kernel of one's own, with the same features, has the same optimum."""
    model = KernelQuantileRegressor(GIVEN, alpha=1e-2, tol=1e-8, approximation=Nystroem(30, random_state=1)).fit(X, Y)
    features = model.approximation_.kernel
    same = KernelQuantileRegressor(features, alpha=1e-2, tol=1e-8, approximation=None).fit(X, Y)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), atol=1e-6)
    assert abs(model.objective_ - same.objective_) <= model.dual_gap_ + same.dual_gap_
    assert same.approximation_ is None
    assert same.X_fit_ is not None


ESTIMATORS = [
    KernelQuantileRegressor(stages="joint"),
    KernelQuantileRegressorCV(alphas=[1e-3, 1e-1], stages="joint", cv=3),
    CostSensitiveClassifier(),
    LevelSetDetector(),
    FunctionalRegressor(),
    FunctionalRegressorCV(),
    VectorValuedRegressor(),
    SimplexClassifier(),
    InputOutputKernelRegressor(),
]


def targets(estimator):
    if isinstance(estimator, (CostSensitiveClassifier, SimplexClassifier)):
        return Y > 0
    return CURVES if isinstance(estimator, (FunctionalRegressor, VectorValuedRegressor)) else Y


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_no_training_row_is_kept(estimator):
    model = clone(estimator).set_params(approximation=Nystroem(12, random_state=0)).fit(X, targets(estimator))
    fitted = getattr(model, "regressor_", model)
    assert fitted.X_fit_ is None
    assert fitted.dual_coef_ is None
    assert fitted.approximation_.n_features <= 12
    few = clone(estimator).set_params(approximation=Nystroem(12, random_state=0))
    many = np.vstack([X, X + 0.01, X - 0.01, X + 0.02])
    few.fit(many, np.concatenate([targets(estimator)] * 4))
    sizes = [len(pickle.dumps(one)) for one in (few, model)]
    assert sizes[0] < sizes[1] + 8 * len(X) * 4  # indices of rows at most
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_equal_rows_are_rows_and_one_landmark(estimator):
    many, y = np.concatenate([X[:20]] * 2), np.concatenate([targets(estimator)[:20]] * 2)
    few, all_rows = (clone(estimator).set_params(approximation=Nystroem(size, random_state=0)) for size in (20, 30))
    fitted = getattr(all_rows.fit(many, y), "regressor_", all_rows)
    assert fitted.approximation_.n_features <= 20
    np.testing.assert_allclose(all_rows.predict(NEW), few.fit(many, y).predict(NEW))
    with pytest.raises(MercerError, match="n_samples = 40; got 41"):
        clone(estimator).set_params(approximation=Nystroem(41)).fit(many, y)
    with pytest.raises(MercerError, match="n_samples = 20; got 30"):
        clone(all_rows).fit(many, y, sample_weight=np.repeat([1.0, 0.0], 20))


WAVES = RandomFourier(30, random_state=0)
#: as for the same estimators without features
UNAVOIDABLE = {
    "check_decision_proba_consistency": "probabilities order rows by the cost at which their decision changes",
    "check_outliers_train": "offsets are those of all levels",
    "check_regressors_train": "the check itself sets alpha=0.01, a strong penalty",
}


def unavoidable(estimator):
    if isinstance(estimator, NumbersAsFields):
        return MULTIOUTPUT
    if type(estimator).__name__.endswith("RegressorCV") and isinstance(estimator.approximation, Nystroem):
        return {"check_regressors_train": "five landmarks, for checks with few rows, say too little of ten columns"}
    own = {
        "CostSensitiveClassifier": "check_decision_proba_consistency",
        "LevelSetDetector": "check_outliers_train",
        "KernelQuantileRegressor": "check_regressors_train",
    }.get(type(estimator).__name__)
    return {} if own is None else {own: UNAVOIDABLE[own]}


LANDMARKS = Nystroem(5, random_state=0)
CHECKED = [
    KernelQuantileRegressor(measure=LEVELS),
    KernelQuantileRegressorCV(alphas=[1e-3], stages="joint", cv=2, measure=LEVELS),
    CostSensitiveClassifier("gaussian", measure=LEVELS),
    LevelSetDetector(measure=LEVELS, calibration=None),
    FunctionalRegressor(),
    FunctionalRegressorCV(alphas=[1e-3], cv=2),
    VectorValuedRegressor(),
    NumbersAsFields("curl-free", alpha=1e-2),
    SimplexClassifier(),
    InputOutputKernelRegressor(),
    InputOutputKernelRegressor(output_kernel="gaussian", loss="max_margin"),
]


@parametrize_with_checks(
    [clone(one).set_params(approximation=given) for one in CHECKED for given in (WAVES, LANDMARKS)],
    expected_failed_checks=unavoidable,
)
def test_scikit_learn_checks_of_every_estimator_with_features(estimator, check):
    check(estimator)


def test_the_report_of_accuracy():
    errors = []
    for size in (5, 100):
        model = VectorValuedRegressor(GIVEN, alpha=1e-3, approximation=Nystroem(size, random_state=0)).fit(X, CURVES)
        errors.append((model.approximation_.kernel_error, model.approximation_.lost_accuracy))
    assert errors[0][0] > 5 * errors[1][0] > 0
    assert errors[0][1] > 0.05 > abs(errors[1][1])
    assert LevelSetDetector(approximation=Nystroem(20)).fit(X).approximation_.lost_accuracy is None


@pytest.mark.parametrize("seed", range(3))
def test_the_report_of_a_kernel_of_small_rank_is_no_warning(seed):
    rows = np.random.default_rng(seed).normal(size=(450, 2)) * [1.0, 1e-3]
    many = np.concatenate([rows] * 3)
    own = Explicit(lambda X: X).bind(Linear(), many)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        report = approximation.compare(own, own, WAVES, many, many[:, :1], 1e-30)
    assert report.kernel_error == report.lost_accuracy == 0


def test_automatic_features_where_the_kernel_takes_too_long(monkeypatch):
    monkeypatch.setattr(approximation, "ALWAYS_EXACT_ROWS", 100)
    model = KernelQuantileRegressor(GIVEN, alpha=1e-2).fit(X, Y)
    assert model.approximation_ is None
    monkeypatch.setattr(approximation, "PATIENT_WORK", 1e3)
    monkeypatch.setattr(approximation, "AUTOMATIC_LANDMARKS", 40)
    model = KernelQuantileRegressor(GIVEN, alpha=1e-2).fit(X, Y)
    assert model.approximation_.features.n_landmarks == 40
    assert KernelQuantileRegressor(GIVEN, alpha=1e-2, approximation=None).fit(X, Y).approximation_ is None


def test_deviations_of_features_are_those_of_the_rows():
    how = {"alpha": 1e-2, "output_matrix": np.array([[2.0, 1.0], [1.0, 1.0]]), "metric": [1.0, 4.0]}
    for intercept in (True, False):
        exact = VectorValuedRegressor(GIVEN, fit_intercept=intercept, **how).fit(X, CURVES[:, :2])
        features = VectorValuedRegressor(GIVEN, fit_intercept=intercept, approximation=Nystroem(150), **how)
        features.fit(X, CURVES[:, :2])
        for asked in ({"return_std": True}, {"return_cov": True}):
            found, truth = features.predict(X[:5], **asked)[1], exact.predict(X[:5], **asked)[1]
            np.testing.assert_allclose(found, truth, rtol=1e-5)


def test_the_mean_curve_of_features():
    exact = FunctionalRegressor(GIVEN, alpha=1e-3, grid=GRID).fit(X, CURVES, np.arange(1.0, 151.0))
    features = clone(exact).set_params(approximation=Nystroem(150)).fit(X, CURVES, np.arange(1.0, 151.0))
    for method in ("evaluate", "slope"):
        found, truth = (getattr(one.mean_function_, method)([0.2, 0.7]) for one in (features, exact))
        np.testing.assert_allclose(found, truth, atol=1e-5)
    np.testing.assert_allclose(
        features.diagnose(X, CURVES, np.arange(1.0, 151.0)).leverage,
        exact.diagnose(X, CURVES, np.arange(1.0, 151.0)).leverage,
        atol=1e-5,
    )


@pytest.mark.parametrize("features", [Nystroem(100), RandomFourier(3000, random_state=0)])
def test_fields_of_features_have_all_derivatives(features):
    positions = RNG.uniform(-1, 1, size=(100, 2))
    flow = np.stack([-positions[:, 1], positions[:, 0] ** 2], axis=1)
    kernel = Helmholtz(Gaussian(0.5), Gaussian(0.5))
    exact = VectorFieldRegressor(kernel, alpha=1e-3, approximation=None).fit(positions, flow)
    model = clone(exact).set_params(approximation=features).fit(positions, flow)
    assert model.X_fit_ is None
    for method in ("predict", "jacobian", "curl", "divergence"):
        found, truth = (getattr(one, method)(positions[:9]) for one in (model, exact))
        np.testing.assert_allclose(found, truth, atol=0.1)
    steps = 1e-5 * np.eye(2)
    slopes = [(model.potential(positions[:5] + step) - model.potential(positions[:5] - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(np.stack(slopes, axis=1), model.parts(positions[:5])[0], atol=1e-4)


ROWS = np.random.default_rng(5).normal(size=(1200, 3))
HALF_AND_HALF = {
    "quantiles": (KernelQuantileRegressor(GIVEN, alpha=1e-2, measure=LEVELS, tol=1e-4), lambda X: X[:, 0] ** 2),
    "costs": (CostSensitiveClassifier(GIVEN, alpha=1e-2, measure=LEVELS, tol=1e-4), lambda X: X[:, 0] > X[:, 1] ** 2),
    "ridge": (VectorValuedRegressor(GIVEN, alpha=1e-3, metric=[1.0, 4.0]), lambda X: X[:, :2] ** 2),
    "robust": (VectorValuedRegressor(GIVEN, alpha=1e-3, loss=Huber(0.5), tol=1e-5), lambda X: X[:, :2] ** 2),
    "curves": (
        FunctionalRegressor(GIVEN, output_kernel=Gaussian(5.0), alpha=1e-3, grid=GRID),
        lambda X: np.sin(3 * GRID + X[:, :1]),
    ),
}


@pytest.mark.parametrize("case", HALF_AND_HALF.values(), ids=HALF_AND_HALF)
def test_features_that_do_not_fit_into_memory_give_the_same_model(case):
    estimator, targets = case
    estimator = clone(estimator).set_params(approximation=Nystroem(60, random_state=0))
    whole = clone(estimator).fit(ROWS, targets(ROWS))
    with memory_limit(2**20):  # the features alone are more than half of it
        parts = clone(estimator).fit(ROWS, targets(ROWS))
    assert isinstance(parts.solver_, StreamedSolver)
    assert not isinstance(whole.solver_, StreamedSolver)
    assert abs(parts.objective_ - whole.objective_) <= parts.dual_gap_ + whole.dual_gap_ + 1e-12
    predict = "predict_at" if hasattr(whole, "measure_") else "predict"
    ask = ([0.2, 0.5],) if predict == "predict_at" else ()
    found, truth = (getattr(one, predict)(NEW, *ask) for one in (parts, whole))
    np.testing.assert_allclose(found, truth, atol=1e-2 * np.abs(truth).max())


def test_solvers_in_memory_need_all_features_there():
    model = KernelQuantileRegressor(GIVEN, alpha=1e-2, approximation=Nystroem(60), solver="interior_point")
    with memory_limit(2**20), pytest.raises(MercerError, match="solver must be 'auto'"):
        model.fit(ROWS, ROWS[:, 0])


def test_level_sets_of_features_take_sweeps_where_pairs_of_rows_take_longer():
    rows = np.random.default_rng(6).normal(size=(6000, 2))
    model = LevelSetDetector(GIVEN, measure=LEVELS, approximation=Nystroem(20, random_state=0), calibration=None)
    assert isinstance(model.fit(rows).solver_, SemismoothNewton)
    assert np.all(np.abs(np.mean(model.predict_at(rows, [0.1, 0.5]) < 0, axis=0) - [0.1, 0.5]) < 0.01)


def test_features_of_ones_own_take_the_place_of_any_kernel():
    model = VectorValuedRegressor(Gaussian(3.0), alpha=1e-3, approximation=Explicit(lambda X: X)).fit(X, CURVES)
    linear = VectorValuedRegressor(Linear(), alpha=1e-3).fit(X, CURVES)
    np.testing.assert_allclose(model.predict(NEW), linear.predict(NEW), atol=1e-8)


def test_an_approximation_of_yours_means_the_joint_model():
    model = KernelQuantileRegressor(approximation=Nystroem(20, random_state=0)).fit(X, Y)
    assert model.stages_ is None
    assert KernelQuantileRegressor().fit(X, Y).stages_ is not None
    searched = KernelQuantileRegressorCV(approximation=Nystroem(20, random_state=0), cv=2).fit(X, Y)
    assert searched.stages_ is None
    assert isinstance(searched.best_params_["kernel"], Gaussian)


@pytest.mark.parametrize("wrong", ["nystroem", 300, Nystroem])
@pytest.mark.parametrize("estimator", [KernelQuantileRegressor(), LevelSetDetector(), FunctionalRegressor()])
def test_what_is_no_approximation(estimator, wrong):
    with pytest.raises(MercerError, match=r"approximation must be 'auto', None, Nystroem.*got"):
        estimator.set_params(approximation=wrong).fit(X, targets(estimator))


def test_what_features_cannot_do():
    with pytest.raises(MercerError, match="no points that features"):
        LevelSetDetector("precomputed", approximation=Nystroem(5)).fit(GIVEN(X))
    with pytest.raises(MercerError, match="guarantee"):
        KernelQuantileRegressor(noncrossing="guarantee", approximation=Nystroem(5)).fit(X[:, :1], Y)
    pairs = [(GRID, row) for row in CURVES]
    with pytest.raises(MercerError, match="points of their own"):
        FunctionalRegressor(approximation=Nystroem(5)).fit(X, pairs)
    with pytest.raises(MercerError, match=r"n_landmarks must be at most.*150.*151"):
        quantiles(approximation=Nystroem(151))
