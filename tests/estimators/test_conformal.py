"""Calibrated intervals and quantiles: exact ranks, brute force, and coverage in simulations."""

import warnings

import numpy as np
import pytest
from conformal_bases import CrossingQuantiles, FanQuantiles, LinearQuantiles, curved, straight
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

from mercer import ConformalQuantileRegressor, KernelQuantileRegressor
from mercer.exceptions import DataError
from mercer.kernels import Gaussian
from mercer.measures import Points

BASES = {
    "good": LinearQuantiles(),
    "biased": LinearQuantiles(shift=-20.0),
    "far too wide": LinearQuantiles(spread=10.0),
    "a point": LinearQuantiles(spread=0.0),
    "crossing": CrossingQuantiles(),
}


def frozen(base, rng, n=60, data=curved):
    return ConformalQuantileRegressor(FrozenEstimator(base.fit(*data(rng, n))))


# -- exactness: of n + 1 rows, each the new one in turn, the k that rank lowest are covered ---------------------


def leave_one_out(model, X, y, predict):
    """predict(model calibrated without row i, row i) for all i."""
    keep = ~np.eye(len(y), dtype=bool)
    return np.concatenate([predict(model.calibrate(X[rows], y[rows]), X[~rows]) for rows in keep])


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(("coverage", "rank"), [(0.05, 2), (0.5, 15), (0.9, 27), (0.91, 28), (29 / 30, 29)])
def test_intervals_cover_exactly_k_of_n_plus_1(name, coverage, rank):
    rng = np.random.default_rng(0)
    model, (X, y) = frozen(BASES[name], rng), curved(rng, 30)
    low, high = leave_one_out(model, X, y, lambda m, x: m.predict_interval(x, coverage)).T
    assert np.all(low <= high)
    assert np.sum((low <= y) & (y <= high)) == rank


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize(("level", "below"), [(1 / 30, 1), (0.05, 1), (0.2, 6), (0.49, 14), (0.5, 15), (0.91, 28)])
def test_quantiles_leave_exactly_k_of_n_plus_1_below(name, level, below):
    rng = np.random.default_rng(1)
    model, (X, y) = frozen(BASES[name], rng), curved(rng, 30)
    quantile = leave_one_out(model, X, y, lambda m, x: m.predict_quantile(x, level))[:, 0]
    assert np.sum(y < quantile) == below
    assert np.sum(y > quantile) == 30 - below


def test_scores_are_the_levels_of_the_targets():
    """Also at the ends of the base's quantile functions, and beyond them."""
    rng = np.random.default_rng(12)
    model, x = frozen(BASES["good"], rng), np.zeros((1, 1))
    lowest, middle, highest = model.estimator.predict_quantile(x, [0.001, 0.3, 0.999])[0]
    for y in (lowest - 5, lowest, middle, highest, highest + 5):
        assert model.calibrate(x, [y]).predict(x) == pytest.approx(y, abs=1e-12)
        assert (model.conformity_scores_[0] < 0.001) == (y < lowest)
        assert (model.conformity_scores_[0] > 0.999) == (y > highest)


# -- brute force ------------------------------------------------------------------------------------------------


def brute_interval(models, folds, X, y, x, coverage):
    """CV+ by its definition, one new row and one calibration row at a time; split is the case of one model."""
    n = sum(len(fold) for fold in folds)
    lows, highs = [], []
    for model, fold in zip(models, folds, strict=True):
        new_low, new_high = model.predict_quantile(x[None], [(1 - coverage) / 2, (1 + coverage) / 2])[0]
        for i in fold:
            low, high = model.predict_quantile(X[i : i + 1], [(1 - coverage) / 2, (1 + coverage) / 2])[0]
            score = max(low - y[i], y[i] - high)
            lows.append(new_low - score)
            highs.append(new_high + score)
    low = sorted(lows)[int(np.floor((1 - coverage) * (n + 1) + 1e-9)) - 1]
    high = sorted(highs)[int(np.ceil(coverage * (n + 1) - 1e-9)) - 1]
    return [low, high] if low <= high else [(low + high) / 2] * 2


def brute_quantiles(models, folds, levels, X, y, x):
    """All G₋ᵢ(x, u_i) in order, with u_i from a bisection of G₋ᵢ(x_i, u) = y_i."""

    def curve(Q, u):
        return np.interp(u, levels, Q) + max(u - levels[-1], 0) - max(levels[0] - u, 0)

    values = []
    for model, fold in zip(models, folds, strict=True):
        new = np.sort(model.predict_quantile(x[None], levels)[0])
        for i in fold:
            seen = np.sort(model.predict_quantile(X[i : i + 1], levels)[0])
            low, high = -100.0, 100.0
            for _ in range(50):
                middle = (low + high) / 2
                low, high = (middle, high) if curve(seen, middle) < y[i] else (low, middle)
            values.append(curve(new, middle))
    return sorted(values)


