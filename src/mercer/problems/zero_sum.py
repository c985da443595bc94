"""Proxes of dual arrays under the constraint that an intercept puts on their sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.backend import as_like, machine_epsilon, namespace
from mercer.measures import Measure
from mercer.problems.roots import false_position, quasi_newton

__all__ = ["separable_root", "zero_sum"]


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
    depends on ν at that node only, and a bracketing secant method finds it, as it does where there is one node; norm
    losses couple several.
    """
    xp = namespace(Z)
    share = sample_weight / xp.sum(sample_weight)
    start = xp.zeros_like(Z[0, :]) if start is None else start
    tiny = 4 * machine_epsilon(Z) * max(float(xp.max(xp.abs(prox(Z - start[None, :])))), 1e-300)
    if pointwise or Z.shape[1] == 1:
        shift = separable_root(lambda shift: share @ prox(Z - shift[None, :]) - mean, start, tiny)
    else:  # the gradient of a convex function of ν, with Lipschitz constant 1 in L²(μ)
        weights = as_like(measure.weights, Z)
        shift = quasi_newton(lambda shift: mean - (share @ prox(Z - shift[None, :])), start, weights, tiny)
    return prox(Z - shift[None, :]), shift


def separable_root(mean_at: Callable[[Any], Any], shift: Any, tiny: float) -> Any:
    """Return ν where means of prox(Z − ν) vanish at each node, given them as a function of ν and one to start from.

    Bracket the root, then shrink the bracket: the mean is decreasing and 1-Lipschitz in ν; it is linear between kinks,
    where false position is exact.
    """
    xp = namespace(shift)
    low, low_mean = shift, mean_at(shift)
    high, high_mean, reach = low, low_mean, 2.0
    for _ in range(100):
        same = (low_mean * high_mean > 0) & (xp.abs(high_mean) > tiny)
        if not bool(xp.any(same)):
            break
        low, low_mean = xp.where(same, high, low), xp.where(same, high_mean, low_mean)
        high = xp.where(same, high + reach * high_mean, high)
        high_mean = mean_at(high)
        reach *= 2
    return false_position(mean_at, low, low_mean, high, high_mean, tiny)
