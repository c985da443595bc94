"""The conversions of docs/migrating.md: problems as operalib and torch_itl pose them, solved independently."""

import numpy as np
import pytest

from mercer import FunctionalRegressor, KernelQuantileRegressor, VectorValuedRegressor
from mercer.kernels import Constant, Gaussian, Identity
from mercer.losses import Huber
from mercer.measures import Points

PROBS = [0.2, 0.5, 0.8]


def pinball_optimum(X, y, gram, price, intercept):
    """The least Σ_ij ℓ_j(y_i − h_ij − b_j)·price + ½‖h‖² over h = 𝐊c and b, and h + b."""
    cp = pytest.importorskip("cvxpy")
    n, m = len(y), len(PROBS)
    values, vectors = np.linalg.eigh(gram)
    root = vectors * np.sqrt(np.maximum(values, 0))
    c, b = cp.Variable(n * m), cp.Variable(m)
    h = cp.reshape(root @ c, (n, m), order="C") + np.ones((n, 1)) @ cp.reshape(b, (1, m), order="C")
    r = np.repeat(y[:, None], m, axis=1) - h
    loss = sum(cp.sum(cp.maximum(p * r[:, j], (p - 1) * r[:, j])) for j, p in enumerate(PROBS))
    problem = cp.Problem(cp.Minimize(price * loss + cp.sum_squares(c) / 2), [] if intercept else [b == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return problem.value, h.value


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(15, 1))
    return X, np.sin(5 * X[:, 0]) + 0.3 * rng.normal(size=15)


@pytest.mark.parametrize("gamma_quantile", [0.0, 2.0, np.inf])
def test_joint_quantiles_of_operalib(rows, gamma_quantile):
    """C = 1/lbda times the sum over rows and levels, beside ½‖h‖², is alpha = lbda/(nm)."""
    X, y = rows
    lbda, gamma, levels = 0.5, 3.0, np.array(PROBS)[:, None]
    output_kernel = {0.0: Constant(1.0), 2.0: Gaussian(2.0), np.inf: Identity()}[gamma_quantile]
    model = KernelQuantileRegressor(
        Gaussian(gamma),
        output_kernel=output_kernel,
        measure=Points(PROBS),
        alpha=lbda / (len(y) * len(PROBS)),
        noncrossing=None,
        tol=1e-8,
    ).fit(X, y)
    K = np.exp(-gamma * (X - X.T) ** 2)
    with np.errstate(invalid="ignore"):
        A = np.eye(3) if gamma_quantile == np.inf else np.exp(-gamma_quantile * (levels - levels.T) ** 2)
    least, values = pinball_optimum(X, y, np.kron(K, A), 1 / lbda, intercept=True)
    assert model.objective_ * len(y) * len(PROBS) / lbda == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(model.predict_quantile(X, PROBS), values, atol=2e-3)


def test_quantiles_of_torch_itl(rows):
    """Its loss is a mean over rows and levels beside (lbda/2)‖h‖², without intercept: alpha = lbda."""
    X, y = rows
    lbda = 1e-2
    model = KernelQuantileRegressor(
        Gaussian(3.0),
        output_kernel=Gaussian(2.0),
        measure=Points(PROBS),
        alpha=lbda,
        fit_intercept=False,
        noncrossing=None,
        tol=1e-8,
    ).fit(X, y)
    levels = np.array(PROBS)[:, None]
    gram = np.kron(np.exp(-3.0 * (X - X.T) ** 2), np.exp(-2.0 * (levels - levels.T) ** 2))
    least, values = pinball_optimum(X, y, gram, 1 / (lbda * 45), intercept=False)
    assert model.objective_ / lbda == pytest.approx(least, rel=1e-6)
    np.testing.assert_allclose(model.predict_quantile(X, PROBS), values, atol=2e-3)


@pytest.fixture
def curves():
    rng = np.random.default_rng(1)
    X, grid = rng.uniform(size=(12, 1)), np.linspace(0, 1, 6)
    Y = np.sin(4 * (X + grid)) + 0.2 * rng.normal(size=(12, 6))
    return X, grid, Y, np.exp(-2.0 * (X - X.T) ** 2), np.exp(-3.0 * (grid[:, None] - grid) ** 2)


def test_curves_of_torch_itl(curves):
    """A + G_x A G_t/(lbda n m) = Y and predictions G_x A G_t/(lbda n m): alpha = lbda, weights 1/m."""
    X, grid, Y, G_x, G_t = curves
    lbda = 1e-2
    scale = lbda * Y.size
    A = np.linalg.solve(np.eye(Y.size) + np.kron(G_x, G_t) / scale, Y.ravel()).reshape(Y.shape)
    model = FunctionalRegressor(
        Gaussian(2.0), output_kernel=Gaussian(3.0), alpha=lbda, grid=Points(grid), fit_intercept=False
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), G_x @ A @ G_t / scale, atol=1e-9)


def test_huber_of_torch_itl(curves):
    """Its dual rows are projected on Euclidean balls of radius κ: ours have radius κ/√m in L²(μ)."""
    cp = pytest.importorskip("cvxpy")
    X, grid, Y, G_x, G_t = curves
    lbda, kappa = 1e-3, 0.45
    A = cp.Variable(Y.shape)
    roots = [np.linalg.cholesky(G + 1e-12 * np.eye(len(G))) for G in (G_x, G_t)]
    quadratic = cp.sum_squares(roots[0].T @ A @ roots[1]) / (2 * lbda * Y.size)
    dual = cp.sum_squares(A) / 2 - cp.sum(cp.multiply(A, Y)) + quadratic
    cp.Problem(cp.Minimize(dual), [cp.norm(A, axis=1) <= kappa]).solve(solver=cp.CLARABEL)
    model = FunctionalRegressor(
        Gaussian(2.0),
        output_kernel=Gaussian(3.0),
        alpha=lbda,
        grid=Points(grid),
        fit_intercept=False,
        loss=Huber(kappa / np.sqrt(6), "norm"),
        tol=1e-8,
    ).fit(X, Y)
    assert 0 < len(model.saturated_) < 12
    np.testing.assert_allclose(model.predict(X), G_x @ A.value @ G_t / (lbda * Y.size), atol=1e-4)


def test_ridge_of_operalib():
    """½ Σ_i ‖y_i − h(x_i)‖² + (lbda/2)‖h‖² is alpha = lbda/n."""
    rng = np.random.default_rng(2)
    X, Y, A = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), np.array([[1.0, 0.4], [0.4, 1.0]])
    model = VectorValuedRegressor(Gaussian(0.5), output_matrix=A, alpha=0.1 / 20, fit_intercept=False).fit(X, Y)
    K = np.kron(np.exp(-0.5 * np.sum((X[:, None] - X) ** 2, axis=2)), A)
    theirs = (K @ np.linalg.solve(K + 0.1 * np.eye(40), Y.ravel())).reshape(20, 2)
    np.testing.assert_allclose(model.predict(X), theirs, atol=1e-10)
