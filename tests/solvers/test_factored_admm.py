"""FactoredADMM: the contract of solvers, the fits of others, and when it is taken."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, MaxMargin, Pinball, Square
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, FactoredADMM, ProximalGradient, SubspaceNewton, select
from mercer.testing import check_solver


def make(loss, n=40, p=3, alpha=1e-2, d=3, weighted=False, masked=False, size=1.0, **settings):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(n, d)), size * rng.normal(size=(n, p))
    if masked:
        Y[rng.random(Y.shape) < 0.2] = np.nan
    gram = Kronecker(Dense(Gaussian(0.5)(X)), Dense(2.0 * np.eye(p)))
    weight = rng.uniform(0.3, 2, n) if weighted else None
    return DualProblem(gram, loss, Y, Measure(np.arange(float(p)), np.ones(p)), alpha, weight, **settings)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "loss", [EpsilonRidge(0.5), Huber(0.4), EpsilonInsensitive(0.4), MaxMargin(), Huber(0.4, "pointwise")], ids=repr
)
def test_it_is_the_fit_of_proximal_gradient(loss, weighted, masked):
    for alpha in (1e-1, 1e-3):
        problem = make(loss, alpha=alpha, weighted=weighted, masked=masked)
        result = FactoredADMM(tol=1e-8).solve(problem)
        other = ProximalGradient(tol=1e-8, max_iter=100_000).solve(problem)
        assert result.converged, result.message
        assert result.objective == pytest.approx(other.objective, rel=1e-7)
        assert problem.certificate(result.coef).relative_gap == pytest.approx(result.relative_gap)


@pytest.mark.parametrize("loss", [EpsilonRidge(0.5), EpsilonInsensitive(0.4)], ids=repr)
def test_the_contract_of_solvers(loss):
    check_solver(FactoredADMM(tol=1e-7), make(loss, weighted=True))


def test_steps_do_not_depend_on_the_unit_of_y():
    found = [FactoredADMM(tol=1e-7).solve(make(EpsilonRidge(0.5 * size), size=size)).n_iter for size in (1, 1e-6, 1e6)]
    assert len(set(found)) == 1


def test_what_it_refuses():
    problem = make(Huber(0.4), fit_intercept=True)
    with pytest.raises(UnsupportedError, match="has an intercept"):
        FactoredADMM().solve(problem)
    gram = Kronecker(Dense(np.eye(3)), Dense(np.diag([1.0, 2.0])))
    mixed = DualProblem(gram, Pinball(), np.ones((3, 2)), Measure(np.array([0.2, 0.7]), np.ones(2)), 0.1)
    with pytest.raises(UnsupportedError, match="treats them differently"):
        FactoredADMM().solve(mixed)


def test_when_it_is_taken():
    """Where the spectrum decays slowly, λ is small and the loss is of norms; else others, as before."""
    rough = {"n": 1000, "d": 20}
    assert isinstance(select(make(EpsilonRidge(0.5), alpha=1e-5, **rough)), FactoredADMM)
    assert isinstance(select(make(EpsilonRidge(0.5), alpha=1.0, **rough)), SubspaceNewton)
    assert isinstance(select(make(EpsilonRidge(0.5), alpha=1e-5, n=1000, d=1)), ADMM)
    for problem in (
        make(EpsilonRidge(0.5), alpha=1e-5, fit_intercept=True, **rough),
        make(EpsilonInsensitive(0.5), alpha=1e-5, **rough),
        make(Square(), alpha=1e-5, **rough),
        make(EpsilonRidge(0.5), alpha=1e-5, d=20, n=100),
    ):
        assert not isinstance(select(problem), FactoredADMM)


@pytest.mark.parametrize("solver", [FactoredADMM(1e-4), ADMM(1e-4)], ids=repr)
@pytest.mark.parametrize("alpha", [1e-5, 1e-7])
def test_a_tube_around_the_null_array_is_left(solver, alpha):
    """ρ is so small at first that the prox returns zeros only, from which no ratio of residuals says how to go on."""
    K = Gaussian(0.5)(np.random.default_rng(2).normal(size=(5, 2)))
    measure = Measure(np.zeros(1), np.ones(1))
    posed = DualProblem(Kronecker(Dense(K), Dense(np.eye(1))), EpsilonInsensitive(0.4), np.ones((5, 1)), measure, alpha)
    assert solver.solve(posed).converged


def test_a_matrix_beside_which_rho_is_rounding():
    rng = np.random.default_rng(0)
    K = 1e16 * (u := rng.normal(size=(30, 2))) @ u.T
    measure = Measure(np.arange(3.0), np.ones(3))
    posed = DualProblem(
        Kronecker(Dense(K), Dense(np.eye(3))), EpsilonRidge(0.1), rng.normal(size=(30, 3)), measure, 1e-3
    )
    result = FactoredADMM(1e-3, max_iter=50).solve(posed)
    assert np.all(np.isfinite(result.coef))
