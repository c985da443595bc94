"""Bounds: printed values of the papers (corrected), and simulations in which they are never violated."""

import math

import numpy as np
import pytest

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, VectorValuedRegressor
from mercer.exceptions import MercerError, UnsupportedError
from mercer.guarantees import (
    StabilityConstants,
    consistency_bound,
    cost_constants,
    cost_risk,
    level_roughness,
    prediction_error,
    quadrature_error,
    quantile_constants,
    quantile_risk,
    rademacher_risk,
    regression_risk,
    robust_constants,
    sharp_stability_bound,
    stability_bound,
    star_discrepancy,
)
from mercer.guarantees.regression import model_measure
from mercer.kernels import Gaussian, Matern
from mercer.losses import CostSensitiveHinge, EpsilonInsensitive, EpsilonRidge, Huber, Pinball, Square
from mercer.measures import GaussLegendre, Points, Sobol, Trapezoid

MIDPOINTS = Points((np.arange(20) + 0.5) / 20).build()


# -- printed values --------------------------------------------------------------------------------------------


def test_the_worked_example_of_quantile_regression():
    constants = quantile_constants(MIDPOINTS, 0.1, 1.0, 1.0, 1.0)
    bound = stability_bound(0.0, constants, 0.1, 1000, 0.05)
    assert constants.lipschitz == pytest.approx(0.75)
    assert constants.norm == pytest.approx(3.872983, abs=1e-6)
    assert constants.largest_loss == pytest.approx(3.654738, abs=1e-6)
    assert bound.constants["stability"] == pytest.approx(0.005625)
    assert bound.constants["deviation"] == pytest.approx(1.012248, abs=1e-6)
    variation = 1 + constants.norm * (1 + 2 * (math.pi * 5) ** 0.25 / math.sqrt(math.e))
    quadrature = quadrature_error(MIDPOINTS, variation)
    assert variation == pytest.approx(14.226143, abs=2e-2)
    assert bound.value + 14.226143 * quadrature.constants["discrepancy"] == pytest.approx(1.379151, abs=1e-5)


@pytest.mark.parametrize(
    ("loss", "largest", "lipschitz", "stability"),
    [
        (EpsilonInsensitive(0.2), 4.8, 1.0, 0.01),
        (EpsilonRidge(0.2), 5.543858, 3.329822, 0.110877),
        (Huber(0.5), 1.744306, 0.5, 0.0025),
    ],
)
def test_printed_constants_of_robust_losses(loss, largest, lipschitz, stability):
    found = robust_constants(loss, 0.1, 1.0, 1.0)
    assert found.largest_loss == pytest.approx(largest, abs=1e-6)
    assert found.lipschitz == pytest.approx(lipschitz, abs=1e-6)
    assert found.stability(0.1, 1000) == pytest.approx(stability, abs=1e-6)


@pytest.mark.parametrize(("m", "value"), [(4, 0.25), (8, 0.125), (16, 0.0625), (20, 0.0875), (100, 0.02313)])
def test_discrepancies_of_van_der_corput(m, value):
    points = [sum(int(bit) / 2 ** (k + 1) for k, bit in enumerate(reversed(f"{i:b}"))) for i in range(m)]
    assert star_discrepancy(points) == pytest.approx(value, abs=1e-5)


def test_star_discrepancies_by_brute_force():
    rng = np.random.default_rng(0)
    assert star_discrepancy([0.1, 0.35, 0.36, 0.8]) == pytest.approx(0.39)
    assert star_discrepancy(MIDPOINTS) == pytest.approx(1 / 40)
    for weights in (None, rng.dirichlet(np.ones(9))):
        theta = rng.uniform(size=9)
        w = np.full(9, 1 / 9) if weights is None else weights
        t = np.sort(np.concatenate([np.linspace(0, 1, 20001), theta, theta - 1e-12]))
        brute = np.max(np.abs((theta[None, :] <= t[:, None]) @ w - t))
        assert star_discrepancy(theta, weights) == pytest.approx(brute, abs=1e-4)
    formula = 1 / 18 + np.max(np.abs(np.sort(theta) - (2 * np.arange(1, 10) - 1) / 18))
    assert star_discrepancy(theta) == pytest.approx(formula)
    for bad in ([], [1.5], ([0.5], [-1.0])):
        with pytest.raises(MercerError, match="star_discrepancy"):
            star_discrepancy(*bad) if isinstance(bad, tuple) else star_discrepancy(bad)


