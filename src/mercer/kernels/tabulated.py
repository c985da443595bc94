"""A kernel of finitely many things, by the table of its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel

__all__ = ["Tabulated"]

#: eigenvalues below 0 that are rounding, and asymmetry, in units of the largest
TABLE_ROUNDING = 1e-9


@dataclass(eq=False, repr=False)
class Tabulated(Kernel):
    """The kernel k(i, j) = Γ_ij of the indices 0, ..., p − 1: as an output kernel, which outputs are alike.

    Parameters
    ----------
    matrix : array of shape (p, p)
        Γ, symmetric and positive semi-definite.

    Examples
    --------
    >>> import numpy as np
    >>> Tabulated(np.array([[2.0, 1.0], [1.0, 3.0]]))(np.array([[1.0], [0.0]]))
    array([[3., 1.],
           [1., 2.]])
    """

    matrix: Any

    def _check(self) -> None:
        try:
            matrix = np.asarray(to_numpy(self.matrix), dtype=float)
        except (TypeError, ValueError):
            matrix = np.zeros(0)
        allowed = "a symmetric, positive semi-definite matrix"
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.all(np.isfinite(matrix)):
            raise parameter_error(self, "matrix", self.matrix, allowed)
        size = float(np.max(np.abs(matrix), initial=0.0))
        if np.any(np.abs(matrix - matrix.T) > TABLE_ROUNDING * size):
            raise parameter_error(self, "matrix", self.matrix, allowed, "Take (Γ + Γ.T) / 2.")
        if len(matrix) and np.linalg.eigvalsh(matrix)[0] < -len(matrix) * TABLE_ROUNDING * size:
            raise parameter_error(self, "matrix", self.matrix, allowed, "It has negative eigenvalues.")

    def _index(self, X: Any) -> np.ndarray:
        """Return the points as indices, or refuse others."""
        points, p = to_numpy(X), len(self.matrix)
        index = points[:, 0]
        if points.shape[1] != 1 or not np.all((index == np.round(index)) & (index >= 0) & (index < p)):
            raise DataError(f"Tabulated: points are the indices 0, ..., {p - 1} of a table of values.")
        return index.astype(int)

    def _evaluate(self, X, Z):
        table = np.asarray(to_numpy(self.matrix), dtype=float)
        values = table[np.ix_(self._index(X), self._index(Z))]
        return namespace(X).astype(as_like(values, X), X.dtype)

    def _diagonal(self, X):
        values = np.diagonal(np.asarray(to_numpy(self.matrix), dtype=float))[self._index(X)]
        return namespace(X).astype(as_like(values, X), X.dtype)
