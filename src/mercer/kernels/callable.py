"""A kernel given by a callable of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer.backend import as_like, holds, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel

__all__ = ["FunctionKernel"]


@dataclass(eq=False, repr=False)
class FunctionKernel(Kernel):
    """The kernel k(X, Z) = function(X, Z), for a function of two arrays that returns the matrix.

    The function must be symmetric and positive semi-definite; ``mercer.testing.check_kernel`` tests that.
    Prefer a subclass of :class:`Kernel` when there are parameters to tune.

    Parameters
    ----------
    function : callable
        Takes arrays of shapes (n, d) and (m, d), returns an array of shape (n, m).

    Examples
    --------
    >>> import numpy as np
    >>> FunctionKernel(lambda X, Z: np.minimum(X, Z.T))(np.array([[1.0], [2.0]]))
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], Any]

    def _check(self) -> None:
        if not callable(self.function) or isinstance(self.function, (Kernel, type)):
            raise parameter_error(self, "function", self.function, "a function of two arrays (X, Z)")

    def _evaluate(self, X, Z):
        name = getattr(self.function, "__name__", repr(self.function))
        try:
            matrix = as_like(self.function(X, Z), X)
        except (TypeError, ValueError) as error:
            raise DataError(f"FunctionKernel: {name}(X, Z) failed or returned no array of numbers: {error}") from error
        expected = (X.shape[0], Z.shape[0])
        if tuple(matrix.shape) != expected:
            raise DataError(
                f"FunctionKernel: {name}(X, Z) must return the matrix of all pairs of rows, "
                f"of shape {expected}; got {tuple(matrix.shape)}. "
                "A function of two single rows has to be looped over the rows."
            )
        xp = namespace(matrix)
        if not holds(xp.all(xp.isfinite(matrix))):
            raise DataError(f"FunctionKernel: {name}(X, Z) returned NaN or infinite values.")
        return matrix
