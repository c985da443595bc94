"""The intercept of a fitted model as a function of θ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._state import Stateful
from mercer.backend import as_like, namespace, to_numpy
from mercer.interpolation import interpolation, interpolation_slopes, spatial_interpolation
from mercer.measures import Measure

__all__ = ["InterceptFunction"]


@dataclass(frozen=True, eq=False)
class InterceptFunction(Stateful):
    """b(θ), known at nodes: on the line the straight lines through its values, constant beyond.

    In the plane and beyond it is the interpolant a + Σ_j c_j‖θ − θ_j‖, which is that on the line. Without nodes
    (scattered observations) it is a constant.

    Parameters
    ----------
    values : array of shape (m·p,) or (p,)
        b at the nodes, component last; the constant without nodes.
    nodes : Measure or None
        θ_j.

    Examples
    --------
    >>> import numpy as np
    >>> b = InterceptFunction(np.array([1.0, 3.0]), Measure(np.array([0.2, 0.8]), np.array([0.5, 0.5])))
    >>> b.evaluate(np.array([[0.0], [0.5]])), b.slope(np.array([[0.5]])).round(3)
    (array([1., 2.]), array([3.333]))
    """

    values: Any
    nodes: Measure | None

    def evaluate(self, points: Any) -> Any:
        """Return b at points of shape (k, d), shape (k·p,)."""
        if self.nodes is None:
            return self._everywhere(self.values, points)
        if self.nodes.points.shape[1] == 1:
            return self._through(interpolation(to_numpy(self.nodes.points)[:, 0], points[:, 0]), self.nodes)
        return self._through(spatial_interpolation(self.nodes.points, points), self.nodes)

    def slope(self, points: Any) -> Any:
        """Return b' at points of the line, shape (k·p,); at a node that of one of its sides, beyond them 0."""
        if self.nodes is None:
            return self._everywhere(0 * self.values, points)
        nodes, theta = to_numpy(self.nodes.points)[:, 0], points[:, 0]
        inside = (theta >= nodes.min()) & (theta <= nodes.max())
        return self._through(interpolation_slopes(nodes, theta) * inside, self.nodes)

    def _through(self, weights: Any, nodes: Measure) -> Any:
        xp = namespace(self.values)
        b = xp.reshape(self.values, (len(nodes), -1))
        return xp.reshape(as_like(weights, b).T @ b, (-1,))

    def _everywhere(self, constant: Any, points: Any) -> Any:
        xp = namespace(constant)
        return xp.reshape(xp.broadcast_to(constant[None, :], (len(points), constant.shape[0])), (-1,))
