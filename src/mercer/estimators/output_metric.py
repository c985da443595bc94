"""The norm in which residuals of vectors are measured, ‖r‖² = rᵀQ⁻¹r, by coordinates in which it is the usual one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._state import Stateful
from mercer.backend import as_like, to_numpy
from mercer.exceptions import DataError, parameter_error

__all__ = ["OutputMetric", "read_metric"]


@dataclass(frozen=True, eq=False)
class OutputMetric(Stateful):
    """Q = LLᵀ, positive definite: vectors y are L⁻¹y, and matrices of covariances Γ are L⁻¹ΓL⁻ᵀ.

    Parameters
    ----------
    factor : array of shape (p, p)
        L, lower triangular.

    Examples
    --------
    >>> import numpy as np
    >>> OutputMetric(np.diag([2.0, 1.0])).of_rows(np.array([[4.0, 3.0]]))
    array([[2., 3.]])
    """

    factor: Any

    @property
    def matrix(self) -> np.ndarray:
        """Q."""
        return self.factor @ self.factor.T

    @property
    def diagonal(self) -> bool:
        """Whether Q scales components, and mixes none."""
        return not np.any(np.tril(self.factor, -1))

    @property
    def inverse(self) -> np.ndarray:
        """L⁻¹."""
        return scipy.linalg.solve_triangular(self.factor, np.eye(len(self.factor)), lower=True)

    def of_rows(self, Y: Any) -> Any:
        """Return L⁻¹y of the rows of an array; NaN stays where it is, for a diagonal Q."""
        if self.diagonal:
            return Y / as_like(np.diagonal(self.factor).copy(), Y)[None, :]
        return Y @ as_like(self.inverse.T.copy(), Y)

    def of_matrix(self, matrix: np.ndarray) -> np.ndarray:
        """Return L⁻¹ΓL⁻ᵀ."""
        half = scipy.linalg.solve_triangular(self.factor, matrix, lower=True)
        result = scipy.linalg.solve_triangular(self.factor, half.T, lower=True)
        return (result + result.T) / 2


def read_metric(owner: Any, given: Any, values: Any) -> OutputMetric | None:
    """Return Q as it was given for outputs of shape (n, p): a matrix, a diagonal, or "variance"."""
    if given is None:
        return None
    p, name = values.shape[1], type(owner).__name__
    if isinstance(given, str):
        if given != "variance":
            raise parameter_error(owner, "metric", given, "an array, 'variance' or None")
        variances = np.nanvar(to_numpy(values).astype(float), axis=0)
        return OutputMetric(np.diag(np.sqrt(np.where(variances > 0, variances, 1.0))))
    try:
        Q = np.asarray(to_numpy(given), dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name}: metric must hold numbers: {error}.") from error
    if Q.shape == (p,):
        Q = np.diag(Q)
    if Q.shape != (p, p) or not np.all(np.isfinite(Q)):
        raise DataError(f"{name}: metric must hold finite numbers, of shape ({p}, {p}) or ({p},); got {Q.shape}.")
    if np.max(np.abs(Q - Q.T)) > 1e-9 * np.max(np.abs(Q)):
        raise DataError(f"{name}: metric must be symmetric. Pass (Q + Q.T) / 2.")
    values_of_Q = np.linalg.eigvalsh((Q + Q.T) / 2)
    if values_of_Q[0] <= 1e-12 * values_of_Q[-1]:
        raise DataError(
            f"{name}: metric must be positive definite; its eigenvalues go from {values_of_Q[0]:.3g} to "
            f"{values_of_Q[-1]:.3g}. Add a small multiple of the identity."
        )
    metric = OutputMetric(np.linalg.cholesky((Q + Q.T) / 2))
    if not metric.diagonal and np.any(np.isnan(to_numpy(values))):
        raise DataError(
            f"{name}: with missing targets (NaN) metric must be diagonal, since components of a residual are mixed "
            "otherwise. Pass its diagonal, of shape (p,)."
        )
    return metric
