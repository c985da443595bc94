"""Estimators with the scikit-learn interface."""

from mercer.estimators.autoregression import VectorAutoRegressor
from mercer.estimators.candidates import CandidateLists, EncodedCandidates
from mercer.estimators.conformal import ConformalQuantileRegressor
from mercer.estimators.conformal_candidates import ConformalCandidates
from mercer.estimators.conformal_curves import ConformalFunctionalRegressor
from mercer.estimators.cost_matrix import CostMatrixClassifier
from mercer.estimators.cost_sensitive import CostSensitiveClassifier
from mercer.estimators.functional import FunctionalRegressor
from mercer.estimators.functional_cv import FunctionalRegressorCV
from mercer.estimators.functional_quantile import FunctionalQuantileRegressor
from mercer.estimators.gradient_search import GradientSearchCV
from mercer.estimators.input_output import InputOutputKernelRegressor
from mercer.estimators.kernel_autoencoder import KernelAutoencoder
from mercer.estimators.learned_matrix import LearnedMatrix
from mercer.estimators.level_sets import LevelSetDetector
from mercer.estimators.multi_task import MultiTaskRegressor
from mercer.estimators.one_class_forest import OneClassForest
from mercer.estimators.output_sketch import SparseSketch
from mercer.estimators.quantile import KernelQuantileRegressor
from mercer.estimators.quantile_cv import KernelQuantileRegressorCV
from mercer.estimators.semi_supervised import SemiSupervisedRegressor
from mercer.estimators.simplex import SimplexClassifier
from mercer.estimators.value_slopes import value_slopes
from mercer.estimators.vector_field import VectorFieldRegressor
from mercer.estimators.vector_valued import VectorValuedRegressor

__all__ = [
    "CandidateLists",
    "ConformalCandidates",
    "ConformalFunctionalRegressor",
    "ConformalQuantileRegressor",
    "CostMatrixClassifier",
    "CostSensitiveClassifier",
    "EncodedCandidates",
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
    "SemiSupervisedRegressor",
    "SimplexClassifier",
    "SparseSketch",
    "VectorAutoRegressor",
    "VectorFieldRegressor",
    "VectorValuedRegressor",
    "value_slopes",
]
