"""Curves as outputs, with kernels, λ and the threshold of the loss chosen by left-out curves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.functional_choice import (
    ALPHAS,
    FEW_ALPHAS,
    Smoothness,
    default_output_kernels,
    smoothest,
    smoothness_errors,
    without_outliers,
)
from mercer.estimators.functional_model import CurveSample, residual_sizes, squared_errors
from mercer.estimators.validation import take_columns, take_rows
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Loss
from mercer.solvers import ClosedForm, Solver, loss_path

__all__ = ["FunctionalRegressorCV"]

#: lengths of the default input kernels, in units of the default of FunctionalRegressor; smooth ones first
LENGTHS = (2.0, 1.0, 0.5, 0.25)
#: default thresholds, as shares of the largest one that matters
SHARES = np.geomspace(1.0, 0.02, 12)
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
        Candidates for k_X, smooth ones first; by default the Gaussian of FunctionalRegressor with lengths times 2, 1,
        0.5 and 0.25. Bandwidths such as "median" become numbers once, from all rows.
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
        Candidates for κ or ε; by default 12 from κ_max or ε_max, at which the loss is the square loss or the model
        its mean curve, down to a fiftieth of it.
    representation, grid, fit_intercept :
        As in FunctionalRegressor.
    criterion : {"leave_one_out", "generalised"}, default="leave_one_out"
        The error of ridge regressions; "generalised" replaces the leverage of each curve by the mean leverage.
    cv : int, splitter or iterable of (train, test), default=5
        Folds on which thresholds are compared.
    scoring : {"norm", "square"}, default="norm"
        What is averaged over held-out curves to compare thresholds: ‖y − f(x)‖, which a few outlying curves do not
        dominate, or ‖y − f(x)‖².
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
    (4, 5, 37)
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
            widest: Any = Gaussian("standardized").adapt(X)
            return [Gaussian(np.asarray(widest.gamma) / length**2) for length in LENGTHS]
        return [as_kernel(kernel, self, "kernels").adapt(X) for kernel in self._input_kernels()]

    def _adapted_output_kernels(self, measure, has_grid) -> list[Kernel]:
        given = self.output_kernels
        if given is None:
            return default_output_kernels(measure, has_grid)
        kernels = [as_kernel(one, self, "output_kernels") for one in (given if isinstance(given, list) else [given])]
        for kernel in kernels:
            if kernel.pairwise:
                raise parameter_error(self, "output_kernels", kernel, "kernels on points of Θ")
        return [kernel.adapt(measure.points) for kernel in kernels]

    def _sample(self, X, curves, keep, weight) -> CurveSample:
        sample = super()._sample(X, curves, keep, weight)
        self._given = replace(sample, X=X, curves=curves, weight=weight)  # folds are of the rows as they were given
        return sample

    # -- the two choices ---------------------------------------------------------------------------------------

    def _choose(self, sample: CurveSample, has_grid: bool) -> tuple[Smoothness, Loss]:
        loss, automatic = self._loss()
        self.kernels_ = self._adapted_kernels(sample.X)
        self.output_kernels_ = self._adapted_output_kernels(sample.measure, has_grid)
        alphas = self._candidates("alphas")
        self.alphas_ = (ALPHAS if sample.curves.complete else FEW_ALPHAS) if alphas is None else np.sort(alphas)

        def choose(sample):
            candidates = self.kernels_, self.output_kernels_, self.alphas_
            self.errors_ = smoothness_errors(sample, *candidates, loss, self.criterion)
            i, j, k = smoothest(self.errors_)
            return Smoothness(self.kernels_[i], self.output_kernels_[j], float(self.alphas_[k]))

        chosen = without_outliers(sample, choose)[0] if math.isfinite(loss.dual_bound) else choose(sample)
        if alphas is None and not loss.smooth:
            ridge = self._ridge(sample, chosen, loss)
            chosen = chosen._replace(alpha=self._per_deviation(sample, ridge, loss, chosen.alpha))
        self.thresholds_: Any = None
        self.threshold_errors_: Any = None
        if automatic or self.thresholds is not None:
            loss = self._choose_threshold(sample, chosen, loss)
        del self._given
        self.best_params_ = chosen._asdict() | {"loss": loss}
        return chosen, loss

    def _choose_threshold(self, sample: CurveSample, chosen: Smoothness, loss: Loss) -> Loss:
        """Return the loss with the threshold whose fits predict held-out curves best."""
        name = _threshold(loss)
        if name is None:
            raise parameter_error(
                self, "thresholds", self.thresholds, "None for this loss", f"{loss!r} has neither κ nor ε."
            )
        values = self._threshold_values(sample, chosen, loss, name)
        given, pairwise = self._given, chosen.kernel.pairwise
        weight = np.ones(len(given)) if given.weight is None else to_numpy(given.weight)
        errors, total = np.zeros(len(values)), 0.0
        for train, test in self._folds(len(given)):
            train, test = (rows[weight[rows] > 0] for rows in (train, test))
            inside, outside = given.take(train, pairwise), given.curves.take(test)
            inside = inside if pairwise else inside.merged()
            X_test = take_rows(given.X, test)
            X_test = take_columns(X_test, train) if pairwise else X_test
            bound = inside.bind(chosen.kernel, chosen.output_kernel, loss)
            problem = inside.pose(bound, loss, chosen.alpha)
            nested = name if problem.loss == loss else f"loss__{name}"  # of a loss of scattered curves
            path = loss_path(problem, nested, values, self._path_solver(), tol=self.cv_tol)
            for place, result in enumerate(path):
                size = squared_errors(inside.predictor(bound, problem, result), X_test, outside)
                errors[place] += weight[test] @ (size if self.scoring == "square" else np.sqrt(size))
            total += float(weight[test].sum())
        self.thresholds_, self.threshold_errors_ = values, errors / total
        return loss.replace(**{name: float(values[int(np.argmin(errors))])})

    def _threshold_values(self, sample, chosen, loss, name) -> np.ndarray:
        """Return thresholds in falling order, from the largest one that matters."""
        given = self._candidates("thresholds")
        if given is not None:
            return np.sort(given)[::-1]
        ridge = self._ridge(sample, chosen, loss)
        if name == "kappa":  # beyond, Huber is ridge
            residuals = ClosedForm(tol=1e-6).solve(ridge).coef
        else:  # beyond, the mean curve costs nothing
            residuals = ridge.Y - ridge.null_model[1][None, :]
        top = float(np.max(residual_sizes(sample.curves, residuals, loss.pointwise)))
        return SHARES * (top if top > 0 else 1.0)

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
