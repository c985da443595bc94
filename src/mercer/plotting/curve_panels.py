"""Single curves in panels of their own, from the worst to the best, with their residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError
from mercer.plotting.curve_names import curve_names
from mercer.plotting.residuals import compare_arrays, compare_curves, real_over_a_line
from mercer.plotting.style import BLUE, GREY, INK, ORANGE, panel_figure, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["CurvePanelsDisplay"]

#: size of a panel with its residuals in a figure of its own, in inches
PANEL = (3.0, 4.2)


class CurvePanelsDisplay:
    """The worst, the median and the best curve, each in a panel: predicted, observed, and residuals against θ below.

    More panels are curves between them, at even steps in the order of their residuals. All panels have one scale, and
    so have all residuals: what looks larger is larger.

    Parameters
    ----------
    grid : array of shape (n_points,)
        Points of the predicted curves, increasing.
    predicted : array of shape (n_samples, n_points)
    observed : list of pairs of arrays (points, values)
        One pair for each sample.
    residuals : list of arrays
        Observed less predicted values at these points.
    errors : array of shape (n_samples,)
        Norms of the residuals, the root mean square of each.
    band : array of shape (n_samples, n_points, 2), optional
        Lower and upper ends of a band around the predicted curves on the grid.
    names : sequence of str, optional
        Names of the samples; their numbers by default.
    n_panels : int, default=3
        Number of curves, at most that of the samples.
    theta_name, target_name : str, default="θ", "y(θ)"
        What the curves are over and what their values are called, for the axes.

    Attributes
    ----------
    axes_ : array of Axes of shape (2, n_panels)
        Curves above, residuals below.
    figure_ : Figure or SubFigure
    shown_ : array of int
        Samples in the order of the panels, the worst first.
    predicted_, observed_, residuals_ : list of Line2D
        One for each panel.
    bands_ : list of FillBetweenPolyCollection
        Empty without a band.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import CurvePanelsDisplay
    >>> Y = np.array([[0.0, 1.0, 2.0], [0.0, 1.0, 5.0], [0.0, 1.0, 3.0]])
    >>> display = CurvePanelsDisplay.from_predictions(Y, np.tile([0.0, 1.0, 2.0], (3, 1)))
    >>> display.shown_, [ax.get_title() for ax in display.axes_[0]]
    (array([1, 2, 0]), ['worst: 1', 'median: 2', 'best: 0'])
    """

    def __init__(
        self,
        grid,
        predicted,
        observed,
        residuals,
        errors,
        *,
        band=None,
        names=None,
        n_panels=3,
        theta_name="θ",
        target_name="y(θ)",
    ):
        self.grid = grid
        self.predicted = predicted
        self.observed = observed
        self.residuals = residuals
        self.errors = errors
        self.band = band
        self.names = names
        self.n_panels = n_panels
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
        band=None,
        names=None,
        n_panels=3,
        theta_name=None,
        target_name=None,
        figure=None,
    ):
        """Predict curves, compare them with observed ones, and draw some of them.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict(X)`` on ``grid_`` as :class:`~mercer.estimators.FunctionalRegressor` has it, also
            at the end of a Pipeline; another regressor of several outputs is drawn at 0, 1, 2, …
        X : array-like of shape (n_samples, n_features)
        Y : array-like of shape (n_samples, m) or (n_samples, m, p), list of (points, values), or FData
            Observed curves, as ``fit`` takes them. The residual of a curve is its root mean square over what was
            observed.
        component : int, optional
            The component of curves in R^p to draw; needed where p > 1.
        band : array-like of shape (n_samples, m, 2), optional
            Lower and upper ends of a band on the grid of the predictions.
        names : sequence of str, optional
            Names of the samples; their numbers by default.
        n_panels : int, default=3
            Number of curves.
        theta_name, target_name : str, optional
            What the curves are over and what their values are called, for the axes; by default the names of argument
            and coordinate that curves of scikit-fda have, else "θ" and "y(θ)".
        figure : Figure or SubFigure, optional
            Where to draw; a new figure by default.
        """
        comparison = compare_curves(cls.__name__, estimator, X, Y, component)
        settings = {"band": band, "names": names, "n_panels": n_panels}
        return cls._of(comparison, curve_names(Y, component, theta_name, target_name), settings).plot(figure)

    @classmethod
    def from_predictions(
        cls, Y, predicted, *, grid=None, component=None, theta_name=None, target_name=None, figure=None, **settings
    ):
        """Compare curves on a common grid, (n_samples, m) or (n_samples, m, p), and draw; see from_estimator."""
        comparison = compare_arrays(cls.__name__, Y, predicted, grid, component)
        return cls._of(comparison, curve_names(Y, component, theta_name, target_name), settings).plot(figure)

    @classmethod
    def _of(cls, comparison: Any, axes_names: tuple[str, str], settings: dict[str, Any]) -> CurvePanelsDisplay:
        curves = real_over_a_line(cls.__name__, comparison)
        settings = settings | {"theta_name": axes_names[0], "target_name": axes_names[1]}
        return cls(curves.points, curves.predicted, curves.observed, curves.residuals, curves.errors, **settings)

    def plot(self, figure: Figure | SubFigure | None = None) -> CurvePanelsDisplay:
        """Draw in the figure, or in a new one."""
        errors, band = self._checked()
        ranks = np.linspace(len(errors) - 1, 0, min(self.n_panels, len(errors))).round().astype(int)
        self.shown_ = np.argsort(errors, kind="stable")[ranks]
        self.figure_ = panel_figure(len(ranks), PANEL) if figure is None else figure
        self.axes_ = self.figure_.subplots(
            2, len(ranks), sharex=True, sharey="row", height_ratios=[3, 1], squeeze=False
        )
        self.predicted_: list[Any] = []
        self.observed_: list[Any] = []
        self.residuals_: list[Any] = []
        self.bands_: list[Any] = []
        for place, sample in enumerate(self.shown_):
            above, below = (stage(ax) for ax in self.axes_[:, place])
            above.set_title(self._title(place, int(sample)), fontsize="medium")
            self._draw_curve(above, int(sample), band)
            self._draw_residuals(below, int(sample), float(errors[sample]))
            below.set_xlabel(self.theta_name)
        self.axes_[0, 0].set_ylabel(self.target_name)
        self.axes_[1, 0].set_ylabel("residual")
        self.axes_[0, 0].legend(frameon=False, fontsize="small")
        return self

    def _checked(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return errors and band as arrays, of the right shapes."""
        owner, errors = type(self).__name__, np.asarray(self.errors, dtype=float)
        check_number(self, "n_panels", self.n_panels, low=1, strict=False, integer=True)
        if self.names is not None and len(self.names) != len(errors):
            raise DataError(f"{owner}: there are {len(errors)} curves and {len(self.names)} names.")
        if self.band is None:
            return errors, None
        band, wanted = check_numbers(owner, "band", self.band), (*np.shape(self.predicted), 2)
        if band.shape != wanted:
            raise DataError(
                f"{owner}: band must have shape {wanted}, lower and upper ends for each curve and point of the grid; "
                f"got {band.shape}. Two arrays of ends are numpy.stack([lower, upper], axis=-1)."
            )
        return errors, band

    def _title(self, place: int, sample: int) -> str:
        """Return the name of the curve, with its rank where that has a name."""
        name, last = str(sample if self.names is None else self.names[sample]), len(self.shown_) - 1
        ranks = {last: "best: ", last / 2: "median: ", 0: "worst: "}
        return ranks.get(place, "") + name

    def _draw_curve(self, ax: Axes, sample: int, band: np.ndarray | None) -> None:
        grid = np.asarray(self.grid, dtype=float)
        if band is not None:
            ends = band[sample].T
            self.bands_.append(ax.fill_between(grid, *ends, color=BLUE, alpha=0.18, linewidth=0, label="band"))
        self.predicted_ += ax.plot(grid, self.predicted[sample], color=BLUE, label="predicted")
        self.observed_ += ax.plot(*self.observed[sample], "o", color=INK, markersize=3, label="observed")

    def _draw_residuals(self, ax: Axes, sample: int, error: float) -> None:
        where, values = self.observed[sample][0], self.residuals[sample]
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=1)
        ax.vlines(where, 0, values, color=ORANGE, linewidth=0.8)
        self.residuals_ += ax.plot(where, values, "o", color=ORANGE, markersize=2.5)
        ax.set_title(f"root mean square {error:.3g}", fontsize="small", color=ORANGE, loc="left")
