"""Predicted and observed curves in one picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError
from mercer.plotting.residuals import CurveComparison, compare_arrays, compare_curves, real_over_a_line
from mercer.plotting.style import GREY, ORANGE, label_right, stage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CurvesDisplay"]


class CurvesDisplay:
    """Predicted curves, lines, and observed ones, points, with a colour for the size of their residual.

    The curves with the largest residuals are drawn last and named beside their ends.

    Parameters
    ----------
    grid : array of shape (n_points,)
        Points of the predicted curves, increasing.
    predicted : array of shape (n_samples, n_points)
    observed : list of pairs of arrays (points, values)
        One pair for each sample.
    errors : array of shape (n_samples,)
        Norms of the residuals.
    names : sequence of str, optional
        Names of the samples; their numbers by default.
    n_worst : int, default=3
        How many curves to name.
    theta_name, target_name : str, default="θ", "y(θ)"
        What the curves are over and what their values are called, for the axes.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    predicted_ : LineCollection
        One line for each sample, in the order of increasing residuals.
    observed_ : PathCollection
        Points of all observed curves, in the same order.
    colorbar_ : Colorbar
    worst_ : array of int
        Samples that are named, the worst first.
    labels_ : list of Text
        Their names.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import CurvesDisplay
    >>> Y = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 5.0]])
    >>> display = CurvesDisplay.from_predictions(Y, np.tile([0.0, 1.0, 2.0], (2, 1)), n_worst=1)
    >>> display.worst_, display.errors.round(2)
    (array([1]), array([0.  , 1.73]))
    """

    def __init__(self, grid, predicted, observed, errors, *, names=None, n_worst=3, theta_name="θ", target_name="y(θ)"):
        self.grid = grid
        self.predicted = predicted
        self.observed = observed
        self.errors = errors
        self.names = names
        self.n_worst = n_worst
        self.theta_name = theta_name
        self.target_name = target_name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        Y,
        *,
        component=None,
        names=None,
        n_worst=3,
        theta_name="θ",
        target_name="y(θ)",
        ax=None,
    ):
        """Predict curves, compare them with observed ones, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict(X)`` on ``grid_`` as :class:`~mercer.estimators.FunctionalRegressor` has it, also
            at the end of a Pipeline; another regressor of several outputs is drawn at 0, 1, 2, …
        X : array-like of shape (n_samples, n_features)
        Y : array-like of shape (n_samples, m) or (n_samples, m, p), or list of (points, values)
            Observed curves, as ``fit`` takes them. The residual of a curve is its root mean square over what was
            observed.
        component : int, optional
            The component of curves in R^p to draw; needed where p > 1.
        names : sequence of str, optional
            Names of the samples; their numbers by default.
        n_worst : int, default=3
            How many curves to name.
        theta_name, target_name : str, default="θ", "y(θ)"
            What the curves are over and what their values are called, for the axes: "day", "temperature".
        ax : Axes, optional
            Of a new figure by default.
        """
        comparison = compare_curves(cls.__name__, estimator, X, Y, component)
        settings = {"names": names, "n_worst": n_worst, "theta_name": theta_name, "target_name": target_name}
        return cls._of(comparison, **settings).plot(ax)

    @classmethod
    def from_predictions(cls, Y, predicted, *, grid=None, component=None, ax=None, **settings):
        """Compare curves on a common grid, (n_samples, m) or (n_samples, m, p), and draw; see from_estimator."""
        comparison = compare_arrays(cls.__name__, Y, predicted, grid, component)
        return cls._of(comparison, **settings).plot(ax)

    @classmethod
    def _of(cls, comparison: CurveComparison, **settings) -> CurvesDisplay:
        curves = real_over_a_line(cls.__name__, comparison)
        return cls(curves.points, curves.predicted, curves.observed, curves.errors, **settings)

    def plot(self, ax: Axes | None = None) -> CurvesDisplay:
        """Draw on the axes, or on those of a new figure."""
        check_number(self, "n_worst", self.n_worst, low=0, strict=False, integer=True)
        errors = np.asarray(self.errors, dtype=float)
        if self.names is not None and len(self.names) != len(errors):
            raise DataError(f"{type(self).__name__}: there are {len(errors)} curves and {len(self.names)} names.")
        ax = stage(ax)
        order = np.argsort(errors, kind="stable")
        self.worst_ = order[::-1][: self.n_worst]
        self._draw_lines(ax, order, errors)
        ax.autoscale_view()
        ax.margins(x=0)
        ax.set(xlabel=self.theta_name, ylabel=self.target_name)
        self._name_worst(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_lines(self, ax: Axes, order: np.ndarray, errors: np.ndarray) -> None:
        """Draw curves and observations in the order given, the worst ones wide."""
        from matplotlib.collections import LineCollection
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("residuals", ["#C9DDEC", "#5A9BC5", "#0B3C6F", ORANGE])
        grid, predicted = np.asarray(self.grid, dtype=float), np.asarray(self.predicted, dtype=float)
        wide = np.isin(order, self.worst_)
        counts = [len(self.observed[index][0]) for index in order]
        x, y = (np.concatenate([self.observed[index][part] for index in order]) for part in (0, 1))
        limits = 0.0, float(errors.max()) or 1.0
        self.observed_ = ax.scatter(
            x,
            y,
            np.repeat(np.where(wide, 7.0, 2.5), counts),
            linewidths=0,
            cmap=shades,
            c=np.repeat(errors[order], counts),
        )
        self.observed_.set_clim(limits)
        lines = [np.column_stack([grid, predicted[index]]) for index in order]
        widths = np.where(wide, 1.8, 0.8)
        self.predicted_ = LineCollection(lines, linewidths=widths, cmap=shades, array=errors[order], clim=limits)
        ax.add_collection(self.predicted_)
        self.colorbar_ = ax.figure.colorbar(self.predicted_, ax=ax, pad=0.1)
        self.colorbar_.set_label("residual norm (lines predicted, points observed)")
        self.colorbar_.outline.set_edgecolor(GREY)

    def _name_worst(self, ax: Axes) -> None:
        """Write the names of the worst curves beside the ends of their predictions."""
        heights = [self.predicted[index][-1] for index in self.worst_]
        texts = [str(index if self.names is None else self.names[index]) for index in self.worst_]
        colours = [self.predicted_.to_rgba(self.errors[index]) for index in self.worst_]
        self.labels_ = label_right(ax, heights, texts, colours) if texts else []
