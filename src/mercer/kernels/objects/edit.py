"""Strings by the number of edits between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError
from mercer.kernels.objects.base import ObjectKernel

__all__ = ["EditSimilarity", "edit_distances"]


def edit_distances(strings: list[np.ndarray], others: list[np.ndarray]) -> np.ndarray:
    """Return Levenshtein distances of sequences of codes, shape (n, m): insertions, deletions and substitutions.

    One row of the dynamic programme after another, for all others at once.

    Examples
    --------
    >>> codes = [np.frombuffer(word, dtype=np.uint8) for word in (b"kitten", b"sitting", b"")]
    >>> edit_distances(codes[:1], codes)
    array([[0., 3., 6.]])
    """
    lengths = np.array([len(other) for other in others], dtype=int)
    width = int(lengths.max(initial=0))
    padded = np.full((len(others), width), -1, dtype=np.int64)
    for row, other in zip(padded, others, strict=True):
        row[: len(other)] = other
    steps, found = np.arange(width + 1), np.empty((len(strings), len(others)))
    for i, string in enumerate(strings):
        last = np.broadcast_to(steps, (len(others), width + 1)).copy()
        for symbol in string:
            best = last + 1  # its deletion
            np.minimum(best[:, 1:], last[:, :-1] + (padded != symbol), out=best[:, 1:])
            last = np.minimum.accumulate(best - steps, axis=1) + steps  # insertions, from the left
        found[i] = last[np.arange(len(others)), lengths]
    return found


@dataclass(eq=False, repr=False)
class EditSimilarity(ObjectKernel):
    """exp(−γ·d(s, t)) with d the Levenshtein distance of strings, by default relative to the length of the longer one.

    It is **not positive semi-definite** for all strings, as d is no squared distance of a Hilbert space: Gram matrices
    of a sample may have negative eigenvalues, fewer the larger γ is, and fits refuse those that have. Wrapped in
    :class:`EmpiricalMap` it is positive semi-definite by construction; :class:`Spectrum` is so by itself.

    Parameters
    ----------
    gamma : float, default=1.0
        γ > 0.
    relative : bool, default=True
        Whether d is divided by the length of the longer string.

    Examples
    --------
    >>> EditSimilarity(gamma=1.0, relative=False)(["cat", "cart", "dog"]).round(3)
    array([[1.   , 0.368, 0.05 ],
           [0.368, 1.   , 0.018],
           [0.05 , 0.018, 1.   ]])
    """

    gamma: float = 1.0
    relative: bool = True

    def _check(self) -> None:
        check_number(self, "gamma", self.gamma, low=0)

    @property
    def definite(self) -> bool:
        """Not for all strings."""
        return False

    def _read(self, objects):
        return [_codes(one) for one in objects]

    def _compare(self, left, right):
        distances = edit_distances(left, right)
        if self.relative:
            longer = np.maximum.outer([len(one) for one in left], [len(one) for one in right])
            distances = distances / np.maximum(longer, 1)
        return np.exp(-float(self.gamma) * distances)

    def _sizes(self, read):
        return np.ones(len(read))


def _codes(one: Any) -> np.ndarray:
    if not isinstance(one, str):
        raise DataError(f"EditSimilarity: objects are strings; got {type(one).__name__}.")
    return np.array([ord(letter) for letter in one], dtype=np.int64)
