"""Which solver a feature problem takes where nobody says."""

from __future__ import annotations

import math
from typing import Any

from mercer.exceptions import parameter_error
from mercer.losses import Square
from mercer.problems import FeatureProblem
from mercer.solvers.streamed import StreamedSolver
from mercer.solvers.streamed_admm import StreamedADMM
from mercer.solvers.streamed_closed_form import StreamedClosedForm
from mercer.solvers.streamed_lbfgs import StreamedLBFGS
from mercer.solvers.streamed_newton import MOST_COORDINATES, StreamedNewton

__all__ = ["select_streamed"]

#: relative gap below which ADMM takes too many steps
TOO_SMALL_FOR_SWEEPS = 1e-4
#: names of solvers in memory, and what they are for streams
NAMED_SOLVERS: dict[str, Any] = {"admm": StreamedADMM, "lbfgs": StreamedLBFGS}


def select_streamed(
    given: Any, problem: FeatureProblem, tol: float, max_iter: int | None = None, owner: object = "select_streamed"
) -> StreamedSolver:
    """Return a solver of a feature problem: what was given, or the first in a table.

    With ``"auto"`` that is :class:`StreamedClosedForm` for the square loss and complete targets,
    :class:`StreamedLBFGS` for smooth losses, :class:`StreamedNewton` for duals on a box with a gap below 1e-4 and few
    features, else :class:`StreamedADMM`.

    Parameters
    ----------
    given : StreamedSolver or {"auto", "admm", "lbfgs"}
        What a user says.
    problem : FeatureProblem
        What is to be solved.
    tol : float
        Bound on the relative duality gap; a solver that was given brings its own.
    max_iter : int, optional
        Limit on the steps; that of the solver by default.
    owner : object, optional
        Who asks, for messages.
    """
    if isinstance(given, StreamedSolver):
        return given
    if given == "auto":
        kind = _first(problem, tol)
    elif isinstance(given, str) and given in NAMED_SOLVERS:
        kind = NAMED_SOLVERS[given]
    else:
        allowed = "'auto', 'admm', 'lbfgs' or a StreamedSolver for rows that stream"
        raise parameter_error(owner, "solver", given, allowed, "For instance StreamedADMM(tol=1e-3).")
    return kind(tol=tol) if max_iter is None or kind is StreamedClosedForm else kind(tol=tol, max_iter=max_iter)


def _first(problem: FeatureProblem, tol: float) -> Any:
    if isinstance(problem.loss, Square) and problem.complete:
        return StreamedClosedForm
    if problem.loss.smooth:
        return StreamedLBFGS
    n_coordinates = math.prod(problem.coef_shape) + problem.shape[1]
    return (
        StreamedNewton
        if tol < TOO_SMALL_FOR_SWEEPS and problem.boxed and n_coordinates <= MOST_COORDINATES
        else StreamedADMM
    )
