"""Quantiles of curves: special cases, a reference, coverage, calibration, holes, scikit-learn."""

import cvxpy as cp
import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import FunctionalQuantileRegressor, KernelQuantileRegressor
from mercer.estimators.level_scores import level_scores, quantiles_at
from mercer.exceptions import DataError, ExtrapolationWarning, MercerError, UnsupportedError
from mercer.kernels import Gaussian, Identity
from mercer.linalg import Tensor
from mercer.losses import Pinball
from mercer.measures import Grid, Points, ProductMeasure
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem

GRID = np.linspace(0, 1, 8)
LEVELS = Points([0.1, 0.5, 0.8], [0.3, 0.4, 0.3])
FIXED = {"kernel": Gaussian(2.0), "output_kernel": Gaussian(8.0), "level_kernel": Gaussian(3.0), "alpha": 1e-2}


def spread(X):
    return 0.1 + 0.5 * X[:, :1] * (0.3 + GRID)


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    noise = rng.normal(size=(n, 1)) * np.cos(3 * GRID) + rng.normal(size=(n, 1)) * np.sin(3 * GRID)
    return X, np.sin(2 * np.pi * GRID) * X + spread(X) * noise


X, Y = draw(60)


TRAINED = "it sets alpha = 0.01 and asks for a score of 0.5, here a share of pinball losses: 0.49 with an R² of 0.75"


@parametrize_with_checks(
    [FunctionalQuantileRegressor(), FunctionalQuantileRegressor(calibration=None, alpha=1e-4)],
    expected_failed_checks=lambda estimator: {"check_regressors_train": TRAINED},
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_without_kinship_of_times_it_is_one_fit_for_each():
    shares = Grid(GRID).build().weights
    model = FunctionalQuantileRegressor(
        **(FIXED | {"output_kernel": Identity()}), grid=GRID, measure=LEVELS, calibration=None, tol=1e-9
    ).fit(X, Y)
    levels = [0.1, 0.3, 0.5, 0.8]
    together = model.predict_quantile(X, levels)
    for j in (0, 4):
        alone = KernelQuantileRegressor(
            FIXED["kernel"], output_kernel=FIXED["level_kernel"], alpha=1e-2 / shares[j], measure=LEVELS, tol=1e-9
        ).fit(X, Y[:, j])
        assert np.allclose(together[:, j], alone.predict_quantile(X, levels), atol=2e-3 * np.std(Y))


@pytest.mark.parametrize("intercept", [False, True])
def test_it_solves_the_problem_that_it_says(intercept):
    few, curves = X[:8], Y[:8, ::3]
    grid = GRID[::3]
    model = FunctionalQuantileRegressor(
        **FIXED, grid=grid, measure=LEVELS, fit_intercept=intercept, calibration=None, tol=1e-8
    ).fit(few, curves)
    v, theta, w = Grid(grid).build().weights, np.array([0.1, 0.5, 0.8]), np.array([0.3, 0.4, 0.3])
    right = np.kron(Gaussian(8.0)(grid[:, None]), Gaussian(3.0)(theta[:, None]))
    roots = [np.linalg.cholesky(K + 1e-10 * np.eye(len(K))) for K in (Gaussian(2.0)(few), right)]
    G, b = cp.Variable((8, 9)), cp.Variable((1, 9))
    values = roots[0] @ G @ roots[1].T + (np.ones((8, 1)) @ b if intercept else 0)
    rest = np.repeat(curves, 3, axis=1) - values
    weights, level = np.outer(np.ones(8), np.kron(v, w)) / 8, np.tile(theta, 3)[None, :]
    pinball = cp.maximum(cp.multiply(level, rest), cp.multiply(level - 1, rest))
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(weights, pinball)) + 1e-2 / 2 * cp.sum_squares(G)))
    problem.solve(solver=cp.CLARABEL)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-5)
    if not intercept:
        found = model.expansion_.evaluate(few, model.measure_.points)
        assert np.allclose(found, values.value, atol=1e-3 * np.std(curves))


