"""Which solver for which problem: one table, used by ``select`` and printed in the documentation."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import is_numpy
from mercer.exceptions import parameter_error
from mercer.kernels.gram import KernelGram
from mercer.linalg import norm2
from mercer.losses.square import Square
from mercer.problems import DualProblem
from mercer.solvers.admm import ADMM, like_square
from mercer.solvers.base import Solver
from mercer.solvers.closed_form import ClosedForm
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.lbfgs import LBFGS
from mercer.solvers.proximal_gradient import ProximalGradient
from mercer.solvers.reduction import FEW_ROWS, FIRST_SHARE, thin_eigen

__all__ = ["SOLVERS", "TABLE", "Rule", "as_solver", "explain", "select"]

#: solvers by the names that estimators accept
SOLVERS: dict[str, type[Solver]] = {
    "admm": ADMM,
    "closed_form": ClosedForm,
    "interior_point": InteriorPoint,
    "lbfgs": LBFGS,
    "proximal_gradient": ProximalGradient,
}

#: the interior-point method is chosen up to this product of numerical ranks ...
SMALL_RANK = 600
#: ... and this many dual variables n·m; beyond, only for a gap below TIGHT_TOL, which costs ADMM thousands of steps
FEW_ENTRIES = 20_000
TIGHT_TOL = 1e-5
#: rows from which the condition number and the rank of a Gram matrix are guessed
SAMPLE = 200
#: share of the trace in the smaller half of the eigenvalues of that sample above which the rank is taken as large
SLOW_DECAY = 1e-3


@dataclass(frozen=True)
class Rule:
    """One row of the table: the first whose condition holds decides."""

    when: str
    solver: type[Solver]
    holds: Callable[[DualProblem, float], bool]


def _small_box(problem: DualProblem, tol: float) -> bool:
    """Whether the interior-point method applies and is likely to be the faster one."""
    if problem.box is None or (like_square(problem) and problem.measure.observed is None):
        return False
    n, m = problem.shape
    if n * m > FEW_ENTRIES and tol > TIGHT_TOL:
        return False
    return thin_eigen(problem, FIRST_SHARE * tol).rank <= SMALL_RANK


def _few_slopes(problem: DualProblem, tol: float) -> bool:
    """Whether slopes are constrained and the interior-point method can work; ADMM needs thousands of steps there."""
    if problem.design is None or problem.box is None:
        return False
    return thin_eigen(problem, FIRST_SHARE * tol).rank <= InteriorPoint.max_rank


def _well_conditioned(problem: DualProblem, tol: float) -> bool:
    """Whether the few products of a proximal gradient method cost less than an eigendecomposition.

    The dual of a loss like the square loss has a condition number of 1 + ‖𝐊‖/(λn) =: C, and about 7√C accelerated steps
    of n²m operations stand against some 8n³, unless the input Gram is of low rank. C and the decay of the spectrum are
    those of a sample of the rows.
    """
    left, (n, m) = problem.gram.left, problem.shape
    if not like_square(problem) or problem.fit_intercept or n <= FEW_ROWS:
        return False
    if not isinstance(left, KernelGram) or left.kernel.pairwise:
        return False
    rows = np.linspace(0, n - 1, SAMPLE).astype(int)
    sample = KernelGram(left.kernel, left.X[rows, :], None if left.scale is None else left.scale[rows])
    values = np.linalg.eigvalsh(sample.to_dense())
    condition = 1 + problem.scale * float(values[-1]) * (n / SAMPLE) * norm2(problem.gram.right)
    slow_decay = float(values[: SAMPLE // 2].sum()) > SLOW_DECAY * float(values.sum())
    return slow_decay and 7 * m * math.sqrt(condition) <= 4 * n


TABLE: tuple[Rule, ...] = (
    Rule("box dual with slopes, of medium rank", InteriorPoint, _few_slopes),
    Rule("square loss", ClosedForm, lambda problem, tol: isinstance(problem.loss, Square)),
    Rule("loss without a conjugate prox (smooth)", LBFGS, lambda problem, tol: not problem.loss.has_conjugate),
    Rule("arrays other than NumPy's", ProximalGradient, lambda problem, tol: not is_numpy(problem.Y)),
    Rule("box dual of small rank, and few entries or a tight tol", InteriorPoint, _small_box),
    Rule("like the square loss, λ and rank large, no intercept", ProximalGradient, _well_conditioned),
    Rule("anything else", ADMM, lambda problem, tol: True),
)


def select(problem: DualProblem, tol: float = 1e-4, max_iter: int | None = None) -> Solver:
    """Return the solver that ``solver="auto"`` uses: the first row of the table whose condition holds.

    ``print(explain(problem))`` shows which one it is.

    ====================================================== ================
    problem                                                solver
    ====================================================== ================
    box dual with slopes, of medium rank                   InteriorPoint
    square loss                                            ClosedForm
    loss without a conjugate prox (smooth)                 LBFGS
    arrays other than NumPy's                              ProximalGradient
    box dual of small rank, and few entries or a tight tol InteriorPoint
    like the square loss, λ and rank large, no intercept   ProximalGradient
    anything else                                          ADMM
    ====================================================== ================

    "Slopes" are those of a :class:`~mercer.problems.MonotoneProblem`. "Small rank" means a product of the numerical
    ranks of the two Gram matrices of at most 600, "medium" at most 3 000, "few entries"
    n·m ≤ 20 000, "tight" tol ≤ 1e-5: beyond, the many cheap steps of ADMM are faster than the few dear ones. Losses
    "like the square loss" (Huber, ε-ridge) take ADMM tens of steps only, hence never the interior-point method; λ is
    "large" where a few products with the Gram matrix cost less than its eigendecomposition.

    Parameters
    ----------
    problem : DualProblem
        What will be solved.
    tol : float, default=1e-4
        Relative duality gap to reach.
    max_iter : int, optional
        Limit on the number of iterations; that of the solver by default.
    """
    return _make(_rule(problem, tol).solver, tol, max_iter)


def _rule(problem: DualProblem, tol: float) -> Rule:
    return next(rule for rule in TABLE if rule.holds(problem, tol))  # the last one always holds


def explain(problem: DualProblem, tol: float = 1e-4) -> str:
    """Return the table of :func:`select` with an arrow at the row that this problem takes, to be printed."""
    chosen = _rule(problem, tol)
    width = max(len(rule.when) for rule in TABLE)
    rows = [f"{'->' if rule is chosen else '  '} {rule.when:<{width}}  {rule.solver.__name__}" for rule in TABLE]
    return "\n".join(rows)


def _make(solver: type[Solver], tol: float, max_iter: int | None) -> Solver:
    settings: dict[str, Any] = {"tol": tol} if max_iter is None else {"tol": tol, "max_iter": max_iter}
    return solver(**settings)


def as_solver(
    value: Any, problem: DualProblem, tol: float, max_iter: int | None = None, owner: object = "as_solver"
) -> Solver:
    """Return the solver meant by ``"auto"``, a name or a :class:`Solver` (taken with its own settings)."""
    if isinstance(value, Solver):
        return value
    if isinstance(value, str):
        if value == "auto":
            return select(problem, tol, max_iter)
        if value in SOLVERS:
            return _make(SOLVERS[value], tol, max_iter)
    close = difflib.get_close_matches(str(value).lower(), ["auto", *SOLVERS], n=1)
    hint = f"Did you mean {close[0]!r}?" if close else ""
    allowed = "'auto', " + ", ".join(map(repr, SOLVERS)) + " or a Solver"
    raise parameter_error(owner, "solver", value, allowed, hint)
