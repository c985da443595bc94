"""Operator-valued kernels, whose values are operators on functions of θ or matrices, and what is learned with them."""

from mercer.operator_valued.algebra import BoundSum, MatrixSum, Modulated, OperatorSum, SumExpansion
from mercer.operator_valued.base import BoundKernel, Expansion, OperatorValuedKernel
from mercer.operator_valued.bases import Basis, BoundBasis, FunctionBasis, NystromBasis
from mercer.operator_valued.coefficients import BoundCoefficients, ExpansionKernel
from mercer.operator_valued.components import check_output_matrix, leading_components
from mercer.operator_valued.congruent import Congruent
from mercer.operator_valued.decomposable import BoundDecomposable, Decomposable
from mercer.operator_valued.expansion import FeatureExpansion, KernelExpansion, ScatteredExpansion
from mercer.operator_valued.fields import CurlFree, DivergenceFree, RadialField
from mercer.operator_valued.helmholtz import Helmholtz
from mercer.operator_valued.matrix_valued import (
    BoundMatrixKernel,
    MatrixExpansion,
    MatrixValuedKernel,
    VectorFeatureExpansion,
)
from mercer.operator_valued.pairs import BoundPairs
from mercer.operator_valued.representers import (
    BasisRepresenters,
    NodeRepresenters,
    PiecewiseLinearRepresenters,
    Representers,
)
from mercer.operator_valued.tasks import Indexed, graph_matrix, low_rank_matrix, task_similarities
from mercer.operator_valued.transformable import Delayed, Transformable
from mercer.operator_valued.trigonometric import FourierFeatureBasis, HarmonicBasis, LaplacianBasis

__all__ = [
    "OperatorValuedKernel",
    "Decomposable",
    "MatrixValuedKernel",
    "CurlFree",
    "DivergenceFree",
    "Helmholtz",
    "RadialField",
    "Transformable",
    "Delayed",
    "OperatorSum",
    "MatrixSum",
    "Modulated",
    "Indexed",
    "graph_matrix",
    "task_similarities",
    "low_rank_matrix",
    "Congruent",
    "BoundKernel",
    "BoundDecomposable",
    "BoundCoefficients",
    "BoundPairs",
    "BoundMatrixKernel",
    "BoundSum",
    "Expansion",
    "KernelExpansion",
    "FeatureExpansion",
    "ScatteredExpansion",
    "MatrixExpansion",
    "VectorFeatureExpansion",
    "SumExpansion",
    "Representers",
    "NodeRepresenters",
    "BasisRepresenters",
    "PiecewiseLinearRepresenters",
    "ExpansionKernel",
    "check_output_matrix",
    "leading_components",
    "Basis",
    "BoundBasis",
    "NystromBasis",
    "LaplacianBasis",
    "HarmonicBasis",
    "FourierFeatureBasis",
    "FunctionBasis",
]
