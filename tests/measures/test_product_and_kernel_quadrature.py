"""Products of measures, and kernel quadrature: contracts, best weights by brute force, rates."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import stats

from mercer.exceptions import MercerError
from mercer.kernels import Gaussian, Matern
from mercer.measures import GaussLegendre, Grid, KernelQuadrature, MonteCarlo, Points, ProductMeasure, Sobol
from mercer.testing import check_measure

ROUGH = Matern(1.5, 0.5)


@pytest.mark.parametrize(
    "rule",
    [
        KernelQuadrature(Matern(2.5, 0.5), 12),
        KernelQuadrature(Gaussian(10.0), 12, stats.beta(2, 3)),
        KernelQuadrature(Gaussian(10.0), 20, dimension=2),
        ProductMeasure(Grid([0.0, 0.3, 1.0]), GaussLegendre(4)),
        ProductMeasure(MonteCarlo(5, dimension=2), Points([0.1, 0.9])),
    ],
    ids=repr,
)
def test_rules_keep_their_contract(rule):
    check_measure(rule)


def test_products_integrate_products():
    mu = ProductMeasure(GaussLegendre(5), GaussLegendre(4)).build()
    t, theta = mu.points.T
    assert mu.integrate((t**3 * theta**2)[None])[0] == pytest.approx(1 / 12)
    assert len(mu) == 20


def test_weights_are_the_best_for_the_points():
    rule = KernelQuadrature(ROUGH, 6)
    mu = rule.build()
    u = ((np.arange(1024) + 0.5) / 1024)[:, None]
    K, z = ROUGH(mu.points), ROUGH(mu.points, u).mean(axis=1)
    w = cp.Variable(len(mu), nonneg=True)
    root = np.linalg.cholesky(K)
    cp.Problem(cp.Minimize(cp.sum_squares(root.T @ w) - 2 * z @ w), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    best = Points(mu.points, w.value).build()
    assert rule.error(best) <= rule.error(mu) <= 1.02 * rule.error(best)


def test_the_error_is_the_worst_one():
    rule, other = KernelQuadrature(ROUGH, 5), GaussLegendre(5).build()
    for mu in (rule.build(), other):
        rng = np.random.default_rng(0)
        centres, coef = rng.uniform(size=(200, 8, 1)), rng.normal(size=(200, 8))
        u = ((np.arange(1024) + 0.5) / 1024)[:, None]
        ratios = []
        for c, a in zip(centres, coef, strict=True):
            difference = np.mean(ROUGH(u, c) @ a) - mu.weights @ (ROUGH(mu.points, c) @ a)
            ratios.append(abs(difference) / np.sqrt(a @ ROUGH(c) @ a))
        assert max(ratios) <= rule.error(mu) * (1 + 1e-9)
        worst = np.vstack([u, mu.points])  # the function that has it: ∫k(·, u)du − Σ w_j k(·, θ_j)
        a = np.concatenate([np.full(1024, 1 / 1024), -mu.weights])
        difference = np.mean(ROUGH(u, worst) @ a) - mu.weights @ (ROUGH(mu.points, worst) @ a)
        assert difference / np.sqrt(a @ ROUGH(worst) @ a) == pytest.approx(rule.error(mu), rel=1e-6)


def test_errors_fall_fast_and_faster_than_those_of_random_points():
    for dimension, other, gain in ((1, MonteCarlo(32), 50), (2, Sobol(32, dimension=2), 2)):
        rule = KernelQuadrature(Matern(2.5, 0.5), 32, dimension=dimension)
        assert gain * rule.error(rule) < np.mean([rule.error(other.build(rng=seed)) for seed in range(5)])
    errors = [rule.error(rule) for rule in (KernelQuadrature(Matern(2.5, 0.5), m) for m in (8, 32))]
    assert errors[1] < errors[0] / 4**2.5  # of smoothness 3, the rate is 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelQuadrature("gaussian"),
        lambda: KernelQuadrature(Gaussian("median")),
        lambda: KernelQuadrature(Gaussian(1.0), 0),
        lambda: KernelQuadrature(Gaussian(1.0), dimension=0),
        lambda: ProductMeasure(GaussLegendre(3), [0.5]),
    ],
)
def test_bad_parameters_are_refused(make):
    with pytest.raises(MercerError, match="must be"):
        make()
