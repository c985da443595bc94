"""What can be asked of a fitted model, each answer against its definition."""

import numpy as np
import pytest
from scipy import stats

from mercer import KernelQuantileRegressor
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre, Points
from mercer.quantile_function import QuantileFunction

RNG = np.random.default_rng(0)
N = 60
X = RNG.uniform(size=(N, 2))
Y = np.sin(5 * X[:, 0]) + (0.2 + X[:, 1]) * RNG.normal(size=N)
NEW = RNG.uniform(-0.2, 1.2, size=(25, 2))
NODES = GaussLegendre(20).build().locations


@pytest.fixture(scope="module")
def model():
    return KernelQuantileRegressor(alpha=1e-3).fit(X, Y)


@pytest.fixture(scope="module")
def plain():
    """Rough, and so far from monotone: the same without rearrangement."""
    return KernelQuantileRegressor(Gaussian(30.0), alpha=1e-5, noncrossing=None).fit(X, Y)


def test_predict_is_the_median(model):
    assert model.predict(NEW).shape == (25,)
    np.testing.assert_array_equal(model.predict(NEW), model.predict_quantile(NEW, 0.5)[:, 0])
    below = np.mean(model.predict(X) > Y)
    assert 0.4 < below < 0.6


@pytest.mark.parametrize("levels", [0.3, [0.3], (0.1, 0.9), np.linspace(0.001, 0.999, 41), [0.9, 0.1, 0.1]])
def test_any_levels_in_any_order(model, levels):
    found = model.predict_quantile(NEW, levels)
    assert found.shape == (25, np.size(levels))
    one_by_one = [model.predict_quantile(NEW, level)[:, 0] for level in np.atleast_1d(levels)]
    np.testing.assert_allclose(found, np.stack(one_by_one, axis=1), atol=1e-12)


def test_levels_between_the_nodes_are_learned_and_not_interpolated(plain):
    """h between nodes comes from k_Θ; only b is piecewise linear there."""
    middle = (NODES[3] + NODES[4]) / 2
    h = (
        plain.kernel_(NEW, plain.X_fit_)
        @ plain.dual_coef_
        @ plain.output_kernel_(plain.measure_.points, np.array([[middle]]))
    )
    b = (plain.intercept_[3] + plain.intercept_[4]) / 2
    found = plain.predict_quantile(NEW, middle)
    np.testing.assert_allclose(found, h + b, atol=1e-9)
    between = plain.predict_quantile(NEW, NODES[3:5]).mean(axis=1)
    assert np.max(np.abs(found[:, 0] - between)) > 1e-4


def test_without_rearrangement_predictions_are_h_plus_b(plain):
    K, T = plain.kernel_(NEW, plain.X_fit_), plain.output_kernel_(plain.measure_.points)
    np.testing.assert_allclose(
        plain.predict_quantile(NEW, NODES), K @ plain.dual_coef_ @ T + plain.intercept_, atol=1e-9
    )


def test_rearrangement_sorts_the_same_values(plain):
    rearranged = KernelQuantileRegressor(Gaussian(30.0), alpha=1e-5).fit(X, Y)
    raw = plain.predict_function(NEW)
    assert np.max(raw.crossing) > 1e-3
    np.testing.assert_array_equal(rearranged.predict_function(NEW).values, np.sort(raw.values, axis=1))
    np.testing.assert_array_equal(rearranged.predict_function(NEW).levels, rearranged.grid_)


def test_rearranged_predictions_never_cross():
    model = KernelQuantileRegressor(Gaussian(30.0), alpha=1e-5).fit(X, Y)
    rng = np.random.default_rng(3)
    levels = np.sort(np.concatenate([rng.uniform(0, 1, 150), np.linspace(1e-6, 1 - 1e-6, 50), NODES]))
    far = np.concatenate([rng.uniform(-1, 2, (9_000, 2)), 100 * rng.normal(size=(1_000, 2))])
    spread = np.ptp(Y)
    assert np.min(np.diff(model.predict_quantile(far, levels), axis=1)) >= -1e-12 * spread
    assert np.all(np.diff(model.predict_function(far).values, axis=1) >= 0)


