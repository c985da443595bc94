"""Rows with levels, or costs, of their own."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import cross_validate

import mercer
from mercer import CostSensitiveClassifier, KernelQuantileRegressor
from mercer.exceptions import MercerError
from mercer.features import RandomFourier
from mercer.kernels import Gaussian, Matern
from mercer.measures import Points
from mercer.operator_valued import CurlFree

RNG = np.random.default_rng(0)
N = 40
X = RNG.uniform(size=(N, 2))
Y = np.sin(4 * X[:, 0]) + (0.1 + X[:, 1]) * RNG.normal(size=N)
SIGNS = np.where(np.median(Y) < Y, 1.0, -1.0)
LEVELS = RNG.uniform(0.02, 0.98, size=(N, 3))
HOLES = np.where((RNG.random(LEVELS.shape) < 0.4) & (np.arange(3) > 0), np.nan, LEVELS)
WEIGHT = RNG.integers(1, 4, size=N).astype(float)
KERNELS = {"kernel": Gaussian(3.0), "output_kernel": Gaussian(4.0), "alpha": 0.02}


def pairs(kernel, levels, constant):
    """The kernel between all (x_i, θ_ij), the row i of each, and θ, from the definition."""
    rows, columns = np.nonzero(~np.isnan(levels))
    theta = levels[rows, columns]
    matrix = (kernel(X)[np.ix_(rows, rows)] + constant) * Gaussian(4.0)(theta[:, None])
    return matrix, rows, theta


def optimum(loss, matrix, target, share, alpha, intercept):
    """The least value of Σ_q share_q loss(u_q) + (λ/2)‖h‖² by cvxpy."""
    values, vectors = np.linalg.eigh(matrix)
    root = vectors * np.sqrt(np.maximum(values, 0))
    z, b = cp.Variable(len(matrix)), cp.Variable()
    u = root @ z + (b if intercept else 0.0)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(share, loss(target, u))) + alpha / 2 * cp.sum_squares(z)))
    return problem.solve()


def shares(levels, weight):
    rows = np.nonzero(~np.isnan(levels))[0]
    return (weight / weight.sum())[rows] / np.bincount(rows)[rows]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("levels", [LEVELS[:, 0], LEVELS, HOLES], ids=["one", "three", "holes"])
def test_quantiles_against_cvxpy(levels, intercept):
    model = KernelQuantileRegressor(**KERNELS, fit_intercept=intercept, tol=1e-6)
    model.fit(X, Y, WEIGHT, levels)
    table = levels.reshape(N, -1)
    matrix, rows, theta = pairs(KERNELS["kernel"], table, 100.0 if intercept else 0.0)

    def pinball(y, u):
        return cp.multiply(theta, cp.pos(y - u)) + cp.multiply(1 - theta, cp.neg(y - u))

    best = optimum(pinball, matrix, Y[rows], shares(table, WEIGHT), 0.02, intercept)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert model.dual_coef_.shape == (len(rows), 1)


@pytest.mark.parametrize("intercept", [True, False])
def test_costs_against_cvxpy(intercept):
    model = CostSensitiveClassifier(**KERNELS, fit_intercept=intercept, tol=1e-6).fit(X, SIGNS, WEIGHT, HOLES)
    matrix, rows, theta = pairs(KERNELS["kernel"], HOLES, 100.0 if intercept else 0.0)

    def hinge(y, u):
        return cp.multiply(np.where(y > 0, theta, 1 - theta), cp.pos(1 - cp.multiply(y, u)))

    best = optimum(hinge, matrix, SIGNS[rows], shares(HOLES, WEIGHT), 0.02, intercept)
    assert model.objective_ == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_certificate_is_what_the_model_says(seed):
    """Objective and gap from the definition, with A read off the coefficients: for random data and settings."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(5, 40)), int(rng.integers(1, 5))
    inputs, costs = rng.normal(size=(n, 2)), rng.uniform(0.01, 0.99, size=(n, m))
    costs[:, 1:][rng.random((n, m - 1)) < 0.3] = np.nan
    weight = rng.uniform(0.2, 3.0, n) if rng.random() < 0.5 else None
    alpha, intercept = float(10 ** rng.uniform(-4, 0)), bool(rng.random() < 0.5)
    settings = {
        "alpha": alpha,
        "fit_intercept": intercept,
        "kernel": Gaussian(0.7) if rng.random() < 0.5 else Matern(1.5),
    }
    if rng.random() < 0.5:
        y = rng.normal(size=n) * 10 ** rng.uniform(-2, 2)
        model = KernelQuantileRegressor(**settings).fit(inputs, y, weight, costs)
    else:
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        model = CostSensitiveClassifier(**settings).fit(inputs, y, weight, costs)
    h = model.expansion_
    rows, theta, x = np.asarray(h.rows), h.representers.points[h.nodes][:, 0], np.asarray(h.X)
    matrix = h.kernel(x)[np.ix_(rows, rows)] * model.output_kernel_(theta[:, None])
    # rows are merged and may have moved: each (x, θ) finds its own target
    place = {(*inputs[i], t): i for i in range(n) for t in costs[i] if not np.isnan(t)}
    where = np.array([place[(*x[i], t)] for i, t in zip(rows, theta, strict=True)])
    target, coef = y[where], np.asarray(h.coef)[:, 0]
    weights = np.ones(n) if weight is None else weight
    share = (weights / weights.sum())[where] / (~np.isnan(costs)).sum(axis=1)[where]
    dual = coef * alpha / share  # c = share·a/λ
    values = matrix @ coef
    u = values + model.intercept_[0]
    assert np.ptp(model.intercept_) == 0
    half = alpha / 2 * coef @ values
    if isinstance(model, KernelQuantileRegressor):
        loss = np.maximum(theta * (target - u), (theta - 1) * (target - u))
        low, high = theta - 1, theta
    else:
        w = np.where(target > 0, theta, 1 - theta)
        loss = w * np.maximum(1 - target * u, 0)
        low, high = np.minimum(target * w, 0), np.maximum(target * w, 0)
    primal, lower = share @ loss + half, share @ (dual * target) - half
    assert np.all((dual >= low - 1e-7) & (dual <= high + 1e-7))
    assert not intercept or abs(share @ dual) < 1e-9
    assert model.objective_ == pytest.approx(primal, rel=1e-6)
    assert model.dual_gap_ >= 0.99 * (primal - lower) - 1e-8 * primal
    assert model.relative_gap_ <= 1e-3


