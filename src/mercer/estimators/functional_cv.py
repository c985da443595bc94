"""Curves as outputs, with kernels, λ and the threshold of the loss chosen by left-out curves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.function_valued import is_pairwise
from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.functional_choice import (
    Smoothness,
    default_alphas,
    default_kernels,
    default_output_kernels,
    per_deviation,
    ridge_residuals,
    smoothest,
    smoothness_errors,
    without_outliers,
)
from mercer.estimators.functional_model import (
    CurveSample,
    capped_sizes,
    centred,
    curve_norms,
    residuals_of,
    typical_size,
    value_sizes,
)
from mercer.estimators.validation import take_columns, take_rows
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Kernel, as_kernel
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Loss
from mercer.operator_valued import BoundBasis
from mercer.solvers import Solver, loss_path

__all__ = ["FunctionalRegressorCV"]

#: lengths of the default input kernels, from nearly linear to rough
LENGTHS = (32.0, 8.0, 2.0, 1.0, 0.5, 0.25)
#: largest and smallest of the default thresholds but the first, and their number, in units of the typical residual
SPAN = {"kappa": (10.0, 0.3, 11), "epsilon": (4.0, 0.1, 11)}
#: norms of held-out residuals count up to this many typical ones
CAP = 10.0
CRITERIA = ("leave_one_out", "generalised")


class FunctionalRegressorCV(FunctionalRegressor):
    """Regression with curves as outputs, everything chosen by how well left-out curves are predicted.

    Minimises the objective of :class:`FunctionalRegressor` after two choices. Kernels and λ are those of the ridge
    regression with the smallest leave-one-out (or generalised cross-validation) error: in closed form on a complete
    grid, at the price of one eigendecomposition for each kernel; otherwise curves are left out by halves. For
    robust losses, curves that are outlying to a first robust fit hardly count in that. κ or ε then runs down a
    warm-started path from the value at which it begins to matter, on folds of the curves.

    Parameters
    ----------
    kernels : Kernel, str, callable or list of them, default=None
        Candidates for k_X, smooth ones first; by default Gaussians with one scale per column and the lengths 32, 8,
        2, 1, 0.5 and 0.25 times the median distance, the first of which are nearly linear. Bandwidths such as "median"
        become numbers once, from all rows.
    output_kernels : Kernel, str, callable or list of them, default=None
        Candidates for k_Θ, smooth ones first; by default Gaussians whose scales are the median distance of the grid and
        2, 4, 8 and 16 times less.
    alphas : float or array-like of float, default=None
        Candidates for λ; by default 37 from 1e-8 to 10, or 7 from 1e-6 to 1 where values are missing.
    output_matrix : array-like of shape (p, p), default=None
        As in FunctionalRegressor.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        A loss by name has its threshold chosen; a Loss is taken literally unless ``thresholds`` are given.
    geometry : {"norm", "pointwise"}, default=None
        As in FunctionalRegressor.
    thresholds : array-like of float, default=None
        Candidates for κ or ε; by default κ_max or ε_max, at which the loss is the square loss or the model its mean
        curve, and 11 from 10 to 0.3 (κ) or 4 to 0.1 (ε) times the typical size of ridge residuals.
    representation, grid, fit_intercept :
        As in FunctionalRegressor.
    criterion : {"leave_one_out", "generalised"}, default="leave_one_out"
        The error of ridge regressions; "generalised" replaces the leverage of each curve by the mean leverage.
    cv : int, splitter or iterable of (train, test), default=5
        Folds on which thresholds are compared.
    scoring : {"norm", "square"}, default="norm"
        What is averaged over held-out curves to compare thresholds: ‖y − f(x)‖ (or the integral of |y − f(x)| for
        pointwise losses), each size counted up to 10 times the typical ridge residual, so that outliers do not
        dominate; or ‖y − f(x)‖².
    cv_tol : float, default=1e-3
        Bound on the relative duality gap of the fits that are compared.
    solver, tol, max_iter, verbose :
        As in FunctionalRegressor, for the final fit.

    Attributes
    ----------
    errors_ : array of shape (n_kernels, n_output_kernels, n_alphas)
        Mean errors of the ridge regressions on left-out curves, outlying ones down-weighted for robust losses.
    kernels_, output_kernels_, alphas_ : list, list, array
        What they are errors of.
    thresholds_, threshold_errors_ : array or None
        Thresholds that were compared and their errors on held-out curves, shape (n_thresholds,).
    best_params_ : dict
        "kernel", "output_kernel", "alpha" and "loss": a :class:`FunctionalRegressor` with these and the same other
        settings is the final fit.
    alpha_, loss_, kernel_, output_kernel_, dual_coef_, relative_gap_, ... :
        Those of FunctionalRegressor, from the final fit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FunctionalRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X, grid = rng.uniform(size=(50, 1)), np.linspace(0, 1, 20)
    >>> Y = np.sin(2 * np.pi * (grid + X)) + 0.1 * rng.normal(size=(50, 20))
    >>> Y[::10] *= -2  # outlying curves
    >>> ridge = FunctionalRegressorCV(grid=grid).fit(X, Y)
    >>> robust = FunctionalRegressorCV(grid=grid, loss="huber").fit(X, Y)
    >>> truth = np.sin(2 * np.pi * (grid + X))
    >>> robust.score(X, truth) > ridge.score(X, truth)
    True
    >>> ridge.errors_.shape
    (6, 5, 37)
    """

    def __init__(
        self,
        kernels=None,
        *,
        output_kernels=None,
        alphas=None,
        output_matrix=None,
        loss="square",
        geometry=None,
        thresholds=None,
        representation="nodes",
        grid=None,
        fit_intercept=True,
        criterion="leave_one_out",
        cv=5,
        scoring="norm",
        cv_tol=1e-3,
        solver="auto",
        tol=1e-4,
        max_iter=None,
        verbose=0,
    ):
        self.kernels = kernels
        self.output_kernels = output_kernels
        self.alphas = alphas
        self.output_matrix = output_matrix
        self.loss = loss
        self.geometry = geometry
        self.thresholds = thresholds
        self.representation = representation
        self.grid = grid
        self.fit_intercept = fit_intercept
        self.criterion = criterion
        self.cv = cv
        self.scoring = scoring
        self.cv_tol = cv_tol
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    # what FunctionalRegressor has and this chooses
    kernel = output_kernel = None
    alpha = "auto"
    warm_start = False

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _input_kernels(self) -> list[Any]:
        return list(self.kernels) if isinstance(self.kernels, (list, tuple)) else [self.kernels]

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number(self, "cv_tol", self.cv_tol, low=0, hint="It bounds the relative duality gap.")
        if self.criterion not in CRITERIA:
            raise parameter_error(self, "criterion", self.criterion, " or ".join(map(repr, CRITERIA)))
        if self.scoring not in ("norm", "square"):
            raise parameter_error(self, "scoring", self.scoring, "'norm' or 'square'")
        for name in ("alphas", "thresholds"):
            self._candidates(name)
        if len({is_pairwise(kernel) for kernel in self._input_kernels()}) > 1:
            raise parameter_error(
                self, "kernels", self.kernels, "all of inputs or all precomputed", "X is one of them."
            )
        for name in ("kernels", "output_kernels"):
            if isinstance(getattr(self, name), (list, tuple)) and not getattr(self, name):
                raise parameter_error(self, name, getattr(self, name), "a kernel or a non-empty list of kernels")

    def _candidates(self, name: str) -> np.ndarray | None:
        """Return positive numbers to choose from, the parameter of that name, or None."""
        given = getattr(self, name)
        if given is None:
            return None
        try:
            values = np.atleast_1d(np.asarray(given, dtype=float))
        except (TypeError, ValueError) as error:
            raise parameter_error(self, name, given, "positive numbers") from error
        if values.ndim != 1 or values.size == 0 or not np.all(np.isfinite(values) & (values > 0)):
            raise parameter_error(self, name, given, "a positive number or a non-empty list of them")
        return values

    def _adapted_kernels(self, X) -> list[Kernel]:
        if self.kernels is None:
            return default_kernels(X, LENGTHS)
        return [as_kernel(kernel, self, "kernels").adapt(X) for kernel in self._input_kernels()]

    def _adapted_output_kernels(self, measure, has_grid) -> list[Kernel]:
        given = self.output_kernels
        if given is None:
            return default_output_kernels(measure, has_grid)
        several = given if isinstance(given, (list, tuple)) else [given]
        kernels = [as_kernel(one, self, "output_kernels") for one in several]
        for kernel in kernels:
            if kernel.pairwise:
                raise parameter_error(self, "output_kernels", kernel, "kernels on points of Θ")
        return [kernel.adapt(measure.points) for kernel in kernels]

    # -- the two choices ---------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Choose, and fit the curves; see :meth:`FunctionalRegressor.fit`."""
        try:
            return super().fit(X, y, sample_weight)
        finally:
            self.__dict__.pop("_given", None)  # the rows as they were given, of which folds are made

    def _sample(self, X, curves, keep, weight) -> CurveSample:
        sample = super()._sample(X, curves, keep, weight)
        self._given = replace(sample, X=X, curves=curves, weight=weight)
        return sample

    def _choose(self, sample: CurveSample, has_grid: bool) -> tuple[Smoothness, Loss]:
        loss, automatic = self._loss()
        if self.criterion == "generalised" and not sample.curves.complete:
            raise UnsupportedError(
                f"{type(self).__name__}: criterion='generalised' needs a complete grid. Where values are missing, "
                "curves are left out by halves: pass criterion='leave_one_out'."
            )
        self.kernels_ = self._adapted_kernels(sample.X)
        self.output_kernels_ = self._adapted_output_kernels(sample.measure, has_grid)
        if isinstance(sample.basis, BoundBasis):  # which does not depend on k_Θ
            self.output_kernels_ = self.output_kernels_[:1]
        alphas = self._candidates("alphas")
        self.alphas_ = default_alphas(sample) if alphas is None else np.sort(alphas)

        def choose(sample):
            candidates = self.kernels_, self.output_kernels_, self.alphas_
            self.errors_ = smoothness_errors(sample, *candidates, loss, self.criterion)
            i, j, k = smoothest(self.errors_)
            return Smoothness(self.kernels_[i], self.output_kernels_[j], float(self.alphas_[k]))

        robust = math.isfinite(loss.dual_bound)
        chosen, tame = without_outliers(sample, choose, loss.pointwise) if robust else (choose(sample), sample)
        unit = typical_size(tame, ridge_residuals(tame, chosen, loss), loss.pointwise)
        if alphas is None and not loss.smooth:
            chosen = chosen._replace(alpha=per_deviation(sample, loss, chosen.alpha))
        self.thresholds_: Any = None
        self.threshold_errors_: Any = None
        if automatic or self.thresholds is not None:
            loss = self._choose_threshold(sample, chosen, loss, unit)
        self.best_params_ = chosen._asdict() | {"loss": loss}
        return chosen, loss

    def _choose_threshold(self, sample: CurveSample, chosen: Smoothness, loss: Loss, unit: float) -> Loss:
        """Return the loss with the threshold whose fits predict held-out curves best."""
        name = _threshold(loss)
        if name is None:
            raise parameter_error(
                self, "thresholds", self.thresholds, "None for this loss", f"{loss!r} has neither κ nor ε."
            )
        values = self._threshold_values(sample, chosen, loss, name, unit)
        given, pairwise = self._given, chosen.kernel.pairwise
        weight = np.ones(len(given)) if given.weight is None else to_numpy(given.weight)
        if self.fit_intercept:
            centre = centred(given.curves.take(np.flatnonzero(weight > 0)))[0]
            given = replace(given, curves=replace(given.curves, values=given.curves.values - centre))
        errors, total = np.zeros(len(values)), 0.0
        for train, test in self._folds(len(given)):
            train, test = (rows[weight[rows] > 0] for rows in (train, test))
            if len(train) == 0 or len(test) == 0:  # all of weight 0
                continue
            inside, outside = given.take(train, pairwise), given.curves.take(test)
            inside = inside if pairwise else inside.merged()
            X_test = take_rows(given.X, test)
            X_test = take_columns(X_test, train) if pairwise else X_test
            bound = inside.bind(chosen.kernel, chosen.output_kernel, loss)
            problem = inside.pose(bound, loss, chosen.alpha)
            nested = name if problem.loss == loss else f"loss__{name}"  # of a loss of scattered curves
            path = loss_path(problem, nested, values, self._path_solver(), tol=self.cv_tol)
            for place, result in enumerate(path):
                residuals = residuals_of(inside.predictor(bound, problem, result), X_test, outside)
                if self.scoring == "square":
                    sizes = curve_norms(outside, residuals) ** 2
                else:
                    sizes = capped_sizes(outside, residuals, CAP * unit, loss.pointwise)
                errors[place] += weight[test] @ sizes
            total += float(weight[test].sum())
        self.thresholds_, self.threshold_errors_ = values, errors / total
        return loss.replace(**{name: float(values[int(np.argmin(errors))])})

    def _threshold_values(self, sample, chosen, loss, name, unit) -> np.ndarray:
        """Return thresholds in falling order, from the largest one that matters."""
        given = self._candidates("thresholds")
        if given is not None:
            return np.sort(given)[::-1]
        # beyond the largest residual Huber is ridge, beyond the largest curve the mean curve costs nothing
        of_curves = to_numpy(sample.curves.values)
        residuals = ridge_residuals(sample, chosen, loss) if name == "kappa" else of_curves
        sizes = (value_sizes if loss.pointwise else curve_norms)(sample.curves, residuals)
        top, (widest, narrowest, count) = float(np.max(sizes)), SPAN[name]
        path = unit * np.geomspace(widest, narrowest, count)
        return np.append([top], path[path < top]) if top > 0 else path

    def _path_solver(self) -> Any:
        return self.solver.replace(tol=self.cv_tol) if isinstance(self.solver, Solver) else self.solver

    def _folds(self, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (train, test) rows; a number of folds is at most the number of curves."""
        cv = min(self.cv, n) if isinstance(self.cv, (int, np.integer)) and not isinstance(self.cv, bool) else self.cv
        try:
            folds = [(np.asarray(train), np.asarray(test)) for train, test in check_cv(cv).split(np.zeros((n, 1)))]
        except (TypeError, ValueError) as error:
            raise parameter_error(self, "cv", self.cv, "folds of the curves", f"{error}.") from error
        if any(len(train) == 0 or len(test) == 0 for train, test in folds):
            raise DataError(f"{type(self).__name__}: cv={self.cv!r} makes empty folds.")
        return folds


def _threshold(loss: Loss) -> str | None:
    """Return the name of the threshold of a loss."""
    if isinstance(loss, Huber):
        return "kappa"
    return "epsilon" if isinstance(loss, (EpsilonRidge, EpsilonInsensitive)) else None