def test_roughness_is_between_a_slope_and_its_bound():
    rng = np.random.default_rng(0)
    for kernel in (Gaussian(5.0), Gaussian(50.0), Matern(2.5, 0.3)):
        D = level_roughness(kernel)
        theta, nodes = rng.uniform(size=(6, 1)), np.linspace(0, 1, 2001)[:, None]
        coef = rng.normal(size=6)
        norm = math.sqrt(coef @ kernel(theta) @ coef)
        slope = math.sqrt(np.mean((kernel.derivative(nodes, theta, (1, 0)) @ coef) ** 2))
        assert slope <= D * norm * (1 + 1e-3)
        assert math.sqrt(float(kernel.derivative(nodes[:1], None, (1, 1))[0, 0])) >= D
    assert level_roughness(Gaussian(20.0)) <= 2 * (math.pi * 20) ** 0.25 / math.sqrt(math.e)


# -- simulations -----------------------------------------------------------------------------------------------


def draw(rng, n):
    X = rng.uniform(size=(n, 1))
    return X, np.clip(np.sin(4 * X[:, 0]) * 0.7 + 0.3 * (0.3 + X[:, 0]) * rng.normal(size=n), -1, 1)


def losses_of(model, loss, X, Y):
    measure = model_measure(model)
    values = model.expansion_.evaluate(X, measure.points)
    return loss.value(np.broadcast_to(Y.reshape(len(X), -1), values.shape), values, measure)


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_leaving_a_row_out_changes_losses_by_no_more_than_the_stability(alpha):
    X, y = draw(np.random.default_rng(0), 12)
    new, targets = draw(np.random.default_rng(1), 200)
    fit = {"alpha": alpha, "fit_intercept": False, "measure": Points((np.arange(10) + 0.5) / 10), "tol": 1e-9}
    whole = KernelQuantileRegressor(Gaussian(5.0), output_kernel=Gaussian(2.0), **fit).fit(X, y)
    beta = quantile_constants(whole.measure_, alpha, 1.0, 1.0, 1.0).stability(alpha, 12)
    changes = []
    for i in range(12):
        keep = np.arange(12) != i
        # the objective of the theorem keeps 1/n when a row is left out: λ grows by n/(n − 1)
        part = KernelQuantileRegressor(Gaussian(5.0), output_kernel=Gaussian(2.0), **(fit | {"alpha": alpha * 12 / 11}))
        part.fit(X[keep], y[keep])
        changes.append(losses_of(whole, Pinball(), new, targets) - losses_of(part, Pinball(), new, targets))
    assert 0 < np.max(np.abs(changes)) <= beta


@pytest.mark.parametrize("loss", [Square(), EpsilonRidge(0.2), EpsilonInsensitive(0.2), Huber(0.3)], ids=repr)
@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_constants_of_robust_losses_hold(loss, alpha):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(15, 3))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)  # of length 1
    new, targets = rng.normal(size=(100, 2)), rng.normal(size=(100, 3))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    constants = robust_constants(loss, alpha, 1.0, 1.0)
    fit = {"loss": loss, "fit_intercept": False, "tol": 1e-9}
    whole = VectorValuedRegressor(Gaussian(0.5), alpha=alpha, **fit).fit(X, Y)
    assert whole.expansion_.norm <= constants.norm
    assert np.max(losses_of(whole, loss, new, targets)) <= constants.largest_loss
    changes = []
    for i in range(6):
        keep = np.arange(15) != i
        part = VectorValuedRegressor(Gaussian(0.5), alpha=alpha * 15 / 14, **fit).fit(X[keep], Y[keep])
        changes.append(losses_of(whole, loss, new, targets) - losses_of(part, loss, new, targets))
    assert 0 < np.max(np.abs(changes)) <= constants.stability(alpha, 15)