def test_the_gram_matrix_of_pairs_stays_a_product():
    measure = ProductMeasure(Grid(GRID), LEVELS).build()
    product = Gaussian(8.0).restrict(0) * Gaussian(3.0).restrict(1)
    bound = Decomposable(Gaussian(1.0), product).bind(measure)
    gram = bound.output_gram()
    assert isinstance(gram, Tensor)
    assert np.allclose(gram.to_dense(), product(measure.points))
    swapped = Decomposable(Gaussian(1.0), Gaussian(3.0).restrict(1) * Gaussian(8.0).restrict(0)).bind(measure)
    assert isinstance(swapped.output_gram(), Tensor)
    assert np.allclose(swapped.output_gram().to_dense(), product(measure.points))
    problem = DualProblem(bound.gram(X), Pinball(), np.repeat(Y, 3, axis=1), measure, 0.1)
    assert isinstance(problem.gram.right, Tensor)  # weights of times and levels are products, too
    whole = np.sqrt(measure.weights)
    assert np.allclose(problem.gram.right.to_dense(), whole[:, None] * product(measure.points) * whole)
    mixed = Decomposable(Gaussian(1.0), product).bind(Points(measure.points[1:]).build())
    assert not isinstance(mixed.output_gram(), Tensor)
    assert np.allclose(mixed.output_gram().to_dense(), product(measure.points[1:]))


def test_quantiles_of_known_curves_are_found():
    inputs, curves = draw(250, 1)
    model = FunctionalQuantileRegressor(grid=GRID, random_state=0).fit(inputs, curves)
    new, later = draw(600, 2)
    truth = np.sin(2 * np.pi * GRID) * new
    for level in (0.1, 0.5, 0.9):
        wanted = truth + spread(new) * norm.ppf(level)
        found = model.predict_quantile(new, [level])[:, :, 0]
        assert np.mean(np.abs(found - wanted)) < 0.3 * np.mean(spread(new))
    theta = np.arange(1, 20) / 20
    best = truth[:, :, None] + spread(new)[:, :, None] * norm.ppf(theta)
    losses = []
    for quantiles in (best, model.predict_quantile(new, theta)):
        rest = later[:, :, None] - quantiles
        losses.append(np.mean(np.maximum(theta * rest, (theta - 1) * rest)))
    assert losses[1] < 1.03 * losses[0]
    assert model.score(new, later) > 0.12  # of 0.17 that can be known
    assert model.relative_gap_ <= 1e-3


def test_quantile_functions_never_cross_at_any_time():
    for calibration in (None, "cross"):
        model = FunctionalQuantileRegressor(**FIXED, grid=GRID, calibration=calibration, random_state=0).fit(X, Y)
        q = model.predict_quantile(X, np.linspace(0.03, 0.97, 60), points=np.linspace(0, 1, 11))
        assert np.all(np.diff(q, axis=2) >= 0)


@pytest.mark.parametrize("calibration", ["cross", "split"])
def test_calibrated_intervals_cover_new_curves(calibration):
    covered = []
    for seed in range(4):  # a kernel so narrow that the plain fit is far too sure
        inputs, curves = draw(100, seed)
        sharp = {"kernel": Gaussian(200.0), "alpha": 1e-4, "grid": GRID, "random_state": seed}
        new, later = draw(300, 100 + seed)
        row = []
        for how in (None, calibration):
            band = FunctionalQuantileRegressor(**sharp, calibration=how).fit(inputs, curves).predict_interval(new, 0.8)
            row.append(np.mean((band[:, :, 0] <= later) & (later <= band[:, :, 1])))
        covered.append(row)
    plain, calibrated = np.mean(covered, axis=0)
    assert plain < 0.7
    assert 0.76 <= calibrated <= 0.9


def test_each_tail_of_a_split_holds_its_share_at_most():
    beyond = []
    for seed in range(30):
        inputs, curves = draw(40, seed)
        model = FunctionalQuantileRegressor(
            Gaussian(5.0), output_kernel=Gaussian(8.0), alpha=0.05, grid=GRID, measure=LEVELS, calibration="split",
            random_state=seed,
        ).fit(inputs, curves)  # fmt: skip
        assert model.calibration_scores_.shape == (10, 8)
        new, later = draw(200, 1000 + seed)
        q = model.predict_quantile(new, [0.2, 0.8])
        beyond.append([np.mean(later < q[:, :, 0]), np.mean(later > q[:, :, 1])])
    assert np.all(np.mean(beyond, axis=0) <= 0.2 + 0.02)


