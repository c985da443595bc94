"""Cases that once went wrong: offsets, nodes nobody observed, masked paths, restarts, settings."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from cvxpy_primal import make

from mercer.datasets import make_sine
from mercer.exceptions import ParameterError
from mercer.kernels import Gaussian, Linear
from mercer.losses import Huber, Loss, MoreauPinball, Pinball, Square, WeightedHuber
from mercer.measures import GaussLegendre, Measure
from mercer.operator_valued import BoundPairs, Decomposable
from mercer.problems import DualProblem, curve_problem
from mercer.solvers import ADMM, LBFGS, ClosedForm, InteriorPoint, ProximalGradient, lbfgs, plan, select, sweep


def problem_of(loss, Y=None, offset=0.0, alpha=1e-2):
    X, y = make_sine(60, random_state=0)
    measure = GaussLegendre(4).build()
    gram = Decomposable(Gaussian(5.0), Gaussian(2.0)).bind(measure).gram(X)
    Y = np.repeat(y[:, None], 4, axis=1) if Y is None else Y
    return DualProblem(gram, loss, Y + offset, measure, alpha, fit_intercept=True)


@dataclass(eq=False, repr=False)
class LogCosh(Loss):
    smooth = True

    def value(self, Y, U, measure):
        return measure.integrate(np.logaddexp(Y - U, U - Y) - np.log(2))

    def gradient(self, Y, U, measure):
        return np.tanh(U - Y)


@pytest.mark.parametrize("offset", [0.0, 1e3, -1e6])
def test_a_loss_without_conjugate_is_certified_at_any_offset(offset):
    optimum = LBFGS(1e-8).solve(problem_of(LogCosh())).objective
    result = LBFGS(1e-4, check_every=1).solve(problem_of(LogCosh(), offset=offset))
    assert result.converged
    assert result.objective == pytest.approx(optimum, rel=3e-4)
    assert result.objective - optimum <= result.gap + 1e-6 * optimum


@pytest.mark.parametrize("solver", [InteriorPoint(1e-5), ADMM(1e-5), ProximalGradient(1e-5)], ids=repr)
def test_a_node_that_nobody_observed(solver):
    Y = np.repeat(make_sine(60, random_state=0)[1][:, None], 4, axis=1)
    Y[:, 1] = np.nan
    result = solver.solve(problem_of(Pinball(), Y))
    assert result.converged
    np.testing.assert_array_equal(result.coef[:, 1], 0)


def test_path_with_missing_entries_equals_separate_fits():
    Y = np.repeat(make_sine(60, random_state=0)[1][:, None], 4, axis=1)
    Y[::3, 1] = np.nan
    problem = problem_of(Square(), Y)
    solver = ClosedForm(tol=1e-20)  # to rounding
    for alpha, result in zip([1e-1, 1e-3], solver.path(problem, [1e-1, 1e-3]), strict=True):
        assert result.relative_gap < 1e-14
        expected = solver.solve(problem.with_alpha(alpha))
        np.testing.assert_allclose(result.coef, expected.coef, atol=1e-10)


@pytest.mark.parametrize("solver", [InteriorPoint(), ADMM(), ProximalGradient()], ids=repr)
def test_nothing_is_done_from_a_solution(solver):
    problem = problem_of(Pinball())
    solution = solver.solve(problem)
    again = solver.solve(problem, init=solution.coef)
    assert again.n_iter == 0
    assert again.converged


def test_lbfgs_starts_from_where_it_is_told():
    problem = problem_of(MoreauPinball(0.1))
    near = LBFGS(1e-4).solve(problem)
    assert LBFGS(1e-6).solve(problem, init=near.coef).n_iter < LBFGS(1e-6).solve(problem).n_iter


@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        (LBFGS, {"check_every": 0}),
        (LBFGS, {"memory": -1}),
        (ProximalGradient, {"check_every": 0}),
        (InteriorPoint, {"max_rank": "a"}),
    ],
)
def test_settings_are_checked_when_a_solver_is_made(solver, settings):
    with pytest.raises(ParameterError, match=next(iter(settings))):
        solver(**settings)


def test_an_infeasible_array_has_an_infinite_gap():
    assert problem_of(Pinball()).certificate(np.full((60, 4), 5.0)).relative_gap == np.inf


def test_integer_targets_and_bad_starts():
    problem = problem_of(Pinball(), np.arange(240).reshape(60, 4) % 7)
    assert select(problem).solve(problem).converged
    with pytest.raises(ParameterError, match="init must be an array of shape"):
        ADMM().solve(problem, init=[1.0])


def test_admm_takes_the_rows_of_a_curve_together(monkeypatch):
    rng = np.random.default_rng(0)
    X, rows, points = rng.uniform(size=(6, 1)), np.repeat(np.arange(6), 5), rng.uniform(size=30)
    Y = rng.normal(size=(30, 1))
    gram = BoundPairs(Gaussian(2.0), Gaussian(5.0), rows, points).gram(X)
    problem = curve_problem(gram, Huber(0.3), Y, rows, 1e-2)
    whole = ADMM(tol=1e-8).solve(problem)
    monkeypatch.setattr(sweep, "BLOCK_ENTRIES", 7)
    in_blocks = ADMM(tol=1e-8).solve(problem)
    assert in_blocks.converged
    np.testing.assert_allclose(in_blocks.coef, whole.coef, atol=1e-10)


def test_lbfgs_that_crawls_says_so(monkeypatch):
    monkeypatch.setattr(lbfgs, "STEPS_TO_GIVE_UP", 1)
    result = LBFGS(1e-14, check_every=1).solve(problem_of(LogCosh()))
    assert result.status == "stalled"
    gaps = np.array([gap for _, gap, _ in result.history])
    assert result.relative_gap == gaps.min()
    assert result.n_iter < 50


def test_an_iteration_that_diverges_ends_with_a_model():
    """Kernel values of 1e24 beside an intercept: rounding is magnified until ADMM overflows."""
    rng = np.random.default_rng(0)
    X = 1e12 + rng.normal(size=(30, 1))
    measure = Measure(np.array([0.2, 0.8]), np.array([0.5, 0.5]))
    gram = Decomposable(Gaussian(0.5) + Linear(), Gaussian(1e-12)).bind(measure).gram(X)
    Y = np.repeat(1e-12 * rng.normal(size=(30, 1)), 2, axis=1)
    problem = DualProblem(gram, WeightedHuber(1e-15), Y, measure, 1e-6, fit_intercept=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = plan("admm", problem, 1e-3).solve()
    assert np.all(np.isfinite(result.coef))
    assert result.objective <= problem.null_model[0] * (1 + 1e-9)


def test_steps_that_crawl_stop():
    data = make(Pinball(), intercept=True, alpha=1e-7)
    result = ProximalGradient(tol=1e-9).solve(data.problem(Pinball()))
    assert result.converged or result.n_iter < 10_000
    assert result.status in ("converged", "stalled")
