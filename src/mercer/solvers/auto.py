"""Which solver for which problem: one table, used by ``select`` and printed in the documentation."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import is_numpy
from mercer.exceptions import parameter_error
from mercer.losses.square import Square
from mercer.problems import DualProblem, Intercept, Offsets, PenalisedOffsets
from mercer.solvers.admm import ADMM, like_square
from mercer.solvers.base import Callback, Interrupted, Solver, SolverResult
from mercer.solvers.closed_form import ClosedForm
from mercer.solvers.factored_admm import FactoredADMM
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.lbfgs import LBFGS
from mercer.solvers.level_sets import LevelPath
from mercer.solvers.level_sets_newton import OffsetNewton
from mercer.solvers.preconditioned_cg import PreconditionedCG
from mercer.solvers.proximal_gradient import ProximalGradient
from mercer.solvers.reduction import first_share, prepared
from mercer.solvers.safe_screening import SafeScreening
from mercer.solvers.semismooth_newton import SemismoothNewton
from mercer.solvers.subspace_newton import CONDITIONING_ROWS, SubspaceNewton

__all__ = ["SOLVERS", "TABLE", "Plan", "Rule", "afford", "explain", "no_worse_than_null", "plan", "select"]

#: solvers by the names that estimators accept
SOLVERS: dict[str, type[Solver]] = {
    "admm": ADMM,
    "closed_form": ClosedForm,
    "factored_admm": FactoredADMM,
    "interior_point": InteriorPoint,
    "lbfgs": LBFGS,
    "preconditioned_cg": PreconditionedCG,
    "proximal_gradient": ProximalGradient,
    "safe_screening": SafeScreening,
    "semismooth_newton": SemismoothNewton,
    "subspace_newton": SubspaceNewton,
}

#: rows up to which an eigendecomposition of the input Gram is cheaper than anything else
FEW_ROWS = 900
#: steps of the proximal gradient method in units of the root of the condition number, measured, and the least gap that
#: losses unlike the square loss reach in so many
STEPS_LIKE_SQUARE, STEPS_OF_OTHERS, LEAST_GAP = 7.0, 60.0, 1e-5
#: gaps for which the sweeps of ADMM do where the rank is large
LOOSE_GAP = 5e-3
#: curvature of a box dual, in units of typical residual over typical dual variable, above which ADMM takes few steps
CURVED = 0.1
#: rows from which the condition number and the rank of a Gram matrix are guessed
SAMPLE = 200
#: operations of products in units of those of a decomposition up to which they are taken: products run faster
DECOMPOSITION_SHARE = 4 / 9
#: sweeps that level sets of features take, and multiplications of pairs of rows in units of n²
SWEEPS_OF_LEVELS, WORK_OF_PAIRS = 200, 400
#: products that the steps of FactoredADMM amount to, and its factor per operation of theirs, measured: thin products
#: run four times as slowly
FACTORED_STEPS, FACTOR_SHARE = 80, 0.25
#: largest eigenvalue of 𝐊/(λn) beyond the landmarks of SubspaceNewton for which its steps are few, measured
BEYOND_LANDMARKS = 30.0
#: share of the trace in the smaller half of the eigenvalues of that sample above which the rank is taken as large
SLOW_DECAY = 1e-3


@dataclass(frozen=True)
class Rule:
    """One row of the table: the first whose condition holds decides.

    ``most_rank`` bounds the rank of the spectral form, too. To look at that costs a decomposition, which is then kept
    in the problem that the solver gets.
    """

    when: str
    solver: type[Solver]
    holds: Callable[[DualProblem, float], bool]
    most_rank: int | None = None


class Plan(NamedTuple):
    """A solver, and the problem with what was computed of its Gram operator to choose it."""

    solver: Solver
    problem: DualProblem

    def solve(
        self, init: Any = None, callback: Callback | None = None, interrupted: Interrupted | None = None
    ) -> SolverResult:
        """Solve the problem; the intercept-only model is returned where what was found is worse."""
        result = self.solver.solve(self.problem, init, callback, interrupted)
        return no_worse_than_null(self.problem, result)


def no_worse_than_null(problem: DualProblem, result: SolverResult) -> SolverResult:
    """Return a result, or the model of the null array where rounding or a stop may have made the former worse.

    Both are taken for as bad as rounding may have made them: what is returned is what can be vouched for. The latter is
    the model h = 0 with its intercept; for level sets, where that says nothing, the one of equal coefficients. Losses
    without a conjugate have no certificate for it.
    """
    if result.converged or not problem.loss.has_conjugate:
        return result
    A = problem.feasible(problem.null_array)
    certificate = problem.certificate(A)
    if not certificate.primal + certificate.doubt < result.objective + result.doubt:
        return result
    return replace(
        result,
        status="converged" if certificate.relative_gap <= result.solver.tol else result.status,
        coef=A,
        intercept=certificate.intercept,
        gap=certificate.gap,
        relative_gap=certificate.relative_gap,
        objective=certificate.primal,
        doubt=certificate.doubt,
        prediction=certificate.prediction,
    )


def _box(problem: DualProblem, tol: float) -> bool:
    """Whether the dual is a quadratic on a box, and ADMM takes more than few steps.

    These do where the dual is curved, as the loss is smooth, and for a loose gap where a large rank makes Newton steps
    dear.
    """
    if problem.box is None:
        return False
    curved = like_square(problem) or problem.box.curvature > CURVED * problem.unit
    if curved and problem.measure.observed is None and not problem.has_slopes:
        return False
    return tol < LOOSE_GAP or not _slow_decay(problem.gram.sample_spectrum(SAMPLE))


def _strict_slopes(problem: DualProblem, tol: float) -> bool:
    """Whether slopes are constrained, so that their dual variables are not bounded, and the kernel decomposes."""
    if not problem.has_slopes or problem.box is None or not problem.gram.decomposes:
        return False
    return not np.all(np.isfinite(problem.box.upper))


def _levels(offsets: type[Intercept]) -> Callable[[DualProblem, float], bool]:
    """Return whether a problem has offsets of this kind and levels that are not coupled."""
    return lambda problem, tol: isinstance(problem.intercept, offsets) and problem.gram.columns_alike


def _levels_of_features(problem: DualProblem, tol: float) -> bool:
    """Whether level sets are cheaper by sweeps over all rows than by steps on pairs of rows: with few features.

    Pairs take about 400 n² multiplications, whatever the kernel.
    """
    if not _levels(Offsets)(problem, tol):
        return False
    costs = problem.gram.costs
    return costs.decomposition + SWEEPS_OF_LEVELS * costs.product <= WORK_OF_PAIRS * problem.shape[0] ** 2


def _slow_decay(values: np.ndarray | None) -> bool:
    """Whether a spectrum on a sample of the rows, where it is known, is that of a large rank."""
    return values is not None and float(values[: SAMPLE // 2].sum()) > SLOW_DECAY * float(values.sum())


def _well_conditioned(problem: DualProblem, tol: float) -> bool:
    """Whether the few products of a proximal gradient method cost less than an eigendecomposition.

    The dual of a loss like the square loss has a condition number of 1 + ‖𝐊‖/(λn) =: C, and about 7√C accelerated steps
    stand against an eigendecomposition (``Gram.costs``), unless the input Gram is of low rank. Other losses have the
    unit of the problem in place of 1, and take more steps. C and the decay of the spectrum are those of a sample of the
    rows.
    """
    n, quick = problem.shape[0], like_square(problem)
    plain = problem.intercept is None or (problem.intercept.plain and problem.loss.pointwise)  # else proxes are dear
    if not plain or problem.has_slopes or n <= FEW_ROWS or (not quick and tol < LEAST_GAP):
        return False
    values = problem.gram.sample_spectrum(SAMPLE)
    if values is None:
        return False
    size = problem.scale * float(values[-1]) * n / SAMPLE
    condition, steps = (1 + size, STEPS_LIKE_SQUARE) if quick else (1 + size / problem.unit, STEPS_OF_OTHERS)
    costs = problem.gram.costs
    return (
        _slow_decay(values)
        and steps * math.sqrt(condition) * costs.product <= DECOMPOSITION_SHARE * costs.decomposition
    )


def _norms_of_large_rank(problem: DualProblem) -> np.ndarray | None:
    """Return eigenvalues of 𝐊/(λn), ascending, as a sample of the rows has them; None of other problems.

    For losses of norms like the square loss, with one kernel for all columns, whose spectrum decays slowly.
    """
    n, measure = problem.shape[0], problem.measure
    plain = problem.intercept is None and not problem.has_slopes and measure.observed is None
    if not (plain and problem.loss.of_norms and like_square(problem) and is_numpy(problem.Y) and n > FEW_ROWS):
        return None
    if not problem.gram.columns_alike:
        return None
    values = problem.gram.sample_spectrum(SAMPLE)
    return problem.scale * n / SAMPLE * values if values is not None and _slow_decay(values) else None


def _few_large_eigenvalues(problem: DualProblem, tol: float) -> bool:
    """Whether a few landmarks leave a well-conditioned problem of norms."""
    values = _norms_of_large_rank(problem)
    if values is None:
        return False
    beyond = min(math.ceil(CONDITIONING_ROWS * SAMPLE / problem.shape[0]), SAMPLE - 1)
    return float(values[-1 - beyond]) <= BEYOND_LANDMARKS


def _norms_of_full_rank(problem: DualProblem, tol: float) -> bool:
    """Whether a Cholesky factor is cheaper than the steps of a proximal gradient method, for a problem of norms."""
    values = _norms_of_large_rank(problem)
    if values is None:
        return False
    costs, steps = problem.gram.costs, STEPS_LIKE_SQUARE * math.sqrt(1 + float(values[-1]))
    return FACTOR_SHARE * costs.factorisation + FACTORED_STEPS * costs.product < steps * costs.product


TABLE: tuple[Rule, ...] = (
    Rule("level sets without coupling, few features", SemismoothNewton, _levels_of_features),
    Rule("level sets without coupling, free offsets", LevelPath, _levels(Offsets)),
    Rule("level sets without coupling, penalised offsets", OffsetNewton, _levels(PenalisedOffsets)),
    Rule("slopes that must not be negative, of medium rank", InteriorPoint, _strict_slopes, InteriorPoint.max_rank),
    Rule("square loss", ClosedForm, lambda problem, tol: isinstance(problem.loss, Square)),
    Rule("loss without a conjugate prox (smooth)", LBFGS, lambda problem, tol: not problem.loss.has_conjugate),
    Rule("arrays other than NumPy's", ProximalGradient, lambda problem, tol: not is_numpy(problem.Y)),
    Rule("norms, one kernel of large rank", SubspaceNewton, _few_large_eigenvalues),
    Rule("norms, one kernel of large rank, small λ", FactoredADMM, _norms_of_full_rank),
    Rule("λ and rank large, no intercept beside norms", ProximalGradient, _well_conditioned),
    Rule("box dual of little curvature, or with missing values", SemismoothNewton, _box),
    Rule("anything else", ADMM, lambda problem, tol: True),
)


def select(problem: DualProblem, tol: float = 1e-4, max_iter: int | None = None) -> Solver:
    """Return the solver that ``solver="auto"`` uses: the first row of the table whose condition holds.

    ``print(explain(problem))`` shows which one it is; ``plan("auto", problem, tol).solve()`` also uses what the choice
    had to compute.

    ====================================================== ================
    problem                                                solver
    ====================================================== ================
    level sets without coupling, few features              SemismoothNewton
    level sets without coupling, free offsets              LevelPath
    level sets without coupling, penalised offsets         OffsetNewton
    slopes that must not be negative, of medium rank       InteriorPoint
    square loss                                            ClosedForm
    loss without a conjugate prox (smooth)                 LBFGS
    arrays other than NumPy's                              ProximalGradient
    norms, one kernel of large rank                        SubspaceNewton
    norms, one kernel of large rank, small λ               FactoredADMM
    λ and rank large, no intercept beside norms            ProximalGradient
    box dual of little curvature, or with missing values   SemismoothNewton
    anything else                                          ADMM
    ====================================================== ================

    "Level sets" are those of a :func:`~mercer.problems.level_set_problem`, "slopes" those of a
    :func:`~mercer.problems.monotone_problem`. "Medium rank" means a product of the numerical ranks of the two Gram
    matrices of at most 3 000. Losses like the square loss (Huber, ε-ridge) and smooth ones (M-quantiles), whose duals
    have "curvature", take ADMM tens of steps only; λ is "large" where a few products with the Gram matrix cost less
    than its eigendecomposition.

    Parameters
    ----------
    problem : DualProblem
        What will be solved.
    tol : float, default=1e-4
        Relative duality gap to reach.
    max_iter : int, optional
        Limit on the number of iterations; that of the solver by default.
    """
    return plan("auto", problem, tol, max_iter).solver


def _choose(problem: DualProblem, tol: float) -> tuple[Rule, DualProblem]:
    """Return the rule that decides, and the problem with what was computed on the way."""
    for rule in TABLE[:-1]:
        if not rule.holds(problem, tol):
            continue
        if rule.most_rank is None:
            return rule, problem
        problem = prepared(problem, first_share(problem, tol))
        if problem.gram.spectral(problem.tolerance(first_share(problem, tol))).rank <= rule.most_rank:
            return rule, problem
    return TABLE[-1], problem


def explain(problem: DualProblem, tol: float = 1e-4) -> str:
    """Return the table of :func:`select` with an arrow at the row that this problem takes, to be printed."""
    chosen = _choose(problem, tol)[0]
    width = max(len(rule.when) for rule in TABLE)
    rows = [f"{'->' if rule is chosen else '  '} {rule.when:<{width}}  {rule.solver.__name__}" for rule in TABLE]
    return "\n".join(rows)


def afford(value: Any, problem: DualProblem, tol: float) -> None:
    """Refuse at once a problem that clearly does not fit into the memory budget, whatever :func:`plan` would choose.

    It decomposes nothing: a row of the table that depends on the rank counts as one that holds.
    """
    if isinstance(value, Solver):
        value.afford(problem)
    elif value == "auto":
        rule = next(rule for rule in TABLE if rule.holds(problem, tol))
        _make(rule.solver, tol, None).afford(problem)
    elif isinstance(value, str) and value in SOLVERS:
        _make(SOLVERS[value], tol, None).afford(problem)


def _make(solver: type[Solver], tol: float, max_iter: int | None) -> Solver:
    settings: dict[str, Any] = {"tol": tol} if max_iter is None else {"tol": tol, "max_iter": max_iter}
    return solver(**settings)


def plan(value: Any, problem: DualProblem, tol: float, max_iter: int | None = None, owner: object = "plan") -> Plan:
    """Return the solver meant by ``"auto"``, a name or a :class:`Solver`, with the problem that it should solve.

    A Solver is taken with its own settings. To choose, ``"auto"`` may have to decompose the Gram operator; the problem
    of the plan keeps that.
    """
    if isinstance(value, Solver):
        return Plan(value, problem)
    if isinstance(value, str) and value == "auto":
        rule, problem = _choose(problem, tol)
        return Plan(_make(rule.solver, tol, max_iter), problem)
    if isinstance(value, str) and value in SOLVERS:
        return Plan(_make(SOLVERS[value], tol, max_iter), problem)
    close = difflib.get_close_matches(str(value).lower(), ["auto", *SOLVERS], n=1)
    hint = f"Did you mean {close[0]!r}?" if close else ""
    allowed = "'auto', " + ", ".join(map(repr, SOLVERS)) + " or a Solver"
    raise parameter_error(owner, "solver", value, allowed, hint)