def test_beyond_their_conditions_constants_are_those_of_the_square_loss_or_zero():
    assert (
        robust_constants(Huber(3.0), 0.1, 1.0, 1.0).largest_loss
        == robust_constants(Square(), 0.1, 1.0, 1.0).largest_loss
    )
    for loss in (EpsilonRidge(2.0), EpsilonInsensitive(2.0)):
        assert robust_constants(loss, 0.1, 1.0, 1.0) == StabilityConstants(0.0, 0.0, 1.0, 0.0)
    with pytest.raises(UnsupportedError, match="has no entry"):
        robust_constants(Huber(1.0, "pointwise"), 0.1, 1.0, 1.0)
    with pytest.raises(UnsupportedError, match="has no entry"):
        robust_constants(Pinball(), 0.1, 1.0, 1.0)


def test_quantile_risks_are_below_their_bounds():
    fine = GaussLegendre(100).build()
    new, targets = draw(np.random.default_rng(99), 4000)
    for seed, (n, alpha, m) in enumerate([(60, 0.5, 8), (300, 0.5, 20), (300, 5.0, 20)]):
        X, y = draw(np.random.default_rng(seed), n)
        rule = Sobol(16) if seed == 1 else GaussLegendre(m)
        model = KernelQuantileRegressor(
            Gaussian(5.0), output_kernel=Gaussian(2.0), alpha=alpha, fit_intercept=False, measure=rule, random_state=0
        ).fit(X, y)
        values = model.expansion_.evaluate(new, fine.points)
        risk = float(np.mean(Pinball().value(np.broadcast_to(targets[:, None], values.shape), values, fine)))
        bound = quantile_risk(model, X, y, largest_target=1.0)
        assert risk <= bound.value
        sampled = float(np.mean(losses_of(model, Pinball(), new, targets)))
        assert abs(risk - sampled) <= bound.constants["quadrature"]
        assert bound.value == pytest.approx(
            bound.constants["empirical"]
            + 2 * bound.constants["stability"]
            + sum(bound.constants[part] for part in ("deviation", "optimisation", "quadrature"))
        )


def test_cost_risks_are_below_their_bounds():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    labels = np.where(X[:, 0] + 0.5 * rng.normal(size=200) > 0, "yes", "no")
    model = CostSensitiveClassifier(Gaussian(0.5), output_kernel=Gaussian(2.0), alpha=0.5, fit_intercept=False)
    model.fit(X[:100], labels[:100])
    bound = cost_risk(model, X[:100], labels[:100])
    signs = np.where(labels[100:] == "yes", 1.0, -1.0)
    assert np.mean(losses_of(model, CostSensitiveHinge(), X[100:], signs)) <= bound.value
    assert cost_constants(model.measure_, 0.5, 1.0, 1.0).norm >= model.expansion_.norm


@pytest.mark.parametrize("loss", [Square(), Huber(0.3)], ids=repr)
def test_regression_risks_are_below_their_bounds(loss):
    grid = np.linspace(0, 1, 12)

    def curves(seed, n):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(n, 1))
        return X, np.clip(np.sin(3 * (X + grid)) + 0.2 * rng.normal(size=(n, 12)), -1, 1)

    X, Y = curves(0, 150)
    new, targets = curves(1, 1500)
    model = FunctionalRegressor(
        Gaussian(3.0), output_kernel=Gaussian(3.0), alpha=0.3, loss=loss, grid=grid, fit_intercept=False
    ).fit(X, Y)
    risk = float(np.mean(losses_of(model, loss, new, targets)))
    one, other = (bound(model, X, Y, largest_output=1.0) for bound in (regression_risk, rademacher_risk))
    assert risk <= min(one.value, other.value)
    assert one.constants["size"] ** 2 <= other.constants["trace"] <= 1 + 1e-9  # of a probability measure
    assert regression_risk(model, X, Y).value <= one.value  # the largest norm seen is smaller


