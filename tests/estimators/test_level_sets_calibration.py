"""Levels count new rows: fractions of outliers out of sample, and scores that rank what is outside of all regions."""

import signal

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from mercer import LevelSetDetector
from mercer.estimators import level_calibration, level_sets
from mercer.estimators.level_calibration import new_quantiles, splits
from mercer.kernels import Gaussian, Linear
from mercer.measures import Points

LEVELS = np.array([0.01, 0.05, 0.1, 0.5])


def outliers(detector, rows):
    return np.mean(detector.predict_at(rows, LEVELS) < 0, axis=0)


def near(fractions, n):
    """Say whether fractions are within three standard deviations of levels, of n rows that set the offsets."""
    return np.all(np.abs(fractions - LEVELS) <= 3 * np.sqrt(LEVELS * (1 - LEVELS) / n) + 0.15 * LEVELS)


# --- fractions of new rows


@pytest.mark.parametrize("d", [2, 10, 30])
def test_the_fraction_of_new_outliers_is_the_level_in_many_dimensions(d):
    rng = np.random.default_rng(d)
    X, new = rng.normal(size=(400, d)), rng.normal(size=(5000, d))
    assert near(outliers(LevelSetDetector().fit(X), new), 400)
    assert not near(outliers(LevelSetDetector(calibration=None).fit(X), new), 400)  # or there was nothing to do


def test_a_real_table_in_thirty_dimensions():
    rows = load_breast_cancer().data
    fractions = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(rows))
        fractions.append(outliers(LevelSetDetector().fit(rows[order[:300]]), rows[order[300:]]))
    assert near(np.mean(fractions, axis=0), 300)


@pytest.mark.parametrize(
    "settings",
    [{"alpha": 1.0}, {"coupling": 0.1}, {"nested": True}, {"kernel": Linear()}, {"kernel": "laplacian"}],
    ids=["penalised", "coupled", "nested", "linear", "laplacian"],
)
def test_any_kind_of_fit_is_calibrated(settings):
    rng = np.random.default_rng(1)
    X, new = 3 + rng.normal(size=(300, 5)), 3 + rng.normal(size=(4000, 5))
    detector = LevelSetDetector(measure=Points(LEVELS), **settings).fit(X)
    assert detector.n_calibration_ == 300
    assert near(outliers(detector, new), 300)


def test_calibration_changes_offsets_alone():
    X = np.random.default_rng(0).normal(size=(80, 3))
    calibrated, optimum = (LevelSetDetector(calibration=how).fit(X) for how in ("cross", None))
    assert np.array_equal(calibrated.optimal_offset_, optimum.offset_)
    assert np.array_equal(optimum.optimal_offset_, optimum.offset_)
    assert np.array_equal(calibrated.dual_coef_, optimum.dual_coef_)
    assert calibrated.objective_ == optimum.objective_
    assert (calibrated.n_calibration_, optimum.n_calibration_) == (80, 0)
    assert np.mean(calibrated.predict(X) == -1) < np.mean(optimum.predict(X) == -1) <= 0.05


