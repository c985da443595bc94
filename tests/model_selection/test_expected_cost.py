"""What errors cost: from the definition, row by row; and the scorer within scikit-learn."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import CostSensitiveClassifier
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.measures import Points
from mercer.model_selection import expected_cost, make_expected_cost_scorer

RNG = np.random.default_rng(0)
X, Y = make_moons(60, noise=0.4, random_state=0)
NAMES = np.array(["ill", "well"])
WEIGHT = RNG.uniform(0.1, 2.0, len(Y))
COSTS = [0.2, 0.5, 0.9]


def classifier(**settings):
    return CostSensitiveClassifier(**{"alpha": 1e-2, "measure": Points([0.2, 0.5, 0.8]), **settings})


def paid(model, X, y, positive, costs, weight):
    """The mean over costs of what each row has to pay, one after the other."""
    total = 0.0
    for cost in costs:
        for label, called, share in zip(y, model.predict(X, cost=cost), weight, strict=True):
            price = cost if label == positive else 1 - cost
            total += share * price * (called != label)
    return total / np.sum(weight) / len(costs)


@pytest.mark.parametrize("positive", ["ill", "well"])
def test_the_scorer_is_what_predictions_cost(positive):
    model, labels = classifier(pos_label=positive).fit(X, NAMES[Y]), NAMES[RNG.permutation(Y)]
    found = make_expected_cost_scorer(COSTS)
    ones = np.ones(len(Y))
    assert found(model, X, labels) == pytest.approx(-paid(model, X, labels, positive, COSTS, ones))
    assert found(model, X, labels, WEIGHT) == pytest.approx(-paid(model, X, labels, positive, COSTS, WEIGHT))
    nineteen = np.arange(1, 20) / 20
    assert make_expected_cost_scorer()(model, X, labels) == pytest.approx(
        -paid(model, X, labels, positive, nineteen, ones)
    )
    assert make_expected_cost_scorer(0.3)(model, X, labels) == pytest.approx(
        -paid(model, X, labels, positive, [0.3], ones)
    )


def test_costs_of_arrays():
    positive = np.array([True, True, False, False])
    called = np.array([[True, False], [False, False], [True, True], [False, True]])
    np.testing.assert_allclose(expected_cost(positive, called, [0.2, 0.9]), [(0.2 + 0.8) / 4, (1.8 + 0.2) / 4])
    weight = [1.0, 0.0, 2.0, 1.0]
    np.testing.assert_allclose(expected_cost(positive, called, [0.2, 0.9], weight), [1.6 / 4, (0.9 + 0.3) / 4])
    right = np.repeat(positive[:, None], 2, axis=1)
    np.testing.assert_array_equal(expected_cost(positive, right, [0.2, 0.9]), 0)
    np.testing.assert_allclose(expected_cost(positive, ~right, [0.2, 0.9]), 0.5)


def test_probabilities_of_rivals_are_scored_likewise():
    costs = np.arange(1, 20) / 20
    model = CostSensitiveClassifier(noncrossing="rearrange").fit(X, Y)
    called = model.predict_proba(X)[:, 1:] > 1 - costs
    assert np.mean(expected_cost(Y == 1, called, costs)) == pytest.approx(-make_expected_cost_scorer()(model, X, Y))


def test_the_scorer_within_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), classifier(kernel=Gaussian(1.0)))
    scorer = make_expected_cost_scorer()
    scores = cross_val_score(pipeline, X, NAMES[Y], scoring=scorer, cv=3, error_score="raise")
    assert np.all((scores < 0) & (scores > -0.25))  # at random: a quarter
    for twin in (pickle.loads(pickle.dumps(scorer)), copy.deepcopy(scorer)):
        np.testing.assert_array_equal(cross_val_score(pipeline, X, NAMES[Y], scoring=twin, cv=3), scores)
    grid = {"costsensitiveclassifier__kernel__gamma": [1e-4, 1.0]}
    search = GridSearchCV(pipeline, grid, scoring=scorer, cv=3, error_score="raise").fit(X, NAMES[Y])
    assert search.best_params_ == {"costsensitiveclassifier__kernel__gamma": 1.0}
    assert scorer(search, X, NAMES[Y]) == scorer(search.best_estimator_, X, NAMES[Y])


def test_a_fold_may_have_one_class():
    few = slice(0, 12)
    scores = cross_val_score(
        classifier(), X[few], Y[few], scoring=make_expected_cost_scorer(), cv=LeaveOneOut(), error_score="raise"
    )
    assert scores.shape == (12,)


@pytest.mark.parametrize("costs", [0, 1.0, 90, [0.5, 1.5], [], "all", None, [np.nan]])
def test_costs_are_checked_at_once(costs):
    with pytest.raises(MercerError, match="make_expected_cost_scorer: costs must be"):
        make_expected_cost_scorer(costs)


def test_what_is_refused():
    model = classifier().fit(X, Y)
    scorer = make_expected_cost_scorer(COSTS)
    with pytest.raises(DataError, match=r"labels of the fit, \[0, 1\]; got 2"):
        scorer(model, X, Y + 1)
    with pytest.raises(DataError, match=r"y must have shape \(60,\)"):
        scorer(model, X, Y[:-1])
    with pytest.raises(DataError, match="sample_weight must be non-negative"):
        scorer(model, X, Y, -WEIGHT)
    with pytest.raises(UnsupportedError, match="LogisticRegression has no method operating_curve"):
        scorer(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(DataError, match=r"called must have shape \(2, 2\)"):
        expected_cost([True, False], [[True], [True]], [0.2, 0.5])
    with pytest.raises(DataError, match="must be True or False"):
        expected_cost([-1, 1], [[True], [True]], [0.2])
    with pytest.raises(DataError, match="must hold numbers"):
        expected_cost(["ill"], [[True]], [0.2])
    with pytest.raises(MercerError, match="expected_cost: costs must be"):
        expected_cost([True], [[True]], [1.2])
