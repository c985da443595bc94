"""Algorithms for the one problem: each stops on the duality gap and says what it requires."""

from mercer.solvers.admm import ADMM
from mercer.solvers.auto import SOLVERS, as_solver, explain, select
from mercer.solvers.base import Solver, SolverResult
from mercer.solvers.closed_form import ClosedForm
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.lbfgs import LBFGS
from mercer.solvers.leave_one_out import leave_one_out_errors
from mercer.solvers.proximal_gradient import ProximalGradient

__all__ = [
    "ADMM",
    "ClosedForm",
    "InteriorPoint",
    "LBFGS",
    "ProximalGradient",
    "SOLVERS",
    "Solver",
    "SolverResult",
    "as_solver",
    "explain",
    "leave_one_out_errors",
    "select",
]
