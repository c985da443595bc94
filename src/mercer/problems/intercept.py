"""The unpenalised intercept b(θ): its best value, and proxes under the constraint that it puts on the dual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.backend import machine_epsilon, namespace
from mercer.losses.base import Loss
from mercer.measures import Measure

__all__ = ["best_intercept", "zero_sum"]


def best_intercept(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure) -> Any:
    """Return argmin_b Σ_i s_i L_i(h_i + b), shape (m,): the midpoint where a node has an interval of minimisers.

    A loss that knows the answer gives it (``Loss.intercept``). For other pointwise losses the derivative is a
    monotone function of b at each node, whose sign change is bracketed; norm losses take a splitting method.
    """
    known = loss.intercept(Y, H, sample_weight, measure)
    if known is not None:
        return known
    return (_pointwise if loss.pointwise else _by_splitting)(loss, Y, H, sample_weight, measure)


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
    left = _bisect(lambda b: _slope(loss, Y, H, b, sample_weight, measure) >= 0, low, high)
    right = _bisect(lambda b: _slope(loss, Y, H, b, sample_weight, measure) > 0, low, high)
    return (left + right) / 2


def _bisect(beyond: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return where ``beyond`` turns true, node by node."""
    xp = namespace(low)
    for _ in range(60):
        middle = (low + high) / 2
        past = beyond(middle)
        low, high = xp.where(past, low, middle), xp.where(past, middle, high)
    return (low + high) / 2


def _by_splitting(loss: Loss, Y: Any, H: Any, sample_weight: Any, measure: Measure, steps: int = 200) -> Any:
    """Douglas–Rachford on b = z_i − h_i: average, then one prox per sample."""
    xp = namespace(Y)
    share = sample_weight / xp.sum(sample_weight)
    b = share @ (Y - H)
    shift = xp.zeros_like(Y)
    scale = float(xp.max(xp.abs(Y - H - b[None, :])))
    for _ in range(steps):
        Z = loss.prox(Y, H + b[None, :] - shift, 1.0, measure)
        last, b = b, share @ (Z + shift - H)
        shift = shift + Z - H - b[None, :]
        if float(xp.max(xp.abs(b - last))) <= 1e-12 * scale:
            break
    return b


def zero_sum(prox: Callable[[Any], Any], Z: Any, sample_weight: Any, *, coupled: bool, start: Any = None) -> Any:
    """Return A = prox(Z − ν) with ν ∈ R^m such that Σ_i s_i a_i = 0.

    This is the prox of the same function on {A: Σ_i s_i a_i = 0}. With ``coupled=False`` the sum at a node
    depends on ν at that node only, and a bracketing secant method finds it; norm losses couple the nodes.
    """
    total = namespace(Z).sum(sample_weight)
    return (_coupled_root if coupled else _separable_root)(
        prox, Z, sample_weight / total, namespace(Z).zeros_like(Z[0, :]) if start is None else start
    )


def _separable_root(prox: Callable[[Any], Any], Z: Any, share: Any, shift: Any) -> Any:
    """Illinois method; as the mean is 1-Lipschitz and decreasing in ν, ν + mean never oversteps the root."""
    xp = namespace(Z)
    A = prox(Z - shift[None, :])
    mean = share @ A
    tiny = 4 * machine_epsilon(Z) * max(float(xp.max(xp.abs(A))), 1e-300)
    other, other_mean, reach = shift, mean, 2.0
    for _ in range(100):  # bracket
        outside = (other_mean * mean > 0) & (xp.abs(other_mean) > tiny)
        if not bool(xp.any(outside)):
            break
        other = xp.where(outside, shift + reach * mean, other)
        other_mean = share @ prox(Z - other[None, :])
        reach *= 2
    for _ in range(60):
        done = (xp.abs(mean) <= tiny) | (xp.abs(other_mean) <= tiny)
        if bool(xp.all(done)):
            break
        gap = other_mean - mean
        guess = xp.where(gap == 0, shift, shift - mean * (other - shift) / xp.where(gap == 0, 1.0 + gap, gap))
        guess_mean = share @ prox(Z - guess[None, :])
        crossed = guess_mean * other_mean <= 0
        shift_next = xp.where(crossed, other, shift)
        mean_next = xp.where(crossed, other_mean, mean / 2)
        shift = xp.where(done, shift, shift_next)
        mean = xp.where(done, mean, mean_next)
        other = xp.where(done, other, guess)
        other_mean = xp.where(done, other_mean, guess_mean)
    best = xp.where(xp.abs(other_mean) < xp.abs(mean), other, shift)
    return prox(Z - best[None, :])


def _coupled_root(prox: Callable[[Any], Any], Z: Any, share: Any, shift: Any) -> Any:
    """Barzilai–Borwein steps on the convex function of ν whose gradient is −mean of prox(Z − ν)."""
    xp = namespace(Z)
    A = prox(Z - shift[None, :])
    mean = share @ A
    tiny = 4 * machine_epsilon(Z) * max(float(xp.max(xp.abs(A))), 1e-300)
    step = 1.0
    for _ in range(200):
        if float(xp.max(xp.abs(mean))) <= tiny:
            break
        moved = shift + step * mean
        A = prox(Z - moved[None, :])
        new_mean = share @ A
        change, difference = moved - shift, mean - new_mean
        curvature = float(xp.sum(change * difference))
        step = float(xp.sum(change * change)) / curvature if curvature > 0 else 1.0
        step = min(max(step, 1.0), 1e6)
        shift, mean = moved, new_mean
    return A
