"""The ridge step in features: what ADMM does between two passes over the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from mercer.problems import FeatureProblem

__all__ = ["Correction", "FeatureBasis"]


class Correction(NamedTuple):
    """What takes r to the ridge step α = r − φ N Rᵀ − c, the same c in all rows, and ν, the multipliers over ρ."""

    N: np.ndarray  #: (D, q)
    c: np.ndarray  #: (m,)
    nu: np.ndarray  #: (m,)


class FeatureBasis:
    """Eigenvectors of the mean product of features and of RᵀWR, in which ridge steps are divisions.

    argmin_α ½⟨α, 𝒟α⟩ + (ρ/2)‖α − r‖², 𝒟 the predictions of a dual array, with Σ_i s_i α_i = 0 where there is an
    intercept, is α = r − ν − φ_c N Rᵀ with

        N = Q[(QᵀFV)_ab/(λn(σ_aτ_b/λ + ρ))]Vᵀ,    F = Σ_i s_i φ_c(x_i) r_i W R,    ν = Σ_i s_i r_i/n.

    Features φ_c are those less their mean where there is an intercept: no function but that of the intercept changes,
    and ν has nothing to do with N.

    Parameters
    ----------
    problem : FeatureProblem
        Whose moments are taken.
    """

    def __init__(self, problem: FeatureProblem) -> None:
        self.problem = problem
        moments = problem.moments
        products, _, _ = moments.products(problem.fit_intercept)
        self.mean = moments.feature_mean[None] if problem.fit_intercept else np.zeros_like(moments.feature_mean[None])
        sigma, self.vectors = scipy.linalg.eigh(products, driver="evd", overwrite_a=True, check_finite=False)
        outputs = np.ones((1, 1)) if problem.factor is None else problem.factor.T @ problem.terms.weighted_factor
        tau, self.turn = np.linalg.eigh(outputs)
        self.sizes = np.maximum(sigma, 0.0)[:, None] * np.maximum(tau, 0.0)

    def coordinates(self, coef: np.ndarray) -> np.ndarray:
        """Return QᵀCV."""
        return self.vectors.T @ coef @ self.turn

    def coef(self, coordinates: np.ndarray) -> np.ndarray:
        """Return C from its coordinates."""
        return self.vectors @ coordinates @ self.turn.T

    def offset(self, coef: np.ndarray) -> np.ndarray:
        """Return φ̄CRᵀ, what centred features take off predictions."""
        return self.problem.terms.forward(self.mean, coef)[0]

    def adjoint(self, array: np.ndarray) -> np.ndarray:
        """Return φ̄ᵀaWR, what centred features take off sums along features."""
        terms = self.problem.terms
        return terms.backward(self.mean, terms.inner(array[None]))

    def correction(self, along: np.ndarray, total: np.ndarray, rho: float) -> Correction:
        """Return the ridge step of r from Σ_i s_i φ(x_i) r_i W R and Σ_i s_i r_i."""
        problem = self.problem
        n, alpha = problem.n_rows, problem.alpha
        N = self.coef(self.coordinates(along - self.adjoint(total)) / (n * (self.sizes + alpha * rho)))
        nu = total / n if problem.fit_intercept else np.zeros_like(total)
        return Correction(N, nu - self.offset(N), nu)
