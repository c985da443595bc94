"""Identities that every solution must satisfy (spec 7.1): special cases, limits, coverage, envelope gradient."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from cvxpy_primal import LOSSES, Data, factor, make, minimise, pinball, reference

from mercer.losses import (
    CostSensitiveHinge,
    EpsilonInsensitive,
    EpsilonRidge,
    Expectile,
    Huber,
    Pinball,
    Square,
    WeightedHuber,
)
from mercer.solvers import ADMM, LBFGS, ClosedForm, InteriorPoint, ProximalGradient, SemismoothNewton, plan

geometries = pytest.mark.parametrize("geometry", ["norm", "pointwise"])
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])


def fit(loss, data, solver=None):
    problem = data.problem(loss)
    result = (solver or ADMM(1e-10, max_iter=20_000)).solve(problem)
    assert result.relative_gap <= 1e-8, result.message
    return problem, result, problem.predict(result.coef)


@geometries
@intercepts
def test_huber_beyond_every_residual_is_ridge(geometry, intercept):
    data = make(intercept=intercept, weighted=True)
    problem, ridge, H = fit(Square(), data, ClosedForm())
    sizes = problem.measure.norm(ridge.coef) if geometry == "norm" else np.abs(ridge.coef)
    _, result, wide = fit(Huber(1.001 * sizes.max(), geometry), data)
    np.testing.assert_allclose(wide, H, atol=1e-5)
    np.testing.assert_allclose(result.coef, ridge.coef, atol=1e-4)
    _, _, narrow = fit(Huber(0.7 * sizes.max(), geometry), data)
    assert np.abs(narrow - H).max() > 1e-3


@geometries
def test_epsilon_zero_is_ridge_and_large_epsilon_is_nothing(geometry):
    data = make(weighted=True)
    problem, _, H = fit(Square(), data, ClosedForm())
    np.testing.assert_allclose(fit(EpsilonRidge(0.0, geometry), data)[2], H, atol=1e-5)
    sizes = problem.measure.norm(data.Y) if geometry == "norm" else np.abs(data.Y)
    for loss in (EpsilonRidge, EpsilonInsensitive):
        _, result, _ = fit(loss(float(sizes.max()), geometry), data)
        assert result.objective == 0
        assert not result.coef.any()
        _, _, some = fit(loss(0.8 * float(sizes.max()), geometry), data)
        assert np.abs(some).max() > 1e-3


@intercepts
@pytest.mark.parametrize(
    ("loss", "solver"),
    [
        (Square(), ClosedForm()),
        (Huber(0.5), ADMM(1e-6)),
        (Huber(0.5), LBFGS(1e-6)),
        (Huber(0.5, "componentwise"), InteriorPoint(1e-6)),
        (EpsilonInsensitive(0.1), ProximalGradient(1e-4)),
        (Pinball(), SemismoothNewton(1e-6)),
        (Huber(0.5), ADMM(1e-12, max_iter=1)),  # after which the intercept alone may be better
    ],
    ids=repr,
)
def test_results_carry_the_predictions_of_their_arrays(loss, solver, intercept):
    problem = make(intercept=intercept, weighted=True).problem(loss)
    result = plan(solver, problem, solver.tol).solve()
    np.testing.assert_allclose(result.prediction, problem.predict(result.coef), rtol=1e-9, atol=1e-12)
    risk = problem.risk(result.prediction, result.intercept)
    half_norm = problem.alpha / 2 * problem.norm(result.coef) ** 2
    assert result.objective == pytest.approx(risk + half_norm, rel=1e-9)


def test_pointwise_absolute_loss_is_twice_the_median():
    data = make(m=1, seed=4)
    median = Data(**{**data.__dict__, "points": np.array([0.5]), "alpha": data.alpha / 2})
    _, one, H = fit(EpsilonInsensitive(0.0, "pointwise"), data)
    _, two, G = fit(Pinball(), median)
    np.testing.assert_allclose(H, G, atol=1e-5)
    assert one.objective == pytest.approx(2 * two.objective, rel=1e-7)


@pytest.mark.parametrize(
    "solver", [ADMM(1e-9), InteriorPoint(1e-9), SemismoothNewton(1e-9), ProximalGradient(1e-9)], ids=repr
)
@pytest.mark.parametrize("theta", [0.2, 0.5, 0.9])
def test_one_level_is_a_single_quantile(theta, solver):
    """m = 1 against a kernel quantile regression written by hand."""
    data = make(m=1, n=8)
    data = Data(**{**data.__dict__, "points": np.array([theta]), "weights": np.ones(1), "right": np.ones((1, 1))})
    beta = cp.Variable(8)
    h = factor(data.left) @ beta
    value = minimise(pinball(data.Y[:, 0] - h, theta, 1 / 8) + data.alpha / 2 * cp.sum_squares(beta))
    _, result, H = fit(Pinball(), data, solver)
    assert result.objective == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(H[:, 0], h.value, atol=2e-5)


def test_joint_quantile_regression():
    """JQR: levels are summed, (λ_JQR/2)‖h‖², free intercepts; the same as ours with λ_JQR = mλ."""
    n, m, lam = 7, 3, 0.05
    data = make(n=n, m=m, alpha=lam, intercept=True)
    data = Data(**{**data.__dict__, "weights": np.full(m, 1 / m)})
    C, b = cp.Variable((n, m)), cp.Variable((1, m))
    H = data.left @ C @ data.right + np.ones((n, 1)) @ b
    R = data.Y - H
    tasks = sum(pinball(R[:, j], data.points[j], 1.0 / n) for j in range(m))
    penalty = cp.sum_squares(factor(data.left).T @ C @ factor(data.right))
    value = minimise(tasks + m * lam / 2 * penalty)
    _, result, ours = fit(Pinball(), data)
    assert m * result.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(ours + result.intercept, H.value, atol=2e-4)


@pytest.mark.parametrize(
    "solver", [ADMM(1e-9), InteriorPoint(1e-9), SemismoothNewton(1e-9)], ids=lambda s: type(s).__name__
)
@pytest.mark.parametrize("weighted", [False, True])
def test_coverage_with_an_intercept(solver, weighted):
    """#{y < h} ≤ nθ ≤ #{y ≤ h} at each level, in weights."""
    rng = np.random.default_rng(0)
    n, levels = 25, np.array([0.1, 0.37, 0.5, 0.93])
    x, y = rng.uniform(size=n), rng.normal(size=n)
    data = Data(
        np.exp(-5 * (x[:, None] - x) ** 2),
        np.exp(-2 * (levels[:, None] - levels) ** 2),
        np.repeat(y[:, None], 4, 1),
        levels,
        np.full(4, 0.25),
        1e-2,
        rng.uniform(0.5, 2, n) if weighted else None,
        True,
    )
    problem, result, H = fit(Pinball(), data, solver)
    excess, s = data.Y - H - result.intercept, problem.sample_weight
    slack = 1e-3
    assert np.all(s @ (excess < -slack) <= n * levels + 1e-9)
    assert np.all(n * levels <= s @ (excess <= slack) + 1e-9)
    # without an intercept nothing keeps the counts
    plain = Data(**{**data.__dict__, "intercept": False, "Y": data.Y + 5})
    _, result, H = fit(Pinball(), plain, solver)
    assert np.any(slack < plain.Y - H, axis=0).all()


