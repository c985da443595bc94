"""What a fitted FunctionalRegressor says, and what must not change it."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from mercer import FunctionalRegressor
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Square
from mercer.measures import Grid, Points
from mercer.operator_valued import HarmonicBasis

RNG = np.random.default_rng(3)
N, M = 24, 8
X = RNG.uniform(size=(N, 2))
GRID = np.linspace(0, 1, M)
CURVES = np.sin(3 * X[:, :1] + 4 * GRID) + 0.1 * RNG.normal(size=(N, M))
NEW = RNG.uniform(size=(5, 2))
WEIGHTS = Grid(GRID).build().weights
HOLES = np.where(RNG.random((N, M)) < 0.25, np.nan, CURVES)
OWN = [(GRID[~np.isnan(y)], y[~np.isnan(y)]) for y in HOLES]
NAMES = ["square", "huber", "epsilon_ridge", "epsilon_insensitive"]


def regressor(**settings):
    defaults = {"kernel": Gaussian(4.0), "output_kernel": Gaussian(3.0), "alpha": 0.02, "grid": GRID, "tol": 1e-7}
    return FunctionalRegressor(**defaults | settings)


def fitted(observations="grid", **settings):
    if observations == "scattered":
        return regressor(**{"grid": None} | settings).fit(X, OWN)
    return regressor(**settings).fit(X, CURVES if observations == "grid" else HOLES)


# --- shapes and points


@pytest.mark.parametrize("observations", ["grid", "holes", "scattered"])
@pytest.mark.parametrize("representation", ["nodes", "eigen", HarmonicBasis(5)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_prediction_on_the_grid_is_that_of_its_points(observations, representation, intercept):
    model = fitted(observations, representation=representation, fit_intercept=intercept)
    on_grid = model.predict(NEW)
    assert on_grid.shape == (5, len(model.grid_)) == (5, 101 if observations == "scattered" else M)
    np.testing.assert_allclose(model.predict_at(NEW, model.grid_), on_grid, atol=1e-10)
    np.testing.assert_allclose(model.predict_at(NEW, model.grid_[[3]]), on_grid[:, [3]], atol=1e-10)


@pytest.mark.parametrize("observations", ["grid", "scattered"])
@pytest.mark.parametrize("representation", ["nodes", "eigen", HarmonicBasis(5)], ids=str)
@pytest.mark.parametrize("intercept", [True, False])
def test_derivatives_are_difference_quotients(observations, representation, intercept):
    model = fitted(observations, representation=representation, fit_intercept=intercept)
    points, step = np.array([0.05, 0.31, 0.77, 0.9]), 1e-6
    quotient = (model.predict_at(NEW, points + step) - model.predict_at(NEW, points - step)) / (2 * step)
    np.testing.assert_allclose(model.predict_derivative(NEW, points), quotient, atol=2e-4)


def test_curves_in_space_have_derivatives_and_shapes_of_their_own():
    Y = np.stack([CURVES, -CURVES, CURVES**2], axis=2)
    for model in (
        regressor().fit(X, Y),
        regressor(grid=None).fit(X, [(GRID, y) for y in Y]),
        regressor(representation="eigen", fit_intercept=False).fit(X, Y),
    ):
        assert model.predict(NEW).shape == (5, len(model.grid_), 3)
        points, step = np.array([0.22, 0.6]), 1e-6
        ahead, behind = (model.predict_at(NEW, points + d) for d in (step, -step))
        assert ahead.shape == (5, 2, 3)
        np.testing.assert_allclose(model.predict_derivative(NEW, points), (ahead - behind) / (2 * step), atol=2e-4)


def test_between_nodes_h_follows_the_kernel_and_b_straight_lines():
    model, points = fitted(mean_curve="free"), np.array([0.2, 0.5, 0.99])
    h = Gaussian(4.0)(NEW, X) @ model.dual_coef_ @ Gaussian(3.0)(GRID[:, None], points[:, None])
    np.testing.assert_allclose(model.predict_at(NEW, points), h + np.interp(points, GRID, model.intercept_))


def test_extrapolation_is_an_explicit_choice():
    for observations in ("grid", "scattered"):
        model = fitted(observations)
        for method in (model.predict_at, model.predict_derivative):
            with pytest.raises(DataError, match=r"from \[0.0\] to \[1.0\]. Pass extrapolate=True"):
                method(NEW, [0.5, 1.01])
            assert np.all(np.isfinite(method(NEW, [-1.0, 2.0], extrapolate=True)))
    far = fitted().predict_at(NEW, [1e3], extrapolate=True)
    np.testing.assert_allclose(far, np.full((5, 1), fitted().intercept_function_.level))  # h is gone, b returns
    free = fitted(mean_curve="free")
    far = free.predict_at(NEW, [1e3], extrapolate=True)
    np.testing.assert_allclose(far, np.full((5, 1), free.intercept_[-1]))  # b stays
    np.testing.assert_array_equal(fitted("grid", fit_intercept=False).predict_at(NEW, [1e3], extrapolate=True), 0)


def test_points_without_derivatives_or_without_a_grid():
    with pytest.raises(UnsupportedError, match="no derivatives"):
        fitted(output_kernel=Laplacian(3.0)).predict_derivative(NEW, [0.5])
    mere = regressor(grid=None, output_kernel=None).fit(X, CURVES)
    np.testing.assert_array_equal(mere.grid_, np.arange(M))
    for method in (mere.predict_at, mere.predict_derivative):
        with pytest.raises(UnsupportedError, match="Pass grid="):
            method(NEW, [0.5])


def test_the_grid_of_scattered_curves():
    default = fitted("scattered")
    np.testing.assert_array_equal(default.grid_, np.linspace(0, 1, 101))
    given = regressor(grid=[-0.5, 0.3, 1.5]).fit(X, OWN)  # asked for by the user
    np.testing.assert_array_equal(given.grid_, [-0.5, 0.3, 1.5])
    np.testing.assert_allclose(given.predict(NEW)[:, 1:2], default.predict_at(NEW, [0.3]))
    np.testing.assert_allclose(given.predict_at(NEW, [-0.5, 1.5]), given.predict(NEW)[:, [0, 2]])
    rule = regressor(grid=Points([0.1, 0.9])).fit(X, OWN)
    np.testing.assert_array_equal(rule.grid_, [0.1, 0.9])


# --- emotions: θ in the plane


EMOTIONS = np.array([[0.0, 0.0], [0.9, 0.2], [-0.8, 0.5], [-0.6, -0.4], [0.3, 0.9], [-0.5, 0.8]])


def test_points_in_the_plane_with_missing_ones():
    rng = np.random.default_rng(0)
    Y = np.cos(X[:, :1, None] + EMOTIONS.sum(axis=1)[:, None]) * np.array([1.0, 2.0]) + 0.05 * rng.normal(
        size=(N, 6, 2)
    )
    Y[rng.random((N, 6)) < 0.3] = np.nan
    assert np.isnan(Y).any()
    model = FunctionalRegressor(grid=EMOTIONS, output_matrix=[[1.0, 0.9], [0.9, 1.0]]).fit(X, Y)
    np.testing.assert_array_equal(model.grid_, EMOTIONS)
    np.testing.assert_allclose(model.measure_.weights, 1 / 6)
    assert model.score(X, Y) > 0.8
    between = model.predict_at(NEW, [[0.2, 0.3]])
    assert between.shape == (5, 1, 2)
    np.testing.assert_allclose(between[:, 0, 0], np.cos(NEW[:, 0] + 0.5), atol=0.25)
    np.testing.assert_allclose(model.predict_at(NEW, EMOTIONS), model.predict(NEW), atol=1e-9)
    with pytest.raises(DataError, match="range of what was observed"):
        model.predict_at(NEW, [[2.0, 0.0]])
    with pytest.raises(UnsupportedError, match="derivatives are for curves over an interval"):
        model.predict_derivative(NEW, [[0.0, 0.0]])


def test_the_mean_function_in_the_plane_passes_through_its_nodes():
    """Also where the output kernel cannot tell the nodes apart."""
    nodes = np.stack(np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 6)), axis=2).reshape(-1, 2)
    Y = RNG.normal(size=(N, 36))
    model = regressor(grid=nodes, output_kernel=Gaussian(0.5), mean_curve="free").fit(X, Y)
    h = Gaussian(4.0)(X) @ model.dual_coef_ @ Gaussian(0.5)(nodes)
    np.testing.assert_allclose(model.predict(X), h + model.intercept_, atol=1e-10)
    # the mean of the residuals of a ridge fit with a free mean is zero
    np.testing.assert_allclose((Y - model.predict(X)).mean(axis=0), 0, atol=1e-10)


# --- score


def test_score_is_the_integrated_r2():
    model, s = fitted(), RNG.uniform(0.5, 2.0, N)
    error = (CURVES - model.predict(X)) ** 2 @ WEIGHTS
    mean = np.average(CURVES, axis=0, weights=s)
    total = (CURVES - mean) ** 2 @ WEIGHTS
    assert model.score(X, CURVES, s) == pytest.approx(1 - s @ error / (s @ total))
    assert model.score(X, CURVES) == pytest.approx(
        1 - error.sum() / ((CURVES - CURVES.mean(axis=0)) ** 2 @ WEIGHTS).sum()
    )


def test_score_looks_at_what_was_observed():
    model = fitted()
    error = np.nan_to_num((HOLES - model.predict(X)) ** 2) @ WEIGHTS
    total = np.nan_to_num((HOLES - np.nanmean(HOLES, axis=0)) ** 2) @ WEIGHTS
    assert model.score(X, HOLES) == pytest.approx(1 - error.sum() / total.sum())
    some = HOLES.copy()
    some[:, 2] = some[4] = np.nan  # whole columns and curves may be missing here
    assert model.score(X, some) == pytest.approx(
        1
        - np.nansum((some - model.predict(X)) ** 2 * WEIGHTS)
        / np.nansum((some - np.nanmean(np.where(np.isnan(some).all(axis=0), 0, some), axis=0)) ** 2 * WEIGHTS)
    )


def test_a_model_that_knows_the_mean_curve_only_scores_nothing():
    curves = CURVES + 50 * np.sin(6 * GRID)
    inputs = np.random.default_rng(3).normal(size=(N, 2))
    settings = {"kernel": Gaussian(1.0), "output_kernel": Gaussian(5.0), "alpha": 10.0}
    own = [(t, y + 50 * np.sin(6 * t)) for t, y in OWN]
    assert abs(FunctionalRegressor(grid=GRID, **settings).fit(inputs, curves).score(inputs, curves)) < 0.3
    assert FunctionalRegressor(**settings).fit(inputs, own).score(inputs, own) < 0.3


@pytest.mark.parametrize("shared", [True, False])
def test_score_of_scattered_curves(shared):
    model = fitted("scattered")
    jitter = np.random.default_rng(5)
    own = OWN if shared else [(np.clip(t + 0.05 * jitter.normal(size=len(t)), 0, 1), y) for t, y in OWN]
    error = sum(np.mean((y - model.predict_at(x[None], t)[0]) ** 2) for (t, y), x in zip(own, X, strict=True))
    points, values = (np.concatenate(part) for part in zip(*own, strict=True))
    share = np.concatenate([np.full(len(t), 1 / len(t)) for t, _ in own])
    if shared:
        mean = np.array([np.average(values[points == t], weights=share[points == t]) for t in points])
    else:
        order, bins = np.argsort(points, kind="stable"), min(20, len(points) // 20)
        groups = [order[np.arange(len(points)) * bins // len(points) == k] for k in range(bins)]
        centres, means = (
            [np.average(array[group], weights=share[group]) for group in groups] for array in (points, values)
        )
        mean = np.interp(points, centres, means)
    assert model.score(X, own) == pytest.approx(1 - error / (share @ (values - mean) ** 2))


def test_scattered_scores_on_a_shared_grid_are_those_of_the_grid():
    model = fitted("scattered")
    shared = [(GRID, row) for row in CURVES]
    residuals = CURVES - model.predict_at(X, GRID)
    expected = 1 - np.sum(residuals**2) / np.sum((CURVES - CURVES.mean(axis=0)) ** 2)
    assert model.score(X, shared) == pytest.approx(expected)
    assert 0.6 < fitted().score(X, OWN) < 1  # a fit on a grid is scored on them just so


def test_score_of_one_output_is_that_of_scikit_learn():
    y, s = CURVES[:, 0], RNG.uniform(0.5, 2.0, N)
    model = regressor(grid=None, output_kernel=None).fit(X, y)
    assert model.score(X, y, s) == pytest.approx(r2_score(y, model.predict(X), sample_weight=s))
    many = regressor(grid=None, output_kernel=None).fit(X, CURVES)
    assert many.score(X, CURVES) == pytest.approx(r2_score(CURVES, many.predict(X), multioutput="variance_weighted"))


@pytest.mark.parametrize("value", [0.0, 3.3, -1e12])
def test_score_of_constants(value):
    Y = np.full((N, M), value)
    assert regressor().fit(X, Y).score(X, Y) == 1.0
    assert fitted().score(X, Y) == 0.0


# --- which curves matter


@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
@pytest.mark.parametrize("observations", ["grid", "holes", "scattered"])
def test_outlying_curves_are_saturated(geometry, observations):
    Y = CURVES.copy()
    Y[7] += 20.0
    Y[11] -= 30.0
    targets = Y if observations == "grid" else np.where(np.isnan(HOLES), np.nan, Y)
    if observations == "scattered":
        targets = [(GRID[~np.isnan(y)], y[~np.isnan(y)]) for y in targets]
    grid = None if observations == "scattered" else GRID
    model = FunctionalRegressor(grid=grid, loss="huber", geometry=geometry).fit(X, targets)
    assert {7, 11} <= set(model.saturated_.tolist())
    assert geometry == "pointwise" or len(model.saturated_) < N  # a point of a curve is soon beyond κ
    inliers = np.delete(np.arange(N), [7, 11])
    ridge = FunctionalRegressor(grid=grid).fit(X, targets)
    errors = [np.mean((m.predict_at(X[inliers], GRID) - CURVES[inliers]) ** 2) for m in (model, ridge)]
    assert errors[0] < 0.2 * errors[1]
    assert ridge.saturated_.tolist() == []


@pytest.mark.parametrize("loss", [EpsilonRidge(0.4), EpsilonInsensitive(0.2)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_curves_in_the_tube_do_not_matter(loss, intercept):
    settings = {"loss": loss, "fit_intercept": intercept, "mean_curve": "free"}
    model = regressor(**settings).fit(X, CURVES)
    inside = np.setdiff1d(np.arange(N), model.support_)
    assert model.n_support_ == len(model.support_)
    assert 0 < len(inside) < N
    sizes = np.sqrt((CURVES - model.predict(X)) ** 2 @ WEIGHTS)
    assert np.all(sizes[inside] <= loss.epsilon * (1 + 1e-3))
    assert np.all(sizes[model.support_] >= loss.epsilon * (1 - 1e-3))
    np.testing.assert_array_equal(model.dual_coef_[inside], 0)
    without = regressor(alpha=0.02 * N / model.n_support_, **settings)
    np.testing.assert_allclose(
        without.fit(X[model.support_], CURVES[model.support_]).predict(NEW), model.predict(NEW), atol=2e-3
    )


def test_thresholds_by_name_are_in_units_of_residuals():
    residuals = CURVES - regressor().fit(X, CURVES).predict(X)
    norm, size = np.median(np.sqrt(residuals**2 @ WEIGHTS)), np.median(np.abs(residuals))
    for geometry, unit, factor in (("norm", norm, 1.345), ("pointwise", size, 2.0)):
        settings = {"geometry": geometry, "tol": 1e-3}
        assert regressor(loss="epsilon_ridge", **settings).fit(X, CURVES).loss_.epsilon == pytest.approx(unit, rel=0.15)
        kappa = regressor(loss="huber", **settings).fit(X, CURVES).loss_.kappa  # outlying curves hardly count in it
        assert factor * 0.7 * unit < kappa < factor * 1.3 * unit
    assert regressor(loss=Huber(0.7)).fit(X, CURVES).loss_ == Huber(0.7)


@pytest.mark.parametrize("scattered", [False, True])
def test_points_of_curves_in_the_plane_are_vectors(scattered):
    """Turning the axes changes neither κ nor the fit, but for losses of single components."""
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    plane = np.stack([CURVES, 0.3 * CURVES[::-1]], axis=2)

    def fit(geometry, Y):
        Y = [(GRID, y) for y in Y] if scattered else Y
        grid = None if scattered else GRID
        return regressor(loss="huber", geometry=geometry, grid=grid, tol=1e-7).fit(X, Y)

    model, turned = fit("pointwise", plane), fit("pointwise", plane @ turn)
    assert model.loss_.geometry == "pointwise"
    assert turned.loss_.kappa == pytest.approx(model.loss_.kappa, rel=1e-3)
    expected = model.predict_at(NEW, GRID) @ turn
    np.testing.assert_allclose(turned.predict_at(NEW, GRID), expected, atol=2e-3)
    np.testing.assert_array_equal(turned.saturated_, model.saturated_)
    by_number = [fit("componentwise", Y) for Y in (plane, plane @ turn)]
    assert abs(by_number[0].loss_.kappa / by_number[1].loss_.kappa - 1) > 0.05
    lengths = np.sqrt(np.sum((plane - regressor(grid=GRID).fit(X, plane).predict(X)) ** 2, axis=2))
    assert 0.5 < model.loss_.kappa / (2 * np.median(lengths)) < 1.5


# --- what must not change a fit


def test_one_component_is_the_scalar_case():
    for loss in NAMES[:3]:
        flat, cube = (FunctionalRegressor(grid=GRID, loss=loss).fit(X, Y) for Y in (CURVES, CURVES[:, :, None]))
        np.testing.assert_array_equal(cube.predict(NEW)[:, :, 0], flat.predict(NEW))
    pairs, cubes = (regressor(grid=None).fit(X, [(t, y[:, None] if c else y) for t, y in OWN]) for c in (0, 1))
    np.testing.assert_array_equal(cubes.predict(NEW)[:, :, 0], pairs.predict(NEW))


LITERAL = [Square(), *(loss(0.15, g) for loss in (Huber, EpsilonRidge) for g in ("norm", "pointwise"))]


@pytest.mark.parametrize("loss", LITERAL, ids=repr)
@pytest.mark.parametrize("holes", [False, True])
def test_splitting_a_node_changes_nothing(loss, holes):
    Y = HOLES if holes else CURVES
    points, weights = np.r_[GRID, GRID[2]], np.r_[WEIGHTS, WEIGHTS[2] / 3]
    weights[2] *= 2 / 3
    one = regressor(grid=Points(GRID, WEIGHTS), loss=loss).fit(X, Y)
    two = regressor(grid=Points(points, weights), loss=loss).fit(X, np.column_stack([Y, Y[:, 2]]))
    np.testing.assert_allclose(two.predict(NEW)[:, :M], one.predict(NEW), atol=2e-3)
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-6)


def test_a_rule_of_points_is_the_grid_with_its_weights():
    np.testing.assert_array_equal(
        regressor(grid=Points(GRID, WEIGHTS)).fit(X, CURVES).predict(NEW), fitted().predict(NEW)
    )


@pytest.mark.parametrize("loss", LITERAL, ids=repr)
def test_a_mask_that_hides_nothing(loss):
    """One more row, of no consequence, that has a hole."""
    Y = np.vstack([CURVES, CURVES[:1]])
    Y[-1, 3] = np.nan
    masked = regressor(loss=loss).fit(np.vstack([X, X[:1]]), Y, np.r_[np.ones(N), 1e-12])
    np.testing.assert_allclose(masked.predict(NEW), regressor(loss=loss).fit(X, CURVES).predict(NEW), atol=2e-3)


@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
@pytest.mark.parametrize("kind", [Huber, "square"])
def test_scattered_on_the_same_points_is_the_grid(geometry, kind):
    settings = {"loss": kind if kind == "square" else kind(0.2, geometry), "fit_intercept": False}
    pairs = regressor(grid=None, **settings).fit(X, [(GRID, y, WEIGHTS) for y in CURVES])
    grid = regressor(**settings).fit(X, CURVES)
    np.testing.assert_allclose(pairs.predict_at(NEW, GRID), grid.predict(NEW), atol=1e-4)
    assert pairs.objective_ == pytest.approx(grid.objective_, rel=1e-6)


def test_scattered_with_holes_is_the_grid_with_holes():
    pairs = regressor(grid=None, fit_intercept=False).fit(X, [(GRID, y, WEIGHTS) for y in HOLES])
    grid = regressor(fit_intercept=False).fit(X, HOLES)
    np.testing.assert_allclose(pairs.predict_at(NEW, GRID), grid.predict(NEW), atol=1e-4)
    # weights that sum to less than 1 mean the same λ
    assert pairs.alpha_ == grid.alpha_
    assert pairs.objective_ == pytest.approx(grid.objective_, rel=1e-6)


def test_the_unit_of_observation_weights_is_that_of_the_loss():
    """Ten times the weights and λ are ten times the objective, and the same model; so is what "auto" chooses."""
    ten = [(t, y, np.full(len(t), 10 / len(t))) for t, y in OWN]
    one, scaled = regressor(grid=None).fit(X, OWN), regressor(grid=None, alpha=0.2).fit(X, ten)
    np.testing.assert_allclose(scaled.predict(NEW), one.predict(NEW), atol=1e-8)
    assert scaled.objective_ == pytest.approx(10 * one.objective_)
    auto = regressor(grid=None, alpha="auto").fit(X, ten)
    assert auto.alpha_ in np.logspace(-6, 0, 7)


@pytest.mark.parametrize(
    ("loss", "Y", "atol"),
    [("square", CURVES, 1e-8), ("huber", CURVES, 1e-8), ("square", HOLES, 1e-4), (Huber(0.1), HOLES, 5e-3)],
)
def test_weight_two_is_the_row_twice(loss, Y, atol):
    """λ, bandwidths and thresholds are automatic."""
    weight = np.ones(N)
    weight[:6] = 2
    one = FunctionalRegressor(grid=GRID, loss=loss).fit(X, Y, weight)
    two = FunctionalRegressor(grid=GRID, loss=loss).fit(np.vstack([X, X[:6]]), np.vstack([Y, Y[:6]]))
    assert two.alpha_ == pytest.approx(one.alpha_)
    np.testing.assert_allclose(two.predict(NEW), one.predict(NEW), atol=atol)


def test_rows_of_weight_zero_do_not_exist():
    weight = np.r_[np.zeros(4), RNG.uniform(0.5, 2.0, N - 4)]
    spoilt = CURVES.copy()
    spoilt[:3], spoilt[3] = 1e9, np.nan
    model = FunctionalRegressor(grid=GRID).fit(X, spoilt, weight)
    same = FunctionalRegressor(grid=GRID).fit(X[4:], CURVES[4:], weight[4:])
    np.testing.assert_allclose(model.predict(NEW), same.predict(NEW), atol=1e-10)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("geometry", ["norm", "pointwise"])
def test_defaults_are_equivariant_to_units_of_y(loss, geometry):
    settings = {"grid": GRID, "loss": loss, "geometry": geometry}
    base = FunctionalRegressor(**settings).fit(X, CURVES)
    for scale in (1e-8, 1e8):
        model = FunctionalRegressor(**settings).fit(X, scale * CURVES + 5 * scale)
        np.testing.assert_allclose(model.predict(NEW) / scale - 5, base.predict(NEW), atol=2e-3)
        assert model.relative_gap_ <= 1e-4


@pytest.mark.parametrize("loss", ["square", "huber", "epsilon_ridge"])
@pytest.mark.parametrize("Y", [CURVES, HOLES], ids=["grid", "holes"])
def test_a_curve_may_be_added_to_all(loss, Y):
    """Beside a free mean curve nothing depends on where the curves lie, beside a smooth one hardly anything."""
    shift = 1e6 * np.cos(9 * GRID)
    for mean_curve, atol in (("free", 1e-5), ("smooth", 0.1)):
        settings = {"grid": GRID, "loss": loss, "mean_curve": mean_curve}
        base, moved = (FunctionalRegressor(**settings).fit(X, Y + d) for d in (0, shift))
        np.testing.assert_allclose(moved.predict(NEW) - shift, base.predict(NEW), atol=atol)


def test_units_of_x_and_of_the_grid_do_not_matter():
    base = FunctionalRegressor(grid=GRID).fit(X, CURVES)
    other = FunctionalRegressor(grid=3600 * GRID + 7).fit(X * [1e5, 1e-3] + 4, CURVES)
    np.testing.assert_allclose(other.predict(NEW * [1e5, 1e-3] + 4), base.predict(NEW), atol=1e-7)


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    x = np.linspace(0, 1, 12)[:, None]
    gram, curves = np.exp(-((x - x.T) ** 2)), np.sin(6 * x + np.linspace(0, 1, 5))
    model = FunctionalRegressor("precomputed", alpha=0.1).fit(gram, curves)
    before = model.predict(gram)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(gram, np.where(np.arange(5) == 2, np.inf, curves), np.r_[0.0, np.ones(11)])
    np.testing.assert_array_equal(model.predict(gram), before)


def test_scores_do_not_look_at_curves_of_weight_0():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(20, 1))
    grid = np.linspace(0, 1, 6)
    curves = [(grid, np.sin(3 * grid + a)) for a in x[:, 0]]
    curves[0] = (np.array([0.05, 0.15]), np.array([7.0, 8.0]))  # at points of its own
    model = FunctionalRegressor(grid=grid, alpha=1e-4).fit(x[1:], curves[1:])
    assert model.score(x, curves, np.r_[0.0, np.ones(19)]) == pytest.approx(model.score(x[1:], curves[1:]))