def test_rows_far_away_are_outliers_however_narrow_the_kernel():
    """Offsets of positive kernels stay positive: differences h − t of fits to fewer rows would make them negative."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(30, 1)) * rng.choice([0.1, 3.0], size=(30, 1))
    detector = LevelSetDetector(Gaussian(2.0)).fit(X)
    assert np.all(detector.offset_ > 0)
    assert np.all(detector.predict_at([[100.0]], LEVELS) < 0)


def test_weights_and_the_order_of_rows():
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(60, 2)), rng.integers(1, 4, size=60)
    weighted = LevelSetDetector().fit(X, sample_weight=weight)
    assert weighted.offset_ == pytest.approx(LevelSetDetector().fit(np.repeat(X, weight, axis=0)).offset_, abs=1e-10)
    assert weighted.offset_ == pytest.approx(LevelSetDetector().fit(X, sample_weight=5.3 * weight).offset_, abs=1e-5)
    assert np.max(np.abs(weighted.offset_ - LevelSetDetector().fit(X).offset_)) > 1e-3
    order = rng.permutation(60)
    shuffled = LevelSetDetector().fit(X[order], sample_weight=weight[order])
    assert np.array_equal(shuffled.offset_, weighted.offset_)


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_rows(n):
    detector = LevelSetDetector().fit(np.random.default_rng(0).normal(size=(n, 2)))
    assert detector.n_calibration_ == (n if n > 1 else 0)
    assert np.all(np.isfinite(detector.offset_))


def test_splits_judge_each_row_once_and_never_one_that_is_trained_on():
    for n in (2, 11, 300):
        parts = list(splits(n))
        assert np.array_equal(np.sort(np.concatenate([judged for _, judged in parts])), np.arange(n))
        assert all(np.array_equal(np.union1d(*part), np.arange(n)) for part in parts)
        assert not any(np.intersect1d(*part).size for part in parts)


def test_of_many_rows_enough_are_judged(monkeypatch):
    monkeypatch.setattr(level_calibration, "JUDGED_ROWS", 200)
    rng = np.random.default_rng(3)
    X, new = rng.normal(size=(700, 10)), rng.normal(size=(4000, 10))
    detector = LevelSetDetector().fit(X)
    assert detector.n_calibration_ == 280
    assert [(len(train), len(judged)) for train, judged in splits(700)] == [(560, 140)] * 2
    assert near(outliers(detector, new), 280)
    assert [len(list(splits(n))) for n in (250, 251, 999, 1000, 10_000)] == [4, 4, 2, 1, 1]


def test_quantiles_of_new_values_have_their_probability():
    rng = np.random.default_rng(5)
    for n in (20, 99):
        values, new = rng.uniform(size=(2, n, 2000))
        for level in (1 / (n + 1), 0.05, 0.3, 0.8):
            if level * (n + 1) < 1 - 1e-9:
                continue
            bounds = new_quantiles(values, np.ones(n), np.full(2000, level))
            assert np.mean(new < bounds) == pytest.approx(level, abs=0.012)
        assert np.array_equal(new_quantiles(values, np.ones(n), np.full(2000, 1e-9)), values.min(axis=0))


def test_weights_count_as_far_as_they_differ_and_values_may_be_reflected():
    values, levels = np.array([[1.0], [2.0], [3.0]]), np.array([0.45])
    twice = new_quantiles(values, np.array([2.0, 2.0, 2.0]), levels)
    assert twice == pytest.approx(new_quantiles(values, np.ones(3), levels))
    assert twice == pytest.approx(1.8)
    weight = np.array([1.0, 1.0, 8.0])
    assert new_quantiles(values, weight, levels) > twice  # most of the mass is at 3
    assert new_quantiles(-values, weight, 1 - levels) == pytest.approx(-new_quantiles(values, weight, levels))


# --- Ctrl-C


def test_an_interrupted_calibration_leaves_the_optimum(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    whole, solved = LevelSetDetector._solve, []

    def press(self, problem, interrupted):
        solved.append(problem)
        if len(solved) == 3:
            signal.raise_signal(signal.SIGINT)
        return whole(self, problem, interrupted)

    monkeypatch.setattr(level_sets.LevelSetDetector, "_solve", press)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which processes in the background ignore
    try:
        with pytest.warns(ConvergenceWarning, match="Interrupted by Ctrl-C"):
            detector = LevelSetDetector().fit(X)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(solved) == 3
    assert (detector.n_calibration_, detector.status_) == (0, "converged")
    assert np.array_equal(detector.offset_, detector.optimal_offset_)


# --- scores beyond the lowest level


def test_scores_rank_what_is_outside_of_all_regions():
    rng = np.random.default_rng(6)
    X, new, odd = rng.normal(size=(300, 5)), rng.normal(size=(1000, 5)), 1.7 * rng.normal(size=(1000, 5))
    detector = LevelSetDetector().fit(X)
    rows, truth = np.vstack([new, odd]), np.repeat([1, 0], 1000)
    scores, lowest = detector.score_samples(rows), detector.decision_function(rows, level=0.01)
    beyond = scores < 0.01
    assert 0.1 < np.mean(beyond) < 0.6
    assert len(np.unique(scores[beyond])) == np.sum(beyond)
    assert np.array_equal(np.argsort(scores[beyond]), np.argsort(lowest[beyond]))
    tied = roc_auc_score(truth, np.where(beyond, 0, scores))
    assert roc_auc_score(truth, scores) >= max(roc_auc_score(truth, lowest), tied) - 1e-3


@pytest.mark.parametrize("calibration", ["cross", None])
def test_scores_are_continuous_at_the_boundary_and_fall_to_nothing(calibration):
    X = np.random.default_rng(7).normal(size=(200, 1))
    detector = LevelSetDetector(measure=Points([0.01]), calibration=calibration).fit(X)
    line = np.linspace(X.max(), X.max() + 6, 20_001)[:, None]
    scores = detector.score_samples(line)
    first = int(np.argmax(scores < 0.01))
    assert first > 0
    assert scores[first - 1] == pytest.approx(scores[first], abs=1e-4)
    assert np.all(np.diff(scores[first:]) < 0)
    assert 0 < scores[-1] < 1e-4


@pytest.mark.parametrize("offset", [2.0, 0.0, -2.0])
def test_scores_of_kernels_with_negative_values(offset):
    X = np.random.default_rng(8).normal(size=(100, 2)) + 5
    detector = LevelSetDetector(Linear(), measure=Points([0.1, 0.5])).fit(X)
    detector.offset_ = detector.offset_ - detector.offset_[0] + offset
    rows = np.random.default_rng(9).normal(size=(500, 2)) * 20
    scores, lowest = detector.score_samples(rows), detector.decision_function(rows, level=0.1)
    beyond = scores < 0.1
    assert np.any(beyond)
    assert np.array_equal(np.argsort(scores[beyond]), np.argsort(lowest[beyond]))
