"""The unpenalised intercept b(θ): its best value, and proxes under the constraint that it puts on the dual."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mercer.backend import as_like, device, machine_epsilon, namespace
from mercer.losses.base import Loss
from mercer.losses.domain import node_mean, observed_only
from mercer.measures import Measure

__all__ = ["best_intercept", "zero_sum"]


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
    if loss.pointwise:
        return _pointwise(loss, Y, H, sample_weight, measure)
    if loss.smooth:
        return _smooth(loss, Y, H, sample_weight, measure)
    return _by_multipliers(loss, Y, H, sample_weight, measure, start)


def _slope(loss: Loss, Y: Any, H: Any, b: Any, sample_weight: Any, measure: Measure) -> Any:
    return sample_weight @ loss.gradient(Y, H + b[None, :], measure)


def _pointwise(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure) -> Any:
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
    root = _false_position(slope, low, slope(low), high, slope(high), slack)
    nearby = 2.0**-36 * (high - low)
    if bool(xp.all((slope(root - nearby) < -slack) & (slope(root + nearby) > slack))):
        return root
    left = _bisect(lambda b: slope(b) >= -slack, low, high)
    right = _bisect(lambda b: slope(b) > slack, low, high)
    return (left + right) / 2


def _bisect(beyond: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return where ``beyond`` turns true, node by node."""
    xp = namespace(low)
    for _ in range(60):
        middle = (low + high) / 2
        past = beyond(middle)
        low, high = xp.where(past, low, middle), xp.where(past, middle, high)
    return (low + high) / 2


