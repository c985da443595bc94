"""What fitted models say of themselves, as text and in notebooks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import (
    ConformalFunctionalRegressor,
    ConformalQuantileRegressor,
    CostMatrixClassifier,
    CostSensitiveClassifier,
    FunctionalQuantileRegressor,
    FunctionalRegressor,
    GradientSearchCV,
    InputOutputKernelRegressor,
    KernelAutoencoder,
    KernelQuantileRegressor,
    LevelSetDetector,
    MultiTaskRegressor,
    OneClassForest,
    SemiSupervisedRegressor,
    SimplexClassifier,
    VectorAutoRegressor,
    VectorFieldRegressor,
    VectorValuedRegressor,
)
from mercer.estimators.summary import relevant_columns

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
TABLE = pd.DataFrame({"size": X[:, 0], "<b>town": X[:, 1]})
Y = X[:, 0] + 0.3 * RNG.normal(size=40)
JOINT = KernelQuantileRegressor("gaussian", alpha=1e-2)
SHOWN = [
    (KernelQuantileRegressor(), TABLE, Y, ["size, <b>town", "stages", "columns"]),
    (JOINT, X, Y, ["columns without names (2)", "Gaussian(gamma=", "0.01", "relative gap", "converged"]),
    (
        ConformalQuantileRegressor(JOINT, random_state=0),
        X,
        Y,
        ["fit has not seen, split", "relative gap"],
    ),
    (CostSensitiveClassifier("gaussian", alpha=1e-2), X, Y > 0, ["classes      ", "relative gap"]),
    (CostMatrixClassifier(CostSensitiveClassifier("gaussian", alpha=1e-2)), X, Y > 0, ["classes", "relative gap"]),
    (LevelSetDetector(), X, None, ["relative gap", "cross"]),
    (FunctionalRegressor("gaussian", alpha=1e-2), X, np.stack([Y, -Y], 1), ["Square()", "relative gap"]),
    (VectorValuedRegressor("gaussian", alpha=1e-2), X, np.stack([Y, -Y], 1), ["relative gap"]),
    (VectorFieldRegressor("curl-free"), X, X, ["CurlFree", "relative gap"]),
    (MultiTaskRegressor(task=1), np.column_stack([X[:, 0], Y > 0]), Y, ["relative gap"]),
    (SimplexClassifier("gaussian", alpha=1e-2), X, Y > 0, ["classes", "relative gap"]),
    (VectorAutoRegressor(), X, None, ["kernel"]),
    (GradientSearchCV(VectorValuedRegressor(), max_iter=1), X, Y, ["columns without names (2)", "relative gap"]),
    (SemiSupervisedRegressor(alpha=1e-2), X, np.where(np.arange(40) % 2, Y, np.nan)[:, None], ["Penalised", " …"]),
    (ConformalFunctionalRegressor(FunctionalRegressor("gaussian", alpha=1e-2)), X, np.stack([Y, -Y], 1), ["split"]),
    (OneClassForest(n_estimators=5, random_state=0), TABLE, None, ["trees", "5, each of", "<b>town", "%"]),
    (KernelAutoencoder(n_components=1, alpha=1e-2), X, None, ["codes", "1 for each row", "relative gap"]),
    (
        FunctionalQuantileRegressor("gaussian", alpha=1e-2, tol=1e-2, calibration=None),
        X,
        np.stack([Y, -Y, Y], 1),
        ["3 points, ", "levels", "relative gap"],
    ),
    (InputOutputKernelRegressor("gaussian", alpha=1e-2), X, np.stack([Y > 0, Y < 1], 1), ["Linear()", "relative gap"]),
]


@pytest.mark.parametrize(("model", "inputs", "targets", "words"), SHOWN, ids=lambda part: type(part).__name__)
def test_summaries(model, inputs, targets, words):
    assert model.summary().endswith("not fitted")
    diagram = model._repr_html_()
    model = model.fit(inputs) if targets is None else model.fit(inputs, targets)
    summary = model.summary()
    assert summary.splitlines()[0] == type(model).__name__
    assert [word for word in words if word not in summary] == []
    html = model._repr_html_()
    assert "sk-top-container" in html
    assert "fitted</strong>" in html
    assert "fitted</strong>" not in diagram
    assert "<b>town" not in html
    assert model._repr_mimebundle_()["text/html"].count("fitted</strong>") == 1


def test_every_estimator_has_a_summary():
    kinds = [getattr(mercer, name) for name in mercer.__all__]
    kinds = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    assert len(kinds) > 14
    assert all(callable(getattr(kind, "summary", None)) for kind in kinds)


def test_scikit_learn_shows_the_rest():
    model = make_pipeline(StandardScaler(), KernelQuantileRegressor(**JOINT.get_params())).fit(X, Y)
    assert "KernelQuantileRegressor" in model._repr_html_()
    with config_context(display="text"):
        assert not hasattr(JOINT, "_repr_html_")
        assert "text/html" not in JOINT._repr_mimebundle_()


def test_relevance_is_drawn():
    html = KernelQuantileRegressor().fit(TABLE, Y)._repr_html_()
    assert "shares of columns" in html
    assert html.count("<rect") == 2


def test_shares_of_a_column_of_text_are_added():
    table = TABLE.rename(columns={"<b>town": "town"}).assign(town=np.where(X[:, 1] > 0, "Oslo", "Rome"))
    model = KernelQuantileRegressor().fit(table, Y + (table["town"] == "Oslo"))
    found = dict(relevant_columns(model))
    assert set(found) == {"size", "town"}
    shares = dict(zip(model.encoder_.get_feature_names_out(), model.relevance_, strict=True))
    assert found["town"] == pytest.approx(shares["town=Oslo"] + shares["town=Rome"])
    assert "town=" not in model.summary()
