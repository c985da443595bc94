"""Coordinates of objects: vectors whose inner products are the values of a kernel on objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._state import Stateful
from mercer.estimators.candidates import EncodedCandidates, count_objects, nonempty
from mercer.estimators.gram_outputs import NEGLIGIBLE_TRACE, GramOutputs
from mercer.estimators.validation import float_array
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels.objects import ObjectKernel, take_objects
from mercer.linalg import PSD, Dense, LinearOperator, truncated_factor

__all__ = ["FeatureSpace", "GivenSpace", "LandmarkSpace", "ObjectSpace", "given_space", "object_space"]

#: objects up to which their Gram matrix is stored to be factorised
STORED_OBJECTS = 6000
#: what the factor may leave of K_Y in a random direction, relative to its trace, before it is called indefinite
INDEFINITE = 1e-7
#: trace of K_Y left out where operators are put in coordinates, which divides by what is left; their rounding
OPERATOR_TRACE, ROUNDED_OPERATOR = 1e-8, 1e-4


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

    def operator(self, kernel: ObjectKernel) -> np.ndarray:
        """Return A in these coordinates, shape (r, r), from the kernel ⟨φ(y), Aφ(z)⟩ on objects."""
        raise UnsupportedError(
            "Operators between objects, as those of a sum of Decomposable kernels, are known from the objects "
            "themselves: neither a Gram matrix of outputs nor features in their place will do."
        )


@dataclass(frozen=True, eq=False)
class FeatureSpace(ObjectSpace):
    """The features of an explicit kernel, where they are no more than the objects."""

    kernel: ObjectKernel

    @property
    def directions(self) -> np.ndarray:
        return np.eye(self.rows.shape[1])

    def encode(self, candidates: Any) -> EncodedCandidates:
        objects, features = nonempty(candidates), self.kernel.features(candidates)
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

    def operator(self, kernel: ObjectKernel) -> np.ndarray:
        """L⁻¹k(landmarks, landmarks)L⁻ᵀ, positive semi-definite but for rounding, which is taken away."""
        values = kernel(self.landmarks)
        matrix = _forward(self.triangle, _forward(self.triangle, values))
        spectrum, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        if spectrum[0] < -ROUNDED_OPERATOR * max(abs(spectrum[0]), spectrum[-1]):
            raise _indefinite()
        return (vectors * np.maximum(spectrum, 0)) @ vectors.T

    def encode(self, candidates: Any) -> EncodedCandidates:
        objects = nonempty(candidates)
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
        values = float_array("candidates", values, "kernel values")
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
        sizes = float_array("candidates", sizes, "the diagonal")
        if sizes.shape != (len(values),) or not np.all(np.isfinite(sizes) & (sizes >= 0)):
            raise DataError(
                f"The diagonal of the candidates must have shape ({len(values)},) and numbers from 0; got shape "
                f"{sizes.shape}."
            )
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


def object_space(kernel: ObjectKernel, objects: Any, rank: int | None, operators: bool = False) -> ObjectSpace:
    """Return the space of the training objects, of at most ``rank`` dimensions; None for all there are.

    With ``operators`` between objects to come, directions in which these hardly differ are left out.
    """
    n = count_objects(objects)
    if kernel.explicit and rank is None and not operators:
        features = kernel.features(objects)
        if features.shape[1] <= n:
            return FeatureSpace(features, 0.0, kernel)
    share = OPERATOR_TRACE if operators else NEGLIGIBLE_TRACE
    if rank is None and n <= STORED_OBJECTS:
        rows, pivots, left_out = _whole_factor(kernel(objects), share)
    else:
        rows, pivots, left_out = _truncated(_ObjectGram(kernel, objects), n if rank is None else rank, share)
    return LandmarkSpace(rows, left_out, kernel, take_objects(objects, pivots), rows[pivots])


def given_space(gram: Any, keep: np.ndarray, n_objects: int, rank: int | None) -> GivenSpace:
    """Return the space of objects with a Gram matrix: that of the rows to ``keep`` of all ``n_objects``."""
    GramOutputs.check_gram(gram)
    rows, pivots, left_out = _whole_factor(gram) if rank is None else _truncated(Dense(gram), rank)
    return GivenSpace(rows, left_out, keep[pivots], rows[pivots], np.diagonal(gram).copy(), n_objects)


def _whole_factor(gram: np.ndarray, share: float = NEGLIGIBLE_TRACE) -> tuple[np.ndarray, np.ndarray, float]:
    """Return F with F Fᵀ = K_Y, its pivots and the share of the trace left out, or refuse an indefinite matrix."""
    GramOutputs.check_gram(gram)
    n, trace = len(gram), float(np.trace(gram))
    if trace <= 0:
        return np.zeros((n, 1)), np.zeros(1, dtype=int), 0.0
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(gram, tol=share * trace, lower=1)
    rank = max(int(rank), 1)
    rows = np.empty((n, rank))
    rows[order - 1] = np.tril(factor)[:, :rank]
    probe = np.random.default_rng(0).choice([-1.0, 1.0], size=(n, 4))
    if np.max(np.abs(gram @ probe - rows @ (rows.T @ probe))) > max(INDEFINITE, 10 * n * share) * trace:
        raise _indefinite()
    return rows, order[:rank] - 1, max(1 - float(np.sum(rows**2)) / trace, 0.0)


def _truncated(
    operator: LinearOperator, rank: int, share: float = NEGLIGIBLE_TRACE
) -> tuple[np.ndarray, np.ndarray, float]:
    trace = float(np.sum(operator.diagonal()))
    if trace <= 0:
        return np.zeros((operator.shape[0], 1)), np.zeros(1, dtype=int), 0.0
    try:
        found, left = truncated_factor(operator, share * trace, rank)
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


def _same_length(got: int, expected: int) -> None:
    if got != expected:
        raise DataError(f"candidates must be vectors of length {expected}, as the training outputs; got {got}.")
