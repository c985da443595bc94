"""Ridge regression of vectors as the Gaussian process that it is: how sure a prediction is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer import backend
from mercer._state import Stateful
from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.linalg.memory import BLOCK_BYTES
from mercer.operator_valued import MatrixValuedKernel

__all__ = ["GaussianPosterior"]


@dataclass(frozen=True, eq=False)
class GaussianPosterior(Stateful):
    """Covariances of h(x) + b given the data, where h is a Gaussian process of covariance σ²K.

    Observations are y_i = h(x_i) + b + ε_i, ε_i ~ N(0, σ²λn Q/s_i), and b has a flat prior. In coordinates in which Q
    is the identity, with A = K(X, X) + λn S⁻¹ on the observed entries and C the columns of the intercept,

        cov(x) = K(x, x) − K(x, X)A⁻¹K(X, x) + U(CᵀA⁻¹C)⁻¹Uᵀ,    U = I − K(x, X)A⁻¹C,

    times σ². The mean is the prediction of ridge regression. A factorisation is made at each call of
    :meth:`covariance`: an eigendecomposition of K_X where everything was observed and the kernel decomposes, a Cholesky
    factorisation on all observed entries otherwise.

    Parameters
    ----------
    kernel : Kernel or MatrixValuedKernel
        k_X, or K in the coordinates in which Q is the identity.
    matrix : array of shape (p, p) or None
        Γ in these coordinates, with k_X.
    X : array of shape (n, d)
        Training rows.
    weight : array of shape (n,)
        Their weights, of mean 1.
    observed : array of bool, shape (n, p)
        What was observed.
    shift : float
        λn.
    variance : float
        σ².
    factor : array of shape (p, p) or None
        L with Q = LLᵀ.
    centred : bool
        Whether there is an intercept.
    """

    kernel: Any
    matrix: Any
    X: Any
    weight: np.ndarray
    observed: np.ndarray
    shift: float
    variance: float
    factor: Any
    centred: bool

    def covariance(self, X: Any) -> np.ndarray:
        """Return the covariance matrices of the predictions at the rows of X, shape (len(X), p, p)."""
        if self.kernel.pairwise:
            raise UnsupportedError(
                "GaussianPosterior: with kernel='precomputed' the values k(x, x) of new rows are not known, and so "
                "there is no standard deviation. Pass a kernel and the rows themselves."
            )
        X = to_numpy(X)
        decomposed = self.matrix is not None and bool(np.all(self.observed))
        covariance = self._from_rows(X) if decomposed else self._from_entries(X)
        if self.factor is not None:
            covariance = self.factor @ covariance @ self.factor.T
        return self.variance * covariance

    def deviation(self, X: Any) -> np.ndarray:
        """Return the standard deviations of the predictions, shape (len(X), p)."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance(X), axis1=1, axis2=2), 0))

    def _from_rows(self, X: np.ndarray) -> np.ndarray:
        """In the eigenvectors of Γ outputs are independent, and in those of K_X all are one sum."""
        train, root = to_numpy(self.X), np.sqrt(self.weight)
        sigma, U = backend.eigh(to_numpy(self.kernel(train)) * root[:, None] * root)
        tau, V = np.linalg.eigh(self.matrix)
        tau = np.maximum(tau, 0)
        gains = 1 / (np.maximum(sigma, 0)[:, None] * tau + self.shift)  # (n, p)
        cross = (to_numpy(self.kernel(X, train)) * root) @ U
        variances = to_numpy(self.kernel.diagonal(X))[:, None] * tau - tau**2 * (cross**2 @ gains)
        if self.centred:
            constant = U.T @ root
            pull = 1 - tau * ((cross * constant) @ gains)
            variances = variances + pull**2 / (constant**2 @ gains)
        return (V * np.maximum(variances, 0)[:, None, :]) @ V.T

    def _from_entries(self, X: np.ndarray) -> np.ndarray:
        """On all observed entries at once."""
        rows, columns = np.nonzero(self.observed)
        train, root = to_numpy(self.X), np.sqrt(self.weight)[rows]
        p = self.observed.shape[1]
        gram = self._among(train, rows, columns) * root[:, None] * root
        gram[np.diag_indices_from(gram)] += self.shift
        factor = scipy.linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
        constants = np.zeros((len(rows), p if self.centred else 0))
        if self.centred:
            constants[np.arange(len(rows)), columns] = root
        solved = scipy.linalg.cho_solve(factor, constants)
        inner = np.linalg.inv(constants.T @ solved)
        step, parts = max(1, BLOCK_BYTES // (8 * p * max(len(rows), len(train) * p))), [np.zeros((0, p, p))]
        for start in range(0, len(X), step):
            some = X[start : start + step]
            cross = self._blocks(some, train)[:, rows, :, columns].transpose(1, 2, 0) * root  # (k, p, N)
            own = np.stack([self._blocks(x[None, :], x[None, :])[0, 0] for x in some])
            back = scipy.linalg.cho_solve(factor, cross.reshape(-1, len(rows)).T).T.reshape(cross.shape)
            covariance = own - cross @ back.transpose(0, 2, 1)
            if self.centred:
                pull = np.eye(p) - cross @ solved
                covariance = covariance + pull @ inner @ pull.transpose(0, 2, 1)
            parts.append((covariance + covariance.transpose(0, 2, 1)) / 2)
        return np.concatenate(parts)

    def _among(self, X: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """K between entries, shape (len(rows), len(rows))."""
        if isinstance(self.kernel, MatrixValuedKernel):
            return self._blocks(X, X)[rows[:, None], rows, columns[:, None], columns]
        return to_numpy(self.kernel(X))[np.ix_(rows, rows)] * self.matrix[np.ix_(columns, columns)]

    def _blocks(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """K(x, z), shape (len(X), len(Z), p, p)."""
        if isinstance(self.kernel, MatrixValuedKernel):
            return np.asarray(self.kernel.blocks(X, Z))
        return to_numpy(self.kernel(X, Z))[:, :, None, None] * self.matrix
