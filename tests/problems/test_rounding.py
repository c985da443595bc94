"""Rounding of certificates: bounds against the same certificate in extended precision."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from cvxpy_primal import LOSSES, Data, make
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import Gaussian, Linear
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, Expectile, Huber, Loss, Pinball, Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable
from mercer.problems import Certificate, DualProblem
from mercer.solvers import ADMM, InteriorPoint, SemismoothNewton, plan

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def extended(problem, loss, left, right, data):
    """The same problem with the same matrices in extended precision: its rounding is a thousandth, or less."""
    gram = Kronecker(Dense(left.astype(np.longdouble)), Dense(right.astype(np.longdouble)))
    measure = Measure(data.points.astype(np.longdouble), data.weights.astype(np.longdouble))
    weight = None if data.sample_weight is None else data.sample_weight.astype(np.longdouble)
    return DualProblem(gram, loss, data.Y.astype(np.longdouble), measure, problem.alpha, weight, problem.fit_intercept)


@every_loss
@pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-9, 1.0, 1e9]))
def test_the_gap_with_its_rounding_is_above_that_in_extended_precision(loss, intercept, seed, size):
    if np.finfo(np.longdouble).eps >= np.finfo(float).eps:
        pytest.skip("no extended precision here")
    data = make(loss, intercept, weighted=True, seed=seed % 5)
    left = size * data.left
    measure = Measure(data.points, data.weights)
    problem = DualProblem(
        Kronecker(Dense(left), Dense(data.right)), loss, data.Y, measure, data.alpha, data.sample_weight, intercept
    )
    A = problem.feasible(np.random.default_rng(seed).normal(size=problem.shape))
    found = problem.certificate(A)
    exact = extended(problem, loss, left, data.right, data)
    again = exact.certificate(A.astype(np.longdouble), b=np.asarray(found.intercept, dtype=np.longdouble))
    assert found.gap >= again.primal - again.dual
    assert abs(found.primal - again.primal) <= found.doubt
    assert abs(found.dual - again.dual) <= found.doubt
    assert found.relative_gap >= again.visible_gap
    assert again.doubt < 1e-2 * found.doubt


def cancelling_problem(alpha, n=40):
    """Targets that a smooth kernel has to reach with a tiny λ: dual variables cancel in predictions."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    y = 1e-12 * rng.normal(size=n)
    measure = Measure(np.array([0.3, 0.7]), np.array([0.5, 0.5]))
    gram = Decomposable(Gaussian(1.0), Gaussian(1.0)).bind(measure).gram(X)
    return DualProblem(gram, Pinball(), np.repeat(y[:, None], 2, axis=1), measure, alpha, fit_intercept=True)


@pytest.mark.parametrize("solver", [ADMM(tol=1e-3), InteriorPoint(tol=1e-3), SemismoothNewton(tol=1e-3)], ids=repr)
def test_a_gap_that_rounding_hides_is_no_success(solver):
    result = solver.solve(cancelling_problem(1e-5))
    assert result.status in ("stalled", "max_iter")
    assert result.relative_gap > solver.tol
    assert "Rounding" in result.message or "max_iter" in result.message
    assert solver.solve(cancelling_problem(1e8)).converged


def test_rounding_of_an_ordinary_fit_is_far_below_its_gap():
    result = ADMM(tol=1e-6).solve(cancelling_problem(1e8))
    assert result.converged
    certificate = cancelling_problem(1e8).certificate(result.coef)
    assert certificate.rounding < 1e-8 * certificate.primal


def test_gap_and_what_can_be_seen_of_it():
    certificate = Certificate(2.0, 1.5, 1.0, rounding=0.25, doubt=0.5)
    assert certificate.gap == pytest.approx(1.0, rel=1e-4)
    assert certificate.relative_gap == pytest.approx(1 / 1.5, rel=1e-4)
    assert certificate.visible_gap == 0.25
    assert Certificate(1.0, 1.0, 1.0, rounding=1e-9, doubt=1e-6).gap == 1e-9  # six digits of the objective are right
    assert Certificate(0.0, 0.0, 0.0, rounding=1e-10, doubt=1e-10).relative_gap == np.inf
    assert Certificate(1 + 1e-9, 1.0, 1.0, rounding=1e8).visible_gap == pytest.approx(1e-9)
    assert Certificate(1.0, 0.9, 1.0, doubt=2.0).relative_gap == pytest.approx(2.1 / 1e-6)


@pytest.mark.parametrize("loss", [Pinball(), Square(), Huber(0.5), Huber(0.5, "pointwise")], ids=repr)
def test_rounding_is_equivariant_to_splitting_a_node(loss):
    data = make(loss, False)
    problem = data.problem(loss)
    A = problem.feasible(np.random.default_rng(1).normal(size=problem.shape))
    twice = np.repeat(np.arange(len(data.weights)), 2)
    split = DualProblem(
        Kronecker(Dense(data.left), Dense(data.right[np.ix_(twice, twice)])),
        loss,
        data.Y[:, twice],
        Measure(data.points[twice], data.weights[twice] / 2),
        data.alpha,
    )
    one, two = problem.certificate(A), split.certificate(A[:, twice])
    np.testing.assert_allclose(one.doubt, two.doubt, rtol=0.2)  # sums are longer


