"""Cross-validation chooses what a search by hand, or scikit-learn's, chooses."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneGroupOut

from mercer import KernelQuantileRegressor, KernelQuantileRegressorCV
from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import Expectile
from mercer.measures import GaussLegendre, MonteCarlo, Points
from mercer.model_selection import integrated_pinball, make_crps_scorer, make_pinball_scorer
from mercer.solvers import ADMM

RNG = np.random.default_rng(11)
N = 45
X = RNG.uniform(size=(N, 2))
Y = np.sin(6 * X[:, 0]) + (0.2 + 0.5 * X[:, 1]) * RNG.normal(size=N)
NEW = RNG.uniform(size=(7, 2))
MEASURE = Points([0.1, 0.5, 0.9], [0.2, 0.5, 0.3])
KERNELS = [Gaussian([8.0, 4.0]), Gaussian(1.0)]
ALPHAS = [1e-2, 1e-4, 1.0]
TIGHT = {"tol": 1e-6, "cv_tol": 1e-6}


def chooser(kernels=KERNELS, **settings):
    return KernelQuantileRegressorCV(kernels, **{"alphas": ALPHAS, "measure": MEASURE, "cv": 3, **settings})


def held_out_loss(model, X, y, sample_weight=None):
    nodes, weights = model.measure_.locations, model.measure_.weights
    return -integrated_pinball(y, model.predict_quantile(X, nodes), nodes, weights, sample_weight)


def by_hand(splits, sample_weight=None):
    """Scores of shape (n_candidates, n_splits) from one KernelQuantileRegressor for each candidate and fold."""
    weight = np.ones(len(Y)) if sample_weight is None else sample_weight
    scores = []
    for kernel in KERNELS:
        for alpha in ALPHAS:
            model = KernelQuantileRegressor(kernel, alpha=alpha, measure=MEASURE, tol=1e-6)
            row = []
            for train, test in splits:
                model.fit(X[train], Y[train], weight[train])
                row.append(held_out_loss(model, X[test], Y[test], weight[test]))
            scores.append(row)
    return np.array(scores)


def split_scores(model):
    return np.column_stack([model.cv_results_[f"split{i}_test_score"] for i in range(model.n_splits_)])


@pytest.mark.parametrize("noncrossing", ["rearrange", None])
def test_scores_and_choice_are_those_of_grid_search(noncrossing):
    model = chooser(noncrossing=noncrossing, **TIGHT).fit(X, Y)
    search = GridSearchCV(
        KernelQuantileRegressor(measure=MEASURE, tol=1e-6, noncrossing=noncrossing),
        [{"kernel": [kernel], "alpha": ALPHAS} for kernel in KERNELS],
        scoring=held_out_loss,
        cv=3,
    ).fit(X, Y)
    assert model.cv_results_["params"] == search.cv_results_["params"]
    for name in ["split0_test_score", "split2_test_score", "mean_test_score"]:
        np.testing.assert_allclose(model.cv_results_[name], search.cv_results_[name], rtol=1e-4)
    np.testing.assert_allclose(model.cv_results_["std_test_score"], search.cv_results_["std_test_score"], rtol=1e-2)
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], search.cv_results_["rank_test_score"])
    assert model.best_params_ == search.best_params_
    assert model.best_index_ == search.best_index_
    assert model.best_score_ == pytest.approx(search.best_score_, rel=1e-4)
    found = model.predict_quantile(NEW, [0.2, 0.7])
    np.testing.assert_allclose(found, search.best_estimator_.predict_quantile(NEW, [0.2, 0.7]), atol=1e-10)


def test_the_final_fit_is_that_of_the_best_parameters():
    model = chooser().fit(X, Y)
    same = KernelQuantileRegressor(**model.best_params_, measure=MEASURE).fit(X, Y)
    assert (model.alpha_, model.kernel_) == (same.alpha_, same.kernel_)
    assert model.relative_gap_ <= 1e-3
    np.testing.assert_array_equal(model.dual_coef_, same.dual_coef_)
    np.testing.assert_array_equal(model.predict_interval(NEW), same.predict_interval(NEW))
    assert model.score(X, Y) == same.score(X, Y)


def test_a_loose_comparison_chooses_the_same():
    loose, tight = chooser(cv_tol=1e-2).fit(X, Y), chooser(**TIGHT).fit(X, Y)
    assert loose.best_params_ == tight.best_params_
    assert np.all(loose.cv_results_["max_relative_gap"] <= 1e-2)
    assert np.all(tight.cv_results_["max_relative_gap"] <= 1e-6)
    np.testing.assert_allclose(loose.cv_results_["mean_test_score"], tight.cv_results_["mean_test_score"], rtol=2e-2)
    assert not np.allclose(loose.cv_results_["mean_test_score"], tight.cv_results_["mean_test_score"], rtol=1e-7)


def test_sample_weight_counts_in_fits_and_scores():
    weight = np.random.default_rng(5).integers(0, 4, N).astype(float)
    splits = list(KFold(3).split(X))
    model = chooser(**TIGHT).fit(X, Y, weight)
    np.testing.assert_allclose(split_scores(model), by_hand(splits, weight), rtol=1e-4)
    assert not np.allclose(split_scores(model), split_scores(chooser(**TIGHT).fit(X, Y)), rtol=1e-2)


def test_zero_weight_is_absence_and_two_is_a_copy():
    weight = np.random.default_rng(6).integers(0, 3, N)
    groups = np.arange(N) % 3
    repeated = np.repeat(np.arange(N), weight)
    model = chooser(cv=LeaveOneGroupOut(), **TIGHT).fit(X, Y, weight.astype(float), groups)
    same = chooser(cv=LeaveOneGroupOut(), **TIGHT).fit(X[repeated], Y[repeated], groups=groups[repeated])
    np.testing.assert_allclose(split_scores(model), split_scores(same), rtol=1e-6)
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), rtol=1e-6)
    automatic = [
        chooser(None, alphas=None, cv=LeaveOneGroupOut()).fit(X, Y, weight, groups),
        chooser(None, alphas=None, cv=LeaveOneGroupOut()).fit(X[repeated], Y[repeated], groups=groups[repeated]),
    ]
    assert automatic[0].best_params_ == automatic[1].best_params_


def test_groups_reach_the_splitter():
    groups = np.random.default_rng(7).integers(0, 6, N)
    splits = list(GroupKFold(3).split(X, Y, groups))
    model = chooser(cv=GroupKFold(3), **TIGHT).fit(X, Y, groups=groups)
    np.testing.assert_allclose(split_scores(model), by_hand(splits), rtol=1e-4)
    assert not np.allclose(split_scores(model), split_scores(chooser(**TIGHT).fit(X, Y)), rtol=1e-2)
    explicit = chooser(cv=splits, **TIGHT).fit(X, Y)
    np.testing.assert_array_equal(split_scores(model), split_scores(explicit))
    with pytest.raises(ValueError, match="groups"):
        chooser(cv=GroupKFold(3)).fit(X, Y)


def test_copies_are_merged_within_a_training_fold_only():
    """A copy in another fold stays a row of that fold: scores are those of the folds as they are."""
    twice, folds = np.repeat(np.arange(N), 2), KFold(3, shuffle=True, random_state=0)
    model = chooser(KERNELS[0], alphas=[1e-3], cv=folds, **TIGHT).fit(X[twice], Y[twice])
    regressor = KernelQuantileRegressor(KERNELS[0], alpha=1e-3, measure=MEASURE, tol=1e-6)
    for index, (train, test) in enumerate(folds.split(twice)):
        regressor.fit(X[twice][train], Y[twice][train])
        score = held_out_loss(regressor, X[twice][test], Y[twice][test])
        assert model.cv_results_[f"split{index}_test_score"][0] == pytest.approx(score, rel=1e-5)
    assert len(model.X_fit_) == N


@pytest.mark.parametrize("scoring", [make_crps_scorer(), make_pinball_scorer([0.5]), "neg_mean_absolute_error"])
def test_other_scores(scoring):
    model = chooser(scoring=scoring, **TIGHT).fit(X, Y)
    search = GridSearchCV(
        KernelQuantileRegressor(measure=MEASURE, tol=1e-6),
        [{"kernel": [kernel], "alpha": ALPHAS} for kernel in KERNELS],
        scoring=scoring,
        cv=3,
    ).fit(X, Y)
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"], rtol=1e-3)
    assert model.best_params_ == search.best_params_


def test_scorers_see_ordinary_models():
    seen = []

    def scoring(estimator, X, y):
        seen.append((type(estimator), estimator.alpha, estimator.alpha_, estimator.relative_gap_, X.shape, y.shape))
        return -estimator.alpha_

    model = chooser(scoring=scoring).fit(X, Y)
    assert model.best_params_ == {"kernel": KERNELS[0], "alpha": 1e-4}
    assert len(seen) == 18
    assert all(kind is KernelQuantileRegressor and alpha == used for kind, alpha, used, *_ in seen)
    assert all(gap <= 2e-2 and shape == (15, 2) and targets == (15,) for *_, gap, shape, targets in seen)


def test_the_default_score_is_the_loss_that_is_fitted():
    model = chooser(loss=Expectile(), noncrossing=None, **TIGHT).fit(X, Y)
    train, test = next(KFold(3).split(X))
    regressor = KernelQuantileRegressor(
        KERNELS[0], alpha=ALPHAS[0], measure=MEASURE, loss="expectile", noncrossing=None, tol=1e-6
    ).fit(X[train], Y[train])
    predicted = regressor.predict_quantile(X[test], regressor.measure_.locations)
    expected = -np.mean(Expectile().value(np.repeat(Y[test][:, None], 3, axis=1), predicted, regressor.measure_))
    assert model.cv_results_["split0_test_score"][0] == pytest.approx(expected, rel=1e-4)


# -- the choice ------------------------------------------------------------------------------------------------


def test_one_standard_error_prefers_more_regular_models():
    settings = {"kernels": Gaussian(3.0), "alphas": np.logspace(-3, 0, 7), "cv": 4}
    best, regular = chooser(**settings).fit(X, Y), chooser(refit="one_se", **settings).fit(X, Y)
    mean, scores = regular.cv_results_["mean_test_score"], split_scores(regular)
    np.testing.assert_array_equal(mean, best.cv_results_["mean_test_score"])
    threshold = best.best_score_ - scores[best.best_index_].std(ddof=1) / 2
    assert regular.alpha_ > best.alpha_
    assert regular.best_score_ >= threshold
    larger = [alpha > regular.alpha_ for alpha in regular.cv_results_["param_alpha"]]
    assert np.all(mean[larger] < threshold)


def test_default_grids_surround_the_automatic_choice():
    model = KernelQuantileRegressorCV(measure=MEASURE, cv=2, stages="joint").fit(X, Y)
    automatic = KernelQuantileRegressor(measure=MEASURE, stages="joint").fit(X, Y)
    params = model.cv_results_["params"]
    assert len(params) == 15
    gamma = np.asarray(automatic.kernel_.gamma)
    for row, factor in zip(params[::5], [4.0, 1.0, 0.25], strict=True):
        np.testing.assert_allclose(row["kernel"].gamma, factor * gamma)
    alphas = [row["alpha"] for row in params[5:10]]
    np.testing.assert_allclose(alphas, automatic.alpha_ * 10 ** np.linspace(1.5, -1.5, 5))


def test_default_grids_stop_where_the_automatic_choice_does():
    """Data without noise: λ falls to its least value, and smaller ones are not tried."""
    clean = np.sin(3 * X[:, 0])
    model = KernelQuantileRegressorCV(Gaussian(1.0), measure=MEASURE, cv=2).fit(X, clean)
    lowest = KernelQuantileRegressor(Gaussian(1.0), measure=MEASURE).fit(X, clean).alpha_
    assert lowest == pytest.approx(1e-6 / np.mean(np.abs(clean - clean.mean())))
    np.testing.assert_allclose(
        model.cv_results_["param_alpha"].astype(float), lowest * 10 ** np.linspace(1.5, 0, 3), rtol=1e-12
    )


def test_default_grids_end_where_smaller_alphas_are_clearly_worse():
    automatic = KernelQuantileRegressor(Gaussian(1.0), measure=MEASURE).fit(X, Y).alpha_

    def far(model, X, y):
        return -abs(np.log(model.alpha_ / automatic))

    model = KernelQuantileRegressorCV(Gaussian(1.0), measure=MEASURE, scoring=far).fit(X, Y)
    tried = automatic * 10 ** np.array([1.5, 0.75, 0.0, -0.75])  # and not −1.5
    np.testing.assert_allclose(model.cv_results_["param_alpha"].astype(float), tried)
    assert model.alpha_ == pytest.approx(automatic)
    given = KernelQuantileRegressorCV(Gaussian(1.0), alphas=tried / 30, measure=MEASURE, scoring=far).fit(X, Y)
    assert len(given.cv_results_["params"]) == 4  # given ones are all tried


def test_bandwidths_come_from_all_rows():
    model = chooser(["gaussian", Laplacian("median")]).fit(X, Y)
    assert model.cv_results_["param_kernel"][0] == Gaussian("median").adapt(X)
    assert model.cv_results_["param_kernel"][-1] == Laplacian("median").adapt(X)


def test_a_random_measure_is_drawn_once():
    model = chooser(measure=MonteCarlo(4), random_state=None, scoring=lambda model, X, y: model.measure_.points[0, 0])
    model.fit(X, Y)
    assert np.ptp(split_scores(model)) == 0
    assert model.best_score_ == pytest.approx(model.measure_.points[0, 0], rel=1e-14)


@pytest.mark.parametrize("solver", ["admm", ADMM(tol=0.5)])
def test_the_solver_is_passed_on(solver):
    model = chooser(solver=solver).fit(X, Y)
    assert isinstance(model.solver_, ADMM)
    assert np.all(model.cv_results_["max_relative_gap"] <= 2e-2)


# -- what goes wrong is said -------------------------------------------------------------------------------------


def test_unconverged_fits_are_counted_in_one_warning():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = chooser(solver=ADMM(max_iter=2), cv_tol=1e-4).fit(X, Y)
    messages = [str(each.message) for each in caught if each.category is ConvergenceWarning]
    assert len(messages) == 2  # the comparison and the final fit
    assert "of 18 fits" in messages[0]
    assert model.cv_results_["max_relative_gap"].max() > 1e-4


def test_a_failing_candidate_never_wins():
    def scoring(estimator, X, y):
        return {1e-2: np.nan, 1e-4: 1.0, 1.0: np.inf}[estimator.alpha_]

    with pytest.warns(FitFailedWarning, match="4 of 6 candidates"):
        model = chooser(scoring=scoring).fit(X, Y)
    assert model.alpha_ == 1e-4
    np.testing.assert_array_equal(model.cv_results_["rank_test_score"], [3, 1, 3, 3, 1, 3])
    with pytest.raises(ValueError, match="no candidate has a score"):
        chooser(scoring=lambda model, X, y: np.nan).fit(X, Y)


def test_a_score_that_is_no_number():
    with pytest.raises((TypeError, ValueError), match="scoring must be a function that returns one number"):
        chooser(scoring=lambda model, X, y: {"a": 1.0}).fit(X, Y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernels": []}, "kernels must be a kernel, a list with at least one"),
        ({"kernels": ["gausian"]}, "kernels must be .* Did you mean 'gaussian'"),
        ({"kernels": [3]}, "kernels must be"),
        ({"kernels": ["precomputed", "gaussian"]}, "all 'precomputed' or none"),
        ({"alphas": []}, "alphas must be positive numbers"),
        ({"alphas": [1.0, 0.0]}, "alphas must be positive numbers"),
        ({"alphas": [-1.0]}, "alphas must be positive numbers"),
        ({"alphas": [np.nan]}, "alphas must be positive numbers"),
        ({"alphas": "auto"}, "alphas must be positive numbers"),
        ({"alphas": [[1.0], [2.0]]}, "alphas must be positive numbers"),
        ({"refit": "worst"}, "refit must be 'best' or 'one_se'"),
        ({"refit": True}, "refit must be 'best' or 'one_se'"),
        ({"cv_tol": 0.0}, "cv_tol must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"cv": N + 1}, f"n_samples={N}"),
        ({"cv": 1}, "cv=1 cannot split"),
        ({"cv": "five"}, "cv='five' cannot split"),
        ({"cv": []}, "at least one pair"),
        ({"cv": [([0, 1, N], [2])]}, "cannot split"),
        ({"cv": [([0, 1, 2], [])]}, "fold 0 of cv has no test row"),
        ({"scoring": "crps"}, "scoring must be"),
        ({"scoring": 3}, "scoring must be"),
        ({"solver": "newton"}, "solver must be"),
        ({"loss": "hinge"}, "loss must be"),
        ({"measure": [0.5]}, "measure must be"),
    ],
)
def test_bad_settings(settings, message):
    square = X @ X.T if "precomputed" in settings.get("kernels", []) else X
    with pytest.raises((TypeError, ValueError), match=message):
        chooser(**settings).fit(square, Y)


def test_a_fold_without_weight():
    weight = np.ones(N)
    weight[:15] = 0
    with pytest.raises(ValueError, match="fold 0 of cv has no test row of positive weight"):
        chooser().fit(X, Y, weight)


def test_progress_on_standard_error(capsys):
    chooser(verbose=1, measure=GaussLegendre(3)).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "kernel 2 of 2, fold 3 of 3, alpha 1: gap" in err
    assert len([line for line in err.splitlines() if "fold" in line]) == 18
    chooser().fit(X, Y)
    assert capsys.readouterr().err == ""


# -- in stages -------------------------------------------------------------------------------------------------------


def test_in_stages_no_shape_is_a_candidate_and_wins_where_the_shape_is_the_same():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 2))
    model = KernelQuantileRegressorCV().fit(X, X[:, 1] + rng.normal(size=150))
    assert model.stages_ is not None
    assert model.shape_ is None
    assert model.best_params_ == {"kernel": None, "alpha": np.inf}
    assert model.n_splits_ == 5


@pytest.mark.parametrize("refit", ["best", "one_se"])
def test_in_stages_kernel_and_alpha_of_a_shape_that_changes_are_chosen(refit):
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(250, 1))
    y = np.where(rng.random(250) < 0.5 + 0.45 * np.sign(X[:, 0]), 1, -1) + 0.2 * rng.normal(size=250)
    model = KernelQuantileRegressorCV(measure=MEASURE, cv=3, refit=refit).fit(X, y)
    scores = model.cv_results_["mean_test_score"]
    assert len(scores) == 1 + 4 * 4
    assert scores[model.best_index_] > scores[0]
    assert model.alpha_ == model.shape_.alpha_ == model.best_params_["alpha"] < np.inf
    assert model.relative_gap_ <= model.tol
    # the comparison is that of the joint model on the same folds of the residuals
    again = model.shape_.cv_results_["mean_test_score"]
    np.testing.assert_array_equal(scores[1:], again)


def test_the_score_of_no_shape_is_that_of_quantiles_of_the_other_residuals():
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, size=(60, 1))
    model = KernelQuantileRegressorCV(cv=3, measure=MEASURE).fit(X, X[:, 0] + rng.normal(size=60))
    assert -0.6 < model.cv_results_["mean_test_score"][0] < -0.2  # of a unit normal variable it is about −0.3


def test_folds_groups_or_a_score_of_ones_own_mean_the_joint_model():
    rng = np.random.default_rng(3)
    X, y = rng.uniform(-1, 1, size=(30, 1)), rng.normal(size=30)
    model = KernelQuantileRegressorCV(measure=MEASURE, cv=KFold(2)).fit(X, y)
    assert model.stages_ is None
    grouped = KernelQuantileRegressorCV(measure=MEASURE, cv=2).fit(X, y, groups=np.arange(30) % 3)
    assert grouped.stages_ is None
    with pytest.raises(UnsupportedError, match="stages='separate'"):
        KernelQuantileRegressorCV(alphas=[1.0], stages="separate").fit(X, y)
    with pytest.raises(UnsupportedError, match="groups"):
        KernelQuantileRegressorCV(stages="separate").fit(X, y, groups=np.arange(30) % 3)
