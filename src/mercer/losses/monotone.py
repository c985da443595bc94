"""A loss of values u(θ_j) that also minds slopes u'(θ_q): falling has a price, or is forbidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import as_like, clip, namespace
from mercer.losses.base import Box, Loss, indicator
from mercer.losses.box import inside_box, slack
from mercer.losses.observed import observed_only
from mercer.losses.prox import positive_part
from mercer.measures import Measure

__all__ = ["Monotone"]


@dataclass(eq=False, repr=False)
class Monotone(Loss):
    """L(u) = L₀(u₁, …, u_m) + Σ_q v_q p_q (−u_{m+q})₊: the last columns are slopes, which should not be negative.

    L*(−a) = L₀*(−a₁, …, −a_m) on 0 ≤ a_{m+q} ≤ p_q, where p_q is the price of a slope and v_q its weight in the
    measure; an infinite price forbids falling. It is what :func:`~mercer.problems.monotone_problem` hands to a solver.

    Parameters
    ----------
    loss : Loss
        L₀, pointwise.
    price : array of shape (n_slopes,)
        p_q > 0, also infinite.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Pinball
    >>> mu = Measure(np.array([0.5, 0.5]), np.array([1.0, 1.0]))
    >>> Monotone(Pinball(), np.array([10.0])).value(np.array([[1.0, 0.0]]), np.array([[0.0, -0.2]]), mu)
    array([2.5])
    """

    loss: Loss
    price: Any

    @property
    def growth(self) -> int:  # type: ignore[override]
        """That of the loss of the values."""
        return self.loss.growth

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss of the values has one."""
        return self.loss.has_conjugate

    def rewrap(self, loss: Loss) -> Loss:
        """Return the other loss of the values with the same price of falling."""
        return Monotone(loss.of_values, self.price)

    @property
    def of_values(self) -> Loss:
        """L₀."""
        return self.loss

    def split(self, array: Any) -> tuple[Any, Any]:
        """Return the columns of values and those of slopes."""
        n_values = array.shape[1] - len(self.price)
        return array[:, :n_values], array[:, n_values:]

    def _measures(self, measure: Measure) -> tuple[Measure, Measure]:
        cut = len(measure) - len(self.price)
        parts = (slice(0, cut), slice(cut, len(measure)))
        observed = measure.observed
        first, second = (
            Measure(measure.points[part, :], measure.weights[part], None if observed is None else observed[:, part])
            for part in parts
        )
        return first, second

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        xp = namespace(U)
        of_values, of_slopes = self._measures(measure)
        values, slopes = self.split(U)
        price = as_like(self.price, U)
        rounding = slack(U) * xp.max(xp.abs(slopes)) if slopes.size else 0.0
        fall = positive_part(-slopes)
        fall = xp.where(xp.isinf(price) & (fall <= rounding), xp.zeros_like(fall), fall)
        cost = xp.where(fall > 0, price * xp.where(fall > 0, fall, xp.ones_like(fall)), xp.zeros_like(fall))
        return self.loss.value(self.split(Y)[0], values, of_values) + of_slopes.integrate(cost)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        xp = namespace(U)
        of_values, of_slopes = self._measures(measure)
        values, slopes = self.split(U)
        pull = observed_only(xp.where(slopes < 0, -as_like(self.price, U), xp.zeros_like(slopes)), of_slopes)
        return xp.concat([self.loss.gradient(self.split(Y)[0], values, of_values), pull], axis=1)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        xp = namespace(A)
        of_values, of_slopes = self._measures(measure)
        values, slopes = self.split(A)
        answer = self.loss.conjugate(self.split(Y)[0], values, of_values)
        price = as_like(self.price, A)
        upper = xp.where(xp.isinf(price), xp.max(xp.abs(slopes)), price)
        return answer + indicator(inside_box(observed_only(slopes, of_slopes), 0 * upper, upper), answer)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        xp = namespace(Z)
        of_values, of_slopes = self._measures(measure)
        values, slopes = self.split(Z)
        clipped = observed_only(clip(slopes, 0.0, as_like(self.price, Z)), of_slopes)  # slopes is a view of Z
        return xp.concat([self.loss.conjugate_prox(self.split(Y)[0], values, t, of_values), clipped], axis=1)

    def box(self, Y: Any, measure: Measure) -> Box | None:
        values = self.split(Y)[0]
        box = self.loss.box(values, self._measures(measure)[0])
        if box is None or box.curvature:
            return None
        xp = namespace(Y)
        price = as_like(self.price, Y)
        lower, upper = (xp.broadcast_to(bound, tuple(values.shape)) for bound in (box.lower, box.upper))
        shape = (values.shape[0], len(self.price))
        return Box(
            xp.concat([lower, xp.broadcast_to(0 * values[:1, :1], shape)], axis=1),
            xp.concat([upper, xp.broadcast_to(price, shape)], axis=1),
        )

    def check_targets(self, Y: Any, measure: Measure) -> None:
        self.loss.check_targets(self.split(Y)[0], self._measures(measure)[0])
