"""Algorithms for the one problem: each stops on the duality gap and says what it requires."""

from mercer.solvers.admm import ADMM
from mercer.solvers.auto import SOLVERS, Plan, afford, explain, no_worse_than_null, plan, select
from mercer.solvers.base import Solver, SolverResult
from mercer.solvers.block_leave_one_out import BlockLeaveOneOut
from mercer.solvers.bounded_waves import BoundedWaves, WaveFit
from mercer.solvers.budgeted_gradient import BudgetedGradient
from mercer.solvers.closed_form import ClosedForm
from mercer.solvers.factored_admm import FactoredADMM
from mercer.solvers.feature_path import FeatureFit, FeaturePath
from mercer.solvers.interior_point import InteriorPoint
from mercer.solvers.lbfgs import LBFGS
from mercer.solvers.leave_one_out import (
    generalised_errors,
    kernel_grid_errors,
    leave_one_out_errors,
    leave_one_out_predictions,
)
from mercer.solvers.leave_one_out_slope import leave_one_out_slopes
from mercer.solvers.level_sets import LevelPath
from mercer.solvers.level_sets_newton import OffsetNewton
from mercer.solvers.loss_path import largest_epsilon, largest_kappa, loss_path
from mercer.solvers.normal_equations import NormalEquations
from mercer.solvers.preconditioned_cg import PreconditionedCG
from mercer.solvers.proximal_gradient import ProximalGradient
from mercer.solvers.ridge_path import RidgePath
from mercer.solvers.safe_screening import SafeScreening
from mercer.solvers.semismooth_newton import SemismoothNewton
from mercer.solvers.stochastic_gradient import StochasticGradient
from mercer.solvers.streamed import StreamedResult, StreamedSolver
from mercer.solvers.streamed_admm import StreamedADMM
from mercer.solvers.streamed_auto import select_streamed
from mercer.solvers.streamed_closed_form import StreamedClosedForm
from mercer.solvers.streamed_lbfgs import StreamedLBFGS
from mercer.solvers.streamed_newton import StreamedNewton
from mercer.solvers.subspace_newton import SubspaceNewton

__all__ = [
    "ADMM",
    "BlockLeaveOneOut",
    "BoundedWaves",
    "BudgetedGradient",
    "ClosedForm",
    "FeatureFit",
    "FeaturePath",
    "FactoredADMM",
    "InteriorPoint",
    "LBFGS",
    "LevelPath",
    "NormalEquations",
    "OffsetNewton",
    "Plan",
    "PreconditionedCG",
    "ProximalGradient",
    "RidgePath",
    "SOLVERS",
    "SafeScreening",
    "SemismoothNewton",
    "Solver",
    "SolverResult",
    "StochasticGradient",
    "StreamedADMM",
    "StreamedClosedForm",
    "StreamedLBFGS",
    "StreamedNewton",
    "StreamedResult",
    "StreamedSolver",
    "SubspaceNewton",
    "WaveFit",
    "afford",
    "explain",
    "generalised_errors",
    "kernel_grid_errors",
    "largest_epsilon",
    "largest_kappa",
    "leave_one_out_errors",
    "leave_one_out_predictions",
    "leave_one_out_slopes",
    "loss_path",
    "no_worse_than_null",
    "plan",
    "select",
    "select_streamed",
]
