"""Scalar kernels, their algebra, their derivatives and bandwidths from data."""

from mercer.kernels.algebra import Product, Restricted, Scaled, Sum
from mercer.kernels.bandwidth import column_scales, median_distance
from mercer.kernels.base import Kernel
from mercer.kernels.callable import FunctionKernel
from mercer.kernels.categorical import Categorical
from mercer.kernels.features import ExplicitKernel, FeatureKernel
from mercer.kernels.histogram import ExponentiatedChiSquared, SkewedChiSquared
from mercer.kernels.identity import Identity
from mercer.kernels.layout import ColumnLayout
from mercer.kernels.on_functions import FunctionalGaussian, IntegralGaussian, IntegralLaplacian
from mercer.kernels.penalised import Penalised, penalised_kernel
from mercer.kernels.polynomial import Constant, Linear, Polynomial
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.projected import Projected
from mercer.kernels.radial import Gaussian, Matern, Radial, RationalQuadratic
from mercer.kernels.registry import as_kernel
from mercer.kernels.slopes import parameter_slopes, pull_back
from mercer.kernels.stationary import Laplacian, Periodic

__all__ = [
    "Kernel",
    "Radial",
    "Gaussian",
    "Laplacian",
    "Matern",
    "RationalQuadratic",
    "Periodic",
    "Constant",
    "Identity",
    "Categorical",
    "Linear",
    "Polynomial",
    "ExponentiatedChiSquared",
    "SkewedChiSquared",
    "IntegralGaussian",
    "IntegralLaplacian",
    "FunctionalGaussian",
    "Precomputed",
    "FunctionKernel",
    "ExplicitKernel",
    "FeatureKernel",
    "Sum",
    "Product",
    "Scaled",
    "Restricted",
    "Projected",
    "Penalised",
    "ColumnLayout",
    "as_kernel",
    "column_scales",
    "median_distance",
    "parameter_slopes",
    "penalised_kernel",
    "pull_back",
]
