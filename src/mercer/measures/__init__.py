"""Measures on Θ: points and weights, and the rules that build them."""

from mercer.measures.measure import Measure
from mercer.measures.rules import (
    GaussLegendre,
    Grid,
    Halton,
    MeasureRule,
    MonteCarlo,
    Points,
    Sobol,
    Trapezoid,
)

__all__ = [
    "GaussLegendre",
    "Grid",
    "Halton",
    "Measure",
    "MeasureRule",
    "MonteCarlo",
    "Points",
    "Sobol",
    "Trapezoid",
]
