"""Scorers for GridSearchCV and cross_val_score: callables (estimator, X, y) → number, larger is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.estimators.cost_sensitive import COST_HINT
from mercer.model_selection.cost_scores import decisions, expected_cost
from mercer.model_selection.quantile_scores import coverage, crossing, integrated_pinball, mean_crps
from mercer.quantile_function import check_levels

__all__ = [
    "make_coverage_scorer",
    "make_crossing_scorer",
    "make_crps_scorer",
    "make_expected_cost_scorer",
    "make_pinball_scorer",
]

#: costs of :func:`make_expected_cost_scorer`: 0.05, 0.1, …, 0.95
COSTS = tuple(j / 20 for j in range(1, 20))


@dataclass(frozen=True)
class _PinballScorer:
    levels: tuple[float, ...]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        predicted = estimator.predict_quantile(X, self.levels)
        return -integrated_pinball(y, predicted, self.levels, sample_weight=sample_weight)


@dataclass(frozen=True)
class _CRPSScorer:
    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        return -mean_crps(y, estimator.predict_function(X), sample_weight)


@dataclass(frozen=True)
class _CoverageScorer:
    nominal: float

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        return -abs(coverage(y, estimator.predict_interval(X, self.nominal), sample_weight) - self.nominal)


@dataclass(frozen=True)
class _CrossingScorer:
    levels: tuple[float, ...]

    def __call__(self, estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        return -crossing(estimator.predict_quantile(X, self.levels))


@dataclass(frozen=True)
class _ExpectedCostScorer:
    costs: tuple[float, ...]

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        positive, called = decisions(estimator, X, y, self.costs)
        return -float(np.mean(expected_cost(positive, called, self.costs, sample_weight)))


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
