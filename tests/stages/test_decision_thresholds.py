"""Thresholds of decisions: scikit-learn's logistic regression, the truth, weights, and classes that do not overlap."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from mercer.stages import LogisticLinks
from mercer.stages.thresholds import BELIEVED_ERRORS, SLOPE_PRICE, THRESHOLD_MARGIN

RNG = np.random.default_rng(0)
SIGNS = np.where(RNG.uniform(size=240) < 0.3, 1.0, -1.0)
#: from noise to classes that hardly overlap, in different units
DECISIONS = (RNG.normal(size=(240, 5)) + SIGNS[:, None] * np.array([0, 0.3, 1, 1.5, 2])) * np.array(
    [1, 50, 1, 0.01, 3]
) + 1
WEIGHT = RNG.uniform(0.5, 2, size=240)
THETA, SHARE = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), np.array([0.1, 0.2, 0.4, 0.2, 0.1])


@pytest.mark.parametrize("weight", [None, WEIGHT / WEIGHT.mean()], ids=["equal", "weights"])
def test_links_are_those_of_logistic_regression(weight):
    links = LogisticLinks.learn(DECISIONS, SIGNS, weight)
    for j in range(5):
        centre = np.average(DECISIONS[:, j], weights=weight)
        spread = np.sqrt(np.average((DECISIONS[:, j] - centre) ** 2, weights=weight))
        z = (DECISIONS[:, [j]] - centre) / spread
        peer = LogisticRegression(C=1 / (240 * SLOPE_PRICE), tol=1e-12).fit(z, SIGNS > 0, weight)
        slope, level = peer.coef_[0, 0], peer.intercept_[0]
        np.testing.assert_allclose(links.slope[j] * spread, slope, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(links.level[j] + links.slope[j] * centre, level, rtol=1e-3, atol=1e-4)
        loss = np.average(np.logaddexp(0, -SIGNS * (level + slope * z[:, 0])), weights=weight)
        np.testing.assert_allclose(links.loss[j], loss, rtol=1e-4)


def test_at_a_threshold_the_probability_is_one_minus_the_cost():
    links = LogisticLinks.learn(DECISIONS, SIGNS)
    wrong = np.sum((DECISIONS > 0) != (SIGNS[:, None] > 0), axis=0)
    np.testing.assert_array_equal(links.wrong, wrong)
    shrinkage = wrong @ SHARE / (wrong @ SHARE + BELIEVED_ERRORS)
    cut = links.thresholds(THETA, 3 * SHARE) / shrinkage
    inside = (cut > DECISIONS.min(axis=0) - THRESHOLD_MARGIN + 1e-9) & (
        cut < DECISIONS.max(axis=0) + THRESHOLD_MARGIN - 1e-9
    )
    assert inside.sum() >= 3
    np.testing.assert_allclose(expit(links.level + links.slope * cut)[inside], (1 - THETA)[inside], rtol=1e-9)


def test_decisions_without_information_call_all_rows_alike():
    for constant in (np.zeros((240, 5)), np.full((240, 5), 0.7)):
        cut = LogisticLinks.learn(constant, SIGNS).thresholds(THETA, SHARE)
        called = constant > cut
        np.testing.assert_array_equal(called, np.tile(np.mean(SIGNS > 0) > 1 - THETA, (240, 1)))


def test_where_no_row_is_wrong_nothing_is_cut():
    links = LogisticLinks.learn(SIGNS[:, None] * np.linspace(1, 2, 240)[:, None] * np.ones(5), SIGNS)
    assert np.all(np.isfinite(links.slope))
    np.testing.assert_array_equal(links.thresholds(THETA, SHARE), 0)


def test_true_thresholds_are_found():
    rng = np.random.default_rng(3)
    d = rng.normal(size=(20_000, 1)) * np.ones(5)
    signs = np.where(rng.uniform(size=20_000) < expit(2 * d[:, 0] - 1), 1.0, -1.0)
    cut = LogisticLinks.learn(d, signs).thresholds(THETA, SHARE)
    np.testing.assert_allclose(cut, (np.log((1 - THETA) / THETA) + 1) / 2, atol=0.1)


def test_the_other_class_has_the_opposite_thresholds():
    cut = LogisticLinks.learn(DECISIONS, SIGNS).thresholds(THETA, SHARE)
    other = LogisticLinks.learn(-DECISIONS, -SIGNS).thresholds(1 - THETA, SHARE)
    np.testing.assert_allclose(other, -cut, rtol=1e-4, atol=1e-6)
