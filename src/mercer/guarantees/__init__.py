"""Theorems as numbers: what is known of a fitted model, with the constants that go into it."""

from mercer.guarantees.bound import Bound
from mercer.guarantees.consistency import consistency_bound
from mercer.guarantees.gap import prediction_error
from mercer.guarantees.levels import cost_constants, cost_risk, level_roughness, quantile_constants, quantile_risk
from mercer.guarantees.quadrature import quadrature_error, star_discrepancy
from mercer.guarantees.regression import rademacher_risk, regression_risk, robust_constants
from mercer.guarantees.stability import StabilityConstants, rademacher_bound, sharp_stability_bound, stability_bound

__all__ = [
    "Bound",
    "StabilityConstants",
    "consistency_bound",
    "cost_constants",
    "cost_risk",
    "level_roughness",
    "prediction_error",
    "quadrature_error",
    "quantile_constants",
    "quantile_risk",
    "rademacher_bound",
    "rademacher_risk",
    "regression_risk",
    "robust_constants",
    "sharp_stability_bound",
    "stability_bound",
    "star_discrepancy",
]
