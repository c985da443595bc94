"""A small fit of every estimator, with what its methods are called with, for tests of files."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import KFold

import mercer
from mercer import (
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
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Categorical, Gaussian, Linear, Matern
from mercer.kernels.objects import Graph, Intersection, Jaccard, Spectrum, WeisfeilerLehman
from mercer.losses import Huber
from mercer.measures import Grid, MonteCarlo, Points
from mercer.operator_valued import CurlFree, Decomposable, HarmonicBasis, Indexed, NystromBasis
from mercer.preprocessing import KernelFeatures, TableEncoder

RNG = np.random.default_rng(0)
N = 48
X = RNG.normal(size=(N, 2))
TABLE = pd.DataFrame(
    {
        "size": np.where(RNG.random(N) < 0.1, np.nan, X[:, 0]),
        "town": RNG.choice(["Oslo", "Rome", None], N),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 90, N), unit="D"),
        "lift": RNG.random(N) < 0.5,
    }
)
y = np.sin(2 * X[:, 0]) + 0.3 * RNG.normal(size=N)
GRID = np.linspace(0.0, 1.0, 6)
CURVES = np.sin(3 * (GRID + X[:, :1])) + 0.1 * RNG.normal(size=(N, 6))
HOLES = np.where((RNG.random(CURVES.shape) < 0.2) & (np.arange(6) > 0), np.nan, CURVES)
SCATTERED = [(np.sort(RNG.uniform(size=5)), RNG.normal(size=5)) for _ in range(N)]
PAIRS = [(np.sort(RNG.uniform(size=7)), RNG.normal(size=7)) for _ in range(N)]
WORDS = np.array(["no", "yes"])[(y > 0).astype(int)]
CLASSES = np.digitize(y, [-0.5, 0.5])
ROTATION = np.stack([-X[:, 1], X[:, 0]], 1) + 0.1 * RNG.normal(size=(N, 2))
SERIES = np.cumsum(RNG.normal(size=(N, 2)), 0)
JOINT = {"alpha": 1e-2, "measure": Points([0.1, 0.4, 0.8])}
SUM = Decomposable(Gaussian(1.0), Indexed(np.eye(2))) + CurlFree(Gaussian(1.0))

FROZEN = FrozenEstimator(KernelQuantileRegressor(**JOINT).fit(X, y))

#: name → estimator, inputs, targets (None: it has none)
MODELS = {
    "quantiles": (KernelQuantileRegressor(), TABLE, y),
    "quantiles, joint": (KernelQuantileRegressor(Gaussian("standardized") + Linear(), **JOINT), X, y),
    "quantiles, sampled": (KernelQuantileRegressor(alpha=0.1, measure=MonteCarlo(8, stats.beta(2, 5))), X, y),
    "quantiles, guarantee": (KernelQuantileRegressor(noncrossing="guarantee", **JOINT), X[:, :1], y),
    "quantiles, by name": (
        KernelQuantileRegressor(Gaussian().restrict("size") * Categorical(0.5).restrict("town"), **JOINT),
        TABLE,
        y,
    ),
    "quantiles, of curves": (KernelQuantileRegressor(), PAIRS, y),
    "quantiles, tuned": (KernelQuantileRegressorCV(alphas=[1e-2, 1.0], measure=Points([0.2, 0.8]), cv=KFold(3)), X, y),
    "quantiles, calibrated": (ConformalQuantileRegressor(random_state=0), TABLE, y),
    "quantiles, crossed": (ConformalQuantileRegressor(KernelQuantileRegressor(**JOINT), method="cross", cv=3), X, y),
    "quantiles, frozen": (
        ConformalQuantileRegressor(FrozenEstimator(KernelQuantileRegressor(**JOINT).fit(X, y))),
        X,
        y,
    ),
    "searched": (GradientSearchCV(KernelQuantileRegressor(measure=Points([0.2, 0.8])), max_iter=2), X, y),
    "costs": (CostSensitiveClassifier(), TABLE, WORDS),
    "costs, joint": (CostSensitiveClassifier(Matern(1.5), alpha=1e-2), X, y > 0),
    "costs, several": (CostMatrixClassifier(CostSensitiveClassifier(alpha=1e-2)), X, CLASSES),
    "level sets": (LevelSetDetector(), TABLE, None),
    "forest": (OneClassForest(9, contamination=0.1, random_state=0), TABLE, None),
    "level sets, coupled": (LevelSetDetector(coupling=0.1, nested=True), X, None),
    "curves": (FunctionalRegressor(grid=GRID), TABLE, CURVES),
    "curves, of curves": (FunctionalRegressor(grid=GRID), PAIRS, CURVES),
    "curves, holes": (FunctionalRegressor(alpha=1e-3, grid=GRID, loss=Huber(0.5)), X, HOLES),
    "curves, scattered": (FunctionalRegressor(alpha=1e-3), X, SCATTERED),
    "curves, harmonics": (
        FunctionalRegressor(alpha=1e-3, grid=Grid(GRID), representation=HarmonicBasis(3), fit_intercept=False),
        X,
        CURVES,
    ),
    "curves, Nyström": (
        FunctionalRegressor(alpha=1e-3, grid=Grid(GRID), representation=NystromBasis(3), fit_intercept=False),
        X,
        CURVES,
    ),
    "curves, in space": (FunctionalRegressor(alpha=1e-3, grid=GRID), X, np.stack([CURVES, -CURVES], 2)),
    "curves, tuned": (FunctionalRegressorCV(grid=GRID, alphas=[1e-3, 1e-1], cv=3), X, CURVES),
    "curves, calibrated": (ConformalFunctionalRegressor(FunctionalRegressor(grid=GRID), random_state=0), TABLE, CURVES),
    "vectors": (VectorValuedRegressor(), TABLE, CURVES[:, :3]),
    "vectors, learned": (VectorValuedRegressor(output_matrix=LearnedMatrix(rank=1)), X, HOLES[:, :3]),
    "vectors, curl-free": (VectorValuedRegressor(CurlFree(Gaussian(1.0)), alpha=1e-2), X, ROTATION),
    "vectors, sum": (VectorValuedRegressor(SUM, alpha=1e-2), X, ROTATION),
    "fields": (VectorFieldRegressor(), X, ROTATION),
    "quantiles, landmarks": (KernelQuantileRegressor(approximation=Nystroem(9, random_state=0), **JOINT), X, y),
    "costs, waves": (CostSensitiveClassifier(approximation=RandomFourier(9, random_state=0)), TABLE, WORDS),
    "level sets, waves": (LevelSetDetector(approximation=RandomFourier(9, random_state=0)), X, None),
    "curves, landmarks": (FunctionalRegressor(grid=GRID, approximation=Nystroem(9, random_state=0)), X, CURVES),
    "vectors, landmarks": (VectorValuedRegressor(approximation=Nystroem(9, random_state=0)), X, CURVES[:, :3]),
    "fields, waves": (VectorFieldRegressor(approximation=RandomFourier(9, random_state=0)), X, ROTATION),
    "vectors, few": (SemiSupervisedRegressor(), X, np.where(np.arange(N)[:, None] % 3, np.nan, CURVES[:, :2])),
    "tasks": (MultiTaskRegressor(task=1), np.column_stack([X[:, 0], CLASSES]), y),
    "classes": (SimplexClassifier(), TABLE, CLASSES),
    "quantiles of curves": (FunctionalQuantileRegressor(grid=GRID, alpha=1e-2, random_state=0), TABLE, CURVES),
    "codes": (KernelAutoencoder(1, hidden=(3,), loss="huber"), TABLE, None),
    "series": (VectorAutoRegressor(), SERIES, None),
    "words": (
        InputOutputKernelRegressor(output_kernel=Spectrum(2), alpha=1e-2),
        X,
        ["ab" * (1 + k % 3) for k in CLASSES],
    ),
    "aspects of sets": (
        InputOutputKernelRegressor(Decomposable(Gaussian(1.0), Jaccard()) + Decomposable(Linear(), Intersection())),
        X,
        [{"a", int(k)} for k in CLASSES],
    ),
    "sketched outputs": (
        InputOutputKernelRegressor(
            output_kernel=Jaccard(),
            alpha=1e-2,
            output_matrix="learned",
            approximation=Nystroem(10),
            output_approximation=SparseSketch(5, 3),
        ),
        X,
        [{"a", int(k)} for k in CLASSES],
    ),
    "sets": (InputOutputKernelRegressor(output_kernel=Jaccard(), alpha=1e-2), X, [{"a", int(k)} for k in CLASSES]),
    "sets, calibrated": (
        ConformalCandidates(InputOutputKernelRegressor(output_kernel=Jaccard(), alpha=1e-2), random_state=0),
        TABLE,
        [{"a", int(k)} for k in CLASSES],
    ),
    "encoder": (TableEncoder(), TABLE, None),
    "kernel features": (KernelFeatures(random_state=0), X, None),
    "graphs": (
        InputOutputKernelRegressor(output_kernel=WeisfeilerLehman(1), alpha=1e-2),
        X,
        [Graph(["C", "O", "C"][: 1 + k], [(0, 1), (1, 2)][:k]) for k in CLASSES],
    ),
}

#: what methods are called with after the inputs, or instead of them
THETA = np.array([0.15, 0.5, 0.85])
ARGUMENTS = {
    "predict_at": (THETA,),
    "predict_quantile": (THETA,),
    "predict_derivative": (THETA,),
    "predict_cdf": (np.linspace(-1, 1, N),),
    "sample": (2, 0),
}
INSTEAD = {"forecast": (3,), "forecast_band": (3,)}
SEEDED = {"forecast_band": {"random_state": 0}}
#: public methods that do not predict: they fit, calibrate, judge, or return what has no arrays to compare
OTHERS = {
    *("fit", "partial_fit", "calibrate", "score", "fit_predict", "diagnose", "operating_curve", "predict_function"),
    *("decision_functions", "get_params", "set_params", "get_metadata_routing", "fit_transform", "set_output"),
}


def exported() -> list[type]:
    """Return the estimators that mercer exports, and its transformers."""
    kinds = [getattr(part, name) for part in (mercer, mercer.preprocessing) for name in part.__all__]
    return [kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, BaseEstimator)]


def fitted(name: str):
    """Return a fit, and the inputs that its methods take."""
    model, inputs, targets = MODELS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = clone(model).fit(inputs) if targets is None else clone(model).fit(inputs, targets)
    return model, inputs


def unheard(kind: type):
    """Return a fit of an estimator that has no line above, by the first of a few kinds of data that it takes."""
    for inputs in (X, X[:, :1]):
        for targets in (y, CURVES[:, :3], CLASSES, WORDS, SCATTERED, None):
            try:
                return (kind().fit(inputs) if targets is None else kind().fit(inputs, targets)), inputs
            except (TypeError, ValueError):
                continue
    raise AssertionError(f"{kind.__name__}().fit takes none of the data here: give it a line in MODELS")


def predictions(model, inputs) -> dict[str, object]:
    """Return what every method of a model says that predicts: those that are public and not among OTHERS."""
    found = {}
    for name in dir(type(model)):
        if name.startswith(("_", "set_")) or name in OTHERS or not callable(getattr(model, name, None)):
            continue
        arguments = INSTEAD.get(name) or (inputs, *ARGUMENTS.get(name, ()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            try:
                found[name] = getattr(model, name)(*arguments, **SEEDED.get(name, {}))
            except (TypeError, ValueError, AttributeError) as error:  # not offered by this fit: nor by a copy of it
                found[name] = f"{type(error).__name__}: {error}"
    return found
