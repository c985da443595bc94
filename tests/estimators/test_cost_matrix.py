"""Several classes: probabilities against scikit-learn's, decisions by brute force, prices obeyed, and bad input."""

import pickle

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import CostMatrixClassifier, CostSensitiveClassifier
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre, Points

RNG = np.random.default_rng(0)
MEANS = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
NAMES = np.array(["blue", "green", "red"])
SHARES = np.array([0.5, 0.3, 0.2])
PRICES = np.array([[0.0, 1.0, 2.0], [5.0, 0.0, 1.0], [12.0, 3.0, 0.5]])


def three(n, rng):
    """Three clouds and the probability of each of them at each point."""
    y = rng.choice(3, n, p=SHARES)
    x = MEANS[y] + rng.normal(size=(n, 2))
    density = np.column_stack([multivariate_normal(mean).pdf(x) for mean in MEANS]) * SHARES
    return x, y, density / density.sum(axis=1, keepdims=True)


X, Y, _ = three(300, RNG)
NEW, TARGET, TRUTH = three(1500, RNG)
BASE = CostSensitiveClassifier(alpha=1e-3, measure=GaussLegendre(6))


@pytest.fixture(scope="module")
def model():
    return CostMatrixClassifier(BASE).fit(X, NAMES[Y])


@parametrize_with_checks([CostMatrixClassifier(CostSensitiveClassifier("gaussian", measure=Points([0.25, 0.5, 0.75])))])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# --- against others


def test_probabilities_are_those_of_one_against_the_rest(model):
    expected = OneVsRestClassifier(BASE).fit(X, NAMES[Y])
    np.testing.assert_array_equal(model.classes_, NAMES)
    np.testing.assert_allclose(model.predict_proba(NEW), expected.predict_proba(NEW), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(NEW), NAMES[np.argmax(expected.predict_proba(NEW), axis=1)])
    assert [each.relative_gap_ <= 1e-3 for each in model.estimators_] == [True] * 3


def test_probabilities_are_near_the_truth(model):
    found = model.predict_proba(NEW)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-14)
    assert np.mean(np.abs(found - TRUTH)) < 0.3 * np.mean(np.abs(SHARES - TRUTH))  # 0.25 of it
    assert log_loss(NAMES[TARGET], found) < log_loss(TARGET, TRUTH) + 0.06  # 0.035 more


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_log_loss_of_the_defaults(load):
    x, y = load(return_X_y=True)
    found = cross_val_predict(CostMatrixClassifier(), x, y, method="predict_proba", cv=3)
    assert log_loss(y, found) < 0.12  # 0.073 and 0.040; log(3) for the shares of the classes
    assert np.mean(np.argmax(found, axis=1) == y) > 0.93


@pytest.mark.parametrize("of_rows", [False, True])
def test_decisions_are_the_cheapest(model, of_rows):
    prices = RNG.uniform(-1, 5, size=(len(NEW), 3, 3)) if of_rows else PRICES
    probability = model.predict_proba(NEW)
    for i, label in enumerate(model.predict(NEW, cost_matrix=prices)):
        own = prices[i] if of_rows else prices
        paid = [sum(probability[i, j] * own[j, called] for j in range(3)) for called in range(3)]
        assert paid[NAMES.tolist().index(label)] == pytest.approx(min(paid), abs=1e-12)


def test_prices_are_obeyed(model):
    """Nearly as cheap as decisions from the true probabilities, and much cheaper than those that ignore prices."""

    def paid(labels):
        return np.mean(PRICES[TARGET, np.searchsorted(NAMES, labels)])

    best = paid(NAMES[np.argmin(TRUTH @ PRICES, axis=1)])
    found, turned = paid(model.predict(NEW, PRICES)), paid(model.predict(NEW, PRICES.T))
    ignored = paid(model.predict(NEW))
    assert found < best + 0.15 * (ignored - best)  # 0.074 of it
    assert turned > ignored
    np.testing.assert_array_equal(
        clone(model).set_params(cost_matrix=PRICES).fit(X, NAMES[Y]).predict(NEW), model.predict(NEW, PRICES)
    )


