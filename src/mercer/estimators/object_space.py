"""Coordinates of objects: vectors whose inner products are the values of a kernel on objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse

from mercer._state import Stateful
from mercer.estimators.gram_outputs import NEGLIGIBLE_TRACE, GramOutputs
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels.objects import ObjectKernel, as_objects, take_objects
from mercer.linalg import PSD, Dense, LinearOperator, truncated_factor

__all__ = ["CandidateLists", "EncodedCandidates", "FeatureSpace", "GivenSpace", "LandmarkSpace", "ObjectSpace"]
__all__ += ["given_space", "object_space"]

#: objects up to which their Gram matrix is stored to be factorised
STORED_OBJECTS = 6000
#: what the factor may leave of K_Y in a random direction, relative to its trace, before it is called indefinite
INDEFINITE = 1e-7


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
        sizes = [_count(one) for one in read]
        self._refuse_empty(sizes)
        kinds = {type(one) for one in read}
        if kinds == {np.ndarray}:
            self.pool: Any = np.concatenate(read)
        elif all(scipy.sparse.issparse(one) for one in read):
            self.pool = scipy.sparse.csr_array(scipy.sparse.vstack(read))
        else:
            self.pool = [one for objects in read for one in objects]
        ends = np.cumsum(sizes)
        self.rows = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]

    @classmethod
    def of(cls, pool: Any, indices: Sequence[Any]) -> CandidateLists:
        """Return lists of objects of a common pool, which are read and compared once, by their indices."""
        self = cls.__new__(cls)
        self.pool = as_objects("CandidateLists", pool)
        self.rows = [np.asarray(one, dtype=int).ravel() for one in indices]
        self._refuse_empty([len(one) for one in self.rows])
        if any(one.min() < 0 or one.max() >= _count(self.pool) for one in self.rows):
            raise DataError(f"CandidateLists: indices must be from 0 to {_count(self.pool) - 1}.")
        return self

    def _refuse_empty(self, sizes: list[int]) -> None:
        empty = [i for i, size in enumerate(sizes) if size == 0]
        if empty or not sizes:
            what = f"the list of row {empty[0]} is empty" if sizes else "there are no lists"
            raise DataError(f"CandidateLists: each row needs a candidate at least; {what}.")

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class ObjectSpace(Stateful, ABC):
    """Coordinates of the training objects, and how others get theirs.

    Parameters
    ----------
    rows : array of shape (n, r)
        F, with F Fᵀ = K_Y but for what was left out.
    left_out : float
        The share of the trace of K_Y that F leaves out.
    """

    rows: np.ndarray
    left_out: float

    @abstractmethod
    def encode(self, candidates: Any) -> EncodedCandidates:
        """Return candidates with their coordinates."""

    @property
    def directions(self) -> np.ndarray:
        """The features of explicit kernels that the coordinates belong to, shape (r, D)."""
        raise UnsupportedError("These objects have no features that are known.")

    @property
    def outputs(self) -> GramOutputs:
        """The training objects as outputs of a regression."""
        return GramOutputs.from_factor(self.rows)


@dataclass(frozen=True, eq=False)
class FeatureSpace(ObjectSpace):
    """The features of an explicit kernel, where they are no more than the objects."""

    kernel: ObjectKernel

    @property
    def directions(self) -> np.ndarray:
        return np.eye(self.rows.shape[1])

    def encode(self, candidates: Any) -> EncodedCandidates:
        objects, features = _nonempty(candidates), self.kernel.features(candidates)
        _same_length(features.shape[1], self.rows.shape[1])
        return EncodedCandidates(objects, features, np.sum(features**2, axis=1))


@dataclass(frozen=True, eq=False)
class LandmarkSpace(ObjectSpace):
    """Projections on the span of some objects, the pivots of a Cholesky factorisation L Lᵀ of their kernel.

    φ(z) has the coordinates L⁻¹k_Y(landmarks, z). With as many landmarks as K_Y has rank nothing is lost.
    """

    kernel: ObjectKernel
    landmarks: Any
    triangle: np.ndarray

    @property
    def directions(self) -> np.ndarray:
        return _forward(self.triangle, self.kernel.features(self.landmarks)).T

    def encode(self, candidates: Any) -> EncodedCandidates:
        objects = _nonempty(candidates)
        sections = self.kernel(self.landmarks, objects)
        return EncodedCandidates(objects, _forward(self.triangle, sections), self.kernel.diagonal(objects))


@dataclass(frozen=True, eq=False)
class GivenSpace(ObjectSpace):
    """The same of objects that are known by their kernel values: candidates are rows k_Y(z, training objects)."""

    pivots: np.ndarray
    triangle: np.ndarray
    sizes: np.ndarray
    n_objects: int

    def encode(self, candidates: Any) -> EncodedCandidates:
        values, sizes = candidates if isinstance(candidates, tuple) and len(candidates) == 2 else (candidates, None)
        values = np.asarray(values, dtype=float)
        if values.ndim != 2 or values.shape[1] != self.n_objects or not len(values):
            raise DataError(
                "With output_kernel='precomputed' candidates are rows of kernel values with the training objects, of "
                f"shape (m, {self.n_objects}), m ≥ 1; got shape {values.shape}."
            )
        if not np.all(np.isfinite(values)):
            raise DataError("Kernel values of candidates must be finite.")
        if sizes is None:
            if np.ptp(self.sizes) > 1e-8 * np.max(self.sizes):
                raise DataError(
                    "k_Y(z, z) differs from object to object, and that of the candidates is not known: pass the pair "
                    "(values, diagonal), the latter of shape (m,)."
                )
            sizes = np.full(len(values), self.sizes[0])
        sizes = np.asarray(sizes, dtype=float)
        if sizes.shape != (len(values),):
            raise DataError(f"The diagonal of the candidates must have shape ({len(values)},); got {sizes.shape}.")
        return EncodedCandidates(np.arange(len(values)), _forward(self.triangle, values[:, self.pivots].T), sizes)


class _ObjectGram(LinearOperator):
    """K_Y evaluated column by column."""

    tags = PSD

    def __init__(self, kernel: ObjectKernel, objects: Any) -> None:
        self.kernel, self.objects, self.own = kernel, objects, kernel.diagonal(objects)

    @property
    def shape(self):
        return (len(self.own), len(self.own))

    @property
    def like(self):
        return self.own

    @property
    def adjoint(self):
        return self

    def apply(self, array):
        return self._dense() @ array

    def diagonal(self):
        return self.own

    def columns(self) -> Callable[[int], np.ndarray]:
        return self.kernel.columns(self.objects)

    def _dense(self):
        return self.kernel(self.objects)


def object_space(kernel: ObjectKernel, objects: Any, rank: int | None) -> ObjectSpace:
    """Return the space of the training objects, of at most ``rank`` dimensions; None for all there are."""
    n = _count(objects)
    if kernel.explicit and rank is None:
        features = kernel.features(objects)
        if features.shape[1] <= n:
            return FeatureSpace(features, 0.0, kernel)
    if rank is None and n <= STORED_OBJECTS:
        rows, pivots, left_out = _whole_factor(kernel(objects))
    else:
        rows, pivots, left_out = _truncated(_ObjectGram(kernel, objects), n if rank is None else rank)
    return LandmarkSpace(rows, left_out, kernel, take_objects(objects, pivots), rows[pivots])


def given_space(gram: Any, keep: np.ndarray, n_objects: int, rank: int | None) -> GivenSpace:
    """Return the space of objects with a Gram matrix: that of the rows to ``keep`` of all ``n_objects``."""
    gram = np.asarray(gram, dtype=float)
    GramOutputs.check_gram(gram)
    rows, pivots, left_out = _whole_factor(gram) if rank is None else _truncated(Dense(gram), rank)
    return GivenSpace(rows, left_out, keep[pivots], rows[pivots], np.diagonal(gram).copy(), n_objects)


def _whole_factor(gram: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return F with F Fᵀ = K_Y, its pivots and the share of the trace left out, or refuse an indefinite matrix."""
    GramOutputs.check_gram(gram)
    n, trace = len(gram), float(np.trace(gram))
    if trace <= 0:
        return np.zeros((n, 1)), np.zeros(1, dtype=int), 0.0
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(gram, tol=NEGLIGIBLE_TRACE * trace, lower=1)
    rank = max(int(rank), 1)
    rows = np.empty((n, rank))
    rows[order - 1] = np.tril(factor)[:, :rank]
    probe = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, 4))
    if np.max(np.abs(gram @ probe - rows @ (rows.T @ probe))) > INDEFINITE * trace:
        raise _indefinite()
    return rows, order[:rank] - 1, max(1 - float(np.sum(rows**2)) / trace, 0.0)


