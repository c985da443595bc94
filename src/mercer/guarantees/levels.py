"""Risks of functions of a level or a cost, integrated over all of them: Lambert (2021), section 5.3, corrected.

The thesis bounds the pinball loss as if its Lipschitz constant were 2; it is max(θ, 1 − θ), the mean of which is at
most one. Its bound on the variation of losses in θ adds roots of the widths of cells, which do not telescope; here the
variation of h comes from the norm of its derivative, ∫|∂_θ h(x)(θ)|dθ ≤ κ_X‖h‖D, D² the largest eigenvalue of the
integral operator of ∂₁∂₂k_Θ on L²[0, 1].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.guarantees.bound import Bound
from mercer.guarantees.quadrature import quadrature_error
from mercer.guarantees.stability import StabilityConstants, stability_bound
from mercer.kernels import Kernel
from mercer.losses import CostSensitiveHinge, Loss, Pinball
from mercer.measures import Measure

__all__ = ["cost_constants", "cost_risk", "level_roughness", "quantile_constants", "quantile_risk"]

#: Gauss–Legendre nodes with which an integral operator becomes a matrix
OPERATOR_NODES = 200
#: points of [0, 1] at which k_Θ(θ, θ) is looked at
DIAGONAL_NODES = 201


def mean_slope(measure: Measure) -> float:
    """Return c̄ = Σ_j w_j max(θ_j, 1 − θ_j), the Lipschitz constant of the integrated loss in the largest |h(θ)|."""
    theta, weights = to_numpy(measure.locations), to_numpy(measure.weights)
    return float(weights @ np.maximum(theta, 1 - theta))


def quantile_constants(
    measure: Measure, alpha: float, largest_target: float, input_size: float, level_size: float
) -> StabilityConstants:
    """Return the constants of the pinball loss, for |y| ≤ B, k_X(x, x) ≤ κ_X² and k_Θ(θ, θ) ≤ κ_Θ².

    C = c̄κ_Θ, M = √(2Bc̄/λ), ξ = c̄(B + κ_Xκ_ΘM), with c̄ the mean of max(θ, 1 − θ).

    Parameters
    ----------
    measure : Measure
        Levels and their weights.
    alpha, largest_target, input_size, level_size : float
        λ, B, κ_X and κ_Θ.

    Examples
    --------
    >>> from mercer.measures import Points
    >>> found = quantile_constants(Points((np.arange(20) + 0.5) / 20).build(), 0.1, 1.0, 1.0, 1.0)
    >>> round(found.norm, 6), round(found.largest_loss, 6), round(found.stability(0.1, 1000), 6)
    (3.872983, 3.654738, 0.005625)
    """
    return _constants(measure, alpha, largest_target, input_size, level_size)


def cost_constants(measure: Measure, alpha: float, input_size: float, level_size: float) -> StabilityConstants:
    """Return the constants of the cost-sensitive hinge loss: those of quantiles with B = 1."""
    return _constants(measure, alpha, 1.0, input_size, level_size)


def _constants(measure: Measure, alpha: float, at_zero: float, input_size: float, level_size: float):
    slope = mean_slope(measure)
    norm = math.sqrt(2 * at_zero * slope / alpha)
    largest = slope * (at_zero + input_size * level_size * norm)
    return StabilityConstants(norm, slope * level_size, input_size, largest)


def level_roughness(kernel: Kernel) -> float:
    """Return D, ‖∂_θ f‖_{L²[0, 1]} ≤ D‖f‖ for functions of the space of a kernel on [0, 1].

    D² is the largest eigenvalue of the integral operator of ∂₁∂₂k, by Gauss–Legendre quadrature, which is exact to
    rounding for analytic kernels.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> [round(level_roughness(Gaussian(gamma)), 4) for gamma in (5.0, 20.0, 200.0)]
    [2.0576, 3.1901, 6.0114]
    """
    nodes, weights = np.polynomial.legendre.leggauss(OPERATOR_NODES)
    theta, root = (nodes[:, None] + 1) / 2, np.sqrt(weights / 2)
    matrix = root[:, None] * kernel.derivative(theta, None, (1, 1)) * root
    return math.sqrt(max(float(np.linalg.eigvalsh(matrix)[-1]), 0.0))


def quantile_risk(model: Any, X: Any, y: Any, delta: float = 0.05, largest_target: float | None = None) -> Bound:
    """Return a bound on the pinball risk of a fitted quantile model, integrated over all levels of (0, 1).

    Stability and quadrature: with probability 1 − δ, R(h) ≤ R_n(h) + 2β + (4nβ + ξ)√(ln(1/δ)/(2n)) + V·D*, where R_n is
    the sampled risk on the n rows of the fit, D* the star discrepancy of the levels and V = B + κ_Xκ_ΘM + κ_XMD a bound
    on the variation of losses in θ.

    Parameters
    ----------
    model : KernelQuantileRegressor
        Fitted with the pinball loss, ``fit_intercept=False`` and ``stages="joint"``, for levels that stand for the
        uniform measure on (0, 1) (``GaussLegendre``, ``Sobol``, equally spaced ones); k_Θ needs derivatives.
    X, y :
        The rows of the fit.
    delta : float, default=0.05
        δ.
    largest_target : float, optional
        B ≥ |y| for all targets that may come; max |y_i| by default, which is then an assumption.

    Examples
    --------
    >>> from mercer import KernelQuantileRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = np.clip(X[:, 0] + 0.2 * rng.normal(size=300), -1, 1)
    >>> model = KernelQuantileRegressor("gaussian", alpha=1.0, fit_intercept=False).fit(X, y)
    >>> bound = quantile_risk(model, X, y, largest_target=1.0)
    >>> bound.constants["empirical"] < bound.value < 1
    True
    """
    _check_model(model, Pinball, "KernelQuantileRegressor")
    y = np.asarray(to_numpy(y), dtype=float)
    largest = float(np.max(np.abs(y))) if largest_target is None else float(largest_target)
    return _level_risk(model, X, y, delta, largest, quantile_constants, (largest,))


def cost_risk(model: Any, X: Any, y: Any, delta: float = 0.05) -> Bound:
    """Return a bound on the expected hinge loss of a fitted cost-sensitive classifier, integrated over all costs.

    As :func:`quantile_risk`, with B = 1: V = 1 + κ_Xκ_ΘM + κ_XMD.

    Parameters
    ----------
    model : CostSensitiveClassifier
        Fitted with the hinge loss and ``fit_intercept=False``, with a kernel or λ of its user.
    X, y :
        The rows of the fit and their labels.
    delta : float, default=0.05
        δ.
    """
    _check_model(model, CostSensitiveHinge, "CostSensitiveClassifier")
    signs = np.where(np.asarray(to_numpy(y)) == to_numpy(model.classes_)[1], 1.0, -1.0)
    return _level_risk(model, X, signs, delta, 1.0, cost_constants, ())


def _level_risk(model, X, y, delta, largest, constants_of, arguments) -> Bound:
    measure, loss = model.measure_, model._loss()
    X = model._valid_inputs(X)
    theta = np.linspace(0, 1, DIAGONAL_NODES)[:, None]
    level_size = math.sqrt(float(np.max(model.output_kernel_.diagonal(theta))))
    input_size = math.sqrt(float(np.max(to_numpy(model.kernel_.diagonal(X)))))
    constants = constants_of(measure, model.alpha_, *arguments, input_size, level_size)
    values = model.expansion_.evaluate(X, measure.points)
    targets = np.broadcast_to(y[:, None], values.shape)
    empirical = float(np.mean(loss.value(targets, values, measure)))
    bound = stability_bound(empirical, constants, model.alpha_, len(y), delta, model.dual_gap_)
    roughness = level_roughness(model.output_kernel_)
    variation = largest + input_size * constants.norm * (level_size + roughness)
    quadrature = quadrature_error(measure, variation)
    used = bound.constants | {"quadrature": quadrature.value} | quadrature.constants | {"roughness": roughness}
    assumptions = (
        *bound.assumptions,
        *quadrature.assumptions,
        f"|y| ≤ {largest:g} and k_X(x, x) ≤ {input_size**2:g} for all that may come",
    )
    theorem = f"{bound.theorem}; Lambert (2021), 5.22 with corrected constants"
    return Bound(bound.value + quadrature.value, theorem, used, assumptions)


def _check_model(model: Any, loss: type[Loss], name: str) -> None:
    """Refuse models of which the theorem says nothing."""
    check_is_fitted(model)
    joint = getattr(model, "stages_", None) is None and getattr(model, "inputs_", None) is None
    alike = hasattr(model, "measure_") and joint and type(model._loss()) is loss and model.X_fit_ is not None
    alike = alike and not model.kernel_.pairwise
    if not alike or model.fit_intercept or model.noncrossing not in (None, "rearrange"):
        raise UnsupportedError(
            f"The theorem is about min (1/n)Σ L(h(x_i)) + (λ/2)‖h‖², a fitted {name} with a kernel and alpha of yours, "
            f"loss={loss.__name__}(), fit_intercept=False and noncrossing=None or 'rearrange'; got {model!r}."
        )