@pytest.mark.parametrize("loss", [Pinball(), Huber(0.3, "pointwise"), EpsilonInsensitive(0.2, "pointwise")], ids=repr)
@intercepts
def test_dual_array_is_a_subgradient(loss, intercept):
    """−α ∈ ∂ℓ: at a bound off the fit, strictly inside only where the residual is at a kink."""
    data = make(loss, intercept=intercept)
    _, result, H = fit(loss, data)
    r, A = data.Y - H - result.intercept, result.coef
    if isinstance(loss, Pinball):
        theta = np.broadcast_to(data.points, r.shape)
        np.testing.assert_allclose(A[r > 1e-3], theta[r > 1e-3], atol=1e-6)
        np.testing.assert_allclose(A[r < -1e-3], theta[r < -1e-3] - 1, atol=1e-6)
        inside = (theta - 1 + 1e-4 < A) & (theta - 1e-4 > A)
        assert inside.any()
        assert np.abs(r[inside]).max() < 1e-3
    elif isinstance(loss, Huber):
        np.testing.assert_allclose(A, np.clip(r, -0.3, 0.3), atol=1e-4)
    else:
        np.testing.assert_allclose(A[np.abs(r) < 0.199], 0, atol=1e-6)
        outside = np.abs(r) > 0.201
        np.testing.assert_allclose(A[outside], np.sign(r[outside]), atol=1e-6)


