"""The one problem, primal and dual: the only place that knows a scale factor or an intercept."""

from mercer.problems.certificate import Certificate
from mercer.problems.curve_loss import CurveLoss
from mercer.problems.curve_problem import curve_problem
from mercer.problems.dual import DualProblem
from mercer.problems.envelope import AddedRows, coefficient_slope, kernel_slope
from mercer.problems.feature_problem import FeatureProblem, FeatureView
from mercer.problems.intercept import Intercept
from mercer.problems.left_out import left_out
from mercer.problems.level_sets import level_coef, level_set_problem
from mercer.problems.monotone import SlopedIntercept, monotone_problem
from mercer.problems.offsets import Offsets, PenalisedOffsets
from mercer.problems.primal import PrimalProblem
from mercer.problems.rounding import Rounding
from mercer.problems.row_blocks import Block, LocalBlocks, Reading, RowBlocks, StoredBlocks
from mercer.problems.screening import certainly_inside, without_rows

__all__ = [
    "AddedRows",
    "Block",
    "Certificate",
    "CurveLoss",
    "DualProblem",
    "FeatureProblem",
    "FeatureView",
    "Intercept",
    "LocalBlocks",
    "Offsets",
    "PenalisedOffsets",
    "PrimalProblem",
    "Reading",
    "Rounding",
    "RowBlocks",
    "SlopedIntercept",
    "StoredBlocks",
    "certainly_inside",
    "coefficient_slope",
    "curve_problem",
    "kernel_slope",
    "left_out",
    "level_coef",
    "level_set_problem",
    "monotone_problem",
    "without_rows",
]
