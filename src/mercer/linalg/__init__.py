"""Linear operators that keep their structure, and what is computed from it."""

from mercer.linalg.conjugate_gradient import conjugate_gradient
from mercer.linalg.eigen import Eigen, congruence, eigh, norm2, solve
from mercer.linalg.kronecker import Kronecker, KroneckerEigen
from mercer.linalg.operators import Dense, LinearOperator, LowRank, Masked
from mercer.linalg.pair_factors import PairFactors
from mercer.linalg.pairs import PairGram
from mercer.linalg.pivoted_cholesky import pivoted_cholesky
from mercer.linalg.tensor import Tensor, complete_eigenbasis

__all__ = [
    "Dense",
    "Eigen",
    "Kronecker",
    "KroneckerEigen",
    "LinearOperator",
    "LowRank",
    "Masked",
    "PairFactors",
    "PairGram",
    "Tensor",
    "complete_eigenbasis",
    "congruence",
    "conjugate_gradient",
    "eigh",
    "norm2",
    "pivoted_cholesky",
    "solve",
]