def test_large_kappa_is_expectile_regression():
    """κ·WeightedHuber with λ, that is WeightedHuber with λ/κ, is expectile regression; IRLS solves the latter."""
    data, kappa = make(weighted=True), 1e4
    small = Data(**{**data.__dict__, "alpha": data.alpha / kappa})
    _, _, H = fit(WeightedHuber(kappa), small)
    _, _, E = fit(Expectile(), data)
    np.testing.assert_allclose(H, E, atol=1e-6)
    n, m = data.Y.shape
    gram, y = np.kron(data.left, data.right), data.Y.ravel()
    w = np.outer(data.sample_weight / data.sample_weight.sum(), data.weights).ravel()
    theta, h = np.tile(data.points, n), np.zeros(n * m)
    for _ in range(100):
        side = w * np.where(y > h, theta, 1 - theta)
        h = gram @ np.linalg.solve(gram + np.diag(data.alpha / side), y)
    np.testing.assert_allclose(E.ravel(), h, atol=1e-6)


def test_costs_in_both_parametrisations():
    """θ' ∈ [−1, 1] with w = |(θ' + 1)/2 − 1{y = −1}| is θ = (θ' + 1)/2."""
    data, _ = reference(CostSensitiveHinge())
    _, result, H = fit(CostSensitiveHinge(), data)
    theta = 2 * data.points - 1
    n = len(data.Y)
    B = cp.Variable(data.Y.shape)
    U = factor(data.left) @ B @ factor(data.right).T
    cost = np.abs((theta + 1) / 2 - (data.Y == -1)) * data.weights / n
    hinge = cp.sum(cp.multiply(cost, cp.pos(1 - cp.multiply(data.Y, U))))
    value = minimise(hinge + data.alpha / 2 * cp.sum_squares(B))
    assert result.objective == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(H, U.value, atol=1e-4)


@pytest.mark.parametrize(
    ("side", "loss"), [*(("left", loss) for loss in LOSSES), ("right", Pinball()), ("right", Huber(0.3))], ids=repr
)
def test_envelope_gradient(side, loss):
    """d(optimal value)/d𝐊 = −(λ/2) c cᵀ: through K_X it is −(λ/2) C K_Θ Cᵀ, through K_Θ −(λ/2) Cᵀ K_X C."""
    rng = np.random.default_rng(1)
    data = make(loss, intercept=True, weighted=True, n=5)
    problem, result, _ = fit(loss, data)
    C = problem.primal_coef(result.coef)
    gradient = C @ data.right @ C.T if side == "left" else C.T @ data.left @ C
    matrix = getattr(data, side)
    direction = rng.normal(size=matrix.shape)
    direction = direction @ direction.T / len(matrix)
    step = 1e-3
    values = [
        fit(loss, Data(**{**data.__dict__, side: matrix + sign * step * direction + step * direction}))[1].objective
        for sign in (-1, 0, 1)
    ]
    slope = (4 * values[1] - values[2] - 3 * values[0]) / (2 * step)  # forward, second order
    expected = -data.alpha / 2 * float(np.sum(gradient * direction))
    assert slope == pytest.approx(expected, rel=2e-2, abs=1e-6)
    assert abs(expected) > 1e-5


def test_scale_of_y_does_not_change_the_iteration():
    data = make(Pinball(), intercept=True)
    larger = Data(**{**data.__dict__, "Y": 1e4 * data.Y, "alpha": data.alpha / 1e4})
    one, other = (ADMM(1e-6).solve(each.problem(Pinball())) for each in (data, larger))
    assert one.n_iter == other.n_iter
    np.testing.assert_allclose(other.coef, one.coef, atol=1e-6)
