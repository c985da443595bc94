"""What a fitted model says of itself: as text, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from mercer._html import bars, objective_of, section, table

__all__ = ["SummarisedEstimator", "facts", "listed", "relevant_columns"]

#: names that a line lists, and characters that it has: what kernels hold may be long
NAMES_IN_A_LINE, LONGEST_LINE = 12, 240


class SummarisedEstimator(BaseEstimator):
    """An estimator that says what was fitted: :meth:`summary`, and the same beside scikit-learn's diagram."""

    def summary(self) -> str:
        """Return what was fitted, as text: inputs, kernels, λ, the certificate, calibration.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import KernelQuantileRegressor
        >>> X = np.arange(20.0)[:, None]
        >>> print(KernelQuantileRegressor("gaussian", alpha=0.1).fit(X, X[:, 0]).summary())
        KernelQuantileRegressor
          inputs         columns without names (1)
          kernel         Gaussian(gamma=0.0277778)
          output kernel  Gaussian(gamma=7.01721)
          λ              0.1
          nodes          20 of θ
          certificate    relative gap ..., converged, ... iterations
        """
        shown = [(name, value) for name, value in facts(self) if value]
        width = max(len(name) for name, _ in shown)
        return "\n".join(
            [type(self).__name__, *(f"  {name:<{width}}  {' '.join(value.split())}" for name, value in shown)]
        )

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _html_repr(self) -> str:
        """Return scikit-learn's diagram, and below it what was fitted."""
        diagram = estimator_html_repr(self)
        shown = [(name, value) for name, value in facts(self) if value]
        if dict(shown).get("state") == "not fitted":
            return diagram
        found = relevant_columns(self)
        picture = "" if found is None else bars([name for name, _ in found], [share for _, share in found])
        objective = objective_of(type(self), staged=getattr(self, "stages_", None) is not None)
        return diagram + section(f"{type(self).__name__}, fitted", table(shown), objective, picture)


def facts(model: Any, names: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
    """Yield what a model says of itself: names and values, some of which may be empty.

    Parameters
    ----------
    model : estimator
    names : sequence of str, optional
        Names of its columns, where it knows none.
    """
    names = getattr(model, "feature_names_in_", names)
    if names is not None:
        yield "inputs", listed(names)
    elif hasattr(model, "module_"):  # of images and the like, whose columns are no inputs
        yield "inputs", f"what a {type(model.module_).__name__} makes of each row ({_inner(model).n_features_in_})"
    elif hasattr(model, "n_features_in_"):
        yield "inputs", f"columns without names ({model.n_features_in_})"
    else:
        yield "state", "not fitted"
        return
    if hasattr(model, "classes_"):
        yield "classes", listed(model.classes_)
    yield from _certified(_inner(model), names)
    if hasattr(model, "n_calibration_"):
        method = getattr(model, "method", getattr(model, "calibration", None))
        yield "calibration", f"{model.n_calibration_} rows that the fit has not seen, {method}"


def relevant_columns(model: Any, names: Sequence[str] | None = None) -> list[tuple[str, float]] | None:
    """Return the columns that matter most with their shares, for models that know them.

    A column of text, or of curves, is several to the model, whose shares are added.
    """
    model = _inner(model)
    relevance = getattr(model, "relevance_", getattr(model, "feature_importances_", None))
    if relevance is None:
        return None
    relevance, encoder = np.asarray(relevance), getattr(model, "encoder_", None)
    if encoder is not None and len(relevance) == sum(encoder.widths_):
        ends = np.cumsum(encoder.widths_)
        relevance = np.array([part.sum() for part in np.split(relevance, ends[:-1])])
    names = getattr(model, "feature_names_in_", names)
    if names is None or len(names) != len(relevance):
        names = [f"column {j}" for j in range(len(relevance))]
    order = np.argsort(-relevance, kind="stable")[:NAMES_IN_A_LINE]
    return [(str(names[j]), float(relevance[j])) for j in order]


def _inner(model: Any) -> Any:
    """Return the first of the models that a model is made of, or itself."""
    names = ("estimator_", "regressor_", "best_estimator_")
    parts = getattr(model, "estimators_", None) or [getattr(model, name) for name in names if hasattr(model, name)]
    first = next(iter(parts), model)
    return first if first is model else _inner(first)


def _certified(model: Any, names: Sequence[str] | None) -> Iterator[tuple[str, str]]:
    """Yield kernels, λ, what columns matter and the certificate of one fit, as far as it has them."""
    for name, title in (("kernel_", "kernel"), ("output_kernel_", "output kernel"), ("loss_", "loss")):
        value = getattr(model, name, None)
        text = "" if value is None else repr(value)
        yield title, text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]} …"
    if getattr(model, "stages_", None) is not None:
        shape = "constant" if getattr(model, "shape_", None) is None else "learned"
        yield "stages", f"location, spread and levels of the residuals, shape {shape}"
    alpha = getattr(model, "alpha_", None)
    yield "λ", f"{alpha:.3g}" if isinstance(alpha, float) and np.isfinite(alpha) else ""
    columns = relevant_columns(model, names)
    if columns is not None:
        yield "columns", ", ".join(f"{name} {100 * share:.0f} %" for name, share in columns)
    if getattr(model, "trees_", None) is not None:
        yield "trees", f"{model.n_estimators}, each of {model.max_samples_} rows and {model.max_features_} columns"
    if getattr(model, "embedding_", None) is not None:
        yield "codes", f"{model.embedding_.shape[1]} for each row"
    if getattr(model, "levels_", None) is not None and getattr(model, "times_", None) is not None:
        yield "nodes", f"{len(model.times_)} points, {len(model.levels_)} levels"
    elif getattr(model, "measure_", None) is not None:
        yield "nodes", f"{len(model.measure_)} of θ"
    closed = getattr(model, "stages_", None) is not None and getattr(model, "shape_", None) is None
    if hasattr(model, "relative_gap_") and not closed:  # stages alone solve no problem that has a gap
        yield "certificate", f"relative gap {model.relative_gap_:.1e}, {model.status_}, {model.n_iter_} iterations"


def listed(names: Any) -> str:
    """Return names, the first of many, in a line."""
    names = [str(name) for name in names]
    return ", ".join(names[:NAMES_IN_A_LINE]) + (f", … ({len(names)})" if len(names) > NAMES_IN_A_LINE else "")