def test_levels_of_values_are_where_functions_pass_through_them():
    rng = np.random.default_rng(0)
    grid = np.linspace(0.05, 0.95, 19)
    functions, values = np.sort(rng.normal(size=(7, 3, 19)), axis=2), 3 * rng.normal(size=(7, 3))
    values[0, 0] = np.nan
    scores = level_scores(grid, functions, values, 0.5)
    assert np.isnan(scores[0, 0])
    for i in range(1, 7):
        again = quantiles_at(grid, functions[i : i + 1], scores[i][:, None], 0.5)
        assert np.allclose(again[0, :, 0], values[i])


def test_training_coverage_is_exact_with_an_intercept():
    model = FunctionalQuantileRegressor(**FIXED, grid=GRID, measure=LEVELS, calibration=None, tol=1e-8).fit(X, Y)
    values = model.expansion_.evaluate(X, model.measure_.points).reshape(60, 8, 3) + model.intercept_.reshape(8, 3)
    for q, level in enumerate([0.1, 0.5, 0.8]):
        slack = 1e-5
        assert np.all(np.sum(values[:, :, q] - slack > Y, axis=0) <= 60 * level + 1e-9)
        assert np.all(np.sum(values[:, :, q] + slack >= Y, axis=0) >= 60 * level - 1e-9)


def test_holes_are_entries_that_do_not_count():
    rng = np.random.default_rng(0)
    holes = np.where(rng.random(Y.shape) < 0.3, np.nan, Y)
    model = FunctionalQuantileRegressor(**FIXED, grid=GRID, measure=LEVELS, random_state=0).fit(X, holes)
    assert model.relative_gap_ <= 1e-3
    assert model.score(X, holes) > 0.1
    assert np.isnan(model.calibration_scores_).mean() == pytest.approx(0.3, abs=0.06)
    assert FunctionalQuantileRegressor(grid=GRID, random_state=0).fit(X[:30], holes[:30]).predict(X).shape == (60, 8)


def test_a_row_of_weight_two_counts_twice():
    weight = np.where(np.arange(60) < 20, 2.0, 1.0)
    twice = np.concatenate([np.arange(60), np.arange(20)])
    fits = [
        FunctionalQuantileRegressor(**FIXED, grid=GRID, calibration=None, tol=1e-8).fit(inputs, curves, weights)
        for inputs, curves, weights in ((X, Y, weight), (X[twice], Y[twice], None))
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=1e-6)
    assert np.allclose(fits[0].predict(X), fits[1].predict(X), atol=1e-4)


@pytest.mark.parametrize("calibration", [None, "cross", "split"])
def test_a_precomputed_gram_is_the_same_model(calibration):
    fixed = FIXED | {"grid": GRID, "measure": LEVELS, "calibration": calibration, "random_state": 0, "tol": 1e-6}
    model = FunctionalQuantileRegressor(**fixed).fit(X, Y)
    K = FIXED["kernel"](X)
    other = FunctionalQuantileRegressor(**(fixed | {"kernel": "precomputed"})).fit(K, Y)
    assert np.allclose(other.predict(K), model.predict(X), atol=1e-3)


def test_other_times_and_columns_without_any():
    model = FunctionalQuantileRegressor(**FIXED, grid=GRID, random_state=0).fit(X, Y)
    at_nodes = model.predict_quantile(X, [0.2, 0.7])
    assert np.allclose(model.predict_quantile(X, [0.2, 0.7], points=GRID), at_nodes)
    assert np.allclose(model.predict_at(X, GRID), model.predict(X))
    middle = model.predict_at(X, [(GRID[3] + GRID[4]) / 2])[:, 0]
    low, high = np.sort(model.predict(X)[:, 3:5], axis=1).T
    assert np.mean((middle > low - 0.1) & (middle < high + 0.1)) > 0.9
    with pytest.raises(DataError, match="in the range"):
        model.predict_at(X, [2.0])
    columns = FunctionalQuantileRegressor(alpha=0.01, random_state=0).fit(X, Y[:, :2])
    assert columns.predict(X).shape == (60, 2)
    with pytest.raises(UnsupportedError, match="had no grid"):
        columns.predict_at(X, [0.5])


