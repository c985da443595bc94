"""Scorers: their values from the definitions, larger is better, and bad arguments."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import cross_val_score, cross_validate

from mercer import KernelQuantileRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.measures import Points
from mercer.model_selection import (
    integrated_pinball,
    make_coverage_scorer,
    make_crossing_scorer,
    make_crps_scorer,
    make_pinball_scorer,
    mean_crps,
)
from mercer.quantile_function import QuantileFunction

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 1))
Y = np.sin(5 * X[:, 0]) + 0.3 * RNG.normal(size=40)
WEIGHT = RNG.uniform(0.1, 2.0, 40)


class Shifted(BaseEstimator):
    """Predicts fixed quantiles, whatever x: what scorers ask of an estimator, and no more."""

    grid = np.array([0.1, 0.5, 0.9])

    def __init__(self, shift=0.0, values=(-1.0, 0.0, 1.0)):
        self.shift, self.values = shift, values

    def fit(self, X, y):
        return self

    def predict_function(self, X):
        return QuantileFunction(self.grid, np.tile(np.asarray(self.values) + self.shift, (len(X), 1)))

    def predict_quantile(self, X, levels):
        return self.predict_function(X)(levels)

    def predict_interval(self, X, coverage):
        return self.predict_function(X).interval(coverage)


@pytest.fixture(scope="module")
def model():
    return KernelQuantileRegressor(alpha=1e-2, measure=Points([0.1, 0.5, 0.9])).fit(X, Y)


ALL = [make_pinball_scorer(), make_crps_scorer(), make_coverage_scorer(), make_crossing_scorer()]


def test_pinball(model):
    levels = [0.2, 0.7]
    residual = Y[:, None] - model.predict_quantile(X, levels)
    loss = np.where(residual > 0, np.array(levels) * residual, (np.array(levels) - 1) * residual)
    assert make_pinball_scorer(levels)(model, X, Y) == pytest.approx(-loss.mean())
    weighted = -np.average(loss.mean(axis=1), weights=WEIGHT)
    assert make_pinball_scorer(levels)(model, X, Y, WEIGHT) == pytest.approx(weighted)
    assert make_pinball_scorer([0.7, 0.2])(model, X, Y) == pytest.approx(-loss.mean())
    assert make_pinball_scorer(0.5)(model, X, Y) == pytest.approx(-0.5 * np.abs(Y - model.predict(X)).mean())
    default = [0.1, 0.3, 0.5, 0.7, 0.9]
    expected = -integrated_pinball(Y, model.predict_quantile(X, default), default)
    assert make_pinball_scorer()(model, X, Y) == pytest.approx(expected)


def test_crps(model):
    score = make_crps_scorer()(model, X, Y)
    assert score == -mean_crps(Y, model.predict_function(X))
    levels = (np.arange(4000) + 0.5) / 4000
    assert score == pytest.approx(-2 * integrated_pinball(Y, model.predict_quantile(X, levels), levels), rel=1e-4)
    assert make_crps_scorer()(model, X, Y, WEIGHT) != pytest.approx(score)


def test_coverage():
    y = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    x = np.zeros((5, 1))
    assert make_coverage_scorer(0.8)(Shifted(), x, y) == pytest.approx(-0.2)  # 3 of 5 are inside
    assert make_coverage_scorer(0.6)(Shifted(values=(-9.0, 0.0, 9.0)), x, y) == pytest.approx(-0.4)  # too wide
    weight = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    assert make_coverage_scorer(0.8)(Shifted(), x, y, weight) == pytest.approx(-0.05)


def test_crossing():
    x = np.zeros((5, 1))
    assert make_crossing_scorer([0.1, 0.5, 0.9])(Shifted(), x) == 0
    crossing = make_crossing_scorer([0.1, 0.5, 0.9])(Shifted(values=(1.0, 0.0, 0.5)), x, np.zeros(5))
    assert crossing == pytest.approx(-0.5)
    wild = KernelQuantileRegressor(Gaussian(30.0), alpha=1e-5, noncrossing=None).fit(X, Y)
    assert make_crossing_scorer(np.linspace(0.01, 0.99, 50))(wild, X) < 0
    assert make_crossing_scorer(np.linspace(0.01, 0.99, 50))(wild.set_params(noncrossing="rearrange").fit(X, Y), X) == 0


@pytest.mark.parametrize("scorer", ALL[:2])
def test_larger_is_better(scorer):
    x, y = np.zeros((200, 1)), np.random.default_rng(0).normal(size=200)
    right = Shifted(values=(-1.28, 0.0, 1.28))
    assert scorer(right, x, y) > scorer(Shifted(0.5, right.values), x, y) > scorer(Shifted(2.0, right.values), x, y)
    assert scorer(right, x, y) > scorer(Shifted(values=(-5.0, 0.0, 5.0)), x, y)
    assert scorer(right, x, y) < 0


@pytest.mark.parametrize("scorer", ALL)
def test_scorers_work_with_scikit_learn(scorer):
    estimator = KernelQuantileRegressor(alpha=1e-2, measure=Points([0.1, 0.5, 0.9]))
    scores = cross_val_score(estimator, X, Y, scoring=scorer, cv=3, error_score="raise")
    assert scores.shape == (3,)
    assert np.all(np.isfinite(scores))
    assert np.all(scores <= 0)
    for twin in (pickle.loads(pickle.dumps(scorer)), copy.deepcopy(scorer)):
        np.testing.assert_array_equal(cross_val_score(estimator, X, Y, scoring=twin, cv=3), scores)


def test_several_scorers_at_once():
    estimator = KernelQuantileRegressor(alpha=1e-2, measure=Points([0.1, 0.5, 0.9]))
    scoring = {"crps": make_crps_scorer(), "pinball": make_pinball_scorer()}
    found = cross_validate(estimator, X, Y, scoring=scoring, cv=2)
    assert found["test_crps"].shape == found["test_pinball"].shape == (2,)


@pytest.mark.parametrize("make", [make_pinball_scorer, make_crossing_scorer])
@pytest.mark.parametrize("levels", [0, 1.0, 90, [0.5, 1.5], [], "median", None, [np.nan]])
def test_levels_are_checked_at_once(make, levels):
    with pytest.raises(MercerError, match=f"{make.__name__}: levels must be"):
        make(levels)


@pytest.mark.parametrize("coverage", [0, 1, 90, "most", None, np.nan, [0.9]])
def test_coverage_is_checked_at_once(coverage):
    with pytest.raises(MercerError, match=r"make_coverage_scorer: coverage must be a finite number in \(0, 1\)"):
        make_coverage_scorer(coverage)


@pytest.mark.parametrize("scorer", ALL[:3])
def test_bad_targets_and_weights(scorer):
    x = np.zeros((5, 1))
    with pytest.raises(MercerError, match="y must be finite"):
        scorer(Shifted(), x, np.full(5, np.nan))
    with pytest.raises(MercerError, match="sample_weight must be non-negative"):
        scorer(Shifted(), x, np.zeros(5), -np.ones(5))
    with pytest.raises(MercerError, match=r"y must have shape \(5,\)"):
        scorer(Shifted(), x, np.zeros(4))
