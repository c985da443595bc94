"""What is predicted: candidates, one list for all rows or one for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from mercer._state import Stateful
from mercer.exceptions import DataError
from mercer.kernels.objects import as_objects

__all__ = ["CandidateLists", "EncodedCandidates", "count_objects", "distinct_objects", "join_objects", "nonempty"]


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
        read = [as_objects(self, one) for one in lists]
        sizes = [count_objects(one) for one in read]
        self._refuse_empty(sizes)
        self.pool: Any = join_objects(self, read)
        ends = np.cumsum(sizes)
        self.rows = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @classmethod
    def of(cls, pool: Any, indices: Sequence[Any]) -> CandidateLists:
        """Return lists of objects of a common pool, which are read and compared once, by their indices."""
        self = cls.__new__(cls)
        self.pool = as_objects("CandidateLists", pool)
        self.rows = [np.asarray(one, dtype=int).ravel() for one in indices]
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


def count_objects(objects: Any) -> int:
    """Return how many objects there are."""
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)


def join_objects(owner: object, parts: list[Any]) -> Any:
    """Return several sequences of objects as one: arrays, sparse matrices, or lists."""
    arrays = [isinstance(one, np.ndarray) for one in parts]
    if all(arrays):
        if len({one.shape[1:] for one in parts}) > 1:
            shapes = " and ".join(str(one.shape[1:]) for one in parts)
            raise DataError(f"{type(owner).__name__}: arrays of objects must be of one shape; got rows of {shapes}.")
        return np.concatenate(parts)
    sparse = [scipy.sparse.issparse(one) for one in parts]
    if all(sparse):
        return scipy.sparse.csr_array(scipy.sparse.vstack(parts))
    return [one for objects in parts for one in objects]


def nonempty(candidates: Any) -> Any:
    """Return a sequence of candidates, or refuse one without any."""
    objects = as_objects("candidates", candidates)
    if count_objects(objects) == 0:
        raise DataError("candidates: there are none. Pass one object at least, or None for the training outputs.")
    return objects


def distinct_objects(objects: Any) -> np.ndarray:
    """Return the first places of distinct objects, in their order; all of them where that cannot be told."""
    if scipy.sparse.issparse(objects):
        return np.arange(objects.shape[0])
    if isinstance(objects, np.ndarray):
        rows = objects.reshape(len(objects), -1)
        if rows.dtype == object:
            return np.arange(len(rows))
        keys: list[Any] = [row.tobytes() for row in rows]
    else:
        keys = [frozenset(one) if isinstance(one, set) else one for one in objects]
        keys = [tuple(one) if isinstance(one, list) else one for one in keys]
    try:
        first: dict[Any, int] = {}
        for i, key in enumerate(keys):
            first.setdefault(key, i)
        return np.array(list(first.values()))
    except TypeError:
        return np.arange(len(keys))
