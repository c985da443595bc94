"""Cost-sensitive hinge losses: labels y ∈ {−1, +1}; the points of the measure are the costs θ ∈ (0, 1).

The weight is w = θ for positives and 1 − θ for negatives: θ → 1 looks at positives only (sensitivity → 1), θ
→ 0 at negatives only (specificity → 1). A cost θ' ∈ (−1, 1), as some papers have it, is θ = (θ' + 1)/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._params import check_number
from mercer.backend import clip, namespace
from mercer.exceptions import DataError
from mercer.losses.base import Box, Loss, indicator
from mercer.losses.box import BoxLoss, inside_box
from mercer.losses.levels import check_levels, levels
from mercer.losses.observed import observed_only
from mercer.losses.prox import by_sign, positive_part, project_box
from mercer.losses.quantiles import weighted_quantile
from mercer.measures import Measure

__all__ = ["CostSensitiveHinge", "MoreauHinge", "WeightedMoreauHinge"]


class _Labels(Loss):
    """What the three losses share: weights, the shortfall s = 1 − y·u, and the box 0 ≤ y·a ≤ w."""

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse labels other than −1 and +1 and costs outside (0, 1)."""
        check_levels(self, "costs", measure)
        xp = namespace(Y)
        strange = observed_only(xp.where((Y == 1) | (Y == -1), xp.zeros_like(Y), xp.ones_like(Y)), measure)
        if bool(xp.any(strange > 0)):
            first = float(xp.reshape(Y, (-1,))[int(xp.argmax(xp.reshape(strange, (-1,))))])
            raise DataError(
                f"{type(self).__name__}: labels must be -1 or +1; got {first:g}. Code two classes as "
                "2*(y == positive) - 1; for more classes fit one against the rest."
            )

    @staticmethod
    def _weights(Y: Any, measure: Measure) -> Any:
        theta = levels(measure, Y)
        return by_sign(Y, theta, 1 - theta)

    @staticmethod
    def _shortfall(Y: Any, U: Any, measure: Measure) -> Any:
        return observed_only(1 - Y * U, measure)

    @staticmethod
    def _bounds(Y: Any, measure: Measure) -> tuple[Any, Any]:
        Y, theta = observed_only(Y, measure), levels(measure, Y)
        return (1 - theta) * clip(Y, -1.0, 0.0), theta * clip(Y, 0.0, 1.0)


@dataclass(eq=False, repr=False)
class CostSensitiveHinge(_Labels, BoxLoss):
    """The hinge loss with misclassification costs: support vector machines for all costs at once.

    L(u) = ∫ w·(1 − y·u(θ))₊ dμ(θ),    L*(−a) = −⟨a, y⟩_μ on 0 ≤ y·a(θ) ≤ w

    Prefer it to classify under costs that are not known in advance, or to trace a whole ROC curve from one
    fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> CostSensitiveHinge().value(np.array([[1.0], [-1.0]]), np.array([[0.5], [0.5]]), mu)
    array([0.15, 1.05])
    """

    indexed_by = "cost"

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ w(1 − yu)₊ dμ for each row."""
        s = self._shortfall(Y, U, measure)
        return measure.inner(self._weights(Y, measure), positive_part(s))

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −w·y where y·u < 1 and 0 elsewhere."""
        s = self._shortfall(Y, U, measure)
        active = by_sign(s, self._weights(Y, measure), namespace(s).zeros_like(s))
        return -observed_only(Y, measure) * active

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + y·clip(1 − y·z, 0, t·w)."""
        s = self._shortfall(Y, Z, measure)
        return Z + observed_only(Y, measure) * project_box(s, 0.0, t * self._weights(Y, measure))

    def box(self, Y: Any, measure: Measure) -> Box:
        """Return 0 ≤ y·a ≤ w without curvature."""
        return Box(*self._bounds(Y, measure))

    def intercept(self, Y: Any, U: Any, sample_weight: Any, measure: Measure) -> Any:
        """Return a weighted quantile of y − u: positives pull b up as long as they lie above it, negatives down."""
        xp = namespace(Y)
        weights = observed_only(sample_weight[:, None] * self._weights(Y, measure), measure)
        positive = xp.sum(xp.where(Y > 0, weights, xp.zeros_like(weights)), axis=0)
        return weighted_quantile(observed_only(Y - U, measure), weights, positive / xp.sum(weights, axis=0))


@dataclass(eq=False, repr=False)
class MoreauHinge(_Labels, BoxLoss):
    """The Moreau envelope of the weighted hinge loss.

    With s = 1 − y·u, node by node c·(s − κc/2), c = clip(s/κ, 0, w);
    L*(−a) = (κ/2)‖a‖²_μ − ⟨a, y⟩_μ on 0 ≤ y·a(θ) ≤ w

    Prefer it as the smooth surrogate of :class:`CostSensitiveHinge`, from which it differs by at most κw²/2.

    Parameters
    ----------
    kappa : float, default=0.1
        Width of the smoothing, in units of the margin; the gradient is Lipschitz with constant 1/κ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> MoreauHinge(kappa=0.5).value(np.array([[1.0], [-1.0]]), np.array([[0.5], [0.5]]), mu)
    array([0.1275, 0.9275])
    """

    kappa: float = 0.1

    indexed_by = "cost"
    smooth = True

    def _check(self) -> None:
        check_number(self, "kappa", self.kappa, low=0, hint="CostSensitiveHinge() is the limit κ → 0.")

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ c(s − κc/2) dμ, c = clip(s/κ, 0, w), for each row."""
        kappa = float(self.kappa)
        s = self._shortfall(Y, U, measure)
        c = project_box(s / kappa, 0.0, self._weights(Y, measure))
        return measure.inner(c, s - (0.5 * kappa) * c)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −y·clip(s/κ, 0, w)."""
        s = self._shortfall(Y, U, measure)
        c = project_box(s / float(self.kappa), 0.0, self._weights(Y, measure))
        return -observed_only(Y, measure) * c

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + y·clip(t·s/(κ + t), 0, t·w), s = 1 − y·z."""
        s = self._shortfall(Y, Z, measure)
        pull = project_box((t / (float(self.kappa) + t)) * s, 0.0, t * self._weights(Y, measure))
        return Z + observed_only(Y, measure) * pull

    def box(self, Y: Any, measure: Measure) -> Box:
        """Return 0 ≤ y·a ≤ w with curvature κ."""
        return Box(*self._bounds(Y, measure), float(self.kappa))


