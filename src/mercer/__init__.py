"""mercer: functions of functions, learned with operator-valued kernels.

One fit predicts for every value of a parameter θ. Start with :class:`KernelQuantileRegressor`.
"""

from typing import TYPE_CHECKING, Any

import mercer.interop  # noqa: F401  # enters what opens the data of other libraries
from mercer._version import __version__
from mercer.estimators import (
    CandidateLists,
    ConformalCandidates,
    ConformalFunctionalRegressor,
    ConformalQuantileRegressor,
    CostMatrixClassifier,
    CostSensitiveClassifier,
    FunctionalQuantileRegressor,
    FunctionalRegressor,
    FunctionalRegressorCV,
    GradientSearchCV,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LearnedMatrix,
    LevelSetDetector,
    MultiTaskRegressor,
    OneClassForest,
    SemiSupervisedRegressor,
    SimplexClassifier,
    SparseSketch,
    VectorAutoRegressor,
    VectorFieldRegressor,
    VectorValuedRegressor,
)
from mercer.io import load, save
from mercer.quantile_function import QuantileFunction

if TYPE_CHECKING:
    from mercer.explorer import explore

__all__ = [
    "CandidateLists",
    "ConformalCandidates",
    "ConformalFunctionalRegressor",
    "ConformalQuantileRegressor",
    "CostMatrixClassifier",
    "CostSensitiveClassifier",
    "FunctionalQuantileRegressor",
    "FunctionalRegressor",
    "FunctionalRegressorCV",
    "GradientSearchCV",
    "InputOutputKernelRegressor",
    "KernelAutoencoder",
    "KernelQuantileRegressor",
    "KernelQuantileRegressorCV",
    "LearnedMatrix",
    "LevelSetDetector",
    "MultiTaskRegressor",
    "OneClassForest",
    "QuantileFunction",
    "SemiSupervisedRegressor",
    "SimplexClassifier",
    "SparseSketch",
    "VectorAutoRegressor",
    "VectorFieldRegressor",
    "VectorValuedRegressor",
    "__version__",
    "explore",
    "load",
    "save",
]


def __getattr__(name: str) -> Any:
    """Return what is loaded when it is asked for: pages are no part of most programs."""
    if name == "explore":
        from mercer.explorer import explore

        return explore
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")
