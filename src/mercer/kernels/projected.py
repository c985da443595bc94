"""A kernel of linear functions of the columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel, as_points

__all__ = ["Projected"]


@dataclass(eq=False, repr=False)
class Projected(Kernel):
    """A kernel of linear functions of the columns, k(xM, zM): of scores, derivatives or contrasts instead of values.

    Its features, where the kernel has explicit ones, are those of xM. Names of columns mean nothing to the kernel: it
    sees the columns of xM.

    Parameters
    ----------
    kernel : Kernel
        The kernel.
    matrix : array-like of shape (d, r)
        M, with a row for each column of the points.

    Examples
    --------
    The slopes of curves on a grid of three points:

    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> differences = np.array([[-1.0, 0.0], [1.0, -1.0], [0.0, 1.0]])
    >>> Projected(Gaussian(1.0), differences)(np.array([[0.0, 1.0, 2.0], [5.0, 6.0, 7.0], [0.0, 1.0, 1.0]])).round(3)
    array([[1.   , 1.   , 0.368],
           [1.   , 1.   , 0.368],
           [0.368, 0.368, 1.   ]])
    """

    kernel: Any
    matrix: Any

    def _check(self) -> None:
        if not isinstance(self.kernel, Kernel) or self.kernel.pairwise:
            raise parameter_error(self, "kernel", self.kernel, "a kernel on vectors")
        matrix = np.asarray(to_numpy(self.matrix))
        if matrix.ndim != 2 or 0 in matrix.shape or matrix.dtype.kind not in "iuf" or not np.all(np.isfinite(matrix)):
            raise parameter_error(self, "matrix", self.matrix, "finite numbers of shape (n_columns, n_functions)")

    @property
    def differentiable(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.differentiable

    @property
    def explicit(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.explicit

    def features(self, X):
        return self.kernel.features(self._map(as_points(self, X)))

    def locate(self, layout):
        return self

    def _matrix(self, X):
        matrix = np.asarray(to_numpy(self.matrix), dtype=float)
        if X.shape[1] != len(matrix):
            raise DataError(f"Projected: matrix has {len(matrix)} rows, but the points have {X.shape[1]} columns.")
        return as_like(matrix, X)

    def _map(self, X):
        return X @ self._matrix(X)

    def _both(self, X, Z):
        mapped = self._map(X)
        return mapped, mapped if Z is X else self._map(Z)

    def _adapt(self, X):
        return self.replace(kernel=self.kernel.adapt(self._map(X)))

    def _evaluate(self, X, Z):
        return self.kernel._evaluate(*self._both(X, Z))

    def _diagonal(self, X):
        return self.kernel._diagonal(self._map(X))

    def _gradient(self, X, Z):
        return self.kernel._gradient(*self._both(X, Z)) @ self._matrix(X).T

    def _cross_hessian(self, X, Z):
        matrix = self._matrix(X)
        return namespace(X).matmul(matrix, self.kernel._cross_hessian(*self._both(X, Z)) @ matrix.T)
