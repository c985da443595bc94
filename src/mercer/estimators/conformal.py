"""Conformal calibration of predicted quantiles: coverage that holds for any model and any sample size."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import (
    _num_samples,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.calibration_rows import SCORE_ENTRIES, CalibrationRows, check_rows, take_rows_of
from mercer.estimators.delegation import offers, reach
from mercer.estimators.quantile import KernelQuantileRegressor
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import own_errors, read_weight
from mercer.exceptions import DataError, ExtrapolationWarning, parameter_error
from mercer.interpolation import interpolation
from mercer.model_selection.quantile_scores import d2_integrated_pinball
from mercer.preprocessing.curve_table import as_table
from mercer.quantile_function import QuantileFunction, check_levels

__all__ = ["ConformalQuantileRegressor"]

#: levels at which the quantile functions of the base estimator are read off, piecewise linear in between
LEVELS = np.concatenate([[0.001, 0.0025], np.arange(1, 200) / 200, [0.9975, 0.999]])
#: levels of the score
SCORED = np.arange(1, 20) / 20


class ConformalQuantileRegressor(CalibrationRows, RegressorMixin, MetaEstimatorMixin, SummarisedEstimator):
    """Quantiles and intervals of any quantile regressor, calibrated to cover at any sample size.

    Nothing is minimised beyond what the base estimator minimises: its quantile functions Q are compared with n targets
    that it has not seen, and moved by an order statistic of the misfits. With rows that are exchangeable
    (independent draws, say) a new target then satisfies, whatever the base estimator and the distribution,

        interval of coverage c          P(Y ∈ [l(X), u(X)]) ≥ c        (≤ c + 1/(n + 1) if scores have no ties)
        quantile at a level θ ≥ 1/2     P(Y > q(X)) ≤ 1 − θ
        quantile at a level θ < 1/2     P(Y < q(X)) ≤ θ

    with ``method="split"``. The probability is over the calibration rows and the new row together: coverage is
    marginal, not conditional on x, for which the base estimator is responsible. Prefer it to the base estimator
    wherever a coverage is promised to somebody.

    Parameters
    ----------
    estimator : estimator, default=None
        Any regressor with ``predict_quantile(X, levels)`` of shape (n_samples, n_levels), also at the end of a
        Pipeline or in a GridSearchCV; ``KernelQuantileRegressor()`` by default. With
        ``FrozenEstimator(fitted)`` all rows given to ``fit`` calibrate, and none of them trains.
    method : {"split", "cross"}, default="split"
        "split" trains on one part of the rows and calibrates on the rest. "cross" (CV+) trains K models, and calibrates
        each on the fold that it has not seen: all rows train and all calibrate, at K times the cost and with a
        weaker guarantee (see Notes).
    calibration_size : float or int, default=0.25
        Share or number of rows that calibrate ("split").
    cv : int, splitter or iterable of (train, test) rows, default=5
        Folds of "cross". An integer means ``KFold`` with shuffled rows. Test folds must partition the rows, and no
        row may train the model that it calibrates.
    random_state : int, RandomState, Generator or None, default=None
        Of the split, and of the folds where ``cv`` is an integer.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted base estimators: one for "split", K for "cross".
    conformity_scores_ : list of arrays
        One array for each base estimator: where the targets that it has not seen lie in its quantile functions, as
        levels, continued with a constant slope below 0.001 and above 0.999.
    calibration_quantiles_ : list of arrays of shape (n_rows, n_levels)
        For each base estimator, its sorted quantiles at the rows that it has not seen.
    calibration_targets_ : list of arrays of shape (n_rows,)
        Their targets.
    columns_ : list of arrays of int or None
        For each base estimator on a Gram matrix, the columns of the rows that it was fitted on; None on other inputs.
    slope_ : float
        Slope in the unit of y with which quantile functions are continued.
    n_calibration_ : int
        Number n of rows that calibrate.
    levels_ : array of shape (n_levels,)
        Levels at which quantile functions of the base estimator are read off.

    Notes
    -----
    *Intervals* are those of conformalised quantile regression (Romano, Patterson and Candès, 2019). With l and u the
    base quantiles at (1 ± c)/2, E_i = max(l(x_i) − y_i, y_i − u(x_i)) and E the ⌈(n + 1)c⌉-th smallest of them, the
    interval is [l(x) − E, u(x) + E]. The new score is among the ⌈(n + 1)c⌉ smallest of n + 1 exchangeable ones with
    probability ⌈(n + 1)c⌉/(n + 1) at least. Where E < 0 turns the ends around, both become their midpoint: the empty
    set has the coverage that is needed there, and so has any set that contains it.

    *Quantiles* are calibrated by one score for all levels, as in distributional conformal prediction (Chernozhukov,
    Wüthrich and Zhu, 2021): u_i with G(x_i, u_i) = y_i, where G(x, ·) is Q(x) on ``levels_``, sorted, and continued
    by a line beyond them. The calibrated quantile is q(x) = G(x, u_(k)), where k = ⌈(n + 1)θ⌉ for θ ≥ 1/2 and
    k = ⌊(n + 1)θ⌋ below. As G increases, y > G(x, u_(k)) implies u > u_(k), of probability 1 − k/(n + 1) at most, and
    y < G(x, u_(k)) implies u < u_(k), of probability k/(n + 1) at most. Quantiles increase with θ, as k and G
    do, and no sorting is needed after calibration. Without the lines, targets beyond the outer quantiles
    would ask for infinite ones; with them, such a target moves the outer quantile by its distance from it, whatever
    the slope, and a base estimator that is far off is calibrated, too.

    *"cross"* is CV+ (Barber, Candès, Ramdas and Tibshirani, 2021) with these scores: the ends of intervals are order
    statistics over i of u₋ᵢ(x) + E_i and of l₋ᵢ(x) − E_i, and quantiles are those of G₋ᵢ(x, u_i), all by the model that
    has not seen row i. What is proven, for folds of equal size, is an error of 2(1 − c) + s in place of 1 − c, where
    s = min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}, and so for each tail; what is seen is close to nominal unless the
    fits are unstable. The proof compares each pair of rows by the models that have seen neither, and holds for any
    score: outside of the interval the new row misfits more than ⌈(n + 1)c⌉ of the others at least.

    A finite answer for coverage c needs n ≥ c/(1 − c) rows; with less it is refused. Predictions cost those of the base
    estimators at ``levels_``, and for "cross" a sort of n numbers for each predicted row.

    Weights go to the base estimator only: each row of positive weight calibrates once, as coverage is that of rows
    drawn as these were. Rows of one group (a patient, a day) are not exchangeable with rows of a new group: then hold
    out groups, take a row of each, and calibrate a FrozenEstimator on them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalQuantileRegressor, KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(400, 1))
    >>> y = X[:, 0] + X[:, 0] * rng.normal(size=400)
    >>> model = ConformalQuantileRegressor(KernelQuantileRegressor(alpha=0.01), random_state=0).fit(X, y)
    >>> model.n_calibration_
    100
    >>> model.predict_interval([[0.2], [0.8]], coverage=0.9).shape
    (2, 2)
    """

    def __init__(self, estimator=None, *, method="split", calibration_size=0.25, cv=5, random_state=None):
        self.estimator = estimator
        self.method = method
        self.calibration_size = calibration_size
        self.cv = cv
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = deepcopy(get_tags(self._base()).input_tags)
        return tags

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit the base estimator on some rows and calibrate it on others.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Whatever the base estimator takes.
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the base estimator. Rows of weight 0 are left out, also of the calibration; otherwise each row
            calibrates once.

        Returns
        -------
        self : ConformalQuantileRegressor
        """
        self._check_settings()
        X = as_table(X)
        check_rows(X)
        with own_errors("X and y"):
            validate_data(self, X, y, skip_check_array=True)
        X, y = _prepare(X, y)
        weight = None if sample_weight is None else read_weight(sample_weight, y)  # scales are for the base
        if isinstance(self.estimator, FrozenEstimator):
            rows = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
            return self._store([self.estimator], [None], [take_rows_of(X, rows)], [y[rows]])
        models, columns, inputs, targets = [], [], [], []
        for train, test in self._splits(X, y, weight):
            models.append(self._fit_base(X, y[train], weight, train))
            inputs.append(_safe_split(models[-1], X, None, test, train)[0])
            targets.append(y[test])
            columns.append(train if get_tags(models[-1]).input_tags.pairwise else None)
        return self._store(models, columns, inputs, targets)

    def calibrate(self, X, y):
        """Calibrate the fitted base estimator anew, on rows that it has not been trained on.

        They take the place of the rows that have calibrated so far. For ``method="split"`` only; a FrozenEstimator need
        not be fitted here before.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self : ConformalQuantileRegressor
        """
        if isinstance(self.estimator, FrozenEstimator):
            return self.fit(X, y)
        self._check_settings()
        check_is_fitted(self)
        self._check_one_model()
        X, y = _prepare(X, y)
        return self._store(self.estimators_, self.columns_, [self._inputs(X, self.columns_[0])], [y])

    def _base(self):
        return KernelQuantileRegressor() if self.estimator is None else self.estimator

    def _check_settings(self) -> None:
        self._check_method()
        if not offers(self._base(), "predict_quantile"):
            raise parameter_error(
                self,
                "estimator",
                self.estimator,
                "an estimator with a method predict_quantile(X, levels)",
                "KernelQuantileRegressor() has it, also as the last step of a Pipeline.",
            )

    def _store(self, models, columns, inputs, targets):
        """Keep the models, their quantile functions at rows that they have not seen, and the scores of these rows."""
        curves = [self._curves(model, X) for model, X in zip(models, inputs, strict=True)]
        y = np.concatenate(targets)
        # any slope gives the same predictions; one in the unit of y keeps all digits
        slope = float(np.mean(np.abs(y - np.median(y)))) or 1.0
        self.conformity_scores_ = [_locate(Q, y, slope) for Q, y in zip(curves, targets, strict=True)]
        self.estimators_, self.columns_, self.slope_ = models, columns, slope
        self.calibration_quantiles_, self.calibration_targets_ = curves, targets
        self.n_calibration_ = len(y)
        self.levels_ = LEVELS.copy()
        return self

    def _curves(self, model, X) -> np.ndarray:
        """Return the base quantiles at LEVELS, sorted, shape (n_samples, n_levels)."""
        last, inner = reach(model, X, "predict_quantile")
        with warnings.catch_warnings():  # calibration says what outer levels are worth
            warnings.filterwarnings("ignore", ".*: levels such as", ExtrapolationWarning)
            values = np.asarray(to_numpy(last.predict_quantile(inner, LEVELS)), dtype=float)
        if values.shape != (_num_samples(X), len(LEVELS)) or not np.all(np.isfinite(values)):
            raise DataError(
                f"{type(last).__name__}.predict_quantile must return finite numbers of shape "
                f"({_num_samples(X)}, {len(LEVELS)}), a row for each sample and a column for each level; got shape "
                f"{values.shape}{'' if np.all(np.isfinite(values)) else ' with NaN or infinity'}."
            )
        return np.sort(values, axis=1)

    def _predicted_curves(self, X) -> list[np.ndarray]:
        check_is_fitted(self)
        return [self._curves(m, self._inputs(X, c)) for m, c in zip(self.estimators_, self.columns_, strict=True)]

    # -- prediction --------------------------------------------------------------------------------------------

    def predict_interval(self, X, coverage=0.9):
        """Return intervals that cover with probability ``coverage`` at least, shape (n_samples, 2).

        Both ends are calibrated together, which as a rule gives narrower intervals than two calibrated quantiles.
        """
        check_is_fitted(self)
        check_number(self, "coverage", coverage, low=0, high=1, hint="It is a probability: 0.9, not 90.")
        rank = self._rank("coverage", coverage, coverage)
        ends = interpolation(LEVELS, [(1 - coverage) / 2, (1 + coverage) / 2])
        scores = []
        for Q, y in zip(self.calibration_quantiles_, self.calibration_targets_, strict=True):
            low, high = (Q @ ends).T
            scores.append(np.maximum(low - y, y - high))
        predicted = [Q @ ends for Q in self._predicted_curves(X)]
        low = -_ranked([-each[:, :1] for each in predicted], scores, [rank], np.add)[:, 0]
        high = _ranked([each[:, 1:] for each in predicted], scores, [rank], np.add)[:, 0]
        middle = (low + high) / 2
        return np.column_stack([np.minimum(low, middle), np.maximum(high, middle)])

    def predict_quantile(self, X, levels):
        """Return calibrated quantiles, shape (n_samples, n_levels).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        levels : float or array-like of shape (n_levels,)
            From 1/(n + 1) to n/(n + 1), n the number of rows that calibrate.
        """
        check_is_fitted(self)
        levels = check_levels(self, levels)
        # outwards from the median: each tail holds its nominal probability at most
        upper = [self._rank("levels", max(level, 1 - level), level) for level in levels]
        ranks = [k if level >= 0.5 else self.n_calibration_ + 1 - k for k, level in zip(upper, levels, strict=True)]
        return self._quantiles(X, ranks)

    def predict_at(self, X, levels):
        """Return :meth:`predict_quantile`, under the name that all estimators have for values at several θ."""
        return self.predict_quantile(X, levels)

    def predict(self, X):
        """Return the calibrated median, shape (n_samples,)."""
        return self.predict_quantile(X, [0.5])[:, 0]

    def predict_function(self, X):
        """Return the calibrated quantile functions at X, as a :class:`~mercer.QuantileFunction`.

        Its levels are those of ``levels_`` for which there are calibration rows enough; quantiles at them are those of
        :meth:`predict_quantile`. As always, it is constant beyond them.
        """
        check_is_fitted(self)
        margin = 1 / (self.n_calibration_ + 1)
        levels = LEVELS[(margin <= LEVELS) & (1 - margin >= LEVELS)]
        return QuantileFunction(levels, self.predict_quantile(X, levels))

    def score(self, X, y, sample_weight=None):
        """Return D², the share of the pinball loss that the calibrated quantiles explain.

        1 − loss(model)/loss(quantiles of y), both averaged over the levels 0.05, 0.1, ..., 0.95. With few calibration
        rows the outer ones are predicted by the outermost that can be.
        """
        return d2_integrated_pinball(y, self.predict_function(X)(SCORED), SCORED, sample_weight=sample_weight)

    def _quantiles(self, X, ranks):
        def move(Q, scores):
            excess = np.maximum(scores - LEVELS[-1], 0) - np.maximum(LEVELS[0] - scores, 0)
            return Q @ interpolation(LEVELS, scores) + self.slope_ * excess

        return _ranked(self._predicted_curves(X), self.conformity_scores_, ranks, move)


