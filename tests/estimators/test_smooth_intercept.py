"""An intercept in the space of a kernel k_b, with a price λ_b of its own: a kernel that is constant in x."""

import cvxpy as cp
import numpy as np
import pytest

from mercer import CostSensitiveClassifier, KernelQuantileRegressor
from mercer.exceptions import UnsupportedError
from mercer.kernels import Constant, Gaussian
from mercer.measures import GaussLegendre
from mercer.operator_valued import CurlFree, Decomposable

K_X, K_THETA, K_B = Gaussian(8.0), Gaussian(9.0), Gaussian(2.0)
ALPHA, PRICE = 1e-2, 3e-3
RULE = GaussLegendre(5)
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(15, 1))
Y = np.sin(5 * X[:, 0]) + (0.2 + X[:, 0]) * RNG.normal(size=15)


def with_intercept(price):
    """K with λ/λ_b of the kernel that is constant in x."""
    return Decomposable(K_X, K_THETA) + Decomposable(Constant(ALPHA / price), K_B)


def factor(gram):
    values, vectors = np.linalg.eigh(gram)
    keep = values > 1e-13 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def reference(loss_of):
    """Optimal value, and b at the nodes, of the primal with two penalties, by cvxpy."""
    measure = RULE.build()
    theta, n, m = measure.locations[:, None], len(X), len(measure)
    h, b = factor(np.kron(K_X(X), K_THETA(theta))), factor(K_B(theta))
    z, c = cp.Variable(h.shape[1]), cp.Variable(b.shape[1])
    U = cp.reshape(h @ z, (n, m), order="C") + np.ones((n, 1)) @ cp.reshape(b @ c, (1, m), order="C")
    risk = cp.sum(loss_of(U, measure.locations) @ measure.weights) / n
    problem = cp.Problem(cp.Minimize(risk + ALPHA / 2 * cp.sum_squares(z) + PRICE / 2 * cp.sum_squares(c)))
    problem.solve(solver="CLARABEL")
    return problem.value, b @ c.value


def pinball(U, theta):
    R = Y[:, None] - U
    return cp.multiply(np.ones((len(Y), 1)) * theta, R) + cp.pos(-R)


def hinge(U, theta):
    signs = np.where(Y > 0, 1.0, -1.0)[:, None]
    return cp.multiply(np.where(signs > 0, theta, 1 - theta), cp.pos(1 - cp.multiply(signs, U)))


@pytest.mark.parametrize(
    ("estimator", "target", "loss_of"),
    [(KernelQuantileRegressor, Y, pinball), (CostSensitiveClassifier, Y > 0, hinge)],
)
def test_the_optimum_is_that_with_two_penalties(estimator, target, loss_of):
    optimum, intercept = reference(loss_of)
    settings = {"alpha": ALPHA, "measure": RULE, "fit_intercept": False, "noncrossing": None, "tol": 1e-7}
    model = estimator(with_intercept(PRICE), **settings).fit(X, target)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    found = model.expansion_.right.evaluate(X[:2], RULE.build().points)
    np.testing.assert_allclose(found, np.stack([intercept] * 2), atol=2e-3 * np.ptp(intercept))


def test_without_a_price_it_is_free_and_at_a_high_one_there_is_none():
    settings = {"alpha": ALPHA, "measure": RULE, "noncrossing": None, "tol": 1e-6}
    plain = Decomposable(K_X, K_THETA)
    free = KernelQuantileRegressor(plain, **settings).fit(X, Y)
    none = KernelQuantileRegressor(plain, fit_intercept=False, **settings).fit(X, Y)
    cheap, dear = (
        KernelQuantileRegressor(with_intercept(price), fit_intercept=False, **settings).fit(X, Y)
        for price in (1e-7, 1e4)
    )
    assert cheap.objective_ == pytest.approx(free.objective_, rel=1e-3)
    assert dear.objective_ == pytest.approx(none.objective_, rel=1e-3)
    assert none.objective_ > 1.01 * free.objective_


@pytest.mark.parametrize(
    "settings", [{"noncrossing": "constraint"}, {"noncrossing": "penalty", "fit_intercept": False}]
)
def test_slopes_of_sums_of_kernels(settings):
    settings = settings | {"alpha": ALPHA, "measure": RULE, "tol": 1e-6, "crossing_penalty": 1.0}
    whole = KernelQuantileRegressor(Decomposable(K_X, K_THETA), **settings).fit(X, Y)
    halves = 0.5 * Decomposable(K_X, K_THETA) + 0.5 * Decomposable(K_X, K_THETA)
    assert KernelQuantileRegressor(halves, **settings).fit(X, Y).objective_ == pytest.approx(whole.objective_, rel=3e-6)

    model = KernelQuantileRegressor(with_intercept(PRICE), **settings).fit(X, Y)
    assert model.relative_gap_ <= 1e-6
    theta = np.linspace(*RULE.build().locations[[0, -1]], 300)
    free = KernelQuantileRegressor(with_intercept(PRICE), **(settings | {"noncrossing": None})).fit(X, Y)
    deepest, deepest_free = (np.diff(one.predict_quantile(X, theta), axis=1).min() for one in (model, free))
    assert deepest_free < -1e-4 * np.ptp(Y)
    assert deepest > 0.1 * deepest_free


def test_a_guarantee_of_a_sum_is_refused_in_words():
    with pytest.raises(UnsupportedError, match="proved for Gaussian kernels"):
        KernelQuantileRegressor(with_intercept(PRICE), alpha=ALPHA, noncrossing="guarantee").fit(X, Y)


def test_kernels_without_slopes_say_so():
    bound = CurlFree(Gaussian(1.0)).bind(GaussLegendre(2).build())
    with pytest.raises(UnsupportedError, match="no slopes"):
        bound.slope_sizes()
