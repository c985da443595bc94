"""Every density level set, from one fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._params import check_number, read_numbers
from mercer.backend import require_numpy
from mercer.estimators.approximation import check_approximation, stand_in
from mercer.estimators.certified import refuse_whole_kernel
from mercer.estimators.infinite_task import as_generator
from mercer.estimators.interruption import Interruption, interruptible, warn_of_gap
from mercer.estimators.level_calibration import UnseenRows, calibrated_offsets, unseen_rows
from mercer.estimators.level_model import LevelModel
from mercer.estimators.partial_fit import can_stream
from mercer.estimators.progress import opening, progress
from mercer.estimators.renamed import renamed
from mercer.estimators.streamed_level_sets import StreamedLevelSets
from mercer.estimators.summary import SummarisedEstimator
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import check_gram, is_foreign, merge_duplicates, validate_inputs, validate_training
from mercer.exceptions import DataError, parameter_error
from mercer.interpolation import interpolation
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.measures import MeasureRule, Points
from mercer.operator_valued import OperatorValuedKernel
from mercer.preprocessing.curve_table import as_table
from mercer.solvers import plan
from mercer.solvers.auto import WORK_OF_PAIRS
from mercer.solvers.level_sets import independent_levels

__all__ = ["LevelSetDetector"]


#: the level of predict and decision_function where none is given
DEFAULT_LEVEL = 0.05
#: levels that are trained on by default: closer together where anomalies are looked for
DEFAULT_LEVELS = np.concatenate([[0.01, 0.02, 0.03, 0.04, 0.05, 0.075], np.arange(2, 20) / 20, [0.975, 0.99]])
#: the offsets are lowered by this share: rows on the boundary are inliers, whatever the rounding of kernels
MARGIN = 1e-9
#: what scores beyond the lowest level are multiples of it at most, so that they are finite
FARTHEST = 1e300


class LevelSetDetector(OutlierMixin, StreamedLevelSets, SummarisedEstimator):
    """Regions that leave out any fraction θ of the data, for all θ in one model, with a certificate of optimality.

    Minimises, over h in the space of the kernel k_X(x, z)·k_Θ(θ, τ) and offsets t at the levels θ_j of a measure with
    weights η_j,

        Σ_j η_j {(1/n) Σ_i s_i (t_j − h(x_i)(θ_j))₊/θ_j − t_j + ½‖h(·)(θ_j)‖²} + (c/2)‖h‖² + (α/2)‖t‖²,

    to a relative duality gap of ``tol``. A point x is an inlier at level θ where h(x)(θ) ≥ t(θ). By default t(θ) is
    then moved to the θ-quantile of the scores h of rows that were not trained on (``calibration``): about a fraction θ
    of new rows is an outlier, in thirty dimensions as in two. The optimum itself counts training rows: with
    ``calibration=None`` and α = 0 the fraction of training outliers at a trained level is at most θ, and at least θ if
    the few rows on the boundary are counted, however early the solver stops. With the default c = 0 the levels are
    one-class support vector machines (Schölkopf et al., 2001) which share the kernel matrix and follow each other: all
    of them for the time of a few.
    Prefer it to :class:`sklearn.svm.OneClassSVM` when the fraction of outliers is not known in advance, or when a
    graded score with a meaning (:meth:`score_samples`) is wanted.

    Parameters
    ----------
    kernel : Kernel, str or callable, default=None
        k_X. By default a Gaussian with one scale per column, times the median distance: units of columns do not matter.
        Without labels nothing says which columns do; leave those out that do not, or ``restrict`` the kernel.
        Strings such as "gaussian", "laplacian", "chi2", "precomputed" are understood.
    output_kernel : Kernel, str or callable, default=None
        k_Θ on levels, which matters with ``coupling`` > 0 only. By default a Gaussian whose scale is the median
        distance of the levels. "constant", with any ``coupling`` > 0, has one function h, and nested sets, for all
        levels: the q-OCSVM of Glazer et al. (2013). With ``alpha=0`` its value then only scales h and t.
    alpha : float, default=0.0
        α. Positive values smooth the offsets over the levels, as Brault et al. (2019) do, at the price of a bias
        in the fraction of outliers. Positive values that float64 cannot tell from 0 are refused.
    coupling : float, default=0.0
        c. Positive values make neighbouring levels similar, as far as k_Θ says. They must be at least 1e-7 times the
        largest eigenvalue of η^½K_Θη^½: below, rounding errors would change the fractions of outliers.
    measure : MeasureRule, default=None
        Which levels in (0, 1] are trained on, and their weights. By default 26 levels from 0.01 to 0.99, closer
        together at the ends; ``Points([0.1])`` trains on one level.
    offset_kernel : Kernel, str or callable, default=None
        k_b, the kernel of the norm of t, which matters with ``alpha`` > 0 only; a Gaussian as for ``output_kernel``.
    nested : bool, default=False
        Whether to replace h(x)(θ) − t(θ) by its maximum over all levels ≥ θ: then inliers at one level are inliers at
        each lower level. Fractions of outliers are no longer exact, but never larger.
    calibration : {"cross", None}, default="cross"
        Which rows the fractions θ are counted on. "cross": on new ones. Five folds of the rows are each scored by a fit
        to the others, with the same kernels, and t(θ) becomes the quantile of these scores, in units of t of the fit
        that they come from, that a new row falls short of with probability θ. Fewer training rows are outliers then, in
        many dimensions far fewer. None: on the training rows, t of the optimum; to find outliers among them.
    approximation : FeatureMap, "auto" or None, default="auto"
        Features in place of k_X, for many rows: ``Nystroem(500)`` or ``RandomFourier(1000)`` of :mod:`mercer.features`.
        The fit is then exactly that of the kernel which the features make, with its certificate, and keeps no training
        rows. "auto" takes landmarks where the kernel itself would need more memory than there is, or more than about
        a minute; None never does.
    tol : float, default=1e-3
        Bound on the relative duality gap.
    max_iter : int, default=None
        Limit on the iterations: pairs of rows that are moved at each level, Newton steps with ``alpha`` > 0 (and ADMM
        steps, should rounding stop these), semismooth Newton steps with ``coupling`` > 0. By default that of the
        solver.
    random_state : int, RandomState or None, default=None
        For random measures (MonteCarlo, Sobol, Halton).
    verbose : int, default=0
        1 reports on standard error what is computed, factorisations before they begin and with an estimate of their
        time, and the duality gap as it falls, with an estimate of the time left.

    Attributes
    ----------
    encoder_ : TableEncoder or None
        How columns of text, categories, dates and missing cells of a data frame became numbers, for ``fit`` and for
        predictions; None where X was numbers. What is said below of columns of X is of the encoded ones, whose names
        are ``encoder_.get_feature_names_out()``.
    dual_coef_ : array of shape (n_rows, n_levels)
        c_ij with h(x)(θ_j) = Σ_i k_X(x, x_i) c_ij; with coupling h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ).
    expansion_ : Expansion
        The fitted function h: ``evaluate(X, levels)``, ``norm``, ``state()``; linear between the levels of ``grid_``.
    offset_ : array of shape (n_levels,)
        t at the levels of ``measure_``: :meth:`decision_function` is h(x)(θ_j) − offset_[j] there.
    optimal_offset_ : array of shape (n_levels,)
        t of the optimum, which ``objective_`` and ``dual_gap_`` speak of; ``offset_`` without calibration.
    n_calibration_ : int
        How many rows ``offset_`` was calibrated on: 0 without calibration, after a Ctrl-C, and for a single row.
    level_ : float
        The level where none is given: 0.05, or the nearest one within the range of ``measure_``.
    grid_ : array of shape (n_grid,)
        Sorted levels between which h and t are linear: those of ``measure_``, with coupling a refinement of them.
    X_fit_ : array of shape (n_rows, n_features_in_)
        Training rows of positive weight, identical ones once, sorted; a Gram matrix as it was given.
    columns_ : array of int or None
        Of a Gram matrix, the columns that belong to rows of positive weight, where not all do.
    approximation_ : Approximation or None
        What took the place of the kernel, and its error, estimated on a sample; None for the kernel itself. With
        features ``X_fit_`` and ``dual_coef_`` are None: ``expansion_`` holds all that is left.
    kernel_, output_kernel_, offset_kernel_ : Kernel
        With numbers for their bandwidths.
    measure_ : Measure
        Levels and weights.
    coupling_ : float
        c that was used.
    objective_, dual_gap_, relative_gap_ : float
        Value of the objective, and how far it may be from the optimum, absolutely and relatively.
    n_iter_, status_, solver_ : int, str, Solver
        How the solver ended.

    Notes
    -----
    Ctrl-C in the middle of a fit keeps the best model so far: fitted, with its gap, ``status_ == "stopped"`` and a
    warning. A second one is a KeyboardInterrupt, and so is the first before the solver starts. Levels are not
    calibrated then, nor where it comes while they are.

    Calibration assumes that new rows are drawn as the old ones were, independently. Its folds are random, but always
    the same; identical rows stay together. The fits to four fifths of the rows see a little less than the whole
    fit, hence fractions of new outliers tend to be a little below θ. No fraction below
    1/(n + 1) can be had from n rows. A fit takes about five times as long as without calibration; beyond 12 500 rows
    not all folds are scored but 10 000 rows at least.

    Without coupling the output kernel has no influence at the trained levels, and interpolation is all that it could do
    between them; h and t are then linear in θ from one trained level to the next. Levels outside the trained range are
    refused: an extrapolated fraction of outliers would be a guess.

    Each level set is certified, not their nesting: sets of neighbouring levels may cross a little where the data say
    nothing. ``nested=True`` excludes that, and so does a constant ``output_kernel`` with ``coupling`` > 0 and without
    calibration.

    Without coupling the cost is little more than that of the n × n kernel matrix, which is stored up to 1 GiB (11 000
    rows) and replaced by a thin factor beyond. With coupling, eigenvectors of that matrix are needed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LevelSetDetector
    >>> X, new = np.split(np.random.default_rng(0).normal(size=(4400, 2)), [400])
    >>> detector = LevelSetDetector().fit(X)
    >>> [round(float(np.mean(detector.predict(new, level=level) == -1)), 2) for level in (0.05, 0.1, 0.2)]
    [0.05, 0.1, 0.21]
    >>> centre, corner, far, farther = detector.score_samples([[0.0, 0.0], [1.5, 1.5], [9.0, 9.0], [10.0, 9.0]])
    >>> bool(centre > 0.9 > 0.3 > corner > 0.01 > far > farther > 0)
    True
    >>> exact = LevelSetDetector(calibration=None).fit(X)
    >>> [round(float(np.mean(exact.predict(X, level=level) == -1)), 2) for level in (0.05, 0.1, 0.2)]
    [0.05, 0.1, 0.2]
    """

    def __init__(
        self,
        kernel=None,
        *,
        output_kernel=None,
        alpha=0.0,
        coupling=0.0,
        measure=None,
        offset_kernel=None,
        nested=False,
        calibration="cross",
        approximation="auto",
        tol=1e-3,
        max_iter=None,
        random_state=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.alpha = alpha
        self.coupling = coupling
        self.measure = measure
        self.offset_kernel = offset_kernel
        self.nested = nested
        self.calibration = calibration
        self.approximation = approximation
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    @property
    def _curves_become(self) -> str:
        """What input curves become: scores for the default kernel, or values on a grid for one of the user."""
        return "scores" if self.kernel is None else "values"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        given = isinstance(self.kernel, Kernel) and self.kernel.pairwise
        tags.input_tags.pairwise = given or (isinstance(self.kernel, str) and self.kernel == "precomputed")
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _check_settings(self):
        check_number(self, "tol", self.tol, low=0, hint="It bounds the relative duality gap.")
        for name in ("alpha", "coupling"):
            check_number(self, name, getattr(self, name), low=0, high=np.finfo(float).max, strict=False)
        if self.max_iter is not None:
            check_number(self, "max_iter", self.max_iter, low=1, high=np.iinfo(int).max, strict=False, integer=True)
        if not isinstance(self.nested, (bool, np.bool_)):
            raise parameter_error(self, "nested", self.nested, "True or False")
        if self.calibration is not None and not (isinstance(self.calibration, str) and self.calibration == "cross"):
            hint = '"cross" counts on new rows, None on training rows.'
            raise parameter_error(self, "calibration", self.calibration, '"cross" or None', hint)
        if isinstance(self.kernel, OperatorValuedKernel):
            hint = "Pass k_X as kernel, k_Θ as output_kernel and the weight of its norm as coupling."
            raise refuse_whole_kernel(self, "kernel", self.kernel, hint)
        check_approximation(self)

    def _measure(self):
        rule = Points(DEFAULT_LEVELS, trapezoid_weights(DEFAULT_LEVELS)) if self.measure is None else self.measure
        if not isinstance(rule, MeasureRule):
            hint = "For a list of levels pass Points([0.05, 0.1, 0.5])."
            raise parameter_error(self, "measure", self.measure, "a MeasureRule", hint)
        measure = rule.build(rng=as_generator(self, self.random_state))
        points = measure.points
        if points.shape[1] != 1 or not np.all((points > 0) & (points <= 1)):
            raise parameter_error(
                self,
                "measure",
                points.ravel() if points.shape[1] == 1 else points,
                "a rule whose points are fractions of outliers, in (0, 1]",
                "Fractions are 0.05, not 5. Trapezoid includes the end 0: take "
                "Trapezoid(20, scipy.stats.uniform(0.05, 0.9)).",
            )
        return measure

    def _level_kernel(self, name, points):
        given = getattr(self, name)
        kernel = Gaussian("median") if given is None else as_kernel(given, self, name)
        if kernel.pairwise:
            raise parameter_error(self, name, given, "a kernel on levels", "It is evaluated at any level.")
        return kernel.adapt(points)

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y=None, sample_weight=None):
        """Fit all level sets.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Data; columns of a data frame may hold text, categories, dates and missing cells. A Gram matrix with
            ``kernel="precomputed"``.
        y : Ignored
            Present for the conventions of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; a row of weight 2 counts as the row twice.

        Returns
        -------
        self : LevelSetDetector
        """
        self._check_settings()
        self.__dict__.pop("stream_", None)  # a fit forgets it
        X, weight, columns = self._training_rows(X, sample_weight)
        measure = self._measure()
        kernel = Gaussian("standardized") if self.kernel is None else as_kernel(self.kernel, self)
        work = WORK_OF_PAIRS * len(X) ** 2 if self.coupling == 0 else None
        taken = stand_in(self, kernel.locate(column_layout(self)).adapt(X), X, work=work)
        model = LevelModel(
            taken.kernel,
            self._level_kernel("output_kernel", measure.points),
            self._level_kernel("offset_kernel", measure.points),
            measure,
            float(self.alpha),
            float(self.coupling),
        )
        with progress(self.verbose, f"{type(self).__name__}: {len(measure)} levels of {len(X)} rows"):
            problem = model.problem(X, weight)
        with interruptible() as interrupted:
            result = self._solve(problem, interrupted)
            unseen = self._unseen_rows(model, X, weight, interrupted)
        warn_of_gap(result, interrupted, depth=1)
        offset = -problem.effect(result.intercept)
        self.kernel_, self.output_kernel_, self.offset_kernel_ = taken.exact, model.output_kernel, model.offset_kernel
        self.X_fit_: Any = X
        self.columns_, self.measure_, self.coupling_ = columns, measure, model.coupling
        self.dual_coef_: Any = model.coef(problem, result.coef)
        self.optimal_offset_ = offset - MARGIN * np.max(np.abs(offset))
        self.offset_ = self.optimal_offset_
        if unseen:
            self.offset_ = calibrated_offsets(unseen, offset, weight, measure.locations)
        self.n_calibration_ = sum(len(part.rows) for part in unseen)
        self.grid_ = model.grid
        self.expansion_ = model.expand(X, self.dual_coef_)
        self.level_ = float(np.clip(DEFAULT_LEVEL, self.grid_[0], self.grid_[-1]))
        self.objective_, self.dual_gap_ = result.objective, result.gap
        self.relative_gap_, self.n_iter_, self.status_ = result.relative_gap, result.n_iter, result.status
        self.solver_ = result.solver
        self.approximation_ = taken.compared(X, None, None)
        if self.approximation_ is not None:  # then no training row is needed
            self.X_fit_, self.dual_coef_ = None, None
        return self

    def _training_rows(self, X, sample_weight):
        X = as_table(X)
        require_numpy(self, "Convert X with numpy.asarray.", X if is_foreign(X) else None)
        try:
            placeholder = np.zeros(_num_samples(X))
        except TypeError as error:
            raise DataError(f"LevelSetDetector: X must have shape (n_samples, n_features): {error}") from error
        X, placeholder, weight, columns = validate_training(self, X, placeholder, sample_weight)
        if self.__sklearn_tags__().input_tags.pairwise:
            check_gram(self, X)
            return X, weight, columns
        X, _, weight = merge_duplicates(X, placeholder, weight)
        order = np.lexsort(X.T)  # pairs of rows are moved one after the other: let the order of the data not matter
        return X[order], None if weight is None else weight[order], columns

    def _solve(self, problem, interrupted: Interruption):
        with progress(self.verbose, opening(self, problem)) as told:
            chosen = plan("auto", problem, self.tol, self.max_iter, self)
            told.say(f"{chosen.solver!r}: preparing the Gram operator")
            init = None if problem.gram.columns_alike else independent_levels(problem, interrupted)
            return chosen.solve(init, told.looks(chosen.solver), interrupted)

    def _unseen_rows(self, model: LevelModel, X, weight, interrupted: Interruption) -> list[UnseenRows]:
        """Return scores of rows by fits that have not seen them; none once ``interrupted``."""
        unseen: list[UnseenRows] = []
        if self.calibration is None or interrupted():
            return unseen
        for part in unseen_rows(model, X, weight, lambda problem: self._solve(problem, interrupted)):
            if interrupted():
                return []
            unseen.append(part)
        return unseen

    # -- batches -----------------------------------------------------------------------------------------------

    @available_if(can_stream)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Learn from one more batch of rows, which need not be kept.

        The first batch is fitted as by :meth:`fit` and so chooses kernel and features, which stay: ``approximation`` is
        features of :mod:`mercer.features`, or "auto" for 300 random frequencies (landmarks, where the kernel has none).
        Later rows move regions and offsets by averaged stochastic gradients
        (:class:`~mercer.solvers.StochasticGradient`), in which the first batch counts as the steps of its rows. Each
        row is compared with the offsets before it is learned, so that fractions of outliers are those of new rows.

        ``status_`` is then "stream", gaps are not known (NaN), and ``n_samples_seen_`` counts rows. A batch that is
        refused changes nothing; after :meth:`fit` the stream begins anew. ``alpha`` and ``coupling`` have to be 0. Rows
        should come in random order; the first batch should have enough of them for the lowest level, some hundreds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, with the columns of the first batch.
        y : Ignored
            Present for the conventions of scikit-learn.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, comparable between batches.

        Returns
        -------
        self : LevelSetDetector
        """
        return self._partial_fit(X, y, sample_weight)

    def _valid_inputs(self, X, method="predict"):
        """Return X for prediction."""
        return validate_inputs(self, X, self.expansion_.like, self.columns_, method)

    # -- evaluation --------------------------------------------------------------------------------------------

    def _check_levels(self, levels, name):
        low, high = self.grid_[0], self.grid_[-1]
        try:
            array = read_numbers(levels)
        except (TypeError, ValueError) as error:
            raise parameter_error(self, name, levels, "a fraction of outliers in (0, 1]") from error
        if array.ndim > 1 or array.size == 0 or not np.all((array > 0) & (array <= 1)):
            raise parameter_error(self, name, levels, "a fraction of outliers in (0, 1]", "It is 0.05, not 5.")
        slack = 1e-9  # of levels that were computed, such as 0.1 + 0.2
        if not np.all((array >= low - slack) & (array <= high + slack)):
            example = "[0.001, 0.01, 0.1]" if np.any(array < low - slack) else "[0.05, 0.5, 0.99, 1.0]"
            raise parameter_error(
                self,
                name,
                levels,
                f"within the levels that were trained on, from {low:g} to {high:g}",
                f"Fit with a measure that reaches it: add such levels to Points, for instance Points({example}).",
            )
        return np.clip(np.atleast_1d(array), low, high)

    def _evaluate(self, X, levels):
        """Return h(x)(θ) − t(θ) as it was learned, linear between the levels of the grid."""
        return self.expansion_.evaluate(X, levels[:, None]) - self._offsets(levels)

    def _offsets(self, levels):
        """Return t(θ), linear between the trained levels."""
        return self.offset_ @ interpolation(self.measure_.locations, levels)

    def _decide(self, X, levels):
        """Return the decision values at some levels, nested ones if asked for."""
        if not self.nested:
            return self._evaluate(X, levels)
        # linear pieces: the maximum over [θ, θ_max] is attained at θ or at a level of the grid
        values = self._evaluate(X, np.concatenate([self.grid_, levels]))
        on_grid, at = values[:, : len(self.grid_)], values[:, len(self.grid_) :]
        running = np.maximum.accumulate(on_grid[:, ::-1], axis=1)[:, ::-1]
        return np.maximum(at, running[:, np.searchsorted(self.grid_, levels)])

    def predict_at(self, X, levels):
        """Return h(x)(θ) − t(θ) at any levels, shape (n_samples, n_levels); inliers have values ≥ 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        levels : float or array-like of shape (n_levels,)
            Within the range of the levels that were trained on.
        """
        check_is_fitted(self)
        levels = self._check_levels(levels, "levels")
        return self._decide(self._valid_inputs(X, "predict_at"), levels)

    decision_functions = renamed(predict_at, "decision_functions")

    def decision_function(self, X, level=None):
        """Return h(x)(θ) − t(θ) at one level, shape (n_samples,); inliers have values ≥ 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float, optional
            The fraction of outliers θ, within the range of the levels that were trained on; ``level_`` by default.
        """
        check_is_fitted(self)
        level = self.level_ if level is None else level
        if np.ndim(level) != 0:
            raise parameter_error(self, "level", level, "one fraction of outliers", "predict_at takes several levels.")
        levels = self._check_levels(level, "level")
        return self._decide(self._valid_inputs(X), levels)[:, 0]

    def predict(self, X, level=None):
        """Return 1 for inliers and −1 for outliers at a level, shape (n_samples,).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        level : float, optional
            The fraction of outliers θ, within the range of the levels that were trained on; ``level_`` by default.
        """
        return np.where(self.decision_function(X, level) >= 0, 1, -1)

    def score_samples(self, X):
        """Return s(x), the largest level at which x is an inlier, shape (n_samples,); less than all where none is.

        About a fraction θ of new rows has s(x) < θ: small values are anomalies, as with a p-value. Levels are all those
        in the trained range: where h(x)(θ) − t(θ) changes its sign between two of ``grid_``, s(x) is interpolated
        linearly. Inliers at the largest trained level have that level as their score. Beyond the outermost region, that
        of the lowest level θ₁, scores go on falling with h: s(x) = θ₁h(x)(θ₁)/t(θ₁), from θ₁ at its boundary towards 0
        far away (below 0 for kernels with negative values; θ₁(2 + h(x)(θ₁)/|t(θ₁)|) where t(θ₁) < 0).
        """
        check_is_fitted(self)
        X = self._valid_inputs(X)
        grid, offset = self.grid_, self._offsets(self.grid_)
        h = self.expansion_.evaluate(X, grid[:, None])
        values = h - offset
        inlier = values >= 0
        last = len(grid) - 1 - np.argmax(inlier[:, ::-1], axis=1)
        row, after = np.arange(len(values)), np.minimum(last + 1, len(grid) - 1)
        fall = values[row, last] - values[row, after]
        share = np.where(fall > 0, values[row, last] / np.where(fall > 0, fall, 1.0), 0.0)
        with np.errstate(over="ignore"):  # of an offset next to nothing
            distance = np.clip(h[:, 0] / (abs(offset[0]) or 1.0), -FARTHEST, FARTHEST)
        beyond = grid[0] * (1 - np.sign(offset[0]) + distance)
        return np.where(np.any(inlier, axis=1), grid[last] + share * (grid[after] - grid[last]), beyond)


def trapezoid_weights(levels: np.ndarray) -> np.ndarray:
    """Return the weights of the trapezoidal rule on sorted levels, scaled to sum 1."""
    half = np.diff(levels) / 2
    weights = np.append(half, 0) + np.append(0, half)
    return weights / weights.sum()
