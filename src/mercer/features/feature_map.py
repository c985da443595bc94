"""What a user passes to replace a kernel by one whose features are known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from mercer._params import Params
from mercer.backend import to_numpy
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import ExplicitKernel, FeatureKernel, Kernel, Linear, Projected, Restricted, Scaled
from mercer.kernels.base import Array, as_points
from mercer.operator_valued import Decomposable, MatrixValuedKernel, OperatorSum, OperatorValuedKernel, Transformable

__all__ = ["DifferentiableFeatures", "Explicit", "FeatureMap", "LinearFeatures", "exact_features"]


class FeatureMap(Params, ABC):
    """How a kernel k is replaced by a kernel k̃(x, z) = φ(x)·φ(z) with few features φ.

    It is a record of how many, and how they are chosen; :meth:`bind` chooses them for a kernel and some rows. What it
    returns is a kernel like any other: it takes every loss, estimator and certificate, and the fit is exactly that of
    k̃. A map of one's own implements :meth:`_scalar`, and :meth:`_matrix_valued` where it knows how.
    """

    #: the seed of maps that draw
    random_state = None  # type: Any

    def bind(self, kernel: Any, X: Any, rng: Any = None) -> Any:
        """Return a kernel with known features that approximates another.

        Parameters
        ----------
        kernel : Kernel or OperatorValuedKernel
            k; parameters such as ``"median"`` are computed from X. Of a ``Decomposable`` or ``Transformable`` kernel
            the scalar one on inputs is replaced; terms of a sum of such are replaced one by one.
        X : array of shape (n, d)
            Rows, all of the data or a sample.
        rng : None, int or numpy.random.Generator, optional
            Random numbers where the record has no ``random_state`` of its own.

        Returns
        -------
        Kernel or OperatorValuedKernel
        """
        if not isinstance(kernel, (Kernel, OperatorValuedKernel)):
            raise parameter_error(
                self, "kernel", kernel, "a kernel", "For instance Gaussian(); as_kernel reads a name."
            )
        if kernel.pairwise:
            raise UnsupportedError(
                f"{type(self).__name__}: {kernel!r} is given by its values, and X holds no points that features could "
                "be computed of. Leave the approximation away, or pass points and a kernel on them."
            )
        X = as_points(self, X)
        if len(X) == 0:
            raise DataError(f"{type(self).__name__}: X has no rows.")
        X = np.asarray(to_numpy(X), dtype=float)
        if not np.all(np.isfinite(X)):
            raise DataError(f"{type(self).__name__}: X has NaN or infinite entries.")
        rng = np.random.default_rng(rng if self.random_state is None else self.random_state)
        return self._bind(kernel.adapt(X), X, rng)

    def check_rows(self, n_rows: int) -> None:
        """Refuse fewer rows than the map asks for, equal ones counted."""

    def limited(self, n_rows: int) -> FeatureMap:
        """Return the map for no more distinct rows than ``n_rows``."""
        return self

    def _bind(self, kernel: Any, X: np.ndarray, rng: np.random.Generator) -> Any:
        """Go down to what the map knows how to replace."""
        if isinstance(kernel, OperatorSum):
            return OperatorSum(self._bind(kernel.left, X, rng), self._bind(kernel.right, X, rng))
        if isinstance(kernel, Decomposable):
            return kernel.replace(kernel=self._bind(kernel.kernel, X, rng))
        if kernel.explicit:
            return kernel
        if isinstance(kernel, Kernel):
            return self._scalar(kernel, X, rng)
        return self._matrix_valued(kernel, X, rng)

    @abstractmethod
    def _scalar(self, kernel: Kernel, X: np.ndarray, rng: np.random.Generator) -> Kernel:
        """Return k̃ for a kernel whose parameters are numbers."""

    def _matrix_valued(self, kernel: MatrixValuedKernel, X: np.ndarray, rng: np.random.Generator) -> MatrixValuedKernel:
        """Return K̃ for a kernel whose values are matrices; by default that of images has its scalar kernel replaced."""
        if isinstance(kernel, Transformable):
            images = kernel._images(X)
            return kernel.replace(kernel=self._bind(kernel.kernel, images.reshape(-1, images.shape[2]), rng))
        raise UnsupportedError(
            f"{type(self).__name__} has no features of {kernel!r}. RandomFourier has those of fields and delays, and "
            "Nystroem(n_landmarks) those of any kernel."
        )


def check_random_state(owner: object, value: Any) -> None:
    """Refuse what is no seed: None, a non-negative integer or a generator of NumPy."""
    integer = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0
    if not (value is None or integer or isinstance(value, np.random.Generator)):
        raise parameter_error(owner, "random_state", value, "None, an integer >= 0 or a numpy.random.Generator")


class DifferentiableFeatures(ExplicitKernel):
    """A kernel of features whose derivatives are known, for slopes in θ and fields.

    A subclass implements :meth:`features` and :meth:`slopes`.
    """

    @abstractmethod
    def slopes(self, X: Any) -> Any:
        """Return ∂φ(x_i)/∂x_ib at (i, b), shape (n, d, D)."""

    def _gradient(self, X: Array, Z: Array) -> Array:
        n, d = X.shape
        return (self.slopes(X).reshape(n * d, -1) @ self.features(Z).T).reshape(n, d, -1).transpose(0, 2, 1)

    def _cross_hessian(self, X: Array, Z: Array) -> Array:
        left = self.slopes(X)
        right = left if Z is X else self.slopes(Z)
        n, d, size = left.shape
        products = left.reshape(n * d, size) @ right.reshape(-1, size).T
        return products.reshape(n, d, len(Z), d).transpose(0, 2, 1, 3)


@dataclass(eq=False, repr=False)
class LinearFeatures(Linear, ExplicitKernel):
    """The linear kernel ⟨x, z⟩ with its features, the columns of x.

    Examples
    --------
    >>> import numpy as np
    >>> LinearFeatures().features(np.array([[1.0, 2.0]]))
    array([[1., 2.]])
    """

    def features(self, X: Any) -> Any:
        """Return the points themselves."""
        return as_points(self, X)


def exact_features(kernel: Kernel) -> Kernel | None:
    """Return the kernel with its own features where it has finitely many that are known, else None."""
    if kernel.explicit:
        return kernel
    if isinstance(kernel, Linear):
        return LinearFeatures()
    if isinstance(kernel, (Scaled, Restricted, Projected)):
        inner = exact_features(kernel.kernel)
        return None if inner is None else kernel.replace(kernel=inner)
    return None


@dataclass(eq=False, repr=False)
class Explicit(FeatureMap):
    """Features of one's own, φ(x) for the rows of an array: k is replaced by φ(x)·φ(z), whatever k was.

    It is ``FeatureKernel(function)`` in place of the kernel. An array of features is no function of new points: pass it
    as X, with the kernel ``Linear()``.

    Parameters
    ----------
    function : callable
        φ: takes an array of shape (n, d), returns one of shape (n, D), row by row.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[1.0], [2.0]])
    >>> Explicit(lambda X: np.hstack([X**0, X])).bind(Gaussian(), X)(X)
    array([[2., 3.],
           [3., 5.]])
    """

    function: Callable[[Any], Any]

    def _check(self) -> None:
        if hasattr(self.function, "shape"):
            hint = "Pass an array of features as X, with kernel=Linear()."
            raise parameter_error(self, "function", self.function, "a function of points", hint)
        FeatureKernel(self.function)

    def _scalar(self, kernel, X, rng):
        found = FeatureKernel(self.function)
        found.features(X[:1])
        return found
