"""Conjugate gradients with a Nyström preconditioner against closed forms, cvxpy and other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from cvxpy_primal import make, reference

from mercer import VectorValuedRegressor
from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian, Laplacian
from mercer.linalg import Dense, leading_eigen
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Pinball, Square
from mercer.measures import Measure
from mercer.operator_valued import CurlFree, Decomposable
from mercer.problems import DualProblem
from mercer.solvers import ADMM, SOLVERS, ClosedForm, PreconditionedCG, plan
from mercer.testing import check_solver

LOSSES = [Huber(0.3), Huber(0.3, "pointwise"), EpsilonRidge(0.2), EpsilonRidge(0.2, "pointwise"), Pinball()]


def rows(n=300, d=2, m=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, :1] + np.arange(m)) + 0.3 * rng.normal(size=(n, m))


def problem_of(X, Y, kernel=Laplacian(1.0), alpha=1e-4, loss=Square(), intercept=True):  # noqa: B008
    m = Y.shape[1]
    measure = Measure(np.linspace(0, 1, m)[:, None], np.full(m, 1 / m))
    bound = Decomposable(kernel, Gaussian(3.0)).bind(measure)
    return DualProblem(bound.gram(X), loss, Y, measure, alpha, fit_intercept=intercept)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_landmarks", [2, 30, None])
def test_square_loss_equals_closed_form(intercept, weighted, n_landmarks):
    problem = make(intercept=intercept, weighted=weighted, n=60, m=4, alpha=1e-3).problem(Square())
    exact = ClosedForm().solve(problem)
    result = PreconditionedCG(1e-16, n_landmarks=n_landmarks).solve(problem)  # rounding ends it
    assert result.relative_gap <= 1e-13
    np.testing.assert_allclose(result.coef, exact.coef, atol=1e-8 * max(1, np.abs(exact.coef).max()))
    np.testing.assert_allclose(result.intercept, exact.intercept, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_other_losses_equal_cvxpy(loss, intercept):
    data, (value, H, _) = reference(loss, intercept, True)
    problem = data.problem(loss)
    result = PreconditionedCG(1e-7, n_landmarks=3).solve(problem)
    assert result.converged, result.message
    assert abs(result.objective - value) <= 1e-6 * abs(value)
    allowed = np.sqrt(2 * result.gap / data.alpha) + np.sqrt(2e-8 * abs(value) / data.alpha)
    assert np.abs(problem.predict(result.coef) - H).max() <= allowed


def test_promises_of_solvers():
    check_solver(PreconditionedCG())
    check_solver(PreconditionedCG(1e-5, n_landmarks=2))


@pytest.mark.parametrize("loss", [Square(), Huber(0.2)], ids=repr)
def test_rough_kernel_of_many_columns_takes_few_products(loss):
    X, Y = rows(n=400, m=3)
    problem = problem_of(X, Y, loss=loss)
    result = PreconditionedCG(1e-6).solve(problem)
    other = ADMM(1e-7).solve(problem)
    assert result.converged
    assert result.n_iter <= (15 if isinstance(loss, Square) else 60)
    assert result.objective == pytest.approx(other.objective, rel=2e-6)


def test_preconditioner_is_what_makes_it_fast():
    X, Y = rows(n=400)
    problem = problem_of(X, Y, alpha=1e-6)
    few, many = (PreconditionedCG(1e-8, n_landmarks=size).solve(problem) for size in (1, 200))
    assert many.n_iter < few.n_iter / 2


def test_matrix_valued_kernels():
    X, _ = rows(n=60)
    V = np.stack([np.cos(X[:, 0]), np.sin(X[:, 1])], axis=1)
    measure = Measure(np.arange(2.0)[:, None], np.ones(2))
    problem = DualProblem(CurlFree(Gaussian(1.0)).bind(measure).gram(X), Square(), V, measure, 1e-3)
    np.testing.assert_allclose(
        PreconditionedCG(1e-12).solve(problem).coef, ClosedForm().solve(problem).coef, atol=1e-6, rtol=1e-6
    )


def test_kernel_matrix_is_not_made(monkeypatch):
    """Blocks of rows only: the matrix of the square loss is never evaluated whole."""
    X, Y = rows(n=500)
    largest = 0

    class Watched(Laplacian):
        def _evaluate(self, A, B):
            nonlocal largest
            largest = max(largest, len(A) * len(B))
            return super()._evaluate(A, B)

    assert PreconditionedCG(1e-6, n_landmarks=50).solve(problem_of(X, Y, Watched(1.0))).converged
    assert 0 < largest <= 500 * 500 / 4


def test_refusals_have_remedies():
    masked = make(masked=True).problem(Square())
    with pytest.raises(UnsupportedError, match=r"missing.*ClosedForm"):
        PreconditionedCG().solve(masked)
    assert SOLVERS["preconditioned_cg"] is PreconditionedCG
    assert isinstance(plan("preconditioned_cg", masked, 1e-3).solver, PreconditionedCG)


def test_limit_and_estimator():
    X, Y = rows(n=200)
    result = PreconditionedCG(1e-12, max_iter=2, n_landmarks=1).solve(problem_of(X, Y))
    assert result.status == "max_iter"
    settings = {"alpha": 1e-3, "approximation": None}
    model = VectorValuedRegressor(Laplacian(1.0), solver=PreconditionedCG(1e-14), **settings).fit(X, Y)
    exact = VectorValuedRegressor(Laplacian(1.0), solver="closed_form", **settings).fit(X, Y)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-6)


def test_loss_without_smoothness_is_taken():
    X, Y = rows(n=150)
    problem = problem_of(X, Y, loss=EpsilonInsensitive(0.1), alpha=1e-2)
    result = PreconditionedCG(1e-4).solve(problem)
    assert result.converged
    assert result.objective == pytest.approx(ADMM(1e-6).solve(problem).objective, rel=2e-4)


def test_leading_eigenpairs_are_those_of_a_nystroem_approximation():
    X, _ = rows(n=300)
    K = Laplacian(0.5)(X)
    eigen = leading_eigen(Dense(K), 200)
    low = eigen.factor @ eigen.factor.T
    left = np.linalg.eigvalsh(K - low)
    assert left.min() > -1e-9
    assert eigen.trace_left_out == pytest.approx(np.trace(K - low), rel=1e-6)
    best = np.linalg.eigvalsh(K)[:100].sum()
    assert eigen.trace_left_out < 4 * best  # what the best 200 columns leave is the least
    assert leading_eigen(Dense(K), 200, tolerance=0.5 * np.trace(K)).vectors.shape[1] < 200