def test_two_classes_are_those_of_costs():
    base = CostSensitiveClassifier(measure=GaussLegendre(6), noncrossing="rearrange")
    y = NAMES[np.minimum(Y, 1)]
    model, plain = CostMatrixClassifier(base).fit(X, y), clone(base).fit(X, y)
    assert len(model.estimators_) == 1
    np.testing.assert_array_equal(model.predict_proba(NEW), plain.predict_proba(NEW))
    for a, b in ((1.0, 1.0), (3.0, 1.0), (1.0, 8.0)):
        np.testing.assert_array_equal(model.predict(NEW, [[0, b], [a, 0]]), plain.predict(NEW, a / (a + b)))
    a, b = RNG.uniform(0.1, 3.0, size=(2, len(NEW)))
    own = np.zeros((len(NEW), 2, 2))
    own[:, 1, 0], own[:, 0, 1] = a, b
    np.testing.assert_array_equal(model.predict(NEW, own), plain.predict(NEW, a / (a + b)))


# --- within scikit-learn


def test_any_classifier_with_probabilities():
    for base in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        found = CostMatrixClassifier(base).fit(X, Y, np.ones(len(Y)))
        expected = OneVsRestClassifier(base).fit(X, Y)
        np.testing.assert_allclose(found.predict_proba(NEW), expected.predict_proba(NEW))


def test_where_no_class_claims_a_row_all_are_alike():
    model = CostMatrixClassifier(DummyClassifier(strategy="constant", constant=False)).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(NEW), 1 / 3)


def test_a_row_of_weight_two_is_the_row_twice(model):
    weight = RNG.integers(0, 3, len(Y))
    rows = np.repeat(np.arange(len(Y)), weight)
    base = CostSensitiveClassifier(alpha=1e-2, measure=Points([0.2, 0.5, 0.8]), tol=1e-6)
    once = CostMatrixClassifier(base).fit(X, Y, weight).predict_proba(NEW)
    np.testing.assert_allclose(once, CostMatrixClassifier(base).fit(X[rows], Y[rows]).predict_proba(NEW), atol=1e-6)


def test_searches_pickles_and_frames(model):
    pandas = pytest.importorskip("pandas")
    base = CostSensitiveClassifier(Gaussian(1.0), alpha=1e-2, measure=Points([0.2, 0.5, 0.8]))
    grid = {"estimator__kernel__gamma": [1.0, 1e4]}
    search = GridSearchCV(CostMatrixClassifier(base), grid, cv=2, error_score="raise").fit(X, Y)
    assert search.best_params_ == {"estimator__kernel__gamma": 1.0}
    twin = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(twin.predict(NEW, PRICES), model.predict(NEW, PRICES))
    framed = CostMatrixClassifier(BASE).fit(pandas.DataFrame(X, columns=["a", "b"]), pandas.Series(NAMES[Y]))
    assert list(framed.feature_names_in_) == ["a", "b"]
    found = framed.predict(pandas.DataFrame(NEW, columns=["a", "b"]), pandas.DataFrame(PRICES, NAMES, NAMES))
    np.testing.assert_array_equal(found, model.predict(NEW, PRICES))


# --- what is refused


@pytest.mark.parametrize(
    "prices",
    [
        *(1.0, "dear", {}, NAMES, [[0, 1, 2]], [[0, 1], [1]], np.eye(2), np.eye(4), np.zeros((5, 3, 3))),
        *(np.full((3, 3), value) for value in (np.nan, np.inf, "1", True)),
    ],
    ids=lambda prices: type(prices).__name__,
)
def test_prices_that_are_refused(model, prices):
    message = r"(?s)CostMatrixClassifier: cost_matrix must be finite numbers of shape \(3, 3\)"
    with pytest.raises(MercerError, match=message + r", or \(4, 3, 3\): one for each row; got .*Rows are true classes"):
        model.predict(NEW[:4], cost_matrix=prices)
    with pytest.raises(MercerError, match=message + "; got"):
        CostMatrixClassifier(BASE, cost_matrix=prices).fit(X, Y)


def test_fits_that_are_refused():
    with pytest.raises(MercerError, match="estimator must be a classifier with predict_proba; got SVC"):
        CostMatrixClassifier(SVC()).fit(X, Y)
    with pytest.raises(MercerError, match="two classes at least; there is one class only: 'red'"):
        CostMatrixClassifier().fit(X, np.full(len(Y), "red"))
    with pytest.raises(MercerError, match="no row of positive weight has the class 'red'"):
        CostMatrixClassifier().fit(X, NAMES[Y], Y != 2)
    with pytest.raises(MercerError, match="Unknown label type: continuous"):
        CostMatrixClassifier().fit(X, X[:, 0])
    with pytest.raises(MercerError, match="inconsistent numbers of samples"):
        CostMatrixClassifier().fit(X, Y[:-1])
    with pytest.raises(NotFittedError):
        CostMatrixClassifier().predict(X)
