"""The effect of a column on a curve, with bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _num_features

from mercer.exceptions import DataError, parameter_error
from mercer.model_selection import ResampledCurves, resample_effects, settle
from mercer.plotting.curve_names import curve_names
from mercer.plotting.style import BLUE, GREY, NAVY, ORANGE, label_right, per_cent, stage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EffectDisplay"]


class EffectDisplay:
    """Curves at several values of a column, the others as they are, with bands; or differences from one of them.

    Parameters
    ----------
    effects : ResampledCurves
        Real curves over a line, one for each value.
    coverage : float, default=0.9
        Of the bands.
    kind : {"simultaneous", "pointwise"}, default="simultaneous"
        Whether a band is one for the whole curve or for each θ by itself.
    reference : int, optional
        The place of the value that the others are compared with; the curves themselves are drawn by default.
    column_name, theta_name, target_name : str, default="x", "θ", "y(θ)"
        What the column, the argument and the values of curves are called.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    curves_ : list of Line2D
        One for each value, but for the reference.
    bands_ : list of FillBetweenPolyCollection
    labels_ : list of Text
        The values, to the right.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer import FunctionalRegressor
    >>> from mercer.plotting import EffectDisplay
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(60, 2)), np.linspace(0, 1, 10)
    >>> model = FunctionalRegressor(grid=grid).fit(X, Y := X[:, :1] * grid + 0.1 * rng.normal(size=(60, 10)))
    >>> display = EffectDisplay.from_estimator(model, X, Y, 0, [0, 0.5, 1], n_resamples=50, random_state=0)
    >>> [text.get_text() for text in display.labels_], display.ax_.get_title()
    (['0', '0.5', '1'], 'column 0, 90 % bands of the whole curve')
    """

    def __init__(
        self,
        effects: ResampledCurves,
        *,
        coverage: float = 0.9,
        kind: str = "simultaneous",
        reference: int | None = None,
        column_name: str = "x",
        theta_name: str = "θ",
        target_name: str = "y(θ)",
    ) -> None:
        self.effects = effects
        self.coverage = coverage
        self.kind = kind
        self.reference = reference
        self.column_name = column_name
        self.theta_name = theta_name
        self.target_name = target_name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        column,
        values=None,
        *,
        coverage=0.9,
        kind="simultaneous",
        reference=None,
        n_resamples=200,
        random_state=None,
        theta_name=None,
        target_name=None,
        ax=None,
    ):
        """Refit a fitted estimator to rows drawn anew, with its kernels and λ, and draw the effect of a column.

        Parameters
        ----------
        estimator : estimator
            Fitted, of real curves over a line, also at the end of a Pipeline.
        X, y :
            What it was fitted to.
        column, values, n_resamples, random_state :
            As in :func:`~mercer.model_selection.resample_effects`.
        coverage, kind, reference :
            As in the class.
        theta_name, target_name : str, optional
            What the curves are over and what their values are called, for the axes; by default the names of argument
            and coordinate that curves of scikit-fda have, else "θ" and "y(θ)".
        ax : Axes, optional
            Of a new figure by default.
        """
        settings = {"n_resamples": n_resamples, "random_state": random_state}
        effects = resample_effects(settle(estimator), X, y, column, values, **settings)
        theta_name, target_name = curve_names(y, None, theta_name, target_name)
        name = column if isinstance(column, str) else _name_of_column(X, column)
        named = {"column_name": name, "theta_name": theta_name, "target_name": target_name}
        return cls(effects, coverage=coverage, kind=kind, reference=reference, **named).plot(ax)

    def plot(self, ax: Axes | None = None) -> EffectDisplay:
        """Draw on the axes, or on those of a new figure."""
        grid, shown = self._grid(), self._shown()
        bands = [effects.band(self.coverage, self.kind)[0] for _, effects in shown]
        ax = stage(ax)
        colours = _colours(len(shown))
        self.curves_: list[Any] = []
        self.bands_: list[Any] = []
        for (_, effects), band, colour in zip(shown, bands, colours, strict=True):
            self.bands_.append(ax.fill_between(grid, *band.T, color=colour, alpha=0.15, linewidth=0))
            self.curves_ += ax.plot(grid, effects.curves[0], color=colour)
        difference = self.reference is not None
        if difference:
            ax.axhline(0, color=GREY, linewidth=0.8, zorder=1)
        ax.margins(x=0)
        ax.set(xlabel=self.theta_name, ylabel=f"difference in {self.target_name}" if difference else self.target_name)
        against = f" against {_shown(self.effects.values[self.reference])}" if self.reference is not None else ""
        what = "of the whole curve" if self.kind == "simultaneous" else "at each point"
        ax.set_title(f"{self.column_name}{against}, {per_cent(self.coverage)} bands {what}", fontsize="medium")
        ends = [effects.curves[0, -1] for _, effects in shown]
        self.labels_ = label_right(ax, ends, [_shown(value) for value, _ in shown], colours)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _grid(self) -> np.ndarray:
        owner, effects = type(self).__name__, self.effects
        m = effects.curves.shape[1]
        grid = np.arange(float(m)) if effects.grid is None else np.asarray(effects.grid, dtype=float)
        if grid.ndim > 1 or effects.curves.ndim > 2:
            raise DataError(f"{owner}: effects must be real curves over a line; got shape {effects.curves.shape}.")
        return grid

    def _shown(self) -> list[tuple[Any, ResampledCurves]]:
        """Return values and curves of each, or their differences from the reference."""
        effects, places = self.effects, range(len(self.effects.values))
        if self.reference is None:
            return [(effects.values[place], effects.take([place])) for place in places]
        if self.reference not in places or len(places) < 2:
            allowed = f"the place of one of {len(places)} values, two at least"
            raise parameter_error(self, "reference", self.reference, allowed)
        others = [place for place in places if place != self.reference]
        return [(effects.values[place], effects.difference(place, self.reference)) for place in others]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float, np.integer, np.floating)) else str(value)


def _name_of_column(X: Any, column: int) -> str:
    return str(X.columns[column]) if hasattr(X, "columns") else f"column {column % _num_features(X)}"


def _colours(count: int) -> list:
    """Return colours from blue to orange through dark ones: neighbours of an ordered column are alike."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("effects", [BLUE, NAVY, ORANGE])
    return [shades(share) for share in np.linspace(0, 1, count)] if count > 1 else [BLUE]
