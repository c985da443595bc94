"""Measures on Θ: points and weights, and the rules that build them."""

from mercer.measures.measure import Measure
from mercer.measures.rules import (
    GaussLegendre,
    Halton,
    MeasureRule,
    MonteCarlo,
    Points,
    Sobol,
    Trapezoid,
)

__all__ = [
    "GaussLegendre",
    "Halton",
    "Measure",
    "MeasureRule",
    "MonteCarlo",
    "Points",
    "Sobol",
    "Trapezoid",
]
