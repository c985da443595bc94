"""Estimators with the scikit-learn interface."""

from mercer.estimators.quantile import KernelQuantileRegressor

__all__ = ["KernelQuantileRegressor"]
