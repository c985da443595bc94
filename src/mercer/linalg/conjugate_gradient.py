"""Preconditioned conjugate gradients for arrays of any shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer.backend import namespace

__all__ = ["conjugate_gradient"]


def conjugate_gradient(
    apply: Callable[[Any], Any],
    rhs: Any,
    *,
    precondition: Callable[[Any], Any] | None = None,
    init: Any = None,
    tolerance: float = 1e-10,
    max_iter: int = 1000,
    stop: Callable[[Any, Any], bool] | None = None,
) -> tuple[Any, int, float]:
    """Solve ``apply(x) = rhs`` for a self-adjoint positive definite map in the plain inner product.

    Parameters
    ----------
    apply : callable
        The map, on arrays of the shape of ``rhs``.
    rhs : array
        Right-hand side, of any shape.
    precondition : callable, optional
        Approximate inverse, self-adjoint and positive definite.
    init : array, optional
        Where to start; zero by default.
    tolerance : float, default=1e-10
        Stop at ‖rhs − apply(x)‖ ≤ tolerance·‖rhs‖.
    max_iter : int, default=1000
        Limit on the number of steps.
    stop : callable, optional
        Called as ``stop(x, residual)`` before each step; returning True ends the iteration.

    Returns
    -------
    x : array
    n_iter : int
    relative_residual : float
        Compare it with ``tolerance``: it is larger when ``max_iter`` was reached or the map is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> x, n_iter, residual = conjugate_gradient(lambda v: np.array([2.0, 4.0]) * v, np.array([2.0, 2.0]))
    >>> x.round(6)
    array([1. , 0.5])
    """
    xp = namespace(rhs)
    size = float(xp.sqrt(xp.sum(rhs * rhs)))
    x = xp.zeros_like(rhs) if init is None else init
    if size == 0:
        return xp.zeros_like(rhs), 0, 0.0
    residual = rhs - apply(x) if init is not None else rhs
    shaped = residual if precondition is None else precondition(residual)
    direction = shaped
    product = float(xp.sum(residual * shaped))
    relative = float(xp.sqrt(xp.sum(residual * residual))) / size
    for n_iter in range(1, max_iter + 1):
        if (stop is not None and stop(x, residual)) or relative <= tolerance or product <= 0:
            return x, n_iter - 1, relative
        image = apply(direction)
        curvature = float(xp.sum(direction * image))
        if curvature <= 0:  # the map is not positive definite: no step decreases the residual
            return x, n_iter - 1, relative
        step = product / curvature
        x = x + step * direction
        residual = residual - step * image
        shaped = residual if precondition is None else precondition(residual)
        last, product = product, float(xp.sum(residual * shaped))
        direction = shaped + (product / last) * direction
        relative = float(xp.sqrt(xp.sum(residual * residual))) / size
    return x, max_iter, relative
