"""A fitted estimator as one that has nothing left to choose."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.functional_cv import FunctionalRegressorCV
from mercer.operator_valued import OperatorValuedKernel

__all__ = ["settle", "settle_choices"]

#: parameters that an attribute with an underscore has as they were chosen
CHOSEN = ("kernel", "output_kernel", "output_matrix", "loss")


def settle(estimator: Any) -> Any:
    """Return an unfitted copy of a fitted estimator that has what was chosen as its parameters.

    Fitted again, to the same rows or to others, it takes these kernels, λ and loss and chooses nothing: many fits to
    resampled rows then take little time each. A Pipeline is settled in its last step; of a search it is the best
    estimator; what is no FunctionalRegressor is cloned. With a ``representation`` other than "nodes" the output kernel
    stays as it was given.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FunctionalRegressor
    >>> X, grid = np.linspace(0, 1, 30)[:, None], np.linspace(0, 1, 8)
    >>> model = FunctionalRegressor(grid=grid).fit(X, np.sin(X + grid))
    >>> settle(model).alpha == model.alpha_
    True
    """
    if isinstance(estimator, BaseSearchCV):
        return settle(estimator.best_estimator_)
    if isinstance(estimator, FrozenEstimator):
        return settle(estimator.estimator)
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return clone(estimator).set_params(**{name: settle(last)})
    if not isinstance(estimator, FunctionalRegressor):
        return clone(estimator)
    check_is_fitted(estimator)
    given = {name: value for name, value in estimator.get_params(deep=False).items() if name in _parameters()}
    chosen = {"alpha": estimator.alpha_, "loss": estimator.loss_, "geometry": None}
    if not isinstance(estimator.kernel, OperatorValuedKernel):
        chosen["kernel"] = estimator.kernel_
        if isinstance(estimator.representation, str) and estimator.representation == "nodes":
            chosen["output_kernel"] = estimator.output_kernel_
    kind = FunctionalRegressor if isinstance(estimator, FunctionalRegressorCV) else type(estimator)
    return clone(kind(**(given | chosen)))


def settle_choices(fitted: Any, share: float = 1.0) -> Any:
    """Return an unfitted copy of a regression, of quantiles or of costs, with kernels, loss and λ·share as chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorValuedRegressor
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = VectorValuedRegressor(loss="huber", geometry="pointwise").fit(X, np.hstack([X, X**2]))
    >>> settle_choices(model).loss == model.loss_
    True
    """
    names = fitted.get_params(deep=False)
    chosen = {name: getattr(fitted, f"{name}_", None) for name in CHOSEN if name in names}
    known = {name: value for name, value in chosen.items() if value is not None}
    if "geometry" in names:  # the loss has it
        known["geometry"] = None
    return settle(fitted).set_params(**known, alpha=fitted.alpha_ * share)


def _parameters() -> set[str]:
    return set(FunctionalRegressor().get_params(deep=False))
