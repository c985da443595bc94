"""VectorValuedRegressor against cvxpy, scikit-learn and definitions."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_ridge import KernelRidge

from mercer import FunctionalRegressor, VectorValuedRegressor
from mercer.kernels import FeatureKernel, Gaussian, Identity, Linear
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Square
from mercer.operator_valued import Decomposable
from tests.cvxpy_primal import Data, factor, minimise, total_loss
from tests.estimators.turning_kernel import Turning

GAMMA = np.array([[1.0, 0.6], [0.6, 0.8]])
SETTINGS = [(False, False, False), (True, True, False), (True, False, True), (True, True, True)]
LOSSES = [
    Square(),
    *(loss(0.3, g) for loss in (Huber, EpsilonRidge, EpsilonInsensitive) for g in ("norm", "componentwise")),
]


def rows(missing=False, n=10, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 1))
    Y = np.hstack([np.sin(3 * X), X**2]) + 0.4 * rng.normal(size=(n, 2))
    if missing:
        Y[0, 1] = Y[3, 0] = Y[4, 1] = np.nan
    return X, Y, rng.uniform(0.5, 3.0, n)


def primal(loss, G, Y, alpha, weight, intercept):
    """Minimise over h = Fβ at the data, FFᵀ the (np)² Gram matrix: the optimal value and predictions."""
    n, p = Y.shape
    data = Data(np.eye(n), np.eye(p), Y, np.arange(p), np.ones(p), alpha, weight, intercept)
    beta, b = cp.Variable(n * p), cp.Variable(p)
    U = cp.reshape(factor(G) @ beta, (n, p), order="C")
    if intercept:
        U = U + np.ones((n, 1)) @ cp.reshape(b, (1, p), order="C")
    value = minimise(total_loss(loss, data, U) + alpha / 2 * cp.sum_squares(beta))
    return value, U.value


@pytest.mark.parametrize(("intercept", "weighted", "missing"), SETTINGS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("whole", [False, True])
def test_cvxpy(whole, loss, intercept, weighted, missing):
    X, Y, s = rows(missing)
    n, weight = len(X), s if weighted else None
    K = Turning(2.0) if whole else Gaussian(2.0)
    blocks = K.blocks(X, X) if whole else K(X)[:, :, None, None] * GAMMA
    G = blocks.transpose(0, 2, 1, 3).reshape(2 * n, 2 * n)
    model = VectorValuedRegressor(
        K, output_matrix=None if whole else GAMMA, alpha=0.05, loss=loss, fit_intercept=intercept, tol=1e-9
    ).fit(X, Y, weight)
    value, H = primal(loss, G, Y, 0.05, weight, intercept)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.relative_gap_ <= 1e-9
    np.testing.assert_allclose(model.predict(X), H, atol=2e-3 if loss.dual_bound < np.inf else 1e-4)


def test_kernel_ridge_and_gaussian_process():
    X, Y, s = rows(n=30)
    T, shift = np.linspace(-1.2, 1.2, 9)[:, None], 1e-2 * 30
    model = VectorValuedRegressor(Gaussian(0.5), alpha=1e-2, fit_intercept=False).fit(X, Y)
    np.testing.assert_allclose(model.predict(T), KernelRidge(shift, kernel="rbf", gamma=0.5).fit(X, Y).predict(T))
    variance = model.signal_variance_
    assert model.noise_variance_ == pytest.approx(variance * shift)
    process = GaussianProcessRegressor(ConstantKernel(variance) * RBF(1.0), alpha=variance * shift, optimizer=None)
    mean, std = process.fit(X, Y).predict(T, return_std=True)
    ours, our_std = model.predict(T, return_std=True)
    np.testing.assert_allclose(ours, mean, atol=1e-10)
    np.testing.assert_allclose(our_std, std, atol=1e-10)
    # σ² is that of greatest evidence
    evidence = [
        GaussianProcessRegressor(ConstantKernel(v) * RBF(1.0), alpha=v * shift, optimizer=None)
        .fit(X, Y)
        .log_marginal_likelihood_value_
        for v in variance * np.array([0.98, 1.0, 1.02])
    ]
    assert evidence[1] == max(evidence)
    weighted = VectorValuedRegressor(Gaussian(0.5), alpha=1e-2, fit_intercept=False).fit(X, Y, s)
    noise = weighted.signal_variance_ * shift / (s / s.mean())
    process = GaussianProcessRegressor(
        ConstantKernel(weighted.signal_variance_) * RBF(1.0), alpha=noise, optimizer=None
    )
    std = process.fit(X, Y).predict(T, return_std=True)[1]
    np.testing.assert_allclose(weighted.predict(T, return_std=True)[1], std, atol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Turning(2.0)])
@pytest.mark.parametrize("missing", [False, True])
def test_posterior_is_that_of_a_joint_normal_distribution(kernel, missing, intercept):
    X, Y, s = rows(missing)
    T, metric = np.array([[0.3], [1.4]]), np.array([0.5, 2.0])
    whole = isinstance(kernel, Turning)
    model = VectorValuedRegressor(
        kernel, output_matrix=None if whole else GAMMA, alpha=0.05, metric=metric, fit_intercept=intercept
    ).fit(X, Y, s)
    mean, cov = model.predict(T, return_cov=True)
    points = np.vstack([X, T])
    blocks = kernel.blocks(points, points) if whole else kernel(points)[:, :, None, None] * GAMMA
    prior = blocks.transpose(0, 2, 1, 3).reshape(2 * len(points), -1)
    if intercept:  # a flat prior, nearly
        prior = prior + 1e4 * np.kron(np.ones((len(points), len(points))), np.eye(2))
    prior = model.signal_variance_ * prior
    noise = np.kron(model.noise_variance_ / (s / s.mean()), metric)
    seen = np.flatnonzero(~np.isnan(Y.ravel()))
    new = 2 * len(X) + np.arange(4)
    inner = np.linalg.inv(prior[np.ix_(seen, seen)] + np.diag(noise[seen]))
    cross = prior[np.ix_(new, seen)]
    joint = prior[np.ix_(new, new)] - cross @ inner @ cross.T
    np.testing.assert_allclose(mean.ravel(), cross @ inner @ Y.ravel()[seen], atol=1e-3)
    for k in range(2):
        np.testing.assert_allclose(cov[k], joint[2 * k : 2 * k + 2, 2 * k : 2 * k + 2], rtol=1e-3, atol=2e-5)
    std = model.predict(T, return_std=True)[1]
    np.testing.assert_allclose(std, np.sqrt(np.diagonal(cov, axis1=1, axis2=2)))


def test_output_metric_is_that_of_the_normal_equations():
    """Spec 3.3 D: f(x) = QΦ(x)ᵀθ, ((1/n)Σ ΦQΦᵀ + λI)θ = (1/n)Σ Φy, for ½(f − y)ᵀQ⁻¹(f − y)."""
    X, Y, _ = rows(n=12)
    rng = np.random.default_rng(1)
    Q = np.array([[1.0, 0.4], [0.4, 0.7]])
    B = rng.normal(size=(2, 2))  # Φ(x) = x ⊗ Bᵀ, (r, p), so that ΦᵀΦ = xx'·BBᵀ
    Phi = np.einsum("n,rp->nrp", X[:, 0], B.T)
    left = np.einsum("nra,ab,nsb->rs", Phi, Q, Phi) / 12 + 0.03 * np.eye(2)
    theta = np.linalg.solve(left, np.einsum("nra,na->r", Phi, Y) / 12)
    f = np.einsum("ab,nrb,r->na", Q, Phi, theta)
    # in coordinates the kernel of these functions is QΦᵀΦQ
    model = VectorValuedRegressor(
        Linear(), output_matrix=Q @ B @ B.T @ Q, metric=Q, alpha=0.03, fit_intercept=False
    ).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), f, atol=1e-10)
    # no matrix is the identity of the outputs as a space with this metric: the kernel k·Q
    plain = VectorValuedRegressor(Gaussian(1.0), metric=Q, alpha=0.03).fit(X, Y)
    np.testing.assert_allclose(plain.output_matrix_, Q)
    given = VectorValuedRegressor(Gaussian(1.0), output_matrix=Q, metric=Q, alpha=0.03).fit(X, Y)
    np.testing.assert_allclose(plain.predict(X), given.predict(X), atol=1e-10)


@pytest.mark.parametrize("alpha", [1e-2, 1e-5])
def test_primal_is_dual(alpha):
    """Spec 3.3: (1/n ΣΦΦᵀ + λI)θ = 1/n ΣΦy for features φ(x) ⊗ Bᵀ is (K + λnI)u = y for φ(x)·φ(z)BBᵀ."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 1))
    Y = np.hstack([np.sin(10 * X), 2 * X**2]) + 0.5 * rng.normal(size=(50, 2))
    omega, B = rng.normal(size=(1, 40)) / 0.3, rng.normal(size=(2, 2))

    def features(Z):
        return np.hstack([np.cos(Z @ omega), np.sin(Z @ omega)]) / np.sqrt(40)

    Phi = np.einsum("nr,pq->nrqp", features(X), B).reshape(50, -1, 2)  # f = Φᵀθ
    left = np.einsum("nrp,nsp->rs", Phi, Phi) / 50 + alpha * np.eye(160)
    theta = np.linalg.solve(left, np.einsum("nrp,np->r", Phi, Y) / 50)
    T = np.linspace(-1, 1, 200)[:, None]
    expected = np.einsum("nr,pq,rq->np", features(T), B, theta.reshape(80, 2))
    settings = {"output_matrix": B @ B.T, "alpha": alpha, "fit_intercept": False, "tol": 1e-9}
    model = VectorValuedRegressor(FeatureKernel(features), **settings).fit(X, Y)
    np.testing.assert_allclose(model.predict(T), expected, atol=1e-6)
    rows = VectorValuedRegressor(lambda P, Q: features(P) @ features(Q).T, **settings).fit(X, Y)
    np.testing.assert_allclose(rows.predict(T), expected, atol=1e-6)


