"""Every conditional quantile of y given x, with λ and the kernel chosen by cross-validation."""

from __future__ import annotations

import math
import numbers
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, check_cv
from sklearn.utils.validation import _num_samples

from mercer._params import check_number
from mercer.backend import namespace, to_numpy
from mercer.estimators.certified import refuse_whole_kernel
from mercer.estimators.quantile import KernelQuantileRegressor
from mercer.estimators.regularisation import choose_alpha, smallest_alpha
from mercer.estimators.shape import Residuals, shape_kernels, shape_may_depend, unshaped_scores
from mercer.estimators.tables import column_layout
from mercer.estimators.validation import merge_duplicates, take_columns, take_rows, validate_training, validate_weight
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features import FeatureMap
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.linalg import memory_budget
from mercer.losses import Pinball, as_loss
from mercer.model_selection.choice import best_candidate, falls, most_regular_candidate, tabulate
from mercer.model_selection.path import solve_path
from mercer.operator_valued import Decomposable, OperatorValuedKernel
from mercer.preprocessing.curve_table import as_table
from mercer.problems import DualProblem

__all__ = ["KernelQuantileRegressorCV"]

#: lengths of the default kernels, in units of the default of KernelQuantileRegressor; from rough to smooth
LENGTHS = (0.5, 1.0, 2.0)
#: default λ, in units of alpha="auto" of KernelQuantileRegressor with the same kernel
FACTORS = 10.0 ** np.linspace(-1.5, 1.5, 5)
#: λ of the shape of standardised residuals
SHAPE_ALPHAS = (1.0, 0.1, 0.01, 0.001)