def test_levels_that_all_rows_have_are_those_of_a_measure():
    """Without an intercept, which is free at nodes there and a number here."""
    settings = {**KERNELS, "fit_intercept": False, "noncrossing": None, "tol": 1e-8}
    levels = np.array([0.1, 0.5, 0.9])
    shared = KernelQuantileRegressor(**settings, measure=Points(levels)).fit(X, Y)
    own = KernelQuantileRegressor(**settings).fit(X, Y, levels=np.tile(levels, (N, 1)))
    asked = np.linspace(0.1, 0.9, 7)
    assert own.objective_ == pytest.approx(shared.objective_, rel=1e-6)
    np.testing.assert_allclose(own.predict_quantile(X, asked), shared.predict_quantile(X, asked), atol=5e-3)
    np.testing.assert_allclose(own.measure_.locations, levels)


def test_order_copies_and_weights_do_not_matter():
    settings = {"alpha": 0.01, "kernel": Gaussian(3.0), "tol": 1e-7, "noncrossing": None}
    plain = KernelQuantileRegressor(**settings).fit(X, Y, WEIGHT, LEVELS)
    twice = KernelQuantileRegressor(**settings)
    copies = np.repeat(np.arange(N), WEIGHT.astype(int))
    twice.fit(X[copies], Y[copies], levels=LEVELS[copies])
    order = RNG.permutation(N)
    moved = KernelQuantileRegressor(**settings).fit(X[order], Y[order], WEIGHT[order], LEVELS[order][:, ::-1])
    without = KernelQuantileRegressor(**settings)
    more = np.vstack([X, X[:2] + 1]), np.append(Y, [7.0, 8.0]), np.append(WEIGHT, [0, 0])
    without.fit(*more, np.vstack([LEVELS, np.full((2, 3), 0.5)]))
    for other in (twice, moved, without):
        assert other.objective_ == pytest.approx(plain.objective_, rel=1e-6)
        predicted = (one.predict_quantile(X, [0.2, 0.7]) for one in (other, plain))
        np.testing.assert_allclose(*predicted, atol=0.01)


