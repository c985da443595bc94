"""Regions in the plane that leave out given fractions of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError
from mercer.plotting.style import INK, ORANGE, blues, per_cent, stage
from mercer.plotting.validation import check_numbers, check_outlier_levels, refuse_gram, trained_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["LevelSetDisplay"]

#: levels that are drawn where none are given, as far as they were trained on
SHOWN_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class LevelSetDisplay:
    """Level sets of a detector in the plane, one shade for each level, and the rows that the largest leaves out.

    Each region is that of its own decision function: where sets of neighbouring levels cross, the picture shows it.

    Parameters
    ----------
    axes : tuple of arrays of shapes (n_columns,) and (n_rows,)
        Values of the two inputs.
    decisions : array of shape (n_levels, n_rows, n_columns)
        Decision values on the grid; inliers have values ≥ 0.
    levels : array of shape (n_levels,)
        Fractions θ that the sets leave out, increasing.
    data : array of shape (n_samples, 2), optional
        Rows to show as points.
    outlier : array of shape (n_samples,), optional
        Which of them are outliers at the lowest level.
    names : tuple of str, default=("x₁", "x₂")

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    regions_, boundaries_ : list of QuadContourSet
        One for each level, in order.
    points_, outliers_ : PathCollection or None
    labels_ : list of Text
        What share of the rows is meant to be inside, on the boundaries: "95 % inside" for the level 0.05.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer import LevelSetDetector
    >>> from mercer.plotting import LevelSetDisplay
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> detector = LevelSetDetector(calibration=None).fit(X)
    >>> display = LevelSetDisplay.from_estimator(detector, X, levels=[0.1, 0.5])
    >>> int(display.outlier.sum())
    10
    """

    def __init__(self, axes, decisions, levels, *, data=None, outlier=None, names=("x₁", "x₂")):
        self.axes = axes
        self.decisions = decisions
        self.levels = levels
        self.data = data
        self.outlier = outlier
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, X, *, levels=None, grid_resolution=120, ax=None):
        """Decide on a grid around the rows, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted on inputs, not on Gram matrices, with ``predict_at(X, levels)`` as
            :class:`~mercer.estimators.LevelSetDetector` has it, also at the end of a Pipeline.
        X : array-like of shape (n_samples, 2)
        levels : array-like, optional
            Fractions of outliers in (0, 1], within those that were trained on. By default 0.05, 0.25, 0.5, 0.75 and
            0.95, moved into the range of the trained levels (``measure_``).
        grid_resolution : int, default=120
            Points along each side of the grid.
        ax : Axes, optional
            Of a new figure by default.
        """
        check_number(cls.__name__, "grid_resolution", grid_resolution, low=2, strict=False, integer=True)
        refuse_gram(cls.__name__, estimator)
        data = check_numbers(cls.__name__, "X", X)
        if data.ndim != 2 or data.shape[1] != 2 or len(data) == 0:
            raise DataError(
                f"{cls.__name__}: X must have a row at least and two columns, one for each axis; got {data.shape}."
            )
        known, known_inner = reach(estimator, X, "predict_at")
        trained = trained_levels(known)
        if levels is None:
            levels = SHOWN_LEVELS if trained is None else np.clip(SHOWN_LEVELS, trained[0], trained[-1])
        levels = check_outlier_levels(cls.__name__, levels)
        margin = 0.12 * np.ptp(data, axis=0)
        low, high = data.min(axis=0) - margin, data.max(axis=0) + margin
        sides = [np.linspace(low[j], high[j], int(grid_resolution)) for j in (0, 1)]
        grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
        frame = hasattr(X, "iloc")
        last, inner = reach(estimator, type(X)(grid, columns=X.columns) if frame else grid, "predict_at")
        decisions = to_numpy(last.predict_at(inner, levels))
        outlier = to_numpy(known.predict_at(known_inner, levels[:1]))[:, 0] < 0
        decisions = decisions.T.reshape(len(levels), len(sides[1]), len(sides[0]))
        names = tuple(map(str, X.columns)) if frame else ("x₁", "x₂")
        return cls(tuple(sides), decisions, levels, data=data, outlier=outlier, names=names).plot(ax)

    def plot(self, ax: Axes | None = None) -> LevelSetDisplay:
        """Draw on the axes, or on those of a new figure."""
        ax = stage(ax)
        self.regions_, self.boundaries_, self.labels_ = [], [], []
        decisions = np.asarray(self.decisions, dtype=float)
        for level, decision, colour in zip(self.levels, decisions, blues(len(self.levels)), strict=True):
            if not np.any(decision >= 0):
                raise DataError(
                    f"{type(self).__name__}: the set of level {level:g} has no point on the grid. Leave the "
                    "level out, or raise grid_resolution."
                )
            top = [0, max(float(np.max(decision)), np.finfo(float).tiny)]
            self.regions_.append(ax.contourf(*self.axes, decision, levels=top, colors=[colour]))
            self.boundaries_.append(ax.contour(*self.axes, decision, levels=[0], colors="white", linewidths=0.8))
        self.points_ = self.outliers_ = None
        if self.data is not None:
            x, y = np.asarray(self.data, dtype=float).T
            outlier = np.asarray(np.zeros(len(x)) if self.outlier is None else self.outlier, dtype=bool)
            self.points_ = ax.scatter(x[~outlier], y[~outlier], s=5, color=INK, alpha=0.5, linewidths=0)
            self.outliers_ = ax.scatter(x[outlier], y[outlier], s=26, color=ORANGE, marker="x", linewidths=1.2)
        for j, (level, boundary) in enumerate(zip(self.levels, self.boundaries_, strict=True)):
            colour = INK if 2 * j <= len(self.levels) else "white"  # dark on the pale shades, white on the dark ones
            text = f"{per_cent(1 - level)} inside"
            self.labels_ += ax.clabel(boundary, fmt={0: text}, fontsize="small", colors=colour)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        self.ax_, self.figure_ = ax, ax.figure
        return self
