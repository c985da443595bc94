"""An estimator fitted to rows in blocks: what is chosen is chosen on a sample, then all rows are fitted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer.backend import to_numpy
from mercer.estimators.approximation import AUTOMATIC_LANDMARKS
from mercer.estimators.binary_labels import whether_positive
from mercer.estimators.cost_sensitive import CostSensitiveClassifier
from mercer.estimators.feature_posterior import FeaturePosterior
from mercer.estimators.intercept_function import InterceptFunction
from mercer.estimators.interruption import interruptible, warn_of_gap
from mercer.estimators.noncrossing import DURING_FIT
from mercer.estimators.quantile import KernelQuantileRegressor
from mercer.estimators.vector_valued import VectorValuedRegressor
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.features import FeatureMap, Nystroem
from mercer.kernels import Kernel
from mercer.linalg import representer_coef, right_factor
from mercer.losses import Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, FeatureExpansion
from mercer.operator_valued.representers import output_gram
from mercer.problems import FeatureProblem, RowBlocks
from mercer.solvers import StreamedResult, StreamedSolver, select_streamed

__all__ = ["EncodedRows", "StreamedFit"]

#: gap of the fit to the sample, of which only what was chosen is kept
SAMPLE_TOL = 1e-2


class StreamedFit:
    """The fit of an estimator to rows in blocks, wherever they live, after a sample of them.

    The estimator is fitted to the sample as it is to any data: bandwidths, features, λ, thresholds of losses and
    encodings are those of that fit, and mean what they mean there. Then the same problem, with the features in place
    of the kernel, is solved on all rows (:class:`~mercer.problems.FeatureProblem`), from the model of the sample on.

    Parameters
    ----------
    estimator : KernelQuantileRegressor, CostSensitiveClassifier or VectorValuedRegressor
        Its ``approximation`` is a FeatureMap; ``"auto"`` takes landmarks, 1 500 at most. ``solver`` is "auto", "admm",
        "lbfgs" or a :class:`~mercer.solvers.StreamedSolver`.
    X, y, weight : array-like
        The sample, as the estimator's ``fit`` takes it.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, weight: Any = None) -> None:
        kind = STREAMED.get(type(estimator))
        if kind is None:
            names = ", ".join(sorted(one.__name__ for one in STREAMED))
            raise UnsupportedError(
                f"{type(estimator).__name__} cannot be fitted to rows in blocks; {names} can. For others fit a sample "
                "of the rows in memory, with approximation=Nystroem(500)."
            )
        check(estimator)
        self.estimator = estimator
        self.model = clone(estimator).set_params(
            approximation=features_of(estimator, len(X)), solver="auto", max_iter=None, warm_start=False
        )
        self.model.set_params(tol=max(self.model.tol, SAMPLE_TOL))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of a fit that is not the one that was asked for
            self.model.fit(X, y, sample_weight=weight)
        if not isinstance(self.model.expansion_, FeatureExpansion):
            raise UnsupportedError(
                f"{type(estimator).__name__}: rows in blocks need features of k_X in k_X·k_Θ; {self.model.kernel_!r} "
                "has none that are scalar."
            )
        self._kind = kind

    @property
    def kernel(self) -> Kernel:
        """k̃_X, with explicit features."""
        return self.model.expansion_.kernel

    @property
    def encode(self) -> EncodedRows:
        """What makes numbers of rows as they come: (X, y, weight) ↦ (X, Y, weight)."""
        return EncodedRows(self.model, self._kind)

    def fit(self, blocks: RowBlocks) -> Any:
        """Fit the estimator to all rows, encoded, and return it; where that fails, it stays as it was."""
        model, h = self.model, self.model.expansion_
        loss, measure = self._kind.posed(model)
        matrix = to_numpy(output_gram(h.representers, h.n_components, h.output_matrix).to_dense())
        factor = right_factor(matrix, measure.weights)
        problem = FeatureProblem(blocks, loss, measure, model.alpha_, factor, bool(model.fit_intercept))
        given = self.estimator
        solver = select_streamed(given.solver, problem, given.tol, given.max_iter, given)
        start = to_numpy(h.coef) @ factor, np.asarray(self._kind.intercept(model), dtype=float)
        with interruptible() as interrupted:
            result = solver.solve(problem, start, interrupted=interrupted)
        if result.status != "stopped" or interrupted.asked:
            warn_of_gap(result, interrupted, depth=2)
        coef = representer_coef(result.coef, factor, measure.weights)
        model.expansion_ = replace(h, coef=coef)
        model.X_fit_ = model.dual_coef_ = model.columns_ = None
        model.objective_, model.dual_gap_, model.relative_gap_ = result.objective, result.gap, result.relative_gap
        model.n_iter_, model.status_, model.solver_ = result.n_iter, result.status, result.solver
        self._kind.become(model, problem, result)
        settings = given.get_params(deep=False)
        vars(given).update({name: value for name, value in vars(model).items() if name not in settings})
        return given


def check(estimator: Any) -> None:
    """Refuse settings that need all rows at once."""
    name = type(estimator).__name__
    noncrossing = getattr(estimator, "noncrossing", None)
    if noncrossing in DURING_FIT:
        hint = "Slopes are not among the outputs of rows in blocks."
        raise parameter_error(estimator, "noncrossing", noncrossing, "'rearrange' or None for rows in blocks", hint)
    if getattr(estimator, "metric", None) is not None:
        hint = "Divide the columns of Y by their deviations instead."
        raise parameter_error(estimator, "metric", estimator.metric, "None for rows in blocks", hint)
    if getattr(estimator, "stages", None) == "separate":
        raise parameter_error(estimator, "stages", "separate", "'auto' or 'joint' for rows in blocks")
    if not (isinstance(estimator.solver, (str, StreamedSolver))):
        hint = "For instance StreamedADMM(tol=1e-3)."
        allowed = "'auto', 'admm', 'lbfgs' or a StreamedSolver for rows in blocks"
        raise parameter_error(estimator, "solver", estimator.solver, allowed, hint)
    if estimator.__sklearn_tags__().input_tags.pairwise:
        raise UnsupportedError(f"{name}: a Gram matrix does not come in blocks of rows. Pass points and a kernel.")


