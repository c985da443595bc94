"""Points whose image under φ is near a given element of the space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels import Kernel, Linear, Radial

__all__ = ["fixed_point_pre_images", "nearest_pre_images"]

#: steps of the fixed-point iteration, and movement, relative to the spread of the points, at which it ends
FIXED_POINT_STEPS, FIXED_POINT_REST = 100, 1e-6


def nearest_pre_images(kernel: Kernel, X: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return which row x of X is nearest to each Σ_j β_ij φ(x_j): the least k(x, x) − 2 Σ_j β_ij k(x, x_j)."""
    return np.argmin(_distances(kernel, X, X, beta), axis=1)


def fixed_point_pre_images(kernel: Kernel, X: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return x whose image is about nearest to Σ_j β_ij φ(x_j), shape (len(β), d).

    For a radial kernel φ(s) the gradient vanishes where x = Σ_j β_j φ'(s_j) x_j / Σ_j β_j φ'(s_j), which is iterated
    (Mika et al., 1999) from the nearest row. A step that does not come nearer ends it, so that the result is never
    worse than that row. For the linear kernel it is Σ_j β_j x_j; for others the nearest row itself.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0]])
    >>> fixed_point_pre_images(Gaussian(1.0), X, np.array([[0.5, 0.5], [1.0, 0.0]])).round(3)
    array([[0.5],
           [0. ]])
    """
    if isinstance(kernel, Linear):
        return beta @ X
    found = X[nearest_pre_images(kernel, X, beta)].copy()
    if not (isinstance(kernel, Radial) and kernel.differentiable):
        return found
    spread = float(np.max(np.ptp(X, axis=0))) or 1.0
    moving, best = np.arange(len(beta)), np.min(_distances(kernel, X, X, beta), axis=1)
    for _ in range(FIXED_POINT_STEPS):
        weights = beta[moving] * kernel.profile(kernel.squared_distances(found[moving], X), 1)
        total = weights.sum(axis=1)
        sound = np.abs(total) > 1e-10 * np.abs(weights).sum(axis=1)
        step = weights @ X / np.where(sound, total, 1.0)[:, None]
        reached = _distances_of(kernel, step, X, beta[moving])
        nearer = sound & (reached < best[moving])
        steady = np.max(np.abs(step - found[moving]), axis=1) <= FIXED_POINT_REST * spread
        rows = moving[nearer]
        found[rows], best[rows] = step[nearer], reached[nearer]
        moving = moving[nearer & ~steady]
        if len(moving) == 0:
            break
    return found


def _distances(kernel: Any, points: np.ndarray, X: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return k(x, x) − 2 Σ_j β_ij k(x, x_j) for all elements i and points x, shape (len(β), len(points))."""
    values: np.ndarray = kernel.diagonal(points)[None, :] - 2 * beta @ kernel(X, points)
    return values


def _distances_of(kernel: Any, points: np.ndarray, X: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the same for the i-th element and the i-th point, shape (len(β),)."""
    values: np.ndarray = kernel.diagonal(points) - 2 * np.sum(beta * kernel(points, X), axis=1)
    return values
