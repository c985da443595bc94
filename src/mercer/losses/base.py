"""The contract of a loss: everything is row-wise on L²(μ)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from mercer._html import curve
from mercer._params import Params
from mercer.backend import namespace
from mercer.exceptions import MercerError
from mercer.losses.threshold import Threshold
from mercer.measures import Measure, Points

__all__ = ["Box", "Loss"]

#: the level of the picture of a loss: one at which it is not symmetric
PICTURED_LEVEL = 0.8


@dataclass(frozen=True)
class Box:
    """A conjugate of the form L*(−a) = Σ_j w_j [½ c a_j² − y_j a_j] on lower ≤ a ≤ upper, +∞ elsewhere.

    ``lower`` and ``upper`` broadcast to ``(n, m)``; ``curvature`` c ≥ 0 is a number. Losses that have this
    form are solved by semismooth Newton steps.
    """

    lower: Any
    upper: Any
    curvature: float = 0.0


class Loss(Params, ABC):
    """A convex loss L_i(u) of functions u ∈ L²(μ), given by five row-wise maps.

    ``Y`` and ``U`` are ``(n, m)`` arrays of targets and predictions, ``A`` and ``Z`` dual arrays, ``t`` a
    positive number. Values are arrays of shape ``(n,)``, integrated over μ; gradients and proxes have shape
    ``(n, m)`` and are taken in the geometry of L²(μ), in which the weights of μ disappear from pointwise
    formulas.

    Through a mask of observed entries a loss does not depend on the others: there gradients and
    ``conjugate_prox`` are 0, ``prox`` is z, and what stands in ``Y`` (it may be NaN) does not matter; values,
    norms and domains look at observed entries only. :func:`~mercer.losses.observed_only` does that. ``t`` and
    parameters should be Python numbers: a NumPy float64 would turn float32 arrays into float64.

    A loss of one's own that is smooth needs :meth:`value` and :meth:`gradient` only (solved by L-BFGS); with
    :meth:`conjugate` and :meth:`conjugate_prox` every other solver takes it. ``mercer.testing.check_loss``
    tests each map against its definition.
    """

    #: whether L_i(u) is an integral of a function of u(θ), node by node
    pointwise: ClassVar[bool] = True
    #: what the points of the measure are to the loss ("level", "cost"); None where they are mere locations
    indexed_by: ClassVar[str | None] = None
    #: whether what minimises it at a level is (nearly) the quantile of that level, so that levels are probabilities
    quantiles: ClassVar[bool] = True
    #: how the loss grows: like |r|^growth for large residuals r; decides how λ scales with the unit of y
    growth: ClassVar[int] = 1
    #: whether dual variables are exactly 0 where the loss is, so that repairs must leave them there
    sparse: ClassVar[bool] = False
    #: whether it takes several rows together, so that they cannot be worked on in blocks
    couples_rows: ClassVar[bool] = False
    #: whether the gradient is Lipschitz
    smooth: ClassVar[bool] = False
    #: with which constant in L²(μ), where that is known: then one gradient says what rounding does to a certificate
    lipschitz: ClassVar[float | None] = None
    #: the parameter that residuals are compared with, and how it is chosen from them; None where there is none
    threshold: ClassVar[Threshold | None] = None

    @abstractmethod
    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return L_i(u_i) for each row, shape (n,)."""

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return a subgradient of L_i at u_i in L²(μ) (the gradient if the loss is smooth), shape (n, m)."""
        raise NotImplementedError

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return argmin_u t·L_i(u) + ½‖u − z_i‖²_μ; by default by Moreau's identity."""
        return Z + t * self.conjugate_prox(Y, -Z / t, 1 / t, measure)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return L_i*(−a_i) for each row, +inf outside its domain, shape (n,)."""
        raise NotImplementedError

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return argmin_a t·L_i*(−a) + ½‖a − z_i‖²_μ, shape (n, m)."""
        raise NotImplementedError

    def box(self, Y: Any, measure: Measure) -> Box | None:
        """Return the box form of the conjugate where it has one (see :class:`Box`), else None."""
        return None

    def intercept(self, Y: Any, U: Any, sample_weight: Any, measure: Measure) -> Any | None:
        """Return argmin_b Σ_i s_i L_i(u_i + b), shape (m,), where there is a formula for it, else None."""
        return None

    def _picture(self) -> str:
        """Return L against a residual, or against the margin of a positive, at one θ; nothing where it takes more."""
        at = np.linspace(-3, 3, 121)
        margins = self.indexed_by == "cost"
        Y, U = (np.ones((121, 1)), at[:, None]) if margins else (at[:, None], np.zeros((121, 1)))
        place = "" if self.indexed_by is None else f" at θ = {PICTURED_LEVEL}"
        try:
            values = self.value(Y, U, Points([PICTURED_LEVEL]).build())
            return curve(at, values, f"L for {'margins' if margins else 'residuals'} from −3 to 3{place}")
        except (MercerError, ValueError, TypeError, IndexError, NotImplementedError):
            return ""

    @property
    def of_values(self) -> Loss:
        """The loss of the entries that have targets: itself, but for a loss of values and slopes."""
        return self

    @property
    def named(self) -> Loss:
        """The loss that a user named, which errors speak of: itself, but for forms of one for vectors or curves."""
        return self

    def rewrap(self, loss: Loss) -> Loss:
        """Return another loss in the role of this one: itself, but for losses that wrap one."""
        return loss

    def of_vectors(self, n_components: int) -> Loss:
        """Return the loss of functions with values in R^p, p columns for each point; itself unless it sees vectors."""
        return self

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse targets or levels that the loss does not allow."""

    def sizes(self, residuals: Any, measure: Measure) -> Any:
        """Return what a threshold is compared with: |r| at each point, or ‖r_i‖_μ of a loss of norms, shape (n,)."""
        return namespace(residuals).abs(residuals) if self.pointwise else measure.norm(residuals)

    def for_residuals(self, size: float) -> Self:
        """Return the loss with its threshold for residuals of this typical size; itself where it has none."""
        if self.threshold is None:
            return self
        return self.replace(**{self.threshold.name: self.threshold.typical(self.pointwise) * size})

    @property
    def compares(self) -> str:
        """What it takes the size of: "norm" of a function, or of values "pointwise" (vectors) or "componentwise"."""
        return "componentwise" if self.pointwise else "norm"

    @property
    def of_norms(self) -> bool:
        """Whether it depends on ‖y − u‖_μ alone, so that coordinates in any orthonormal basis will do."""
        return not self.pointwise

    @property
    def coordinate_free(self) -> bool:
        """Whether it depends on norms and inner products of y and u alone, so that turning both changes nothing."""
        return self.of_norms

    @property
    def dual_bound(self) -> float:
        """The largest size of a dual variable, at which the loss has become linear; infinite where there is none."""
        return math.inf

    @property
    def has_gradient(self) -> bool:
        """Whether the loss gives its gradient."""
        return type(self).gradient is not Loss.gradient

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss gives its conjugate and the prox of it, which dual solvers need."""
        return type(self).conjugate_prox is not Loss.conjugate_prox


def indicator(inside: Any, like: Any) -> Any:
    """Return 0 where ``inside`` holds and +inf elsewhere, as an array like ``like``."""
    xp = namespace(like)
    zero = xp.zeros_like(like)
    return xp.where(inside, zero, zero + math.inf)