def _smooth(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure) -> Any:
    xp = namespace(Y)
    share = sample_weight / xp.sum(sample_weight)
    b = node_mean(Y - H, sample_weight, measure)
    tiny = 4 * machine_epsilon(Y) * float(xp.max(xp.abs(loss.gradient(Y, H + b[None, :], measure))))
    return _quasi_newton(
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
        if not (value < lowest or dual > bound):  # rounding has the last word
            break
        if value < lowest:
            best, lowest = b, value
        bound = max(bound, dual)
        t *= 4
    return best


def zero_sum(
    prox: Callable[[Any], Any],
    Z: Any,
    sample_weight: Any,
    measure: Measure,
    *,
    pointwise: bool,
    start: Any = None,
    mean: Any = 0.0,
) -> tuple[Any, Any]:
    """Return A = prox(Z − ν) and ν ∈ R^m such that Σ_i s_i a_i = 0, or Σ_i s_i times another ``mean``.

    This is the prox of the same function on the set of arrays with these sums. With ``pointwise`` the sum at a node
    depends on ν at that node only, and a bracketing secant method finds it; norm losses couple the nodes.
    """
    xp = namespace(Z)
    share = sample_weight / xp.sum(sample_weight)
    start = xp.zeros_like(Z[0, :]) if start is None else start
    if pointwise:
        shift = _separable_root(prox, Z, share, start, mean)
    else:  # the gradient of a convex function of ν, with Lipschitz constant 1 in L²(μ)
        tiny = 4 * machine_epsilon(Z) * max(float(xp.max(xp.abs(prox(Z - start[None, :])))), 1e-300)
        weights = as_like(measure.weights, Z)
        shift = _quasi_newton(lambda shift: mean - (share @ prox(Z - shift[None, :])), start, weights, tiny)
    return prox(Z - shift[None, :]), shift


def _separable_root(prox: Callable[[Any], Any], Z: Any, share: Any, shift: Any, mean: Any) -> Any:
    """Bracket the root at each node, then shrink the bracket.

    The mean is decreasing and 1-Lipschitz in ν; it is linear between kinks, where false position is exact.
    """
    xp = namespace(Z)

    def mean_at(shift):
        return share @ prox(Z - shift[None, :]) - mean

    low, low_mean = shift, mean_at(shift)
    high, high_mean, reach = low, low_mean, 2.0
    tiny = 4 * machine_epsilon(Z) * max(float(xp.max(xp.abs(prox(Z - shift[None, :])))), 1e-300)
    for _ in range(100):
        same = (low_mean * high_mean > 0) & (xp.abs(high_mean) > tiny)
        if not bool(xp.any(same)):
            break
        low, low_mean = xp.where(same, high, low), xp.where(same, high_mean, low_mean)
        high = xp.where(same, high + reach * high_mean, high)
        high_mean = mean_at(high)
        reach *= 2
    return _false_position(mean_at, low, low_mean, high, high_mean, tiny)


def _false_position(function: Callable[[Any], Any], low: Any, at_low: Any, high: Any, at_high: Any, tiny: Any) -> Any:
    """Return a root of a monotone function in the bracket of each node, or the side of a jump nearer to zero.

    Brackets shrink by false position and, every third time, by halves, until values are ``tiny`` or nothing is left.
    """
    xp = namespace(low)
    best = xp.where(xp.abs(at_low) < xp.abs(at_high), low, high)
    smallest = xp.minimum(xp.abs(at_low), xp.abs(at_high))
    for k in range(1, 200):
        rounding = 2 * machine_epsilon(low) * xp.maximum(xp.abs(low), xp.abs(high))
        if bool(xp.all((smallest <= tiny) | (xp.abs(high - low) <= rounding))):
            break
        rise = at_high - at_low
        guess = low - at_low * (high - low) / xp.where(rise == 0, xp.ones_like(rise), rise)
        guess = (low + high) / 2 if k % 3 == 0 else guess
        value = function(guess)
        better = xp.abs(value) < smallest
        best, smallest = xp.where(better, guess, best), xp.where(better, xp.abs(value), smallest)
        replace_low = value * at_low > 0
        low, at_low = xp.where(replace_low, guess, low), xp.where(replace_low, value, at_low)
        high, at_high = xp.where(replace_low, high, guess), xp.where(replace_low, at_high, value)
    return best


def _quasi_newton(gradient: Callable[[Any], Any], x: Any, weights: Any, tiny: float, steps: int = 500) -> Any:
    """Minimise a smooth convex function on L²(μ), given its gradient there: BFGS in whitened coordinates.

    The line search asks only for a smaller slope along the direction, so that values (and their cancellation)
    are never needed. Returns the point of the smallest gradient once that is at most ``tiny`` or rounding stops it.
    """
    xp = namespace(x)
    root = xp.sqrt(weights)
    g = root * gradient(x)
    best, smallest = x, float(xp.max(xp.abs(g / root)))
    inverse, idle = None, 0
    for _ in range(steps):
        patience = 5 if smallest <= 1e4 * tiny else 50  # near rounding, and far from it
        if smallest <= tiny or idle >= patience:
            break
        direction = -g if inverse is None else -(inverse @ g)
        if inverse is not None and float(direction @ g) >= 0:
            inverse, direction = None, -g
        length, new = _search(gradient, x, direction, g, root)
        if length == 0:
            if inverse is None:
                break
            inverse = None
            continue
        move, change = length * direction, new - g
        x, g = x + move / root, new
        size = float(xp.max(xp.abs(g / root)))
        idle = 0 if size < smallest else idle + 1
        if size < smallest:
            best, smallest = x, size
        inverse = _update(inverse, move, change)
    return best


def _search(gradient: Callable[[Any], Any], x: Any, direction: Any, g: Any, root: Any) -> tuple[float, Any]:
    """Return a length at which the slope along the direction is at most half of what it was, and the gradient."""
    slope = float(direction @ g)
    low, high, length, new = 0.0, math.inf, 1.0, g
    for _ in range(40):
        new = root * gradient(x + length * direction / root)
        ahead = float(direction @ new)
        if abs(ahead) <= 0.5 * abs(slope):
            return length, new
        low, high = (length, high) if ahead < 0 else (low, length)
        length = 4 * length if math.isinf(high) else (low + high) / 2
    return (low, root * gradient(x + low * direction / root)) if low > 0 else (0.0, g)


def _update(inverse: Any, move: Any, change: Any) -> Any:
    """Return the BFGS inverse Hessian after a move with the given change of gradient; None starts one."""
    xp = namespace(move)
    curvature = float(move @ change)
    if not curvature > 0:
        return inverse
    if inverse is None:
        inverse = (curvature / float(change @ change)) * xp.eye(move.shape[0], dtype=move.dtype, device=device(move))
    turned = (inverse @ change) / curvature
    gain = (1 + float(change @ turned)) / curvature
    return (
        inverse
        + gain * move[:, None] * move[None, :]
        - (turned[:, None] * move[None, :] + move[:, None] * turned[None, :])
    )
