"""Linear operators that keep their structure, and what is computed from it.

The storage classes are known in this package alone: problems and solvers ask a :class:`Gram` for products, solves, a
:class:`Spectral` form and a price.
"""

from mercer.linalg.announcement import Work, heard_by
from mercer.linalg.centred_basis import CentredBasis
from mercer.linalg.component_moments import ComponentMoments
from mercer.linalg.conjugate_gradient import conjugate_gradient
from mercer.linalg.directed_factor import DirectedFactor, lift
from mercer.linalg.eigen import (
    Eigen,
    affordable_rank,
    affordable_rows,
    congruence,
    eigenbasis_work,
    eigh,
    eigh_fits,
    norm2,
    scaled,
    solve,
)
from mercer.linalg.flat import FlatGram
from mercer.linalg.gram import Costs, Gram
from mercer.linalg.kronecker import Kronecker
from mercer.linalg.memory import memory_budget, memory_limit
from mercer.linalg.moments import Moments
from mercer.linalg.operator_gram import FastProducts, FeatureGram, OperatorGram, SumGram
from mercer.linalg.operators import PSD, Dense, LinearOperator, LowRank
from mercer.linalg.pair_kronecker import PairKronecker
from mercer.linalg.pairs import PairGram
from mercer.linalg.pivoted_cholesky import (
    PivotedFactor,
    leading_pivots,
    pivoted_cholesky,
    pivoted_factor,
    truncated_factor,
)
from mercer.linalg.positive import positive_solver
from mercer.linalg.random_pivots import leading_eigen
from mercer.linalg.right_factor import representer_coef, right_factor
from mercer.linalg.spectral import Spectral
from mercer.linalg.tensor import Tensor
from mercer.linalg.thin_features import ThinFeatures

__all__ = [
    "PSD",
    "CentredBasis",
    "ComponentMoments",
    "Costs",
    "Dense",
    "Eigen",
    "FeatureGram",
    "FlatGram",
    "Gram",
    "Kronecker",
    "LinearOperator",
    "LowRank",
    "DirectedFactor",
    "lift",
    "Moments",
    "OperatorGram",
    "FastProducts",
    "PairGram",
    "PairKronecker",
    "PivotedFactor",
    "Spectral",
    "SumGram",
    "Tensor",
    "ThinFeatures",
    "Work",
    "affordable_rank",
    "affordable_rows",
    "congruence",
    "conjugate_gradient",
    "eigenbasis_work",
    "eigh",
    "eigh_fits",
    "heard_by",
    "memory_budget",
    "memory_limit",
    "norm2",
    "pivoted_cholesky",
    "pivoted_factor",
    "leading_eigen",
    "leading_pivots",
    "truncated_factor",
    "positive_solver",
    "representer_coef",
    "right_factor",
    "scaled",
    "solve",
]