def test_units_do_not_matter_with_the_metric_of_variances():
    X, Y, _ = rows(n=40)
    units = np.array([1e3, 1e-2])
    one, other = (VectorValuedRegressor(metric="variance").fit(X, Y * u).predict(X) / u for u in (1.0, units))
    np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)


def test_special_cases_of_the_kernel():
    X, Y, _ = rows(n=20)
    ours = VectorValuedRegressor(Gaussian(1.0), output_matrix=GAMMA, alpha=0.01).fit(X, Y).predict(X)
    whole = VectorValuedRegressor(Decomposable(Gaussian(1.0), Identity(), GAMMA), alpha=0.01).fit(X, Y)
    np.testing.assert_allclose(whole.predict(X), ours)
    np.testing.assert_allclose(whole.output_matrix_, GAMMA)
    near = VectorValuedRegressor(Decomposable(Gaussian(1.0), Gaussian(0.5)), alpha=0.01).fit(X, Y)
    np.testing.assert_allclose(near.output_matrix_, Gaussian(0.5)(np.array([[0.0], [1.0]])))
    curves = FunctionalRegressor(Gaussian(1.0), alpha=0.01).fit(X, Y).predict(X)
    np.testing.assert_allclose(VectorValuedRegressor(Gaussian(1.0), alpha=0.01).fit(X, Y).predict(X), curves)
    gram = VectorValuedRegressor("precomputed", alpha=0.01).fit(Gaussian(1.0)(X), Y).predict(Gaussian(1.0)(X))
    np.testing.assert_allclose(gram, curves)


