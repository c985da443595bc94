"""Every solver × loss × geometry × intercept × weights × mask against cvxpy on the primal, and each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from cvxpy_primal import LOSSES, Data, make, minimise, reference, solve, total_loss

import mercer.losses as losses
from mercer.exceptions import UnsupportedError
from mercer.losses import Expectile, Loss, Pinball
from mercer.solvers import ADMM, LBFGS, ClosedForm, InteriorPoint, ProximalGradient, SemismoothNewton

SOLVERS = [
    ClosedForm(),
    ProximalGradient(1e-7),
    ADMM(1e-8),
    InteriorPoint(1e-8),
    SemismoothNewton(1e-8),
    LBFGS(1e-8),
]


def accepts(solver, problem):
    try:
        solver.check(problem)
    except UnsupportedError:
        return False
    return True


PAIRS = [
    pytest.param(solver, loss, id=f"{type(solver).__name__}-{loss!r}")
    for loss in LOSSES
    for solver in SOLVERS
    if accepts(solver, make(loss).problem(loss))
]


def distance(data, gap):
    """What a gap allows a prediction at the data to be off: ‖h − ĥ‖² ≤ 2 gap/λ, k(x, x) = 1."""
    return np.sqrt(2 * gap / data.alpha)


def compare(result, problem, data, optimum):
    value, H, _ = optimum
    assert result.converged, result.message
    assert abs(result.objective - value) <= 1e-6 * abs(value)
    # the optimum of cvxpy is itself off by a little
    allowed = distance(data, result.gap) + distance(data, 1e-8 * abs(value))
    assert np.abs(problem.predict(result.coef) - H).max() <= allowed


@pytest.mark.parametrize("weighted", [False, True], ids=["uniform", "weighted"])
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_solver_equals_cvxpy(solver, loss, intercept, weighted):
    data, optimum = reference(loss, intercept, weighted)
    problem = data.problem(loss)
    result = solver.solve(problem)
    compare(result, problem, data, optimum)
    # the model that is returned, with its intercept, has the objective that is claimed (loss in cvxpy atoms)
    H = problem.predict(result.coef) + result.intercept
    risk = total_loss(loss, data, H)
    risk = minimise(risk) if risk.variables() else risk.value
    norm = problem.inner(result.coef, problem.predict(result.coef)) / len(data.Y)
    assert risk + norm / 2 == pytest.approx(result.objective, rel=1e-7)


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize(("solver", "loss"), PAIRS)
def test_solver_equals_cvxpy_with_a_mask(solver, loss, intercept):
    data, optimum = reference(loss, intercept, weighted=True, masked=True)
    problem = data.problem(loss)
    result = solver.solve(problem)
    compare(result, problem, data, optimum)
    assert np.all(result.coef[np.isnan(data.Y)] == 0)


@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_solvers_agree(loss, intercept):
    data = make(loss, intercept, weighted=True, n=12, m=4, alpha=0.01, seed=3)
    problem = data.problem(loss)
    results = [s.solve(problem) for s in SOLVERS if accepts(s, problem)]
    predictions = [problem.predict(r.coef) for r in results]
    for result, H in zip(results, predictions, strict=True):
        assert result.converged, result.message
        assert abs(result.objective - results[0].objective) <= 2e-7 * results[0].objective
        assert np.abs(H - predictions[0]).max() <= distance(data, result.gap) + distance(data, results[0].gap) + 1e-12


@pytest.mark.parametrize(
    ("solver", "alpha"),
    [(ADMM(1e-8), 1e-4), (InteriorPoint(1e-8), 1e-4), (ADMM(1e-8), 10.0), (ProximalGradient(1e-8), 10.0)],
    ids=repr,
)
def test_extreme_regularisation(solver, alpha):
    data = make(Pinball(), intercept=True, alpha=alpha)
    problem = data.problem(Pinball())
    result = solver.solve(problem)
    assert result.converged, result.message
    value, _, _ = solve(Pinball(), data)
    assert result.objective == pytest.approx(value, rel=1e-6)


class WrongSign(Pinball):
    """Erratum 3: the linear term of the conjugate with the printed sign."""

    def conjugate(self, Y, A, measure):
        return super().conjugate(-Y, A, measure)

    def conjugate_prox(self, Y, Z, t, measure):
        return super().conjugate_prox(-Y, Z, t, measure)


class NoLinearTerm(losses.CostSensitiveHinge):
    """Erratum 5: the linear term of the conjugate left out."""

    def conjugate_prox(self, Y, Z, t, measure):
        return super().conjugate_prox(Y, Z - t * Y, t, measure)


class NoStep(losses.EpsilonRidge):
    """Erratum 15: soft thresholding at ε where it should be at step times ε."""

    def _dual_prox(self, v, t):
        return losses.robust.soft_threshold(v, float(self.epsilon)) / (1 + t)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        (WrongSign(), Pinball()),
        (NoLinearTerm(), losses.CostSensitiveHinge()),
        (NoStep(0.2), losses.EpsilonRidge(0.2)),
    ],
    ids=["sign of the pinball", "linear term of the hinge", "step in BST"],
)
def test_errata_are_caught(wrong, right):
    data, (value, H, _) = reference(right)
    result = ProximalGradient(1e-8, max_iter=2000).solve(data.problem(wrong))
    problem = data.problem(right)
    true = problem.certificate(problem.feasible(result.coef))
    assert true.primal > value * (1 + 1e-3)
    assert np.abs(problem.predict(result.coef) - H).max() > 1e-2


@dataclass(eq=False, repr=False)
class Logistic(Loss):
    """A smooth loss of one's own, log(1 + exp(−yu)), that knows no conjugate."""

    smooth = True

    def value(self, Y, U, measure):
        return measure.integrate(np.logaddexp(0, -Y * U))

    def gradient(self, Y, U, measure):
        return losses.observed_only(-Y / (1 + np.exp(Y * U)), measure)


