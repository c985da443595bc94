"""What a file cannot hold is refused when it is written, with the place where it is and what to do."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    ConformalFunctionalRegressor,
    ConformalQuantileRegressor,
    FunctionalRegressor,
    KernelQuantileRegressor,
)
from mercer.exceptions import ParameterTypeError, UnsupportedError
from mercer.kernels import FeatureKernel, FunctionKernel, Gaussian
from mercer.losses import Square
from mercer.operator_valued import FunctionBasis

X = np.random.default_rng(0).normal(size=(30, 2))
y = X[:, 0] + 0.1 * X[:, 1]


@dataclass(eq=False, repr=False)
class OwnLoss(Square):
    """A loss of one's own."""


@dataclass(eq=False, repr=False)
class Gaussian_(Gaussian):
    """A kernel of one's own."""


Gaussian_.__name__ = "Gaussian"


class OwnRegressor(KernelQuantileRegressor):
    """An estimator of one's own."""


def product(x, z):
    return x @ z.T


SEARCH = GridSearchCV(KernelQuantileRegressor(alpha=0.1), {"alpha": [0.1]}, cv=2)
REFUSED = {
    "function": (KernelQuantileRegressor(FunctionKernel(product)), r"kernel.function is .*product.*A function is code"),
    "lambda": (KernelQuantileRegressor(FeatureKernel(lambda X: X)), r"kernel\.\w+ is .*<lambda>.*joblib"),
    "NumPy's function": (KernelQuantileRegressor(FeatureKernel(np.cbrt)), "A function is code"),
    "basis": (FunctionalRegressor(representation=FunctionBasis(lambda t: t, [1.0])), r"representation\.\w+ is"),
    "loss": (FunctionalRegressor(loss=OwnLoss()), r"loss is .*OwnLoss.*a class of your own"),
    "a name of ours": (KernelQuantileRegressor(Gaussian_()), "kernel is .*a class of your own"),
    "estimator": (OwnRegressor(), "OwnRegressor.*Only mercer's own estimators"),
    "foreign part": (ConformalFunctionalRegressor(Ridge()), r"estimator is sklearn\..*Ridge.*skops"),
    "pipeline": (make_pipeline(KernelQuantileRegressor()), "Pipeline is sklearn.pipeline.Pipeline.*skops"),
    "a pipeline within": (
        ConformalQuantileRegressor(make_pipeline(StandardScaler(), KernelQuantileRegressor())),
        r"ConformalQuantileRegressor.estimator is sklearn.pipeline.Pipeline",
    ),
    "search": (SEARCH.fit(X, y), "Save its best_estimator_"),
    "generator": (ConformalQuantileRegressor(random_state=np.random.RandomState(0)), "integer as random_state"),
    "object": (KernelQuantileRegressor(alpha=object()), "alpha is builtins.object"),
    "a list of them": (KernelQuantileRegressor(kernel=[Gaussian(), print]), r"kernel\[1\] is builtins.print"),
    "structured array": (KernelQuantileRegressor(alpha=np.zeros(2, dtype="f8,i4")), "Convert it to numbers"),
    "long floats": (KernelQuantileRegressor(alpha=np.zeros(2, dtype=np.longdouble)), "Convert it to numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_ours_is_refused(name, tmp_path):
    model, match = REFUSED[name]
    with pytest.raises(UnsupportedError, match=match):
        mercer.save(model, tmp_path / "a.mercer")
    assert list(tmp_path.iterdir()) == []


def test_fits_with_functions_are_refused_too(tmp_path):
    model = KernelQuantileRegressor(FunctionKernel(product), alpha=0.1).fit(X, y)
    with pytest.raises(UnsupportedError, match="A function is code"):
        mercer.save(model, tmp_path / "a.mercer")


def test_other_arrays_are_refused(tmp_path):
    strict = pytest.importorskip("array_api_strict")
    model = KernelQuantileRegressor(alpha=0.1).fit(strict.asarray(X), strict.asarray(y))
    with pytest.raises(UnsupportedError, match="Fit the model with NumPy arrays"):
        mercer.save(model, tmp_path / "a.mercer")


def test_values_within_themselves_are_refused(tmp_path):
    loop = []
    loop.append(loop)
    with pytest.raises(UnsupportedError, match="nested more than"):
        mercer.save(KernelQuantileRegressor(alpha=loop), tmp_path / "a.mercer")


def test_too_many_values_and_arrays_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.io.model_file.MOST_VALUES", 100)
    with pytest.raises(UnsupportedError, match="more single values than a file may have"):
        mercer.save(KernelQuantileRegressor(alpha=[0.0] * 100), tmp_path / "a.mercer")
    monkeypatch.setattr("mercer.io.writing.MOST_MEMBERS", 4)
    with pytest.raises(UnsupportedError, match="more than 2 arrays"):
        mercer.save(KernelQuantileRegressor(alpha=[np.zeros(1) for _ in range(3)]), tmp_path / "a.mercer")


@pytest.mark.parametrize("model", [None, 3, Gaussian(), KernelQuantileRegressor])
def test_other_things_are_no_models(model, tmp_path):
    with pytest.raises(ParameterTypeError, match="must be an estimator of mercer"):
        mercer.save(model, tmp_path / "a.mercer")
