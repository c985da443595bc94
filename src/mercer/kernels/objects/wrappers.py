"""Kernels made of other kernels on objects: normalised, centred, of distances in their feature space."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import ParameterError, parameter_error
from mercer.kernels.objects.base import ObjectKernel

__all__ = ["Centred", "EmpiricalMap", "FeatureGaussian", "Normalised"]


class _Wrapper(ObjectKernel):
    """A kernel of another one, which reads the objects."""

    kernel: Any

    def _check(self) -> None:
        if not isinstance(self.kernel, ObjectKernel):
            allowed = "an ObjectKernel"
            raise parameter_error(self, "kernel", self.kernel, allowed, "OnVectors(kernel) makes one of a Kernel.")

    def _read(self, objects):
        return self.kernel._read(objects)


@dataclass(eq=False, repr=False)
class Normalised(_Wrapper):
    """k(y, z)/√(k(y, y)k(z, z)): features of length 1, so that all objects are as large; 0 where k(y, y) = 0.

    Prefer it wherever k(y, y) only says how long an object is.

    Parameters
    ----------
    kernel : ObjectKernel
        k.

    Examples
    --------
    >>> from mercer.kernels.objects import Spectrum
    >>> Normalised(Spectrum(1))(["a", "aaaa", "ab"]).round(3)
    array([[1.   , 1.   , 0.707],
           [1.   , 1.   , 0.707],
           [0.707, 0.707, 1.   ]])
    """

    kernel: Any

    @property
    def explicit(self) -> bool:
        """Whether the kernel is."""
        return self.kernel.explicit

    def _compare(self, left, right):
        left_roots = np.sqrt(self.kernel._sizes(left))
        right_roots = left_roots if right is left else np.sqrt(self.kernel._sizes(right))
        scale = np.outer(left_roots, right_roots)
        return np.where(scale > 0, self.kernel._compare(left, right) / np.where(scale > 0, scale, 1.0), 0.0)

    def _sizes(self, read):
        return (self.kernel._sizes(read) > 0).astype(float)

    def _features(self, read):
        roots = np.sqrt(self.kernel._sizes(read))
        return self.kernel._features(read) / np.where(roots > 0, roots, 1.0)[:, None]


@dataclass(eq=False, repr=False)
class FeatureGaussian(_Wrapper):
    """exp(−γ‖φ(y) − φ(z)‖²) with the features φ of a kernel k: ‖φ(y) − φ(z)‖² = k(y, y) + k(z, z) − 2k(y, z).

    Prefer it as an output kernel where similar objects should count, and distant ones be equally wrong.

    Parameters
    ----------
    kernel : ObjectKernel
        k.
    gamma : float, default=1.0
        γ > 0.

    Examples
    --------
    >>> from mercer.kernels.objects import Intersection
    >>> FeatureGaussian(Intersection(), gamma=0.5)([{1, 2}, {2}, {3}]).round(3)
    array([[1.   , 0.607, 0.223],
           [0.607, 1.   , 0.368],
           [0.223, 0.368, 1.   ]])
    """

    kernel: Any
    gamma: float = 1.0

    def _check(self) -> None:
        super()._check()
        check_number(self, "gamma", self.gamma, low=0)

    def _compare(self, left, right):
        sizes = self.kernel._sizes(left)
        others = sizes if right is left else self.kernel._sizes(right)
        squared = sizes[:, None] + others - 2 * self.kernel._compare(left, right)
        return np.exp(-float(self.gamma) * np.maximum(squared, 0))

    def _sizes(self, read):
        return np.ones(read.shape[0] if hasattr(read, "shape") else len(read))


class _Referred(_Wrapper):
    """A kernel that refers to a sample of objects, those that it is adapted to where none are given."""

    reference: Any

    def _adapt(self, objects):
        kernel = self.kernel.adapt(objects)
        return self.replace(kernel=kernel, reference=objects if self.reference is None else self.reference)

    def _sections(self, read: Any) -> np.ndarray:
        """Return the kernel between objects and those that it refers to."""
        if self.reference is None:
            raise ParameterError(
                f"{type(self).__name__}: it is not known what it refers to. Fix it first: kernel.adapt(objects)."
            )
        return self.kernel._compare(read, self.kernel.read(self.reference))


@dataclass(eq=False, repr=False)
class Centred(_Referred):
    """⟨φ(y) − φ̄, φ(z) − φ̄⟩ with the mean φ̄ of the features of a sample of objects.

    Parameters
    ----------
    kernel : ObjectKernel
        That of φ.
    reference : sequence of objects, default=None
        The sample; ``adapt(objects)`` takes those.
    mean_square : float, default=None
        ‖φ̄‖², from all pairs of the sample: ``adapt`` computes it, None each use. Other changes reset it.

    Examples
    --------
    >>> from mercer.kernels.objects import Intersection
    >>> Centred(Intersection()).adapt([{1}, {2}])([{1}, {2}])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """

    kernel: Any
    reference: Any = None
    mean_square: float | None = None

    def _assign(self, params):
        super()._assign(params)
        if "mean_square" not in params:
            self.mean_square = None

    def _adapt(self, objects):
        adapted = super()._adapt(objects)
        return adapted.replace(mean_square=adapted._mean())

    def _compare(self, left, right):
        mine = self._sections(left).mean(axis=1)
        theirs = mine if right is left else self._sections(right).mean(axis=1)
        return self.kernel._compare(left, right) - mine[:, None] - theirs + self._mean()

    def _sizes(self, read):
        return np.maximum(self.kernel._sizes(read) - 2 * self._sections(read).mean(axis=1) + self._mean(), 0)

    def columns(self, objects):
        """Return j ↦ k(y_i, y_j), with the means of all objects computed once."""
        means, mean = self._sections(self.read(objects)).mean(axis=1), self._mean()
        column = self.kernel.columns(objects)
        return lambda index: column(index) - means - means[index] + mean

    def _mean(self) -> float:
        """Return ‖φ̄‖²."""
        return float(self.kernel(self.reference).mean()) if self.mean_square is None else self.mean_square


@dataclass(eq=False, repr=False)
class EmpiricalMap(_Referred):
    """(1/m) Σ_r s(y, r)s(z, r) over m objects r: objects by their similarities to those of a sample.

    It is positive semi-definite whatever the similarity s, and makes a kernel of one that is none, such as
    :class:`EditSimilarity` (Schölkopf et al., 1999).

    Parameters
    ----------
    kernel : ObjectKernel
        s; only its values count.
    reference : sequence of objects, default=None
        The sample; ``adapt(objects)`` takes those.

    Examples
    --------
    >>> from mercer.kernels.objects import EditSimilarity
    >>> EmpiricalMap(EditSimilarity(5.0), reference=["cat", "dog"])(["cat", "cart"]).round(3)
    array([[0.5  , 0.143],
           [0.143, 0.041]])
    """

    kernel: Any
    reference: Any = None

    @property
    def definite(self) -> bool:
        """Always, whatever the similarity is."""
        return True

    def _read(self, objects):
        return self._sections(super()._read(objects))

    def _compare(self, left, right):
        return left @ right.T / left.shape[1]

    def _sizes(self, read):
        return np.mean(read**2, axis=1)
