"""Reaching a method of an estimator that is wrapped: in a pipeline, a search or a frozen estimator.

scikit-learn's wrappers hand on ``predict`` and its kin only; ``predict_quantile`` is not among them.
"""

from __future__ import annotations

from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from mercer.exceptions import UnsupportedError

__all__ = ["offers", "reach", "reach_attribute", "weight_parameter"]


def offers(estimator: Any, method: str) -> bool:
    """Say whether the estimator, or the one it wraps, has the method; it need not be fitted."""
    if hasattr(estimator, method):
        return True
    if isinstance(estimator, Pipeline):
        return offers(estimator.steps[-1][1], method)
    return isinstance(estimator, (FrozenEstimator, BaseSearchCV)) and offers(estimator.estimator, method)


def reach(estimator: Any, X: Any, method: str) -> tuple[Any, Any]:
    """Return the fitted estimator that has the method, and X as it enters there: transformed by a pipeline's steps.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from mercer import KernelQuantileRegressor
    >>> X = np.arange(20.0)[:, None]
    >>> pipeline = make_pipeline(StandardScaler(), KernelQuantileRegressor(alpha=0.1)).fit(X, X[:, 0])
    >>> model, inner = reach(pipeline, X, "predict_quantile")
    >>> model.predict_quantile(inner, [0.1, 0.9]).shape
    (20, 2)
    """
    if hasattr(estimator, method):
        return estimator, X
    if isinstance(estimator, Pipeline):
        inner = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
        return reach(estimator.steps[-1][1], inner, method)
    if isinstance(estimator, FrozenEstimator):
        return reach(estimator.estimator, X, method)
    if isinstance(estimator, BaseSearchCV):
        return reach(estimator.best_estimator_, X, method)
    raise UnsupportedError(f"{type(estimator).__name__} has no method {method}, nor wraps an estimator that has it.")


def reach_attribute(estimator: Any, attribute: str, hint: str = "") -> tuple[Any, Any]:
    """Return the fitted estimator that has the attribute, and the names of its columns, None where none are known.

    They are those of the data frame that it was fitted on, or those that the other steps of its pipeline return.
    """
    if hasattr(estimator, attribute):
        return estimator, getattr(estimator, "feature_names_in_", None)
    if isinstance(estimator, Pipeline):
        model, names = reach_attribute(estimator.steps[-1][1], attribute, hint)
        return model, _returned_names(estimator[:-1]) if names is None else names
    if isinstance(estimator, FrozenEstimator):
        return reach_attribute(estimator.estimator, attribute, hint)
    if isinstance(estimator, BaseSearchCV) and hasattr(estimator, "best_estimator_"):
        return reach_attribute(estimator.best_estimator_, attribute, hint)
    name = type(estimator).__name__
    raise UnsupportedError(f"{name} has no {attribute}, nor wraps a fitted estimator that has it. {hint}".rstrip())


def _returned_names(steps: Pipeline) -> Any:
    try:
        return steps.get_feature_names_out() if len(steps) else None
    except (AttributeError, ValueError):  # a step that does not tell
        return None


def weight_parameter(estimator: Any) -> str:
    """Return the name under which ``fit`` takes the weights of samples, such as ``"svr__sample_weight"``."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return f"{name}__{weight_parameter(last)}"
    if isinstance(estimator, BaseSearchCV):
        return weight_parameter(estimator.estimator)
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    raise UnsupportedError(f"{type(estimator).__name__}.fit takes no sample_weight. Leave the weights out.")
