"""Kernels by the slope of held-out loss: its slopes, what it finds, and its place among scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    CostSensitiveClassifier,
    FunctionalRegressor,
    GradientSearchCV,
    KernelQuantileRegressor,
    LevelSetDetector,
    VectorValuedRegressor,
)
from mercer.estimators.held_out_search import SEARCH_TOL, HeldOutSearch
from mercer.estimators.kernel_coordinates import KernelCoordinates
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.features import RandomFourier
from mercer.kernels import Gaussian, Linear, Matern
from mercer.measures import Points

RNG = np.random.default_rng(0)
N = 90
X = RNG.uniform(size=(N, 3))
y = np.sin(9 * X[:, 0]) + (0.1 + 0.3 * X[:, 1]) * RNG.normal(size=N)
FEW = Points([0.25, 0.5, 0.75])
QUANTILES = KernelQuantileRegressor(Gaussian([3.0, 2.0, 1.0]), output_kernel=Gaussian(3.0), alpha=0.01, measure=FEW)
SMALL = GradientSearchCV(VectorValuedRegressor(Gaussian([3.0, 3.0, 3.0])), max_iter=4)


def unavoidable(estimator):
    if isinstance(estimator.estimator, CostSensitiveClassifier):
        return {}
    return {"check_sample_weight_equivalence_on_dense_data": "copies of a row come into other parts than a weight"}


@parametrize_with_checks(
    [
        GradientSearchCV(VectorValuedRegressor(), max_iter=1),
        GradientSearchCV(CostSensitiveClassifier(measure=Points([0.3, 0.7])), max_iter=1),
    ],
    expected_failed_checks=unavoidable,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("estimator", "targets", "names"),
    [
        (QUANTILES, y, ["alpha", "kernel__gamma", "output_kernel__gamma"]),
        (
            VectorValuedRegressor(2.0 * Gaussian(3.0) + Linear(), output_matrix=np.eye(2) + 0.5, alpha=0.01),
            np.stack([y, y + X[:, 1]], axis=1),
            ["alpha", "kernel__left__scale", "kernel__left__kernel__gamma", "output_matrix"],
        ),
        (
            VectorValuedRegressor(RandomFourier(4, random_state=0).bind(Gaussian(3.0), X), alpha=0.01, loss="huber"),
            y,
            ["kernel__frequencies"],
        ),
    ],
    ids=["quantiles", "vectors", "frequencies"],
)
def test_the_slope_of_the_criterion(estimator, targets, names):
    weight = RNG.uniform(0.5, 2.0, size=N)
    model = clone(estimator).set_params(tol=1e-9)
    model.set_params(loss=clone(estimator).fit(X, targets).loss_) if hasattr(model, "output_matrix") else None
    coordinates = KernelCoordinates.of({name: model.get_params()[name] for name in names})
    search = HeldOutSearch(model, coordinates, X, targets, weight, 1.5 * weight.sum())
    flat = 0.1 * RNG.normal(size=coordinates.size)
    slope, expected = search.value_and_slope(flat)[1], []
    for step in np.eye(coordinates.size)[:9] * 1e-3:
        ends = [search.value_and_slope(flat + sign * step)[0] for sign in (1, -1)]
        expected.append((ends[0] - ends[1]) / 2e-3)
    np.testing.assert_allclose(slope[:9], expected, atol=3e-3 * np.max(np.abs(expected)))


def test_the_value_is_nearly_the_loss_of_rows_held_out():
    search = HeldOutSearch(
        clone(QUANTILES).set_params(tol=SEARCH_TOL), KernelCoordinates.of({"alpha": 0.01}), X, y, np.ones(N), N
    )
    losses = []
    for train, other in search.pairs:
        model = clone(QUANTILES).set_params(alpha=0.01 * N / len(train), tol=1e-8, noncrossing=None)
        model.fit(X[train], y[train])
        levels, weights = FEW.build(X).locations, FEW.build(X).weights
        residuals = y[other, None] - model.predict_quantile(X[other], levels)
        losses.append(np.mean(np.maximum(levels * residuals, (levels - 1) * residuals) @ weights))
    value = search.value_and_slope(np.zeros(1))[0]
    assert 0.97 * np.mean(losses) < value < np.mean(losses)


def test_it_finds_the_columns_that_tell_something():
    rng = np.random.default_rng(1)
    rows, new = rng.uniform(size=(150, 4)), rng.uniform(size=(500, 4))
    noise, truth = rng.normal(size=150), np.sin(9 * new[:, 0]) + 0.3 * rng.normal(size=500)
    plain = KernelQuantileRegressor(Gaussian("standardized"), measure=FEW)
    search = GradientSearchCV(plain).fit(rows, np.sin(9 * rows[:, 0]) + 0.3 * noise)
    gamma = search.best_params_["kernel__gamma"]
    assert gamma[0] > 10 * gamma[1:].max()
    start = clone(plain).fit(rows, np.sin(9 * rows[:, 0]) + 0.3 * noise)
    assert search.score(new, truth) > start.score(new, truth) + 0.1
    history = search.history_
    assert len(history["value"]) == len(history["held_out_loss"]) > search.best_index_ > 0
    assert search.best_index_ == np.argmin(history["held_out_loss"])
    model = search.best_estimator_
    assert model.relative_gap_ <= model.tol == 1e-3
    assert model.alpha_ == search.best_params_["alpha"]
    np.testing.assert_array_equal(model.kernel_.gamma, gamma)


def test_small_penalties_do_not_deceive_it():
    """With a tiny λ added rows fit themselves at no price: the bound falls, and held-out loss does not."""
    curves = np.sin(3 * (X[:, :1] + np.linspace(0, 1, 4))) + 0.5 * RNG.normal(size=(N, 4))
    model = FunctionalRegressor(Gaussian(100.0), output_kernel=Gaussian(3.0), grid=np.linspace(0, 1, 4))
    search = GradientSearchCV(model, ["kernel__gamma", "alpha"]).fit(X, curves)
    loss = search.history_["held_out_loss"]
    noise = 0.5**2 / 2  # what no model can predict, for half the squared norm
    assert loss.min() > 0.8 * noise


def test_what_is_given_stays():
    search = GradientSearchCV(clone(QUANTILES), max_iter=2).fit(X, y)
    assert set(search.best_params_) == {"kernel__gamma"}
    assert search.best_estimator_.alpha_ == 0.01
    assert search.best_estimator_.output_kernel_ == Gaussian(3.0)
    assert search.estimator.kernel == Gaussian([3.0, 2.0, 1.0])
    some = GradientSearchCV(clone(QUANTILES), ["alpha"], max_iter=2, max_samples=40).fit(X, y)
    assert set(some.best_params_) == {"alpha"}
    assert some.best_estimator_.kernel_ == Gaussian([3.0, 2.0, 1.0])


def test_a_loss_by_name_and_geometry_is_settled():
    model = VectorValuedRegressor(Gaussian(3.0), loss="huber", geometry="componentwise")
    search = GradientSearchCV(model, max_iter=1).fit(X, np.stack([y, X[:, 1]], axis=1))
    assert search.best_estimator_.loss.geometry == "componentwise"


def test_weights_are_copies_of_the_same_rows():
    weight = np.ones(N)
    weight[::3] = 0.0
    search = clone(SMALL).fit(X, y, sample_weight=weight)
    other = clone(SMALL).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(search.history_["value"], other.history_["value"], rtol=1e-6)


def test_a_number_is_the_weight_of_all_rows():
    found = [clone(SMALL).set_params(max_iter=1).fit(X, y, sample_weight=weight) for weight in (2.0, np.full(N, 2.0))]
    np.testing.assert_array_equal(found[0].predict(X), found[1].predict(X))


def test_output_matrices_stay_positive():
    Y = np.stack([y, y, RNG.normal(size=N)], axis=1)
    model = VectorValuedRegressor(Gaussian([30.0, 1.0, 1.0]), output_matrix=np.eye(3))
    found = GradientSearchCV(model, ["output_matrix", "alpha"], max_iter=8).fit(X, Y).best_params_["output_matrix"]
    assert np.linalg.eigvalsh(found)[0] >= 0
    assert found[0, 1] > 0.2 * np.sqrt(found[0, 0] * found[1, 1])


def test_among_scikit_learns_tools():
    search = make_pipeline(StandardScaler(), clone(SMALL)).fit(X, y)
    assert search.predict(X[:4]).shape == (4,)
    assert is_regressor(SMALL)
    assert is_classifier(GradientSearchCV(CostSensitiveClassifier()))
    labels = np.where(y > 0, "up", "down")
    costs = GradientSearchCV(CostSensitiveClassifier(Matern(1.5), measure=FEW), max_iter=2).fit(X, labels)
    assert set(costs.predict(X)) <= {"up", "down"}
    assert costs.predict_proba(X[:3]).shape == (3, 2)
    np.testing.assert_array_equal(clone(SMALL).fit(X, y).predict(X), clone(SMALL).fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("search", "message"),
    [
        (GradientSearchCV(LevelSetDetector()), "one of KernelQuantileRegressor"),
        (GradientSearchCV(VectorValuedRegressor("precomputed")), "k_X alone"),
        (GradientSearchCV(clone(QUANTILES), ["kernel__length"]), "'kernel__gamma'"),
        (GradientSearchCV(clone(QUANTILES), "kernel__gamma"), "a list of some of"),
        (GradientSearchCV(clone(QUANTILES), [["alpha"]]), "a list of some of"),
        (GradientSearchCV(clone(QUANTILES), None), "a list of some of"),
        (GradientSearchCV(clone(QUANTILES), random_state="seed"), "random_state"),
        (GradientSearchCV(clone(QUANTILES), max_iter=0), "max_iter"),
        (GradientSearchCV(clone(QUANTILES).set_params(kernel=Linear())), "nothing to search for"),
    ],
)
def test_bad_settings_are_refused(search, message):
    with pytest.raises(MercerError, match=message):
        search.fit(X, y)


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match="sample_weight"):
        clone(SMALL).fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(DataError, match="sample_weight must have shape"):
        clone(SMALL).set_params(max_samples=40).fit(X, y, sample_weight=np.ones(3))
    few = clone(SMALL).set_params(max_samples=40)  # of which rows are taken before they are looked at
    for bad in ((X, y[:-1]), (None, y), (X, None), (3.0, y)):
        with pytest.raises(MercerError):
            few.fit(*bad)
    for weight, message in (
        (["a"] * N, "must hold numbers"),
        (-np.ones(N), "its sum -90"),
        (np.full(N, np.nan), "sum"),
    ):
        with pytest.raises(DataError, match=message):
            few.fit(X, y, sample_weight=weight)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"town": np.where(y > 0, "Oslo", "Rome"), "x": X[:, 0]})
    with pytest.raises(UnsupportedError, match="TableEncoder"):
        GradientSearchCV(VectorValuedRegressor()).fit(frame, y)


def test_few_rows_are_fitted_as_they_are():
    search = clone(SMALL).fit(X[:12], y[:12])
    assert len(search.history_["value"]) == 0
    np.testing.assert_array_equal(search.best_params_["kernel__gamma"], [3.0, 3.0, 3.0])
    assert search.predict(X).shape == (N,)


def test_coordinates_of_numbers_that_are_0_or_infinite_stay():
    at = KernelCoordinates.of({"kernel__gamma": np.array([0.0, 2.0]), "kernel__length_scale": np.array([np.inf, 1.0])})
    flat = np.array([1.0, 0.0, 1.0, 0.0])
    assert at.parameters(flat)["kernel__gamma"][0] == 0
    assert at.parameters(flat)["kernel__length_scale"][0] == np.inf
    slopes = {"kernel__gamma": np.ones(2), "kernel__length_scale": np.array([0.0, 1.0])}
    np.testing.assert_array_equal(at.slopes(flat, slopes), [0.0, 2.0, 0.0, 1.0])
