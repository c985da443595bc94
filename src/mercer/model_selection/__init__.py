"""Scores and scorers for predicted distributions."""

from mercer.model_selection.quantile_scores import (
    coverage,
    crossing,
    d2_integrated_pinball,
    integrated_pinball,
    mean_crps,
)
from mercer.model_selection.scorers import (
    make_coverage_scorer,
    make_crossing_scorer,
    make_crps_scorer,
    make_pinball_scorer,
)

__all__ = [
    "coverage",
    "crossing",
    "d2_integrated_pinball",
    "integrated_pinball",
    "make_coverage_scorer",
    "make_crossing_scorer",
    "make_crps_scorer",
    "make_pinball_scorer",
    "mean_crps",
]
