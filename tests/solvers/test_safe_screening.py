"""SafeScreening: no row of the solution is left out, the fits of others, fewer products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.exceptions import ParameterError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber
from mercer.measures import Measure
from mercer.problems import DualProblem, certainly_inside, without_rows
from mercer.solvers import FactoredADMM, ProximalGradient, SafeScreening
from mercer.testing import check_solver


def make(loss, n=80, p=3, alpha=1e-2, weighted=False, seed=0, **others):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = np.sin(X @ rng.normal(size=(2, p))) + 0.3 * rng.normal(size=(n, p))
    weight = rng.uniform(0.3, 2, n) if weighted else None
    nodes = Measure(np.arange(float(p)), np.linspace(0.5, 1.5, p) if weighted else np.ones(p))
    output = np.diag(2 / nodes.weights)  # the same for all columns in the geometry of the weights
    return DualProblem(Kronecker(Dense(Gaussian(0.5)(X)), Dense(output)), loss, Y, nodes, alpha, weight, **others)


LOSSES = [EpsilonRidge(0.7), EpsilonInsensitive(0.7, "norm")]


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from(LOSSES), st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_rows_of_the_solution_are_never_left_out(seed, weighted, loss, alpha):
    problem = make(loss, alpha=alpha, weighted=weighted, seed=seed)
    optimum = FactoredADMM(tol=1e-11, max_iter=50_000).solve(problem)
    sizes = loss.sizes(problem.Y - optimum.prediction, problem.measure)
    for tol in (1e-1, 1e-2, 1e-4):
        rough = ProximalGradient(tol=tol).solve(problem)
        inside = certainly_inside(problem, problem.certificate(rough.coef))
        assert np.all(sizes[inside] < loss.epsilon)
        assert not np.any(np.abs(optimum.coef[inside]) > 1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_without_these_rows_the_solution_is_the_same(loss, weighted):
    problem = make(loss, weighted=weighted)
    whole = FactoredADMM(tol=1e-11, max_iter=50_000).solve(problem)
    inside = certainly_inside(problem, problem.certificate(whole.coef))
    assert 0.1 < inside.mean() < 1
    kept = np.flatnonzero(~inside)
    part = FactoredADMM(tol=1e-11, max_iter=50_000).solve(without_rows(problem, kept))
    np.testing.assert_allclose(part.coef, whole.coef[kept], atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_same_fit_with_fewer_products(loss, weighted, monkeypatch):
    work, solve = [], ProximalGradient._solve

    def counted(self, problem, init, monitor):
        result = solve(self, problem, init, monitor)
        work.append(result.n_iter * problem.shape[0] ** 2)
        return result

    monkeypatch.setattr(ProximalGradient, "_solve", counted)
    problem = make(loss, n=300, alpha=1e-3, weighted=weighted)
    plain = ProximalGradient(tol=1e-7, max_iter=100_000).solve(problem)
    alone = sum(work)
    work.clear()
    result = SafeScreening(tol=1e-7, max_iter=100_000).solve(problem)
    assert result.converged, result.message
    assert result.objective == pytest.approx(plain.objective, rel=1e-6)
    assert problem.certificate(result.coef).relative_gap == pytest.approx(result.relative_gap)
    assert sum(work) < 0.8 * alone


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_contract_of_solvers(loss):
    check_solver(SafeScreening(tol=1e-7, max_iter=50_000), make(loss, n=40, weighted=True))


def test_another_solver_inside_and_a_tube_around_everything():
    problem = make(EpsilonRidge(0.7))
    result = SafeScreening(tol=1e-9, solver=FactoredADMM()).solve(problem)
    assert result.converged
    assert result.objective == pytest.approx(ProximalGradient(tol=1e-9, max_iter=100_000).solve(problem).objective)
    nothing = SafeScreening().solve(make(EpsilonRidge(100.0)))
    assert nothing.converged
    assert not np.any(nothing.coef)


def test_a_solver_that_stalls_is_not_asked_again():
    asked = []

    class Stalls(ProximalGradient):
        def solve(self, problem, *arguments, **others):
            asked.append(self.tol)
            return replace(super().solve(problem, *arguments, **others), status="stalled")

    result = SafeScreening(tol=1e-9, solver=Stalls()).solve(make(EpsilonRidge(0.7)))
    assert result.status == "stalled"
    assert len(asked) == 1


def test_what_it_refuses():
    for problem, words in (
        (make(Huber(0.4, "norm")), "is none"),
        (make(EpsilonInsensitive(0.4, "componentwise")), "is none"),
        (make(EpsilonRidge(0.4), fit_intercept=True), "an intercept or missing"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            SafeScreening().solve(problem)
    with pytest.raises(UnsupportedError, match="no tube"):
        certainly_inside(make(Huber(0.4, "norm")), make(Huber(0.4, "norm")).certificate(np.zeros((80, 3))))
    with pytest.raises(ParameterError, match="a Solver or None"):
        SafeScreening(solver="admm")
