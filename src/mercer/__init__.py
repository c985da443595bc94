"""mercer: functions of functions, learned with operator-valued kernels.

One fit predicts for every value of a parameter θ. Start with :class:`KernelQuantileRegressor`.
"""

from importlib.metadata import PackageNotFoundError, version

import mercer.interop  # noqa: F401  # enters what opens the data of other libraries
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
    SimplexClassifier,
    VectorAutoRegressor,
    VectorFieldRegressor,
    VectorValuedRegressor,
)
from mercer.quantile_function import QuantileFunction

try:
    __version__ = version("mercer")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0+unknown"

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
    "QuantileFunction",
    "SimplexClassifier",
    "VectorAutoRegressor",
    "VectorFieldRegressor",
    "VectorValuedRegressor",
    "__version__",
]