def test_a_model_that_rounding_made_worse_than_the_intercept_is_not_returned():
    """Kernel values of 1e24 and targets of 1: predictions are nothing but rounding."""
    rng = np.random.default_rng(0)
    X = 1e12 * rng.normal(size=(12, 3))
    y = rng.normal(size=(12, 1))
    measure = Measure(np.array([0.5]), np.array([1.0]))
    gram = Decomposable(Linear(), Gaussian(1.0)).bind(measure).gram(X)
    problem = DualProblem(gram, Expectile(), y, measure, 1e-2, fit_intercept=True)
    result = plan(ADMM(max_iter=200), problem, 1e-4).solve()
    assert not result.converged
    assert result.objective <= problem.null_model[0] * (1 + 1e-9)
    assert result.relative_gap >= problem.certificate(result.coef).visible_gap


def test_an_objective_is_no_further_from_that_of_the_stored_coefficients_than_its_gap():
    """A linear kernel and data far from 0: dual variables cancel in h, and so do roundings in the gap, but not in P."""
    if np.finfo(np.longdouble).eps >= np.finfo(float).eps:
        pytest.skip("no extended precision here")
    rng = np.random.default_rng(0)
    X, Y = 4e6 + rng.normal(size=(3, 4)), 1e-5 * rng.normal(size=(3, 5))
    measure, away = Measure(np.linspace(0.1, 0.9, 5), np.full(5, 0.2)), 0.0
    for alpha in (0.1, 1.0, 10.0):
        gram = Decomposable(Linear(), Gaussian(1.0)).bind(measure).gram(X)
        problem = DualProblem(gram, Square(), Y, measure, alpha)
        result = plan("auto", problem, 1e-2).solve()
        coef, nodes = (np.asarray(each, dtype=np.longdouble) for each in (problem.primal_coef(result.coef), X))
        h = nodes @ nodes.T @ coef @ Gaussian(1.0)(measure.points)
        exact = np.sum(measure.weights * (Y - h) ** 2) / 6 + alpha / 2 * np.sum(coef * h)
        assert abs(exact - result.objective) <= result.gap
        away = max(away, float(abs(exact - result.objective) / exact))
    assert away > 1e-6  # by more than gaps without that


def test_of_two_models_the_one_that_can_be_vouched_for_is_returned():
    """A constant kernel with an intercept learns nothing, and a tiny λ lets huge coefficients cancel to rounding."""
    rng = np.random.default_rng(0)
    Y = 1.0 + 1e-6 * rng.normal(size=(10, 3))
    loss, measure = EpsilonInsensitive(1e-7, geometry="norm"), Measure(np.arange(3.0), np.full(3, 1 / 3))
    gram = Kronecker(Dense(np.ones((10, 10))), Dense(np.eye(3) + 0.5))
    problem = DualProblem(gram, loss, Y, measure, 1e-12, fit_intercept=True)
    result = plan(ADMM(max_iter=500), problem, 1e-4).solve()
    coef = problem.primal_coef(result.coef)
    h = np.ones((10, 1)) * (coef.sum(axis=0) @ (np.eye(3) + 0.5))
    sizes = np.sqrt(np.sum((Y - h - result.intercept) ** 2, axis=1) / 3)
    recomputed = np.mean(np.maximum(sizes - 1e-7, 0)) + problem.alpha / 2 * np.sum(coef * h)
    assert result.objective == pytest.approx(recomputed, rel=1e-6)
    assert result.gap <= problem.null_model[0] * (1 + 1e-6)


def test_gradients_of_norms_turn():
    """Residuals along e, errors that change sign from column to column: the gap changes to first order in e."""
    loss = EpsilonInsensitive(0.0, geometry="norm")
    measure = Measure(np.array([0.2, 0.8]), np.ones(2))
    problem = DualProblem(Kronecker(Dense(np.ones((2, 2))), Dense(np.eye(2))), loss, np.zeros((2, 2)), measure, 0.5)
    A = np.array([[1.0, 1.0], [-1.0, -1.0]]) / np.sqrt(2)
    error = problem.rounding.errors(A)
    U = 2 * error * np.array([[-1.0], [1.0]])

    def gap(U):
        return problem.share * np.sum(loss.value(problem.Y, U, measure) + np.sum(A * U, axis=1))

    changed = abs(gap(U + error * np.array([1.0, -1.0])) - gap(U))
    assert 0 < changed <= problem.rounding.bounds(A, U).of_gap


def test_losses_without_a_gradient_have_certificates():
    class Ungraded(Pinball):
        gradient = Loss.gradient

    data = make(Pinball(), True)
    A = data.problem(Pinball()).feasible(np.random.default_rng(0).normal(size=data.Y.shape))
    plain, ungraded = (data.problem(loss).certificate(A) for loss in (Pinball(), Ungraded()))
    assert (plain.primal, plain.dual) == (ungraded.primal, ungraded.dual)
    assert 0 < ungraded.rounding < 1e-10


def test_single_precision_has_bounds_of_its_own():
    data = make(Square(), True)
    single = Data(**{k: v.astype(np.float32) if isinstance(v, np.ndarray) else v for k, v in data.__dict__.items()})
    A = data.problem(Square()).feasible(np.random.default_rng(0).normal(size=data.Y.shape)).astype(np.float32)
    found = single.problem(Square()).certificate(A)
    exact = data.problem(Square()).certificate(A.astype(float), b=np.asarray(found.intercept, dtype=float))
    assert abs(found.primal - exact.primal) <= found.doubt
    assert found.gap >= exact.primal - exact.dual


def test_problems_do_not_wait_for_the_collector_of_cycles():
    problem = make(Pinball()).problem(Pinball())
    problem.certificate(problem.feasible(problem.null_array))
    seen = weakref.ref(problem)
    gc.disable()
    try:
        del problem
        assert seen() is None
    finally:
        gc.enable()
