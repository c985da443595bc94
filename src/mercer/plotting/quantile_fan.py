"""The fan of predicted quantiles along one input."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError, parameter_error
from mercer.plotting.style import INK, NAVY, blues, per_cent, stage
from mercer.plotting.validation import check_targets, count_rows, name_of, refuse_gram
from mercer.preprocessing.cells import as_objects, is_table, take_column
from mercer.quantile_function import check_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["QuantileFanDisplay"]


class QuantileFanDisplay:
    """Central intervals and the median along one input: how the distribution of y moves and widens.

    Of several inputs the others are held fixed: the fan is a slice, and says so in its title. Rows that are shown as
    points have other values there, and need not lie in the fan.

    Parameters
    ----------
    x : array of shape (n_grid,)
        Values of the input.
    median : array of shape (n_grid,)
        Predicted medians.
    bands : array of shape (n_grid, n_coverages, 2)
        Ends of the central intervals.
    coverages : array of shape (n_coverages,)
        Their nominal coverages.
    data : tuple of arrays (x, y), optional
        Points to show.
    name : str, optional
        Of the input, for the axis.
    target_name : str, optional
        What y is called, for the axis.
    others : str, optional
        What other inputs are held at, for the title; there are none by default.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    bands_ : list of PolyCollection
        Widest first.
    median_ : Line2D
    points_ : PathCollection or None
    legend_ : Legend
        Widest first, the median last.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer import KernelQuantileRegressor
    >>> from mercer.datasets import make_sine
    >>> from mercer.plotting import QuantileFanDisplay
    >>> X, y = make_sine(200, random_state=0)
    >>> display = QuantileFanDisplay.from_estimator(KernelQuantileRegressor().fit(X, y), X, y)
    >>> len(display.bands_)
    4
    """

    def __init__(self, x, median, bands, *, coverages, data=None, name=None, target_name=None, others=None):
        self.x = x
        self.median = median
        self.bands = bands
        self.coverages = coverages
        self.data = data
        self.name = name
        self.target_name = target_name
        self.others = others

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y=None,
        *,
        feature=0,
        coverages=(0.2, 0.5, 0.8, 0.95),
        grid_resolution=200,
        target_name=None,
        ax=None,
    ):
        """Predict along one column, the others at their medians (text: its most frequent value), and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted on inputs, not on Gram matrices, with ``predict_quantile(X, levels)``, also at the end of a
            Pipeline.
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that say where to draw. Columns of a data frame need not hold numbers, if the estimator was fitted on
            such: text, categories and the like are held at their most frequent value.
        y : array-like of shape (n_samples,), optional
            Targets, to show the rows as points.
        feature : int or str, default=0
            The column, which must hold numbers; a name for data frames.
        coverages : array-like, default=(0.2, 0.5, 0.8, 0.95)
            Of the central intervals.
        grid_resolution : int, default=200
            Number of points on the axis.
        target_name : str, optional
            What the targets are called; the name of a Series by default.
        ax : Axes, optional
            Of a new figure by default.
        """
        check_number(cls.__name__, "grid_resolution", grid_resolution, low=2, strict=False, integer=True)
        hint = "Coverages are probabilities: 0.95, not 95. No finite interval covers all."
        coverages = np.unique(check_levels(cls.__name__, coverages, "coverages", hint))
        refuse_gram(cls.__name__, estimator)
        name, column, rows, others = _along(cls.__name__, X, feature, int(grid_resolution))
        grid = np.linspace(np.nanmin(column), np.nanmax(column), int(grid_resolution))
        data = None
        if y is not None:
            data = column, check_targets(cls.__name__, y, count_rows(X))
        levels = np.concatenate([(1 - coverages) / 2, [0.5], (1 + coverages) / 2])
        last, inner = reach(estimator, rows, "predict_quantile")
        quantiles = to_numpy(last.predict_quantile(inner, levels))
        count = len(coverages)
        bands = np.stack([quantiles[:, :count], quantiles[:, count + 1 :]], axis=2)
        names = {"name": name, "target_name": name_of(y, target_name), "others": others}
        return cls(grid, quantiles[:, count], bands, coverages=coverages, data=data, **names).plot(ax)

    def plot(self, ax: Axes | None = None) -> QuantileFanDisplay:
        """Draw on the axes, or on those of a new figure."""
        ax = stage(ax)
        widest_first = np.argsort(self.coverages)[::-1]
        colours, bands = blues(len(widest_first)), np.asarray(self.bands, dtype=float)
        self.bands_ = [
            ax.fill_between(self.x, *bands[:, j].T, color=colour, linewidth=0)
            for j, colour in zip(widest_first, colours, strict=True)
        ]
        (self.median_,) = ax.plot(self.x, self.median, color=NAVY, linewidth=2)
        self.points_ = None
        if self.data is not None:
            size = float(np.clip(3000 / len(self.data[1]), 4, 14))
            x, y = self.data
            self.points_ = ax.scatter(x, y, s=size, color=INK, alpha=0.55, linewidths=0)
        ax.set(xlim=(np.min(self.x), np.max(self.x)), xlabel="x" if self.name is None else self.name)
        ax.set_ylabel("y" if self.target_name is None else self.target_name)
        if self.others is not None:
            ax.set_title(f"slice, {self.others}", fontsize="medium")
        texts = [*(per_cent(self.coverages[j]) for j in widest_first), "median"]
        # in the order of the fan from the top, beside it; labels at its end would run into each other where it is thin
        self.legend_ = ax.legend(
            [*self.bands_, self.median_], texts, loc="center left", bbox_to_anchor=(1, 0.5), frameon=False
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _along(owner: str, X: Any, feature: Any, resolution: int) -> tuple[str | None, np.ndarray, Any, str | None]:
    """Return a column's name, the column, rows along it, and what the other columns are held at there."""
    frame = is_table(X)
    names = list(X.columns) if frame else list(range(np.ndim(X) and np.shape(X)[-1]))
    place = names.index(feature) if feature in names else feature
    if isinstance(feature, bool) or not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
        raise parameter_error(owner, "feature", feature, f"one of the columns, {names[:8]}")
    if frame and len(X):
        column, rows, others = _along_frame(owner, X, int(place), resolution)
        return str(names[place]), column, rows, others
    try:
        values = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        hint = "Pass a data frame: its columns of text are held at their most frequent value."
        raise DataError(f"{owner}: X must hold numbers; {error}. {hint}") from error
    if values.ndim != 2 or len(values) == 0:
        raise DataError(
            f"{owner}: X must have shape (n_samples, n_features) with a sample at least; got {values.shape}."
        )
    column = values[:, place]
    rows = np.tile(np.median(values, axis=0), (resolution, 1))
    rows[:, place] = np.linspace(column.min(), column.max(), resolution)
    if len(names) == 1:
        return None, column, rows, None
    return f"column {place}", column, rows, "other columns at their medians"


