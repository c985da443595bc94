"""Measures on Θ: points and weights, and the rules that build them."""

from mercer.measures.kernel_quadrature import KernelQuadrature
from mercer.measures.measure import Measure
from mercer.measures.product import ProductMeasure
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
    "KernelQuadrature",
    "Measure",
    "MeasureRule",
    "MonteCarlo",
    "Points",
    "ProductMeasure",
    "Sobol",
    "Trapezoid",
]
