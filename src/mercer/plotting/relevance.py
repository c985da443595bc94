"""Which columns matter to a model, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mercer._params import check_number
from mercer.estimators.delegation import reach_attribute
from mercer.exceptions import DataError
from mercer.plotting.style import BLUE, GREY, per_cent, stage
from mercer.plotting.validation import check_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RelevanceDisplay"]

#: columns that are shown by default; the others are added up
SHOWN_COLUMNS = 15
#: what has a relevance
HINT = "Models that are fitted in stages have it: KernelQuantileRegressor() with kernel and alpha left to it."


class RelevanceDisplay:
    """The relevance of each column as a bar, the most relevant one first.

    The relevance of a column is its share in the scales s_k of a kernel exp(−½ Σ_k s_k (x_k − z_k)²) on standardised
    columns, which the evidence of the data has chosen: where s_k is large, the model changes quickly along column k;
    where it is near 0, the column does not matter. It is no share of variance explained, and of two columns that say
    the same either may get it.

    Parameters
    ----------
    relevance : array of shape (n_columns,)
        Non-negative.
    names : sequence of str, optional
        Names of the columns; "column 0", "column 1", … by default.
    n_columns : int, default=15
        How many columns have a bar of their own at most; the others together have the last one.

    Attributes
    ----------
    ax_, figure_ : Axes, Figure
    bars_ : BarContainer
        From the top, that of the other columns last.
    labels_ : list of Text
        The relevances, at the ends of the bars.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from mercer.plotting import RelevanceDisplay
    >>> display = RelevanceDisplay([0.1, 0.7, 0.15, 0.05], ["age", "dose", "weight", "sex"], n_columns=2).plot()
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['dose', 'weight', '2 others']
    """

    def __init__(self, relevance, names=None, *, n_columns=SHOWN_COLUMNS):
        self.relevance = relevance
        self.names = names
        self.n_columns = n_columns

    @classmethod
    def from_estimator(cls, estimator, *, names=None, n_columns=SHOWN_COLUMNS, ax=None):
        """Draw ``relevance_`` of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``relevance_`` as a :class:`~mercer.estimators.KernelQuantileRegressor` in stages has it, also
            as the last step of a Pipeline: columns are then those that its other steps return.
        names : sequence of str, optional
            Names of the columns. By default those of the data frame that the estimator was fitted on
            (``feature_names_in_``), or those that the steps of the Pipeline give.
        n_columns : int, default=15
            How many columns have a bar of their own at most.
        ax : Axes, optional
            Of a new figure by default.
        """
        model, known = reach_attribute(estimator, "relevance_", HINT)
        return cls(model.relevance_, known if names is None else names, n_columns=n_columns).plot(ax)

    def plot(self, ax: Axes | None = None) -> RelevanceDisplay:
        """Draw on the axes, or on those of a new figure."""
        owner = type(self).__name__
        check_number(self, "n_columns", self.n_columns, low=1, strict=False, integer=True)
        relevance = check_numbers(owner, "relevance", self.relevance)
        if relevance.ndim != 1 or relevance.size == 0 or not np.all(relevance >= 0):
            raise DataError(f"{owner}: relevance must hold a number ≥ 0 for each column; got shape {relevance.shape}.")
        names = [f"column {k}" for k in range(len(relevance))] if self.names is None else list(map(str, self.names))
        if len(names) != len(relevance):
            raise DataError(f"{owner}: there are {len(relevance)} columns and {len(names)} names.")
        ax = stage(ax)
        order = np.argsort(-relevance, kind="stable")
        shown, rest = order[: self.n_columns], order[self.n_columns :]
        values, texts, colours = relevance[shown], [names[k] for k in shown], [BLUE] * len(shown)
        if len(rest):
            values, texts = np.append(values, relevance[rest].sum()), [*texts, f"{len(rest)} others"]
            colours = [*colours, GREY]
        heights = np.arange(len(values))
        self.bars_ = ax.barh(heights, values, height=0.7, color=colours)
        self.labels_ = ax.bar_label(self.bars_, [per_cent(round(v, 3)) for v in values], padding=3, fontsize="small")
        ax.set_yticks(heights, texts)
        ax.tick_params(axis="y", length=0)
        ax.set(ylim=(len(values) - 0.4, -0.6), xlim=(0, 1.12 * (values.max() or 1.0)))
        ax.set_xlabel("relevance: how quickly the model changes\nalong a column, as a share of all columns")
        self.ax_, self.figure_ = ax, ax.figure
        return self
