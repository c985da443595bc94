"""What a cost-sensitive classifier does as the cost changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer.estimators.delegation import reach
from mercer.exceptions import DataError
from mercer.plotting.style import BLUE, ORANGE, label_right, stage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CostCurveDisplay"]


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

    def __init__(self, costs, sensitivity, specificity):
        self.costs = costs
        self.sensitivity = sensitivity
        self.specificity = specificity

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
        curve = last.operating_curve(inner, y, costs=np.arange(1, 100) / 100 if costs is None else costs)
        return cls(curve.costs, curve.sensitivity, curve.specificity).plot(ax)

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
        ax.set(xlim=(0, 1), ylim=(0, 1), xlabel="cost θ of a missed positive", ylabel="share classified rightly")
        self.labels_ = label_right(
            ax, [share[order[-1]] for share in shares], ["positives", "negatives"], [BLUE, ORANGE]
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self