@pytest.mark.parametrize("name", ["good", "biased", "crossing"])
@pytest.mark.parametrize("method", ["split", "cross"])
def test_against_the_definition(name, method):
    rng = np.random.default_rng(2)
    X, y = curved(rng, 24)
    new = np.array([[-0.7], [0.6]])
    folds = [test for _, test in KFold(3).split(X)]
    if method == "split":
        model = frozen(BASES[name], rng).fit(X, y)
        folds = [np.arange(24)]
    else:
        model = ConformalQuantileRegressor(BASES[name], method="cross", cv=KFold(3)).fit(X, y)
    if name != "crossing":  # sorted, it has other quantiles than by its own account
        for coverage in (0.1, 0.8, 0.9):
            brute = [brute_interval(model.estimators_, folds, X, y, x, coverage) for x in new]
            np.testing.assert_allclose(model.predict_interval(new, coverage), brute, atol=1e-10)
    brute = np.array([brute_quantiles(model.estimators_, folds, model.levels_, X, y, x) for x in new])
    ranks = np.array([1, 7, 13, 24])
    np.testing.assert_allclose(model.predict_quantile(new, [0.05, 0.3, 0.5, 0.96]), brute[:, ranks - 1], atol=1e-9)


def test_cross_models_have_not_seen_their_fold():
    X, y = curved(np.random.default_rng(3), 30)
    model = ConformalQuantileRegressor(LinearQuantiles(), method="cross", cv=KFold(3)).fit(X, y)
    for fitted, (train, _) in zip(model.estimators_, KFold(3).split(X), strict=True):
        np.testing.assert_array_equal(fitted.coef_, LinearQuantiles().fit(X[train], y[train]).coef_)


def test_many_rows_are_ranked_block_by_block(monkeypatch):
    X, y = curved(np.random.default_rng(4), 60)
    model = ConformalQuantileRegressor(LinearQuantiles(), method="cross", random_state=0).fit(X, y)
    at_once = model.predict_quantile(X, [0.1, 0.9]), model.predict_interval(X)
    monkeypatch.setattr("mercer.estimators.conformal.SCORE_ENTRIES", 7 * 60)
    np.testing.assert_allclose(model.predict_quantile(X, [0.1, 0.9]), at_once[0], rtol=1e-12)
    np.testing.assert_allclose(model.predict_interval(X), at_once[1], rtol=1e-12)


# -- coverage in simulations ------------------------------------------------------------------------------------


def simulate(make, base, repetitions, holds, n=29, new=20, **settings):
    """Shares of new rows for which holds(model, X, y), one for each repetition."""
    rng = np.random.default_rng(5)
    shares = []
    for _ in range(repetitions):
        X, y = make(rng, n)
        model = ConformalQuantileRegressor(base, random_state=rng.integers(2**31), **settings).fit(X, y)
        shares.append(np.mean(holds(model, *make(rng, new))))
    return np.array(shares)


def inside(model, X, y):
    low, high = model.predict_interval(X, 0.9).T
    return (low <= y) & (y <= high)


@pytest.mark.parametrize(
    ("make", "base"),
    [(straight, LinearQuantiles()), (curved, LinearQuantiles()), (curved, LinearQuantiles(shift=5.0, spread=0.1))],
    ids=["well specified", "misspecified", "badly biased"],
)
def test_ninety_per_cent_intervals_cover_ninety_per_cent(make, base):
    rng = np.random.default_rng(4)
    shares = []
    for repetition in range(1000):
        if repetition % 10 == 0:  # the base estimator may be any: fitting it a hundred times is enough
            model = frozen(base, rng, data=make)
        model.calibrate(*make(rng, 99))
        shares.append(np.mean(inside(model, *make(rng, 50))))
    error = np.std(shares) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - 0.9) < 0.01
    assert abs(np.mean(shares) - 90 / 100) < 3 * error
    assert error < 0.002


@pytest.mark.parametrize("level", [0.1, 0.7])
def test_quantiles_leave_the_exact_share_below(level):
    """With 9 calibration rows ranks are tenths."""
    shares = simulate(
        curved,
        LinearQuantiles(),
        250,
        lambda model, X, y: y <= model.predict_quantile(X, level)[:, 0],
        calibration_size=9,
    )
    assert abs(np.mean(shares) - level) < 3 * np.std(shares) / np.sqrt(len(shares))


def test_cross_intervals_cover_close_to_nominal():
    shares = simulate(curved, LinearQuantiles(), 100, inside, n=59, new=100, method="cross")
    assert np.mean(shares) > 2 * 0.9 - 1  # what is proven, but for a slack that makes it weaker
    assert abs(np.mean(shares) - 0.9) < 0.02


