"""The best intercept for given predictions, for each kind of loss."""

from __future__ import annotations

import math
from typing import Any

from mercer.backend import as_like, machine_epsilon, namespace
from mercer.losses.base import Loss
from mercer.losses.observed import node_mean, observed_only
from mercer.measures import Measure
from mercer.problems.roots import bisect, false_position, quasi_newton
from mercer.problems.zero_sum import zero_sum

__all__ = ["best_intercept"]


def best_intercept(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure, start: Any = None) -> Any:
    """Return argmin_b Σ_i s_i L_i(h_i + b), shape (m,): the midpoint where a node has an interval of minimisers.

    A loss that knows the answer gives it (``Loss.intercept``). For other pointwise losses the derivative is a
    monotone function of b at each node, whose sign change is bracketed. Norm losses couple the nodes: smooth
    ones take a quasi-Newton method, others the method of multipliers.

    Parameters
    ----------
    loss, Y, H, sample_weight, measure
        What is minimised.
    start : array of shape (n, m), optional
        A dual array with Σ_i s_i a_i = 0 where one is known: the multipliers to start from.
    """
    known = loss.intercept(Y, H, sample_weight, measure)
    if known is not None:
        return known
    if loss.pointwise or Y.shape[1] == 1:  # a convex function of each number on its own
        return _separable(loss, Y, H, sample_weight, measure)
    if loss.smooth:
        return _smooth(loss, Y, H, sample_weight, measure)
    return _by_multipliers(loss, Y, H, sample_weight, measure, start)


def _slope(loss: Loss, Y: Any, H: Any, b: Any, sample_weight: Any, measure: Measure) -> Any:
    return sample_weight @ loss.gradient(Y, H + b[None, :], measure)


def _separable(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure) -> Any:
    xp = namespace(Y)
    residual = Y - H
    spread = xp.max(xp.abs(residual)) + 1.0
    low, high = xp.min(residual, axis=0), xp.max(residual, axis=0)
    for _ in range(60):  # widen until the slope has changed sign (or the loss is flat)
        open_low = _slope(loss, Y, H, low, sample_weight, measure) > 0
        open_high = _slope(loss, Y, H, high, sample_weight, measure) < 0
        if not bool(xp.any(open_low | open_high)):
            break
        low = xp.where(open_low, low - spread, low)
        high = xp.where(open_high, high + spread, high)
        spread = 2 * spread
    # ties of weights on both sides of an interval survive rounding
    steep = xp.maximum(*(xp.abs(loss.gradient(Y, H + b[None, :], measure)) for b in (low, high)))
    slack = 4 * Y.shape[0] ** 0.5 * machine_epsilon(Y) * (sample_weight @ steep)

    def slope(b):
        return _slope(loss, Y, H, b, sample_weight, measure)

    # most often the minimiser is unique, and a root of the slope is all that is needed
    root = false_position(slope, low, slope(low), high, slope(high), slack)
    nearby = 2.0**-36 * (high - low)
    if bool(xp.all((slope(root - nearby) < -slack) & (slope(root + nearby) > slack))):
        return root
    left = bisect(lambda b: slope(b) >= -slack, low, high)
    right = bisect(lambda b: slope(b) > slack, low, high)
    return (left + right) / 2


def _smooth(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure) -> Any:
    xp = namespace(Y)
    share = sample_weight / xp.sum(sample_weight)
    b = node_mean(Y - H, sample_weight, measure)
    tiny = 4 * machine_epsilon(Y) * float(xp.max(xp.abs(loss.gradient(Y, H + b[None, :], measure))))
    return quasi_newton(
        lambda b: share @ loss.gradient(Y, H + b[None, :], measure), b, as_like(measure.weights, Y), tiny
    )


def _by_multipliers(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure, A: Any) -> Any:
    """Proximal steps of growing length in the dual, min_A Σ_i s_i[L_i*(−a_i) + ⟨a_i, h_i⟩] s.t. Σ_i s_i a_i = 0.

    b is the multiplier of the constraint; the iteration stops on the gap between the two.
    """
    xp = namespace(Y)
    share = sample_weight / xp.sum(sample_weight)
    b = node_mean(Y - H, sample_weight, measure)
    residual = Y - H - b[None, :]
    slope = loss.gradient(Y, H + b[None, :], measure)
    top, bottom = (float(share @ measure.inner(array, array)) for array in (residual, slope))
    t = math.sqrt(bottom / top) if top > 0 and bottom > 0 else 1.0  # the natural length, in units of α/y
    A = xp.zeros_like(Y) if A is None else A
    best, lowest = b, float(share @ loss.value(Y, H + b[None, :], measure))
    bound = -math.inf
    for _ in range(40):
        if lowest - bound <= 4 * machine_epsilon(Y) ** 0.75 * abs(lowest):
            break

        def prox(array, t=t):
            return observed_only(loss.conjugate_prox(Y, array, t, measure), measure)

        A, shift = zero_sum(prox, A - t * H, sample_weight, measure, start=t * b, pointwise=False)
        b = shift / t
        value = float(share @ loss.value(Y, H + b[None, :], measure))
        dual = -float(share @ (loss.conjugate(Y, A, measure) + measure.inner(A, H)))
        if not (value < lowest or dual > bound):  # rounding limits both
            break
        if value < lowest:
            best, lowest = b, value
        bound = max(bound, dual)
        t *= 4
    return best
