"""The table of ``select``, refusals and their remedies, degenerate problems, and the contract of every solver."""

from __future__ import annotations

import copy
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from cvxpy_primal import LOSSES, Data, make
from test_closed_form import strictly
from test_solvers_cvxpy import Logistic

import mercer.solvers as solvers
from mercer.exceptions import DataError, MercerError, ParameterError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonInsensitive, Expectile, Huber, Pinball, Square
from mercer.measures import Measure, Points
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem, level_set_problem, monotone_problem
from mercer.solvers import (
    ADMM,
    LBFGS,
    SOLVERS,
    ClosedForm,
    FactoredADMM,
    InteriorPoint,
    PreconditionedCG,
    ProximalGradient,
    SafeScreening,
    SemismoothNewton,
    SubspaceNewton,
    explain,
    plan,
    select,
)
from mercer.solvers.auto import TABLE
from mercer.testing import check_solver

ALL = [ClosedForm, PreconditionedCG, ProximalGradient, ADMM, InteriorPoint, SemismoothNewton, LBFGS]
every_solver = pytest.mark.parametrize("solver", ALL, ids=lambda s: s.__name__)


def first_accepted(solver):
    for loss in LOSSES:
        problem = make(loss).problem(loss)
        try:
            solver.check(problem)
        except MercerError:
            continue
        return loss
    raise AssertionError(f"{solver!r} accepts nothing")


# -- the table -----------------------------------------------------------------------------------------------------


def problems():
    for loss in LOSSES:
        yield make(loss).problem(loss)
        yield make(loss, masked=True, intercept=True).problem(loss)
        yield strictly(make(loss), loss)
    yield make(LOSSES[-1]).problem(Logistic())
    X = np.random.default_rng(0).normal(size=(1000, 20))
    alike, pair = Kronecker(Dense(Gaussian(0.1)(X)), Dense(np.eye(2))), Measure(np.arange(2.0), np.ones(2))
    yield DualProblem(alike, Huber(0.3), X[:, :2], pair, 1e-5)
    yield DualProblem(alike, Huber(0.3), X[:, :2], pair, 1e-3)
    levels, on_levels = Points([0.1, 0.5]).build(), np.array([[1.0, 0.5], [0.5, 1.0]])
    for penalties in ({}, {"alpha": 0.1}, {"coupling": 0.1}):
        gram = Dense(np.eye(5))
        yield level_set_problem(gram, levels, offset_gram=on_levels, output_gram=on_levels, **penalties)
    slope = Measure(np.array([0.5]), np.ones(1))
    rising = (
        Decomposable(Gaussian(1.0), Gaussian(1.0)).bind(levels).with_slopes(slope.points).gram(np.arange(5.0)[:, None])
    )
    yield monotone_problem(rising, Pinball(), np.eye(5)[:, :2], levels, 0.1, slope, np.inf, np.ones(1), None, True)


def applies(rule, problem):
    """Whether its condition holds, and its bound on the rank at the tolerance of the first spectral form."""
    if not rule.holds(problem, 1e-4):
        return False
    return rule.most_rank is None or problem.gram.spectral(problem.tolerance(1e-4)).rank <= rule.most_rank


def test_select_takes_the_first_row_that_holds():
    chosen = set()
    for problem in problems():
        expected = next(rule.solver for rule in TABLE if applies(rule, problem))
        solver = select(problem)
        assert type(solver) is expected
        solver.check(problem)
        chosen.add(expected)
    assert chosen == {rule.solver for rule in TABLE}, "each row is reached"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [Pinball(), Huber(0.3)], ids=repr)
def test_the_choice_does_not_depend_on_what_was_called_before(loss, weighted):
    """Products, dense forms and decompositions leave no trace, nor does a choice itself."""
    rng = np.random.default_rng(0)
    X, measure = rng.uniform(size=(1100, 3)), Measure(np.array([0.3, 0.7]), np.ones(2))
    Y = rng.normal(size=(1100, 2))
    gram = Decomposable(Gaussian(300.0), Gaussian(1.0)).bind(measure).gram(X)
    weight = rng.uniform(0.5, 2.0, 1100) if weighted else None
    problem = DualProblem(gram, loss, Y, measure, 0.5, weight)
    first, state = type(select(problem, 1e-2)), dict(problem.gram.__dict__)
    gram.left.to_dense(), gram.stored(), problem.gram.stored(), problem.gram @ Y, problem.gram.diagonal()
    problem.gram.spectral(10.0), explain(problem, 1e-2)
    assert problem.gram.__dict__ == state
    again = DualProblem(gram, loss, Y, measure, 0.5, weight)
    assert type(select(problem, 1e-2)) is type(select(again, 1e-2)) is first


def test_select_passes_settings_on():
    solver = select(make().problem(Huber(0.3)), tol=1e-3, max_iter=7)
    assert (solver.tol, solver.max_iter) == (1e-3, 7)