def test_kernel_quantiles_are_calibrated():
    base = KernelQuantileRegressor(Gaussian(200.0), alpha=1e-6, measure=Points([0.05, 0.95]), tol=1e-2)  # overfits
    rng = np.random.default_rng(6)
    raw, calibrated = [], []
    for seed in range(4):
        (X, y), new = curved(rng, 240), curved(rng, 1000)
        model = ConformalQuantileRegressor(base, calibration_size=120, random_state=seed).fit(X, y)
        raw.append(np.mean(inside(model.estimators_[0], *new)))
        calibrated.append(np.mean(inside(model, *new)))
    assert np.mean(raw) < 0.85
    assert abs(np.mean(calibrated) - 0.9) < 0.04


# -- shapes of the answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("name", BASES)
def test_quantiles_never_cross_and_make_a_function(method, name):
    rng = np.random.default_rng(7)
    X, y = curved(rng, 150)
    model = ConformalQuantileRegressor(BASES[name], method=method, random_state=0).fit(X, y)
    function = model.predict_function(X[:5])
    assert np.all(np.diff(function.values, axis=1) >= -1e-12)
    assert function.levels[0] >= 1 / (model.n_calibration_ + 1)
    np.testing.assert_allclose(function([0.1, 0.5, 0.95]), model.predict_quantile(X[:5], [0.1, 0.5, 0.95]))
    np.testing.assert_array_equal(model.predict(X[:5]), model.predict_quantile(X[:5], 0.5)[:, 0])


@pytest.mark.parametrize("method", ["split", "cross"])
def test_units_and_origin_of_y_do_not_matter(method):
    X, y = curved(np.random.default_rng(8), 80)
    settings = {"estimator": LinearQuantiles(spread=0.3), "method": method, "random_state": 0}
    levels = [0.06, 0.3, 0.5, 0.94]
    model = ConformalQuantileRegressor(**settings).fit(X, y)
    for factor in (1e-12, 1e12):
        moved = ConformalQuantileRegressor(**settings).fit(X, factor * (y + 3))
        np.testing.assert_allclose(
            moved.predict_quantile(X, levels), factor * (model.predict_quantile(X, levels) + 3), rtol=1e-9
        )
        np.testing.assert_allclose(moved.predict_interval(X), factor * (model.predict_interval(X) + 3), rtol=1e-9)


def test_mirrored_targets_give_mirrored_tails():
    rng = np.random.default_rng(9)
    (X, y), held_out = curved(rng, 49), curved(rng, 49)
    up = ConformalQuantileRegressor(FrozenEstimator(LinearQuantiles().fit(X, y))).fit(*held_out)
    down = ConformalQuantileRegressor(FrozenEstimator(LinearQuantiles().fit(X, -y))).fit(held_out[0], -held_out[1])
    np.testing.assert_allclose(
        up.predict_quantile(X, [0.03, 0.25, 0.9]), -down.predict_quantile(X, [0.97, 0.75, 0.1]), atol=1e-12
    )


def test_an_interval_that_would_be_empty_is_its_midpoint():
    """Where the base is wide the intervals shrink by E, which is more than its width where it is narrow."""
    rng = np.random.default_rng(10)
    X = rng.uniform(1, 2, size=(99, 1))
    model = ConformalQuantileRegressor(FrozenEstimator(FanQuantiles().fit(X, X[:, 0])))
    model.fit(X, rng.normal(scale=1e-3, size=99))
    narrow = model.predict_interval([[0.1]])
    np.testing.assert_allclose(narrow, 3.0, atol=1e-12)
    assert narrow[0, 0] == narrow[0, 1]
    low, high = model.predict_interval([[2.0]])[0]
    assert low < 3.0 - 0.1 < 3.0 + 0.1 < high


def test_score_is_that_of_the_calibrated_quantiles():
    rng = np.random.default_rng(11)
    X, y = straight(rng, 300)
    good = ConformalQuantileRegressor(LinearQuantiles(), random_state=0).fit(X, y)
    biased = ConformalQuantileRegressor(LinearQuantiles(shift=9.0), random_state=0).fit(X, y)
    assert good.score(X, y) > 0.3
    # a constant bias is undone but for the outer quantiles' spread
    assert biased.score(X, y) > 0.2
    weight = np.where(np.arange(300) < 150, 1.0, 0.0)
    assert good.score(X, y, weight) == pytest.approx(good.score(X[:150], y[:150]))


@pytest.mark.parametrize("X", [None, {0: [1.0, 2.0]}, 3.0], ids=["none", "dict", "number"])
def test_inputs_without_rows_are_refused(X):
    with pytest.raises(DataError, match="X must have rows: an array, a data frame or a list; got"):
        ConformalQuantileRegressor().fit(X, [1.0, 2.0])


def test_levels_that_calibration_reads_off_by_itself_are_no_cause_for_a_warning():
    X, y = straight(np.random.default_rng(12), 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConformalQuantileRegressor(random_state=0).fit(X, y)
        model.predict_interval(X[:3], 0.8)
