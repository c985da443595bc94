"""Operator-valued kernels: k(x, z) is an operator on functions of θ."""

from mercer.operator_valued.bases import Basis, BoundBasis, FunctionBasis, NystromBasis
from mercer.operator_valued.components import BoundComponents, check_output_matrix, leading_components
from mercer.operator_valued.decomposable import BoundDecomposable, Decomposable
from mercer.operator_valued.expansion import BoundExpansion, ExpansionKernel
from mercer.operator_valued.pairs import BoundPairs
from mercer.operator_valued.trigonometric import FourierFeatureBasis, HarmonicBasis, LaplacianBasis

__all__ = [
    "Decomposable",
    "BoundDecomposable",
    "BoundComponents",
    "check_output_matrix",
    "leading_components",
    "BoundPairs",
    "BoundExpansion",
    "ExpansionKernel",
    "Basis",
    "BoundBasis",
    "NystromBasis",
    "LaplacianBasis",
    "HarmonicBasis",
    "FourierFeatureBasis",
    "FunctionBasis",
]