class KernelQuantileRegressorCV(KernelQuantileRegressor):
    """All conditional quantiles of y given x in one model, λ and the kernel chosen by cross-validation.

    Without kernels and λ of yours it is the model in stages of :class:`KernelQuantileRegressor`, whose shape h is
    chosen among no shape at all (λ = ∞) and those of four kernels and four λ, on folds of the standardised residuals;
    where rows alike in x are not alike in the levels that they exceed, nothing but the former is compared.

    With ``kernels`` or ``alphas``, or ``stages="joint"``, it minimises the joint objective of the papers,

        Σ_j w_j (1/n) Σ_i s_i pinball_{θ_j}(y_i − h(x_i)(θ_j) − b(θ_j)) + (λ/2)‖h‖²,

    on each training fold for every kernel and λ, scores the quantiles on the held-out fold, and fits the chosen
    candidate to all rows. Prefer it to GridSearchCV of KernelQuantileRegressor: with the same folds it is faster, as
    all λ share a Gram matrix and an eigendecomposition, and as fits that are only compared stop at the larger gap
    ``cv_tol``. With ``cv_tol=tol`` the scores are those of GridSearchCV
    over the same kernels with numbers for their bandwidths.

    Parameters
    ----------
    kernels : Kernel, str, callable or list of them, default=None
        Candidates for k_X, from rough to smooth. By default, of the joint model, the Gaussian that
        KernelQuantileRegressor takes, with lengths times 0.5, 1 and 2. Bandwidths such as "median" become numbers
        once, from all rows of X (never y).
        With "precomputed" X is a Gram matrix.
    alphas : float or array-like of float, default=None
        Candidates for λ, as numbers. By default, of the joint model, for each kernel, five from 10^1.5 down to 10^−1.5
        times the λ that ``alpha="auto"`` of KernelQuantileRegressor chooses with it on all rows, none below the least
        that it considers; those below one that is worse than a larger one by two standard errors over the folds are
        left out.
    output_kernel : Kernel, str or callable, default=None
        k_Θ on levels. By default a Gaussian whose scale is the median distance of the levels.
    approximation : FeatureMap, "auto" or None, default="auto"
        As in KernelQuantileRegressor, the features of each kernel made from all rows of X; one of yours means the joint
        model.
    measure : MeasureRule, default=None
        Which levels are trained on and scored, and their weights; by default ``GaussLegendre(20)`` on (0, 1).
    loss : str or Loss, default="pinball"
        The pinball loss, or another one whose parameter is a level.
    fit_intercept : bool, default=True
        Whether to add b(θ).
    noncrossing : {"rearrange", "penalty", "constraint", "guarantee", None}, default="rearrange"
        "rearrange" sorts each predicted quantile function, also those that are scored. The next three act on the final
        fit; the fits that are compared are free to cross.
    crossing_penalty, crossing_anchors : float, array-like or None
        As in KernelQuantileRegressor.
    cv : int, splitter or iterable of (train, test), default=None
        Folds, as scikit-learn takes them; None is 5. In the joint model an integer is KFold without shuffling: for rows
        in some order, such as sorted ones, pass ``KFold(5, shuffle=True, random_state=0)``. Folds of yours, or
        ``groups``, mean the joint model, as the stages are learned across all rows.
    scoring : str or callable, default=None
        Larger is better. By default minus the loss on the held-out rows, weighted by ``sample_weight``: for the
        pinball loss, minus the integrated pinball of the predicted quantiles. A callable is called as
        ``scoring(estimator, X, y)``, without weights, with a fitted KernelQuantileRegressor and X as numbers.
    refit : {"best", "one_se"}, default="best"
        "best" takes the largest mean score; "one_se" the largest λ (then the last of the kernels) whose mean score is
        within one standard error of that.
    cv_tol : float, default=2e-2
        Bound on the relative duality gap of the fits that are compared.
    solver : str or Solver, default="auto"
        As in KernelQuantileRegressor. A Solver is used with ``cv_tol`` in the comparison.
    tol : float, default=1e-3
        Bound on the relative duality gap of the final fit.
    max_iter : int, default=None
        Limit on the iterations of each fit; that of the solver by default.
    random_state : int, RandomState or None, default=None
        For random measures, which are drawn once. Folds are shuffled by the splitter.
    verbose : int, default=0
        1 reports on standard error each kernel and fold, and of the final fit factorisations and the gap, with
        estimates of the time left.
    stages : {"auto", "joint", "separate"}, default="auto"
        As in KernelQuantileRegressor; "auto" is "joint" also with ``scoring``, ``groups`` or folds of yours.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One row for each candidate: ``params`` ("kernel" and "alpha"), ``param_kernel``, ``param_alpha``,
        ``split<i>_test_score``, ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``split<i>_relative_gap`` and ``max_relative_gap``.
    best_index_, best_params_, best_score_ : int, dict, float
        The chosen candidate; of the joint model ``KernelQuantileRegressor(**best_params_)`` with the same other
        settings is the final fit. In stages it is the kernel and λ of the shape, None and ∞ where there is none, and
        scores are of standardised residuals.
    n_splits_ : int
        Number of folds.
    alpha_, kernel_, dual_coef_, intercept_, relative_gap_, ... :
        Those of KernelQuantileRegressor, from the final fit.

    Notes
    -----
    Data frames are encoded once (``encoder_``), from all rows of X, as bandwidths are. Rows are split as they were
    given, and identical pairs (x, y) are merged inside a training fold only. Copies of a row in several folds make the
    held-out score too good; keep them together with ``GroupKFold`` and ``groups``.

    Ctrl-C during the comparison is a KeyboardInterrupt; in the final fit it keeps the best model so far.

    Rows of weight 0 neither train nor score. A candidate without a finite score on every fold is ranked last, with a
    warning. Fits that miss ``cv_tol`` are counted in one warning; ``cv_results_`` says which.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelQuantileRegressorCV
    >>> from mercer.measures import Points
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(120, 1))
    >>> y = np.sin(6 * X[:, 0]) + X[:, 0] * rng.normal(size=120)
    >>> model = KernelQuantileRegressorCV(alphas=[1e-6, 1e-3, 1.0], measure=Points([0.1, 0.5, 0.9]), cv=3).fit(X, y)
    >>> model.alpha_
    0.001
    >>> len(model.cv_results_["params"])  # three kernels by default
    9
    >>> model.predict_interval([[0.5]], coverage=0.8).shape
    (1, 2)
    """

    def __init__(
        self,
        kernels=None,
        *,
        alphas=None,
        output_kernel=None,
        approximation="auto",
        measure=None,
        loss="pinball",
        fit_intercept=True,
        noncrossing="rearrange",
        crossing_penalty=1.0,
        crossing_anchors=None,
        cv=None,
        scoring=None,
        refit="best",
        cv_tol=2e-2,
        solver="auto",
        tol=1e-3,
        max_iter=None,
        random_state=None,
        verbose=0,
        stages="auto",
    ):
        self.kernels = kernels
        self.alphas = alphas
        self.output_kernel = output_kernel
        self.approximation = approximation
        self.measure = measure
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.noncrossing = noncrossing
        self.crossing_penalty = crossing_penalty
        self.crossing_anchors = crossing_anchors
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.cv_tol = cv_tol
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.stages = stages

    # -- what the parameters mean ------------------------------------------------------------------------------

    def _check_whole_kernel(self, kernel: OperatorValuedKernel) -> None:
        hint = (
            "Pass k_X as kernels and k_Θ as output_kernel. To choose among whole kernels: "
            "GridSearchCV(KernelQuantileRegressor(...), {'kernel': [...]})."
        )
        raise refuse_whole_kernel(self, "kernels", kernel, hint)

    def _check_settings(self) -> None:
        super()._check_settings()
        check_number(self, "cv_tol", self.cv_tol, low=0, hint="It bounds the relative duality gap in the comparison.")
        if not (isinstance(self.refit, str) and self.refit in ("best", "one_se")):
            raise parameter_error(self, "refit", self.refit, "'best' or 'one_se'", "The final fit is always made.")

    @property
    def _plain(self) -> bool:
        features = self.approximation if isinstance(self.approximation, FeatureMap) else None
        parts = (self.kernels, self.alphas, self.output_kernel, self.scoring, features)
        folds = self.cv is None or isinstance(self.cv, numbers.Integral)
        loss = isinstance(as_loss(self.loss), Pinball) and bool(self.fit_intercept)
        return all(part is None for part in parts) and folds and loss and self.noncrossing == "rearrange"

    def _input_kernels(self) -> list[Any]:
        if self.kernels is None:
            return []
        return list(self.kernels) if isinstance(self.kernels, (list, tuple)) else [self.kernels]

    def _adapted_kernels(self, X) -> list[Kernel]:
        if self.kernels is None:
            gamma = np.asarray(Gaussian("standardized").adapt(X).get_params()["gamma"])
            return [Gaussian(gamma / length**2) for length in LENGTHS]
        kernels = [as_kernel(kernel, self, "kernels") for kernel in self._input_kernels()]
        if not kernels:
            raise parameter_error(self, "kernels", self.kernels, "a kernel, a list with at least one, or None")
        if len({kernel.pairwise for kernel in kernels}) > 1:
            raise UnsupportedError(
                f"{type(self).__name__}: kernels must be all 'precomputed' or none of them, as X is either a Gram "
                "matrix or not. Compare them in two fits."
            )
        return [kernel.locate(column_layout(self)).adapt(X) for kernel in kernels]

    def _given_alphas(self) -> list[float] | None:
        if self.alphas is None:
            return None
        allowed = "positive numbers, at least one, or None"
        try:
            alphas = np.atleast_1d(np.asarray(self.alphas, dtype=float))
        except (TypeError, ValueError) as error:
            raise parameter_error(self, "alphas", self.alphas, allowed) from error
        if alphas.ndim != 1 or alphas.size == 0 or not np.all((alphas > 0) & np.isfinite(alphas)):
            raise parameter_error(self, "alphas", self.alphas, allowed, "For instance numpy.logspace(-5, 0, 6).")
        return [float(alpha) for alpha in alphas]

    def _default_alphas(self, bound, loss, X, y, weight) -> list[float]:
        """Return λ around the automatic one, from large to small, none below the smallest that can be that."""
        centre = choose_alpha(self, "auto", bound, loss.growth, X, y, weight, self.fit_intercept)
        lowest = smallest_alpha(loss.growth, y, weight, self.fit_intercept)
        return [float(alpha) for alpha in np.unique(np.maximum(FACTORS * centre, min(lowest, centre)))[::-1]]

    def _score_function(self) -> Callable[[Any, Any, Any, Any], Any]:
        """Return score(model, X, y, weight) for held-out rows."""
        if self.scoring is None:
            return _negative_loss
        try:
            scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring)
        except (TypeError, ValueError) as error:
            allowed = "None, a callable (estimator, X, y) or the name of a scorer of scikit-learn"
            hint = "For instance mercer.model_selection.make_crps_scorer()."
            raise parameter_error(self, "scoring", self.scoring, allowed, hint) from error
        return lambda model, X, y, weight: scorer(model, X, y)

    def _folds(self, X, y, sample_weight, groups) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return training and test rows of each fold, numbered among the rows of positive weight."""
        n = _num_samples(X)
        try:
            splits = list(check_cv(self.cv).split(X, y, groups))
            rows = [(np.arange(n)[train], np.arange(n)[test]) for train, test in splits]
        except (TypeError, ValueError, IndexError) as error:
            raise DataError(f"{type(self).__name__}: cv={self.cv!r} cannot split n_samples={n}: {error}") from error
        if not rows:
            raise parameter_error(self, "cv", self.cv, "something that gives at least one pair (train, test)")
        counts = validate_weight(sample_weight, np.empty((n, 1))) > 0
        number = np.cumsum(counts) - 1
        folds = [(number[train[counts[train]]], number[test[counts[test]]]) for train, test in rows]
        for index, (train, test) in enumerate(folds):
            if len(train) == 0 or len(test) == 0:
                part = "training" if len(train) == 0 else "test"
                raise DataError(
                    f"{type(self).__name__}: fold {index} of cv has no {part} row of positive weight. Use fewer folds, "
                    "or shuffle the rows."
                )
        return folds

    # -- fitting -----------------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose by cross-validation, then fit all quantiles to all rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Inputs; columns of a data frame may hold text, categories, dates and missing cells. A Gram matrix with
            ``kernels="precomputed"``.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights, for the fits and for the default score.
        groups : array-like of shape (n_samples,), optional
            Given to the splitter, such as ``GroupKFold``.

        Returns
        -------
        self : KernelQuantileRegressorCV
        """
        self._check_settings()
        alphas, score = self._given_alphas(), self._score_function()
        X = as_table(X)
        rows = validate_training(self, X, y, sample_weight)
        data = _Rows(rows.X, rows.y, rows.weight)
        folds = self._folds(X, y, sample_weight, groups)
        X, y, weight = self._merge(*data)
        if groups is not None and self.stages == "separate":
            raise UnsupportedError(
                f"{type(self).__name__}: stages are learned across all rows, whatever their groups. Take "
                "stages='joint', or leave out groups."
            )
        if groups is None and self._in_stages(X, y, weight):
            return self._fit_stages(X, y, weight)
        loss, measure = self._loss(), self._measure(X)
        output_kernel = self._given_output_kernel()
        bounds = [Decomposable(kernel, output_kernel).bind(measure) for kernel in self._adapted_kernels(X)]
        bounds, stand_ins = zip(*[self._with_features(bound, X) for bound in bounds], strict=True)
        grid = [(bound, alphas or self._default_alphas(bound, loss, X, y, weight)) for bound in bounds]
        number, alpha = self._choose(grid, stand_ins, self._compare(grid, folds, data, loss, score))
        bound, taken = bounds[number], stand_ins[number]
        Y, centre = self._targets(y, weight, measure)
        return self._fit_function(X, Y, weight, bound, taken, loss, alpha, centre, rows.columns)

    def _learn_shape(self, rest: Residuals) -> KernelQuantileRegressor | None:
        """Compare λ = ∞, no shape, with joint models of some kernels and λ, where the shape may depend on x."""
        count = min(check_cv(self.cv).get_n_splits(), len(rest.standard))
        folds = list(KFold(count, shuffle=True, random_state=0).split(rest.features))
        params = [{"kernel": None, "alpha": math.inf}]
        scores = unshaped_scores(rest, self.measure_, folds)[None, :]
        gaps, search = np.zeros_like(scores), None
        if shape_may_depend(rest, self.measure_):
            search = self._search(shape_kernels(rest.features.shape[1]), folds).fit(*rest)
            params += search.cv_results_["params"]
            scores = np.vstack([scores, _each_split(search, "test_score")])
            gaps = np.vstack([gaps, _each_split(search, "relative_gap")])
        return search if self._choose_row(params, scores, gaps, range(len(params))) > 0 else None

    def _search(self, kernels: list[Kernel], folds: list) -> KernelQuantileRegressorCV:
        """Return the unfitted cross-validation of the shape."""
        settings = (
            "approximation",
            "measure",
            "refit",
            "cv_tol",
            "solver",
            "tol",
            "max_iter",
            "random_state",
            "verbose",
        )
        parts = {name: getattr(self, name) for name in settings}
        return KernelQuantileRegressorCV(kernels, alphas=SHAPE_ALPHAS, cv=folds, stages="joint", **parts)

    def _compare(self, grid, folds, data, loss, score) -> list[np.ndarray]:
        """Return scores, relative gaps and convergence, an array of shape (n_alphas, n_splits, 3) for each kernel."""
        tables = []
        for number, (bound, alphas) in enumerate(grid):
            parts = [(data.part(train, bound), data.part(test, bound, train)) for train, test in folds]
            name = f"kernel {number + 1} of {len(grid)}"
            tables.append(self._compare_alphas(bound, alphas, parts, loss, score, name))
        every = np.concatenate(tables)
        gaps, converged = every[..., 1], every[..., 2]
        if not np.all(converged):
            warnings.warn(
                f"{type(self).__name__}: {np.sum(converged == 0)} of {gaps.size} fits of the cross-validation did not "
                f"reach cv_tol = {self.cv_tol:g}; the largest relative gap is {gaps.max():.2g} (see cv_results_). "
                "Increase max_iter, leave out the smallest alphas, or accept this accuracy with a larger cv_tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return tables

    def _compare_alphas(self, bound, alphas, parts, loss, score, name) -> np.ndarray:
        """Return scores, gaps and convergence for one kernel, (n_alphas, n_splits, 3).

        Of the default λ, from large to small, those below one that is clearly worse than another are not tried: they
        overfit, and their fits take longest. This needs the factorisations of all folds at a time.
        """
        paths = (
            self._fold(bound, alphas, train, test, loss, score, f"{name}, fold {index + 1} of {len(parts)}")
            for index, (train, test) in enumerate(parts)
        )
        stored = 16 * sum(train.y.shape[0] ** 2 for train, _ in parts)  # a Gram matrix and its eigenvectors
        if self.alphas is not None or stored > memory_budget() / 2:
            return np.array([list(path) for path in paths]).transpose(1, 0, 2)
        table: list[Any] = []
        for row in zip(*list(paths), strict=True):
            table.append(row)
            if falls(np.array(table)[..., 0]):
                break
        return np.array(table)

    def _fold(self, bound, alphas, train, test, loss, score, name) -> Iterator[tuple[float, float, bool]]:
        """Yield score, relative gap and convergence for each λ, trained on some rows and scored on others."""
        X, y, weight = train if bound.kernel.pairwise else merge_duplicates(*train)
        Y, centre = self._targets(y, weight, bound.measure)
        problem = DualProblem(bound.gram(X), loss, Y, bound.measure, alphas[0], weight, self.fit_intercept)
        results = solve_path(problem, alphas, self.solver, self.cv_tol, self.max_iter, self)
        start = time.perf_counter()
        for alpha, result in zip(alphas, results, strict=True):
            if self.verbose:
                took = f"{time.perf_counter() - start:.1f} s"
                sys.stderr.write(f"[mercer] {name}, alpha {alpha:.3g}: gap {result.relative_gap:.1e}, {took}\n")
            model = self._candidate(bound, alpha)
            model.encoder_, model.n_features_in_ = None, int(X.shape[1])  # held-out rows are encoded by now
            model._store(X, bound, problem.with_alpha(alpha), result, centre)
            yield _as_score(self, score(model, *test)), result.relative_gap, result.converged

    def _candidate(self, bound, alpha) -> KernelQuantileRegressor:
        """Return the estimator whose fit is compared."""
        return KernelQuantileRegressor(
            bound.kernel,
            output_kernel=bound.output_kernel,
            alpha=alpha,
            measure=self.measure,
            loss=self.loss,
            fit_intercept=self.fit_intercept,
            noncrossing=self.noncrossing,
            solver=self.solver,
            tol=self.cv_tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
        )

    def _choose(self, grid, stand_ins, compared) -> tuple[int, float]:
        """Store the comparison and return the number of the chosen kernel, and λ."""
        scores, gaps = np.moveaxis(np.concatenate(compared)[..., :2], 2, 0)
        candidates = [
            (number, alpha)
            for number, ((_, alphas), table) in enumerate(zip(grid, compared, strict=True))
            for alpha in alphas[: len(table)]
        ]
        params = [{"kernel": stand_ins[number].exact, "alpha": alpha} for number, alpha in candidates]
        return candidates[self._choose_row(params, scores, gaps, [number for number, _ in candidates])]

    def _choose_row(self, params, scores, gaps, order) -> int:
        """Store the comparison and return which candidate was chosen; ``order`` is that of the kernels."""
        name = type(self).__name__
        if self.refit == "best":
            best = best_candidate(scores, name)
        else:
            regularity = [(row["alpha"], number) for row, number in zip(params, order, strict=True)]
            best = most_regular_candidate(scores, regularity, name)
        self.cv_results_ = tabulate(params, scores, gaps)
        self.n_splits_ = scores.shape[1]
        self.best_index_, self.best_params_ = best, params[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        return best

    def _warm_start(self, problem):
        return None  # the last choice may have been another kernel


class _Rows(NamedTuple):
    """Rows of positive weight."""

    X: Any
    y: Any
    weight: Any

    def part(self, rows: np.ndarray, bound: Any, columns: np.ndarray | None = None) -> _Rows:
        """Return some rows; of a Gram matrix, their values with the rows ``columns`` (themselves by default)."""
        X = take_rows(self.X, rows)
        if bound.kernel.pairwise:
            X = take_columns(X, rows if columns is None else columns)
        weight = None if self.weight is None else take_rows(self.weight, rows)
        return _Rows(X, take_rows(self.y, rows), weight)


def _each_split(search: KernelQuantileRegressorCV, name: str) -> np.ndarray:
    """Return a column of the comparison, shape (n_candidates, n_splits)."""
    return np.column_stack([search.cv_results_[f"split{index}_{name}"] for index in range(search.n_splits_)])


def _negative_loss(model: KernelQuantileRegressor, X: Any, y: Any, weight: Any) -> float:
    """Minus the mean loss of the predictions at the nodes: what is minimised, on rows that were not fitted."""
    predicted = model.predict_quantile(X, to_numpy(model.measure_.locations))
    values = model._loss().value(namespace(y).broadcast_to(y[:, None], predicted.shape), predicted, model.measure_)
    values = to_numpy(values)
    return -float(np.average(values, weights=None if weight is None else to_numpy(weight)))


def _as_score(owner: object, value: Any) -> float:
    """Return a score as a finite number or NaN, or refuse what is no number."""
    try:
        score = float(value)
    except (TypeError, ValueError) as error:
        raise parameter_error(owner, "scoring", value, "a function that returns one number") from error
    return score if np.isfinite(score) else np.nan