def test_random_levels_take_the_place_of_the_integral():
    """One level a row, drawn at random: quantiles of new rows are nearly as good as with twenty nodes."""
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(300, 1))
    y = np.sin(4 * x[:, 0]) + (0.2 + x[:, 0]) * rng.normal(size=300)
    new = rng.uniform(size=(2000, 1))
    outcome = np.sin(4 * new[:, 0]) + (0.2 + new[:, 0]) * rng.normal(size=2000)
    shared = KernelQuantileRegressor(stages="joint").fit(x, y)
    own = KernelQuantileRegressor().fit(x, y, levels=rng.uniform(size=300))
    assert own.alpha_ == pytest.approx(shared.alpha_, rel=0.5)
    levels = np.arange(1, 10) / 10
    quantiles = own.predict_quantile(new, levels)
    assert np.all(np.diff(quantiles, axis=1) >= 0)
    assert np.abs(np.mean(outcome[:, None] < quantiles, axis=0) - levels).max() < 0.08
    assert own.score(new, outcome) > shared.score(new, outcome) - 0.05


def test_costs_of_rows_matter():
    """Where rows on the left have dear misses and those on the right dear alarms, one model serves both costs."""
    model = CostSensitiveClassifier().fit(X, SIGNS, costs=LEVELS)
    assert model.predict(X, cost=0.1).sum() < model.predict(X, cost=0.9).sum()
    assert model.predict_proba(X).shape == (N, 2)
    assert model.inputs_ is None
    assert model.relevance_ is None


def test_features_and_gram_matrices():
    fourier = KernelQuantileRegressor(Gaussian(3.0), alpha=0.02, approximation=RandomFourier(300, random_state=0)).fit(
        X, Y, levels=LEVELS
    )
    exact = KernelQuantileRegressor(Gaussian(3.0), alpha=0.02).fit(X, Y, levels=LEVELS)
    gram = KernelQuantileRegressor("precomputed", alpha=0.02).fit(Gaussian(3.0)(X), Y, levels=LEVELS)
    assert fourier.approximation_.kernel_error < 0.2
    assert fourier.objective_ == pytest.approx(exact.objective_, rel=0.1)
    assert gram.objective_ == pytest.approx(exact.objective_, rel=1e-3)
    assert gram.predict(Gaussian(3.0)(X[:5], X)).shape == (5,)


def test_saved_cloned_and_routed(tmp_path):
    model = KernelQuantileRegressor(alpha=0.02).fit(X, Y, levels=LEVELS)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_quantile(X, [0.1, 0.6]), model.predict_quantile(X, [0.1, 0.6]))
    assert not hasattr(clone(model), "dual_coef_")
    with sklearn.config_context(enable_metadata_routing=True):
        routed = KernelQuantileRegressor(alpha=0.02).set_fit_request(levels=True)
        scores = cross_validate(routed, X, Y, params={"levels": LEVELS}, cv=2)
    assert np.all(np.isfinite(scores["test_score"]))
    refitted = model.fit(X, Y)
    assert refitted.dual_coef_.shape == (N, 20)


@pytest.mark.parametrize(
    ("settings", "levels", "words"),
    [
        ({}, LEVELS[:-1], r"levels must be numbers in \(0, 1\) of shape \(40,\) or \(40, m\)"),
        ({}, LEVELS * 100, "This is row 0"),
        ({}, np.full(N, np.nan), "This is row 0"),
        ({}, ["often"] * N, "levels"),
        ({}, LEVELS[:, :, None], "shape"),
        ({}, LEVELS[:, :0], r"shape \(40, 0\)"),
        ({"measure": Points([0.5])}, LEVELS, "measure must be None"),
        ({"noncrossing": "constraint"}, LEVELS, "take 'rearrange' or None"),
        ({"stages": "separate"}, LEVELS, "stages"),
        ({"kernel": CurlFree(Gaussian(1.0)), "alpha": 1.0}, LEVELS, "kernel"),
    ],
    ids=["rows", "percent", "none", "text", "three axes", "no columns", "measure", "noncrossing", "stages", "kernel"],
)
def test_what_is_refused(settings, levels, words):
    with pytest.raises(MercerError, match=words):
        KernelQuantileRegressor(**settings).fit(X, Y, levels=levels)


def test_costs_are_called_costs():
    with pytest.raises(MercerError, match=r"CostSensitiveClassifier: costs must be .* fewer than m costs"):
        CostSensitiveClassifier().fit(X, SIGNS, costs=np.full(N, 5.0))


def test_arrays_of_other_libraries_are_refused():
    import array_api_strict

    foreign = array_api_strict.asarray(X)
    with pytest.raises(MercerError, match=r"numpy\.asarray"):
        KernelQuantileRegressor().fit(foreign, array_api_strict.asarray(Y), levels=LEVELS)