def test_beyond_the_outer_nodes_everything_is_constant(model, plain):
    for fitted in (model, plain):
        ends = fitted.predict_quantile(NEW, [NODES[0], NODES[-1]])
        outside = fitted.predict_quantile(NEW, [1e-9, NODES[0] / 2, (1 + NODES[-1]) / 2, 1 - 1e-9])
        np.testing.assert_allclose(outside, ends[:, [0, 0, 1, 1]], atol=1e-12)
    draws = model.sample(NEW, 2000, random_state=0)
    ends = model.predict_quantile(NEW, [1e-9, 1 - 1e-9])
    assert np.all((draws >= ends[:, :1] - 1e-12) & (draws <= ends[:, 1:] + 1e-12))


def test_one_level_is_a_model_of_that_quantile_only():
    model = KernelQuantileRegressor(alpha=1e-3, measure=Points([0.9])).fit(X, Y)
    found = model.predict_quantile(X, [0.1, 0.5, 0.9])
    np.testing.assert_array_equal(found, found[:, [2, 2, 2]])
    assert np.mean(found[:, 0] >= Y) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("coverage", [0.05, 0.5, 0.9, 0.999])
def test_interval_is_central(model, coverage):
    found = model.predict_interval(NEW, coverage)
    assert found.shape == (25, 2)
    np.testing.assert_array_equal(found, model.predict_quantile(NEW, [(1 - coverage) / 2, (1 + coverage) / 2]))
    assert np.all(found[:, 0] <= found[:, 1])


def test_interval_has_coverage_90_by_default(model):
    np.testing.assert_array_equal(model.predict_interval(NEW), model.predict_interval(NEW, coverage=0.9))


def test_mean_is_the_integral_over_levels(model):
    count = 20_000
    levels = (np.arange(count) + 0.5) / count
    integral = model.predict_quantile(NEW, levels).mean(axis=1)
    np.testing.assert_allclose(model.predict_mean(NEW), integral, atol=1e-6 * np.ptp(Y))
    assert model.predict_mean(NEW).shape == (25,)


def test_cdf_inverts_the_quantiles(model):
    levels = np.linspace(0.01, 0.99, 30)
    y = model.predict_quantile(NEW, levels)
    back = model.predict_cdf(NEW, y)
    assert back.shape == (25, 30)
    # where the quantile function is flat the cdf jumps, so F(Q(θ)) ≥ θ, with equality where it increases
    assert np.all(back >= levels - 1e-9)
    increasing = np.min(np.diff(model.predict_function(NEW).values, axis=1), axis=1) > 1e-9
    assert np.any(increasing)
    np.testing.assert_allclose(back[increasing], np.tile(levels, (increasing.sum(), 1)), atol=1e-6)


def test_cdf_is_monotone_with_values_in_the_unit_interval(model):
    y = np.tile(np.concatenate([[-np.inf, -1e300], np.linspace(-5, 5, 101), [1e300, np.inf]]), (25, 1))
    F = model.predict_cdf(NEW, y)
    assert np.all(np.diff(F, axis=1) >= -1e-12)
    np.testing.assert_array_equal(F[:, :2], 0)
    np.testing.assert_array_equal(F[:, -2:], 1)
    assert np.all((F >= 0) & (F <= 1))


def test_cdf_of_one_number_and_of_one_a_row(model):
    target = RNG.normal(size=25)
    np.testing.assert_array_equal(model.predict_cdf(NEW, target), model.predict_cdf(NEW, target[:, None])[:, 0])
    np.testing.assert_array_equal(model.predict_cdf(NEW, 0.3), model.predict_cdf(NEW, np.full(25, 0.3)))


def test_samples_are_reproducible_and_follow_the_cdf(model):
    draws = model.sample(NEW, 4000, random_state=5)
    assert draws.shape == (25, 4000)
    np.testing.assert_array_equal(draws, model.sample(NEW, 4000, random_state=5))
    assert np.all(draws[:, 0] != model.sample(NEW, 4000, random_state=6)[:, 0])
    assert model.sample(NEW).shape == (25, 1)
    y = np.tile(np.linspace(-4, 4, 200), (25, 1))
    empirical = np.stack([np.searchsorted(np.sort(row), y[0], side="right") for row in draws]) / 4000
    distance = np.max(np.abs(empirical - model.predict_cdf(NEW, y)))
    assert distance < stats.kstwo.ppf(1 - 1e-4 / 25, 4000)


def test_samples_take_every_kind_of_random_state(model):
    for make in (lambda: 7, lambda: np.random.RandomState(7), lambda: np.random.default_rng(7)):
        np.testing.assert_array_equal(
            model.sample(NEW, 3, random_state=make()), model.sample(NEW, 3, random_state=make())
        )
    stream = np.random.default_rng(7)
    assert not np.array_equal(model.sample(NEW, 3, stream), model.sample(NEW, 3, stream))


