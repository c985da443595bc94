"""The ridge step: one formula behind the closed form and ADMM."""

from __future__ import annotations

from typing import Any

from mercer.linalg import Spectral
from mercer.problems import DualProblem

__all__ = ["RidgeStep"]


class RidgeStep:
    """argmin_α ½⟨α, 𝒟α⟩ + (ρ/2)‖α − r‖², 𝒟 = 𝐊/(λn), under the constraint of the intercept where there is one.

    In the eigenbasis U of 𝐊, with D the spectrum of 𝒟 and g = D/(D + ρ), the minimiser is α = r − c − U[g ∘ Uᵀ(r − c)]
    with equal rows c = νE, ν the multipliers of E[w ∘ (Σ_i s_i α_i − τ)] = 0 over ρ (an intercept with a penalty adds
    that of its moment to the objective instead, see ``Intercept.multipliers``); c = 0 without an intercept. With
    ρ = 1 and r = Y it is the dual solution of the square loss; with r = z − u it is the first half of an ADMM step.

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
        self.problem, self.spectral = problem, spectral
        self.spectrum = problem.scale * spectral.spectrum
        self.gain = self.spectrum / (self.spectrum + rho)
        if problem.intercept is not None:
            shrink = rho / (self.spectrum + rho)  # 1 − g, to all its digits
            self._multipliers = problem.intercept.multipliers(problem, spectral, shrink, rho)

    def smooth(self, array: Any) -> Any:
        """Return 𝒟A, the predictions of a dual array."""
        return self.spectral.synthesise(self.spectrum * self.spectral.analyse(array))

    def correction(self, coordinates: Any, total: Any) -> tuple[Any, Any]:
        """Return N and ν with α = r − νE − synthesise(N), from the coordinates of r and Σ_i s_i r_i."""
        shrunk, intercept = self.gain * coordinates, self.problem.intercept
        if intercept is None:
            return shrunk, None
        inside = self.spectral.constant_sums(shrunk)
        nu = self._multipliers(
            intercept.pull(self.problem, total) - (inside if intercept.design is None else intercept.design @ inside)
        )
        return shrunk - self.gain * self.spectral.constant(intercept.effect(nu)), nu

    def __call__(self, r: Any) -> Any:
        """Return the minimiser for an (n, m) array r."""
        N, nu = self.correction(self.spectral.analyse(r), self.problem.sample_weight @ r)
        smooth = r - self.spectral.synthesise(N)
        return smooth if nu is None else smooth - self.problem.effect(nu)[None, :]
