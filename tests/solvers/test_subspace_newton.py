"""SubspaceNewton: the contract of solvers, the fits of others, its slopes, and when it is taken."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, ExponentialNorm, Huber, Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, FactoredADMM, ProximalGradient, SubspaceNewton, select
from mercer.solvers.norm_slopes import NormSlopes
from mercer.testing import check_solver


def make(loss, n=60, p=3, alpha=1e-2, d=3, weighted=False, masked=False, size=1.0, **settings):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, d)), size * rng.normal(size=(n, p))
    if masked:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    weight = rng.uniform(0.3, 2, n) if weighted else None
    nodes = Measure(np.arange(float(p)), np.linspace(0.5, 1.5, p) if weighted else np.ones(p))
    output = np.diag(2 / nodes.weights)  # the same for all columns in the geometry of the weights
    return DualProblem(Kronecker(Dense(Gaussian(0.5)(X)), Dense(output)), loss, Y, nodes, alpha, weight, **settings)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [EpsilonRidge(0.5), EpsilonRidge(0.0), Huber(0.4), Square()], ids=repr)
def test_it_is_the_fit_of_proximal_gradient(loss, weighted):
    for alpha in (1.0, 1e-1, 1e-3):
        problem = make(loss, alpha=alpha, weighted=weighted)
        result = SubspaceNewton(tol=1e-8).solve(problem)
        other = ProximalGradient(tol=1e-8, max_iter=100_000).solve(problem)
        assert result.converged, result.message
        assert result.objective == pytest.approx(other.objective, rel=1e-7)
        assert problem.certificate(result.coef).relative_gap == pytest.approx(result.relative_gap)


@pytest.mark.parametrize("loss", [EpsilonRidge(0.5), Huber(0.4)], ids=repr)
def test_the_contract_of_solvers(loss):
    check_solver(SubspaceNewton(tol=1e-7), make(loss, weighted=True))


@pytest.mark.parametrize("tol", [1e-4, 1e-11])
def test_single_precision_is_enough_where_it_is_taken(tol):
    problem = make(EpsilonRidge(0.3), n=400, d=10, p=5, alpha=1e-3)
    result = SubspaceNewton(tol).solve(problem)
    assert result.relative_gap <= tol


def test_steps_do_not_depend_on_the_unit_of_y():
    sizes = (1, 1e-30, 1e30)
    found = [SubspaceNewton(tol=1e-7).solve(make(EpsilonRidge(0.5 * size), size=size)) for size in sizes]
    assert all(result.converged for result in found)
    assert len({result.n_iter for result in found}) == 1


def test_rows_inside_the_tube_have_no_coefficient():
    problem = make(EpsilonRidge(1.2), n=200, alpha=1e-2)
    result = SubspaceNewton(tol=1e-8).solve(problem)
    inside = np.linalg.norm(problem.Y - result.prediction, axis=1) < 1.2 - 1e-3
    assert 0.1 < inside.mean() < 0.9
    assert not np.any(result.coef[inside])


@pytest.mark.parametrize("loss", [EpsilonRidge(0.3), Huber(0.4)], ids=repr)
def test_a_tiny_lambda_is_handed_over(loss):
    problem = make(loss, n=300, d=8, alpha=1e-9)
    result = SubspaceNewton(tol=1e-6, max_iter=5000).solve(problem)
    assert result.converged, result.message


def test_a_warm_start_saves_steps():
    problem = make(EpsilonRidge(0.5), n=300, d=8, alpha=1e-3)
    first = SubspaceNewton(tol=1e-8).solve(problem)
    again = SubspaceNewton(tol=1e-6).solve(problem.with_loss(EpsilonRidge(0.501)), init=first.coef)
    assert again.n_iter < SubspaceNewton(tol=1e-6).solve(problem.with_loss(EpsilonRidge(0.501))).n_iter


@pytest.mark.parametrize("loss", [EpsilonRidge(0.5), Huber(0.4), Square()], ids=repr)
def test_slopes_and_curvatures_are_those_of_the_objective(loss):
    problem = make(loss, weighted=True)
    slopes, rng = NormSlopes(problem), np.random.default_rng(1)
    H, images = rng.normal(size=problem.shape), rng.normal(size=(2, *problem.shape))
    zero = np.zeros(problem.shape)
    at, eps = slopes(zero, slopes.whiten(H)), 1e-5
    risk = problem.sample_weight @ problem.loss.value(problem.Y, H, problem.measure)
    assert at.value == pytest.approx(risk, rel=1e-12)
    there, back = (slopes(zero, at.H + sign * eps * images[0]) for sign in (1, -1))
    assert (there.value - back.value) / (2 * eps) == pytest.approx(-np.vdot(images[0], at.dual), rel=1e-6)
    change = -(there.dual - back.dual) / (2 * eps)
    expected = [np.vdot(change, image) for image in images]
    np.testing.assert_allclose(slopes.curvature(at, images)[0], expected, rtol=2e-3, atol=2e-2)


def test_what_it_refuses():
    for problem, words in (
        (make(Huber(0.4), fit_intercept=True), "an intercept or missing"),
        (make(Huber(0.4), masked=True), "an intercept or missing"),
        (make(EpsilonInsensitive(0.4)), "is none"),
        (make(ExponentialNorm()), "is none"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            SubspaceNewton().solve(problem)
    gram = Kronecker(Dense(np.eye(3)), Dense(np.diag([1.0, 2.0])))
    mixed = DualProblem(gram, Huber(1.0), np.ones((3, 2)), Measure(np.array([0.2, 0.7]), np.ones(2)), 0.1)
    with pytest.raises(UnsupportedError, match="treats them differently"):
        SubspaceNewton().solve(mixed)


def test_when_it_is_taken():
    rough = {"n": 1000, "d": 20}
    for alpha, solver in ((1.0, SubspaceNewton), (1e-3, SubspaceNewton), (1e-5, FactoredADMM)):
        assert isinstance(select(make(EpsilonRidge(0.5), alpha=alpha, **rough)), solver)
    assert isinstance(select(make(EpsilonRidge(0.5), alpha=1e-3, n=1000, d=1)), ADMM)
    for problem in (
        make(EpsilonRidge(0.5), alpha=1e-3, fit_intercept=True, **rough),
        make(EpsilonInsensitive(0.5), alpha=1e-3, **rough),
        make(EpsilonRidge(0.5), alpha=1e-3, d=20, n=100),
    ):
        assert not isinstance(select(problem), SubspaceNewton)