def test_the_function_agrees_with_every_method(model):
    function = model.predict_function(NEW)
    assert isinstance(function, QuantileFunction)
    assert len(function) == 25
    np.testing.assert_array_equal(function([0.2, 0.8]), model.predict_quantile(NEW, [0.2, 0.8]))
    np.testing.assert_array_equal(function.mean(), model.predict_mean(NEW))
    np.testing.assert_array_equal(function.interval(0.5), model.predict_interval(NEW, 0.5))
    np.testing.assert_array_equal(function.cdf(np.zeros(25)), model.predict_cdf(NEW, np.zeros(25)))


@pytest.mark.parametrize("weighted", [False, True])
def test_score_is_one_minus_a_ratio_of_losses(model, weighted):
    rng = np.random.default_rng(8)
    y = np.sin(5 * NEW[:, 0]) + rng.normal(size=25)
    weight = rng.integers(1, 4, 25) if weighted else np.ones(25, dtype=int)
    points, w = model.measure_.locations, model.measure_.weights
    predicted = model.predict_quantile(NEW, points)
    repeated = np.repeat(y, weight)

    def loss(r, theta):
        return np.maximum(theta * r, (theta - 1) * r)

    ours = sum(w[j] * np.average(loss(y - predicted[:, j], points[j]), weights=weight) for j in range(20))
    null = sum(
        w[j] * min(np.mean(loss(repeated - q, points[j])) for q in y)  # a minimiser is among the data
        for j in range(20)
    )
    found = model.score(NEW, y, sample_weight=weight) if weighted else model.score(NEW, y)
    assert found == pytest.approx(1 - ours / null, abs=1e-12)


@pytest.mark.parametrize("alpha", [1e-4, 1e-2])
@pytest.mark.parametrize("solver", ["interior_point", "admm"])
@pytest.mark.parametrize("weighted", [False, True])
def test_training_coverage_at_the_nodes_is_exact(alpha, solver, weighted):
    """Spec 3.7: #{y < q} ≤ nθ ≤ #{y ≤ q}, up to the rounding of the sample on the quantile."""
    weight = np.random.default_rng(1).integers(1, 4, N) if weighted else np.ones(N, dtype=int)
    model = KernelQuantileRegressor(alpha=alpha, noncrossing=None, solver=solver)
    model.fit(X, Y, weight if weighted else None)
    residual = Y[:, None] - model.predict_quantile(X, NODES)
    tie = 1e-9
    below, upto = weight @ (residual > tie), weight @ (residual > -tie)
    total = weight.sum()
    assert np.all(total - upto <= total * NODES)
    assert np.all(total * NODES <= total - below)


def test_without_an_intercept_coverage_is_not_exact():
    model = KernelQuantileRegressor(alpha=1e-1, noncrossing=None, fit_intercept=False).fit(X, Y + 3)
    np.testing.assert_array_equal(model.intercept_, 0)
    share = np.mean(Y[:, None] + 3 <= model.predict_quantile(X, NODES), axis=0)
    assert np.max(np.abs(share - NODES)) > 0.1


def test_attributes(model):
    assert model.dual_coef_.shape == (N, 20)
    assert model.intercept_.shape == (20,)
    assert model.X_fit_.shape == (N, 2)
    assert model.alpha_ == 1e-3
    assert model.kernel_.adapted
    assert model.output_kernel_.adapted
    assert np.all(np.isin(NODES, model.grid_))
    assert len(model.grid_) >= 256
    assert model.objective_ >= model.dual_gap_ >= 0
    assert (model.status_, model.n_features_in_) == ("converged", 2)
    penalty = (
        model.alpha_
        / 2
        * np.sum(
            model.dual_coef_ * (model.kernel_(model.X_fit_) @ model.dual_coef_ @ model.output_kernel_(NODES[:, None]))
        )
    )
    K, T = model.kernel_(X, model.X_fit_), model.output_kernel_(NODES[:, None])
    r = Y[:, None] - (K @ model.dual_coef_ @ T + model.intercept_)
    loss = np.mean(np.maximum(NODES * r, (NODES - 1) * r), axis=0) @ model.measure_.weights
    assert model.objective_ == pytest.approx(loss + penalty, rel=1e-8)
