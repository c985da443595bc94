"""The ridge step: one formula behind the closed form and ADMM."""

from __future__ import annotations

from typing import Any

from mercer.backend import as_like, namespace
from mercer.linalg import Spectral
from mercer.problems import DualProblem

__all__ = ["RidgeStep"]


class RidgeStep:
    """argmin_α ½⟨α, 𝒟α⟩ + (ρ/2)‖α − r‖², 𝒟 = 𝐊/(λn), under Σ_i s_i α_i = 0 with an intercept.

    In the eigenbasis U of 𝐊, with D the spectrum of 𝒟 and g = D/(D + ρ), the minimiser is α = r − c − U[g ∘ Uᵀ(r − c)]
    with equal rows c, the effect of the multipliers of the constraint, 0 without an intercept. With ρ = 1 and r = Y it
    is the dual solution of the square loss; with r = z − u it is the first half of an ADMM step.

    Parameters
    ----------
    problem : DualProblem
        λ, weights and intercept.
    spectral : Spectral
        Eigenpairs of its Gram operator.
    rho : float, default=1.0
        ρ; nothing but g depends on it (and on λ).
    """

    def __init__(self, problem: DualProblem, spectral: Spectral, rho: float = 1.0) -> None:
        self.spectral = spectral
        self.sample_weight, self.intercept, self.design = problem.sample_weight, problem.fit_intercept, problem.design
        self.spectrum = problem.scale * spectral.spectrum
        self.weights = as_like(problem.measure.weights, problem.Y)
        self.gain = self.spectrum / (self.spectrum + rho)
        if self.intercept:
            total = float(namespace(self.sample_weight).sum(self.sample_weight))
            self._multipliers = spectral.constant_solver(self.gain, self.weights, total, self.design)

    def smooth(self, array: Any) -> Any:
        """Return 𝒟A, the predictions of a dual array."""
        return self.spectral.synthesise(self.spectrum * self.spectral.analyse(array))

    def correction(self, coordinates: Any, total: Any) -> tuple[Any, Any]:
        """Return N and c (m,) with α = r − c − synthesise(N), from the coordinates of r and Σ_i s_i r_i."""
        shrunk = self.gain * coordinates
        if not self.intercept:
            return shrunk, namespace(total).zeros_like(total)
        rhs = self.weights * total - self.spectral.constant_sums(shrunk)
        nu = self._multipliers(rhs if self.design is None else self.design @ rhs)
        c = nu if self.design is None else nu @ self.design
        return shrunk - self.gain * self.spectral.constant(c), c

    def __call__(self, r: Any) -> Any:
        """Return the minimiser for an (n, m) array r."""
        N, c = self.correction(self.spectral.analyse(r), self.sample_weight @ r)
        return r - self.spectral.synthesise(N) - c[None, :]
