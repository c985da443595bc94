"""Curves as outputs, with kernels, λ and the threshold of the loss chosen by left-out curves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from mercer._params import check_number
from mercer.backend import to_numpy
from mercer.estimators.certified import is_pairwise, refuse_whole_kernel
from mercer.estimators.curve_kernels import curve_kernels
from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.outliers import without_outliers
from mercer.estimators.output_kernels import default_output_kernels
from mercer.estimators.outputs import Outputs
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import (
    FEW_LENGTHS,
    MANY_LENGTHS,
    Smoothness,
    carried,
    default_alphas,
    default_kernels,
    per_deviation,
    ridge_residuals,
    smoothness_errors,
)
from mercer.estimators.tables import column_layout
from mercer.estimators.thresholds import default_thresholds, threshold_errors
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Kernel, as_kernel
from mercer.losses import Loss
from mercer.operator_valued import BoundBasis, Decomposable, OperatorValuedKernel
from mercer.solvers import Solver
from mercer.solvers.leave_one_out import CRITERIA

__all__ = ["FunctionalRegressorCV"]

#: norms of held-out residuals count up to this many typical ones
CAP = 10.0


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
        2, 1, 0.5 and 0.25 times the median distance, the first of which are nearly linear, and for inputs that are
        curves Gaussians of the L² distance, too. Bandwidths such as "median" become numbers once, from all rows.
    output_kernels : Kernel, str, callable or list of them, default=None
        Candidates for k_Θ, smooth ones first; by default those of FunctionalRegressor. One that is worse at left-out
        points than straight lines is taken only if all are.
    alphas : float or array-like of float, default=None
        Candidates for λ; by default 37 from 1e-8 to 10, or 7 from 1e-6 to 1 where values are missing.
    output_matrix : array-like of shape (p, p), default=None
        As in FunctionalRegressor.
    loss : {"square", "huber", "epsilon_ridge", "epsilon_insensitive"} or Loss, default="square"
        A loss by name has its threshold chosen; a Loss is taken literally unless ``thresholds`` are given.
    geometry : {"norm", "pointwise", "componentwise"}, default=None
        As in FunctionalRegressor.
    thresholds : array-like of float, default=None
        Candidates for κ or ε, or for the threshold that a loss of your own declares; by default κ_max or ε_max, at
        which the loss is the square loss or the model its mean curve, and 11 from 10 to 0.3 (κ) or 4 to 0.1 (ε) times
        the typical size of ridge residuals.
    representation, truncation, grid, fit_intercept, mean_curve :
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
        As in FunctionalRegressor, for the final fit, which Ctrl-C may stop likewise; before, it is a KeyboardInterrupt.

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
    alpha_, loss_, kernel_, output_kernel_, dual_coef_, mean_function_, relative_gap_, ... :
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
    (6, 6, 37)
    """

    def __init__(
        self,
        kernels=None,
        *,
        output_kernels=None,
        alphas=None,
        output_matrix=None,
        approximation="auto",
        loss="square",
        geometry=None,
        thresholds=None,
        representation="nodes",
        truncation="kernel",
        grid=None,
        fit_intercept=True,
        mean_curve="smooth",
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
        self.approximation = approximation
        self.loss = loss
        self.geometry = geometry
        self.thresholds = thresholds
        self.representation = representation
        self.truncation = truncation
        self.grid = grid
        self.fit_intercept = fit_intercept
        self.mean_curve = mean_curve
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

    def _check_whole_kernel(self, kernel: OperatorValuedKernel) -> None:
        hint = "Pass k_X as kernels, k_Θ as output_kernels and the matrix as output_matrix."
        if isinstance(kernel, Decomposable):
            hint += " To choose among whole kernels: GridSearchCV(FunctionalRegressor(...), {'kernel': [...]})."
        raise refuse_whole_kernel(self, "kernels", kernel, hint)

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
            curves = [kernel for family in curve_kernels(X, self.encoder_, FEW_LENGTHS)[:1] for kernel in family]
            return [*default_kernels(X, MANY_LENGTHS), *curves]
        layout = column_layout(self)
        return [as_kernel(kernel, self, "kernels").locate(layout).adapt(X) for kernel in self._input_kernels()]

    def _output_kernels(self, outputs: Outputs) -> list[Kernel]:
        given = self.output_kernels
        if given is None:
            return default_output_kernels(outputs)
        several = given if isinstance(given, (list, tuple)) else [given]
        kernels = [as_kernel(one, self, "output_kernels") for one in several]
        for kernel in kernels:
            if kernel.pairwise:
                raise parameter_error(self, "output_kernels", kernel, "kernels on points of Θ")
        return [kernel.adapt(outputs.measure.points) for kernel in kernels]

    def _learns(self, sample: Sample) -> bool:
        """Leave scales of columns equal: what is compared are the kernels that were given, or the default ones."""
        return False

    # -- the two choices ---------------------------------------------------------------------------------------

    def _afford(self, sample: Sample) -> None:
        """Leave it to the comparison of all candidates, which comes first."""

    def _choose(self, sample: Sample, given: Sample) -> tuple[Smoothness, Loss]:
        loss, automatic = self._loss()
        if self.criterion == "generalised" and not sample.outputs.complete:
            raise UnsupportedError(
                f"{type(self).__name__}: criterion='generalised' needs a complete grid. Where values are missing, "
                "curves are left out by halves: pass criterion='leave_one_out'."
            )
        self.kernels_ = self._adapted_kernels(sample.X)
        self.output_kernels_ = self._output_kernels(sample.outputs)
        if isinstance(sample.basis, BoundBasis):  # which does not depend on k_Θ
            self.output_kernels_ = self.output_kernels_[:1]
        alphas = self._candidates("alphas")
        self.alphas_ = default_alphas(sample) if alphas is None else np.sort(alphas)

        def choose(sample):
            candidates = self.kernels_, self.output_kernels_, self.alphas_
            self.errors_ = smoothness_errors(sample, *candidates, loss, self.criterion)
            i, j, k = carried(sample, *candidates, self.errors_)
            return Smoothness(self.kernels_[i], self.output_kernels_[j], float(self.alphas_[k]))

        robust = math.isfinite(loss.dual_bound)
        chosen, tame = without_outliers(sample, choose, loss.compares) if robust else (choose(sample), sample)
        unit = tame.typical_size(ridge_residuals(tame, chosen, loss), loss.compares)
        if alphas is None and not loss.smooth:
            chosen = chosen._replace(alpha=per_deviation(sample, loss, chosen.alpha))
        self.thresholds_: Any = None
        self.threshold_errors_: Any = None
        if automatic or self.thresholds is not None:
            loss = self._choose_threshold(given, sample, chosen, loss, unit)
        self.best_params_ = chosen._asdict() | {"loss": loss}
        return chosen, loss

    def _choose_threshold(self, given: Sample, sample: Sample, chosen: Smoothness, loss: Loss, unit: float) -> Loss:
        """Return the loss with the threshold whose fits predict held-out curves best."""
        threshold = loss.threshold
        if threshold is None:
            raise parameter_error(
                self, "thresholds", self.thresholds, "None for this loss", f"{loss!r} has neither κ nor ε."
            )
        candidates = self._candidates("thresholds")
        if candidates is None:
            self.thresholds_ = default_thresholds(sample, chosen, loss, threshold, unit)
        else:
            self.thresholds_ = np.sort(candidates)[::-1]
        # with the centre of the rows that count
        weight = np.ones(len(given)) if given.weight is None else to_numpy(given.weight)
        centre = given.take(np.flatnonzero(weight > 0), chosen.kernel.pairwise).centred()[0]
        if given.mean_scale:
            given = replace(given, outputs=given.outputs.without(centre))
        elif given.fit_intercept:
            given = replace(given, outputs=given.outputs.with_values(given.outputs.values - centre))

        def sizes(outputs: Outputs, residuals: np.ndarray) -> np.ndarray:
            if self.scoring == "square":
                return outputs.norms(residuals) ** 2
            return outputs.capped_sizes(residuals, CAP * unit, loss.compares)

        self.threshold_errors_ = threshold_errors(
            given,
            self._folds(len(given)),
            chosen,
            loss,
            self.thresholds_,
            sizes,
            solver=self._path_solver(),
            tol=self.cv_tol,
        )
        return loss.replace(**{threshold.name: float(self.thresholds_[int(np.argmin(self.threshold_errors_))])})

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
