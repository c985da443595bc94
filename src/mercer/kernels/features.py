"""Kernels with finitely many features that are known: k(x, z) = φ(x)·φ(z)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.backend import as_like, holds, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel, as_points

__all__ = ["ExplicitKernel", "FeatureKernel"]


class ExplicitKernel(Kernel):
    """A kernel that is the inner product of the rows of :meth:`features`.

    Its Gram matrices are products of thin factors, and what is learned with it is φ(x)W: no training row is needed to
    predict. A subclass implements :meth:`features`.
    """

    @property
    def explicit(self) -> bool:
        """Always: the features are known."""
        return True

    @abstractmethod
    def features(self, X: Any) -> Any:
        """Return φ(x_i), shape (n, D)."""

    def _evaluate(self, X, Z):
        left = self.features(X)
        return left @ (left if Z is X else self.features(Z)).T

    def _diagonal(self, X):
        return namespace(X).sum(self.features(X) ** 2, axis=1)


@dataclass(eq=False, repr=False)
class FeatureKernel(ExplicitKernel):
    """The kernel k(x, z) = φ(x)·φ(z) for features φ of one's own.

    Prefer it where there are fewer features than rows, D < n: a fit stores n × D numbers in place of an n × n matrix,
    and the fitted function is h(x)(θ) = φ(x) C g(θ) with g_j(θ) = k_Θ(θ_j, θ) and C = φ(X)ᵀc of shape (D, m), which
    needs no training rows. Sums, multiples and restrictions keep the features; products and sums with other kernels do
    not. A model can be pickled where the function can: not a lambda.

    Parameters
    ----------
    function : callable
        φ: takes an array of shape (n, d), returns one of shape (n, D), row by row.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = FeatureKernel(lambda X: np.hstack([X**0, X]))
    >>> kernel(np.array([[1.0], [2.0]]))
    array([[2., 3.],
           [3., 5.]])
    """

    function: Callable[[Any], Any]

    def _check(self) -> None:
        if not callable(self.function) or isinstance(self.function, (Kernel, type)):
            allowed = "a function of points (n, d) with values (n, D)"
            raise parameter_error(self, "function", self.function, allowed)

    def features(self, X: Any) -> Any:
        """Return φ(x_i) for the rows of X, shape (n, D), or refuse what is no such array of finite numbers."""
        X = as_points(self, X)
        name = getattr(self.function, "__name__", repr(self.function))
        try:
            values = as_like(self.function(X), X)
        except (TypeError, ValueError) as error:
            raise DataError(f"FeatureKernel: {name}(X) failed or returned no array of numbers: {error}") from error
        if values.ndim != 2 or values.shape[0] != X.shape[0] or values.shape[1] == 0:
            raise DataError(
                f"FeatureKernel: {name}(X) must return a row of features for each row of X, shape "
                f"({X.shape[0]}, D); got {tuple(values.shape)}."
            )
        xp = namespace(values)
        if not holds(xp.all(xp.isfinite(values))):
            raise DataError(f"FeatureKernel: {name}(X) returned NaN or infinite values.")
        return values
