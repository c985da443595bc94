"""How an error falls with the number of features, or a time grows with the number of rows: lines in log–log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import check_scoring

from mercer.estimators.delegation import reach
from mercer.exceptions import DataError, parameter_error
from mercer.features import FeatureMap, kernel_error
from mercer.plotting.style import BLUE, GREY, label_right, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ScalingDisplay"]


class ScalingDisplay:
    """A positive quantity against a size, both on logarithmic axes, with the slope of the line that fits best.

    Errors of random features fall with slope −½ in their number, time of a fit that streams grows with slope 1 in the
    number of rows, and the error on new rows falls as a stream goes on.

    Parameters
    ----------
    sizes : array of shape (n_sizes,)
        Numbers of features, of rows or of what has been seen of a stream.
    values : array of shape (n_sizes,)
        Errors, seconds or bytes; positive.
    expected : array of shape (n_sizes,), optional
        What theory says, or what another method has; NaN where it says nothing.
    name : str, default="features"
        Of the sizes, for the axis.
    quantity : str, default="error"
        Of the values, for the axis.

    Attributes
    ----------
    slope_ : float
        Of log(values) in log(sizes), by least squares; NaN for a single size.
    ax_, figure_ : Axes, Figure
    line_ : Line2D
    expected_ : Line2D or None
    labels_ : list of Text
        The slope, beside the last value.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import ScalingDisplay
    >>> display = ScalingDisplay([1_000, 10_000, 100_000], [0.2, 2.0, 20.0], name="rows", quantity="seconds").plot()
    >>> display.labels_[0].get_text()
    'slope 1.00'
    """

    def __init__(self, sizes, values, *, expected=None, name="features", quantity="error"):
        self.sizes = sizes
        self.values = values
        self.expected = expected
        self.name = name
        self.quantity = quantity

    @classmethod
    def from_kernel(cls, kernel, X, *, maps, ax=None):
        """Measure how far features are from their kernel, and draw it against their number.

        Parameters
        ----------
        kernel : Kernel or MatrixValuedKernel
        X : array of shape (n_samples, n_features)
            Points, over pairs of which errors are measured.
        maps : list of FeatureMap
            Such as ``[RandomFourier(D, random_state=0) for D in (30, 100, 300)]``.
        ax : Axes, optional
            Of a new figure by default.
        """
        maps = list(maps)
        if not maps or not all(isinstance(one, FeatureMap) for one in maps):
            raise parameter_error(cls.__name__, "maps", maps, "a non-empty list of records of mercer.features")
        made = [one.bind(kernel, X) for one in maps]
        errors = [kernel_error(one, kernel, X) for one in made]
        sizes = [one.features(X[:1]).shape[-1] for one in made]
        expected = np.array([error.predicted for error in errors])
        values = [error.root_mean_square for error in errors]
        given = None if np.all(np.isnan(expected)) else expected
        return cls(sizes, values, expected=given, quantity="error of the kernel").plot(ax)

    @classmethod
    def from_estimators(cls, estimators, X, y, *, scoring=None, ax=None):
        """Score fits with different numbers of features, and draw their errors against these.

        Parameters
        ----------
        estimators : list of fitted estimators
            With ``approximation=`` of different sizes; Pipelines and searches around them will do.
        X, y : array-like
            As a rule rows that the fits have not seen.
        scoring : str or callable, optional
            A score of which greater is better and whose negative is drawn, such as "neg_mean_squared_error"; by default
            1 − ``score``, the share of what is not explained, or not classified.
        ax : Axes, optional
            Of a new figure by default.
        """
        fits = [reach(one, X, "approximation_")[0].approximation_ for one in estimators]
        exact = [place for place, fit in enumerate(fits) if fit is None]
        if not fits or exact:
            what = f"number {exact[0]} has the kernel itself" if fits else "there is none"
            raise DataError(
                f"{cls.__name__}: estimators must be fitted with features, but {what}. Pass for instance "
                "[VectorValuedRegressor(approximation=Nystroem(m)).fit(X, Y) for m in (50, 100, 200)]."
            )
        one_less = scoring is None
        scores = [float(check_scoring(one, scoring=scoring)(one, X, y)) for one in estimators]
        values = [1 - score if one_less else -score for score in scores]
        sizes = [fit.n_features for fit in fits]
        return cls(sizes, values, quantity="1 − score" if one_less else "error").plot(ax)

    def plot(self, ax: Axes | None = None) -> ScalingDisplay:
        """Draw on the axes, or on those of a new figure."""
        sizes, values, expected = self._check()
        ax = stage(ax)
        self.slope_ = slope(sizes, values)
        ax.set(xscale="log", yscale="log", xlabel=self.name, ylabel=self.quantity)
        self.expected_: Any = None
        if expected is not None:
            (self.expected_,) = ax.plot(sizes, expected, "--", color=GREY, linewidth=1, zorder=1, label="expected")
            ax.legend(frameon=False, fontsize="small")
        (self.line_,) = ax.plot(sizes, values, "o-", color=BLUE, markersize=4)
        text = f"slope {self.slope_:.2f}".replace("-", "−")
        self.labels_ = label_right(ax, [values[-1]], [text], [BLUE]) if len(np.unique(sizes)) > 1 else []
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _check(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return sizes, values and what is expected, in the order of the sizes."""
        owner = type(self).__name__
        sizes, values = check_numbers(owner, "sizes", self.sizes), check_numbers(owner, "values", self.values)
        expected = None if self.expected is None else check_numbers(owner, "expected", self.expected)
        shapes = [sizes.shape, values.shape] + ([] if expected is None else [expected.shape])
        if sizes.ndim != 1 or sizes.size == 0 or len(set(shapes)) > 1:
            names = "sizes, values and expected" if expected is not None else "sizes and values"
            raise DataError(
                f"{owner}: {names} must be one-dimensional, of one length and not empty; got shapes "
                f"{', '.join(map(str, shapes))}."
            )
        for name, given in (("sizes", sizes), ("values", values)):
            if not np.all((given > 0) & np.isfinite(given)):
                raise DataError(
                    f"{owner}: {name} must be positive and finite, as axes are logarithmic. Leave out those that are "
                    "not, such as an error of 0 where features are the kernel itself."
                )
        order = np.argsort(sizes, kind="stable")
        return sizes[order], values[order], None if expected is None else expected[order]


def slope(sizes: np.ndarray, values: np.ndarray) -> float:
    """Return the slope of log(values) in log(sizes), NaN where all sizes are the same.

    Examples
    --------
    >>> round(slope(np.array([1.0, 10.0, 100.0]), np.array([3.0, 0.3, 0.03])), 12)
    -1.0
    """
    x, y = np.log(sizes), np.log(values)
    x = x - np.mean(x)
    return float(x @ y / (x @ x)) if np.any(x) and len(np.unique(sizes)) > 1 else float("nan")
