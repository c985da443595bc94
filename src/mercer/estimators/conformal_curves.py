"""Conformal bands around predicted curves: coverage that holds for any model and any sample size."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, MultiOutputMixin, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.calibration_rows import CalibrationRows, check_rows, take_rows_of
from mercer.estimators.conformal_band import conformal_band, conformity_scores
from mercer.estimators.conversion import open_curves
from mercer.estimators.delegation import offers, reach, reach_attribute
from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.given_curves import GivenCurves
from mercer.estimators.modulation import Modulation, along, modulation
from mercer.estimators.outputs import Outputs
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.validation import as_points, check_range, own_errors, read_weight
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.preprocessing.curve_table import as_table

__all__ = ["ConformalFunctionalRegressor"]

#: rows that give a frozen estimator its modulation: one of so many, and no more than the other
FROZEN_SHARE, FROZEN_ROWS = 4, 100
#: rows below which halves are no sample to fit
ROWS_OF_HALVES = 4


class ConformalFunctionalRegressor(
    CalibrationRows, MultiOutputMixin, RegressorMixin, MetaEstimatorMixin, SummarisedEstimator
):
    """Bands around the curves of any regressor, calibrated to cover at any sample size.

    Nothing is minimised beyond what the base estimator minimises: its curves f are compared with n curves that it has
    not seen, and the band is as wide as an order statistic of the misfits asks for. With rows that are exchangeable
    (independent draws, say) a new curve then satisfies, whatever the base estimator and the distribution,

        simultaneous band of coverage c    P(l(θ) ≤ Y(θ) ≤ u(θ) at all nodes θ) ≥ c    (≤ c + 1/(n + 1) without ties)
        pointwise band of coverage c       P(l(θ) ≤ Y(θ) ≤ u(θ)) ≥ c                   at each node θ

    with ``method="split"``. The probability is over the calibration rows and the new row together: coverage is
    marginal, not conditional on x. The band is one for a new curve, noise included, and not for its mean.

    Parameters
    ----------
    estimator : estimator, default=None
        Any regressor whose ``predict`` returns curves, shape (n_samples, m) or (n_samples, m, p), also at the end of a
        Pipeline or in a GridSearchCV; ``FunctionalRegressor()`` by default. With ``FrozenEstimator(fitted)`` none
        of the rows given to ``fit`` trains: all calibrate but a quarter, 100 at most, that gives s (see Notes).
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
        Of the split, of the folds where ``cv`` is an integer, and of the halves that give s.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted base estimators: one for "split", K for "cross".
    modulations_ : list of Modulation
        For each base estimator s: ``scale`` at the nodes, ``evaluate(points)`` between them.
    conformity_scores_ : list of arrays of shape (n_rows,)
        For each base estimator, the scores of the curves that it has not seen.
    calibration_residuals_ : list of arrays of shape (n_rows, m·p), or None
        Their |y − f(x)| at the nodes, NaN where nothing was observed; None for curves at points of their own.
    columns_ : list of arrays of int or None
        For each base estimator on a Gram matrix, the columns of the rows that it was fitted on; None on other inputs.
    grid_ : array of shape (m,) or (m, d), or None
        Where :meth:`predict` evaluates; None where the columns of Y have no place.
    layout_ : GridCurves or ScatteredCurves
        How curves were given, without rows of them.
    output_form_ : object or None
        How curves of another library came, such as scikit-fda's, so that predictions go out alike; None for arrays.
    n_calibration_ : int
        Number n of rows that calibrate.

    See Also
    --------
    ConformalQuantileRegressor : Intervals and quantiles of a number.

    Notes
    -----
    *Simultaneous* bands are those of Diquigiovanni, Fontana and Vantini (2022). With a modulation s(θ) > 0, the score
    of a curve is E_i = max_θ |y_i(θ) − f(x_i, θ)|/s(θ), over its nodes and components, and the band is f(x, θ) ± E·s(θ)
    with E the ⌈(n + 1)c⌉-th smallest score. The new curve is inside if and only if its score is at most E, that is,
    among the ⌈(n + 1)c⌉ smallest of n + 1 exchangeable ones. For this s must not know the calibration rows: it is the
    mean size of residuals at θ, and these are of the training rows, each predicted by a model fitted on the other half
    of them (of the model itself where halves cannot be fitted). Any s is valid; this one makes bands wide only where
    curves vary. Bonferroni's band, pointwise at 1 − (1 − c)/m, is wider as a rule, and needs m times the rows.

    *Pointwise* bands are f(x, θ) ± the ⌈(n + 1)c⌉-th smallest |y_i(θ) − f(x_i, θ)| at each node and in each component.
    A whole curve is inside less often.

    *"cross"* is CV+ (Barber, Candès, Ramdas and Tibshirani, 2021) with these scores. Let C hold the curves y that lie
    outside of the tube f₋ᵢ(x) ± E_i·s₋ᵢ for fewer than (n + 1)c rows i, all by the model, and its s, that have not seen
    row i. What is proven for C, for folds of equal size, is an error of 2(1 − c) + e in place of 1 − c, where
    e = min{2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)}; the proof compares scores by models that have seen neither row,
    and holds for any score. The band has for its ends at each θ the ⌈(n + 1)c⌉-th smallest of f₋ᵢ(x, θ) + E_i·s₋ᵢ(θ)
    and the ⌈(n + 1)c⌉-th largest of f₋ᵢ(x, θ) − E_i·s₋ᵢ(θ). It contains C: a y in C is in n + 1 − ⌈(n + 1)c⌉ tubes at
    least, so that no fewer of the upper ends are above y(θ), at each θ. Hence it covers as a whole, too; what is
    seen is close to c or above unless the fits are unstable. Pointwise it is CV+ at each node. Where ends turn around,
    which they do for c < 1/2 only, both become their midpoint: C is empty then.

    *Between nodes* s is made of straight lines, and so is the width of pointwise bands. Coverage is at the nodes: a
    curve may leave the band between them. Curves at *points of their own*, (points, values), are scored at these: a new
    curve is covered at its own points, if they are drawn as the others' were. Likewise, *holes* (NaN) do not count: a
    new curve is covered where it is observed. At nodes that others miss it may be outside more often.

    A finite answer for coverage c needs n ≥ c/(1 − c) rows; with less it is refused. "split" costs a fit on the
    training rows, and two on halves of them; "cross" that K times, and for each predicted row and node a partial sort
    of n numbers.

    Weights go to the base estimator only: each row of positive weight calibrates once, as coverage is that of rows
    drawn as these were. Rows of one group are not exchangeable with rows of a new one: then hold out groups, take a row
    of each, and calibrate a FrozenEstimator on them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalFunctionalRegressor, FunctionalRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(120, 1)), np.linspace(0, 1, 20)
    >>> Y = np.sin(2 * np.pi * (grid + X)) + (0.1 + grid) * rng.normal(size=(120, 1))
    >>> model = ConformalFunctionalRegressor(FunctionalRegressor(grid=grid), random_state=0).fit(X, Y)
    >>> model.n_calibration_
    30
    >>> band = model.prediction_band([[0.2], [0.8]], coverage=0.9)
    >>> band.shape
    (2, 20, 2)
    >>> width = band[0, :, 1] - band[0, :, 0]
    >>> bool(width[-1] > 3 * width[0])  # wide where curves vary
    True
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
        y : array-like of shape (n_samples, m) or (n_samples, m, p), or list of (points, values[, weights])
            Curves, NaN where they were not observed, or scikit-fda's. Lists need a base estimator with ``predict_at``
            as that of FunctionalRegressor, and holes one that takes them.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the base estimator. Rows of weight 0 are left out, also of the calibration; otherwise each row
            calibrates once.

        Returns
        -------
        self : ConformalFunctionalRegressor
        """
        self._check_settings()
        X = as_table(X)
        check_rows(X)
        with own_errors("X and y"):
            validate_data(self, X, y, skip_check_array=True)
        X, curves, form = self._read(X, y)
        weight = None if sample_weight is None else read_weight(sample_weight, np.zeros(len(curves)))
        curves.check_observed(type(self).__name__, weight)
        self.layout_, self.output_form_ = curves.outputs.take(np.zeros(0, dtype=int)), form
        if isinstance(self.estimator, FrozenEstimator):
            return self._fit_frozen(X, curves, weight)
        models, columns, scales, inputs, targets = [], [], [], [], []
        for train, test in self._splits(X, np.zeros(len(curves)), weight):
            models.append(self._fit_base(X, curves.take(train).for_base(), weight, train))
            columns.append(train if get_tags(models[-1]).input_tags.pairwise else None)
            if len(models) == 1:
                self.grid_ = self._find_grid(models[0], curves.outputs)
            scales.append(self._modulation(self._left_out(models[-1], X, curves, weight, train)))
            inputs.append(_safe_split(models[-1], X, None, test, train)[0])
            targets.append(curves.outputs.take(test))
        self.estimators_, self.columns_, self.modulations_ = models, columns, scales
        return self._store(inputs, targets)

    def calibrate(self, X, y):
        """Calibrate the fitted base estimator anew, on rows that it has not been trained on.

        They take the place of the rows that have calibrated so far; s stays as it is. For ``method="split"`` only; a
        FrozenEstimator need not be fitted here before, and takes s from a part of these rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples, m) or (n_samples, m, p), or list of (points, values)

        Returns
        -------
        self : ConformalFunctionalRegressor
        """
        if isinstance(self.estimator, FrozenEstimator):
            return self.fit(X, y)
        self._check_settings()
        check_is_fitted(self)
        self._check_one_model()
        X, curves, _ = self._read(X, y)
        curves.check_observed(type(self).__name__, None)
        return self._store([self._inputs(X, self.columns_[0])], [self._alike(curves.outputs)])

    def _base(self):
        return FunctionalRegressor() if self.estimator is None else self.estimator

    def _check_settings(self) -> None:
        self._check_method()
        if not offers(self._base(), "predict"):
            raise parameter_error(
                self, "estimator", self.estimator, "a regressor with a method predict(X) that returns curves"
            )

    def _read(self, X, y) -> tuple[Any, GivenCurves, Any]:
        """Return X with rows that can be taken, the curves, and the form in which another library gave them."""
        opened, _, form = open_curves(self, y, None)
        curves = GivenCurves(read_outputs(self, opened, None, np.zeros(0)), None if form is None else y)
        X = as_table(X)
        check_rows(X)
        with own_errors("X"):
            (X,) = indexable(X)
        if len(curves) != _num_samples(X):
            raise DataError(
                f"{type(self).__name__}: X and y have inconsistent numbers of samples, {_num_samples(X)} and "
                f"{len(curves)}."
            )
        if not curves.outputs.on_grid and not offers(self._base(), "predict_at"):
            raise UnsupportedError(
                f"{type(self).__name__}: curves at points of their own need an estimator with a method "
                f"predict_at(X, points), which {type(self._base()).__name__} has not. FunctionalRegressor() has it; or "
                "put the curves on a common grid."
            )
        return X, curves, form

    def _alike(self, outputs: Outputs) -> Outputs:
        """Return the curves if they have the layout of those of the fit."""
        old = self.layout_
        same = outputs.on_grid == old.on_grid and outputs.values.shape[1:] == old.values.shape[1:]
        if not (same and (outputs.n_dims, outputs.n_components) == (old.n_dims, old.n_components)):
            raise DataError(
                f"{type(self).__name__}: y must have curves as those of the fit: on a grid or at points of their own, "
                f"with as many nodes and components, {old.n_components}; got values of shape {outputs.values.shape}."
            )
        return outputs

    def _fit_frozen(self, X, curves: GivenCurves, weight) -> Self:
        rows = np.arange(len(curves)) if weight is None else np.flatnonzero(weight)
        # a random part for s, so that the others know nothing of it
        rows = self._random_state().permutation(rows)
        few = min(len(rows) // FROZEN_SHARE, FROZEN_ROWS)
        model, outputs = self.estimator, curves.outputs
        self.grid_ = self._find_grid(model, outputs)
        if few > 0:
            sizes = self._residuals(model, take_rows_of(X, rows[:few]), outputs.take(rows[:few]))
        else:
            sizes = outputs.with_values(np.zeros_like(outputs.values))  # too few rows: a band of constant width
        rest = np.sort(rows[few:])
        self.estimators_, self.columns_, self.modulations_ = [model], [None], [self._modulation(sizes)]
        return self._store([take_rows_of(X, rest)], [outputs.take(rest)])

    def _find_grid(self, model, outputs: Outputs) -> Any:
        """Return where the curves are predicted, of the base estimator if it knows; None for mere columns."""
        if not outputs.on_grid:
            return outputs.prediction_grid(self, getattr(reach_attribute(model, "grid_")[0], "grid", None))
        try:
            last, _ = reach_attribute(model, "grid_")
        except UnsupportedError:
            return None
        return to_numpy(last.grid_) if getattr(getattr(last, "layout_", None), "located", True) else None

    def _modulation(self, residuals: Outputs) -> Modulation:
        scattered = not residuals.on_grid
        nodes = None if scattered or self.grid_ is None else self._nodes()
        return modulation(residuals, nodes, scattered or nodes is not None)

    def _left_out(self, model, X, curves: GivenCurves, weight, train) -> Outputs:
        """Return residuals of the training rows, each by a model fitted on the other half of them.

        Those of a close fit to the rows themselves say nothing of its errors.
        """
        if len(train) >= ROWS_OF_HALVES:
            first, second = np.array_split(self._random_state().permutation(train), 2)
            try:
                with warnings.catch_warnings():  # what half of the rows is worth does not matter to who asks for all
                    warnings.simplefilter("ignore")
                    parts = [self._half(X, curves, weight, *rows) for rows in ((first, second), (second, first))]
            except (ValueError, UnsupportedError):
                pass  # a half that cannot be fitted, as where a node was not observed in it; any s is valid
            else:
                values = np.concatenate([part.values for part in parts])
                return curves.outputs.take(np.concatenate([second, first])).with_values(values)
        return self._residuals(model, _safe_split(model, X, None, train, train)[0], curves.outputs.take(train))

    def _half(self, X, curves: GivenCurves, weight, train, rest) -> Outputs:
        model = self._fit_base(X, curves.take(train).for_base(), weight, train)
        return self._residuals(model, _safe_split(model, X, None, rest, train)[0], curves.outputs.take(rest))

    def _store(self, inputs, targets) -> Self:
        """Keep the scores of the rows that the models have not seen."""
        residuals = [self._residuals(*part) for part in zip(self.estimators_, inputs, targets, strict=True)]
        self.conformity_scores_ = [conformity_scores(r, s) for r, s in zip(residuals, self.modulations_, strict=True)]
        scattered = not self.layout_.on_grid
        self.calibration_residuals_ = None if scattered else [np.abs(r.values) for r in residuals]
        self.n_calibration_ = sum(map(len, targets))
        return self

    def _residuals(self, model, X, outputs: Outputs) -> Outputs:
        """Return the curves y − f(x), NaN where nothing was observed."""

        def predict(rows, points):
            if not outputs.on_grid:
                return self._predicted(model, take_rows_of(X, rows[:, 0]), points)
            return self._predicted(model, X)

        # outputs ask for blocks of rows, which their numbers give of inputs of any kind
        return outputs.with_values(outputs.residuals(predict, np.arange(len(outputs))[:, None]))

    # -- prediction --------------------------------------------------------------------------------------------

    def predict(self, X):
        """Return the curves at X: those of the base estimator, or for "cross" the mean of those of all K.

        Shape (n_samples, m), or (n_samples, m, p) for curves in R^p, on ``grid_``.
        """
        check_is_fitted(self)
        values = np.mean(self._all_predicted(X), axis=0)
        shaped = self.layout_.shaped(values, values.shape[1] // self.layout_.n_components)
        return shaped if self.output_form_ is None else self.output_form_.close(shaped, self.grid_)

    def predict_at(self, X, points, *, extrapolate=False):
        """Return the curves at X at any points of Θ, shape (n_samples, k), or (n_samples, k, p) for curves in R^p.

        For base estimators that have ``predict_at`` themselves, as FunctionalRegressor with a grid.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        points : array-like of shape (k,) or (k, d)
            Within the range of what was observed, unless ``extrapolate``.
        extrapolate : bool, default=False
            Allow points beyond that range, where nothing was learned.
        """
        check_is_fitted(self)
        points = self._checked_points(points, extrapolate)
        return self._shape_at(np.mean(self._all_predicted(X, points), axis=0), len(points))

    def prediction_band(self, X, coverage=0.9, kind="simultaneous", points=None, *, extrapolate=False):
        """Return bands that a new curve stays in with probability ``coverage`` at least.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            From 0 to n/(n + 1), n the number of rows that calibrate.
        kind : {"simultaneous", "pointwise"}, default="simultaneous"
            Whether the probability is that of the whole curve, at all nodes, or that at each node by itself.
        points : array-like of shape (k,) or (k, d), optional
            Where to evaluate the band, as in :meth:`predict_at`; at ``grid_`` by default. Coverage is at the nodes of a
            grid.
        extrapolate : bool, default=False
            Allow points beyond the range of what was observed.

        Returns
        -------
        band : array of shape (n_samples, m, 2) or (n_samples, m, p, 2)
            Lower ends, then upper ones, in the last axis.
        """
        check_is_fitted(self)
        check_number(self, "coverage", coverage, low=0, high=1, hint="It is a probability: 0.9, not 90.")
        if not (isinstance(kind, str) and kind in ("simultaneous", "pointwise")):
            raise parameter_error(self, "kind", kind, "'simultaneous' or 'pointwise'")
        at = None if points is None else self._checked_points(points, extrapolate)
        band = self._simultaneous(X, coverage, at) if kind == "simultaneous" else self._pointwise(X, coverage, at)
        if at is None:
            n_points = band[0].shape[1] // self.layout_.n_components
            return np.stack([self.layout_.shaped(end, n_points) for end in band], axis=-1)
        return np.stack([self._shape_at(end, len(at)) for end in band], axis=-1)

    def score(self, X, y, sample_weight=None):
        """Return the integrated R² of the predicted curves, as :meth:`FunctionalRegressor.score`, over observed values.

        1 − Σ_i s_i‖y_i − f(x_i)‖² / Σ_i s_i‖y_i − ȳ‖², norms those of the grid if the base estimator has one, else
        sums over columns.
        """
        check_is_fitted(self)
        X, curves, _ = self._read(X, y)
        outputs = self._alike(curves.outputs)
        outputs = self._weighted(outputs) if outputs.on_grid else outputs
        residuals = [
            self._residuals(model, self._inputs(X, columns), outputs).values
            for model, columns in zip(self.estimators_, self.columns_, strict=True)
        ]
        weight = np.ones(len(outputs)) if sample_weight is None else read_weight(sample_weight, np.zeros(len(outputs)))
        error = float(weight @ outputs.norms(np.mean(residuals, axis=0)) ** 2)
        variation, rounding = outputs.total_variation(weight)
        return 1 - error / variation if variation > rounding else float(error <= rounding)

    def _weighted(self, outputs):
        """Return curves on a grid with the weights that the base estimator gives to its nodes."""
        try:
            last, _ = reach_attribute(self.estimators_[0], "layout_")
        except UnsupportedError:
            return outputs
        return read_outputs(
            self,
            self.layout_.shaped(outputs.values, outputs.values.shape[1] // outputs.n_components),
            last.layout_.reading_grid(self.grid_),
            outputs.values,
        )

    def _simultaneous(self, X, coverage, points) -> tuple[np.ndarray, np.ndarray]:
        rank = self._rank("coverage", coverage, coverage)
        if points is None and not self.layout_.on_grid:
            points = self._nodes()
        scales = [(s.scale if points is None else s.evaluate(points)).ravel() for s in self.modulations_]
        widths = [E[:, None] * s for E, s in zip(self.conformity_scores_, scales, strict=True)]
        return conformal_band(self._all_predicted(X, points), widths, np.full(len(scales[0]), rank))

    def _pointwise(self, X, coverage, points) -> tuple[np.ndarray, np.ndarray]:
        if self.calibration_residuals_ is None:
            raise UnsupportedError(
                f"{type(self).__name__}: kind='pointwise' needs curves on a common grid: at points of their own there "
                "are no several values at one θ. Ask for kind='simultaneous', or fit values on a grid, with NaN for "
                "what is missing."
            )
        predicted, widths = self._all_predicted(X), self.calibration_residuals_
        counts = np.sum([np.sum(~np.isnan(r), axis=0) for r in widths], axis=0)
        few = int(np.argmin(counts))
        where = "" if counts[few] == self.n_calibration_ else f" at node {few // self.layout_.n_components}"
        self._rank("coverage", coverage, coverage, int(counts[few]), where)
        ranks = np.array([self._rank("coverage", coverage, coverage, int(count)) for count in counts])
        low, high = conformal_band(predicted, [np.where(np.isnan(r), np.inf, r) for r in widths], ranks)
        if points is None:
            return low, high
        nodes, centre, moved = self._nodes(), np.mean(predicted, axis=0), self._all_predicted(X, points)
        between = np.mean(moved, axis=0)
        low, high = (between + self._along(nodes, points, end - centre) for end in (low, high))
        return low, high

    def _along(self, nodes, points, values) -> np.ndarray:
        """Return rows of values at the nodes, (n, m·p), as rows at points, (n, k·p)."""
        n, p = len(values), self.layout_.n_components
        columns = values.reshape(n, -1, p).transpose(1, 0, 2).reshape(-1, n * p)
        return along(nodes, points, columns).reshape(-1, n, p).transpose(1, 0, 2).reshape(n, -1)

    def _all_predicted(self, X, points=None) -> list[np.ndarray]:
        """Return the curves of each model at points, by default on the grid, shape (n, k·p)."""
        if points is None and not self.layout_.on_grid:
            points = self._nodes()
        parts = zip(self.estimators_, self.columns_, strict=True)
        return [self._predicted(model, self._inputs(X, columns), points) for model, columns in parts]

    def _predicted(self, model, X, points=None) -> np.ndarray:
        """Return the curves of a model, shape (n, k·p): by ``predict``, or by ``predict_at`` at points."""
        if points is None:
            last, method, size = model, "predict", self.layout_.values.shape[1]
            values = open_curves(self, model.predict(X), None)[0]
        else:
            last, inner = reach(model, X, "predict_at")
            method, size = "predict_at", len(points) * self.layout_.n_components
            values = last.predict_at(inner, points, extrapolate=True)  # points have been looked at before
        n = _num_samples(X)
        values = np.asarray(to_numpy(values), dtype=float)
        finite = bool(np.all(np.isfinite(values)))
        if values.size != n * size or len(values) != n or not finite:
            raise DataError(
                f"{type(last).__name__}.{method} must return finite curves, {size} values for each of {n} samples; got "
                f"shape {values.shape}{'' if finite else ' with NaN or infinity'}."
            )
        return values.reshape(n, size)

    def _nodes(self) -> np.ndarray:
        return np.asarray(self.grid_, dtype=float).reshape(len(self.grid_), -1)

    def _checked_points(self, points, extrapolate) -> np.ndarray:
        points = as_points(type(self).__name__, points)
        if self.grid_ is None or not offers(self.estimators_[0], "predict_at"):
            raise UnsupportedError(
                f"{type(self).__name__}: there is nothing between the columns of y. Pass an estimator with predict_at "
                "and a grid, such as FunctionalRegressor(grid=grid)."
            )
        return check_range(type(self).__name__, points, self._nodes(), extrapolate)

    def _shape_at(self, values, n_points):
        return values if self.layout_.n_dims < 3 else self.layout_.shaped(values, n_points)
