"""Kernels with matrix values that do not decompose: contract, evaluation, and problems on their Gram operator."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive, Huber, Pinball, Square
from mercer.measures import Measure
from mercer.operator_valued import MatrixValuedKernel
from mercer.problems import DualProblem
from mercer.solvers import ADMM, LBFGS, ClosedForm, InteriorPoint, ProximalGradient, RidgePath, SemismoothNewton, select
from mercer.testing import check_operator_valued_kernel

PLANE = Measure(np.arange(2.0), np.array([0.7, 1.3]))
RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(12, 2))
Y = 2 * X + np.array([0.0, 1.0]) + 0.3 * RNG.normal(size=(12, 2))
S = RNG.uniform(0.5, 2.0, 12)


@dataclass(eq=False, repr=False)
class Gradients(MatrixValuedKernel):
    gamma: float = 1.0

    def blocks(self, X, Z):
        return Gaussian(self.gamma).cross_hessian(X, Z)


def dense(X):
    """The Gram matrix on (sample, component) pairs, from the kernel by hand."""
    delta = X[:, None, :] - X[None, :, :]
    values = np.exp(-2.0 * np.sum(delta**2, axis=2))[..., None, None]
    blocks = values * (4.0 * np.eye(2) - 16.0 * delta[..., :, None] * delta[..., None, :])
    return blocks.transpose(0, 2, 1, 3).reshape(2 * len(X), -1)


def problem_of(loss, intercept=True, targets=Y):
    gram = Gradients(2.0).bind(PLANE).gram(X)
    return DualProblem(gram, loss, targets, PLANE, 0.02, S, intercept)


def reference(loss, intercept=True, targets=Y):
    """The optimum from its definition in cvxpy; entries of NaN do not count."""
    F = np.linalg.cholesky(dense(X) + 1e-12 * np.eye(24))
    coordinates, b = cp.Variable(24), cp.Variable(2)
    H = cp.reshape(F @ coordinates, (12, 2), order="C") + np.ones((12, 1)) @ cp.reshape(b, (1, 2), order="C")
    seen = ~np.isnan(targets)
    root = np.where(seen, np.sqrt(PLANE.weights), 0.0)
    R = cp.multiply(root, np.where(seen, targets, 0.0) - H)
    sizes = cp.norm(R, 2, axis=1)
    if isinstance(loss, Square):
        values = cp.square(sizes) / 2
    elif isinstance(loss, Huber):
        values = cp.huber(sizes, loss.kappa) / 2
    else:
        values = cp.pos(sizes - loss.epsilon)
    objective = (S / S.sum()) @ values + 0.01 * cp.sum_squares(coordinates)
    problem = cp.Problem(cp.Minimize(objective), [] if intercept else [b == 0])
    problem.solve(solver=cp.CLARABEL)
    return problem.value


def test_the_contract():
    check_operator_valued_kernel(Gradients(2.0), PLANE)
    check_operator_valued_kernel(Gradients(0.5), Measure(np.arange(3.0), np.ones(3)), RNG.normal(size=(5, 3)))


def test_the_gram_operator_is_that_of_the_definition():
    gram = Gradients(2.0).bind(PLANE).gram(X)
    np.testing.assert_allclose(gram.to_dense(), dense(X), atol=1e-12)


SOLVERS = [ADMM(1e-6), ProximalGradient(1e-6), LBFGS(1e-6)]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("loss", [Square(), Huber(0.3), EpsilonInsensitive(0.3)], ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_every_solver_agrees_with_cvxpy(solver, loss, intercept):
    if isinstance(solver, LBFGS) and not loss.smooth:
        pytest.skip("smooth losses only")
    result = solver.solve(problem_of(loss, intercept))
    assert result.converged
    assert result.objective == pytest.approx(reference(loss, intercept), rel=2e-5)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("holes", [False, True])
def test_the_closed_form(intercept, holes):
    targets = Y.copy()
    if holes:
        targets[::4, 1] = np.nan
    problem = problem_of(Square(), intercept, targets)
    result = ClosedForm(1e-10).solve(problem)
    assert result.converged
    assert result.objective == pytest.approx(reference(Square(), intercept, targets), rel=1e-6)
    (other,) = ClosedForm(1e-10).path(problem, [problem.alpha])
    np.testing.assert_allclose(other.coef, result.coef, atol=1e-4)


def test_solvers_that_need_a_product_say_so():
    levels = Measure(np.array([0.2, 0.8]), np.ones(2))
    problem = DualProblem(Gradients(2.0).bind(levels).gram(X), Pinball(), Y, levels, 0.02, S, True)
    with pytest.raises(UnsupportedError, match="a kernel that decomposes"):
        InteriorPoint().solve(problem)
    assert isinstance(select(problem), SemismoothNewton)
    with pytest.raises(UnsupportedError, match="cross-validation by folds"):
        RidgePath(problem_of(Square()), [1.0])


def test_functions_are_evaluated_in_blocks(monkeypatch):
    bound = Gradients(2.0).bind(PLANE)
    coef = RNG.normal(size=(12, 2))
    h = bound.expand(X, coef)
    whole = h.evaluate(X, PLANE.points)
    np.testing.assert_allclose(whole.ravel(), dense(X) @ coef.ravel(), atol=1e-12)
    assert h.norm == pytest.approx(np.sqrt(coef.ravel() @ dense(X) @ coef.ravel()))
    monkeypatch.setattr("mercer.operator_valued.matrix_valued.BLOCK_BYTES", 8 * 48 * 5)
    np.testing.assert_allclose(h.evaluate(X, np.array([1.0])), whole[:, 1:], atol=1e-14)
    assert h.evaluate(X[:0], PLANE.points).shape == (0, 2)
    with pytest.raises(DataError, match=r"indices 0, \.\.\., 1"):
        h.evaluate(X, np.array([0.5]))
    with pytest.raises(DataError, match="Pass a measure with 3 points"):
        Gradients().bind(PLANE, n_components=3)
