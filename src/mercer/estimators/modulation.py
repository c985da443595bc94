"""How wide a band is at each θ, in relation to other θ: the size of residuals there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._state import Stateful
from mercer.estimators.outputs import Outputs
from mercer.interpolation import interpolation, spatial_interpolation

__all__ = ["Modulation", "modulation"]

#: curves that the size of all residuals counts for, against the size of those at a node
PRIOR_CURVES = 5


@dataclass(frozen=True, eq=False)
class Modulation(Stateful):
    """A positive function s(θ) with values in R^p: straight lines between nodes, constant beyond them.

    Parameters
    ----------
    points : array of shape (m, d) or None
        The nodes; None where they are mere indices.
    scale : array of shape (m, p)
        s at the nodes.

    Examples
    --------
    >>> s = Modulation(np.array([[0.0], [1.0]]), np.array([[1.0], [3.0]]))
    >>> s.evaluate(np.array([[0.5], [2.0]]))
    array([[2.],
           [3.]])
    """

    points: np.ndarray | None
    scale: np.ndarray

    def evaluate(self, points: np.ndarray) -> np.ndarray:
        """Return s at points of shape (k, d), shape (k, p)."""
        return along(self.points, points, self.scale)


def along(nodes: Any, points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the function through values (m, p) at nodes (m, d) at other points (k, d): lines, within its range."""
    if nodes.shape[1] == 1:
        return interpolation(nodes[:, 0], points[:, 0]).T @ values
    # in space the interpolant may leave the range of its values, and so may a scale what is positive
    return np.clip(spatial_interpolation(nodes, points).T @ values, values.min(axis=0), values.max(axis=0))


def modulation(residuals: Outputs, nodes: np.ndarray | None, located: bool) -> Modulation:
    """Return s(θ), the mean of |r_i(θ)| over curves, drawn to the mean ā over all θ.

        s(θ) = (n_θ a(θ) + 5 ā) / (n_θ + 5),    a(θ) the mean at θ, n_θ the number of curves that were observed there,

    in each component. So s vanishes nowhere, not even where all residuals do, and is smoother the fewer curves there
    are. Curves at points of their own have their means over bins, as many as there are curves enough for.

    Parameters
    ----------
    residuals : Outputs
        Curves of residuals, NaN where nothing was observed.
    nodes : array of shape (m, d), or None
        Where the columns of residuals on a grid lie; those of scattered curves bring their own.
    located : bool
        Whether there is something between the nodes.

    Examples
    --------
    >>> from mercer.estimators.grid_curves import GridCurves
    >>> from mercer.measures import Measure
    >>> r = np.array([[1.0, -3.0], [-1.0, 3.0]] * 5)
    >>> modulation(GridCurves(r, Measure(np.zeros((2, 1)), np.ones(2)), 1, 2), None, False).scale.ravel().round(2)
    array([1.33, 2.67])
    """
    points, means, mass = residuals.with_values(np.abs(residuals.values)).common_values(np.ones(len(residuals)))
    unit = mass @ means / mass.sum()
    overall = float(np.mean(unit)) or 1.0  # a fit without any residual: a band of width 0, whatever the scale
    unit = np.where(unit > 0, unit, overall)
    count = (len(residuals) * mass / mass.mean())[:, None]
    scale = (count * means + PRIOR_CURVES * unit) / (count + PRIOR_CURVES)
    if not located:
        return Modulation(None, scale)
    return Modulation(points if nodes is None else nodes, scale)
