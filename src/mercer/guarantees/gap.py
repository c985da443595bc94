"""What a duality gap says of single predictions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.guarantees.bound import Bound
from mercer.operator_valued import FeatureExpansion, KernelExpansion

__all__ = ["prediction_error"]


def prediction_error(model: Any, X: Any, points: Any = None) -> Bound:
    """Return how far h(x)(θ) is from that of the exact minimiser at most: √(k_X(x, x)·k_Θ(θ, θ)·‖A‖)·√(2·gap/λ).

    The objective is λ-strongly convex in h, hence ‖h − ĥ‖ ≤ √(2·gap/λ), for models with an intercept, too, where it
    speaks of the part h without it.

    Parameters
    ----------
    model : fitted estimator
        Any with ``expansion_`` of a decomposable kernel, ``alpha_`` and ``dual_gap_``: quantiles (joint), costs,
        curves, vectors.
    X : array-like of shape (n, d)
        Rows.
    points : array-like of shape (k,) or (k, d), optional
        Points θ; the nodes by default.

    Returns
    -------
    Bound
        Its ``value`` has shape (n, k).

    Examples
    --------
    >>> from mercer import KernelQuantileRegressor
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> model = KernelQuantileRegressor("gaussian", alpha=0.1).fit(X, np.sin(5 * X[:, 0]))
    >>> prediction_error(model, X[:2], [0.1, 0.5]).value.shape
    (2, 2)
    """
    expansion = getattr(model, "expansion_", None)
    if not isinstance(expansion, (KernelExpansion, FeatureExpansion)) or model.kernel_.pairwise:
        raise UnsupportedError(
            "prediction_error: the model has no function h of a decomposable kernel (expansion_) on vectors. Of "
            "quantiles take stages='joint'."
        )
    X = model._valid_inputs(X)
    points = (
        to_numpy(model.expansion_.representers.points) if points is None else np.asarray(to_numpy(points), dtype=float)
    )
    points = points[:, None] if points.ndim == 1 else points
    A = expansion.output_matrix
    largest = 1.0 if A is None else float(np.linalg.eigvalsh(to_numpy(A))[-1])
    inputs, outputs = (to_numpy(k.diagonal(z)) for k, z in ((expansion.kernel, X), (model.output_kernel_, points)))
    norm = math.sqrt(2 * max(model.dual_gap_, 0.0) / model.alpha_)
    value = norm * np.sqrt(np.outer(np.maximum(inputs, 0), np.maximum(outputs, 0)) * largest)
    constants = {"distance": norm, "gap": model.dual_gap_, "alpha": model.alpha_}
    return Bound(value, "strong convexity: ‖h − ĥ‖ ≤ √(2·gap/λ)", constants, ("the intercept is not included",))
