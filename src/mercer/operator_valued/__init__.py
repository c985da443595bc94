"""Operator-valued kernels: k(x, z) is an operator on functions of θ."""

from mercer.operator_valued.decomposable import BoundDecomposable, Decomposable

__all__ = ["BoundDecomposable", "Decomposable"]