def test_loose_fits_are_within_what_their_gap_says():
    X, y = draw(np.random.default_rng(0), 80)
    for intercept in (False, True):
        fit = {"output_kernel": Gaussian(2.0), "alpha": 0.02, "fit_intercept": intercept, "noncrossing": None}
        loose, exact = (KernelQuantileRegressor(Gaussian(5.0), tol=tol, **fit).fit(X, y) for tol in (1e-1, 1e-9))
        theta = np.array([[0.1], [0.5], [0.77]])
        difference = np.abs(loose.expansion_.evaluate(X, theta) - exact.expansion_.evaluate(X, theta))
        bound = prediction_error(loose, X, theta[:, 0])
        rest = prediction_error(exact, X, theta).value
        assert np.max(difference) > 0
        assert np.all(difference <= bound.value + rest)
        assert "intercept" in bound.assumptions[0]


def test_models_beyond_the_theorems_are_refused():
    X, y = draw(np.random.default_rng(0), 40)
    for model in (
        KernelQuantileRegressor(),
        KernelQuantileRegressor(Gaussian(1.0), alpha=0.1),
        KernelQuantileRegressor(Gaussian(1.0), alpha=0.1, fit_intercept=False, loss="expectile"),
        FunctionalRegressor(alpha=0.1),
    ):
        with pytest.raises(UnsupportedError, match="The theorem is about"):
            quantile_risk(model.fit(X, y), X, y)
    with pytest.raises(UnsupportedError, match="The theorem is about"):
        regression_risk(VectorValuedRegressor(alpha=0.1).fit(X, y), X, y)
    with pytest.raises(UnsupportedError, match="stages='joint'"):
        prediction_error(KernelQuantileRegressor().fit(X, y), X)
    with pytest.raises(MercerError, match="delta must be"):
        stability_bound(0.0, StabilityConstants(1.0, 1.0, 1.0, 1.0), 0.1, 10, delta=5.0)


def test_bounds_explain_themselves():
    bound = quadrature_error(Trapezoid(5).build(), 1.0)
    assert float(bound) == bound.value == pytest.approx(1 / 8)
    assert "Koksma" in str(bound)
    assert "discrepancy = 0.125" in str(bound)


# -- consistency, and the sharper bound from stability ---------------------------------------------------------


def test_terms_of_consistency():
    found = consistency_bound(2.0, 400, 900, lipschitz=0.5, largest_loss=1.5, trace=4.0, size=3.0, delta=0.3, gap=0.01)
    parts = [found.constants[name] for name in ("complexity", "deviation", "approximation", "gap")]
    assert found.value == pytest.approx(sum(parts))
    assert parts[0] == pytest.approx(2 * math.sqrt(2 / 900) * 0.5 * 2 * 2)
    assert parts[2] == pytest.approx(3 * 0.5 * 2 / 20 * (1 + math.sqrt(2 * math.log(10))))
    # below what is printed for the two terms of the estimation, at the same δ for each event
    printed = 4 * math.sqrt(2 / 900) * (0.5 * 2 * 2 + 1.5 * math.sqrt(math.log(2 / 0.1)))
    assert parts[0] + parts[1] < printed


def test_the_sharper_bound_is_so_for_very_many_rows_only():
    for n, better in ((10**3, False), (10**6, False), (10**8, True)):
        alpha = 0.1 * (n / 1000) ** -0.5
        constants = robust_constants(Huber(0.5), alpha, 1.0, 1.0)
        plain, sharp = (bound(0.0, constants, alpha, n).value for bound in (stability_bound, sharp_stability_bound))
        assert (sharp < plain) is better


@pytest.mark.parametrize("settings", [{"n": 1}, {"delta": 1.5}])
def test_numbers_of_the_sharper_bound_are_looked_at(settings):
    constants = robust_constants(Huber(0.5), 0.1, 1.0, 1.0)
    with pytest.raises(MercerError):
        sharp_stability_bound(**{"empirical": 0.0, "constants": constants, "alpha": 0.1, "n": 100} | settings)