def _along_frame(owner: str, X: Any, place: int, resolution: int) -> tuple[np.ndarray, Any, str | None]:
    """Return a column of a data frame, rows along it, and what the others are held at there; types stay as they are."""
    cells = [_numbers(take_column(X, j)) for j in range(X.shape[1])]
    column = cells[place]
    if column is None:
        numeric = [str(name) for name, values in zip(X.columns, cells, strict=True) if values is not None]
        allowed = f"a column of numbers, such as one of {numeric[:8]}"
        raise parameter_error(owner, "feature", X.columns[place], allowed, "A fan has no order of other values.")
    grid = np.linspace(np.nanmin(column), np.nanmax(column), resolution)
    numbers = {j: np.full(resolution, np.nanmedian(values)) for j, values in enumerate(cells) if values is not None}
    others = {j: _most_frequent(take_column(X, j)) for j, values in enumerate(cells) if values is None}
    rows = (_pandas_rows if hasattr(X, "iloc") else _polars_rows)(X, numbers | {place: grid}, others, resolution)
    held = ["medians"] * (len(numbers) > 1) + ["most frequent values"] * bool(others)
    return column, rows, f"other columns at their {' and '.join(held)}" if held else None


def _numbers(column: Any) -> np.ndarray | None:
    """Return a column of numbers as floats, None for one of another type."""
    if hasattr(column, "iloc"):
        return column.to_numpy(dtype=float) if column.dtype.kind in "iuf" else None
    return column.cast(float).to_numpy() if column.dtype.is_numeric() else None


def _most_frequent(column: Any) -> int:
    """Return a row with the most frequent value that is not missing; the first of those that are equally frequent."""
    cells = as_objects(column)
    count = Counter(cell for cell in cells if cell is not None)
    return max(range(len(cells)), key=lambda row: count[cells[row]])


def _pandas_rows(X: Any, numbers: dict[int, np.ndarray], others: dict[int, int], resolution: int) -> Any:
    """Return a data frame of pandas with columns of numbers, and others at the value that they have in a row."""
    rows = X.iloc[np.zeros(resolution, dtype=int)].reset_index(drop=True)
    for place, values in numbers.items():
        rows.isetitem(place, values)
    for place, row in others.items():
        rows.isetitem(place, X.iloc[:, place].array.take(np.full(resolution, row)))
    return rows


def _polars_rows(X: Any, numbers: dict[int, np.ndarray], others: dict[int, int], resolution: int) -> Any:
    """Return the same of polars."""
    rows = {name: X[:, place].gather([others.get(place, 0)] * resolution) for place, name in enumerate(X.columns)}
    return type(X)(rows | {X.columns[place]: values for place, values in numbers.items()})