def test_documentation_lists_the_table():
    lines = inspect.getdoc(select).splitlines()
    rules = [i for i, line in enumerate(lines) if re.fullmatch(r"=+ =+", line.strip())]
    rows = [line.strip() for line in lines[rules[1] + 1 : rules[2]]]
    assert [tuple(re.split(r"\s+(?=\w+$)", row)) for row in rows] == [(r.when, r.solver.__name__) for r in TABLE]


def test_every_solver_has_a_name():
    one_kernel = {FactoredADMM, SafeScreening, SubspaceNewton}  # of all columns, which these ask for
    assert set(SOLVERS.values()) == {*ALL, *one_kernel}
    assert {getattr(solvers, cls.__name__) for cls in SOLVERS.values()} == {*ALL, *one_kernel}
    problem = make().problem(Huber(0.3))
    assert type(plan("admm", problem, 1e-3).solver) is ADMM
    own = ADMM(1e-2)
    assert plan(own, problem, 1e-3).solver is own
    with pytest.raises(MercerError, match="Did you mean 'admm'"):
        plan("adm", problem, 1e-3)
    with pytest.raises(MercerError, match="interior_point"):
        plan(3, problem, 1e-3)


# -- refusals ------------------------------------------------------------------------------------------------------

REFUSED = [
    (ClosedForm(), make().problem(Huber(0.3))),
    (InteriorPoint(), make().problem(Expectile())),
    (InteriorPoint(), make().problem(EpsilonInsensitive(0.2, "pointwise"))),
    (InteriorPoint(max_rank=4), make().problem(Pinball())),
    (SemismoothNewton(), make().problem(Expectile())),
    (LBFGS(), make().problem(Pinball())),
    (ADMM(), make(LOSSES[-1]).problem(Logistic())),
    (ProximalGradient(), make(LOSSES[-1]).problem(Logistic())),
    (ADMM(), strictly(make(), Pinball())),
    (InteriorPoint(), strictly(make(), Pinball())),
    (LBFGS(), strictly(make(), Huber(0.3))),
]


@pytest.mark.parametrize(("solver", "problem"), REFUSED, ids=lambda v: repr(getattr(v, "loss", v)))
def test_refusals_name_a_remedy_that_works(solver, problem):
    with pytest.raises(UnsupportedError) as refusal:
        solver.solve(problem)
    message = str(refusal.value)
    named = re.findall(r"Use (\w+)", message)
    assert named, message
    remedy = getattr(solvers, named[0])()
    remedy.check(problem)
    assert remedy.solve(problem).relative_gap < 1e-3


@every_solver
def test_float32_refuses_a_small_tol(solver):
    loss = first_accepted(solver())
    data = make(loss)
    single = Data(**{k: v.astype(np.float32) if isinstance(v, np.ndarray) else v for k, v in data.__dict__.items()})
    problem = single.problem(loss)
    with pytest.raises(ParameterError, match=r"tol must be at least 1e-5 for float32"):
        solver(tol=1e-6).solve(problem)
    result = solver(tol=1e-4).solve(problem)
    assert result.converged, result.message
    assert result.coef.dtype == np.float32
    exact = solver(tol=1e-6).solve(data.problem(loss))
    assert result.objective == pytest.approx(exact.objective, rel=3e-4)


@every_solver
def test_settings_are_checked(solver):
    loss = first_accepted(solver())
    problem = make(loss).problem(loss)
    with pytest.raises(MercerError, match="tol"):
        solver(tol=-1.0).solve(problem)
    with pytest.raises(MercerError, match="max_iter"):
        solver(max_iter=0).solve(problem)
    with pytest.raises(MercerError, match=r"init must be an array of shape \(6, 3\)"):
        solver().solve(problem, init=np.zeros((3, 6)))


# -- degenerate problems -------------------------------------------------------------------------------------------


@every_solver
def test_perfect_intercept_only_model(solver):
    """P₀ = 0: the constant y is fitted by b alone, with gap 0 and zero coefficients."""
    loss = first_accepted(solver())
    data = make(loss, intercept=True)
    problem = Data(**{**data.__dict__, "Y": np.full_like(data.Y, 0.7)}).problem(loss)
    result = solver().solve(problem)
    assert (result.gap, result.relative_gap, result.objective) == (0, 0, 0)
    assert result.converged
    assert not result.coef.any()
    np.testing.assert_allclose(result.intercept, 0.7)


@every_solver
def test_zero_kernel(solver):
    loss = first_accepted(solver())
    data = make(loss, intercept=True)
    problem = Data(**{**data.__dict__, "left": np.zeros_like(data.left)}).problem(loss)
    result = solver().solve(problem)
    assert result.converged, result.message
    assert result.objective == pytest.approx(problem.null_model[0], rel=1e-3)


@every_solver
def test_nan_is_never_returned(solver):
    loss = first_accepted(solver())
    data = make(loss)
    broken = np.full_like(data.left, np.nan)
    with pytest.raises(MercerError, match=r"finite|kernel values"):
        solver().solve(Data(**{**data.__dict__, "left": broken}).problem(loss))
    broken = data.left.copy()
    broken[0, 1] = broken[1, 0] = np.nan  # which the diagonal does not show
    with pytest.raises(MercerError):
        solver().solve(Data(**{**data.__dict__, "left": broken}).problem(loss))


