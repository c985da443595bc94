"""The Gram operator of observations at points of their own, with values in R^p."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import UnsupportedError
from mercer.linalg.eigen import CHOLESKY_COPIES
from mercer.linalg.gram import Gram
from mercer.linalg.kronecker import Kronecker
from mercer.linalg.memory import memory_budget
from mercer.linalg.pair_factors import PairFactors
from mercer.linalg.pair_features import PairFeatures
from mercer.linalg.pairs import PairGram
from mercer.linalg.thin_features import ThinFeatures, distinct

__all__ = ["PairKronecker"]

#: observations at points of their own up to which a dense factorisation is taken
FEW_PAIRS = 2000
#: bytes of the dense matrix up to which it is taken where the output kernel has no thin factor
MOST_BYTES = 2**30
#: distinct eigenvalues of an output matrix up to which a factorisation each is cheaper than one eigendecomposition
FEW_EIGENVALUES = 10


class PairKronecker(Kronecker):
    """𝐊 ⊗ A for observations at points of their own: :class:`PairGram` on the N rows, a matrix on p components.

    Parameters
    ----------
    pairs : PairGram
        𝐊 of the observations.
    matrix : LinearOperator
        A, symmetric and positive semi-definite.
    left_weights, right_weights : array, optional
        Positive weights of observations (N,) and components (p,).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> pairs = PairGram(Dense(np.eye(2)), Dense(np.eye(3)), rows=np.array([0, 0, 1]))
    >>> PairKronecker(pairs, Dense(np.eye(2))).array_shape
    (3, 2)
    """

    def __init__(self, pairs: PairGram, matrix: Any, left_weights: Any = None, right_weights: Any = None) -> None:
        super().__init__(pairs, matrix, left_weights, right_weights)
        self.left: PairGram
        self._factors: tuple[float, PairFactors] | None = None

    def _with(self, **changes: Any) -> Any:
        if "left" in changes or "right" in changes:  # what was kept belongs to the old ones
            changes.setdefault("_factors", None)
        return super()._with(**changes)

    @property
    def direct(self) -> bool:
        if CHOLESKY_COPIES * self.left.dense_bytes > memory_budget():
            return False
        if self.left.shape[0] <= FEW_PAIRS:
            return True
        return not self.left.thin and self.left.dense_bytes <= MOST_BYTES

    def stored(self, limit: int | None = None) -> Gram:
        return self  # products are fast without the matrix

    def features(self, tolerance: float, scale: float = 1.0, observed: Any = None) -> ThinFeatures:
        return PairFeatures(self._thin_factors(tolerance), self.right.to_dense(), scale, observed)

    def featured(self, tolerance: float) -> Gram:
        if self._factors is not None and self._factors[0] <= tolerance:
            return self
        return self._with(_factors=(tolerance, self._thin_factors(tolerance)))

    def _thin_factors(self, tolerance: float) -> PairFactors:
        if self._factors is not None and self._factors[0] <= tolerance:
            return self._factors[1]
        trace = self._traces()[1]
        factors = self.left.factors(tolerance / trace if trace > 0 else 0.0)
        if factors is None:
            raise UnsupportedError(
                f"The output kernel has no thin factor on the points of these {self.left.shape[0]} observations, and a "
                "dense solution would take too much memory. Use a smoother output kernel, or points rounded to a "
                "common grid."
            )
        return factors

    def _output_groups(self) -> list[tuple[float, Any]]:
        single = super()._output_groups()
        if single:
            return single
        values, vectors = np.linalg.eigh(self.right.to_dense())
        groups = distinct(np.maximum(values, 0))
        if len(groups) > FEW_EIGENVALUES:
            return []
        return [(max(float(values[index[0]]), 0.0), vectors[:, index]) for index in groups]
