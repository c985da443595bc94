"""Kernels that count what two objects have in common: elements of sets, substrings of strings."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mercer._params import check_number
from mercer.exceptions import DataError
from mercer.kernels.objects.base import ObjectKernel

__all__ = ["CountKernel", "Intersection", "Jaccard", "Spectrum", "sparse_counts"]


def sparse_counts(counts: list[Mapping[Hashable, float]], vocabulary: dict[Hashable, int]) -> Any:
    """Return counts as a sparse matrix with a column for each feature; new ones enter the vocabulary.

    Examples
    --------
    >>> sparse_counts([{"a": 2}, {"b": 1, "a": 1}], {}).toarray()
    array([[2., 0.],
           [1., 1.]])
    """
    columns = [vocabulary.setdefault(key, len(vocabulary)) for one in counts for key in one]
    values = [float(value) for one in counts for value in one.values()]
    starts = np.concatenate([[0], np.cumsum([len(one) for one in counts])]).astype(int)
    return scipy.sparse.csr_array((values, columns, starts), shape=(len(counts), max(len(vocabulary), 1)))


class CountKernel(ObjectKernel):
    """k(y, z) = Σ_u c_u(y)c_u(z) of counts c_u ≥ 0 of features u, of which each object has few.

    A subclass implements :meth:`_counts`. Features that are equal (==) are the same.
    """

    @abstractmethod
    def _counts(self, one: Any) -> Mapping[Hashable, float]:
        """Return the features that an object has, and how often."""

    def _read(self, objects):
        return [self._counts(one) for one in objects]

    def _inner(self, left: list, right: list) -> np.ndarray:
        """Return Σ_u c_u(y_i)c_u(z_j): a product of sparse matrices."""
        vocabulary: dict[Hashable, int] = {}
        first = sparse_counts(left, vocabulary)
        if right is left:
            return (first @ first.T).toarray()
        second = sparse_counts(right, vocabulary)
        first.resize((first.shape[0], second.shape[1]))
        return (first @ second.T).toarray()

    def _compare(self, left, right):
        return self._inner(left, right)

    def _sizes(self, read):
        return np.array([float(sum(value * value for value in one.values())) for one in read])


@dataclass(eq=False, repr=False)
class Intersection(CountKernel):
    """Elements in common: k(A, B) = |A ∩ B| of sets (or lists, in which repetitions do not count).

    Examples
    --------
    >>> Intersection()([{"red", "round"}, {"red"}, set()])
    array([[2., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """

    def _counts(self, one):
        if isinstance(one, (str, bytes)):
            raise DataError(
                f"{type(self).__name__}: objects are sets, not text; for the letters of a string take Spectrum(1)."
            )
        return dict.fromkeys(one, 1.0)


@dataclass(eq=False, repr=False)
class Jaccard(Intersection):
    """Elements in common over elements in either: k(A, B) = |A ∩ B| / |A ∪ B|, and 1 for two empty sets.

    It is the :class:`Tanimoto` kernel of indicators.

    Examples
    --------
    >>> Jaccard()([{"red", "round"}, {"red"}])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def _compare(self, left, right):
        common = self._inner(left, right)
        either = super()._sizes(left)[:, None] + super()._sizes(right) - common
        return np.where(either > 0, common / np.maximum(either, 1), 1.0)

    def _sizes(self, read):
        return np.ones(len(read))


@dataclass(eq=False, repr=False)
class Spectrum(CountKernel):
    """Substrings in common: k(s, t) = Σ_u c_u(s)c_u(t) over the contiguous substrings u (Leslie et al., 2002).

    Of strings, or of sequences of hashable symbols. Wrap it in :class:`Normalised`: long strings have many substrings.

    Parameters
    ----------
    length : int, default=3
        Length of the substrings.
    shorter : bool, default=False
        Whether shorter ones count, too: then no string but the empty one is without features.

    Examples
    --------
    >>> Spectrum(length=2)(["abab", "bab", "a"])
    array([[5., 3., 0.],
           [3., 2., 0.],
           [0., 0., 0.]])
    """

    length: int = 3
    shorter: bool = False

    def _check(self) -> None:
        check_number(self, "length", self.length, low=1, strict=False, integer=True)

    def _counts(self, one):
        if not isinstance(one, (str, bytes)):
            one = tuple(one)
        counts: Counter = Counter()
        for size in range(1 if self.shorter else int(self.length), int(self.length) + 1):
            counts.update(one[i : i + size] for i in range(len(one) - size + 1))
        return counts
