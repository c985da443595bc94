"""Fewer coordinates of objects than they have: landmarks, sketches and random features, and what these cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._params import Params, check_number
from mercer.estimators.candidates import EncodedCandidates, count_objects, nonempty
from mercer.estimators.object_space import ObjectSpace, object_space
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features import FeatureMap
from mercer.kernels.objects import ObjectKernel, OnVectors, as_vectors, take_objects

__all__ = ["SketchSpace", "SparseSketch", "approximate_space", "check_output_approximation", "kernel_error"]

#: pairs of objects that a comparison of kernel values looks at: of so many objects
COMPARED_OBJECTS = 500
#: pivots of the matrix of a sketch that are rounding, in units of its trace
ROUNDED_PIVOT = 1e-13


@dataclass(eq=False, repr=False)
class SparseSketch(Params):
    """Ask for random combinations of training objects that features are projected on: ``output_approximation``.

    Each of ``size`` combinations g = Σ_i ±φ(y_i) has ``mixed`` objects, drawn at random, and random signs (a
    p-sparsified sketch; El Ahmad et al., 2024). It looks at ``size``·``mixed`` columns of K_Y at most, and takes no
    look at the objects to choose them, where landmarks (an int) are chosen one after the other.

    Parameters
    ----------
    size : int, default=200
        How many combinations: dimensions of the projection.
    mixed : int, default=10
        Objects in each.
    random_state : int, default=0
        Seed.

    Examples
    --------
    >>> indices, mixture = SparseSketch(size=2, mixed=3).draw(100)
    >>> len(indices), mixture.shape, (mixture != 0).sum(axis=1).tolist()
    (6, (2, 6), [3, 3])
    """

    size: int = 200
    mixed: int = 10
    random_state: int = 0

    def _check(self) -> None:
        for name in ("size", "mixed"):
            check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)
        check_number(self, "random_state", self.random_state, low=0, strict=False, integer=True)

    def draw(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the s objects of n that are looked at, and the weights of each combination, shape (size, s)."""
        rng, mixed = np.random.default_rng(self.random_state), min(self.mixed, n)
        drawn = np.stack([rng.choice(n, mixed, replace=False) for _ in range(self.size)])
        indices, place = np.unique(drawn, return_inverse=True)
        mixture = np.zeros((self.size, len(indices)))
        mixture[np.repeat(np.arange(self.size), mixed), place.ravel()] = rng.choice([-1.0, 1.0], drawn.size)
        return indices, mixture


@dataclass(frozen=True, eq=False)
class SketchSpace(ObjectSpace):
    """Projections on the span of combinations g = Rφ(landmarks): φ(z) has the coordinates L⁻¹Rk_Y(landmarks, z).

    L Lᵀ = R k_Y(landmarks, landmarks) Rᵀ, without combinations that others make up.
    """

    kernel: ObjectKernel
    landmarks: Any
    mixture: np.ndarray
    triangle: np.ndarray

    def encode(self, candidates: Any) -> EncodedCandidates:
        objects = nonempty(candidates)
        return EncodedCandidates(objects, self._coordinates(objects), self.kernel.diagonal(objects))

    @property
    def directions(self) -> np.ndarray:
        combined = self.mixture @ self.kernel.features(self.landmarks)
        return scipy.linalg.solve_triangular(self.triangle, combined, lower=True)

    def _coordinates(self, objects: Any) -> np.ndarray:
        combined = self.mixture @ self.kernel(self.landmarks, objects)
        return scipy.linalg.solve_triangular(self.triangle, combined, lower=True).T

    @classmethod
    def of(cls, kernel: ObjectKernel, objects: Any, sketch: SparseSketch) -> SketchSpace:
        """Return that of the training objects."""
        indices, mixture = sketch.draw(count_objects(objects))
        landmarks = take_objects(objects, indices)
        gram = mixture @ kernel(landmarks) @ mixture.T
        size = float(np.trace(gram))
        if not size > 0:
            raise DataError(
                "SparseSketch: all combinations of objects that were drawn are 0. Take another random_state."
            )
        factor, order, rank, _ = scipy.linalg.lapack.dpstrf((gram + gram.T) / 2, tol=ROUNDED_PIVOT * size, lower=1)
        kept, triangle = order[:rank] - 1, np.tril(factor)[:rank, :rank]
        space = cls(np.zeros((0, rank)), 0.0, kernel, landmarks, mixture[kept], triangle)
        rows = space._coordinates(objects)
        share = float(np.sum(rows**2)) / float(np.sum(kernel.diagonal(objects)))
        return cls(rows, max(1 - share, 0.0), kernel, landmarks, mixture[kept], triangle)


def check_output_approximation(owner: Any) -> None:
    """Refuse an ``output_approximation`` that is nothing of the kind."""
    given = owner.output_approximation
    if given is None or isinstance(given, (FeatureMap, SparseSketch)):
        return
    if isinstance(given, (bool, str)) or not isinstance(given, (int, np.integer)):
        allowed = "a number of landmarks, SparseSketch(200), RandomFourier(500) or None"
        raise parameter_error(owner, "output_approximation", given, allowed)
    check_number(owner, "output_approximation", given, low=1, strict=False, integer=True)


def approximate_space(kernel: ObjectKernel, objects: Any, given: Any, operators: bool = False) -> ObjectSpace:
    """Return the space of the training objects as ``output_approximation`` wants it."""
    if isinstance(given, SparseSketch):
        return SketchSpace.of(kernel, objects, given)
    if isinstance(given, FeatureMap):
        if not isinstance(kernel, OnVectors):
            raise UnsupportedError(
                f"output_approximation={given!r} has features of kernels on vectors, and {kernel!r} is none. Take "
                "landmarks (a number) or a SparseSketch."
            )
        made = OnVectors(given.bind(kernel.kernel, as_vectors(kernel, objects), 0))
        return object_space(made, objects, None, operators)
    return object_space(kernel, objects, None if given is None else int(given), operators)


def kernel_error(kernel: ObjectKernel, objects: Any, space: ObjectSpace) -> float:
    """Return the root mean square of ⟨φ̃(y), φ̃(z)⟩ − k_Y(y, z) over that of k_Y(y, z), of pairs of a sample."""
    n = count_objects(objects)
    rows = np.random.default_rng(0).permutation(n)[:COMPARED_OBJECTS]
    exact = kernel(take_objects(objects, rows))
    wrong = space.rows[rows] @ space.rows[rows].T - exact
    size = float(np.linalg.norm(exact))
    return float(np.linalg.norm(wrong)) / size if size > 0 else 0.0
