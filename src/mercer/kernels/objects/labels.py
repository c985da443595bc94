"""Kernels on label vectors and on rankings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from mercer.exceptions import DataError
from mercer.kernels.objects.adapters import as_vectors
from mercer.kernels.objects.base import ObjectKernel

__all__ = ["Agreement", "Kendall"]

#: features of pairs that are made at a time
BLOCK_FEATURES = 2**24


@dataclass(eq=False, repr=False)
class Agreement(ObjectKernel):
    """The share of labels on which two vectors agree: k(y, z) = (1/p) Σ_j [y_j = z_j], one minus the Hamming loss.

    For label vectors of 0 and 1, and for columns of any categories.

    Examples
    --------
    >>> Agreement()([[0, 1, 1, 0], [0, 1, 0, 1]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def _read(self, objects):
        if scipy.sparse.issparse(objects):
            objects = objects.toarray()
        array = np.asarray(objects)
        if array.ndim != 2 or array.shape[1] == 0:
            raise DataError(f"Agreement: objects are vectors of labels of one length; got shape {array.shape}.")
        return array

    def _compare(self, left, right):
        if left.shape[1] != right.shape[1]:
            raise DataError(f"Agreement: vectors must be of one length; got {left.shape[1]} and {right.shape[1]}.")
        agree = np.zeros((len(left), len(right)))
        for first, second in zip(left.T, right.T, strict=True):
            agree += first[:, None] == second
        return agree / left.shape[1]

    def _sizes(self, read):
        return np.ones(len(read))


@dataclass(eq=False, repr=False)
class Kendall(ObjectKernel):
    """Pairs of items in the same order less those in the other: k(y, z) = Σ_{a<b} s_ab(y)s_ab(z) / (p(p − 1)/2).

    s_ab(y) is the sign of y_a − y_b: objects are vectors of ranks or of scores of p items, ties count nothing, and NaN
    is an item without a rank (Jiao and Vert, 2015). Kendall's τ of rankings without ties; wrapped in
    :class:`Normalised` it is τ_b.

    Examples
    --------
    >>> Kendall()([[1, 2, 3], [1, 3, 2], [3, 2, 1]]).round(3)
    array([[ 1.   ,  0.333, -1.   ],
           [ 0.333,  1.   , -0.333],
           [-1.   , -0.333,  1.   ]])
    """

    @property
    def explicit(self) -> bool:
        """Always: the signs."""
        return True

    def _read(self, objects):
        ranks = as_vectors(self, objects)
        if ranks.shape[1] < 2:
            raise DataError("Kendall: a ranking is of two items at least.")
        return ranks

    def _features(self, read):
        first, second = np.triu_indices(read.shape[1], 1)
        signs = np.sign(read[:, first] - read[:, second])
        return np.where(np.isnan(signs), 0.0, signs) / np.sqrt(len(first))

    def _compare(self, left, right):
        if left.shape[1] != right.shape[1]:
            raise DataError(f"Kendall: rankings must be of the same items; got {left.shape[1]} and {right.shape[1]}.")
        features = self._features(left)
        if right is left:
            return features @ features.T
        rows = max(1, BLOCK_FEATURES // features.shape[1])
        blocks = [features @ self._features(right[i : i + rows]).T for i in range(0, len(right), rows)]
        return np.concatenate(blocks, axis=1) if blocks else np.zeros((len(left), 0))

    def _sizes(self, read):
        return np.sum(self._features(read) ** 2, axis=1)
