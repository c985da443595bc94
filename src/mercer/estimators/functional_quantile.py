"""Quantiles of curves: every level at every point of a curve, from one fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._params import check_number
from mercer.backend import require_numpy, to_numpy
from mercer.estimators.conversion import open_curves
from mercer.estimators.infinite_task import as_generator
from mercer.estimators.interruption import interruptible, warn_of_gap
from mercer.estimators.level_scores import level_scores, quantiles_at
from mercer.estimators.output_kernels import default_output_kernels
from mercer.estimators.outputs import Outputs
from mercer.estimators.progress import progress
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.row_order import canonical_order
from mercer.estimators.sample import Sample
from mercer.estimators.sample_regressor import SampleRegressor
from mercer.estimators.smoothness import per_deviation, some_rows
from mercer.estimators.validation import as_points, check_gram, check_range, validate_rows, validate_weight
from mercer.exceptions import DataError, ExtrapolationWarning, UnsupportedError, parameter_error
from mercer.interpolation import interpolation, refine, spatial_interpolation
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.losses import Loss, Pinball, Square
from mercer.losses.quantiles import weighted_quantile
from mercer.measures import GaussLegendre, Measure, MeasureRule, Points, ProductMeasure
from mercer.operator_valued import Decomposable, OperatorValuedKernel
from mercer.problems import DualProblem
from mercer.quantile_function import check_levels
from mercer.solvers import Solver, plan

__all__ = ["FunctionalQuantileRegressor"]

#: levels at which predicted quantile functions are represented and sorted
LEVELS_OF_CURVES = 128
#: rows and folds that choose λ, and the most powers of ten that it may be from that of ridge regression
ALPHA_ROWS, ALPHA_FOLDS, MOST_POWERS = 200, 3, 6
#: folds of method "cross", and the relative gap of fits to parts of the rows
CALIBRATION_FOLDS, GAP_OF_FOLDS = 5, 1e-2
#: rows below which nothing is calibrated unless it is asked for
FEWEST_CALIBRATED = 20


class FunctionalQuantileRegressor(MultiOutputMixin, RegressorMixin, SampleRegressor):
    """All conditional quantiles of a curve at all of its points: q(x)(t, θ), with one fit.

    Minimises, over h in the space of the kernel k_X(x, z)·k_T(t, t')·k_Θ(θ, θ') and a free intercept b,

        Σ_jq v_j w_q (1/n) Σ_i s_i pinball_{θ_q}(y_i(t_j) − h(x_i)(t_j, θ_q) − b(t_j, θ_q)) + (λ/2)‖h‖²,

    over times t_j and levels θ_q, to a relative duality gap of ``tol``. Quantiles at neighbouring times and levels are
    alike; both kernels stay factors of a Kronecker product. Predicted quantile functions are sorted, so that none
    crosses another at any time, and calibrated on rows that their fit has not seen. They are quantiles of the value at
    each time by itself; for bands that hold whole curves take :class:`ConformalFunctionalRegressor`.

    Parameters
    ----------
    kernel : Kernel, str or callable, default=None
        k_X. By default a Gaussian with one scale per column whose length predicts left-out curves best in ridge
        regression, as in :class:`FunctionalRegressor`.
    output_kernel : Kernel, str or callable, default=None
        k_T on times; chosen likewise. Without a grid the identity.
    level_kernel : Kernel, str or callable, default=None
        k_Θ on levels; by default a Gaussian whose scale is the median distance of the levels.
    alpha : float or "auto", default="auto"
        λ. "auto" takes it from ridge regression of the curves by leave-one-out in closed form, divided by the median
        deviation of the values, and times the power of ten with the least pinball loss on left-out thirds of at most
        200 rows.
    measure : MeasureRule, default=None
        Levels to train on, and their weights; ``GaussLegendre(9)`` by default.
    grid : array-like of shape (m,) or (m, d), or MeasureRule, default=None
        Times of the columns of Y; without it columns are mere outputs.
    fit_intercept : bool, default=True
        Whether to add b, free at the nodes.
    calibration : {"auto", "cross", "split", None}, default="auto"
        "cross" finds, at each time, the level at which the quantile function of a fit to four fifths of the rows passes
        through the others, and predicts the quantile at level θ by that at the θ-quantile of these levels; the
        final fit has all rows, and coverage is as a rule near to nominal. "split" holds out a quarter of the rows once,
        and then P(y(t) > q(t, θ)) ≤ 1 − θ for θ ≥ ½ (and likewise below) at each time of the grid, whatever the
        distribution of exchangeable rows. "auto" is "cross" from 20 rows on. None leaves h + b as it is.
    solver, tol, max_iter, warm_start, verbose :
        As those of :class:`KernelQuantileRegressor`; ``tol`` is 1e-3.
    random_state : int, RandomState or None, default=None
        For random measures, and for the rows that calibrate.

    Attributes
    ----------
    dual_coef_ : array of shape (n_rows, m·n_levels)
        Representer coefficients, level last.
    intercept_ : array of shape (m·n_levels,)
        b at the nodes.
    expansion_ : Expansion
        h, a function of points (t, θ).
    kernel_, output_kernel_, level_kernel_, alpha_ :
        With numbers for all that was automatic.
    times_, levels_ : Measure
        Times and levels of the fit with their weights; ``measure_`` is their product.
    grid_ : array of shape (m,) or (m, d)
        Where :meth:`predict` evaluates.
    level_grid_ : array
        Levels on which predicted quantile functions are represented and sorted.
    calibration_scores_ : array of shape (n_calibration, m) or None
        Levels of values in quantile functions that have not seen them, NaN where there is no value.
    slope_ : float
        With which quantile functions are continued beyond ``level_grid_``, for calibration.
    objective_, dual_gap_, relative_gap_, n_iter_, status_, solver_ :
        The certificate, of h and b before calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FunctionalQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(60, 1)), np.linspace(0, 1, 8)
    >>> Y = np.sin(2 * np.pi * grid) * X + 0.2 * (0.5 + grid) * rng.normal(size=(60, 8))
    >>> model = FunctionalQuantileRegressor(grid=grid, random_state=0).fit(X, Y)
    >>> model.predict(X[:2]).shape, model.predict_quantile(X[:2], [0.1, 0.5, 0.9]).shape
    ((2, 8), (2, 8, 3))
    >>> bool(np.all(np.diff(model.predict_quantile(X, [0.1, 0.5, 0.9]), axis=2) >= 0))
    True
    """

    _curves_become = "values"
    #: kernels and λ are chosen as those of a ridge regression
    loss, geometry = "square", None

    def __init__(
        self,
        kernel=None,
        *,
        output_kernel=None,
        level_kernel=None,
        alpha="auto",
        measure=None,
        grid=None,
        fit_intercept=True,
        calibration="auto",
        solver="auto",
        tol=1e-3,
        max_iter=None,
        random_state=None,
        warm_start=False,
        verbose=0,
    ):
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.level_kernel = level_kernel
        self.alpha = alpha
        self.measure = measure
        self.grid = grid
        self.fit_intercept = fit_intercept
        self.calibration = calibration
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.array_api_support = False
        return tags

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.kernel, OperatorValuedKernel):
            hint = "Pass k_X as kernel, k_T as output_kernel and k_Θ as level_kernel."
            raise parameter_error(self, "kernel", self.kernel, "a scalar kernel on inputs", hint)
        if not (self.measure is None or isinstance(self.measure, MeasureRule)):
            hint = "For a list of levels pass Points([0.1, 0.5, 0.9])."
            raise parameter_error(self, "measure", self.measure, "a MeasureRule", hint)
        named = isinstance(self.calibration, str) and self.calibration in ("auto", "cross", "split")
        if not (named or self.calibration is None):
            raise parameter_error(self, "calibration", self.calibration, "'auto', 'cross', 'split' or None")

    def _levels(self, rng: np.random.Generator) -> Measure:
        levels = (GaussLegendre(9) if self.measure is None else self.measure).build(None, rng)
        theta = levels.points
        if theta.shape[1] != 1 or not np.all((theta > 0) & (theta < 1)):
            hint = "Levels are probabilities: Points([0.1, 0.5, 0.9]), or GaussLegendre(9)."
            raise parameter_error(self, "measure", self.measure, "a rule whose points are in (0, 1)", hint)
        return levels

    def _output_kernels(self, outputs: Outputs) -> list[Any]:
        """Return k_T, or several to choose from."""
        if self.output_kernel is None:
            return default_output_kernels(outputs)
        kernel = as_kernel(self.output_kernel, self, "output_kernel")
        if kernel.pairwise:
            raise parameter_error(self, "output_kernel", self.output_kernel, "a kernel on times")
        return [kernel.adapt(outputs.measure.points)]

    def _given_level_kernel(self, levels: Measure) -> Kernel:
        given = Gaussian("median") if self.level_kernel is None else self.level_kernel
        kernel = as_kernel(given, self, "level_kernel")
        if kernel.pairwise:
            raise parameter_error(self, "level_kernel", given, "a kernel on levels")
        return kernel.adapt(levels.points)

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Fit all quantiles of all points.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs; a Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples, m)
            Curves on ``grid``, NaN where they were not observed.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; each row of positive weight calibrates once.

        Returns
        -------
        self : FunctionalQuantileRegressor
        """
        self._check_settings()
        y, grid, _ = open_curves(self, y, self.grid)
        X, keep, weight, columns = validate_rows(self, X, sample_weight)
        require_numpy(self, "Convert X with numpy.asarray.", X)
        outputs = read_outputs(self, y, grid, X)
        if not outputs.on_grid or outputs.n_components > 1:
            raise UnsupportedError(
                f"{type(self).__name__}: curves have numbers as values, on a common grid, NaN where there is none."
            )
        X, outputs, weight = self._kept(X, outputs, keep, weight, columns)
        pairwise = self.__sklearn_tags__().input_tags.pairwise
        if pairwise:
            check_gram(self, X)
        rng = as_generator(self, self.random_state)
        levels, sample = self._levels(rng), Sample(X, outputs, weight, fit_intercept=bool(self.fit_intercept))
        train, test = self._held_out(len(sample), rng)
        part = sample if test is None else sample.take(train, pairwise)
        self._fit_function(part, levels, columns if test is None or not pairwise else _columns(columns, train))
        with progress(self.verbose and self.calibration is not None, "calibrating levels"):
            self._calibrate(sample, test, pairwise, rng)
        return self

    def _fit_function(self, sample: Sample, levels: Measure, columns: np.ndarray | None) -> None:
        """Choose what is automatic, solve for h and b, and become that model."""
        given = sample
        sample = sample if self.__sklearn_tags__().input_tags.pairwise else sample.merged()
        distinct = sample
        centre, sample = sample.centred()
        with progress(self.verbose, "choosing kernels and alpha, as far as they are not given"):
            chosen, _ = self._choose(sample, given)
        self.layout_ = sample.outputs.take(np.zeros(0, dtype=int))
        self.times_, self.levels_ = sample.measure, levels
        self.level_kernel_, time_kernel = self._given_level_kernel(levels), chosen.output_kernel
        bound, alpha = self._bound(chosen.kernel, time_kernel), chosen.alpha
        if isinstance(self.alpha, str):
            with progress(self.verbose, "choosing alpha by held-out pinball losses"):
                alpha = self._best_alpha(distinct, bound, per_deviation(sample, Pinball(), alpha))
        problem = self._problem(sample, bound, alpha)
        with interruptible() as interrupted:
            result = self._solve(problem, self._tolerance, interrupted)
        warn_of_gap(result, interrupted, depth=2)
        centre = np.repeat(centre, len(levels)) if self.fit_intercept else 0.0
        self._store(sample.X, bound, problem, result, centre, columns)
        self.output_kernel_, self.measure_ = time_kernel, bound.measure
        points = to_numpy(self.times_.points)
        self.grid_ = points[:, 0] if points.shape[1] == 1 else points
        self.level_grid_ = refine(levels.locations, LEVELS_OF_CURVES)
        values = to_numpy(sample.outputs.values)
        self.slope_ = float(np.nanmean(np.abs(values))) or 1.0

    def _bound(self, kernel: Kernel, time_kernel: Kernel) -> Any:
        """Return k_X·k_T·k_Θ, bound to the pairs of times and levels."""
        times, levels = (Points(one.points, one.weights) for one in (self.times_, self.levels_))
        d = self.times_.points.shape[1]
        product = time_kernel.restrict(list(range(d))) * self.level_kernel_.restrict(d)
        return Decomposable(kernel, product).bind(ProductMeasure(times, levels).build())

    def _problem(self, sample: Sample, bound: Any, alpha: float) -> DualProblem:
        Y = np.repeat(to_numpy(sample.outputs.values), len(self.levels_), axis=1)
        return DualProblem(
            bound.gram(sample.X), Pinball(), Y, bound.measure, alpha, sample.weight, bool(self.fit_intercept)
        )

    def _loss(self) -> tuple[Loss, bool]:
        """Return the loss by which kernels and λ are chosen."""
        return Square(), False

    def _best_alpha(self, sample: Sample, bound: Any, start: float) -> float:
        """Return the λ of least pinball loss on left-out thirds of few rows, from ``start`` on by powers of ten.

        Ridge regression says how smooth means are; spreads are learned from far less, and often need a larger λ.
        """
        pairwise = bound.pairwise
        order = canonical_order(sample.X, np.nanmean(to_numpy(sample.outputs.values), axis=1))
        sample = some_rows(sample.take(order, pairwise), pairwise, ALPHA_ROWS)
        rows = np.arange(len(sample))
        folds = [rows[k::ALPHA_FOLDS] for k in range(min(ALPHA_FOLDS, len(rows)))]
        losses: dict[int, float] = {}

        def loss(power: int) -> float:
            if power not in losses:
                alpha = start * 10.0**power
                losses[power] = sum(self._held_out_loss(sample, bound, alpha, fold, pairwise) for fold in folds)
            return losses[power]

        step = 1 if loss(1) < loss(0) else -1
        best = 1 if step > 0 else 0
        while abs(best + step) <= MOST_POWERS and loss(best + step) < loss(best) * (1 - 1e-3):
            best += step
        return start * 10.0**best

    def _held_out_loss(self, sample: Sample, bound: Any, alpha: float, test: np.ndarray, pairwise: bool) -> float:
        """Return the integrated pinball loss of some rows under a fit to the others."""
        inside, X, outside = sample.split(np.setdiff1d(np.arange(len(sample)), test), test, pairwise)
        expansion, b = self._loose_fit(inside, bound, alpha)
        values = expansion.evaluate(X, bound.measure.points) + b
        Y = np.repeat(to_numpy(outside.values), len(self.levels_), axis=1)
        seen = ~np.isnan(Y)
        weight = np.ones(len(X)) if sample.weight is None else to_numpy(sample.weight)[test]
        losses = Pinball().value(np.where(seen, Y, 0.0), values, bound.measure.restricted(seen))
        return float(weight @ losses)

    def _loose_fit(self, sample: Sample, bound: Any, alpha: float) -> tuple[Any, np.ndarray]:
        """Return h and b at the nodes of a fit to a loose gap, for comparison and calibration."""
        if np.any(np.isnan(to_numpy(sample.outputs.values)).all(axis=0)):
            raise DataError(
                f"{type(self).__name__}: at some time so few curves were observed that folds have none. Leave it out "
                "of the grid, or give alpha and calibration=None."
            )
        centre, sample = sample.centred()
        problem = self._problem(sample, bound, alpha)
        gap = max(self._tolerance, GAP_OF_FOLDS)
        solver = self.solver.replace(tol=gap) if isinstance(self.solver, Solver) else self.solver
        planned = plan(solver, problem, gap, self.max_iter, owner=self)
        result = planned.solve(None)
        centre = np.repeat(centre, len(self.levels_)) if self.fit_intercept else 0.0
        return bound.expand(sample.X, problem.primal_coef(result.coef)), result.intercept + centre

    # -- calibration -------------------------------------------------------------------------------------------

    def _held_out(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the rows to fit and, for "split", those to calibrate on."""
        if self.calibration != "split":
            return np.arange(n), None
        if n < 8:
            raise DataError(f"{type(self).__name__}: calibration='split' needs 8 rows at least; got {n}.")
        order = rng.permutation(n)
        return np.sort(order[n // 4 :]), np.sort(order[: n // 4])

    def _calibrate(self, sample: Sample, test: np.ndarray | None, pairwise: bool, rng: np.random.Generator) -> None:
        """Find the levels of values in quantile functions that have not seen them."""
        self.calibration_scores_ = None
        n = len(sample)
        if test is not None:
            train = np.setdiff1d(np.arange(n), test)
            _, X, outside = sample.split(train, test, pairwise)
            functions = self._functions(self.expansion_, self._intercept_at, X, self._time_points())
            scores = [level_scores(self.level_grid_, functions, to_numpy(outside.values), self.slope_)]
        elif self.calibration == "cross" or (self.calibration == "auto" and n >= FEWEST_CALIBRATED):
            folds = np.array_split(rng.permutation(n), min(CALIBRATION_FOLDS, n))
            scores = [self._scores_of_fold(sample, np.sort(fold), pairwise) for fold in folds]
        else:
            return
        self.calibration_scores_ = np.concatenate(scores)

    def _scores_of_fold(self, sample: Sample, test: np.ndarray, pairwise: bool) -> np.ndarray:
        """Return the levels of the values of some rows in the functions of a fit to the others."""
        inside, X, outside = sample.split(np.setdiff1d(np.arange(len(sample)), test), test, pairwise)
        expansion, b = self._loose_fit(inside, self._bound(self.kernel_, self.output_kernel_), self.alpha_)

        def intercept_at(times: np.ndarray, levels: np.ndarray) -> np.ndarray:
            return self._between(b, times, levels)

        functions = self._functions(expansion, intercept_at, X, self._time_points())
        return level_scores(self.level_grid_, functions, to_numpy(outside.values), self.slope_)

    # -- evaluation --------------------------------------------------------------------------------------------

    def _time_points(self) -> np.ndarray:
        return to_numpy(self.times_.points)

    def _between(self, b: np.ndarray, times: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Return b at times and levels, (k, l), from its values at the nodes: linear between them."""
        nodes = self._time_points()
        if not self.layout_.located:
            at_times = (nodes[:, :1] == times[:, 0]).astype(float)
        elif nodes.shape[1] == 1:
            at_times = interpolation(nodes[:, 0], times[:, 0])
        else:
            at_times = spatial_interpolation(nodes, times)
        at_levels = interpolation(self.levels_.locations, levels)
        return at_times.T @ b.reshape(len(nodes), -1) @ at_levels

    def _intercept_at(self, times: np.ndarray, levels: np.ndarray) -> np.ndarray:
        return self._between(self.intercept_, times, levels)

    def _functions(self, expansion: Any, intercept_at: Any, X: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return quantile functions at ``level_grid_``, sorted, shape (n, k, g)."""
        levels = self.level_grid_
        points = np.hstack([np.repeat(times, len(levels), axis=0), np.tile(levels, len(times))[:, None]])
        values = expansion.evaluate(X, points).reshape(len(X), len(times), len(levels))
        return np.sort(values + intercept_at(times, levels)[None], axis=2)

    def _moved_levels(self, levels: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return the levels to read predicted functions at, shape (k, l): calibrated ones at each time."""
        if self.calibration_scores_ is None:
            return np.broadcast_to(levels, (len(times), len(levels)))
        scores = np.sort(self.calibration_scores_, axis=0)  # NaN last
        counts = np.sum(~np.isnan(scores), axis=0)
        if np.any(counts == 0):
            raise DataError(f"{type(self).__name__}: a time has no value that calibrates; pass calibration=None.")
        moved = np.empty((scores.shape[1], len(levels)))
        beyond = False
        for q, level in enumerate(levels):
            if level >= 0.5:
                rank = np.ceil((counts + 1) * level - 1e-9).astype(int)
            else:
                rank = np.floor((counts + 1) * level + 1e-9).astype(int)
            beyond |= bool(np.any((rank < 1) | (rank > counts)))
            moved[:, q] = scores[np.clip(rank, 1, counts) - 1, np.arange(scores.shape[1])]
        if beyond:
            warnings.warn(
                f"{type(self).__name__}: {int(counts.min())} values calibrate, too few for some of these levels; the "
                "outermost of them are taken.",
                ExtrapolationWarning,
                stacklevel=4,
            )
        nodes = self._time_points()
        if not self.layout_.located:
            return moved[[int(np.flatnonzero(nodes[:, 0] == t[0])[0]) for t in times]]
        if nodes.shape[1] == 1:
            return interpolation(nodes[:, 0], times[:, 0]).T @ moved
        found = np.empty((len(times), len(levels)))  # weights of places may be negative: levels are put in order
        found[:, np.argsort(levels)] = np.sort(spatial_interpolation(nodes, times).T @ moved, axis=1)
        return found

    # -- prediction --------------------------------------------------------------------------------------------

    def predict_quantile(self, X, levels, points=None):
        """Return quantiles at any levels in (0, 1) and any times, shape (n_samples, n_times, n_levels).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        levels : float or array-like of shape (n_levels,)
            Also levels that were not trained on.
        points : array-like of shape (n_times,) or (n_times, d), optional
            Times within the range of the grid; ``grid_`` by default. Coverage is calibrated at the times of the grid.
        """
        check_is_fitted(self)
        levels = check_levels(self, levels)
        X = self._valid_inputs(X, "predict_quantile")
        times = self._time_points() if points is None else self._checked_times(points)
        moved = self._moved_levels(levels, times)
        functions = self._functions(self.expansion_, self._intercept_at, X, times)
        return quantiles_at(self.level_grid_, functions, moved, self.slope_)

    def predict(self, X):
        """Return the curves of medians, shape (n_samples, m), or (n_samples,) where y had that shape."""
        check_is_fitted(self)
        return self.layout_.shaped(self.predict_quantile(X, [0.5])[:, :, 0], len(self.times_))

    def predict_at(self, X, points):
        """Return medians at any times within the range of the grid, shape (n_samples, n_times)."""
        return self.predict_quantile(X, [0.5], points)[:, :, 0]

    def predict_interval(self, X, coverage=0.9):
        """Return central intervals at each time of the grid, shape (n_samples, m, 2)."""
        check_number(self, "coverage", coverage, low=0, high=1, hint="It is a probability: 0.9, not 90.")
        return self.predict_quantile(X, [(1 - coverage) / 2, (1 + coverage) / 2])

    def score(self, X, y, sample_weight=None):
        """Return D², the share of the pinball loss, integrated over levels and times, that the model explains.

        1 − loss(model)/loss(quantiles of y at each time); 1 is perfect, 0 as good as the unconditional quantiles of the
        scored curves.
        """
        check_is_fitted(self)
        inputs = self._valid_inputs(X, "score")
        grid = self.layout_.reading_grid(self.grid_)
        outputs = read_outputs(self, open_curves(self, y, None)[0], grid, inputs)
        self._check_lengths(inputs, outputs)
        weight = np.ones(len(inputs)) if sample_weight is None else validate_weight(sample_weight, inputs)
        values, theta = to_numpy(outputs.values), self.levels_.locations
        seen = ~np.isnan(values)
        filled, weights = np.where(seen, values, 0.0), weight[:, None] * seen
        loss = [0.0, 0.0]
        predicted = self.predict_quantile(X, theta)
        for q, level in enumerate(theta):
            plain = weighted_quantile(filled, weights, np.full(values.shape[1], level))
            for k, one in enumerate((predicted[:, :, q], plain[None, :])):
                rest = filled - one
                pinball = np.maximum(level * rest, (level - 1) * rest) * weights
                loss[k] += self.levels_.weights[q] * float(pinball.sum(axis=0) @ to_numpy(self.times_.weights))
        return 1 - loss[0] / loss[1] if loss[1] > 0 else float(loss[0] <= 0)

    def _checked_times(self, points: Any) -> np.ndarray:
        times = as_points(type(self).__name__, points)
        if not self.layout_.located:
            raise UnsupportedError(
                f"{type(self).__name__}: the columns of Y had no grid, so that there is nothing between them. Pass "
                "grid= to the constructor."
            )
        return check_range(type(self).__name__, times, self._time_points(), False)


def _columns(columns: np.ndarray | None, rows: np.ndarray) -> np.ndarray:
    """Return the columns of a Gram matrix that belong to some of the rows."""
    return rows if columns is None else columns[rows]
