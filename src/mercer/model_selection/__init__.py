"""Scores and scorers, and what resampled and permuted rows say of a model of curves."""

from mercer.estimators.settle import settle
from mercer.model_selection.cost_scores import expected_cost
from mercer.model_selection.matrix_cost import misclassification_cost
from mercer.model_selection.object_scores import example_f1, hamming_error, top_k_accuracy
from mercer.model_selection.permutation import EffectTest, permutation_test
from mercer.model_selection.quantile_scores import (
    coverage,
    crossing,
    d2_integrated_pinball,
    integrated_pinball,
    mean_crps,
)
from mercer.model_selection.resampled_curves import ResampledCurves, resample_curves, resample_effects
from mercer.model_selection.scorers import (
    make_cost_matrix_scorer,
    make_coverage_scorer,
    make_crossing_scorer,
    make_crps_scorer,
    make_example_f1_scorer,
    make_expected_cost_scorer,
    make_hamming_scorer,
    make_pinball_scorer,
    make_top_k_scorer,
)

__all__ = [
    "EffectTest",
    "ResampledCurves",
    "coverage",
    "crossing",
    "d2_integrated_pinball",
    "example_f1",
    "expected_cost",
    "hamming_error",
    "integrated_pinball",
    "make_cost_matrix_scorer",
    "make_coverage_scorer",
    "make_crossing_scorer",
    "make_crps_scorer",
    "make_example_f1_scorer",
    "make_expected_cost_scorer",
    "make_hamming_scorer",
    "make_pinball_scorer",
    "make_top_k_scorer",
    "mean_crps",
    "misclassification_cost",
    "permutation_test",
    "resample_curves",
    "resample_effects",
    "settle",
    "top_k_accuracy",
]
