"""Paths in κ and ε: sharp thresholds, the same results as cold solves, fewer steps of first-order methods."""

from __future__ import annotations

from dataclasses import replace

import array_api_strict as strict
import cvxpy as cp
import numpy as np
import pytest
from cvxpy_primal import make

from mercer.exceptions import ParameterError, ParameterTypeError
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Pinball, Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, ClosedForm, ProximalGradient, largest_epsilon, largest_kappa, loss_path
from mercer.solvers.enclosing_ball import enclosing_ball

geometries = pytest.mark.parametrize("geometry", ["norm", "pointwise"])
intercepts = pytest.mark.parametrize("intercept", [False, True], ids=["plain", "intercept"])
masks = pytest.mark.parametrize("masked", [False, True], ids=["complete", "masked"])
tubes = pytest.mark.parametrize("tube", [EpsilonRidge, EpsilonInsensitive])


def predictions(problem, result):
    return problem.predict(result.coef) + result.intercept


@geometries
@intercepts
@masks
def test_largest_kappa_is_sharp(geometry, intercept, masked):
    """Just above it the fit is the ridge fit, just below it is not."""
    problem = make(intercept=intercept, weighted=True, masked=masked).problem(Huber(1.0, geometry))
    kappa = largest_kappa(problem)
    ridge_problem = problem.with_loss(Square())
    ridge = predictions(ridge_problem, ClosedForm(tol=1e-13).solve(ridge_problem))
    above, below = (problem.with_loss(Huber(share * kappa, geometry)) for share in (1 + 1e-6, 0.98))
    solver = ADMM(tol=1e-13)
    np.testing.assert_allclose(predictions(above, solver.solve(above)), ridge, atol=1e-6)
    assert np.max(np.abs(predictions(below, solver.solve(below)) - ridge)) > 1e-4


@tubes
@geometries
@intercepts
@masks
def test_largest_epsilon_is_sharp(tube, geometry, intercept, masked):
    """Just above it h = 0 and nothing is lost, just below something is."""
    problem = make(intercept=intercept, weighted=True, masked=masked).problem(tube(1.0, geometry))
    epsilon = largest_epsilon(problem)
    (above,) = loss_path(problem, "epsilon", [epsilon * (1 + 1e-9)])
    assert above.converged
    assert above.n_iter == 0
    assert above.objective == 0
    np.testing.assert_array_equal(above.coef, 0)
    at_above = problem.with_loss(tube(epsilon * (1 + 1e-9), geometry))
    assert at_above.risk(0 * problem.Y, above.intercept) == 0
    below = problem.with_loss(tube(0.98 * epsilon, geometry))
    result = ADMM(max_iter=50_000).solve(below)
    assert result.converged
    assert np.max(np.abs(result.coef)) > 1e-3
    assert np.max(np.abs(below.predict(result.coef))) > 1e-3


@geometries
@intercepts
@masks
@pytest.mark.parametrize("loss", [Huber, EpsilonRidge, EpsilonInsensitive])
def test_path_equals_cold_solves(loss, geometry, intercept, masked):
    problem = make(intercept=intercept, masked=masked).problem(loss(1.0, geometry))
    parameter = "kappa" if loss is Huber else "epsilon"
    top = largest_kappa(problem) if loss is Huber else largest_epsilon(problem)
    values = top * np.array([1.0, 0.6, 0.2])
    tol = 1e-4 if loss is EpsilonInsensitive else 1e-6
    for value, result in zip(values, loss_path(problem, parameter, values, tol=tol), strict=True):
        at_value = problem.with_loss(loss(value, geometry))
        assert result.converged
        certificate = at_value.certificate(result.coef, b=result.intercept)
        assert certificate.gap <= tol * max(certificate.primal, 1e-6 * certificate.reference) + 1e-14
        if result.objective == 0:  # no loss is less
            continue
        cold = ADMM(tol=tol / 10, max_iter=50_000).solve(at_value)
        assert result.objective == pytest.approx(cold.objective, rel=2 * tol, abs=1e-9)


def test_path_starts_with_the_ridge_fit():
    problem = make(intercept=True, n=12, m=5).problem(Huber())
    first, second = loss_path(problem, "kappa", largest_kappa(problem) * np.array([1.0, 0.5]))
    assert first.n_iter == 0
    assert second.n_iter > 0
    np.testing.assert_allclose(first.coef, ClosedForm().solve(problem.with_loss(Square())).coef, atol=1e-9)


