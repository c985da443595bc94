"""Quantiles of curves: a fan over time for some rows, each in a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.plotting.style import INK, NAVY, blues, panel_figure, per_cent, stage
from mercer.plotting.validation import refuse_gram
from mercer.quantile_function import check_levels

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

__all__ = ["CurveQuantilesDisplay"]

#: size of a panel in a figure of its own, in inches
FAN_PANEL = (3.2, 3.0)


class CurveQuantilesDisplay:
    """Central intervals and the median of a curve at each time, for some rows: where it is sure, and where it is not.

    All panels have one scale. Intervals hold values at one time with their coverage, not whole curves.

    Parameters
    ----------
    grid : array of shape (n_points,)
        Times, increasing.
    median : array of shape (n_rows, n_points)
    bands : array of shape (n_rows, n_points, n_coverages, 2)
        Ends of the central intervals.
    coverages : array of shape (n_coverages,)
        Their nominal coverages.
    observed : array of shape (n_rows, n_points), optional
        Curves to show as points, NaN where nothing was observed.
    names : sequence of str, optional
        Of the rows.
    theta_name, target_name : str, default="θ", "y(θ)"
        For the axes.

    Attributes
    ----------
    axes_ : array of Axes of shape (n_rows,)
    figure_ : Figure or SubFigure
    bands_ : list of lists of FillBetweenPolyCollection
        For each row, the widest first.
    medians_ : list of Line2D
    legend_ : Legend

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer import FunctionalQuantileRegressor
    >>> from mercer.plotting import CurveQuantilesDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(60, 1)), np.linspace(0, 1, 8)
    >>> Y = np.sin(2 * np.pi * grid) * X + 0.2 * (0.5 + grid) * rng.normal(size=(60, 8))
    >>> model = FunctionalQuantileRegressor(grid=grid, random_state=0).fit(X, Y)
    >>> display = CurveQuantilesDisplay.from_estimator(model, X[:2], Y[:2], coverages=[0.5, 0.9])
    >>> display.bands.shape, len(display.axes_)
    ((2, 8, 2, 2), 2)
    """

    def __init__(
        self, grid, median, bands, *, coverages, observed=None, names=None, theta_name="θ", target_name="y(θ)"
    ):
        self.grid = grid
        self.median = median
        self.bands = bands
        self.coverages = coverages
        self.observed = observed
        self.names = names
        self.theta_name = theta_name
        self.target_name = target_name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        Y=None,
        *,
        coverages=(0.5, 0.8, 0.95),
        n_panels=3,
        names=None,
        theta_name="θ",
        target_name="y(θ)",
        figure=None,
    ):
        """Predict quantiles of curves and draw them.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_quantile(X, levels)`` of curves on ``grid_``, times on the line, as
            :class:`~mercer.estimators.FunctionalQuantileRegressor` has it, also at the end of a Pipeline.
        X : array-like of shape (n_samples, n_features)
            Rows, of which the first are drawn.
        Y : array-like of shape (n_samples, m), optional
            Observed curves on the grid, NaN where there is none.
        coverages : array-like, default=(0.5, 0.8, 0.95)
            Of the central intervals.
        n_panels : int, default=3
            Rows to draw at most.
        names : sequence of str, optional
            Of the samples; their numbers by default.
        theta_name, target_name : str, default="θ", "y(θ)"
            What the curves are over and what their values are called.
        figure : Figure or SubFigure, optional
            Where to draw; a new figure by default.
        """
        check_number(cls.__name__, "n_panels", n_panels, low=1, strict=False, integer=True)
        hint = "Coverages are probabilities: 0.95, not 95. No finite interval covers all."
        coverages = np.unique(check_levels(cls.__name__, coverages, "coverages", hint))
        refuse_gram(cls.__name__, estimator)
        rows = X[: int(n_panels)] if not hasattr(X, "iloc") else X.iloc[: int(n_panels)]
        last, inner = reach(estimator, rows, "predict_quantile")
        levels = np.concatenate([(1 - coverages) / 2, [0.5], (1 + coverages) / 2])
        quantiles, count = to_numpy(last.predict_quantile(inner, levels)), len(coverages)
        if quantiles.ndim != 3:
            raise UnsupportedError(
                f"{cls.__name__}: {type(last).__name__} predicts quantiles of numbers; QuantileFanDisplay draws them."
            )
        grid = np.asarray(last.grid_, dtype=float)
        if grid.ndim != 1:
            raise UnsupportedError(f"{cls.__name__}: times must be on the line; these have shape {grid.shape}.")
        bands = np.stack([quantiles[:, :, :count], quantiles[:, :, count + 1 :]], axis=3)
        observed = None if Y is None else _observed(cls.__name__, Y, quantiles.shape[:2])
        texts = {"names": names, "theta_name": theta_name, "target_name": target_name}
        return cls(grid, quantiles[:, :, count], bands, coverages=coverages, observed=observed, **texts).plot(figure)

    def plot(self, figure: Figure | SubFigure | None = None) -> CurveQuantilesDisplay:
        """Draw in the figure, or in a new one."""
        n, widest_first = len(self.median), np.argsort(self.coverages)[::-1]
        if self.names is not None and len(self.names) < n:
            allowed = f"one name for each of the {n} rows that are drawn"
            raise parameter_error(type(self).__name__, "names", self.names, allowed)
        self.figure_ = panel_figure(n, FAN_PANEL) if figure is None else figure
        self.axes_ = self.figure_.subplots(1, n, sharex=True, sharey=True, squeeze=False)[0]
        order, bands = np.argsort(self.grid), np.asarray(self.bands, dtype=float)
        grid = np.asarray(self.grid, dtype=float)[order]
        self.bands_: list[list[Any]] = []
        self.medians_: list[Any] = []
        for i, ax in enumerate(map(stage, self.axes_)):
            colours = zip(widest_first, blues(len(widest_first)), strict=True)
            self.bands_.append(
                [ax.fill_between(grid, *bands[i, order, j].T, color=colour, linewidth=0) for j, colour in colours]
            )
            self.medians_ += ax.plot(grid, np.asarray(self.median)[i, order], color=NAVY, linewidth=2)
            if self.observed is not None:
                ax.plot(grid, np.asarray(self.observed)[i, order], "o", color=INK, markersize=3)
            ax.set_title(str(i if self.names is None else self.names[i]), fontsize="medium")
            ax.set_xlabel(self.theta_name)
        self.axes_[0].set_ylabel(self.target_name)
        texts = [*(per_cent(self.coverages[j]) for j in widest_first), "median"]
        handles = [*self.bands_[0], self.medians_[0]]
        self.legend_ = self.axes_[-1].legend(handles, texts, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
        return self


def _observed(owner: str, Y: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Return the curves of the rows that are drawn."""
    curves = np.asarray(Y, dtype=float)
    if curves.ndim != 2 or len(curves) < shape[0] or curves.shape[1] != shape[1]:
        raise DataError(
            f"{owner}: Y must be curves on the grid of the predictions, shape (n_samples, {shape[1]}), n_samples ≥ "
            f"{shape[0]}; got {curves.shape}."
        )
    return curves[: shape[0]]
