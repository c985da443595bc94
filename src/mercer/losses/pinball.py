"""The pinball loss and its relatives: the points of the measure are the levels θ ∈ (0, 1).

In all formulas r = y − u is the residual and w_θ(r) = θ where r > 0, 1 − θ elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._params import check_number
from mercer.backend import as_like, clip, namespace
from mercer.losses.base import Box, Loss, indicator
from mercer.losses.box import BoxLoss, inside_box
from mercer.losses.levels import check_levels, levels
from mercer.losses.observed import node_mean, observed_only, residual
from mercer.losses.prox import by_sign, positive_part, project_box
from mercer.losses.quantiles import weighted_quantile
from mercer.measures import Measure

__all__ = ["Expectile", "MoreauPinball", "Pinball", "WeightedHuber"]


@dataclass(eq=False, repr=False)
class Pinball(BoxLoss):
    """The pinball (check) loss, whose minimiser at level θ is the conditional θ-quantile.

    L(u) = ∫ max(θ·r(θ), (θ − 1)·r(θ)) dμ(θ),    L*(−a) = −⟨a, y⟩_μ on θ − 1 ≤ a(θ) ≤ θ

    The loss for all quantiles at once: exact coverage, robust to outliers in y, not smooth. Where a smooth
    loss is wanted take :class:`MoreauPinball`; for levels of another kind :class:`WeightedHuber` or
    :class:`Expectile`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> Pinball().value(np.array([[1.5], [-1.5]]), np.array([[0.0], [0.0]]), mu)
    array([0.45, 1.05])
    """

    indexed_by = "level"

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ max(θr, (θ − 1)r) dμ for each row."""
        excess = residual(U, Y, measure)
        weights, theta = as_like(measure.weights, excess), levels(measure, excess)
        # (−r)₊ + θr with θ in the weights, where rows share it: two products and no array of losses
        linear = excess @ (weights * theta) if theta.ndim == 1 else (excess * theta) @ weights
        return positive_part(excess) @ weights - linear

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −θ where r > 0 and 1 − θ elsewhere."""
        excess = U - Y
        steps = namespace(excess).astype(excess >= 0, excess.dtype)
        return observed_only(steps - levels(measure, excess), measure)

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + clip(y − z, t(θ − 1), tθ)."""
        theta = levels(measure, Y)
        return Z + project_box(residual(Y, Z, measure), t * (theta - 1), t * theta)

    def box(self, Y: Any, measure: Measure) -> Box:
        """Return θ − 1 ≤ a ≤ θ without curvature."""
        theta = levels(measure, Y)
        return Box(theta - 1, theta)

    def intercept(self, Y: Any, U: Any, sample_weight: Any, measure: Measure) -> Any:
        """Return the weighted θ-quantiles of the residuals, node by node; θ is a mean where rows have their own."""
        xp, weights, theta = namespace(Y), sample_weight, levels(measure, Y)
        if measure.observed is not None:
            weights = observed_only(xp.zeros_like(Y) + sample_weight[:, None], measure)
        if theta.ndim == 2:  # slopes of Σ_i s_i·pinball_i(r_i − b) in b are Σ_i s_i(1[r_i < b] − θ_i)
            theta = node_mean(theta, sample_weight, measure)
        return weighted_quantile(residual(Y, U, measure), weights, theta)

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse levels outside (0, 1)."""
        check_levels(self, "quantile levels", measure)


@dataclass(eq=False, repr=False)
class MoreauPinball(BoxLoss):
    """The Moreau envelope of the pinball loss, a smooth surrogate for quantiles.

    L(u) = min_v Pinball(v) + ‖u − v‖²_μ/(2κ),    L*(−a) = (κ/2)‖a‖²_μ − ⟨a, y⟩_μ on θ − 1 ≤ a(θ) ≤ θ

    Node by node it is c·(r − κc/2) with c = clip(r/κ, θ − 1, θ). Prefer it where a quantile is wanted from a
    smooth solver: it is below the pinball loss by at most κ·max(θ, 1 − θ)²/2. Do not enlarge κ for
    robustness: as κ → ∞ all levels approach the mean (for M-quantiles take :class:`WeightedHuber`).

    Parameters
    ----------
    kappa : float, default=0.1
        Width of the smoothing, in the units of y; the gradient is Lipschitz with constant 1/κ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> MoreauPinball(kappa=0.5).value(np.array([[1.5]]), np.array([[0.0]]), mu)
    array([0.4275])
    """

    kappa: float = 0.1

    indexed_by = "level"
    smooth = True

    def _check(self) -> None:
        check_number(self, "kappa", self.kappa, low=0, hint="Pinball() is the limit κ → 0.")

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ c(r − κc/2) dμ, c = clip(r/κ, θ − 1, θ), for each row."""
        kappa, theta = float(self.kappa), levels(measure, Y)
        r = residual(Y, U, measure)
        c = project_box(r / kappa, theta - 1, theta)
        return measure.inner(c, r - (0.5 * kappa) * c)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −clip(r/κ, θ − 1, θ)."""
        theta = levels(measure, Y)
        return -project_box(residual(Y, U, measure) / float(self.kappa), theta - 1, theta)

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + clip(t(y − z)/(κ + t), t(θ − 1), tθ)."""
        theta = levels(measure, Y)
        pull = (t / (float(self.kappa) + t)) * residual(Y, Z, measure)
        return Z + project_box(pull, t * (theta - 1), t * theta)

    def box(self, Y: Any, measure: Measure) -> Box:
        """Return θ − 1 ≤ a ≤ θ with curvature κ."""
        theta = levels(measure, Y)
        return Box(theta - 1, theta, float(self.kappa))

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse levels outside (0, 1)."""
        check_levels(self, "quantile levels", measure)


@dataclass(eq=False, repr=False)
class WeightedHuber(Loss):
    """The Huber loss with the weights of the pinball, whose minimisers are the M-quantiles.

    L(u) = ∫ w_θ(r)·ψ_κ(r) dμ(θ),   ψ_κ(r) = r²/(2κ) where |r| ≤ κ, |r| − κ/2 beyond;
    L*(−a) = ∫ κa²/(2 w_θ(a)) dμ − ⟨a, y⟩_μ on θ − 1 ≤ a(θ) ≤ θ

    It lies between quantiles (κ → 0) and expectiles (κ·L → :class:`Expectile` as κ → ∞). Prefer it for levels
    that use the sizes of the residuals and still resist outliers. It is not the Moreau envelope of the
    pinball loss.

    Parameters
    ----------
    kappa : float, default=1.0
        Where the loss turns from quadratic to linear, in the units of y.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> WeightedHuber(kappa=0.5).value(np.array([[1.5]]), np.array([[0.0]]), mu)
    array([0.375])
    """

    kappa: float = 1.0

    indexed_by = "level"
    quantiles = False
    smooth = True

    def _check(self) -> None:
        check_number(self, "kappa", self.kappa, low=0, hint="Pinball() is the limit κ → 0.")

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ w_θ(r)·ψ_κ(r) dμ for each row."""
        kappa, theta = float(self.kappa), levels(measure, Y)
        r = residual(Y, U, measure)
        c = project_box(r / kappa, -1.0, 1.0)
        return measure.inner(by_sign(r, theta, 1 - theta) * c, r - (0.5 * kappa) * c)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −w_θ(r)·clip(r/κ, −1, 1)."""
        theta = levels(measure, Y)
        r = residual(Y, U, measure)
        return by_sign(r, -theta, theta - 1) * clip(r / float(self.kappa), -1.0, 1.0)

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + clip(t·w(y − z)/(κ + t·w), t(θ − 1), tθ), w = w_θ(y − z)."""
        kappa, theta = float(self.kappa), levels(measure, Y)
        r = residual(Y, Z, measure)
        up, down = t * theta, t * (1 - theta)
        pull = by_sign(r, up / (kappa + up), down / (kappa + down)) * r
        return Z + project_box(pull, -down, up)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return ∫ κa²/(2 w_θ(a)) dμ − ⟨a, y⟩_μ on θ − 1 ≤ a ≤ θ and +inf elsewhere, for each row."""
        theta = levels(measure, A)
        half = 0.5 * float(self.kappa)
        value = measure.inner(A, by_sign(A, half / theta, half / (1 - theta)) * A - Y)
        return value + indicator(inside_box(observed_only(A, measure), theta - 1, theta), value)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return clip(v/(1 + tκ/w_θ(v)), θ − 1, θ), v = z + t·y."""
        theta = levels(measure, Y)
        v = observed_only(Z + t * Y, measure)
        kappa = t * float(self.kappa)
        shrunk = by_sign(v, theta / (theta + kappa), (1 - theta) / (1 - theta + kappa)) * v
        return project_box(shrunk, theta - 1, theta)

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse levels outside (0, 1)."""
        check_levels(self, "M-quantile levels", measure)


@dataclass(eq=False, repr=False)
class Expectile(Loss):
    """The asymmetric square loss, whose minimiser at level θ is the conditional θ-expectile.

    L(u) = ½∫ w_θ(r)·r² dμ(θ),    L*(−a) = ½∫ a²/w_θ(a) dμ − ⟨a, y⟩_μ

    Smooth and strongly convex on both sides, so quick to fit; expectiles depend on the sizes of the tails (a
    coherent risk measure for θ ≥ ½) where quantiles only count. Not robust to outliers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> Expectile().value(np.array([[2.0], [-2.0]]), np.array([[0.0], [0.0]]), mu)
    array([0.6, 1.4])
    """

    indexed_by = "level"
    quantiles = False
    smooth = True
    growth = 2

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ½∫ w_θ(r)·r² dμ for each row."""
        theta = levels(measure, Y)
        r = residual(Y, U, measure)
        return 0.5 * measure.inner(by_sign(r, theta, 1 - theta) * r, r)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −w_θ(r)·r."""
        theta = levels(measure, Y)
        r = residual(Y, U, measure)
        return by_sign(r, -theta, theta - 1) * r

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + t·w(y − z)/(1 + t·w), w = w_θ(y − z)."""
        theta = levels(measure, Y)
        r = residual(Y, Z, measure)
        up, down = t * theta, t * (1 - theta)
        return Z + by_sign(r, up / (1 + up), down / (1 + down)) * r

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return ½∫ a²/w_θ(a) dμ − ⟨a, y⟩_μ for each row."""
        theta = levels(measure, A)
        return measure.inner(A, by_sign(A, 0.5 / theta, 0.5 / (1 - theta)) * A - Y)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return v/(1 + t/w_θ(v)), v = z + t·y."""
        theta = levels(measure, Y)
        v = observed_only(Z + t * Y, measure)
        return by_sign(v, theta / (theta + t), (1 - theta) / (1 - theta + t)) * v

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse levels outside (0, 1)."""
        check_levels(self, "expectile levels", measure)
