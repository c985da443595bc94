"""Probabilities: shares of costs at which rows are called positive, counted; against decisions and held-out data."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, cross_val_score

from mercer import CostSensitiveClassifier
from mercer.backend import to_numpy
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre, Points

X, Y = make_moons(60, noise=0.4, random_state=1)
NEW, TARGET = make_moons(300, noise=0.4, random_state=2)
#: decisions that change their sign at many costs
WILD = {"kernel": Gaussian(20.0), "output_kernel": Gaussian(60.0), "alpha": 1e-5, "measure": GaussLegendre(12)}
CALM = {"alpha": 1e-2, "measure": GaussLegendre(8), "tol": 1e-5}


def fitted(**settings):
    return CostSensitiveClassifier(**settings).fit(X, Y)


def sign_changes(model):
    return np.sum(np.diff(model.predict_at(NEW, model.grid_) > 0, axis=1), axis=1)


@pytest.mark.parametrize("settings", [CALM, WILD], ids=["calm", "wild"])
def test_shares_of_costs_are_counted(settings):
    """At many costs, each counted once; they have no interpolation and no sums of lengths."""
    model = fitted(**settings)
    changes = sign_changes(model)
    assert (changes.max() > 2) == (settings is WILD)
    costs = (np.arange(20_000) + 0.5) / 20_000
    counted = np.mean(model.predict_at(NEW, costs) > 0, axis=1)
    low, high = (1 - model.grid_[-1]) / 2, 1 - model.grid_[0] / 2
    found = model.predict_proba(NEW)
    np.testing.assert_allclose(found[:, 1], np.clip(counted, low, high), atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-15)
    assert found.shape == (len(NEW), 2)
    assert np.all((found > 0) & (found < 1))
    assert np.any((counted > low) & (counted < high))


@pytest.mark.parametrize("settings", [CALM, WILD], ids=["calm", "wild"])
def test_rearranged_decisions_are_those_of_the_probabilities(settings):
    model = fitted(noncrossing="rearrange", **settings)
    probability = model.predict_proba(NEW)[:, 1]
    costs = np.concatenate([np.random.default_rng(0).uniform(model.grid_[0], model.grid_[-1], 300), model.grid_])
    for cost in costs:
        clear = np.abs(probability - (1 - cost)) > 1e-12
        assert clear.mean() > 0.98
        np.testing.assert_array_equal((model.predict(NEW, cost) == 1)[clear], (probability > 1 - cost)[clear])


def test_decisions_that_change_once_are_those_of_the_probabilities():
    model = fitted(**CALM | {"output_kernel": Gaussian(10.0)})
    once = sign_changes(model) <= 1
    assert once.mean() > 0.9
    probability = model.predict_proba(NEW)[once, 1]
    decisions = model.predict_at(NEW[once], model.grid_) > 0
    clear = np.abs(probability[:, None] - (1 - model.grid_)) > 1e-12
    np.testing.assert_array_equal(decisions[clear], (probability[:, None] > 1 - model.grid_)[clear])


def test_where_nothing_was_learned_it_is_the_middle():
    model = fitted(alpha=1e-3, measure=Points([0.4]))
    np.testing.assert_allclose(model.predict_proba(NEW)[:, 1], np.where(model.predict(NEW) == 1, 0.8, 0.3))
    model = fitted(alpha=1e-3, measure=Points([0.1, 0.5, 0.8]))
    found, decisions = model.predict_proba(NEW)[:, 1], model.predict_at(NEW, model.grid_) > 0
    np.testing.assert_allclose(found[decisions.all(axis=1)], 0.95)
    np.testing.assert_allclose(found[~decisions.any(axis=1)], 0.1)
    assert decisions.all(axis=1).any()
    assert (~decisions).all(axis=1).any()


def test_the_first_class_may_be_the_positive_one():
    """Columns follow ``classes_``; and the reflected problem has the reflected probabilities."""
    names = np.array(["ill", "well"])
    settings = CALM | {"tol": 1e-8}
    first, second = (
        CostSensitiveClassifier(pos_label=name, **settings).fit(X, names[Y]).predict_proba(NEW) for name in names
    )
    np.testing.assert_allclose(first, second, atol=2e-3)
    np.testing.assert_array_equal(second, fitted(**settings).predict_proba(NEW))
    assert log_loss(names[TARGET], first) < 0.5


# --- held-out data


@pytest.mark.parametrize("noncrossing", [None, "rearrange"])
@pytest.mark.parametrize(
    ("data", "share"),  # of the loss of the prior: 0.505 and 0.101 (with one length for all columns 0.499 and 0.104)
    [(make_moons(1000, noise=0.4, random_state=0), 0.53), (load_breast_cancer(return_X_y=True), 0.15)],
    ids=["moons", "breast cancer"],
)
def test_log_loss_of_the_defaults(data, share, noncrossing):
    x, y = data
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:300], rows[300:]
    found = CostSensitiveClassifier(noncrossing=noncrossing).fit(x[train], y[train]).predict_proba(x[test])
    prior = np.full(len(test), y[train].mean())
    assert log_loss(y[test], found) < share * log_loss(y[test], prior)


@pytest.mark.parametrize("offset", [0.0, -2.0])
def test_known_probabilities_are_found(offset):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(4000, 2))
    truth = 1 / (1 + np.exp(-(2 * np.sin(2 * x[:, 0]) + x[:, 1] + offset)))
    y = rng.uniform(size=4000) < truth
    model = CostSensitiveClassifier().fit(x[:1000], y[:1000])
    found, truth, prior = model.predict_proba(x[1000:])[:, 1], truth[1000:], y[:1000].mean()
    assert np.mean(np.abs(found - truth)) < 0.45 * np.mean(np.abs(prior - truth))  # 0.40 and 0.31 of it
    assert np.corrcoef(found, truth)[0, 1] > 0.94  # 0.950 and 0.961
    assert abs(found.mean() - prior) < 0.03


# --- around


def test_within_scikit_learn():
    model = CostSensitiveClassifier(**CALM)
    found = cross_val_predict(model, NEW, TARGET, method="predict_proba", cv=3)
    assert log_loss(TARGET, found) < 0.5
    assert np.all(cross_val_score(model, NEW, TARGET, scoring="neg_brier_score", cv=3) > -0.2)
    calibrated = CalibratedClassifierCV(model, cv=2, ensemble=False).fit(NEW, TARGET)
    assert calibrated.predict_proba(X).shape == (len(X), 2)


@pytest.mark.parametrize("noncrossing", [None, "rearrange"])
def test_other_arrays_give_the_same(noncrossing):
    xp = pytest.importorskip("array_api_strict")
    model = CostSensitiveClassifier(alpha=0.05, measure=Points([0.1, 0.5, 0.9]), noncrossing=noncrossing, tol=1e-5)
    expected = model.fit(X, Y).predict_proba(NEW)
    found = model.fit(xp.asarray(X), xp.asarray(Y)).predict_proba(xp.asarray(NEW))
    assert type(found) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(found), expected, atol=2e-3)


def test_inputs_are_checked():
    with pytest.raises(MercerError, match="features"):
        fitted(**CALM).predict_proba(NEW[:, :1])
