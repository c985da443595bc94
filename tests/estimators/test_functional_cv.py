"""FunctionalRegressorCV: errors against refits without each curve, choices that can be repeated, refusals."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian, Laplacian, Linear
from mercer.losses import EpsilonRidge, Huber, Square
from mercer.measures import Grid
from mercer.operator_valued import FourierFeatureBasis, NystromBasis

RNG = np.random.default_rng(0)
GRID = np.linspace(0, 1, 12)
X = RNG.uniform(size=(30, 1))
TRUTH = np.sin(2 * np.pi * (GRID + X))
Y = TRUTH + 0.1 * RNG.normal(size=TRUTH.shape)
OUTLYING = Y.copy()
OUTLYING[::6] *= -2
WEIGHTS = np.full(12, 1 / 11)
WEIGHTS[[0, -1]] /= 2


@parametrize_with_checks(
    [
        FunctionalRegressorCV(),
        FunctionalRegressorCV(kernels=[Gaussian("standardized")], alphas=[1e-3], loss="huber", cv=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("intercept", [True, False])
def test_errors_are_those_of_refits_without_each_curve(intercept):
    kernels, output_kernels = [Gaussian(2.0), Gaussian(20.0)], [Gaussian(5.0), Gaussian(50.0)]
    alphas = np.array([1e-4, 1e-2])
    model = FunctionalRegressorCV(
        kernels, output_kernels=output_kernels, alphas=alphas, grid=GRID, fit_intercept=intercept, mean_curve="free"
    ).fit(X, Y)
    expected = np.zeros((2, 2, 2))
    n = len(X)
    for place in np.ndindex(2, 2, 2):
        for i in range(n):
            rest = np.arange(n) != i
            one = FunctionalRegressor(
                kernels[place[0]],
                output_kernel=output_kernels[place[1]],
                alpha=alphas[place[2]] * n / (n - 1),  # λn is kept
                grid=GRID,
                fit_intercept=intercept,
                mean_curve="free",
                tol=1e-10,
            ).fit(X[rest], Y[rest])
            expected[place] += 0.5 * WEIGHTS @ (Y[i] - one.predict(X[i : i + 1])[0]) ** 2 / n
    np.testing.assert_allclose(model.errors_, expected, rtol=1e-6)
    i, j, k = np.unravel_index(np.argmin(expected), expected.shape)
    assert (model.kernel_, model.output_kernel_, model.alpha_) == (kernels[i], output_kernels[j], alphas[k])


def test_the_generalised_criterion_is_near_leave_one_out():
    one, other = (
        FunctionalRegressorCV(grid=GRID, criterion=name).fit(X, Y) for name in ("leave_one_out", "generalised")
    )
    assert not np.array_equal(one.errors_, other.errors_)
    np.testing.assert_allclose(other.errors_.min(), one.errors_.min(), rtol=0.1)


@pytest.mark.parametrize("loss", ["square", "huber", "epsilon_ridge", "epsilon_insensitive"])
@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
def test_the_choice_can_be_repeated(loss, geometry):
    settings = {"grid": GRID, "tol": 1e-3}
    model = FunctionalRegressorCV(
        [Gaussian(10.0)], output_kernels=[Gaussian(20.0)], loss=loss, geometry=geometry, cv=3, **settings
    ).fit(X, OUTLYING)
    assert model.relative_gap_ <= 1e-3
    again = FunctionalRegressor(**model.best_params_, **settings).fit(X, OUTLYING)
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-10)
    if loss == "square":
        assert model.thresholds_ is None
    else:
        value = model.loss_.kappa if loss == "huber" else model.loss_.epsilon
        assert value == model.thresholds_[np.argmin(model.threshold_errors_)]
        assert np.all(np.diff(model.thresholds_) < 0)


def test_threshold_errors_are_those_of_fits_to_the_folds():
    folds = KFold(3, shuffle=True, random_state=1)
    kappas = [0.05, 0.2, 10.0]
    settings = {"output_kernel": Gaussian(20.0), "alpha": 1e-3, "grid": GRID, "tol": 1e-8}
    model = FunctionalRegressorCV(
        Gaussian(10.0),
        output_kernels=Gaussian(20.0),
        alphas=1e-3,
        loss="huber",
        thresholds=kappas,
        grid=GRID,
        cv=folds,
        scoring="square",
        cv_tol=1e-8,
    ).fit(X, OUTLYING)
    expected = []
    for kappa in sorted(kappas, reverse=True):
        norms = []
        for train, test in folds.split(X):
            one = FunctionalRegressor(Gaussian(10.0), loss=Huber(kappa), **settings).fit(X[train], OUTLYING[train])
            norms.extend((OUTLYING[test] - one.predict(X[test])) ** 2 @ WEIGHTS)
        expected.append(np.mean(norms))
    np.testing.assert_allclose(model.threshold_errors_, expected, rtol=1e-4)


def test_robust_losses_beat_ridge_under_contamination():
    ridge = FunctionalRegressorCV(grid=GRID).fit(X, OUTLYING)
    robust = FunctionalRegressorCV(grid=GRID, loss="huber").fit(X, OUTLYING)
    assert robust.score(X, TRUTH) > ridge.score(X, TRUTH) + 0.02
    assert set(range(0, 30, 6)) <= set(robust.saturated_)


@pytest.mark.parametrize("observations", ["masked", "scattered"])
def test_missing_values(observations):
    if observations == "masked":
        curves = np.where(RNG.random(Y.shape) < 0.3, np.nan, Y)
    else:
        curves = [(GRID[seen], row[seen]) for row, seen in zip(Y, RNG.random(Y.shape) < 0.7, strict=True)]
    model = FunctionalRegressorCV(
        [Gaussian(10.0), Gaussian(1e4)],
        output_kernels=[Gaussian(10.0)],
        alphas=[1e-5, 1e-3, 1.0],
        loss="huber",
        grid=GRID,
    ).fit(X, curves)
    assert model.kernel_ == Gaussian(10.0)
    assert model.alpha_ < 1
    assert model.score(X, TRUTH) > 0.95
    assert model.relative_gap_ <= 1e-4


def test_a_gram_matrix():
    gram = Gaussian(10.0)(X)
    settings = {"output_kernels": Gaussian(20.0), "loss": "huber", "grid": GRID, "cv": 3}
    by_gram = FunctionalRegressorCV("precomputed", **settings).fit(gram, OUTLYING)
    by_kernel = FunctionalRegressorCV(Gaussian(10.0), **settings).fit(X, OUTLYING)
    np.testing.assert_allclose(by_gram.predict(gram), by_kernel.predict(X), atol=1e-8)


def test_folds_are_of_the_rows_as_they_were_given():
    weight = np.ones(len(X))
    weight[[0, 7]] = 0
    folds = list(KFold(3).split(X))
    settings = {"kernels": Gaussian(10.0), "output_kernels": Gaussian(20.0), "grid": GRID, "loss": "huber"}
    model = FunctionalRegressorCV(cv=folds, **settings).fit(X, OUTLYING, sample_weight=weight)
    keep = np.flatnonzero(weight)
    renumber = np.cumsum(weight > 0) - 1
    same = [tuple(renumber[rows[weight[rows] > 0]] for rows in fold) for fold in folds]
    other = FunctionalRegressorCV(cv=same, **settings).fit(X[keep], OUTLYING[keep])
    np.testing.assert_allclose(model.threshold_errors_, other.threshold_errors_, rtol=1e-9)


def test_models_are_saved_without_their_data():
    model = FunctionalRegressorCV(grid=GRID, loss="huber", cv=2).fit(X, Y)
    assert not hasattr(model, "_given")
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert clone(model).get_params()["loss"] == "huber"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": [-1.0]}, "alphas must be a positive number or a non-empty list"),
        ({"alphas": "auto"}, "alphas must be positive numbers"),
        ({"thresholds": []}, "thresholds must be"),
        ({"thresholds": [1.0]}, "thresholds must be None for this loss"),
        ({"thresholds": [1.0], "loss": Square()}, "neither κ nor ε"),
        ({"criterion": "aic"}, "criterion must be 'leave_one_out' or 'generalised'"),
        ({"scoring": "r2"}, "scoring must be 'norm' or 'square'"),
        ({"kernels": []}, "kernels must be a kernel or a non-empty list"),
        ({"kernels": ["gausian"]}, "Did you mean 'gaussian'"),
        ({"output_kernels": "precomputed"}, "kernels on points of Θ"),
        ({"cv": 1, "loss": "huber"}, "cv must be folds of the curves"),
        ({"cv_tol": 0}, "cv_tol"),
        ({"loss": "pinball"}, "loss must be"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(MercerError, match=message):
        FunctionalRegressorCV(grid=GRID, **settings).fit(X, Y)


def test_a_loss_object_is_taken_literally_unless_thresholds_are_given():
    settings = {"kernels": [Gaussian(10.0), Linear()], "output_kernels": Gaussian(20.0), "grid": GRID, "cv": 2}
    assert FunctionalRegressorCV(loss=EpsilonRidge(0.3), **settings).fit(X, Y).loss_ == EpsilonRidge(0.3)
    tuned = FunctionalRegressorCV(loss=EpsilonRidge(0.3), thresholds=[0.01, 0.02], **settings).fit(X, Y)
    assert tuned.loss_.epsilon in (0.01, 0.02)


# --- outliers, weights and folds that once went wrong


@pytest.mark.parametrize("size", [30.0, 1e3])
@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_no_outlier_is_large_enough_to_rule(size, loss):
    outlying = Y.copy()
    outlying[3] *= size
    outlying[20] *= -size
    for model in (
        FunctionalRegressor(loss=loss, grid=GRID),
        FunctionalRegressorCV(loss=loss, grid=GRID, cv=3),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            assert model.fit(X, outlying).score(X, TRUTH) > 0.97


def test_local_outliers_do_not_rule_pointwise_losses():
    spikes = Y + 50 * (np.random.default_rng(1).random(Y.shape) < 0.1)
    for estimator in (FunctionalRegressor, FunctionalRegressorCV):
        assert estimator(loss="huber", geometry="pointwise", grid=GRID).fit(X, spikes).score(X, TRUTH) > 0.97


def test_rows_of_hardly_any_weight_do_not_set_thresholds():
    junk, weight = Y.copy(), np.ones(len(X))
    junk[:18] *= 30
    weight[:18] = 1e-9
    settings = {"kernel": Gaussian(10.0), "output_kernel": Gaussian(10.0), "alpha": 1e-4, "grid": GRID, "loss": "huber"}
    with_junk = FunctionalRegressor(**settings).fit(X, junk, sample_weight=weight)
    without = FunctionalRegressor(**settings).fit(X[18:], Y[18:])
    assert with_junk.loss_.kappa == pytest.approx(without.loss_.kappa, rel=0.2)  # with them it is 30 times that


@pytest.mark.parametrize("size", [9, 10, 11])
def test_a_basis_as_large_as_the_grid_is_told_from_the_grid(size):
    grid = np.linspace(0, 1, 11)
    curves = np.sin(2 * np.pi * (grid + X))
    settings = {"grid": grid, "output_kernel": Laplacian(3.0), "kernel": Gaussian(10.0), "alpha": 1e-2}
    model = FunctionalRegressor(loss="huber", representation=NystromBasis(size), fit_intercept=False, **settings)
    residuals = FunctionalRegressor(representation=NystromBasis(size), fit_intercept=False, **settings)
    residuals = curves - residuals.fit(X, curves).predict(X)
    norms = np.sqrt(residuals**2 @ Grid(grid).build().weights)
    assert 0.3 < model.fit(X, curves).loss_.kappa / (1.345 * np.median(norms)) < 1.5


def test_random_bases_are_drawn_once_in_a_fit():
    basis = FourierFeatureBasis(n_frequencies=10, gamma=10.0)
    model = FunctionalRegressorCV(representation=basis, grid=GRID, loss="huber").fit(X, Y)
    assert model.errors_.shape[1] == 1  # they do not depend on k_Θ
    assert model.score(X, TRUTH) > 0.9


@pytest.mark.parametrize("observations", ["holes", "pairs"])
def test_copies_of_rows_with_missing_values_are_weights(observations):
    holes = np.where(np.random.default_rng(2).random(Y.shape) < 0.3, np.nan, Y)
    curves = list(holes) if observations == "holes" else [(GRID[~np.isnan(y)], y[~np.isnan(y)]) for y in holes]
    once = FunctionalRegressor(grid=GRID).fit(X, np.array(curves) if observations == "holes" else curves)
    twice = [curve for curve in curves for _ in range(2)]
    again = FunctionalRegressor(grid=GRID).fit(
        np.repeat(X, 2, axis=0), np.array(twice) if observations == "holes" else twice
    )
    assert again.alpha_ == once.alpha_
    np.testing.assert_allclose(again.predict(X), once.predict(X), atol=1e-9)


def test_folds_without_weight_are_passed_over():
    weight = np.ones(len(X))
    weight[:10] = 0  # the first of three folds
    model = FunctionalRegressorCV(Gaussian(10.0), loss="huber", grid=GRID, cv=3).fit(X, Y, sample_weight=weight)
    assert np.all(np.isfinite(model.threshold_errors_))


def test_offsets_change_nothing():
    settings = {"kernels": Gaussian(10.0), "output_kernels": Gaussian(10.0), "loss": "huber", "grid": GRID, "cv": 3}
    plain, moved = (FunctionalRegressorCV(**settings).fit(X, Y + offset) for offset in (0.0, 1e6))
    np.testing.assert_allclose(moved.threshold_errors_, plain.threshold_errors_, rtol=1e-4)


def test_nothing_is_left_behind_by_a_fit_that_failed():
    model = FunctionalRegressorCV(loss="huber", grid=GRID, cv=[(np.arange(30), np.arange(0))])
    with pytest.raises(MercerError, match="empty folds"):
        model.fit(X, Y)
    assert not hasattr(model, "_given")


def test_kernels_of_both_kinds_and_criteria_that_do_not_apply_are_refused():
    with pytest.raises(MercerError, match="all of inputs or all precomputed"):
        FunctionalRegressorCV(["precomputed", Gaussian(1.0)], grid=GRID).fit(np.eye(30), Y)
    holes = Y.copy()
    holes[0, 0] = np.nan
    with pytest.raises(MercerError, match="needs a complete grid"):
        FunctionalRegressorCV(criterion="generalised", grid=GRID).fit(X, holes)
    assert (
        len(FunctionalRegressorCV(output_kernels=(Gaussian(1.0), Gaussian(9.0)), grid=GRID).fit(X, Y).output_kernels_)
        == 2
    )
