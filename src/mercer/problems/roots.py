"""Roots and minimisers of the small functions behind an intercept, one number or one vector a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mercer.backend import device, machine_epsilon, namespace

__all__ = ["bisect", "false_position", "quasi_newton"]


def bisect(beyond: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return where ``beyond`` turns true, node by node."""
    xp = namespace(low)
    for _ in range(60):
        middle = (low + high) / 2
        past = beyond(middle)
        low, high = xp.where(past, low, middle), xp.where(past, middle, high)
    return (low + high) / 2


def false_position(function: Callable[[Any], Any], low: Any, at_low: Any, high: Any, at_high: Any, tiny: Any) -> Any:
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


def quasi_newton(gradient: Callable[[Any], Any], x: Any, weights: Any, tiny: float, steps: int = 500) -> Any:
    """Minimise a smooth convex function on L²(μ), given its gradient there: BFGS in whitened coordinates.

    The line search asks only for a smaller slope along the direction, so that values (and their cancellation)
    are never needed. Returns the point of the smallest gradient once that is at most ``tiny`` or rounding stops it:
    the gradient has Lipschitz constant 1, so that what x loses to rounding it may lose, too.
    """
    xp = namespace(x)
    root = xp.sqrt(weights)
    g = root * gradient(x)
    best, smallest = x, float(xp.max(xp.abs(g / root)))
    inverse, idle = None, 0
    for _ in range(steps):
        rounding = machine_epsilon(x) * float(xp.max(xp.abs(x)))
        patience = 5 if smallest <= max(1e4 * tiny, 4 * rounding) else 50  # near rounding, and far from it
        if smallest <= tiny or idle >= patience:
            break
        direction = -g if inverse is None else -(inverse @ g)
        if inverse is not None and float(direction @ g) >= 0:
            inverse, direction = None, -g
        shortest = rounding / max(float(xp.max(xp.abs(direction / root))), 1e-300)  # x does not see less
        length, new = _search(gradient, x, direction, g, root, shortest)
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


def _search(
    gradient: Callable[[Any], Any], x: Any, direction: Any, g: Any, root: Any, shortest: float
) -> tuple[float, Any]:
    """Return a length at which the slope along the direction is at most half of what it was, and the gradient.

    Where there is none, as slopes are rounding, the longest one on this side of the minimum, to within ``shortest``.
    """
    slope = float(direction @ g)
    low, high, length, new = 0.0, math.inf, 1.0, g
    for _ in range(40):
        new = root * gradient(x + length * direction / root)
        ahead = float(direction @ new)
        if abs(ahead) <= 0.5 * abs(slope):
            return length, new
        low, high = (length, high) if ahead < 0 else (low, length)
        if high - low <= shortest:
            break
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
