"""Bands around curves: exact ranks by hand, coverage in simulations, holes, components, scattered curves, refusals."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.dummy import DummyRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import ConformalFunctionalRegressor, FunctionalRegressor, FunctionalRegressorCV
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian

M = 12
GRID = np.linspace(0, 1, M)
UNAVOIDABLE = {
    "check_sample_weight_equivalence_on_dense_data": "weights go to the base estimator; a row of weight 2 calibrates "
    "once, as coverage is that of rows drawn as the rows given were"
}


def curves(rng, n):
    """Curves with errors that grow along the grid, correlated along it, with heavy tails."""
    X = rng.uniform(-1, 1, size=(n, 1))
    smooth = rng.normal(size=(n, 1)) + GRID * rng.normal(size=(n, 1))
    noise = (0.1 + 2 * GRID**2) * (smooth + 0.3 * rng.standard_t(4, size=(n, M)))
    return X, np.sin(3 * (X + GRID)) + noise


def regressor(**settings):
    return FunctionalRegressor(
        Gaussian(2.0), **{"output_kernel": Gaussian(4.0), "alpha": 1e-2, "grid": GRID} | settings
    )


def inside(band, Y):
    """Whether curves are in their bands at all nodes that were observed."""
    within = (band[..., 0] <= Y) & (band[..., 1] >= Y) | np.isnan(Y)
    return within.reshape(len(Y), -1).all(axis=1)


def binomial_error(probability, new, repetitions, n):
    """Standard error of the mean coverage: it varies with the calibration rows as a beta variable, and with the new."""
    p = probability
    return np.sqrt(p * (1 - p) * (1 / (n + 2) + 1 / new) / repetitions)


# -- exactness --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["simultaneous", "pointwise"])
@pytest.mark.parametrize(("coverage", "rank"), [(0.05, 2), (0.5, 15), (0.9, 27), (0.91, 28), (29 / 30, 29)])
def test_bands_hold_exactly_k_of_n_plus_1_curves(kind, coverage, rank):
    """Of n + 1 rows, each the new one in turn, the k that rank lowest are covered."""
    rng = np.random.default_rng(0)
    model = ConformalFunctionalRegressor(Ridge(), random_state=0).fit(*curves(rng, 80))
    X, Y = curves(rng, 30)
    held = []
    for i in range(30):
        rows = np.arange(30) != i
        band = model.calibrate(X[rows], Y[rows]).prediction_band(X[[i]], coverage, kind)[0]
        held.append((band[:, 0] <= Y[i]) & (Y[i] <= band[:, 1]))
    if kind == "simultaneous":
        assert np.sum(np.all(held, axis=1)) == rank
    else:
        np.testing.assert_array_equal(np.sum(held, axis=0), rank)


def test_split_by_hand():
    X, Y = curves(np.random.default_rng(1), 60)
    model = ConformalFunctionalRegressor(Ridge(), calibration_size=19, random_state=0).fit(X, Y)
    base, s = model.estimators_[0], model.modulations_[0].scale[:, 0]
    Xc, Yc = curves(np.random.default_rng(2), 19)
    model.calibrate(Xc, Yc)
    r = np.abs(Yc - base.predict(Xc))
    new = X[:3]
    simultaneous = np.sort(np.max(r / s, axis=1))[17] * s  # ⌈20·0.9⌉ = 18th
    pointwise = np.sort(r, axis=0)[17]
    for kind, width in (("simultaneous", simultaneous), ("pointwise", pointwise)):
        band = model.prediction_band(new, 0.9, kind)
        np.testing.assert_allclose(band[..., 0], base.predict(new) - width)
        np.testing.assert_allclose(band[..., 1], base.predict(new) + width)


@pytest.mark.parametrize("coverage", [0.1, 0.8, 0.9])
def test_cross_by_its_definition(coverage, monkeypatch):
    """One new row, node and calibration row at a time; and the band contains the set of curves that is proven."""
    X, Y = curves(np.random.default_rng(3), 24)
    model = ConformalFunctionalRegressor(Ridge(), method="cross", cv=KFold(3), random_state=0).fit(X, Y)
    new = np.array([[-0.7], [0.6], [0.1]])
    rank = int(np.ceil(25 * coverage - 1e-9))
    rows = [(k, i) for k, (_, fold) in enumerate(KFold(3).split(X)) for i in fold]
    for kind in ("simultaneous", "pointwise"):
        expected = np.empty((3, M, 2))
        for a in range(3):
            for j in range(M):
                lows, highs = [], []
                for k, i in rows:
                    s = model.modulations_[k].scale[:, 0]
                    r = np.abs(Y[i] - model.estimators_[k].predict(X[[i]])[0])
                    width = np.max(r / s) * s[j] if kind == "simultaneous" else r[j]
                    centre = model.estimators_[k].predict(new[[a]])[0, j]
                    lows.append(centre - width)
                    highs.append(centre + width)
                low, high = sorted(lows)[24 - rank], sorted(highs)[rank - 1]
                expected[a, j] = [low, high] if low <= high else (low + high) / 2
        np.testing.assert_allclose(model.prediction_band(new, coverage, kind), expected)
    monkeypatch.setattr("mercer.estimators.conformal_band.SCORE_ENTRIES", 1)  # a row at a time
    np.testing.assert_allclose(model.prediction_band(new, coverage, "pointwise"), expected)


def test_the_cross_band_contains_the_set_that_is_proven_to_cover():
    rng = np.random.default_rng(4)
    X, Y = curves(rng, 30)
    model = ConformalFunctionalRegressor(Ridge(), method="cross", cv=3, random_state=0).fit(X, Y)
    new, targets = curves(rng, 400)
    outside = np.zeros(400)
    for base, s, scores in zip(model.estimators_, model.modulations_, model.conformity_scores_, strict=True):
        own = np.max(np.abs(targets - base.predict(new)) / s.scale[:, 0], axis=1)
        outside += np.sum(own[:, None] > scores, axis=1)
    proven = outside < 31 * 0.8
    held = inside(model.prediction_band(new, 0.8), targets)
    assert 0 < proven.sum() < 400
    assert np.all(held[proven])


def test_models_and_scales_have_not_seen_what_calibrates():
    X, Y = curves(np.random.default_rng(5), 60)
    model = ConformalFunctionalRegressor(Ridge(), method="cross", cv=KFold(3), random_state=0).fit(X, Y)
    other = Y.copy()
    other[:20] += 100.0 * GRID  # the first fold
    again = clone(model).fit(X, other)
    np.testing.assert_array_equal(model.modulations_[0].scale, again.modulations_[0].scale)
    np.testing.assert_array_equal(model.estimators_[0].coef_, again.estimators_[0].coef_)
    assert np.all(again.modulations_[1].scale[1:] > 2 * model.modulations_[1].scale[1:])
    assert np.min(again.conformity_scores_[0]) > np.max(model.conformity_scores_[0])


# -- coverage in simulations ------------------------------------------------------------------------------------


def covered(base, repetitions, n, new, kind="simultaneous", seed=6, coverage=0.9, holes=0.0, **settings):
    """Mean share of new curves in their bands; for pointwise bands one for each node."""
    rng = np.random.default_rng(seed)
    shares = []
    for _ in range(repetitions):
        (X, Y), (Z, W) = curves(rng, n), curves(rng, new)
        Y[rng.random(Y.shape) < holes] = np.nan
        model = ConformalFunctionalRegressor(base, random_state=int(rng.integers(2**31)), **settings).fit(X, Y)
        band = model.prediction_band(Z, coverage, kind)
        within = (band[..., 0] <= W) & (band[..., 1] >= W)
        shares.append(np.mean(within.all(axis=1) if kind == "simultaneous" else within, axis=0))
    return np.mean(shares, axis=0)


@pytest.mark.parametrize(
    "base", [Ridge(), Ridge(alpha=1e6), DummyRegressor()], ids=["linear", "constant slope", "mean"]
)
def test_ninety_per_cent_bands_hold_ninety_per_cent_of_curves(base):
    found = covered(base, 600, 39, 50, calibration_size=19)  # ⌈20·0.9⌉/20 = 0.9 exactly
    assert abs(found - 0.9) < 3 * binomial_error(0.9, 50, 600, 19)


def test_kernel_curves_are_covered():
    found = covered(regressor(), 200, 49, 100, calibration_size=19)
    assert abs(found - 0.9) < 3 * binomial_error(0.9, 100, 200, 19)


def test_pointwise_bands_cover_at_each_node_and_not_together():
    found = covered(Ridge(), 400, 39, 50, kind="pointwise", calibration_size=19)
    assert np.max(np.abs(found - 0.9)) < 4 * binomial_error(0.9, 50, 400, 19)
    X, Y = curves(np.random.default_rng(7), 400)
    model = ConformalFunctionalRegressor(Ridge(), random_state=0).fit(X[:200], Y[:200])
    assert np.mean(inside(model.prediction_band(X[200:], 0.9, "pointwise"), Y[200:])) < 0.85


def test_frozen_estimators_are_covered_by_the_rows_that_are_left():
    rng = np.random.default_rng(8)
    base = FrozenEstimator(Ridge().fit(*curves(rng, 30)))
    shares = []
    for seed in range(400):
        model = ConformalFunctionalRegressor(base, random_state=seed).fit(*curves(rng, 25))
        assert model.n_calibration_ == 19
        Z, W = curves(rng, 50)
        shares.append(np.mean(inside(model.prediction_band(Z, 0.9), W)))
    assert abs(np.mean(shares) - 0.9) < 3 * binomial_error(0.9, 50, 400, 19)


def test_cross_bands_cover():
    found = covered(Ridge(), 100, 39, 100, method="cross")
    assert found > 1 - 2 * 0.1  # what is proven, but for a slack that makes it weaker
    assert 0.88 < found < 0.95


# -- width ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["split", "cross"])
def test_narrower_than_bonferroni_and_than_a_constant_width(method):
    X, Y = curves(np.random.default_rng(9), 800)
    model = ConformalFunctionalRegressor(Ridge(), method=method, calibration_size=400, random_state=0).fit(X, Y)
    one = model.prediction_band(X[:50], 0.9)
    each = model.prediction_band(X[:50], 1 - 0.1 / M, "pointwise")
    alone = model.prediction_band(X[:50], 0.9, "pointwise")
    one, each, alone = (np.mean(band[..., 1] - band[..., 0]) for band in (one, each, alone))
    assert alone < one < 0.95 * each
    flat = np.sort(np.max(np.concatenate(model.calibration_residuals_), axis=1))
    assert one < 0.75 * 2 * flat[int(0.9 * len(flat))]


def test_the_scale_is_that_of_the_errors():
    X, Y = curves(np.random.default_rng(10), 1000)
    for base in (Ridge(), regressor(alpha=1e-8)):  # the second is close to its training curves
        model = ConformalFunctionalRegressor(base, random_state=0).fit(X[:400], Y[:400])
        s = model.modulations_[0].scale[:, 0]
        errors = np.mean(np.abs(Y[400:] - model.predict(X[400:])), axis=0)
        ratio = s / errors
        assert np.max(ratio) < 1.6 * np.min(ratio)


def test_a_node_without_variation_has_a_width():
    X, Y = curves(np.random.default_rng(11), 80)
    Y[:, 3] = 1.0
    model = ConformalFunctionalRegressor(Ridge(), random_state=0).fit(X, Y)
    assert np.all(model.modulations_[0].scale > 0)
    assert np.all(np.isfinite(model.conformity_scores_[0]))
    band = model.prediction_band(X, 0.9)
    assert np.all(band[:, 3, 0] < 1)
    exact = ConformalFunctionalRegressor(Ridge(), random_state=0).fit(X, np.ones((80, 4)))
    np.testing.assert_allclose(exact.prediction_band(X), 1.0, atol=1e-12)


# -- kinds of curves --------------------------------------------------------------------------------------------


def test_holes_count_where_curves_were_observed():
    rng = np.random.default_rng(12)
    X, Y = curves(rng, 150)
    Y[rng.random(Y.shape) < 0.3] = np.nan
    model = ConformalFunctionalRegressor(regressor(), random_state=0).fit(X[:100], Y[:100])
    base, s = model.estimators_[0], model.modulations_[0].scale[:, 0]
    model.calibrate(X[100:], Y[100:])
    r = np.abs(Y[100:] - base.predict(X[100:]))
    np.testing.assert_allclose(model.conformity_scores_[0], np.nanmax(r / s, axis=1))
    band = model.prediction_band(X[:2], 0.8, "pointwise")
    for j in range(M):
        seen = np.sort(r[~np.isnan(r[:, j]), j])
        width = seen[int(np.ceil((len(seen) + 1) * 0.8 - 1e-9)) - 1]
        np.testing.assert_allclose((band[:, j, 1] - band[:, j, 0]) / 2, width)
    assert np.all(np.isfinite(model.prediction_band(X)))
    assert np.isfinite(model.score(X, Y))
    cross = ConformalFunctionalRegressor(regressor(), method="cross", cv=3, random_state=0).fit(X, Y)
    for kind in ("simultaneous", "pointwise"):
        band = cross.prediction_band(X, 0.9, kind)
        assert np.all(np.isfinite(band))
        assert np.all(band[..., 0] < band[..., 1])


def test_new_curves_with_holes_are_covered_where_observed():
    rng = np.random.default_rng(13)

    def draw(n):
        X, Y = curves(rng, n)
        return X, np.where(rng.random(Y.shape) < 0.4, np.nan, Y)

    shares = []
    for seed in range(150):
        model = ConformalFunctionalRegressor(regressor(), calibration_size=19, random_state=seed).fit(*draw(45))
        Z, W = draw(60)
        shares.append(np.mean(inside(model.prediction_band(Z, 0.9), W)))
    assert abs(np.mean(shares) - 0.9) < 3 * binomial_error(0.9, 60, 150, 19)


@pytest.mark.parametrize("method", ["split", "cross"])
def test_components_have_scales_of_their_own(method):
    rng = np.random.default_rng(14)
    X, Y = curves(rng, 120)
    Y = np.stack([Y, 1000 * curves(rng, 120)[1]], axis=2)
    model = ConformalFunctionalRegressor(regressor(), method=method, random_state=0).fit(X, Y)
    for kind in ("simultaneous", "pointwise"):
        band = model.prediction_band(X[:5], 0.9, kind)
        assert band.shape == (5, M, 2, 2)
        width = (band[..., 1] - band[..., 0]).mean(axis=(0, 1))
        assert 300 < width[1] / width[0] < 3000
        at = model.prediction_band(X[:5], 0.9, kind, points=GRID[[4, 2]])
        np.testing.assert_allclose(at, band[:, [4, 2]], rtol=1e-6, atol=1e-8)
    assert model.predict(X[:5]).shape == (5, M, 2)
    Z, W = curves(rng, 300)
    W = np.stack([W, 1000 * curves(rng, 300)[1]], axis=2)
    assert abs(np.mean(inside(model.prediction_band(Z, 0.9), W)) - 0.9) < 0.1


@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("kind", ["simultaneous", "pointwise"])
def test_between_nodes(method, kind):
    X, Y = curves(np.random.default_rng(15), 80)
    model = ConformalFunctionalRegressor(regressor(), method=method, random_state=0).fit(X, Y)
    band = model.prediction_band(X[:4], 0.9, kind)
    np.testing.assert_allclose(model.prediction_band(X[:4], 0.9, kind, points=GRID), band, atol=1e-7)
    np.testing.assert_allclose(model.predict_at(X[:4], GRID), model.predict(X[:4]), atol=1e-7)
    middle = (GRID[3] + GRID[4]) / 2
    between = model.prediction_band(X[:4], 0.9, kind, points=[middle])
    assert between.shape == (4, 1, 2)
    if method == "split":
        width = band[..., 1] - band[..., 0]
        np.testing.assert_allclose(between[:, 0, 1] - between[:, 0, 0], (width[:, 3] + width[:, 4]) / 2)
        np.testing.assert_allclose(between.mean(axis=2), model.predict_at(X[:4], [middle]))
    with pytest.raises(DataError, match="extrapolate=True"):
        model.prediction_band(X, points=[1.5])
    assert np.all(np.isfinite(model.prediction_band(X, 0.9, kind, points=[1.5], extrapolate=True)))


def scattered(rng, n):
    X = rng.uniform(-1, 1, size=(n, 1))
    pairs = []
    for x in X[:, 0]:
        points = np.sort(rng.uniform(size=rng.integers(3, 9)))
        noise = (0.1 + 2 * points**2) * (rng.normal() + 0.3 * rng.normal(size=len(points)))
        pairs.append((points, np.sin(3 * (x + points)) + noise))
    return X, pairs


@pytest.mark.parametrize("method", ["split", "cross"])
def test_curves_at_points_of_their_own(method):
    rng = np.random.default_rng(16)
    X, Y = scattered(rng, 120)
    model = ConformalFunctionalRegressor(regressor(grid=None), method=method, calibration_size=60, random_state=0)
    model.fit(X, Y)
    assert model.prediction_band(X[:3]).shape == (3, len(model.grid_), 2)
    assert model.predict(X[:3]).shape == (3, len(model.grid_))
    Z, W = scattered(rng, 200)
    held = []
    for z, (points, values) in zip(Z, W, strict=True):
        low, high = model.prediction_band(z[None], 0.9, points=points, extrapolate=True)[0].T
        held.append(np.all((low <= values) & (values <= high)))
    assert abs(np.mean(held) - 0.9) < 0.09
    width = np.ptp(model.prediction_band(X[:1], 0.9, points=[0.1, 0.9]), axis=2)[0]
    assert width[1] > 3 * width[0]
    if method == "split":  # scores by hand
        Z, W = scattered(rng, 25)
        model.calibrate(Z, W)
        base, s = model.estimators_[0], model.modulations_[0]
        for score, z, (points, values) in zip(model.conformity_scores_[0], Z, W, strict=True):
            r = np.abs(values - base.predict_at(z[None], points, extrapolate=True)[0])
            assert score == pytest.approx(np.max(r / s.evaluate(points[:, None])[:, 0]), rel=1e-9)
    with pytest.raises(UnsupportedError, match="common grid"):
        model.prediction_band(X, kind="pointwise")
    with pytest.raises(UnsupportedError, match="predict_at"):
        ConformalFunctionalRegressor(Ridge()).fit(X, Y)
    assert np.isfinite(model.score(X, Y))


def test_surfaces():
    rng = np.random.default_rng(17)
    side = np.linspace(0, 1, 4)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(side, side)], axis=1)
    X = rng.uniform(size=(60, 1))
    Y = np.sin(3 * X + grid.sum(axis=1)) + (0.1 + grid[:, 0]) * rng.normal(size=(60, 16))
    model = ConformalFunctionalRegressor(regressor(grid=grid), random_state=0).fit(X, Y)
    for kind in ("simultaneous", "pointwise"):
        band = model.prediction_band(X[:3], 0.9, kind)
        np.testing.assert_allclose(model.prediction_band(X[:3], 0.9, kind, points=grid), band, atol=1e-6)
        assert np.all(np.diff(model.prediction_band(X[:3], 0.9, kind, points=[[0.3, 0.45]])) > 0)


def test_curves_of_scikit_fda():
    skfda = pytest.importorskip("skfda")
    X, Y = curves(np.random.default_rng(18), 60)
    data = skfda.FDataGrid(Y, GRID)
    for method in ("split", "cross"):
        model = ConformalFunctionalRegressor(regressor(), method=method, random_state=0)
        plain = clone(model).fit(X, Y)
        model.set_params(estimator__grid=None).fit(X, data)
        np.testing.assert_allclose(model.prediction_band(X), plain.prediction_band(X), atol=1e-8)
        assert isinstance(model.predict(X), skfda.FDataGrid)
        np.testing.assert_allclose(model.predict(X).data_matrix[..., 0], plain.predict(X), atol=1e-8)


# -- among scikit-learn's tools ---------------------------------------------------------------------------------


CROSS = ConformalFunctionalRegressor(FunctionalRegressor(alpha=0.1), method="cross", cv=2)


@parametrize_with_checks(
    [ConformalFunctionalRegressor(), CROSS],
    expected_failed_checks=lambda estimator: UNAVOIDABLE if estimator.method == "split" else {},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("method", ["split", "cross"])
def test_clone_pickle_and_repeat(method):
    X, Y = curves(np.random.default_rng(19), 60)
    model = ConformalFunctionalRegressor(regressor(), method=method, random_state=3).fit(X, Y)
    band = model.prediction_band(X)
    np.testing.assert_array_equal(clone(model).fit(X, Y).prediction_band(X), band)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).prediction_band(X), band)
    assert np.any(clone(model).set_params(random_state=4).fit(X, Y).prediction_band(X) != band)
    assert model.get_params()["estimator__alpha"] == 1e-2


def test_default_and_tuned_estimators():
    X, Y = curves(np.random.default_rng(20), 60)
    model = ConformalFunctionalRegressor(random_state=0).fit(X, Y)
    assert isinstance(model.estimators_[0], FunctionalRegressor)
    assert (model.n_calibration_, model.n_features_in_) == (15, 1)
    assert model.grid_ is None
    tuned = ConformalFunctionalRegressor(FunctionalRegressorCV(grid=GRID, alphas=[0.01, 0.1]), random_state=0)
    assert tuned.fit(X, Y).prediction_band(X[:2], points=[0.5]).shape == (2, 1, 2)


@pytest.mark.parametrize("method", ["split", "cross"])
def test_pipelines_searches_and_weights(method):
    X, Y = curves(np.random.default_rng(21), 60)
    weight = np.linspace(0, 2, 60)
    plain = ConformalFunctionalRegressor(regressor(), method=method, random_state=0)
    expected = plain.fit(X, Y, weight).prediction_band(X)
    assert plain.n_calibration_ < 60  # the row of weight 0, or the training rows, do not calibrate
    identity = make_pipeline(StandardScaler(with_mean=False, with_std=False), regressor())
    for base in (identity, GridSearchCV(identity, {"functionalregressor__alpha": [1e-2]}, cv=2)):
        model = ConformalFunctionalRegressor(base, method=method, random_state=0).fit(X, Y, weight)
        np.testing.assert_allclose(model.prediction_band(X), expected, atol=1e-8)
        assert model.prediction_band(X[:2], points=[0.5]).shape == (2, 1, 2)
    assert np.max(np.abs(plain.fit(X, Y).prediction_band(X) - expected)) > 1e-3
    assert np.all(np.isfinite(cross_val_score(plain, X, Y, cv=3)))


@pytest.mark.parametrize("method", ["split", "cross"])
def test_gram_matrices_and_frames(method):
    X, Y = curves(np.random.default_rng(22), 60)
    K = Gaussian(2.0)(X, X)
    model = ConformalFunctionalRegressor(regressor(), method=method, random_state=0)
    band = clone(model).fit(X, Y).prediction_band(X, 0.9)
    gram = clone(model).set_params(estimator__kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(gram.prediction_band(K, 0.9), band, atol=1e-5)
    pandas = pytest.importorskip("pandas")
    frame, targets = pandas.DataFrame(X, columns=["x"]), pandas.DataFrame(Y)
    np.testing.assert_allclose(clone(model).fit(frame, targets).prediction_band(frame), band)


def test_the_score_is_that_of_the_base():
    X, Y = curves(np.random.default_rng(23), 60)
    model = ConformalFunctionalRegressor(regressor(), random_state=0).fit(X, Y)
    weight = np.linspace(0.5, 2, 60)
    assert model.score(X, Y, weight) == pytest.approx(model.estimators_[0].score(X, Y, weight))


def test_one_column_and_mere_numbers():
    X, Y = curves(np.random.default_rng(24), 60)
    flat = ConformalFunctionalRegressor(Ridge(), random_state=0).fit(X, Y[:, 0])
    column = ConformalFunctionalRegressor(Ridge(), random_state=0).fit(X, Y[:, :1])
    assert flat.prediction_band(X).shape == (60, 2)
    np.testing.assert_allclose(column.prediction_band(X)[:, 0], flat.prediction_band(X))


# -- what is refused --------------------------------------------------------------------------------------------


class Broken(RegressorMixin, BaseEstimator):
    """Predicts what is no curve of the fit."""

    def __init__(self, value=0.0, columns=M):
        self.value = value
        self.columns = columns

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.full((len(X), self.columns), self.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "jackknife"}, "'split' or 'cross'"),
        ({"calibration_size": 1.5}, "calibration_size"),
        ({"calibration_size": 60}, "leaves no part"),
        ({"estimator": StandardScaler()}, "predict"),
        ({"estimator": Broken(np.nan)}, "NaN or infinity"),
        ({"estimator": Broken(columns=M + 1)}, f"{M} values for each"),
        ({"method": "cross", "cv": ShuffleSplit(3)}, "every row exactly once"),
        ({"method": "cross", "cv": GroupKFold(3)}, "groups"),
        ({"method": "cross", "estimator": FrozenEstimator(Broken().fit(None, None))}, "FrozenEstimator"),
    ],
)
def test_settings_that_are_refused(settings, message):
    X, Y = curves(np.random.default_rng(25), 60)
    with pytest.raises(MercerError, match=message):
        ConformalFunctionalRegressor(**{"estimator": Ridge()} | settings).fit(X, Y)


def test_coverage_needs_rows():
    X, Y = curves(np.random.default_rng(26), 60)
    model = ConformalFunctionalRegressor(regressor(), calibration_size=9, random_state=0).fit(X, Y)
    assert np.all(np.isfinite(model.prediction_band(X, 0.9)))
    for kind in ("simultaneous", "pointwise"):
        with pytest.raises(ValueError, match=r"at most 0.9 with 9 calibration rows.*0.95 needs 19"):
            model.prediction_band(X, 0.95, kind)
    for wrong in (90, 0, 1, "much"):
        with pytest.raises((ValueError, TypeError), match="coverage"):
            model.prediction_band(X, wrong)
    Y[:50, 4] = np.nan
    model = ConformalFunctionalRegressor(regressor(), calibration_size=20, random_state=0).fit(X, Y)
    assert np.all(np.isfinite(model.prediction_band(X, 0.9)))
    with pytest.raises(ValueError, match="at node 4"):
        model.prediction_band(X, 0.9, "pointwise")


def test_data_that_are_refused():
    X, Y = curves(np.random.default_rng(27), 60)
    model = ConformalFunctionalRegressor(Ridge(), random_state=0)
    with pytest.raises(DataError, match="inconsistent numbers"):
        model.fit(X, Y[:50])
    empty = np.where(np.arange(60)[:, None] == 7, np.nan, Y)
    with pytest.raises(DataError, match="curve 7 has no observation"):
        model.fit(X, empty)
    model.fit(X, Y)
    with pytest.raises(DataError, match="as those of the fit"):
        model.calibrate(X, Y[:, :5])
    with pytest.raises(ValueError, match="kind"):
        model.prediction_band(X, kind="uniform")
    with pytest.raises(UnsupportedError, match="nothing between the columns"):
        model.prediction_band(X, points=[0.5])
    with pytest.raises(UnsupportedError, match="cannot take their place"):
        ConformalFunctionalRegressor(Ridge(), method="cross").fit(X, Y).calibrate(X, Y)


def test_halves_that_cannot_be_fitted_leave_the_residuals_of_the_fit():
    """A node that one training curve alone has is missing from a half."""
    X, Y = curves(np.random.default_rng(28), 40)
    model = ConformalFunctionalRegressor(regressor(), random_state=0).fit(X, Y)
    trained = model.estimators_[0].X_fit_[:, 0]
    holes = Y.copy()
    holes[X[:, 0] != trained[0], 5] = np.nan
    model.fit(X, holes)
    assert np.all(np.isfinite(model.modulations_[0].scale))
    assert np.all(np.isfinite(model.prediction_band(X, 0.9)))
