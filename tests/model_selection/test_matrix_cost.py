"""What errors cost by a matrix of prices: from the definition, row by row; and the scorer within scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import CostMatrixClassifier, KernelQuantileRegressor
from mercer.exceptions import DataError, MercerError
from mercer.measures import Points
from mercer.model_selection import (
    make_cost_matrix_scorer,
    make_coverage_scorer,
    make_crossing_scorer,
    make_crps_scorer,
    make_pinball_scorer,
    misclassification_cost,
)

RNG = np.random.default_rng(0)
PRICES = RNG.uniform(0, 9, size=(3, 3))
NAMES = np.array(["a", "b", "c"])
X, Y = load_iris(return_X_y=True)
X, Y = X[:, :2], NAMES[Y]


@pytest.mark.parametrize("weighted", [False, True])
def test_cost_is_the_mean_of_the_prices(weighted):
    true, called = NAMES[RNG.integers(0, 3, 40)], NAMES[RNG.integers(0, 3, 40)]
    weight = RNG.uniform(size=40) if weighted else np.ones(40)
    order = ["a", "b", "c"]
    paid = sum(s * PRICES[order.index(j), order.index(k)] for s, j, k in zip(weight, true, called, strict=True))
    found = misclassification_cost(true, called, PRICES, sample_weight=weight if weighted else None)
    assert found == pytest.approx(paid / weight.sum(), rel=1e-12)
    turned = misclassification_cost(true, called, PRICES[::-1, ::-1], ["c", "b", "a"], weight)
    assert turned == pytest.approx(found, rel=1e-12)


def test_zero_and_one_are_the_error_rate():
    assert misclassification_cost([0, 1, 2, 2], [0, 2, 2, 1], 1 - np.eye(3)) == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cost_matrix": [[0, 1, 2], [1, 0, 2]]}, "cost_matrix"),
        ({"cost_matrix": [[0, 1], [1]]}, "cost_matrix"),
        ({"cost_matrix": [[0, np.nan], [1, 0]]}, "cost_matrix"),
        ({"cost_matrix": [["0", "1"], ["1", "0"]]}, "cost_matrix"),
        ({"cost_matrix": 1 - np.eye(3)}, "3 classes, but there are 2"),
        ({"labels": [0, 2]}, "y must have the labels"),
        ({"y": [0, 0], "labels": [0, 2]}, "the predictions must have the labels"),
        ({"y": [0, 1, 1]}, "same shape"),
        ({"sample_weight": [1.0, -1.0]}, "non-negative"),
    ],
)
def test_refusals(change, message):
    given = {"y": [0, 1], "predicted": [1, 0], "cost_matrix": 1 - np.eye(2)} | change
    with pytest.raises(MercerError, match=message):
        misclassification_cost(**given)


def test_scorer_charges_what_is_predicted():
    scorer = make_cost_matrix_scorer(PRICES)
    model = CostMatrixClassifier(LogisticRegression(), cost_matrix=PRICES).fit(X, Y)
    weight = RNG.uniform(size=len(Y))
    assert scorer(model, X, Y, sample_weight=weight) == -misclassification_cost(
        Y, model.predict(X), PRICES, model.classes_, weight
    )
    part = Y != "c"  # rows of two classes only: the order is that of the model
    assert scorer(model, X[part], Y[part]) == -misclassification_cost(Y[part], model.predict(X[part]), PRICES, NAMES)
    assert pickle.loads(pickle.dumps(scorer)) == scorer


def test_scorer_within_searches_and_pipelines():
    dear = np.array([[0, 1, 1], [1, 0, 1], [1, 20, 0]])
    pipeline = make_pipeline(StandardScaler(), CostMatrixClassifier(LogisticRegression(), cost_matrix=dear))
    search = GridSearchCV(
        pipeline, {"costmatrixclassifier__cost_matrix": [None, dear]}, scoring=make_cost_matrix_scorer(dear), cv=3
    ).fit(X, Y)
    np.testing.assert_array_equal(search.best_params_["costmatrixclassifier__cost_matrix"], dear)
    assert search.best_score_ < 0


def test_matrices_of_other_classes_are_refused():
    with pytest.raises(DataError, match="3 classes, but there are 2"):
        make_cost_matrix_scorer(PRICES)(LogisticRegression().fit(X[:100], Y[:100]), X[:100], Y[:100])
    with pytest.raises(MercerError, match="cost_matrix"):
        make_cost_matrix_scorer([1, 2])


@pytest.mark.parametrize("make", [make_pinball_scorer, make_crps_scorer, make_coverage_scorer, make_crossing_scorer])
def test_scorers_of_quantiles_reach_into_pipelines(make):
    model = KernelQuantileRegressor(alpha=0.1, measure=Points([0.1, 0.5, 0.9]))
    x = X[:60, 0] + 1e-3 * np.arange(60)
    scores = cross_val_score(make_pipeline(StandardScaler(), model), x[:, None], X[:60, 1], scoring=make(), cv=2)
    assert np.all(np.isfinite(scores))
