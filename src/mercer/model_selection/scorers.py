"""Scorers for GridSearchCV and cross_val_score: callables (estimator, X, y) → number, larger is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.estimators.cost_sensitive import COST_HINT
from mercer.estimators.delegation import reach
from mercer.model_selection.cost_scores import decisions, expected_cost
from mercer.model_selection.matrix_cost import check_cost_matrix, misclassification_cost
from mercer.model_selection.object_scores import example_f1, hamming_error, top_k_accuracy
from mercer.model_selection.quantile_scores import coverage, crossing, integrated_pinball, mean_crps
from mercer.quantile_function import check_levels

__all__ = [
    "make_cost_matrix_scorer",
    "make_coverage_scorer",
    "make_crossing_scorer",
    "make_crps_scorer",
    "make_example_f1_scorer",
    "make_expected_cost_scorer",
    "make_hamming_scorer",
    "make_pinball_scorer",
    "make_top_k_scorer",
]

#: costs of :func:`make_expected_cost_scorer`: 0.05, 0.1, …, 0.95
COSTS = tuple(j / 20 for j in range(1, 20))


@dataclass(frozen=True)
class _PinballScorer:
    levels: tuple[float, ...]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        model, inner = reach(estimator, X, "predict_quantile")
        predicted = model.predict_quantile(inner, self.levels)
        return -integrated_pinball(y, predicted, self.levels, sample_weight=sample_weight)


@dataclass(frozen=True)
class _CRPSScorer:
    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        model, inner = reach(estimator, X, "predict_function")
        return -mean_crps(y, model.predict_function(inner), sample_weight)


@dataclass(frozen=True)
class _CoverageScorer:
    nominal: float

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        model, inner = reach(estimator, X, "predict_interval")
        return -abs(coverage(y, model.predict_interval(inner, self.nominal), sample_weight) - self.nominal)


@dataclass(frozen=True)
class _CrossingScorer:
    levels: tuple[float, ...]

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        model, inner = reach(estimator, X, "predict_quantile")
        return -crossing(model.predict_quantile(inner, self.levels))


@dataclass(frozen=True)
class _ExpectedCostScorer:
    costs: tuple[float, ...]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        positive, called = decisions(estimator, X, y, self.costs)
        return -float(np.mean(expected_cost(positive, called, self.costs, sample_weight)))


@dataclass(frozen=True)
class _CostMatrixScorer:
    cost_matrix: tuple[tuple[float, ...], ...]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        predicted = estimator.predict(X)
        return -misclassification_cost(y, predicted, self.cost_matrix, estimator.classes_, sample_weight)


@dataclass(frozen=True)
class _ExampleF1Scorer:
    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        return example_f1(y, estimator.predict(X), sample_weight)


@dataclass(frozen=True)
class _HammingScorer:
    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        model, inner = reach(estimator, X, "predict_labels")
        return -hamming_error(y, model.predict_labels(inner), sample_weight)


@dataclass(frozen=True, eq=False)
class _TopKScorer:
    k: int
    candidates: Any

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        model, inner = reach(estimator, X, "truth_rank")
        return top_k_accuracy(model.truth_rank(inner, y, self.candidates), self.k, sample_weight)


def _sorted(levels: np.ndarray) -> tuple[float, ...]:
    return tuple(float(level) for level in np.sort(levels))


def make_pinball_scorer(levels: Any = (0.1, 0.3, 0.5, 0.7, 0.9)) -> _PinballScorer:
    """Return a scorer: minus the pinball loss, averaged over samples and levels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from mercer import KernelQuantileRegressor
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> y = np.sin(6 * X[:, 0])
    >>> scores = cross_val_score(KernelQuantileRegressor(alpha=1e-3), X, y, scoring=make_pinball_scorer(), cv=3)
    >>> bool(np.all(scores <= 0))
    True
    """
    return _PinballScorer(_sorted(check_levels("make_pinball_scorer", levels)))


def make_crps_scorer() -> _CRPSScorer:
    """Return a scorer: minus the continuous ranked probability score of the predicted quantile functions."""
    return _CRPSScorer()


def make_coverage_scorer(coverage: float = 0.9) -> _CoverageScorer:
    """Return a scorer: minus the distance of the empirical from the nominal coverage of central intervals."""
    check_number("make_coverage_scorer", "coverage", coverage, low=0, high=1)
    return _CoverageScorer(coverage)


def make_crossing_scorer(levels: Any = (0.1, 0.3, 0.5, 0.7, 0.9)) -> _CrossingScorer:
    """Return a scorer: minus the mean crossing of neighbouring levels, 0 for monotone predictions."""
    return _CrossingScorer(_sorted(check_levels("make_crossing_scorer", levels)))


def make_expected_cost_scorer(costs: Any = COSTS) -> _ExpectedCostScorer:
    """Return a scorer: minus the cost of errors, averaged over samples and costs θ.

    A missed positive costs θ and a false alarm 1 − θ. It asks for a
    :class:`~mercer.estimators.CostSensitiveClassifier`, also at the end of a Pipeline; what its parameter ``cost`` is
    does not matter. A cost that is listed twice counts twice; for one cost pass that one.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.model_selection import GridSearchCV
    >>> from mercer import CostSensitiveClassifier
    >>> from mercer.measures import GaussLegendre
    >>> X, y = make_moons(80, noise=0.3, random_state=0)
    >>> model = CostSensitiveClassifier(measure=GaussLegendre(5))
    >>> search = GridSearchCV(model, {"alpha": [1e-3, 10.0]}, scoring=make_expected_cost_scorer(), cv=3).fit(X, y)
    >>> search.best_params_
    {'alpha': 0.001}
    """
    return _ExpectedCostScorer(_sorted(check_levels("make_expected_cost_scorer", costs, "costs", COST_HINT)))


def make_cost_matrix_scorer(cost_matrix: Any) -> _CostMatrixScorer:
    """Return a scorer: minus the mean price of the labels that a classifier predicts.

    It asks for any classifier, of as many classes as the matrix has, and charges C_jl for calling l what is j, in the
    order of ``classes_``. A :class:`~mercer.estimators.CostMatrixClassifier` decides with its own parameter
    ``cost_matrix``: give it the same prices.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from mercer import CostMatrixClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> prices = np.array([[0, 1, 1], [1, 0, 1], [1, 20, 0]])  # to take the last class for the second is dear
    >>> means = []
    >>> for given in (None, prices):  # decisions that know nothing of the prices, and such as do
    ...     model = CostMatrixClassifier(LogisticRegression(), cost_matrix=given)
    ...     means.append(cross_val_score(model, X[:, :2], y, scoring=make_cost_matrix_scorer(prices)).mean())
    >>> bool(means[0] < means[1] < 0)
    True
    """
    matrix = check_cost_matrix("make_cost_matrix_scorer", cost_matrix)
    return _CostMatrixScorer(tuple(map(tuple, matrix.tolist())))


def make_example_f1_scorer() -> _ExampleF1Scorer:
    """Return a scorer: the mean F1 of the label sets that an estimator predicts, see :func:`example_f1`."""
    return _ExampleF1Scorer()


def make_hamming_scorer() -> _HammingScorer:
    """Return a scorer: minus the share of labels that ``predict_labels`` has wrong, see :func:`hamming_error`."""
    return _HammingScorer()


def make_top_k_scorer(k: int = 1, candidates: Any = None) -> _TopKScorer:
    """Return a scorer: the share of rows whose true object is among the k best candidates, see :func:`top_k_accuracy`.

    It asks for an :class:`~mercer.estimators.InputOutputKernelRegressor`, also at the end of a Pipeline. Candidates are
    the training outputs by default; lists of their own for each row cannot be split by cross-validation.
    """
    check_number("make_top_k_scorer", "k", k, low=1, strict=False, integer=True)
    return _TopKScorer(int(k), candidates)