@pytest.mark.parametrize("intercept", [False, True])
def test_loss_without_conjugate(intercept):
    import cvxpy as cp
    from cvxpy_primal import factor

    data = make(losses.CostSensitiveHinge(), intercept)
    n, m = data.Y.shape
    B, b = cp.Variable((n, m)), cp.Variable((1, m))
    U = factor(data.left) @ B @ factor(data.right).T + (np.ones((n, 1)) @ b if intercept else 0)
    risk = cp.sum(cp.logistic(-cp.multiply(data.Y, U)) @ data.weights) / n
    value = minimise(risk + data.alpha / 2 * cp.sum_squares(B))
    problem = data.problem(Logistic())
    result = LBFGS(1e-6).solve(problem)
    assert result.converged, result.message
    assert result.objective == pytest.approx(value, rel=2e-6)


@dataclass(eq=False, repr=False)
class SmoothNorm(Loss):
    """√(1 + ‖r‖²) − 1: smooth, of the norm, without a conjugate."""

    pointwise = False
    smooth = True

    def value(self, Y, U, measure):
        r = losses.observed_only(Y - U, measure)
        return np.sqrt(1 + measure.inner(r, r)) - 1

    def gradient(self, Y, U, measure):
        r = losses.observed_only(Y - U, measure)
        return -r / np.sqrt(1 + measure.inner(r, r))[:, None]


@pytest.mark.parametrize("masked", [False, True])
def test_norm_loss_without_conjugate_has_an_intercept(masked):
    data = make(intercept=True, masked=masked)
    result = LBFGS(1e-6).solve(data.problem(SmoothNorm()))
    assert result.converged, result.message


def test_reference_is_independent_of_mercer():
    """The reference itself, on a problem with a solution by hand: n = m = 1, square loss."""
    data = Data(np.array([[2.0]]), np.array([[3.0]]), np.array([[1.5]]), np.array([0.4]), np.array([0.5]), 0.1)
    value, H, _ = solve(losses.Square(), data)
    assert H[0, 0] == pytest.approx(1.5 * 6 * 0.5 / (6 * 0.5 + 0.1), rel=1e-6)
    assert value == pytest.approx(0.25 * (1.5 - H[0, 0]) ** 2 + 0.05 * H[0, 0] ** 2 / 6, rel=1e-6)
    assert solve(Expectile(), data)[0] < value