def _locate(Q: np.ndarray, y: np.ndarray, slope: float) -> np.ndarray:
    """Return u with G(u) = y, row by row: the level of y in Q, continued by lines beyond the outer levels."""
    level = QuantileFunction(LEVELS, Q).cdf(y)
    level = np.where(y > Q[:, -1], LEVELS[-1] + (y - Q[:, -1]) / slope, np.minimum(level, LEVELS[-1]))
    return np.where(y < Q[:, 0], LEVELS[0] + (y - Q[:, 0]) / slope, level)


def _ranked(curves: list, scores: list, ranks: list[int], move: Callable[[Any, Any], Any]) -> np.ndarray:
    """Return order statistics over i of move(curve of the model that has not seen i, score_i), one row for each curve.

    ``move`` increases in the score, so that for one model the order statistic may be taken before.
    """
    index = np.asarray(ranks) - 1
    if len(curves) == 1:
        return move(curves[0], np.sort(scores[0])[index])
    n = sum(map(len, scores))
    step = max(1, SCORE_ENTRIES // n)
    blocks = []
    for start in range(0, len(curves[0]), step):
        moved = [move(each[start : start + step], score) for each, score in zip(curves, scores, strict=True)]
        blocks.append(np.sort(np.concatenate(moved, axis=1), axis=1)[:, index])
    return np.concatenate(blocks)


def _prepare(X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X with rows that can be taken, for the base estimator to judge, and y as floats of shape (n,)."""
    X = as_table(X)
    check_rows(X)
    with own_errors("y"):
        y = column_or_1d(check_array(to_numpy(y), ensure_2d=False, dtype=np.float64, input_name="y"), warn=True)
        X, y = indexable(X, y)
    return X, y
