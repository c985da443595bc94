"""Matrix-valued kernels in other coordinates of the outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.exceptions import parameter_error
from mercer.operator_valued.matrix_valued import MatrixValuedKernel

__all__ = ["Congruent"]


@dataclass(eq=False, repr=False)
class Congruent(MatrixValuedKernel):
    """F K(x, z) Fᵀ: the kernel of x ↦ F h(x), h in the space of K.

    Parameters
    ----------
    kernel : MatrixValuedKernel
        K.
    factor : array of shape (q, p)
        F.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.operator_valued import MatrixValuedKernel
    >>> class Constants(MatrixValuedKernel):
    ...     def blocks(self, X, Z):
    ...         return np.ones((len(X), len(Z), 1, 1)) * np.eye(2)
    >>> Congruent(Constants(), np.array([[1.0, 1.0]])).blocks(np.zeros((1, 1)), np.zeros((1, 1)))
    array([[[[2.]]]])
    """

    kernel: MatrixValuedKernel
    factor: Any

    def _check(self) -> None:
        if not isinstance(self.kernel, MatrixValuedKernel):
            raise parameter_error(self, "kernel", self.kernel, "a MatrixValuedKernel")
        factor = np.asarray(self.factor, dtype=float)
        if factor.ndim != 2 or not np.all(np.isfinite(factor)):
            raise parameter_error(self, "factor", self.factor, "a matrix of finite numbers")

    def adapt(self, X: Any) -> Congruent:
        """Return a copy in which parameters of K that depend on the inputs are numbers."""
        return self.replace(kernel=self.kernel.adapt(X))

    def locate(self, layout: Any) -> Congruent:
        """Return a copy in which columns that K names are numbers."""
        return self.replace(kernel=self.kernel.locate(layout))

    def blocks(self, X: Any, Z: Any) -> Any:
        """Return F K(x_i, z_j) Fᵀ, shape (len(X), len(Z), q, q)."""
        factor = np.asarray(self.factor, dtype=float)
        return factor @ np.asarray(self.kernel.blocks(X, Z)) @ factor.T
