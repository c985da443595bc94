"""Many λ at once are the fits one by one."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.linalg import Kronecker
from mercer.losses import Pinball
from mercer.measures import GaussLegendre
from mercer.model_selection.path import solve_path
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem
from mercer.solvers import ADMM, InteriorPoint, ProximalGradient

RNG = np.random.default_rng(2)
X = RNG.uniform(size=(120, 1))
Y = np.repeat(np.sin(5 * X) + 0.5 * RNG.normal(size=(120, 1)), 6, axis=1)
MEASURE = GaussLegendre(6).build(X)
ALPHAS = [1e-2, 1e-5, 1.0]


def problem(alpha=1.0, gamma=10.0):
    gram = Decomposable(Gaussian(gamma), Gaussian(2.0)).bind(MEASURE).gram(X)
    return DualProblem(gram, Pinball(), Y, MEASURE, alpha, None, True)


@pytest.mark.parametrize("solver", ["auto", "admm", "interior_point", "semismooth_newton"])
def test_the_results_are_those_of_single_fits_in_the_order_given(solver):
    results = list(solve_path(problem(), ALPHAS, solver, tol=1e-5))
    for alpha, result in zip(ALPHAS, results, strict=True):
        single = problem(alpha)
        assert result.relative_gap <= 1e-5
        assert single.certificate(result.coef).relative_gap <= 1.01e-5  # of the problem with this λ
        assert result.objective == pytest.approx(InteriorPoint(tol=1e-7).solve(single).objective, rel=2e-5)


def test_one_eigendecomposition_serves_all(monkeypatch):
    from_scratch, whole = [], Kronecker._decompose

    def decompose(self, tolerance):
        from_scratch.append(tolerance)
        return whole(self, tolerance)

    monkeypatch.setattr(Kronecker, "_decompose", decompose)
    list(solve_path(problem(), ALPHAS, "admm", tol=1e-2))
    assert len(from_scratch) == 1


def test_the_solver_and_its_limits():
    results = list(solve_path(problem(), ALPHAS, ADMM(tol=0.5, max_iter=3000), tol=1e-3))
    assert all(isinstance(result.solver, ADMM) and result.relative_gap <= 1e-3 for result in results)
    short = list(solve_path(problem(), [1e-5], "proximal_gradient", tol=1e-3, max_iter=2))
    assert isinstance(short[0].solver, ProximalGradient)
    assert (short[0].status, short[0].n_iter) == ("max_iter", 2)
    with pytest.raises(ValueError, match="me: solver must be"):
        solve_path(problem(), [1.0], "newton", owner="me")
