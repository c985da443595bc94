"""What the threshold of a loss buys: errors, and zeros, against κ or ε."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv, cross_validate

from mercer._params import Params
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.losses import as_loss
from mercer.plotting.residuals import compare_curves
from mercer.plotting.style import BLUE, GREY, ORANGE, label_right, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RobustnessProfileDisplay", "SparsityProfileDisplay"]

#: how parameters are written on the axis
SYMBOLS = {"kappa": "κ", "epsilon": "ε", "alpha": "λ", "gamma": "γ"}


class RobustnessProfileDisplay:
    """The error against κ, the threshold of the Huber loss, with that of the square loss as a line.

    To the right, where κ exceeds all residuals, the Huber loss is the square loss. A valley below the line says that
    there are outliers, and how much is gained by bounding what they do.

    Parameters
    ----------
    values : array of shape (n_values,)
        Values of κ, or of another parameter of a loss.
    errors : array of shape (n_values,)
        Errors, for instance on test data.
    ridge_error : float, optional
        Error of the square loss.
    name : str, default="κ"
        Of the parameter, for the axis.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    line_, best_ : Line2D
        The errors, and the point of the smallest one.
    ridge_ : Line2D or None
    labels_ : list of Text
        The best value, with the change of the error from that of the square loss.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import RobustnessProfileDisplay
    >>> display = RobustnessProfileDisplay([0.1, 0.5, 2.0], [0.7, 0.6, 0.8], ridge_error=0.8).plot()
    >>> display.labels_[0].get_text()
    'best: κ = 0.5, −25 %'
    """

    def __init__(self, values, errors, *, ridge_error=None, name="κ"):
        self.values = values
        self.errors = errors
        self.ridge_error = ridge_error
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, X, Y, *, values, parameter="loss__kappa", cv=5, scoring=None, n_jobs=None, ax=None
    ):
        """Cross-validate the estimator with each value, and with the square loss, and draw.

        All else stays as it is: pass an estimator with numbers for λ and the scales of kernels, those that are right
        for the square loss, to see the effect of the loss alone.

        Parameters
        ----------
        estimator : estimator
            With a loss that has the parameter, such as ``FunctionalRegressor(loss="huber")``; it need not be fitted.
        X : array-like of shape (n_samples, n_features)
        Y : array-like of shape (n_samples, m) or (n_samples, m, p), or list of (points, values)
        values : array-like of shape (n_values,)
            Values of the parameter.
        parameter : str, default="loss__kappa"
            As ``set_params`` takes it; ``"functionalregressor__loss__kappa"`` in a Pipeline.
        cv : int or splitter, default=5
            As in :func:`sklearn.model_selection.cross_validate`.
        scoring : str or callable, optional
            A score in scikit-learn's manner, greater is better, whose negative is drawn; by default the mean over
            curves of the mean squared residual over the points where each was observed.
        n_jobs : int, optional
            Folds that are fitted at once.
        ax : Axes, optional
            Of a new figure by default.
        """
        profile = _cross_validate(cls.__name__, estimator, X, Y, parameter, values, cv, scoring, n_jobs)
        name = SYMBOLS.get(parameter.rpartition("__")[2], parameter)
        return cls(profile.values, profile.errors, ridge_error=profile.ridge_error, name=name).plot(ax)

    def plot(self, ax: Axes | None = None) -> RobustnessProfileDisplay:
        """Draw on the axes, or on those of a new figure."""
        values, errors = _check(type(self).__name__, self.values, self.errors)
        ax = stage(ax)
        (self.line_,) = ax.plot(values, errors, "o-", color=BLUE, markersize=4)
        best = int(np.argmin(errors))
        (self.best_,) = ax.plot(values[best], errors[best], "o", color=ORANGE, markersize=7)
        self.ridge_ = _ridge_line(ax, self.ridge_error)
        ax.set(xlabel=self.name, ylabel="error")
        _spread_axis(ax, values)
        heights, texts, colours = [errors[best]], [f"best: {self.name} = {values[best]:.3g}"], [ORANGE]
        if self.ridge_error:
            change = _change(errors[best] / self.ridge_error - 1)
            heights, texts, colours = [*heights, self.ridge_error], [f"{texts[0]}, {change}", "ridge"], [*colours, GREY]
        self.labels_ = label_right(ax, heights, texts, colours)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SparsityProfileDisplay:
    """The error and the share of curves without a coefficient against ε, the half-width of a tube that costs nothing.

    Curves whose residuals stay in the tube leave the model: it is smaller, until it is worse.

    Parameters
    ----------
    values : array of shape (n_values,)
        Values of ε.
    errors : array of shape (n_values,)
        Errors, for instance on test data.
    zero_shares : array of shape (n_values,)
        Shares of training curves whose coefficients are all zero, from 0 to 1.
    ridge_error : float, optional
        Error of the square loss.
    name : str, default="ε"
        Of the parameter, for the axis.

    Attributes
    ----------
    ax_, share_ax_, figure_ : Axes, Axes, Figure
        The axis of the shares is on the right.
    line_, shares_ : Line2D
    ridge_ : Line2D or None

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import SparsityProfileDisplay
    >>> display = SparsityProfileDisplay([0.0, 0.5, 1.0], [0.6, 0.61, 0.8], [0.0, 0.4, 0.9]).plot()
    >>> display.shares_.get_ydata().tolist()
    [0.0, 0.4, 0.9]
    """

    def __init__(self, values, errors, zero_shares, *, ridge_error=None, name="ε"):
        self.values = values
        self.errors = errors
        self.zero_shares = zero_shares
        self.ridge_error = ridge_error
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, X, Y, *, values, parameter="loss__epsilon", cv=5, scoring=None, n_jobs=None, ax=None
    ):
        """Cross-validate the estimator with each value, count zeros in the fits, and draw.

        Parameters are those of :meth:`RobustnessProfileDisplay.from_estimator`, for an estimator such as
        ``FunctionalRegressor(loss="epsilon_ridge")``, whose fits tell ``n_support_``.
        """
        profile = _cross_validate(cls.__name__, estimator, X, Y, parameter, values, cv, scoring, n_jobs)
        name = SYMBOLS.get(parameter.rpartition("__")[2], parameter)
        shares = [
            np.mean([1 - reach(model, X, "n_support_")[0].n_support_ / size for model, size in fits])
            for fits in profile.fits
        ]
        display = cls(profile.values, profile.errors, np.array(shares), ridge_error=profile.ridge_error, name=name)
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> SparsityProfileDisplay:
        """Draw on the axes, or on those of a new figure."""
        values, errors = _check(type(self).__name__, self.values, self.errors)
        _, shares = _check(type(self).__name__, self.values, self.zero_shares, "zero_shares")
        ax = stage(ax)
        (self.line_,) = ax.plot(values, errors, "o-", color=BLUE, markersize=4)
        self.ridge_ = _ridge_line(ax, self.ridge_error)
        if self.ridge_ is not None:
            across = ax.get_yaxis_transform()
            ax.text(0.99, self.ridge_error, "ridge", color=GREY, transform=across, ha="right", va="bottom")
        ax.set(xlabel=self.name)
        ax.set_ylabel("error", color=BLUE)
        self.share_ax_ = ax.twinx()
        self.share_ax_.spines[["top", "left", "bottom"]].set_visible(False)
        self.share_ax_.spines["right"].set_color(GREY)
        self.share_ax_.tick_params(color=GREY)
        (self.shares_,) = self.share_ax_.plot(values, shares, "s-", color=ORANGE, markersize=4)
        self.share_ax_.set(ylim=(-0.02, 1.02))
        self.share_ax_.set_ylabel("share of curves without a coefficient", color=ORANGE)
        _spread_axis(ax, values)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class _Profile(NamedTuple):
    values: np.ndarray
    errors: np.ndarray
    ridge_error: float
    fits: list[list[tuple[Any, int]]]
    """For each value the fitted estimators of the folds and the numbers of their training curves."""


def _cross_validate(owner, estimator, X, Y, parameter, values, cv, scoring, n_jobs) -> _Profile:
    """Return cross-validated errors for each value of a parameter of the loss, and for the square loss."""
    values = np.unique(check_numbers(owner, "values", values))
    if values.size == 0:
        raise parameter_error(owner, "values", values, "a non-empty array of numbers")
    place, _, name = parameter.rpartition("__")
    settings, loss = _loss_of(owner, estimator, place, name)
    splits = list(check_cv(cv).split(X, Y))  # once, so that random ones are the same for all values

    def negative_error(model, X, Y):
        return -float(np.mean(compare_curves(owner, model, X, Y).errors ** 2))

    def run(loss):
        return cross_validate(
            clone(estimator).set_params(**{**settings, place: loss}),
            *(X, Y),
            cv=splits,
            scoring=negative_error if scoring is None else scoring,
            n_jobs=n_jobs,
            error_score="raise",
            return_estimator=True,
        )

    ridge, *results = [run(each) for each in ("square", *(loss.replace(**{name: value.item()}) for value in values))]
    errors = np.array([-np.mean(result["test_score"]) for result in results])
    sizes = [len(train) for train, _ in splits]
    fits = [list(zip(result["estimator"], sizes, strict=True)) for result in results]
    return _Profile(values, errors, float(-np.mean(ridge["test_score"])), fits)


def _loss_of(owner: str, estimator: Any, place: str, name: str) -> tuple[dict[str, None], Params]:
    """Return the loss of an estimator as a record, and what to set beside it."""
    params = estimator.get_params()
    if place not in params:
        names = [key for key in params if key.split("__")[-1] == "loss"]
        hint = f"Here perhaps {names[0]}__{name}." if names else f"{type(estimator).__name__} has no loss."
        raise parameter_error(owner, "parameter", f"{place}__{name}", "a parameter of the loss of the estimator", hint)
    loss, settings = params[place], {}
    geometry = place.removesuffix("loss") + "geometry"
    if isinstance(loss, str):
        given = params.get(geometry)
        loss = as_loss(loss, **({} if given is None else {"geometry": given}))
        settings = {geometry: None} if geometry in params else {}
    if name not in loss.get_params():
        raise UnsupportedError(
            f"{owner}: {loss!r} has no parameter {name}. Give the estimator a loss that has, such as Huber() for kappa "
            "or EpsilonRidge() for epsilon."
        )
    return settings, loss


def _check(owner: str, values: Any, errors: Any, name: str = "errors") -> tuple[np.ndarray, np.ndarray]:
    """Return values and errors in the order of the values."""
    values, errors = check_numbers(owner, "values", values), check_numbers(owner, name, errors)
    if values.ndim != 1 or values.size == 0 or errors.shape != values.shape:
        raise DataError(
            f"{owner}: values and {name} must be one-dimensional, of one length and not empty; got shapes "
            f"{values.shape} and {errors.shape}."
        )
    order = np.argsort(values, kind="stable")
    return values[order], errors[order]


def _ridge_line(ax: Axes, error: float | None) -> Any:
    return None if error is None else ax.axhline(error, color=GREY, linewidth=0.8, linestyle="--", zorder=1)


def _change(share: float) -> str:
    """Return a change as a text, such as "−25 %"; less than half a thousandth is 0 %, without a sign."""
    tenths = round(100 * float(share), 1)
    return f"{tenths:+g} %".replace("-", "−") if tenths else "0 %"


def _spread_axis(ax: Axes, values: np.ndarray) -> None:
    """Make the axis logarithmic for values of more than a decade that are more even there."""
    if values[0] <= 0 or values[-1] <= 10 * values[0]:
        return
    plain, logarithmic = np.diff(values), np.diff(np.log(values))
    if np.std(logarithmic) / np.mean(logarithmic) < np.std(plain) / np.mean(plain):
        ax.set_xscale("log")
