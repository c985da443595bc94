"""Special cases that scikit-learn solves too."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import QuantileRegressor
from sklearn.svm import SVC, SVR

from mercer.linalg import Dense, Kronecker
from mercer.losses import CostSensitiveHinge, EpsilonInsensitive, Pinball, Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, ClosedForm, InteriorPoint, ProximalGradient


def one_node(K, y, loss, alpha, theta=0.5, sample_weight=None, intercept=True):
    gram = Kronecker(Dense(K), Dense(np.ones((1, 1))))
    measure = Measure(np.array([theta]), np.ones(1))
    return DualProblem(gram, loss, y[:, None], measure, alpha, sample_weight, intercept)


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(30, 2))
    y = np.sin(5 * x[:, 0]) + 0.3 * rng.normal(size=30)
    K = np.exp(-3 * ((x[:, None] - x[None]) ** 2).sum(-1))
    return x, y, K, rng.uniform(0.5, 2.0, 30)


@pytest.mark.parametrize("weighted", [False, True])
def test_kernel_ridge(sample, weighted):
    """½ and 1/n: their alpha is λn (of Σs with weights)."""
    _, y, K, s = sample
    s = s if weighted else np.ones(30)
    problem = one_node(K, y, Square(), 0.02, sample_weight=s, intercept=False)
    coef = problem.primal_coef(ClosedForm().solve(problem).coef)
    theirs = KernelRidge(alpha=0.02 * s.sum(), kernel="precomputed").fit(K, y, sample_weight=s)
    np.testing.assert_allclose(coef[:, 0], theirs.dual_coef_, atol=1e-9)


@pytest.mark.parametrize(
    ("solver", "geometry"),
    [(ADMM(1e-9), "norm"), (ADMM(1e-9), "pointwise"), (ProximalGradient(1e-8), "pointwise")],
    ids=["ADMM-norm", "ADMM-pointwise", "ProximalGradient-pointwise"],
)
def test_support_vector_regression(sample, solver, geometry):
    """C = 1/(λn); with one node both geometries are the same."""
    _, y, K, _ = sample
    alpha = 0.01
    problem = one_node(K, y, EpsilonInsensitive(0.2, geometry), alpha)
    result = solver.solve(problem)
    theirs = SVR(kernel="precomputed", C=1 / (alpha * 30), epsilon=0.2, tol=1e-10).fit(K, y)
    np.testing.assert_allclose(problem.predict(result.coef)[:, 0] + result.intercept, theirs.predict(K), atol=2e-4)


@pytest.mark.parametrize("theta", [0.25, 0.5, 0.8])
def test_quantile_regressor(sample, theta):
    """Linear features and almost no penalty: linear programming."""
    x, y, _, _ = sample
    x = x - x.mean(axis=0)
    problem = one_node(x @ x.T, y, Pinball(), 1e-7, theta)
    result = InteriorPoint(1e-7).solve(problem)
    theirs = QuantileRegressor(quantile=theta, alpha=0.0).fit(x, y)
    r = y - theirs.predict(x)
    assert result.objective == pytest.approx(np.mean(np.maximum(theta * r, (theta - 1) * r)), rel=1e-4)
    assert (problem.primal_coef(result.coef)[:, 0] @ x) == pytest.approx(theirs.coef_, abs=1e-2)


@pytest.mark.parametrize("theta", [0.3, 0.5])
@pytest.mark.parametrize("solver", [ADMM(1e-9, max_iter=20000), InteriorPoint(1e-9)], ids=lambda s: type(s).__name__)
def test_support_vector_classification(sample, theta, solver):
    """C = 1/(λn), times θ for positives and 1 − θ for negatives."""
    _, y, K, _ = sample
    labels, alpha = np.where(y > 0.3, 1.0, -1.0), 0.01
    problem = one_node(K, labels, CostSensitiveHinge(), alpha, theta)
    result = solver.solve(problem)
    theirs = SVC(kernel="precomputed", C=1 / (alpha * 30), class_weight={1: theta, -1: 1 - theta}, tol=1e-10)
    theirs.fit(K, labels)
    decision = problem.predict(result.coef)[:, 0] + result.intercept
    np.testing.assert_allclose(decision, theirs.decision_function(K), atol=1e-3)
