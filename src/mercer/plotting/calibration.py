"""Whether predicted quantiles hold what they say: observed against nominal shares, and the histogram of levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.delegation import offers, reach
from mercer.exceptions import DataError
from mercer.plotting.style import BLUE, GREY, PALE, binomial_band, label_right, stage, unit_square
from mercer.plotting.validation import check_numbers, check_targets, count_rows, name_of
from mercer.quantile_function import QuantileFunction, check_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PITDisplay", "QuantileCalibrationDisplay"]


class QuantileCalibrationDisplay:
    """The share of targets below each predicted quantile against its level: a diagonal if they are calibrated.

    The grey band holds 95 % of the shares at each level for a calibrated model and as many independent targets.

    Parameters
    ----------
    levels : array of shape (n_levels,)
        Nominal levels θ.
    observed : array of shape (n_levels,)
        Shares of targets with y ≤ Q(x)(θ).
    n_samples : int, optional
        Number of targets, for the band; no band by default.
    target_name : str, optional
        What the targets are called, for the axis.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    line_, diagonal_ : Line2D
    band_ : PolyCollection or None
    legend_ : Legend
        What diagonal and band are.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import QuantileCalibrationDisplay
    >>> y = np.array([1.0, 2.0, 3.0, 4.0])
    >>> quantiles = np.tile([1.5, 3.5], (4, 1))
    >>> QuantileCalibrationDisplay.from_predictions(y, quantiles, [0.25, 0.75]).observed
    array([0.25, 0.75])
    """

    def __init__(self, levels, observed, *, n_samples=None, target_name=None):
        self.levels = levels
        self.observed = observed
        self.n_samples = n_samples
        self.target_name = target_name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, levels=None, target_name=None, ax=None):
        """Predict quantiles, compare them with targets, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_quantile(X, levels)``, also at the end of a Pipeline.
        X : array-like of shape (n_samples, n_features)
            Rows that the estimator has not been trained on, to learn something.
        y : array-like of shape (n_samples,)
        levels : array-like, optional
            0.05, 0.1, ..., 0.95 by default.
        target_name : str, optional
            What the targets are called; the name of a Series by default.
        ax : Axes, optional
            Of a new figure by default.
        """
        levels = check_levels(cls.__name__, np.arange(1, 20) / 20 if levels is None else levels)
        check_targets(cls.__name__, y, count_rows(X))
        last, inner = reach(estimator, X, "predict_quantile")
        return cls.from_predictions(y, last.predict_quantile(inner, levels), levels, target_name=target_name, ax=ax)

    @classmethod
    def from_predictions(cls, y, quantiles, levels, *, target_name=None, ax=None):
        """Compare predicted quantiles of shape (n_samples, n_levels) with targets, and draw."""
        levels, name = check_levels(cls.__name__, levels), name_of(y, target_name)
        y, quantiles = check_targets(cls.__name__, y), check_numbers(cls.__name__, "quantiles", quantiles)
        if quantiles.shape != (len(y), len(levels)):
            raise DataError(
                f"{cls.__name__}: quantiles must have shape (n_samples, n_levels) = ({len(y)}, {len(levels)}); got "
                f"{quantiles.shape}."
            )
        if np.any(np.isnan(quantiles)):
            raise DataError(f"{cls.__name__}: quantiles must not contain NaN, which is above or below nothing.")
        observed = np.mean(y[:, None] <= quantiles, axis=0)
        return cls(levels, observed, n_samples=len(y), target_name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> QuantileCalibrationDisplay:
        """Draw on the axes, or on those of a new figure."""
        ax = stage(ax)
        self.diagonal_, self.band_, self.legend_ = unit_square(ax, "calibrated", self.n_samples, "shares")
        order = np.argsort(self.levels)
        (self.line_,) = ax.plot(
            np.asarray(self.levels)[order], np.asarray(self.observed)[order], "o-", color=BLUE, markersize=4
        )
        what = "targets" if self.target_name is None else self.target_name
        ax.set(xlabel="level θ", ylabel=f"share of {what} below the θ-quantile")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class PITDisplay:
    """The histogram of the levels F(y | x) of the targets, which is flat if predictions are calibrated.

    A hump says that predicted distributions are too wide, a valley that they are too narrow, a slope that they are
    biased. The grey band holds 95 % of the heights of each bar for a calibrated model and as many independent targets.

    Parameters
    ----------
    pit : array of shape (n_samples,)
        F(y_i | x_i), the probability integral transform of the targets.
    target_name : str, optional
        What the targets are called, for the axis.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    bars_ : BarContainer
        Their heights are densities: 1 if calibrated.
    uniform_ : Line2D
    band_ : Patch
        Under the bars, which let it shine through.
    labels_ : list of Text
        What the band is, beside it.

    Examples
    --------
    >>> import matplotlib
    >>> import numpy as np
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import PITDisplay
    >>> display = PITDisplay(np.arange(100) / 100).plot(bins=10)
    >>> [round(float(bar.get_height()), 6) for bar in display.bars_][:2]
    [1.0, 1.0]
    """

    def __init__(self, pit, *, target_name=None):
        self.pit = pit
        self.target_name = target_name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, bins=10, target_name=None, ax=None):
        """Predict distributions, locate targets in them, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_function(X)`` or ``predict_quantile(X, levels)``, also at the end of a Pipeline.
        X : array-like of shape (n_samples, n_features)
            Rows that the estimator has not been trained on, to learn something.
        y : array-like of shape (n_samples,)
        bins : int, default=10
        target_name : str, optional
            What the targets are called; the name of a Series by default.
        ax : Axes, optional
            Of a new figure by default.
        """
        name, y = name_of(y, target_name), check_targets(cls.__name__, y, count_rows(X))
        if offers(estimator, "predict_function"):
            last, inner = reach(estimator, X, "predict_function")
            function = last.predict_function(inner)
        else:
            last, inner = reach(estimator, X, "predict_quantile")
            levels = np.arange(1, 200) / 200
            function = QuantileFunction(levels, np.asarray(to_numpy(last.predict_quantile(inner, levels)), dtype=float))
        return cls(to_numpy(function.cdf(y)), target_name=name).plot(ax, bins=bins)

    def plot(self, ax: Axes | None = None, *, bins: int = 10) -> PITDisplay:
        """Draw on the axes, or on those of a new figure."""
        check_number(self, "bins", bins, low=1, strict=False, integer=True)
        pit = check_numbers(type(self).__name__, "pit", self.pit)
        if pit.ndim != 1 or pit.size == 0 or not np.all((pit >= 0) & (pit <= 1)):
            raise DataError("PITDisplay: pit must be a non-empty one-dimensional array of probabilities.")
        ax = stage(ax)
        counts, edges = np.histogram(pit, bins=int(bins), range=(0, 1))
        heights = counts * bins / pit.size
        (low,), (high,) = binomial_band(np.array([1 / bins]), pit.size)
        self.band_ = ax.axhspan(low * bins, high * bins, color=GREY, alpha=0.35, linewidth=0, zorder=1)
        self.bars_ = ax.bar(
            edges[:-1], heights, 1 / bins, align="edge", color=PALE, edgecolor="white", alpha=0.8, zorder=2
        )
        self.uniform_ = ax.axhline(1, color=GREY, linewidth=0.8, zorder=3)
        ax.set(xlim=(0, 1), ylim=(0, 1.1 * max(heights.max(), high * bins)))
        what = "the targets" if self.target_name is None else self.target_name
        ax.set(xlabel=f"level F(y | x) of {what} in what was predicted", ylabel="density")
        self.labels_ = label_right(ax, [1.0], ["95 % of heights\nif calibrated"], [GREY])
        self.ax_, self.figure_ = ax, ax.figure
        return self
