"""Scalar kernels, their algebra, their derivatives and bandwidths from data."""

from mercer.kernels.algebra import Product, Restricted, Scaled, Sum
from mercer.kernels.bandwidth import column_scales, median_distance
from mercer.kernels.base import Kernel
from mercer.kernels.callable import FunctionKernel
from mercer.kernels.categorical import Categorical
from mercer.kernels.features import ExplicitKernel, FeatureKernel
from mercer.kernels.histogram import ExponentiatedChiSquared
from mercer.kernels.identity import Identity
from mercer.kernels.layout import ColumnLayout
from mercer.kernels.on_functions import FunctionalGaussian, IntegralGaussian, IntegralLaplacian
from mercer.kernels.polynomial import Constant, Linear, Polynomial
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian, Matern, Radial, RationalQuadratic
from mercer.kernels.registry import as_kernel
from mercer.kernels.stationary import Laplacian, Periodic
from mercer.kernels.tabulated import Tabulated

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
    "IntegralGaussian",
    "IntegralLaplacian",
    "FunctionalGaussian",
    "Precomputed",
    "Tabulated",
    "FunctionKernel",
    "ExplicitKernel",
    "FeatureKernel",
    "Sum",
    "Product",
    "Scaled",
    "Restricted",
    "ColumnLayout",
    "as_kernel",
    "column_scales",
    "median_distance",
]