def test_units_do_not_matter_and_seeds_mean_the_same():
    model = FunctionalQuantileRegressor(grid=GRID, random_state=0).fit(X, Y)
    other = clone(model).fit(X, 1000 * Y + 5)
    assert np.allclose(other.predict(X), 1000 * model.predict(X) + 5, atol=20)
    assert np.array_equal(clone(model).fit(X, Y).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"measure": [0.1, 0.9]}, "measure must be a MeasureRule"),
        ({"measure": Points([0.0, 0.5])}, r"points are in \(0, 1\)"),
        ({"calibration": "fold"}, "calibration must be"),
        ({"kernel": Decomposable(Gaussian(1.0), Gaussian(1.0))}, "a scalar kernel on inputs"),
        ({"level_kernel": "precomputed"}, "a kernel on levels"),
        ({"output_kernel": "precomputed"}, "a kernel on times"),
        ({"alpha": "best"}, "alpha must be"),
        ({"grid": GRID[:3]}, "as long as the curves"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(MercerError, match=message):
        FunctionalQuantileRegressor(**parameters).fit(X, Y)


def test_bad_data_are_refused():
    with pytest.raises(UnsupportedError, match="on a common grid"):
        FunctionalQuantileRegressor().fit(X[:2], [(GRID, Y[0]), (GRID[:3], Y[1, :3])])
    with pytest.raises(DataError, match="8 rows at least"):
        FunctionalQuantileRegressor(calibration="split").fit(X[:6], Y[:6])
    model = FunctionalQuantileRegressor(**FIXED, grid=GRID, random_state=0).fit(X, Y)
    with pytest.raises(MercerError, match="levels must be"):
        model.predict_quantile(X, [90])
    with pytest.warns(ExtrapolationWarning, match="too few for some"):
        model.predict_quantile(X, [0.999])


def test_between_the_nodes_curves_are_covered_and_never_cross():
    """Held-out curves at times that no curve was seen at, and levels in any order."""
    fine = np.linspace(0, 1, 15)
    curves = np.random.default_rng(0)

    def smooth(n):
        X = curves.uniform(size=(n, 1))
        size, shift = curves.normal(size=(2, n, 1))
        return X, np.sin(2 * np.pi * fine) * X + (0.1 + 0.3 * X) * (size * np.cos(2 * fine) + shift * np.sin(2 * fine))

    inputs, outputs = smooth(150)
    model = FunctionalQuantileRegressor(Gaussian(5.0), alpha=1e-3, grid=fine[::2], random_state=0)
    model.fit(inputs, outputs[:, ::2])
    new, later = smooth(400)
    levels = np.array([0.9, 0.1, 0.5])
    q = model.predict_quantile(new, levels, points=fine[1::2])
    assert np.all((q[:, :, 1] <= q[:, :, 2]) & (q[:, :, 2] <= q[:, :, 0]))
    shares = np.mean(later[:, 1::2, None] <= q, axis=(0, 1))
    np.testing.assert_allclose(shares, levels, atol=0.05)


def test_levels_in_any_order_at_places_in_the_plane():
    rng = np.random.default_rng(0)
    places, inputs = rng.uniform(size=(5, 2)), rng.uniform(size=(40, 1))
    values = inputs + rng.normal(size=(40, 5))
    model = FunctionalQuantileRegressor(Gaussian(1.0), alpha=0.1, grid=places, random_state=0).fit(inputs, values)
    falling = model.predict_quantile(inputs, [0.9, 0.5, 0.1], points=places[:2])
    assert np.all(np.diff(falling, axis=2) <= 0)
    np.testing.assert_allclose(falling[:, :, ::-1], model.predict_quantile(inputs, [0.1, 0.5, 0.9], points=places[:2]))


def test_two_curves_and_scores_of_gram_matrices():
    two = FunctionalQuantileRegressor(Gaussian(1.0), grid=GRID).fit(X[:2], Y[:2])
    assert np.all(np.isfinite(two.predict(X[:3])))
    K = FIXED["kernel"](X)
    given = FunctionalQuantileRegressor(**(FIXED | {"kernel": "precomputed"}), grid=GRID, calibration="split")
    plain = FunctionalQuantileRegressor(**FIXED, grid=GRID, calibration="split", random_state=0).fit(X, Y)
    assert given.set_params(random_state=0).fit(K, Y).score(K, Y) == pytest.approx(plain.score(X, Y), abs=1e-3)
    with pytest.raises(MercerError, match="sample_weight"):
        plain.score(X, Y, sample_weight=[1.0, 2.0])
