"""How the optimal value of a fit changes with λ and with the numbers in its kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.kernels import Constant, Kernel, Sum, parameter_slopes, pull_back
from mercer.linalg import LinearOperator
from mercer.operator_valued import Indexed, NodeRepresenters
from mercer.operator_valued.expansion import SeparableExpansion
from mercer.operator_valued.representers import output_gram
from mercer.problems import coefficient_slope

__all__ = ["row_slopes", "value_slopes"]


def value_slopes(model: Any) -> dict[str, np.ndarray]:
    """Return ∂V/∂p of the optimal value V = ``objective_`` of a fitted model, by the names of its parameters.

    By the envelope theorem only the explicit dependence on p counts, whatever the loss: ½‖h‖² for λ ("alpha"), and
    −(λ/2)⟨c, ∂𝐊/∂p c⟩ for numbers in the kernels, ``"kernel__..."`` and ``"output_kernel__..."``, and for
    ``"output_matrix"``.
    They are as exact as the coefficients c: a relative gap of 1e-6 gives about three digits.

    Parameters
    ----------
    model : fitted estimator
        Of one of the regressions, quantiles or costs, with a kernel k_X·k_Θ and its training rows: not in stages, and
        without an approximation.

    Returns
    -------
    dict of str to array

    Examples
    --------
    >>> from mercer import KernelQuantileRegressor
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> def value(gamma):
    ...     model = KernelQuantileRegressor(Gaussian(gamma), alpha=0.01, tol=1e-9)
    ...     return model.fit(X, np.sin(9 * X[:, 0]))
    >>> slope = value_slopes(value(3.0))["kernel__gamma"]
    >>> difference = (value(3.001).objective_ - value(2.999).objective_) / 0.002
    >>> bool(abs(slope / difference - 1) < 1e-3)
    True
    """
    h, X, coef, right = _parts(model)
    found = {"alpha": np.asarray(0.5 * h.norm**2)}
    inputs = coefficient_slope(model.alpha_, coef, right)
    slopes = parameter_slopes(model.kernel_, X, _with_mean(model.kernel_, h.kernel, X, inputs))
    found |= {f"kernel__{name}": value for name, value in slopes.items()}
    if not isinstance(h.representers, NodeRepresenters) or h.representers.slope_points is not None:
        return found
    outputs = coefficient_slope(model.alpha_, coef.T, h.kernel.gram(X))
    m, p = len(h.representers.points), h.n_components
    blocks = outputs.reshape(m, p, m, p)
    matrix = np.eye(p) if h.output_matrix is None else np.asarray(h.output_matrix)
    points, kernel = to_numpy(h.representers.points), h.representers.kernel
    slopes = parameter_slopes(kernel, points, np.einsum("jakb,ab->jk", blocks, matrix))
    if isinstance(kernel, Indexed):
        return found | slopes
    found |= {f"output_kernel__{name}": value for name, value in slopes.items()}
    if "output_matrix" in model.get_params(deep=False):
        found["output_matrix"] = np.einsum("jakb,jk->ab", blocks, to_numpy(kernel(points, points)))
    return found


def _with_mean(kernel: Kernel, fitted: Kernel, X: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return ∂V/∂K for K = k(X, X) where the fit has k + c·mean of k(x_i, x_i): room for a smooth mean curve."""
    match fitted:
        case Sum(left=left, right=Constant(value=level)) if left == kernel:
            return slope + np.eye(len(X)) * (np.sum(slope) * level / float(np.sum(kernel.diagonal(X))))
    return slope


def row_slopes(model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """Return ∂V/∂x_i of a fitted model for the rows that it was fitted to, shape (n, d).

    Equal rows with equal targets, which a fit merges, share a slope by their weights.
    """
    h, rows, coef, right = _parts(model)
    slope = _with_mean(model.kernel_, h.kernel, rows, coefficient_slope(model.alpha_, coef, right))
    slopes = pull_back(model.kernel_, rows, slope)
    if len(rows) == len(X):
        return slopes
    targets = np.unique(np.reshape(y, (len(X), -1)), axis=0, return_inverse=True)[1].reshape(-1)
    places: dict[bytes, int] = {}  # by first appearance, as the fit has them
    group = [places.setdefault(pair.tobytes(), len(places)) for pair in np.column_stack([X, targets]) + 0.0]
    weight = np.ones(len(X)) if weight is None else weight
    return slopes[group] * (weight / np.bincount(group, weights=weight)[group])[:, None]


def _parts(model: Any) -> tuple[SeparableExpansion, np.ndarray, np.ndarray, LinearOperator]:
    """Return h, its rows and coefficients, and the inner products of its functions of θ; refuse other models."""
    h, coef = getattr(model, "expansion_", None), getattr(model, "dual_coef_", None)
    if not isinstance(h, SeparableExpansion) or coef is None:
        raise UnsupportedError(
            f"{type(model).__name__}: slopes of the optimal value are those of a fit with a kernel k_X·k_Θ that keeps "
            "its rows; this one has other parts. Pass kernel=, for instance Gaussian(), with approximation=None, on "
            "NumPy data; curves that are scattered, and kernels that do not decompose, have none."
        )
    right = output_gram(h.representers, h.n_components, h.output_matrix)
    coef = to_numpy(coef).astype(float)[:, : right.shape[0]]  # what a basis does not reach is no function
    return h, to_numpy(model.X_fit_).astype(float), coef, right
