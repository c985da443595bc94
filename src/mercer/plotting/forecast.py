"""The fan of a forecast after the past of a series."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.exceptions import parameter_error
from mercer.plotting.style import GREY, INK, NAVY, blues, per_cent, stage
from mercer.quantile_function import check_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ForecastDisplay"]


class ForecastDisplay:
    """The past of a series, its forecast, and bands around it that widen.

    Parameters
    ----------
    past : array of shape (n_past,)
        Values up to now, the last one at step 0.
    forecast : array of shape (steps,)
        Values to come.
    bands : array of shape (steps, n_coverages, 2)
        Lower and upper ends.
    coverages : array of shape (n_coverages,)
        Their nominal coverages.
    future : array of shape (m,), optional
        What came, to compare.
    name : str, optional
        Of the series, for the axis.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    bands_ : list of PolyCollection
        Widest first.
    past_, forecast_ : Line2D
    future_ : Line2D or None
    legend_ : Legend

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer import VectorAutoRegressor
    >>> from mercer.kernels import Linear
    >>> from mercer.plotting import ForecastDisplay
    >>> Y = np.cumsum(np.random.default_rng(0).normal(size=(60, 2)), axis=0)
    >>> model = VectorAutoRegressor(kernel=Linear(), alpha=0.1).fit(Y)
    >>> display = ForecastDisplay.from_estimator(model, Y, 8, series=1, random_state=0)
    >>> len(display.bands_), display.ax_.get_xlabel()
    (3, 'steps from now')
    """

    def __init__(self, past, forecast, bands, *, coverages, future=None, name=None):
        self.past = past
        self.forecast = forecast
        self.bands = bands
        self.coverages = coverages
        self.future = future
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        Y,
        steps,
        *,
        series=0,
        coverages=(0.5, 0.8, 0.95),
        kind="pointwise",
        n_past=50,
        n_paths=500,
        random_state=None,
        future=None,
        ax=None,
    ):
        """Forecast what follows Y and draw one of the series.

        Parameters
        ----------
        estimator : VectorAutoRegressor
            Fitted.
        Y : array-like or data frame of shape (T, p)
            What the forecast follows.
        steps : int
            How many steps.
        series : int or str, default=0
            Which series; a name where the estimator was fitted to a data frame.
        coverages : array-like, default=(0.5, 0.8, 0.95)
            Of the bands.
        kind, n_paths, random_state :
            As in :meth:`VectorAutoRegressor.forecast_band`; all bands come from the same paths.
        n_past : int, default=50
            How many values of the past to show, at most.
        future : array-like or data frame of shape (m, p), optional
            What came, to compare.
        ax : Axes, optional
            Of a new figure by default.
        """
        check_number(cls.__name__, "n_past", n_past, low=1, strict=False, integer=True)
        hint = "Coverages are probabilities: 0.95, not 95. No finite band covers all."
        coverages = np.unique(check_levels(cls.__name__, coverages, "coverages", hint))
        check_is_fitted(estimator)
        place, name = _place(cls.__name__, estimator, series)
        seed = check_random_state(random_state).randint(2**31 - 1)  # the same paths for all bands: they are nested
        settings = {"Y": Y, "kind": kind, "n_paths": n_paths, "random_state": seed}
        bands = [estimator.forecast_band(steps, float(one), **settings)[:, place] for one in coverages]
        return cls(
            _column(Y, place)[-n_past:],
            estimator.forecast(steps, Y)[:, place],
            np.stack(bands, axis=1),
            coverages=coverages,
            future=None if future is None else _column(future, place)[:steps],
            name=name,
        ).plot(ax)

    def plot(self, ax: Axes | None = None) -> ForecastDisplay:
        """Draw on the axes, or on those of a new figure."""
        ax = stage(ax)
        past, forecast = np.asarray(self.past, dtype=float), np.asarray(self.forecast, dtype=float)
        ahead = np.arange(len(forecast) + 1)
        now = np.full((1, len(self.coverages), 2), past[-1])
        bands = np.concatenate([now, np.asarray(self.bands, dtype=float)])
        widest_first = np.argsort(self.coverages)[::-1]
        self.bands_ = [
            ax.fill_between(ahead, *bands[:, j].T, color=colour, linewidth=0)
            for j, colour in zip(widest_first, blues(len(widest_first)), strict=True)
        ]
        (self.past_,) = ax.plot(np.arange(1 - len(past), 1), past, color=INK)
        (self.forecast_,) = ax.plot(ahead, [past[-1], *forecast], color=NAVY, linewidth=2)
        named: dict[str, Any] = {per_cent(self.coverages[j]): self.bands_[k] for k, j in enumerate(widest_first)}
        named["forecast"] = self.forecast_
        self.future_ = None
        if self.future is not None:
            future = [past[-1], *np.asarray(self.future, dtype=float)]
            (self.future_,) = ax.plot(np.arange(len(future)), future, color=INK, linestyle="--", linewidth=1)
            named["what came"] = self.future_
        ax.axvline(0, color=GREY, linewidth=0.8, zorder=1)
        ax.set(xlabel="steps from now", ylabel="y" if self.name is None else self.name, xlim=(1 - len(past), ahead[-1]))
        self.legend_ = ax.legend(
            list(named.values()), list(named), loc="center left", bbox_to_anchor=(1, 0.5), frameon=False
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _place(owner: str, estimator: Any, series: Any) -> tuple[int, str | None]:
    """Return the number of a series and its name."""
    names = list(getattr(estimator, "feature_names_in_", range(estimator.n_features_in_)))
    place = names.index(series) if series in names else series
    if isinstance(series, bool) or not isinstance(place, (int, np.integer)) or not 0 <= place < len(names):
        raise parameter_error(owner, "series", series, f"one of the series, {names[:8]}")
    named = names[place]
    return int(place), named if isinstance(named, str) else f"series {place}" if len(names) > 1 else None


def _column(Y: Any, place: int) -> np.ndarray:
    values = np.asarray(Y, dtype=float)
    return values if values.ndim == 1 else values[:, place]