def features_of(estimator: Any, n_sample: int) -> FeatureMap | None:
    """Return the features that an estimator asks for; None where its kernel has features already."""
    given, kernel = estimator.approximation, estimator.kernel
    if isinstance(given, FeatureMap):
        return given
    inner = kernel.kernel if isinstance(kernel, Decomposable) else kernel
    if getattr(inner, "explicit", False):
        return None
    if given is None:
        allowed = "a FeatureMap or 'auto' for rows in blocks, unless the kernel has features"
        raise parameter_error(estimator, "approximation", given, allowed, "For instance Nystroem(500).")
    return Nystroem(min(AUTOMATIC_LANDMARKS, n_sample), random_state=0)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows as they come, as inputs and targets of the problem: what can be sent to where they are.

    Parameters
    ----------
    model : estimator
        Fitted to a sample; it knows columns, encodings and classes.
    kind : type
        What knows its targets.
    """

    model: Any
    kind: type[Quantiles]

    def __call__(self, X: Any, y: Any, weight: Any = None) -> tuple[Any, np.ndarray, Any]:
        """Return (X, Y, weight) without rows of weight 0."""
        X = self.model._valid_inputs(X, "fit")
        Y = self.kind.targets(self.model, y, len(X))
        if weight is None:
            return X, Y, None
        weight = np.asarray(weight, dtype=float)
        kept = weight != 0
        return (X, Y, weight) if np.all(kept) else (X[kept], Y[kept], weight[kept])


# -- what the estimators have of their own ----------------------------------------------------------------------------


class Quantiles:
    """A target that is the same at each level."""

    @staticmethod
    def targets(model: Any, y: Any, n: int) -> np.ndarray:
        return _numbers(model, y, n, 1)

    @staticmethod
    def posed(model: Any) -> tuple[Loss, Measure]:
        return model._loss(), model.measure_

    @staticmethod
    def intercept(model: Any) -> Any:
        return model.intercept_

    @staticmethod
    def become(model: Any, problem: FeatureProblem, result: StreamedResult) -> None:
        model.intercept_ = result.intercept
        model.intercept_function_ = InterceptFunction(model.intercept_, model.measure_)


class Costs(Quantiles):
    """Labels, as signs; thresholds of rows that were held out of the sample stay."""

    @staticmethod
    def targets(model: Any, y: Any, n: int) -> np.ndarray:
        return np.where(whether_positive(model, y, n), 1.0, -1.0)[:, None]

    @staticmethod
    def intercept(model: Any) -> Any:
        return model.optimal_intercept_

    @staticmethod
    def become(model: Any, problem: FeatureProblem, result: StreamedResult) -> None:
        thresholds = model.optimal_intercept_ - model.intercept_
        model.optimal_intercept_ = result.intercept
        model.intercept_ = result.intercept - thresholds
        model.intercept_function_ = InterceptFunction(model.intercept_, model.measure_)


class Vectors(Quantiles):
    """Vectors, with the Gaussian process of the square loss; rows are not named, as there are too many."""

    @staticmethod
    def targets(model: Any, y: Any, n: int) -> np.ndarray:
        return _numbers(model, y, n, len(model.layout_.measure))

    @staticmethod
    def posed(model: Any) -> tuple[Loss, Measure]:
        return model.loss_, model.layout_.measure

    @staticmethod
    def become(model: Any, problem: FeatureProblem, result: StreamedResult) -> None:
        model.intercept_ = result.intercept
        model.support_ = model.saturated_ = model.posterior_ = None
        model.signal_variance_ = model.noise_variance_ = None
        if not (isinstance(problem.loss, Square) and problem.complete):
            return
        n, p = problem.shape
        assert problem.factor is not None  # features are scalar
        variance = problem.signal_variance(result.objective, n * p - (p if problem.fit_intercept else 0))
        model.signal_variance_, model.noise_variance_ = variance, problem.shift * variance
        model.posterior_ = FeaturePosterior.of_moments(
            model.expansion_.kernel,
            problem.moments,
            matrix=problem.factor @ problem.factor.T,
            shift=problem.shift,
            variance=variance,
            factor=None,
            centred=problem.fit_intercept,
        )


def _numbers(model: Any, y: Any, n: int, columns: int) -> np.ndarray:
    """Return targets as numbers, shape (n, columns)."""
    Y = np.asarray(y)
    Y = Y[:, None] if Y.ndim == 1 else Y
    if Y.shape != (n, columns):
        raise DataError(f"{type(model).__name__}: y must have shape ({n}, {columns}), as X has; got {Y.shape}.")
    if Y.dtype.kind not in "fiub":
        raise DataError(f"{type(model).__name__}: y must hold numbers; its type is {Y.dtype}.")
    return Y.astype(float)


#: what can be fitted to rows in blocks, and how
STREAMED: dict[type, type[Quantiles]] = {
    KernelQuantileRegressor: Quantiles,
    CostSensitiveClassifier: Costs,
    VectorValuedRegressor: Vectors,
}
