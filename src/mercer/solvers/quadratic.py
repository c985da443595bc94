"""The ridge step: one formula behind the closed form and ADMM."""

from __future__ import annotations

from typing import Any

import scipy.linalg

from mercer.backend import namespace
from mercer.linalg import KroneckerEigen
from mercer.problems import DualProblem

__all__ = ["RidgeStep"]


class RidgeStep:
    """argmin_α ½⟨α, 𝒟α⟩ + (ρ/2)‖α − r‖², 𝒟 = 𝐊/(λn), under Σ_i s_i α_i = 0 with an intercept.

    In the eigenbases U, V of the whitened factors, with D the spectrum of 𝒟, the minimiser is
    α = r − U[(UᵀrV) ∘ D/(D + ρ)]Vᵀ − (correction for the intercept). With ρ = 1 and r = Y it is the dual solution of
    the square loss; with r = z − u it is the first half of an ADMM step. Nothing but D/(D + ρ) depends on λ or ρ.
    """

    def __init__(self, problem: DualProblem, eigen: KroneckerEigen) -> None:
        gram = problem.gram
        left, right = eigen.left.vectors, eigen.right.vectors
        root, right_root = gram.left_root, gram.right_root
        self.left_in = left if root is None else left * root[:, None]
        self.left_out = left if root is None else left / root[:, None]
        self.right_in = right if right_root is None else right * right_root[:, None]
        self.right_out = right if right_root is None else right / right_root[:, None]
        self.spectrum = problem.scale * eigen.spectrum
        self.intercept = problem.fit_intercept
        self.sample_weight = problem.sample_weight
        xp = namespace(left)
        self.total_weight = float(xp.sum(problem.sample_weight))
        self.design = problem.design
        if self.intercept:
            self.ones = xp.sum(self.left_in, axis=0)  # Uᵀ S^½ 1
        if self.design is not None:
            self.weighted_design = self.design * problem.measure.weights
            self.design_right = self.design @ self.right_in
            self.factor: tuple[float, Any] = (0.0, None)

    def analyse(self, array: Any) -> Any:
        """Return the coordinates in the eigenbases, (r, q)."""
        return self.left_in.T @ (array @ self.right_in)

    def synthesise(self, coordinates: Any) -> Any:
        """Return the (n, m) array of some coordinates."""
        return self.left_out @ (coordinates @ self.right_out.T)

    def correction(self, coordinates: Any, total: Any, rho: float) -> tuple[Any, Any]:
        """Return N (r, q) and c (m,) with α = r − synthesise(N) − c, from analyse(r) and Σ_i s_i r_i."""
        xp = namespace(coordinates)
        gain = self.spectrum / (self.spectrum + rho)
        if not self.intercept:
            return gain * coordinates, xp.zeros_like(total)
        if self.design is not None:
            return self._through_design(gain, coordinates, total, rho)
        # per right eigenvector k: ν_k = qᵀ(I − U g_k Uᵀ) r_k / qᵀ(I − U g_k Uᵀ) q, with q = S^½ 1
        ones = self.ones[:, None]
        total_right = total @ self.right_in
        top = total_right - xp.sum(ones * gain * coordinates, axis=0)
        bottom = self.total_weight - xp.sum(gain * ones * ones, axis=0)
        nu = top / bottom
        outside = total / self.total_weight - (total_right / self.total_weight) @ self.right_out.T
        return gain * (coordinates - ones * nu[None, :]), outside + nu @ self.right_out.T

    def _through_design(self, gain: Any, coordinates: Any, total: Any, rho: float) -> tuple[Any, Any]:
        """The same where the intercept adds ν @ E: ν solves E[n − g]Eᵀ ν = E(I − g)r in the geometry of the weights."""
        ones, right = self.ones[:, None], self.design_right
        if self.factor[0] != rho:
            inside = (gain * ones * ones).sum(axis=0)
            matrix = self.total_weight * (self.weighted_design @ self.design.T) - (right * inside) @ right.T
            self.factor = (rho, scipy.linalg.cho_factor(matrix))
        rhs = self.weighted_design @ total - right @ (ones * gain * coordinates).sum(axis=0)
        nu = scipy.linalg.cho_solve(self.factor[1], rhs)
        return gain * (coordinates - ones * (nu @ right)[None, :]), nu @ self.design

    def __call__(self, r: Any, rho: float = 1.0) -> Any:
        """Return the minimiser for an (n, m) array r."""
        N, c = self.correction(self.analyse(r), self.sample_weight @ r, rho)
        return r - self.synthesise(N) - c[None, :]
