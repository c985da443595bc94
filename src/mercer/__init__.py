"""mercer: functions of functions, learned with operator-valued kernels.

One fit predicts for every value of a parameter θ. Start with :class:`KernelQuantileRegressor`.
"""

import mercer.interop  # noqa: F401  # enters what opens the data of other libraries
from mercer._version import __version__
from mercer.estimators import (
    CandidateLists,
    ConformalCandidates,
    ConformalFunctionalRegressor,
    ConformalQuantileRegressor,
    CostMatrixClassifier,
    CostSensitiveClassifier,
    FunctionalRegressor,
    FunctionalRegressorCV,
    InputOutputKernelRegressor,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LearnedMatrix,
    LevelSetDetector,
    MultiTaskRegressor,
    OneClassForest,
    SemiSupervisedRegressor,
    SimplexClassifier,
    VectorAutoRegressor,
    VectorFieldRegressor,
    VectorValuedRegressor,
)
from mercer.io import load, save
from mercer.quantile_function import QuantileFunction

__all__ = [
    "CandidateLists",
    "ConformalCandidates",
    "ConformalFunctionalRegressor",
    "ConformalQuantileRegressor",
    "CostMatrixClassifier",
    "CostSensitiveClassifier",
    "FunctionalRegressor",
    "FunctionalRegressorCV",
    "InputOutputKernelRegressor",
    "KernelQuantileRegressor",
    "KernelQuantileRegressorCV",
    "LearnedMatrix",
    "LevelSetDetector",
    "MultiTaskRegressor",
    "OneClassForest",
    "QuantileFunction",
    "SemiSupervisedRegressor",
    "SimplexClassifier",
    "VectorAutoRegressor",
    "VectorFieldRegressor",
    "VectorValuedRegressor",
    "__version__",
    "load",
    "save",
]