def test_nan_in_the_objective_is_reported():
    class Broken(Square):
        def value(self, Y, U, measure):
            return super().value(Y, U, measure) * (np.nan if np.any(U) else 1.0)

    with pytest.raises(DataError, match="met NaN in the objective at iteration"):
        ADMM().solve(make().problem(Broken()))


@every_solver
def test_one_sample_and_one_node(solver):
    loss = first_accepted(solver())
    result = solver().solve(make(loss, n=1, m=1).problem(loss))
    assert result.converged, result.message


@every_solver
def test_message_names_tol_or_remedy(solver):
    loss = first_accepted(solver())
    problem = make(loss).problem(loss)
    result = solver().solve(problem)
    assert f"within tol = {result.solver.tol:g}" in result.message
    stopped = solver(tol=1e-9).solve(problem, callback=lambda n_iter, certificate: True)
    reached = stopped.relative_gap <= 1e-9  # at the first look, which some solvers are exact at
    assert stopped.status == ("converged" if reached else "stopped")
    assert ("callback stopped it" in stopped.message) is not reached


# -- the public contract -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "solver",
    [ClosedForm(), ProximalGradient(1e-3), ADMM(1e-6), InteriorPoint(), SemismoothNewton(), LBFGS(1e-6)],
    ids=lambda s: type(s).__name__,
)
def test_contract(solver):
    check_solver(solver)


def test_contract_on_strict_arrays():
    check_solver(ProximalGradient(1e-3), strictly(make(intercept=True, weighted=True), Huber(0.3, "pointwise")))


class _Lying(ProximalGradient):
    """A solver that forgets feasibility, the certificate or the callback, in turn."""

    def _solve(self, problem, init, monitor):
        result = super()._solve(problem, init, monitor)
        return self.spoil(problem, result)


def replaced(result, **changes):
    return type(result)(**{**result.__dict__, **changes})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p, r: replaced(r, coef=r.coef + 1e-3), "Σ_i s_i a_i|domain"),
        (lambda p, r: replaced(r, coef=2 * r.coef), "domain"),
        (lambda p, r: replaced(r, coef=0.9 * r.coef), "recomputed"),
        (lambda p, r: replaced(r, gap=-1.0), "≥ 0"),
        (lambda p, r: replaced(r, objective=1.01 * r.objective), "objective"),
        (lambda p, r: replaced(r, relative_gap=0.0, gap=0.0), "recomputed|status"),
        (lambda p, r: replaced(r, status="max_iter"), "status"),
        (lambda p, r: replaced(r, history=[]), "history"),
        (lambda p, r: replaced(r, intercept=r.intercept + 0.1), "intercept"),
    ],
)
def test_contract_catches(spoil, message):
    solver = _Lying(1e-6)
    solver.spoil = spoil
    problem = make(Pinball(), intercept=True).problem(Pinball())
    with pytest.raises(AssertionError, match=message):
        check_solver(solver, problem)


def test_contract_catches_a_solver_that_cannot_be_interrupted():
    class Deaf(ProximalGradient):
        def _solve(self, problem, init, monitor):
            monitor.interrupted = None
            return super()._solve(problem, init, monitor)

    with pytest.raises(AssertionError, match="it was interrupted"):
        check_solver(Deaf(1e-8, max_iter=10), make(Pinball(), intercept=True).problem(Pinball()))


def test_contract_catches_a_solver_that_ignores_weights():
    class Unweighted(ProximalGradient):
        def _solve(self, problem, init, monitor):
            plain = copy.copy(problem)
            plain.sample_weight = np.ones_like(problem.sample_weight)
            return super()._solve(plain, init, monitor)

    with pytest.raises(AssertionError, match=r"recomputed|differ|Σ_i"):
        check_solver(Unweighted(1e-6, max_iter=300), make(Pinball(), weighted=True, intercept=True).problem(Pinball()))


def test_contract_of_a_trivial_problem():
    data = make(intercept=True)
    check_solver(ADMM(), Data(**{**data.__dict__, "Y": np.full_like(data.Y, 0.7)}).problem(Huber(0.3)))


def test_contract_refuses_a_problem_outside_requires():
    with pytest.raises(UnsupportedError, match="the square loss"):
        check_solver(ClosedForm(), make().problem(Pinball()))


def test_explain_marks_the_row_that_select_takes():
    for problem in problems():
        lines = explain(problem).splitlines()
        assert len(lines) == len(TABLE)
        marked = [line for line in lines if line.startswith("->")]
        assert [line.split()[-1] for line in marked] == [type(select(problem)).__name__]


def test_the_design_page_has_the_same_table():
    page = (Path(__file__).parents[2] / "docs" / "design.md").read_text()
    for rule in TABLE:
        assert f"| {rule.when} | {rule.solver.__name__} |" in page
