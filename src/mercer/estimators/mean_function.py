"""The mean curve of a fitted regression as a function of θ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer._state import Stateful
from mercer.backend import namespace
from mercer.estimators.intercept_function import InterceptFunction
from mercer.operator_valued.base import Expansion
from mercer.operator_valued.expansion import column_of

__all__ = ["MeanFunction"]


@dataclass(frozen=True, eq=False)
class MeanFunction(Stateful):
    """The mean of the fitted curves over the training rows, Σ_i s_i f(x_i)(θ) / Σ_i s_i.

    Parameters
    ----------
    expansion : Expansion
        h of the fit.
    intercept : InterceptFunction or None
        b of the fit.
    X : array of shape (n, d)
        Training rows.
    weight : array of shape (n,) or None
        s; None is ones.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FunctionalRegressor
    >>> X, grid = np.linspace(0, 1, 30)[:, None], np.linspace(0, 1, 20)
    >>> model = FunctionalRegressor(grid=grid).fit(X, grid**2 + (X - 0.5) * grid)
    >>> model.mean_function_.evaluate([0.5]).round(2), model.mean_function_.slope([0.5]).round(1)
    (array([0.25]), array([1.]))
    """

    expansion: Expansion
    intercept: InterceptFunction | None
    X: Any
    weight: Any = None

    def evaluate(self, points: Any) -> Any:
        """Return the mean curve at points of shape (k,) or (k, d), shape (k·p,)."""
        points = column_of(points)
        mean = self._average(self.expansion.evaluate(self.X, points))
        return mean if self.intercept is None else mean + self.intercept.evaluate(points)

    def slope(self, points: Any) -> Any:
        """Return its derivative at points of the line, shape (k·p,)."""
        points = column_of(points)
        mean = self._average(self.expansion.slope(self.X, points))
        return mean if self.intercept is None else mean + self.intercept.slope(points)

    def _average(self, curves: Any) -> Any:
        xp = namespace(curves)
        return xp.mean(curves, axis=0) if self.weight is None else self.weight @ curves / xp.sum(self.weight)
