"""Contracts for kernels, losses, measures, operators and solvers: ours, and for those you write yourself.

Each function raises ``AssertionError`` with a message that says which promise was broken.
"""

from mercer.testing.kernels import check_kernel
from mercer.testing.losses import check_loss

__all__ = ["check_kernel", "check_loss"]
