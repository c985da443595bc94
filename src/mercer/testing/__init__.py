"""Contracts for kernels, operator-valued ones too, losses, measures, operators and solvers: ours, and your own.

Each function raises ``AssertionError`` with a message that says which promise was broken.
"""

from mercer.testing.kernels import check_kernel
from mercer.testing.losses import check_loss
from mercer.testing.measures import check_measure
from mercer.testing.operator_valued import check_bound_kernel, check_operator_valued_kernel
from mercer.testing.operators import check_operator
from mercer.testing.solvers import check_solver

__all__ = [
    "check_bound_kernel",
    "check_kernel",
    "check_loss",
    "check_measure",
    "check_operator",
    "check_operator_valued_kernel",
    "check_solver",
]
