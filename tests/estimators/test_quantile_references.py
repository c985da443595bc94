"""The whole estimator against programs that share no formula with it, and against known quantiles."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine, sine_quantiles
from mercer.kernels import Gaussian, Linear, Matern
from mercer.losses import Expectile
from mercer.measures import Points

cp = pytest.importorskip("cvxpy")


@pytest.mark.parametrize("level", [0.1, 0.5, 0.85])
def test_one_level_and_a_linear_kernel_are_linear_quantile_regression(level):
    """As λ → 0; n·θ is no integer, so that the solution is unique."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(43, 2))
    y = 1 + X @ [2.0, -1.0] + (1 + np.abs(X[:, 0])) * rng.normal(size=43)
    new = rng.normal(size=(9, 2))
    reference = QuantileRegressor(quantile=level, alpha=0, solver="highs").fit(X, y)
    model = KernelQuantileRegressor(Linear(), alpha=1e-6, measure=Points([level]), tol=1e-7).fit(X, y)
    np.testing.assert_allclose(model.predict_quantile(new, level)[:, 0], reference.predict(new), atol=2e-3)
    weight = rng.integers(1, 4, 43)
    reference.fit(X, y, sample_weight=weight)
    model.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_quantile(new, level)[:, 0], reference.predict(new), atol=2e-3)


def cvxpy_model(K, T, y, theta, w, s, alpha, intercept, loss):
    """min over c and b of the documented objective, in the coefficients of the docstring."""
    n, m = len(y), len(theta)
    left, right = np.linalg.cholesky(K + 1e-12 * np.eye(n)), np.linalg.cholesky(T + 1e-12 * np.eye(m))
    B, b = cp.Variable((n, m)), cp.Variable(m)
    H = left @ B @ right.T
    objective = alpha / 2 * cp.sum_squares(B)
    for j in range(m):
        r = y - H[:, j] - b[j]
        if loss == "pinball":
            each = cp.maximum(theta[j] * r, (theta[j] - 1) * r)
        else:
            each = (theta[j] * cp.square(cp.pos(r)) + (1 - theta[j]) * cp.square(cp.neg(r))) / 2
        objective += w[j] * (s / s.sum()) @ each
    problem = cp.Problem(cp.Minimize(objective), [] if intercept else [b == 0])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    C = np.linalg.solve(left.T, B.value) @ np.linalg.inv(right)
    return problem.value, C, b.value


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", ["pinball", "expectile"])
def test_the_joint_model_is_that_of_cvxpy(intercept, weighted, loss):
    rng = np.random.default_rng(2)
    n, theta, w = 13, np.array([0.15, 0.4, 0.8]), np.array([0.5, 0.2, 0.7])
    X, new = rng.uniform(size=(n, 2)), rng.uniform(size=(6, 2))
    y = 1 + np.sin(4 * X[:, 0]) + rng.normal(size=n)
    s = rng.uniform(0.5, 2.0, n) if weighted else np.ones(n)
    k_X, k_T = Matern(0.5, 0.7), Gaussian(4.0)
    value, C, b = cvxpy_model(k_X(X), k_T(theta[:, None]), y, theta, w, s, 0.05, intercept, loss)
    model = KernelQuantileRegressor(
        k_X,
        output_kernel=k_T,
        alpha=0.05,
        measure=Points(theta, w),
        loss=loss if loss == "pinball" else Expectile(),
        fit_intercept=intercept,
        noncrossing=None,
        tol=1e-9,
    ).fit(X, y, s if weighted else None)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert model.objective_ - model.dual_gap_ <= value * (1 + 1e-9)
    levels = np.array([0.05, 0.15, 0.3, 0.4, 0.6, 0.8, 0.9])
    inside = np.clip(levels, 0.15, 0.8)
    h = k_X(new, X) @ C @ k_T(theta[:, None], inside[:, None])
    expected = h + (np.interp(inside, theta, b) if intercept else 0)
    # an unpenalised b is unique here, since n·θ (with weights: Σ of some of them) meets no level exactly
    np.testing.assert_allclose(model.predict_quantile(new, levels), expected, atol=2e-4)


def test_true_quantiles_are_found():
    X, y = make_sine(2000, random_state=0)
    model = KernelQuantileRegressor().fit(X, y)
    assert model.relative_gap_ <= 1e-3
    new, target = make_sine(4000, random_state=1)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    error = np.abs(model.predict_quantile(new, levels) - sine_quantiles(new, levels))
    # the noise has standard deviations from 0.2 to 1.2
    assert np.all(error.mean(axis=0) < [0.13, 0.08, 0.08, 0.08, 0.13])
    assert np.quantile(error, 0.99) < 0.35
    interval = model.predict_interval(new, 0.9)
    assert 0.87 <= np.mean((interval[:, 0] <= target) & (target <= interval[:, 1])) <= 0.93
    best = np.abs(target - np.median(target)).mean()
    assert np.abs(target - model.predict(new)).mean() < 0.9 * best
    null = np.abs(np.quantile(y, levels) - sine_quantiles(new, levels)).mean(axis=0)
    assert np.all(error.mean(axis=0) < 0.3 * null)
