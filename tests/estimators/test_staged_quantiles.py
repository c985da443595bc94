"""Quantiles in stages: honest on new rows, equivariant, monotone, and out of the way where a kernel is given."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1

from mercer import KernelQuantileRegressor
from mercer.estimators import staged_quantiles as module
from mercer.exceptions import ExtrapolationWarning, MercerError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.measures import Points

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(150, 2))
Y = np.sin(4 * X[:, 0]) + (0.1 + 0.4 * X[:, 0]) * RNG.normal(size=150)
LEVELS = np.array([0.05, 0.3, 0.5, 0.9, 0.95])
MODEL = KernelQuantileRegressor().fit(X, Y)


def coverage(model, X, y, nominal=0.9):
    low, high = model.predict_interval(X, nominal).T
    return np.mean((low <= y) & (y <= high))


# -- honest on rows that were not seen ---------------------------------------------------------------------------------


def test_intervals_cover_new_rows():
    """With 300 rows and ten columns, half of them noise, the joint model covers a third; this one what it says."""
    covered = []
    for seed in range(4):
        rows, targets = make_friedman1(1300, noise=1.0, random_state=seed)
        model = KernelQuantileRegressor().fit(rows[:300], targets[:300])
        covered.append(coverage(model, rows[300:], targets[300:]))
    assert np.mean(covered) >= 0.87
    assert min(covered) >= 0.84
    joint = KernelQuantileRegressor(stages="joint").fit(rows[:300], targets[:300])
    assert coverage(joint, rows[300:], targets[300:]) < 0.6
    assert model.score(rows[300:], targets[300:]) > joint.score(rows[300:], targets[300:]) + 0.1
    assert set(np.argsort(model.relevance_)[-3:]) <= {0, 1, 2, 3, 4}  # the columns that matter


def test_a_real_table():
    rows, targets = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(targets))
    train, test = order[:300], order[300:]
    model = KernelQuantileRegressor().fit(rows[train], targets[train])
    assert 0.83 <= coverage(model, rows[test], targets[test]) <= 0.97
    assert model.score(rows[test], targets[test]) > 0.2


def test_the_spread_follows_the_noise():
    new = np.array([[0.05, 0.5], [0.95, 0.5]])
    low, high = MODEL.predict_interval(new, 0.8).T
    assert 1.8 < (high - low)[1] / (high - low)[0] < 8  # 0.48 / 0.12 = 4


def test_a_shape_that_changes_is_learned():
    """Skewed to the right on one side and to the left on the other: location and spread alone would not do."""
    rng = np.random.default_rng(1)
    rows = rng.uniform(-1, 1, size=(600, 1))
    targets = np.sign(rows[:, 0]) * (rng.exponential(size=600) - 1)
    model = KernelQuantileRegressor().fit(rows, targets)
    assert model.shape_ is not None
    assert model.alpha_ == model.shape_.alpha_ < 2
    assert 0 < model.relative_gap_ <= 1e-3
    right, left = model.predict_quantile([[0.6], [-0.6]], [0.05, 0.5, 0.95])
    assert right[2] - right[1] > 1.2 * (right[1] - right[0])
    assert left[1] - left[0] > 1.2 * (left[2] - left[1])


def test_most_often_no_shape_is_needed():
    rng = np.random.default_rng(2)
    rows = rng.uniform(size=(200, 2))
    model = KernelQuantileRegressor().fit(rows, rows[:, 0] + rng.normal(size=200))
    assert model.shape_ is None
    assert (model.alpha_, model.relative_gap_, model.status_) == (np.inf, 0.0, "converged")


# -- levels ------------------------------------------------------------------------------------------------------------


def test_any_level_is_known_whatever_the_measure():
    few = KernelQuantileRegressor(measure=Points([0.1, 0.5, 0.9])).fit(X, Y)
    wide, narrow = few.predict_interval(X, 0.95), few.predict_interval(X, 0.8)
    assert np.all(wide[:, 0] < narrow[:, 0])
    assert np.all(wide[:, 1] > narrow[:, 1])
    assert np.mean((wide[:, 0] <= Y) & (wide[:, 1] >= Y)) > 0.9


def test_extreme_levels_go_on_and_warn():
    with pytest.warns(
        ExtrapolationWarning, match=r"levels such as 0.0005, 1 lie beyond the outermost of 150 residuals"
    ):
        inner = MODEL.predict_interval(X[:5], 0.999)
    with pytest.warns(ExtrapolationWarning, match="rest on an assumption about tails"):
        outer = MODEL.predict_interval(X[:5], 0.99999)
    assert np.all(outer[:, 0] < inner[:, 0])
    assert np.all(outer[:, 1] > inner[:, 1])
    joint = KernelQuantileRegressor(stages="joint").fit(X, Y)
    with pytest.warns(ExtrapolationWarning, match="beyond the outer levels that were trained on"):
        joint.predict_quantile(X[:2], [0.001])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODEL.predict_quantile(X, LEVELS)
        joint.predict_quantile(X, LEVELS)


def test_functions_of_the_level_rise():
    theta = np.unique(np.concatenate([np.geomspace(1e-5, 0.5, 100), 1 - np.geomspace(1e-5, 0.5, 100)]))
    with pytest.warns(ExtrapolationWarning, match="outermost"):
        values = MODEL.predict_quantile(X, theta)
    assert np.all(np.diff(values, axis=1) >= 0)
    function = MODEL.predict_function(X)
    median = MODEL.predict(X)
    np.testing.assert_allclose(function.cdf(median), 0.5, atol=1e-3)
    assert np.all(np.isfinite(MODEL.predict_mean(X)))
    draws = MODEL.sample(X[:3], 4000, random_state=0)
    np.testing.assert_allclose(
        np.quantile(draws, 0.9, axis=1), MODEL.predict_quantile(X[:3], 0.9)[:, 0], rtol=0.15, atol=0.1
    )


def test_rows_far_away_warn():
    with pytest.warns(ExtrapolationWarning, match="1 of 2 rows are more than 2 standard deviations from the range"):
        far = MODEL.predict_interval([[0.5, 0.5], [9.0, 0.5]])
    assert np.all(np.isfinite(far))
    assert MODEL.stages_.location.doubt(np.array([[3.0, 0.0]]))[0] > 1


# -- what does not matter ----------------------------------------------------------------------------------------------


def test_units_do_not_matter():
    other = KernelQuantileRegressor().fit(X * [1e3, 1e-2] - 7, 50 * Y - 300)
    np.testing.assert_allclose(
        other.predict_quantile(X * [1e3, 1e-2] - 7, LEVELS),
        50 * MODEL.predict_quantile(X, LEVELS) - 300,
        rtol=1e-3,
        atol=0.2,
    )


def test_a_weight_of_two_is_the_row_twice():
    counts = np.where(np.arange(150) % 3 == 0, 2, 1)
    weighted = KernelQuantileRegressor().fit(X, Y, sample_weight=counts)
    copied = KernelQuantileRegressor().fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    np.testing.assert_allclose(
        copied.predict_quantile(X, LEVELS), weighted.predict_quantile(X, LEVELS), rtol=1e-7, atol=1e-9
    )
    scaled = KernelQuantileRegressor().fit(X, Y, sample_weight=10 * counts)
    np.testing.assert_allclose(scaled.predict_quantile(X, LEVELS), weighted.predict_quantile(X, LEVELS), rtol=1e-6)
    dropped = KernelQuantileRegressor().fit(X, Y, sample_weight=(np.arange(150) < 100).astype(float))
    fewer = KernelQuantileRegressor().fit(X[:100], Y[:100])
    np.testing.assert_allclose(dropped.predict(X), fewer.predict(X), rtol=1e-9)


def test_the_same_fit_twice_gives_the_same_bits():
    np.testing.assert_array_equal(clone(MODEL).fit(X, Y).predict_quantile(X, LEVELS), MODEL.predict_quantile(X, LEVELS))


# -- what turns it off -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": Gaussian(1.0)},
        {"alpha": 0.1},
        {"output_kernel": "gaussian"},
        {"loss": "expectile"},
        {"fit_intercept": False},
        {"noncrossing": None},
        {"stages": "joint"},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_the_joint_model_where_something_else_is_asked_for(settings):
    model = KernelQuantileRegressor(**settings).fit(X, Y)
    assert model.stages_ is None
    assert model.dual_coef_.shape == (150, 20)
    if "stages" not in settings:
        with pytest.raises(UnsupportedError, match="stages='separate' chooses kernels and alpha itself"):
            KernelQuantileRegressor(**settings, stages="separate").fit(X, Y)


def test_a_refit_leaves_nothing_of_a_fit_of_the_other_kind():
    staged, joint = (set(vars(KernelQuantileRegressor(alpha=alpha).fit(X, Y))) for alpha in ("auto", 0.1))
    model = KernelQuantileRegressor(alpha=0.1).fit(X, Y)
    assert set(vars(model.set_params(alpha="auto").fit(X, Y))) == staged
    assert set(vars(model.set_params(alpha=0.1).fit(X, Y))) == joint


def test_few_rows_and_constant_targets_take_the_joint_model():
    assert KernelQuantileRegressor().fit(X[:9], Y[:9]).stages_ is None
    assert KernelQuantileRegressor().fit(X[:10], Y[:10]).stages_ is not None
    constant = KernelQuantileRegressor().fit(X, np.full(150, 3.0))
    assert constant.stages_ is None
    np.testing.assert_allclose(constant.predict(X), 3.0)


@pytest.mark.parametrize("stages", ["both", None, 2])
def test_other_stages_are_refused(stages):
    with pytest.raises(MercerError, match="stages must be 'auto', 'joint' or 'separate'"):
        KernelQuantileRegressor(stages=stages).fit(X, Y)


# -- odd data ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "targets",
    [np.round(2 * Y), (Y > 0).astype(float), np.where(np.arange(150) == 7, 1e6, Y), 1e-9 * Y + 5, 1e40 * Y],
    ids=["ties", "two values", "outlier", "large offset", "huge"],
)
def test_odd_targets(targets):
    model = KernelQuantileRegressor().fit(X, targets)
    quantiles = model.predict_quantile(X, LEVELS)
    assert np.all(np.isfinite(quantiles))
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert coverage(model, X, targets) >= 0.8


def test_targets_without_noise():
    model = KernelQuantileRegressor().fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict_interval(X), np.stack([X[:, 0]] * 2, axis=1), atol=1e-3)


@pytest.mark.parametrize(
    "rows",
    [np.ones((150, 1)), np.column_stack([X, X]), (X > 0.5).astype(float), np.column_stack([X, np.exp(20 * X[:, :1])])],
    ids=["constant", "twice", "codes", "skewed"],
)
def test_odd_inputs(rows):
    model = KernelQuantileRegressor().fit(rows, Y)
    assert np.all(np.isfinite(model.predict_quantile(rows, LEVELS)))
    assert model.relevance_.sum() == pytest.approx(1)


def test_many_rows_are_learned_from_landmarks():
    rng = np.random.default_rng(3)
    rows = rng.uniform(size=(3000, 1))
    targets = np.sin(6 * rows[:, 0]) + rows[:, 0] * rng.normal(size=3000)
    model = KernelQuantileRegressor().fit(rows[:2000], targets[:2000])
    assert coverage(model, rows[2000:], targets[2000:]) == pytest.approx(0.9, abs=0.025)
    near, far = np.diff(model.predict_interval([[0.1], [0.9]]), axis=1).ravel()
    assert far / near > 5


def test_of_very_many_rows_the_same_ones_are_used_however_they_come(monkeypatch):
    monkeypatch.setattr(module, "ALL_ROWS", 100)
    order = np.random.default_rng(5).permutation(150)
    first, second = (KernelQuantileRegressor().fit(X[rows], Y[rows]) for rows in (np.arange(150), order))
    assert len(first.stages_.levels.levels) == 100
    np.testing.assert_allclose(first.predict_quantile(X, LEVELS[1:-1]), second.predict_quantile(X, LEVELS[1:-1]))


def test_the_grid_of_levels_rises():
    grid = module.staged_grid(np.array([0.1, 0.5]))
    assert np.all(np.diff(grid) > 0)
    assert grid[0] == pytest.approx(1e-6)
    assert grid[-1] == pytest.approx(1 - 1e-6)
    assert {0.1, 0.5} <= set(grid)
