"""The classifier against programs that share no formula with it, and against printed numbers."""

import cvxpy as cp
import cvxpy_primal as primal
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from mercer import CostSensitiveClassifier
from mercer.kernels import Constant, Gaussian
from mercer.losses import CostSensitiveHinge, MoreauHinge, WeightedMoreauHinge
from mercer.measures import Points

RNG = np.random.default_rng(3)
X, Y = make_moons(60, noise=0.4, random_state=0)
NEW = RNG.normal(size=(20, 2))


def test_the_tiny_problem_of_the_specification():
    """Four points, three costs, no intercept: values solved for by hand-written programs, to six digits."""
    x, theta = np.array([[0.0], [0.3], [0.7], [1.0]]), np.array([0.1, 0.5, 0.9])
    model = CostSensitiveClassifier(
        Gaussian(2.0),
        output_kernel=Gaussian(3.0),
        alpha=0.1,
        measure=Points(theta, [0.3, 0.4, 0.3]),
        fit_intercept=False,
        tol=1e-10,
    ).fit(x, [1, -1, 1, 1])
    assert model.objective_ == pytest.approx(0.30992739, abs=2e-8)
    expected = [
        [-0.148282, 0.472133, 0.822781],
        [-0.159527, 0.534107, 0.881674],
        [0.181645, 0.859350, 1.0],
        [0.417237, 1.0, 1.0],
    ]
    np.testing.assert_allclose(model.predict_at(x, theta), expected, atol=2e-5)
    np.testing.assert_array_equal(model.predict(x, cost=0.1), [-1, -1, 1, 1])
    np.testing.assert_array_equal(model.predict(x), [1, 1, 1, 1])
    np.testing.assert_array_equal(model.classes_, [-1, 1])


@pytest.mark.parametrize(("cost", "mass", "weighted"), [(0.2, 1.0, False), (0.5, 1.0, True), (0.85, 2.5, True)])
def test_one_cost_is_a_support_vector_machine(cost, mass, weighted):
    """SVC minimises ½‖h‖² + C Σ_i s_i c_i (…)₊, this (w/Σs) Σ_i s_i c_i (…)₊ + (λ/2)‖h‖²: C = w/(λ·Σs)."""
    s = RNG.uniform(0.3, 2.0, len(Y)) if weighted else np.ones(len(Y))
    alpha = 0.02
    reference = SVC(gamma=0.7, C=mass / (alpha * s.sum()), class_weight={0: 1 - cost, 1: cost}, tol=1e-9)
    reference.fit(X, Y, s)
    model = CostSensitiveClassifier(
        Gaussian(0.7), output_kernel=Constant(), alpha=alpha, measure=Points([cost], [mass]), tol=1e-9
    ).fit(X, Y, s if weighted else None)
    # a gap of ε moves h by sqrt(2ε/λ) at most
    np.testing.assert_allclose(model.decision_function(NEW, cost), reference.decision_function(NEW), atol=5e-4)
    np.testing.assert_array_equal(model.predict(X, cost), reference.predict(X))
    assert model.score(X, Y) == pytest.approx(np.mean(reference.predict(X) == Y))


@pytest.mark.parametrize("loss", [CostSensitiveHinge(), MoreauHinge(0.4), WeightedMoreauHinge(0.4)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_the_joint_model_is_that_of_cvxpy(loss, intercept, weighted):
    rng = np.random.default_rng(1)
    n, theta, w = 14, np.array([0.15, 0.4, 0.8]), np.array([0.5, 0.2, 0.7])
    x, y = make_moons(n, noise=0.5, random_state=2)
    s = rng.uniform(0.5, 2.0, n) if weighted else None
    k_X, k_T = Gaussian(0.9), Gaussian(4.0)
    signs = np.broadcast_to(2.0 * y[:, None] - 1, (n, 3))
    data = primal.Data(k_X(x), k_T(theta[:, None]), signs, theta, w, 0.05, s, intercept)
    value, H, b = primal.solve(loss, data)
    model = CostSensitiveClassifier(
        k_X,
        output_kernel=k_T,
        alpha=0.05,
        measure=Points(theta, w),
        loss=loss,
        fit_intercept=intercept,
        tol=1e-9,
        max_iter=200_000,
    ).fit(x, y, s)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    assert model.objective_ - model.dual_gap_ <= value * (1 + 1e-8)
    np.testing.assert_allclose(model.predict_at(x, theta), H + b, atol=3e-4)
    # between the nodes: h by its kernel, b by interpolation; beyond them: constant
    costs = np.array([0.05, 0.3, 0.6, 0.95])
    inside = np.clip(costs, 0.15, 0.8)
    C = np.linalg.solve(k_X(x), H) @ np.linalg.inv(k_T(theta[:, None]))
    expected = k_X(NEW, x) @ C @ k_T(theta[:, None], inside[:, None]) + np.interp(inside, theta, b)
    np.testing.assert_allclose(model.predict_at(NEW, costs), expected, atol=2e-3)


def test_costs_from_minus_one_to_one_give_the_same_model():
    """θ = (θ' + 1)/2, and a Gaussian kernel on θ' has a quarter of the γ."""
    prime, w = np.array([-0.6, 0.1, 0.7]), np.array([0.3, 0.3, 0.4])
    x, y = X[:20], Y[:20]
    signs = 2.0 * y - 1
    B, b = cp.Variable((20, 3)), cp.Variable(3)
    K, T = Gaussian(0.7)(x), Gaussian(1.25)(prime[:, None])
    H = primal.factor(K) @ B @ primal.factor(T).T
    objective = 0.05 / 2 * cp.sum_squares(B)
    for j in range(3):
        weight = np.abs((prime[j] + 1) / 2 - (signs < 0))
        objective += w[j] / 20 * weight @ cp.pos(1 - cp.multiply(signs, H[:, j] + b[j]))
    value = primal.minimise(objective)
    model = CostSensitiveClassifier(
        Gaussian(0.7), output_kernel=Gaussian(5.0), alpha=0.05, measure=Points((prime + 1) / 2, w), tol=1e-9
    ).fit(x, y)
    assert model.objective_ == pytest.approx(value, rel=1e-7)
    np.testing.assert_allclose(model.predict_at(x, (prime + 1) / 2), H.value + b.value, atol=1e-3)
