"""Whether a detector leaves out the fractions that it was asked to leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError, parameter_error
from mercer.plotting.style import BLUE, ORANGE, label_right, stage, unit_square
from mercer.plotting.validation import check_outlier_levels, count_rows, trained_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ThetaPropertyDisplay"]


class ThetaPropertyDisplay:
    """The observed fraction of outliers against the level θ that was asked for: a diagonal if the detector keeps it.

    The grey band holds 95 % of the fractions at each level for sets that leave out a probability θ, and as many new,
    independent rows as there are in the test set.

    Parameters
    ----------
    levels : array of shape (n_levels,)
        Levels θ.
    train : array of shape (n_levels,)
        Fractions of outliers among the training rows.
    test : array of shape (n_levels,), optional
        Fractions among new rows.
    n_test : int, optional
        Number of new rows, for the band.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    train_, diagonal_ : Line2D
    test_ : Line2D or None
    band_ : PolyCollection or None
    legend_ : Legend
        What diagonal and band are.
    labels_ : list of Text

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import ThetaPropertyDisplay
    >>> display = ThetaPropertyDisplay([0.1, 0.5], [0.1, 0.5], [0.12, 0.47]).plot()
    >>> display.test_.get_ydata().tolist()
    [0.12, 0.47]
    """

    def __init__(self, levels, train, test=None, *, n_test=None):
        self.levels = levels
        self.train = train
        self.test = test
        self.n_test = n_test

    @classmethod
    def from_estimator(cls, estimator, X, *, X_test=None, levels=None, ax=None):
        """Count outliers at each level, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``predict_at(X, levels)`` as :class:`~mercer.estimators.LevelSetDetector` has it, also
            at the end of a Pipeline.
        X : array-like of shape (n_samples, n_features)
            The training rows.
        X_test : array-like of shape (n_test, n_features), optional
            New rows.
        levels : array-like, optional
            Fractions of outliers in (0, 1]; those that were trained on (``measure_``) by default.
        ax : Axes, optional
            Of a new figure by default.
        """
        if levels is None:
            last, _ = reach(estimator, X, "predict_at")
            levels = trained_levels(last)
            if levels is None:
                allowed = f"given, as {type(last).__name__} does not tell which it was trained on"
                raise parameter_error(cls.__name__, "levels", None, allowed)
        levels = check_outlier_levels(cls.__name__, levels)
        train, test = (None if rows is None else _outliers(estimator, rows, levels) for rows in (X, X_test))
        return cls(levels, train, test, n_test=None if X_test is None else count_rows(X_test)).plot(ax)

    def plot(self, ax: Axes | None = None) -> ThetaPropertyDisplay:
        """Draw on the axes, or on those of a new figure."""
        if any(values is not None and np.shape(values) != np.shape(self.levels) for values in (self.train, self.test)):
            raise DataError(f"{type(self).__name__}: fractions must have shape {np.shape(self.levels)}, as the levels.")
        ax = stage(ax)
        self.diagonal_, self.band_, self.legend_ = unit_square(ax, "as asked", self.n_test, "new fractions")
        self.test_ = None
        heights, texts, colours = [self.train[-1]], ["training"], [BLUE]
        (self.train_,) = ax.plot(self.levels, self.train, "o-", color=BLUE, markersize=4)
        if self.test is not None:
            (self.test_,) = ax.plot(self.levels, self.test, "s-", color=ORANGE, markersize=4)
            heights, texts, colours = [*heights, self.test[-1]], [*texts, "new"], [*colours, ORANGE]
        ax.set(xlabel="level θ", ylabel="fraction of outliers")
        self.labels_ = label_right(ax, heights, texts, colours)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _outliers(estimator, X, levels) -> np.ndarray:
    """Return the fraction of outliers among rows at each level."""
    last, inner = reach(estimator, X, "predict_at")
    return np.mean(to_numpy(last.predict_at(inner, levels)) < 0, axis=0)
