"""Objects that are known through the values of a kernel between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Self

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.grid_curves import GridCurves
from mercer.exceptions import DataError, UnsupportedError
from mercer.kernels import Identity
from mercer.linalg import Dense, pivoted_cholesky
from mercer.losses import Loss
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, Indexed, OperatorSum, OperatorValuedKernel
from mercer.problems import DualProblem

__all__ = ["GramOutputs"]

#: trace of K_Y that its factor leaves out, relative to the whole
NEGLIGIBLE_TRACE = 1e-13
#: asymmetry of K_Y that is rounding, in units of its largest entry
ASYMMETRY = 1e-10


@dataclass(frozen=True, eq=False)
class GramOutputs(GridCurves):
    """n objects y_i, known through K_Y = [k_Y(y_i, y_j)] alone: vectors φ(y_i) in the space of k_Y.

    A factor with F Fᵀ = K_Y holds their coordinates in an orthonormal basis of the span of all φ(y_i): inner products,
    norms and means of the vectors are those of its rows, and a fit to the rows with the identity as output kernel is
    the fit to the vectors, for losses of norms. There is nothing between columns, and a loss of single coordinates,
    which depend on the basis, is refused.

    Parameters
    ----------
    operator : callable, optional
        A in these coordinates, an array of shape (r, r), of the kernel ⟨φ(y), Aφ(z)⟩ on objects.

    Examples
    --------
    >>> import numpy as np
    >>> objects = GramOutputs.from_gram(np.array([[4.0, 2.0], [2.0, 1.0]]))
    >>> objects.values
    array([[2.],
           [1.]])
    >>> objects.inner_products(np.array([[3.0]]))
    array([[6., 3.]])
    """

    operator: Callable[[Any], np.ndarray] | None = None

    @classmethod
    def from_gram(cls, gram: np.ndarray) -> Self:
        """Return the outputs with the Gram matrix K_Y, symmetric and positive semi-definite, of shape (n, n)."""
        gram = np.asarray(to_numpy(gram), dtype=float)
        cls.check_gram(gram)
        factor = pivoted_cholesky(Dense(gram), NEGLIGIBLE_TRACE * float(np.trace(gram)))
        if factor is None or factor.shape[1] == 0:
            factor = np.zeros((len(gram), 1))
        return cls.from_factor(factor)

    @staticmethod
    def check_gram(gram: np.ndarray) -> None:
        """Refuse what is clearly no Gram matrix."""
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1] or not len(gram) or not np.all(np.isfinite(gram)):
            raise DataError(f"GramOutputs: a Gram matrix is square, with finite entries; got shape {gram.shape}.")
        if np.max(np.abs(gram - gram.T)) > ASYMMETRY * np.max(np.abs(gram)):
            raise DataError("GramOutputs: a Gram matrix is symmetric, and this one is not. Take (K + K.T) / 2.")
        sizes = np.sqrt(np.maximum(np.diagonal(gram), 0))
        if np.any(np.abs(gram) > np.outer(sizes, sizes) + ASYMMETRY * np.max(np.abs(gram))):
            raise DataError(
                "GramOutputs: a Gram matrix is positive semi-definite, |k_ij|² ≤ k_ii k_jj, and this one is not."
            )

    @classmethod
    def from_factor(cls, factor: np.ndarray) -> Self:
        """Return the outputs with the Gram matrix F Fᵀ, from F of shape (n, rank)."""
        rank = factor.shape[1]
        return cls(factor, Measure(np.arange(float(rank)), np.ones(rank)), 1, 2, located=False)

    def bind(self, kernel: Any, output_kernel: Any = None, output_matrix: Any = None) -> Any:
        """Return the kernel k_X·I of the space of k_Y, k_X·A (``Indexed(A)``), or a sum of such with A_t each."""
        if isinstance(kernel, OperatorValuedKernel):
            return reduce(OperatorSum, map(self._in_coordinates, kernel.terms)).bind(self.nodes)
        if not (output_kernel is None or isinstance(output_kernel, (Identity, Indexed))) or output_matrix is not None:
            raise UnsupportedError(
                "GramOutputs: the output kernel is the identity of the space of k_Y; leave output_kernel and "
                "output_matrix out."
            )
        return super().bind(kernel, Identity() if output_kernel is None else output_kernel, None)

    def _in_coordinates(self, kernel: Any) -> Any:
        """Return a decomposable kernel whose kernel on objects has become a matrix."""
        if not isinstance(kernel, Decomposable) or kernel.output_matrix is not None or self.operator is None:
            raise UnsupportedError(
                f"GramOutputs: {kernel!r} is no operator on objects. Sum Decomposable(k_X, output_kernel), where "
                "output_kernel is a kernel on objects, ⟨φ(y), Aφ(z)⟩."
            )
        if isinstance(kernel.output_kernel, Identity) or not np.any(self.values):  # objects that are all 0
            return kernel.replace(output_kernel=Identity())
        matrix = self.operator(kernel.output_kernel)
        if not np.any(matrix):
            raise DataError(f"GramOutputs: {kernel.output_kernel!r} is 0 on all these objects; leave its term out.")
        return kernel.replace(output_kernel=Indexed(matrix))

    def pose(
        self, bound: Any, X: Any, loss: Loss, alpha: float, weight: Any = None, fit_intercept: bool = False
    ) -> DualProblem:
        """Return the problem whose rows are the vectors φ(y_i)."""
        if isinstance(loss, Loss) and not loss.coordinate_free:
            raise UnsupportedError(
                f"GramOutputs: {loss!r} is a loss of single coordinates, and objects behind a Gram matrix have none. "
                "Take a loss of norms, for instance Huber(1.0, 'norm')."
            )
        return super().pose(bound, X, loss, alpha, weight, fit_intercept)

    def inner_products(self, predicted: np.ndarray) -> np.ndarray:
        """Return ⟨h(x), φ(y_i)⟩ of predicted vectors, (k, rank), with all objects, shape (k, n)."""
        return predicted @ self.values.T
