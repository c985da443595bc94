"""What a cost-sensitive classifier does, and what its errors cost, as the cost changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.cost_sensitive import COST_HINT
from mercer.estimators.delegation import reach
from mercer.exceptions import DataError
from mercer.model_selection.cost_scores import decisions, expected_cost
from mercer.plotting.style import BLUE, GREY, ORANGE, label_right, stage
from mercer.quantile_function import check_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CostCurveDisplay", "ExpectedCostDisplay"]

#: names of the classes where none are known
UNNAMED = ("negatives", "positives")
#: costs that are drawn by default
DRAWN = np.arange(1, 100) / 100


def class_names(estimator: Any, X: Any) -> tuple[str, str]:
    """Return what the negative and the positive class of a classifier, perhaps a wrapped one, are called."""
    model, _ = reach(estimator, X, "operating_curve")
    labels = to_numpy(model.classes_).tolist()
    labels.sort(key=lambda label: label == model.pos_label_)
    negative, positive = (label if isinstance(label, str) else f"class {label}" for label in labels)
    return negative, positive


def cost_axis(ax: Axes, class_names: tuple[str, str]) -> None:
    """Label the axis of costs by the class whose errors they weigh."""
    name = "positive" if tuple(class_names) == UNNAMED else class_names[1]
    ax.set(xlim=(0, 1), xlabel=f"cost θ of a missed {name}")


class CostCurveDisplay:
    """Sensitivity and specificity against the cost θ of the positive class.

    Parameters
    ----------
    costs : array of shape (n_costs,)
        Costs θ in (0, 1).
    sensitivity : array of shape (n_costs,)
        Share of the positives that are called positive.
    specificity : array of shape (n_costs,)
        Share of the negatives that are called negative.
    class_names : (str, str), optional
        What the negative and the positive class are called.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    sensitivity_, specificity_ : Line2D
    labels_ : list of Text

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import CostCurveDisplay
    >>> display = CostCurveDisplay([0.1, 0.5, 0.9], [0.2, 0.7, 1.0], [1.0, 0.8, 0.3]).plot()
    >>> display.sensitivity_.get_ydata().tolist()
    [0.2, 0.7, 1.0]
    """

    def __init__(self, costs, sensitivity, specificity, *, class_names=UNNAMED):
        self.costs = costs
        self.sensitivity = sensitivity
        self.specificity = specificity
        self.class_names = class_names

    @classmethod
    def from_estimator(cls, estimator, X, y, *, costs=None, ax=None):
        """Classify at every cost, compare with labels, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``operating_curve(X, y, costs)`` as
            :class:`~mercer.estimators.CostSensitiveClassifier` has it, also at the end of a Pipeline.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        costs : array-like of shape (n_costs,), optional
            99 costs from 0.01 to 0.99 by default.
        ax : Axes, optional
            Of a new figure by default.
        """
        last, inner = reach(estimator, X, "operating_curve")
        curve = last.operating_curve(inner, y, costs=DRAWN if costs is None else costs)
        names = class_names(last, inner)
        return cls(curve.costs, curve.sensitivity, curve.specificity, class_names=names).plot(ax)

    def plot(self, ax: Axes | None = None) -> CostCurveDisplay:
        """Draw on the axes, or on those of a new figure."""
        costs, *shares = (np.asarray(each, dtype=float) for each in (self.costs, self.sensitivity, self.specificity))
        if costs.ndim != 1 or costs.size == 0 or any(share.shape != costs.shape for share in shares):
            raise DataError(
                "CostCurveDisplay: costs, sensitivity and specificity must be one-dimensional and of the same length."
            )
        ax = stage(ax)
        order = np.argsort(costs, kind="stable")
        (self.sensitivity_,) = ax.plot(costs[order], shares[0][order], color=BLUE, linewidth=2, clip_on=False)
        (self.specificity_,) = ax.plot(costs[order], shares[1][order], color=ORANGE, linewidth=2, clip_on=False)
        cost_axis(ax, self.class_names)
        ax.set(ylim=(0, 1), ylabel="share classified rightly")
        negative, positive = self.class_names
        self.labels_ = label_right(ax, [share[order[-1]] for share in shares], [positive, negative], [BLUE, ORANGE])
        self.ax_, self.figure_ = ax, ax.figure
        return self


class ExpectedCostDisplay:
    """What errors cost on average, against the cost θ of the positive class.

    A missed positive costs θ, a false alarm 1 − θ. Beside it is what it costs to say the same of all rows, whichever
    class is the cheaper one: θπ and (1 − θ)(1 − π), where π is the share of the positives. A classifier that is above
    that line at some cost is of no use there.

    Parameters
    ----------
    costs : array of shape (n_costs,)
        Costs θ in (0, 1).
    expected_cost : array of shape (n_costs,)
        Mean cost of the errors.
    prevalence : float
        Share π of the positives.
    class_names : (str, str), optional
        What the negative and the positive class are called.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    expected_cost_, constant_ : Line2D
    legend_ : Legend

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import ExpectedCostDisplay
    >>> display = ExpectedCostDisplay([0.25, 0.5, 0.75], [0.05, 0.1, 0.08], prevalence=0.5).plot()
    >>> display.constant_.get_ydata().tolist()
    [0.0, 0.25, 0.0]
    """

    def __init__(self, costs, expected_cost, prevalence, *, class_names=UNNAMED):
        self.costs = costs
        self.expected_cost = expected_cost
        self.prevalence = prevalence
        self.class_names = class_names

    @classmethod
    def from_estimator(cls, estimator, X, y, *, costs=None, sample_weight=None, ax=None):
        """Classify at every cost, add up what the errors cost, and draw.

        Parameters
        ----------
        estimator : estimator
            Fitted :class:`~mercer.estimators.CostSensitiveClassifier`, also at the end of a Pipeline.
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Labels.
        costs : array-like of shape (n_costs,), optional
            99 costs from 0.01 to 0.99 by default.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights.
        ax : Axes, optional
            Of a new figure by default.
        """
        costs = check_levels(cls.__name__, DRAWN if costs is None else costs, "costs", COST_HINT)
        positive, called = decisions(estimator, X, y, costs)
        paid = expected_cost(positive, called, costs, sample_weight)
        prevalence = float(np.average(positive, weights=sample_weight))
        return cls(costs, paid, prevalence, class_names=class_names(estimator, X)).plot(ax)

    def plot(self, ax: Axes | None = None) -> ExpectedCostDisplay:
        """Draw on the axes, or on those of a new figure."""
        costs, paid = (np.asarray(each, dtype=float) for each in (self.costs, self.expected_cost))
        if costs.ndim != 1 or costs.size == 0 or paid.shape != costs.shape:
            raise DataError(
                "ExpectedCostDisplay: costs and expected_cost must be one-dimensional and of the same length."
            )
        check_number(self, "prevalence", self.prevalence, low=0, high=1, strict=False)
        ax, share = stage(ax), float(self.prevalence)
        negative, positive = self.class_names
        (self.constant_,) = ax.plot(
            [0.0, 1 - share, 1.0],
            [0.0, share * (1 - share), 0.0],
            color=GREY,
            linewidth=1,
            label=f"all called {negative}, or all {positive}",
        )
        order = np.argsort(costs, kind="stable")
        (self.expected_cost_,) = ax.plot(costs[order], paid[order], color=BLUE, linewidth=2, label="classifier")
        cost_axis(ax, self.class_names)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("mean cost of errors")
        self.legend_ = ax.legend(frameon=False, fontsize="small")
        self.ax_, self.figure_ = ax, ax.figure
        return self