@geometries
def test_warm_starts_save_steps_of_the_proximal_gradient(geometry):
    problem = make(intercept=True, n=20, m=5, alpha=3e-3).problem(Huber(1.0, geometry))
    values = largest_kappa(problem) * np.logspace(-0.1, -1.3, 6)
    solver = ProximalGradient(tol=1e-4)
    warm = sum(result.n_iter for result in loss_path(problem, "kappa", values, solver))
    cold = sum(solver.solve(problem.with_loss(Huber(kappa, geometry))).n_iter for kappa in values)
    assert 0 < warm <= 0.7 * cold


def test_other_arrays():
    data = make(intercept=True)
    a = strict.asarray
    problem = DualProblem(
        Kronecker(Dense(a(data.left)), Dense(a(data.right))),
        EpsilonRidge(),
        a(data.Y),
        Measure(a(data.points), a(data.weights)),
        data.alpha,
        None,
        True,
    )
    epsilon = largest_epsilon(problem)
    assert epsilon == pytest.approx(largest_epsilon(data.problem(EpsilonRidge())))
    for result in loss_path(problem, "epsilon", [epsilon, 0.5 * epsilon], tol=1e-3):
        assert result.converged
        assert type(result.coef).__module__.startswith("array_api_strict")
        assert type(result.intercept).__module__.startswith("array_api_strict")


def test_with_loss_shares_data_and_forgets_what_depended_on_the_loss():
    problem = make(intercept=True).problem(Huber(0.3, "pointwise"))
    before = problem.box, problem.null_model, problem.unit, problem.trivial
    other = problem.with_loss(Square())
    assert other.gram is problem.gram
    assert other.Y is problem.Y
    assert other.box != before[0]
    assert other.null_model[0] != before[1][0]
    assert problem.null_model is before[1]
    assert isinstance(problem.loss, Huber)
    fresh = make(intercept=True).problem(Square())
    assert other.null_model[0] == fresh.null_model[0]
    assert other.unit == fresh.unit


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_enclosing_ball_equals_cvxpy(n, missing):
    rng = np.random.default_rng(n)
    Y = rng.normal(size=(n, 4)) + 3
    weights = rng.uniform(0.2, 1.0, size=4) * (rng.uniform(size=(n, 4)) >= missing)
    weights[:, 0] = 1.0
    radius, centre = enclosing_ball(Y, weights)
    assert np.sqrt(np.max(np.sum(weights * (Y - centre) ** 2, axis=1))) == pytest.approx(radius, rel=1e-12)
    b = cp.Variable(4)
    distances = [cp.norm(cp.multiply(np.sqrt(weights[i]), Y[i] - b)) for i in range(n)]
    best = cp.Problem(cp.Minimize(cp.max(cp.hstack(distances)))).solve(solver="CLARABEL")
    assert radius == pytest.approx(best, rel=1e-6, abs=1e-6)


def test_enclosing_ball_of_copies_has_no_radius():
    radius, centre = enclosing_ball(np.tile([1.0, 2.0], (5, 1)), np.ones((5, 2)))
    assert radius == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(centre, [1.0, 2.0])


def single(data):
    """The same data in single precision."""
    arrays = {name: getattr(data, name).astype(np.float32) for name in ("left", "right", "Y", "points", "weights")}
    return replace(data, **arrays)


@geometries
@intercepts
@masks
def test_single_precision(geometry, intercept, masked):
    data = make(intercept=intercept, masked=masked)
    problem = single(data).problem(Huber(1.0, geometry))
    kappa = largest_kappa(problem)
    expected = largest_kappa(data.problem(Huber(1.0, geometry)))
    assert kappa == pytest.approx(expected, rel=1e-2 if masked else 1e-4)
    for result in loss_path(problem, "kappa", [kappa, 0.5 * kappa]):
        assert result.converged
        assert result.coef.dtype == np.float32
    with pytest.raises(ParameterError, match=r"tol must be at least 1e-5 for float32 data; got 1e-06"):
        list(loss_path(problem, "kappa", [kappa], tol=1e-6))


def test_bad_input_is_refused():
    problem = make().problem(Huber())
    with pytest.raises(ParameterError, match="parameter must be a parameter of the loss, 'geometry' or 'kappa'"):
        loss_path(problem, "epsilon", [1.0])
    with pytest.raises(ParameterError, match="kappa"):
        loss_path(problem, "kappa", [1.0, -1.0])
    with pytest.raises(ParameterError, match="solver"):
        next(loss_path(problem, "kappa", [1.0], solver="newton"))
    with pytest.raises(ParameterTypeError, match="largest_epsilon"):
        largest_epsilon(problem)
    with pytest.raises(ParameterTypeError, match="largest_kappa"):
        largest_kappa(make().problem(Pinball()))
