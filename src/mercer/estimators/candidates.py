"""What is predicted: candidates, one list for all rows or one for each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mercer._state import Stateful
from mercer.exceptions import DataError
from mercer.kernels.objects import as_objects

__all__ = ["CandidateLists", "EncodedCandidates", "count_objects", "distinct_objects", "nonempty"]


@dataclass(frozen=True, eq=False)
class EncodedCandidates(Stateful):
    """Candidates as a fitted model compares them: made once, by its ``encode``, and ranked for any inputs.

    Parameters
    ----------
    objects : sequence of m objects
        What is returned when one of them is predicted.
    coordinates : array of shape (m, r)
        Of φ(z_j), in the space of the model.
    sizes : array of shape (m,)
        k_Y(z_j, z_j).
    """

    objects: Any
    coordinates: np.ndarray
    sizes: np.ndarray

    def __len__(self) -> int:
        return len(self.sizes)


class CandidateLists:
    """Candidates of their own for each row, a list of objects for each: say that lists are meant by this name.

    Parameters
    ----------
    lists : sequence of sequences of objects
        One for each row of X, of any lengths from 1.

    Examples
    --------
    >>> lists = CandidateLists([["a", "b"], ["c"]])
    >>> lists.pool, lists.rows
    (['a', 'b', 'c'], [array([0, 1]), array([2])])
    >>> CandidateLists.of(["a", "b", "c"], [[2, 0], [2]]).rows  # objects of a library, by index
    [array([2, 0]), array([2])]
    """

    def __init__(self, lists: Sequence[Any]) -> None:
        read = [as_objects(self, one) for one in _lists(lists)]
        sizes = [count_objects(one) for one in read]
        self._refuse_empty(sizes)
        kinds = {type(one) for one in read}
        try:
            if kinds == {np.ndarray}:
                self.pool: Any = np.concatenate(read)
            elif all(scipy.sparse.issparse(one) for one in read):
                self.pool = scipy.sparse.csr_array(scipy.sparse.vstack(read))
            else:
                self.pool = [one for objects in read for one in objects]
        except ValueError as error:
            raise DataError(f"CandidateLists: candidates of all rows must be of one kind: {error}.") from error
        ends = np.cumsum(sizes)
        self.rows = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @classmethod
    def of(cls, pool: Any, indices: Sequence[Any]) -> CandidateLists:
        """Return lists of objects of a common pool, which are read and compared once, by their indices."""
        self = cls.__new__(cls)
        self.pool = as_objects("CandidateLists", pool)
        self.rows = [_indices(one) for one in _lists(indices)]
        self._refuse_empty([len(one) for one in self.rows])
        if any(one.min() < 0 or one.max() >= count_objects(self.pool) for one in self.rows):
            raise DataError(f"CandidateLists: indices must be from 0 to {count_objects(self.pool) - 1}.")
        return self

    def _refuse_empty(self, sizes: list[int]) -> None:
        empty = [i for i, size in enumerate(sizes) if size == 0]
        if empty or not sizes:
            what = f"the list of row {empty[0]} is empty" if sizes else "there are no lists"
            raise DataError(f"CandidateLists: each row needs a candidate at least; {what}.")

    def __len__(self) -> int:
        return len(self.rows)


def _lists(lists: Any) -> list[Any]:
    """Return what should be lists of candidates as a list."""
    return list(as_objects("CandidateLists", lists))


def _indices(one: Any) -> np.ndarray:
    """Return the indices of the candidates of a row."""
    try:
        found = np.asarray(one).ravel()
    except ValueError:
        found = np.array([np.nan])
    if found.size and found.dtype.kind not in "iu":
        raise DataError(f"CandidateLists: indices must be integers, a list of them for each row; got {one!r}.")
    return found.astype(int)


def count_objects(objects: Any) -> int:
    """Return how many objects there are."""
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)


def nonempty(candidates: Any, owner: object = "candidates", remedy: str = ", or None for the training outputs") -> Any:
    """Return a sequence of candidates or other objects, or refuse one without any."""
    objects = as_objects(owner, candidates)
    if count_objects(objects) == 0:
        name = owner if isinstance(owner, str) else type(owner).__name__
        raise DataError(f"{name}: there are none. Pass one object at least{remedy}.")
    return objects


def distinct_objects(objects: Any) -> np.ndarray:
    """Return the first places of distinct objects, in their order; all of them where that cannot be told.

    Examples
    --------
    >>> distinct_objects([{"a"}, set(), {"a"}])
    array([0, 1])
    """
    keys = _keys(objects)
    try:
        first: dict[Any, int] = {}
        for i, key in enumerate(keys):
            first.setdefault(key, i)
        return np.array(list(first.values()))
    except TypeError:
        return np.arange(len(keys))


def _keys(objects: Any) -> list[Any]:
    """Return something for each object that is the same for the same objects, and can be looked up as a rule."""
    if scipy.sparse.issparse(objects):
        matrix = scipy.sparse.csr_array(objects, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        rows = [slice(start, end) for start, end in itertools.pairwise(matrix.indptr)]
        return [(matrix.indices[row].tobytes(), matrix.data[row].tobytes()) for row in rows]
    if isinstance(objects, np.ndarray):
        if objects.dtype != object:
            return [row.tobytes() for row in objects.reshape(len(objects), -1)]
        objects = list(objects) if objects.ndim == 1 else [tuple(row) for row in objects]  # objects of Python
    keys = [frozenset(one) if isinstance(one, set) else one for one in objects]
    return [tuple(one) if isinstance(one, list) else one for one in keys]