@dataclass(eq=False, repr=False)
class WeightedMoreauHinge(_Labels):
    """The weighted Moreau envelope of the hinge loss: costs multiply one smooth loss.

    With s = 1 − y·u, node by node w·c·(s − κc/2), c = clip(s/κ, 0, 1);
    L*(−a) = ∫ κa²/(2w) dμ − ⟨a, y⟩_μ on 0 ≤ y·a(θ) ≤ w

    Prefer it where costs should be exact multiples of a loss that does not depend on them; as κ grows,
    κ·L approaches the weighted squared hinge.

    Parameters
    ----------
    kappa : float, default=0.1
        Width of the smoothing, in units of the margin.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.3]), np.array([1.0]))
    >>> WeightedMoreauHinge(kappa=0.5).value(np.array([[1.0], [-1.0]]), np.array([[0.5], [0.5]]), mu)
    array([0.075, 0.875])
    """

    kappa: float = 0.1

    indexed_by = "cost"
    smooth = True

    def _check(self) -> None:
        check_number(self, "kappa", self.kappa, low=0, hint="CostSensitiveHinge() is the limit κ → 0.")

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ w·c(s − κc/2) dμ, c = clip(s/κ, 0, 1), for each row."""
        kappa = float(self.kappa)
        s = self._shortfall(Y, U, measure)
        c = project_box(s / kappa, 0.0, 1.0)
        return measure.inner(self._weights(Y, measure) * c, s - (0.5 * kappa) * c)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −w·y·clip(s/κ, 0, 1)."""
        s = self._shortfall(Y, U, measure)
        c = project_box(s / float(self.kappa), 0.0, 1.0)
        return -observed_only(Y, measure) * self._weights(Y, measure) * c

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + y·clip(t·w·s/(κ + t·w), 0, t·w), s = 1 − y·z."""
        s = self._shortfall(Y, Z, measure)
        w = t * self._weights(Y, measure)
        return Z + observed_only(Y, measure) * project_box(w / (float(self.kappa) + w) * s, 0.0, w)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return ∫ κa²/(2w) dμ − ⟨a, y⟩_μ on 0 ≤ y·a ≤ w and +inf elsewhere, for each row."""
        half = (0.5 * float(self.kappa)) / self._weights(Y, measure)
        value = measure.inner(A, half * A - Y)
        return value + indicator(inside_box(observed_only(A, measure), *self._bounds(Y, measure)), value)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return clip((z + t·y)/(1 + tκ/w), lower, upper) with the bounds of 0 ≤ y·a ≤ w."""
        w = self._weights(Y, measure)
        shrunk = observed_only(Z + t * Y, measure) * (w / (w + t * float(self.kappa)))
        return project_box(shrunk, *self._bounds(Y, measure))
