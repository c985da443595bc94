"""The terms k_t(x, x_i)A_t of a function into the space of an output kernel, and A_t in its coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.estimators.candidates import count_objects
from mercer.kernels import Kernel
from mercer.kernels.gram import kernel_product
from mercer.kernels.objects import ObjectKernel
from mercer.linalg.memory import BLOCK_BYTES
from mercer.operator_valued import Indexed
from mercer.operator_valued.expansion import feature_product

__all__ = ["KernelTerm", "Part", "parts_of"]


@dataclass(frozen=True, eq=False)
class KernelTerm(Stateful):
    """x ↦ Σ_i k(x, x_i)c_i with values in R^r.

    Parameters
    ----------
    kernel : Kernel or ObjectKernel
        k.
    coef : array of shape (n, r) or (D, r)
        c; of the features φ of an explicit kernel, x ↦ Σ_l φ_l(x)c_l, where there are no rows.
    rows : array or list of n inputs, or None
        x_i.
    """

    kernel: Any
    coef: np.ndarray
    rows: Any = None

    def evaluate(self, X: Any) -> np.ndarray:
        """Return the values at X, shape (len(X), r)."""
        if self.rows is None:
            return feature_product(self.kernel, X, self.coef)
        if isinstance(self.kernel, ObjectKernel):
            return self._of_objects(X)
        return kernel_product(self.kernel, X, self.rows, self.coef)

    def _of_objects(self, X: Any) -> np.ndarray:
        """Return the values at a sequence of objects, of any kind, in blocks of them."""
        n, size = count_objects(X), max(1, BLOCK_BYTES // (8 * count_objects(self.rows)))
        blocks = [self.kernel(X[start : start + size], self.rows) @ self.coef for start in range(0, n, size)]
        return np.concatenate(blocks)


@dataclass(frozen=True, eq=False)
class Part:
    """k·A with A in the coordinates of the objects, an array of shape (r, r); None is the identity."""

    kernel: Kernel
    matrix: np.ndarray | None

    def output_gram(self, rows: np.ndarray) -> np.ndarray:
        """Return ⟨φ(y_i), Aφ(y_j)⟩ of objects with coordinates ``rows``."""
        return rows @ (rows if self.matrix is None else rows @ self.matrix).T

    def term(self, X: Any, coef: np.ndarray) -> KernelTerm:
        """Return Σ_i k(·, x_i)Ac_i, in the features of k where it has some."""
        coef = coef if self.matrix is None else coef @ self.matrix
        if self.kernel.explicit:
            return KernelTerm(self.kernel, self.kernel.features(X).T @ coef)
        return KernelTerm(self.kernel, coef, X)


def parts_of(bound: Any) -> list[Part]:
    """Return the terms k_t·A_t that a bound kernel of objects is the sum of."""
    kernels = [(term.kernel, term.output_kernel) for term in bound.terms]
    return [Part(kernel, output.output_matrix if isinstance(output, Indexed) else None) for kernel, output in kernels]
