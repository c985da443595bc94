"""Ridge regression on features as the Gaussian process that it is, without training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer import backend
from mercer._state import Stateful
from mercer.backend import to_numpy
from mercer.kernels import Kernel
from mercer.linalg import Moments

__all__ = ["FeaturePosterior"]


@dataclass(frozen=True, eq=False)
class FeaturePosterior(Stateful):
    """Covariances of h(x) + b given the data, h a Gaussian process of covariance σ²φ(x)·φ(z)Γ, all targets observed.

    It is :class:`~mercer.estimators.gaussian_posterior.GaussianPosterior` in the coordinates of the features: with
    ΦᵀSΦ = V diag(s) Vᵀ, u = Vᵀφ(x), t = VᵀΦᵀS1 and an eigenvalue τ of Γ, in coordinates in which Q is the identity, the
    variance is

        τ(‖φ(x)‖² − Σ_k u_k² τs_k/(τs_k + λn)) + λn(1 − τ Σ_k u_k t_k/(τs_k + λn))²/(Σ_i s_i − τ Σ_k t_k²/(τs_k + λn)),

    times σ²; the second term is that of an intercept.

    Parameters
    ----------
    kernel : Kernel
        With known features φ.
    vectors, spectrum : arrays of shapes (D, r) and (r,)
        V and s, without the zeros where features are more than rows.
    totals : array of shape (r,)
        t.
    mass : float
        Σ_i s_i.
    matrix : array of shape (p, p)
        Γ.
    shift : float
        λn.
    variance : float
        σ².
    factor : array of shape (p, p) or None
        L with Q = LLᵀ.
    centred : bool
        Whether there is an intercept.
    """

    kernel: Kernel
    vectors: np.ndarray
    spectrum: np.ndarray
    totals: np.ndarray
    mass: float
    matrix: np.ndarray
    shift: float
    variance: float
    factor: Any
    centred: bool

    @classmethod
    def of_rows(cls, kernel: Kernel, X: Any, weight: np.ndarray, **given: Any) -> Self:
        """Return it for training rows and their weights of mean 1; the rest are its parameters."""
        phi = to_numpy(kernel.features(X)).astype(float)
        if len(phi) < phi.shape[1]:
            _, roots, right = np.linalg.svd(np.sqrt(weight)[:, None] * phi, full_matrices=False)
            vectors, spectrum = right.T, roots**2
        else:
            spectrum, vectors = backend.eigh((phi.T * weight) @ phi)
            spectrum = np.maximum(spectrum, 0)
        return cls(kernel, vectors, spectrum, vectors.T @ (weight @ phi), float(weight.sum()), **given)

    @classmethod
    def of_moments(cls, kernel: Kernel, moments: Moments, **given: Any) -> Self:
        """Return it for rows of which the moments are known; weights count as those of mean 1."""
        n = float(moments.n_rows)
        spectrum, vectors = backend.eigh(n * moments.products(False)[0])
        return cls(kernel, vectors, np.maximum(spectrum, 0), n * (vectors.T @ moments.feature_mean), n, **given)

    def covariance(self, X: Any) -> np.ndarray:
        """Return the covariance matrices of the predictions at the rows of X, shape (len(X), p, p)."""
        tau, basis = np.linalg.eigh(self.matrix)
        tau = np.maximum(tau, 0)
        phi = to_numpy(self.kernel.features(X)).astype(float)
        u, gains = phi @ self.vectors, 1 / (self.spectrum[:, None] * tau + self.shift)  # (n, r) and (r, p)
        known = u**2 @ (self.spectrum[:, None] * gains)
        variances = tau * np.maximum(np.sum(phi**2, axis=1)[:, None] - tau * known, 0)
        if self.centred:
            pull = 1 - tau * ((u * self.totals) @ gains)
            # Σ_ij of the inverse: what features do not reach of the constant has the eigenvalue λn
            variances = variances + pull**2 * self.shift / (self.mass - tau * (self.totals**2 @ gains))
        covariance = (basis * variances[:, None, :]) @ basis.T
        if self.factor is not None:
            covariance = self.factor @ covariance @ self.factor.T
        return self.variance * covariance

    def deviation(self, X: Any) -> np.ndarray:
        """Return the standard deviations of the predictions, shape (len(X), p)."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance(X), axis1=1, axis2=2), 0))
