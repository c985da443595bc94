"""Risks of regressions with outputs in a Hilbert space: robust losses and ridge regression."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.guarantees.bound import Bound
from mercer.guarantees.stability import StabilityConstants, rademacher_bound, stability_bound
from mercer.losses import EpsilonInsensitive, EpsilonRidge, Huber, Loss, Square
from mercer.measures import Measure
from mercer.operator_valued import FeatureExpansion, KernelExpansion
from mercer.operator_valued.components import component_measure
from mercer.operator_valued.representers import output_gram

__all__ = ["rademacher_risk", "regression_risk", "robust_constants"]


def robust_constants(loss: Loss, alpha: float, largest_output: float, size: float) -> StabilityConstants:
    """Return M, C and ξ of a loss of norms, for ‖y‖ ≤ M_Y and ‖K(x, x)‖ ≤ γ² (Laforgue et al., 2020, theorem 10).

    =================== =========================== ===================================== ===================
    loss                M                           ξ                                     C
    =================== =========================== ===================================== ===================
    square, ε-ridge     (M_Y − ε)/√λ                ½(M_Y − ε)²(1 + γ/√λ)²                (M_Y − ε)(1 + γ/√λ)
    ε-insensitive       √(2(M_Y − ε)/λ)             M_Y − ε + γM                          1
    Huber, M_Y ≥ κ      √(2κ(M_Y − κ/2)/λ)          κ(M_Y − κ/2) + κγM                    κ
    =================== =========================== ===================================== ===================

    The paper's table has the ε-ridge loss without ½; that of mercer has ½. Beyond M_Y ≤ ε the model is 0 and so are all
    losses; for M_Y < κ Huber's loss has the constants of the square loss, with C ≤ κ.

    Parameters
    ----------
    loss : Square, EpsilonRidge, EpsilonInsensitive or Huber
        Of norms.
    alpha, largest_output, size : float
        λ, M_Y and γ.

    Examples
    --------
    >>> found = robust_constants(EpsilonRidge(0.2), 0.1, 1.0, 1.0)
    >>> round(found.largest_loss, 6), round(found.lipschitz, 6), round(found.stability(0.1, 1000), 6)
    (5.543858, 3.329822, 0.110877)
    """
    robust = isinstance(loss, (EpsilonRidge, EpsilonInsensitive, Huber)) and loss.of_norms
    if not (robust or isinstance(loss, Square)):
        raise UnsupportedError(
            f"robust_constants: {loss!r} has no entry in the table: take Square(), or EpsilonRidge, EpsilonInsensitive "
            "or Huber with geometry='norm'."
        )
    root = math.sqrt(alpha)
    kappa = float(loss.kappa) if isinstance(loss, Huber) else math.inf
    epsilon = float(getattr(loss, "epsilon", 0.0))
    left = max(largest_output - epsilon, 0.0)
    if isinstance(loss, EpsilonInsensitive):
        norm = math.sqrt(2 * left / alpha)
        return StabilityConstants(norm, 1.0 if left > 0 else 0.0, size, left + size * norm if left > 0 else 0.0)
    if largest_output >= kappa:
        at_zero = kappa * (largest_output - kappa / 2)
        norm = math.sqrt(2 * at_zero / alpha)
        return StabilityConstants(norm, kappa, size, at_zero + kappa * size * norm)
    slope = left * (1 + size / root)
    return StabilityConstants(left / root, min(slope, kappa), size, 0.5 * slope**2)


def regression_risk(model: Any, X: Any, Y: Any, delta: float = 0.05, largest_output: float | None = None) -> Bound:
    """Return a bound on the risk E L(y − h(x)) of a fitted regression of curves or vectors, by uniform stability.

    Parameters
    ----------
    model : FunctionalRegressor or VectorValuedRegressor
        Fitted with the square loss or a robust one of norms, ``fit_intercept=False`` and a decomposable kernel, on
        complete outputs.
    X, Y :
        The rows of the fit.
    delta : float, default=0.05
        δ, the probability that the bound is wrong.
    largest_output : float, optional
        M_Y ≥ ‖y‖ for all outputs that may come; the largest of the rows by default, which is then an assumption.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import VectorValuedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 1))
    >>> Y = np.stack([np.sin(3 * X[:, 0]), np.cos(3 * X[:, 0])], axis=1) / 2
    >>> model = VectorValuedRegressor("gaussian", alpha=1.0, fit_intercept=False).fit(X, Y)
    >>> bound = regression_risk(model, X, Y)
    >>> bound.constants["empirical"] < bound.value
    True
    """
    empirical, constants, _, assumption = _ingredients(model, X, Y, largest_output)
    bound = stability_bound(empirical, constants, model.alpha_, len(Y), delta, model.dual_gap_)
    return Bound(bound.value, bound.theorem, bound.constants, (*bound.assumptions, assumption))


def rademacher_risk(model: Any, X: Any, Y: Any, delta: float = 0.05, largest_output: float | None = None) -> Bound:
    """Return the same risk, bounded by Rademacher averages: for outputs with a finite trace of K(x, x).

    Parameters
    ----------
    model, X, Y, delta, largest_output :
        As those of :func:`regression_risk`.
    """
    empirical, constants, trace, assumption = _ingredients(model, X, Y, largest_output)
    bound = rademacher_bound(empirical, constants, trace, model.alpha_, len(Y), delta, model.dual_gap_)
    return Bound(bound.value, bound.theorem, bound.constants, (*bound.assumptions, assumption))


def model_measure(model: Any) -> Measure:
    """Return the nodes of a fitted regression with their weights: 1 for the indices of vectors."""
    points = model.expansion_.representers.points
    return getattr(model, "measure_", None) or Measure(points, np.ones(len(points)))


def _ingredients(model: Any, X: Any, Y: Any, largest: float | None) -> tuple[float, StabilityConstants, float, str]:
    """Return the empirical risk, the constants, the trace of K(x, x), and what was taken for granted."""
    expansion = getattr(model, "expansion_", None)
    if not isinstance(expansion, (KernelExpansion, FeatureExpansion)) or model.fit_intercept or model.kernel_.pairwise:
        raise UnsupportedError(
            "The theorem is about min (1/n)Σ L(y_i − h(x_i)) + (λ/2)‖h‖²: a fitted FunctionalRegressor or "
            f"VectorValuedRegressor with fit_intercept=False, and a kernel that decomposes; got {model!r}."
        )
    p = expansion.n_components
    X, Y = model._valid_inputs(X), np.asarray(to_numpy(Y), dtype=float).reshape(len(Y), -1)
    nodes = model_measure(model)
    measure = component_measure(nodes, p)
    if Y.shape[1] != len(measure) or not np.all(np.isfinite(Y)):
        raise UnsupportedError("The theorem is about complete outputs at the nodes of the fit.")
    values = expansion.evaluate(X, nodes.points)
    root = np.sqrt(to_numpy(measure.weights))
    gram = root[:, None] * output_gram(expansion.representers, p, expansion.output_matrix).to_dense() * root
    square = float(np.max(to_numpy(expansion.kernel.diagonal(X))))
    size, trace = math.sqrt(square * float(np.linalg.eigvalsh(gram)[-1])), square * float(np.trace(gram))
    largest = float(np.max(measure.norm(Y))) if largest is None else float(largest)
    constants = robust_constants(model.loss_, model.alpha_, largest, size)
    empirical = float(np.mean(model.loss_.value(Y, values, measure)))
    return empirical, constants, trace, f"‖y‖ ≤ {largest:g} and k_X(x, x) ≤ {square:g} for all that may come"
