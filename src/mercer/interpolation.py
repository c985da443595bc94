"""Functions known at nodes: straight lines between them, their slopes, interpolation in space, finer grids."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.backend import to_numpy

__all__ = ["interpolation", "interpolation_slopes", "refine", "spatial_interpolation"]


def interpolation(nodes: Any, points: Any) -> np.ndarray:
    """Return M of shape (m, k) with f(points) = f(nodes) @ M for the piecewise linear f through the nodes.

    Nodes may be unsorted; equal ones are averaged. Beyond the outer nodes f is constant.

    Examples
    --------
    >>> np.array([0.0, 10.0]) @ interpolation([0.0, 1.0], [-1.0, 0.25, 2.0])
    array([ 0. ,  2.5, 10. ])
    """
    nodes, points = to_numpy(nodes).astype(float), to_numpy(points).astype(float)
    distinct, group, count = np.unique(nodes, return_inverse=True, return_counts=True)
    inside = np.clip(points, distinct[0], distinct[-1])
    right = np.clip(np.searchsorted(distinct, inside), 1, max(len(distinct) - 1, 1))
    weights = np.zeros((len(distinct), len(points)))
    column = np.arange(len(points))
    if len(distinct) == 1:
        weights[0] = 1
    else:
        share = (inside - distinct[right - 1]) / (distinct[right] - distinct[right - 1])
        weights[right - 1, column] = 1 - share
        weights[right, column] += share
    return (weights / count[:, None])[group]


def spatial_interpolation(nodes: Any, points: Any) -> np.ndarray:
    """Return M of shape (m, k) with f(points) = f(nodes) @ M for f = a + Σ_j c_j‖· − θ_j‖ through the nodes.

    With Σ_j c_j = 0 this is :func:`interpolation` in one dimension; in any it gives constants back and stays bounded
    far away. Nodes and points have shapes (m, d) and (k, d); equal nodes are averaged. O(m³).

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> np.array([0.0, 1.0, 1.0, 2.0]) @ spatial_interpolation(corners, [[0.5, 0.5], [1.0, 0.0]])
    array([1., 1.])
    """
    nodes, points = to_numpy(nodes).astype(float), np.asarray(to_numpy(points), dtype=float)
    distinct, group, count = np.unique(nodes, axis=0, return_inverse=True, return_counts=True)
    m = len(distinct)
    weights = np.ones((1, len(points)))
    if m > 1:
        unit = np.max(np.ptp(distinct, axis=0))
        system = np.ones((m + 1, m + 1))
        system[:m, :m], system[m, m] = cdist(distinct / unit, distinct / unit), 0.0
        right = np.vstack([cdist(distinct / unit, points / unit), np.ones(len(points))])
        weights = np.linalg.solve(system, right)[:m]
    return (weights / count[:, None])[group.ravel()]


def interpolation_slopes(nodes: Any, points: Any) -> np.ndarray:
    """Return M of shape (m, k) with f'(points) = f(nodes) @ M for the piecewise linear f through the nodes.

    At a node it is the slope on the right, at and beyond the outer nodes that of the outer cell.

    Examples
    --------
    >>> np.array([0.0, 10.0, 30.0]) @ interpolation_slopes([0.0, 1.0, 2.0], [0.5, 1.5])
    array([10., 20.])
    """
    distinct = np.unique(to_numpy(nodes).astype(float))
    if len(distinct) == 1:
        return np.zeros((len(to_numpy(nodes)), len(to_numpy(points))))
    cell = np.clip(np.searchsorted(distinct, to_numpy(points), side="right") - 1, 0, len(distinct) - 2)
    left, right = interpolation(nodes, distinct[cell]), interpolation(nodes, distinct[cell + 1])
    return (right - left) / np.diff(distinct)[cell]


def refine(nodes: Any, at_least: int = 256) -> np.ndarray:
    """Return the sorted nodes with equally spaced points between neighbours, ``at_least`` points in all."""
    distinct = np.unique(to_numpy(nodes).astype(float))
    if len(distinct) == 1:
        return distinct
    parts = int(np.ceil(at_least / (len(distinct) - 1)))
    steps = np.arange(parts) / parts
    inner = distinct[:-1, None] + np.diff(distinct)[:, None] * steps
    return np.unique(np.append(inner.ravel(), distinct[-1]))  # nodes that differ by rounding leave no room between