def test_one_task_a_row():
    """Spec 3.5: a row of one task is a row of which one output was observed."""
    rng = np.random.default_rng(0)
    X, task = rng.uniform(-1, 1, (40, 1)), rng.integers(0, 2, 40)
    y = np.sin(3 * X[:, 0]) + task + 0.1 * rng.normal(size=40)
    Y = np.where(np.arange(2) == task[:, None], y[:, None], np.nan)
    model = VectorValuedRegressor(Gaussian(2.0), output_matrix=GAMMA, alpha=0.01, fit_intercept=False, tol=1e-10)
    K = Gaussian(2.0)(X) * GAMMA[np.ix_(task, task)]
    expected = K @ np.linalg.solve(K + 0.4 * np.eye(40), y)
    np.testing.assert_allclose(model.fit(X, Y).predict(X)[np.arange(40), task], expected, atol=1e-5)
    assert VectorValuedRegressor(output_matrix="learned").fit(X, Y).score(X, Y) > 0.9


def test_weights_are_repetitions():
    X, Y, _ = rows(True)
    counts = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1])
    one = VectorValuedRegressor(Turning(), alpha=0.02, loss=Huber(0.3)).set_params(tol=1e-9)
    weighted = one.fit(X, Y, counts).predict(X)
    again = one.fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0)).predict(X)
    np.testing.assert_allclose(weighted, again, atol=1e-5)
