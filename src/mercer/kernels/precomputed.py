"""Kernel values that the user computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.backend import is_numpy, machine_epsilon, namespace
from mercer.exceptions import DataError
from mercer.kernels.base import Kernel
from mercer.linalg import PSD, Dense

__all__ = ["Precomputed"]

#: rows and columns of a matrix that are compared with its transpose at a time
SYMMETRY_BLOCK = 256


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """The rows of X are kernel values already: X = K(points, training points), as in scikit-learn.

    For fitting X is the square Gram matrix; for predicting it has one row per new point and one column per
    training point. Prefer it for objects that are no vectors (graphs, strings) and for kernels that are
    costly to evaluate.

    Examples
    --------
    >>> import numpy as np
    >>> gram = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> Precomputed()(np.array([[0.5, 0.7]]), gram)
    array([[0.5, 0.7]])
    """

    @property
    def pairwise(self) -> bool:
        """Always: X holds kernel values."""
        return True

    def gram(self, X):
        """Return the given matrix as an operator, or refuse one that is not symmetric."""
        matrix = self(X)
        if is_numpy(matrix) and matrix.dtype.kind == "f" and _exactly_symmetric(matrix):
            return Dense(matrix, PSD)
        xp = namespace(matrix)
        largest = float(xp.max(xp.abs(matrix)))
        if float(xp.max(xp.abs(matrix - matrix.T))) > 1e4 * machine_epsilon(matrix) * largest:
            raise DataError(
                "Precomputed: the Gram matrix must be symmetric positive semi-definite; it is not symmetric."
            )
        return Dense((matrix + matrix.T) / 2, PSD)

    def _evaluate(self, X, Z):
        if X.shape[1] != Z.shape[0]:
            if Z is X:
                raise DataError(f"Precomputed: the Gram matrix must be square; got shape {tuple(X.shape)}.")
            raise DataError(
                "Precomputed: X must have one column per training point, that is per row of Z; got "
                f"{X.shape[1]} columns and {Z.shape[0]} rows. Pass X = k(new points, training points)."
            )
        return X

    def _diagonal(self, X):
        if X.shape[0] != X.shape[1]:
            raise DataError(
                "Precomputed: k(x, x) is known for the square Gram matrix only, not for values "
                f"between two sets of points of shape {tuple(X.shape)}."
            )
        return namespace(X).linalg.diagonal(X)


def _exactly_symmetric(matrix: np.ndarray) -> bool:
    """Whether a square array is its transpose, which is looked at in blocks that stay in cache."""
    n = len(matrix)
    starts = range(0, n, SYMMETRY_BLOCK)
    blocks = ((slice(i, i + SYMMETRY_BLOCK), slice(j, j + SYMMETRY_BLOCK)) for i in starts for j in starts if j >= i)
    return all(np.array_equal(matrix[i, j], matrix[j, i].T) for i, j in blocks)