def _truncated(operator: LinearOperator, rank: int) -> tuple[np.ndarray, np.ndarray, float]:
    trace = float(np.sum(operator.diagonal()))
    if trace <= 0:
        return np.zeros((operator.shape[0], 1)), np.zeros(1, dtype=int), 0.0
    try:
        found, left = truncated_factor(operator, NEGLIGIBLE_TRACE * trace, rank)
    except DataError as error:
        raise _indefinite() from error
    return found.factor, found.pivots, left / trace


def _indefinite() -> DataError:
    return DataError(
        "The output kernel is not positive semi-definite on these objects, so that there are no vectors with these "
        "inner products. EmpiricalMap(kernel) is, whatever the similarity; or clip the spectrum of a Gram matrix."
    )


def _forward(triangle: np.ndarray, sections: np.ndarray) -> np.ndarray:
    """Return (L⁻¹S)ᵀ; coordinates along directions of no length are 0."""
    if not np.any(triangle):
        return np.zeros((sections.shape[1], len(triangle)))
    return scipy.linalg.solve_triangular(triangle, sections, lower=True, check_finite=False).T


def _count(objects: Any) -> int:
    return int(objects.shape[0]) if hasattr(objects, "shape") else len(objects)


def _nonempty(candidates: Any) -> Any:
    objects = as_objects("candidates", candidates)
    if _count(objects) == 0:
        raise DataError("candidates: there are none. Pass one object at least, or None for the training outputs.")
    return objects


def _same_length(got: int, expected: int) -> None:
    if got != expected:
        raise DataError(f"candidates must be vectors of length {expected}, as the training outputs; got {got}.")
