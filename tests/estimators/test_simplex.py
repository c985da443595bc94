"""Several classes by simplex coding."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SimplexClassifier, VectorValuedRegressor
from mercer.estimators.simplex import simplex_code
from mercer.exceptions import DataError
from mercer.kernels import Gaussian
from mercer.losses import Huber


@parametrize_with_checks([SimplexClassifier(), SimplexClassifier("gaussian", alpha=0.01, loss="huber")])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_classes", [2, 3, 4, 10])
def test_the_code_is_a_simplex(n_classes):
    code = simplex_code(n_classes)
    assert code.shape == (n_classes, n_classes - 1)
    gram = n_classes / (n_classes - 1) * np.eye(n_classes) - 1 / (n_classes - 1)
    np.testing.assert_allclose(code @ code.T, gram, atol=1e-12)


def test_it_is_a_regression_of_codes_and_argmax():
    X, y = load_iris(return_X_y=True)
    model = SimplexClassifier(Gaussian(0.3), alpha=1e-3).fit(X, y)
    values = VectorValuedRegressor(Gaussian(0.3), alpha=1e-3).fit(X, simplex_code(3)[y]).predict(X)
    np.testing.assert_allclose(model.decision_function(X), values @ simplex_code(3).T, atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), np.argmax(model.predict_proba(X), axis=1))


def test_probabilities_come_from_rows_left_out():
    """No other β makes the labels likelier under scores of each row by a fit to all others."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 3, 40)
    X[:, 0] += y
    model = SimplexClassifier(Gaussian(0.3), alpha=0.02).fit(X, y)
    scores = np.empty((40, 3))
    for i in range(40):
        keep = np.arange(40) != i
        rest = SimplexClassifier(Gaussian(0.3), alpha=0.02 * 40 / 39).fit(X[keep], y[keep])
        scores[i] = rest.decision_function(X[[i]])[0]

    def misfit(beta):
        odds = np.exp(beta * scores)
        return log_loss(y, odds / odds.sum(axis=1, keepdims=True))

    assert misfit(model.sharpness_) < min(misfit(0.98 * model.sharpness_), misfit(1.02 * model.sharpness_))


def test_digits():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))[:600]  # pages of one writer follow each other
    X, y = X[rows], y[rows]
    proba = cross_val_predict(SimplexClassifier(), X, y, cv=2, method="predict_proba")
    assert np.mean(np.argmax(proba, axis=1) != y) < 0.04
    assert log_loss(y, proba) < 0.2


def test_weights_robust_losses_labels_and_gram_matrices():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = SimplexClassifier(Gaussian(0.3), alpha=1e-3, loss=Huber(0.5)).fit(
        X, names, np.where(y == 2, 0.0, 1.0) + 0.1
    )
    assert set(model.predict(X)) == {"a", "b", "c"}
    weight = np.ones(150)
    weight[::3] = 0
    one = SimplexClassifier(Gaussian(0.3), alpha=1e-3).fit(X, y, weight)
    other = SimplexClassifier(Gaussian(0.3), alpha=1e-3).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-6)
    gram = SimplexClassifier("precomputed", alpha=1e-3).fit(Gaussian(0.3)(X), y)
    assert gram.score(Gaussian(0.3)(X), y) > 0.95


def test_a_robust_loss_bears_wrong_labels():
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(X))
    train, test = rows[:300], rows[300:900]
    noisy, wrong = y[train].copy(), np.random.default_rng(1).random(300) < 0.2
    noisy[wrong] = np.random.default_rng(2).integers(0, 10, wrong.sum())
    square, robust = (SimplexClassifier(loss=loss).fit(X[train], noisy) for loss in ("square", "huber"))
    assert robust.regressor_.relative_gap_ <= 1e-4
    assert robust.score(X[test], y[test]) > square.score(X[test], y[test]) > 0.8


def test_one_class_is_refused():
    with pytest.raises(DataError, match="one class only"):
        SimplexClassifier().fit(np.eye(3), [1, 1, 1])
