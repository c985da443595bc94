"""The forest: what scikit-learn asks of it, its scores by the definition, what it finds, and what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import OneClassForest
from mercer.exceptions import DataError, MercerError
from mercer.forests import average_path_length


@parametrize_with_checks([OneClassForest(15), OneClassForest(5, scores="density", max_node_features=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
NEW = 2 * RNG.normal(size=(40, 4))


def leaves(forest, rows):
    """Return the leaf of each row in each tree, by walks."""
    trees, found = forest.trees_, np.zeros((len(rows), len(forest.trees_.roots)), int)
    for i, x in enumerate(rows):
        for t, node in enumerate(trees.roots):
            while trees.child[node] != node:
                node = trees.child[node] + (x[trees.column[node]] > trees.threshold[node])
            found[i, t] = node
    return found


@pytest.mark.parametrize("scores", ["depth", "density", "ratio"])
def test_scores_by_their_definition(scores):
    forest = OneClassForest(11, scores=scores, random_state=0).fit(X)
    trees, at = forest.trees_, leaves(forest, NEW)
    share = trees.size[at] / forest.max_samples_
    lengths = trees.depth[at] + average_path_length(trees.size[at])
    expected = {
        "depth": -(2 ** -(lengths.mean(axis=1) / average_path_length(forest.max_samples_))),
        "density": np.log(np.mean(share / np.exp(trees.volume[at]), axis=1)),
        "ratio": np.log(share.sum(axis=1)) - logsumexp(trees.volume[at], axis=1),
    }[scores]
    assert forest.score_samples(NEW) == pytest.approx(expected)
    assert forest.decision_function(NEW) == pytest.approx(expected - forest.offset_)
    assert forest.offset_ == (-0.5 if scores == "depth" else 0.0)


def test_sizes_by_default_and_by_request():
    wide = RNG.normal(size=(1000, 30))
    forest = OneClassForest(2, random_state=0).fit(wide)
    assert (forest.max_samples_, forest.max_features_) == (200, 15)
    assert forest.trees_.depth.max() <= 8  # log2(200), rounded up
    for root, end in zip(forest.trees_.roots, [*forest.trees_.roots[1:], None], strict=True):
        assert len(np.unique(forest.trees_.column[root:end][forest.trees_.threshold[root:end] < np.inf])) <= 15
    small = OneClassForest(2, random_state=0).fit(X)
    assert (small.max_samples_, small.max_features_) == (100, 4)
    given = OneClassForest(2, max_samples=0.5, max_features=0.5, max_depth=3, random_state=0).fit(X)
    assert (given.max_samples_, given.max_features_, given.trees_.depth.max()) == (150, 2, 3)
    assert OneClassForest(2, max_samples=10**6, max_features=9).fit(X).max_samples_ == 300


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_seed_gives_the_forest(n_jobs):
    one = OneClassForest(8, random_state=3).fit(X)
    other = OneClassForest(8, random_state=3, n_jobs=n_jobs).fit(X)
    assert np.array_equal(one.score_samples(NEW), other.score_samples(NEW))
    assert not np.array_equal(one.score_samples(NEW), OneClassForest(8, random_state=4).fit(X).score_samples(NEW))
    assert np.array_equal(pickle.loads(pickle.dumps(one)).score_samples(NEW), one.score_samples(NEW))
    assert np.array_equal(clone(one).fit(X).score_samples(NEW), one.score_samples(NEW))


def test_units_of_columns_do_not_matter():
    units = np.array([1.0, 1024.0, 2.0**-20, 4.0])  # powers of two: nothing is rounded
    one = OneClassForest(8, random_state=0).fit(X)
    other = OneClassForest(8, random_state=0).fit(X * units)
    assert np.array_equal(one.score_samples(NEW), other.score_samples(NEW * units))


def test_outliers_are_found_and_the_columns_that_tell():
    rng = np.random.default_rng(2)
    good, odd = rng.normal(size=(600, 8)), rng.normal(size=(60, 8))
    good[:, 0] = rng.normal(0, 0.1, 600) * np.where(rng.random(600) < 0.5, 1, -1) + np.sign(rng.normal(size=600))
    odd[:, 0] = rng.uniform(-0.6, 0.6, 60)  # in the gap between two clusters
    train, test = good[:400], np.concatenate([good[400:], odd])
    truth = np.arange(len(test)) >= 200
    forest = OneClassForest(random_state=0).fit(train)
    area = roc_auc_score(truth, -forest.score_samples(test))
    assert area > 0.9
    assert area > roc_auc_score(truth, -IsolationForest(random_state=0).fit(train).score_samples(test)) + 0.1
    assert np.argmax(forest.feature_importances_) == 0
    assert forest.feature_importances_.sum() == pytest.approx(1)
    assert np.all(forest.predict(np.full((1, 8), 9.0)) == -1)


def test_contamination_is_the_fraction_of_training_outliers():
    for share in (0.02, 0.25):
        labels = OneClassForest(20, contamination=share, random_state=0).fit_predict(X)
        assert np.mean(labels == -1) == pytest.approx(share, abs=0.01)


def test_data_frames_of_all_kinds():
    numbers = pd.DataFrame(X, columns=list("abcd"))
    forest = OneClassForest(5, random_state=0).fit(numbers)
    assert list(forest.feature_names_in_) == list("abcd")
    assert np.array_equal(forest.score_samples(numbers), OneClassForest(5, random_state=0).fit(X).score_samples(X))
    mixed = numbers.assign(town=np.where(X[:, 0] > 0, "Oslo", "Rome"), b=np.where(X[:, 1] > 1, np.nan, X[:, 1]))
    forest = OneClassForest(5, random_state=0).fit(mixed)
    assert len(forest.feature_importances_) == len(forest.encoder_.get_feature_names_out())
    assert np.all(np.isfinite(forest.score_samples(mixed)))


def test_rows_that_are_all_alike():
    forest = OneClassForest(3, random_state=0).fit(np.ones((20, 2)))
    assert len(np.unique(forest.score_samples([[1.0, 1.0], [5.0, 0.0]]))) == 1
    assert np.array_equal(forest.feature_importances_, [0, 0])


@pytest.mark.parametrize("scores", ["depth", "density", "ratio"])
def test_rows_that_are_all_alike_are_inliers(scores):
    rows = np.ones((20, 2))
    assert np.all(OneClassForest(10, scores=scores, random_state=0).fit_predict(rows) == 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer >= 1"),
        ({"max_samples": 1}, "max_samples must be 'auto', an integer >= 2"),
        ({"max_samples": 1.5}, "max_samples must be"),
        ({"max_samples": "all"}, "max_samples must be"),
        ({"max_features": 0}, "max_features must be 'auto', an integer >= 1"),
        ({"max_features": True}, "max_features must be"),
        ({"max_node_features": 2.5}, "max_node_features must be an integer"),
        ({"max_depth": 0}, "max_depth must be an integer >= 1"),
        ({"gamma": 0.0}, "gamma must be a finite number"),
        ({"gamma": np.nan}, "gamma must be a finite number"),
        ({"scores": "best"}, "scores must be 'depth' or 'density' or 'ratio'"),
        ({"contamination": 0.7}, "contamination must be 'auto' or a number in"),
        ({"contamination": "some"}, "contamination must be"),
        ({"random_state": "seed"}, "random_state must be"),
        ({"n_jobs": 0}, "n_jobs must be None or an integer"),
        ({"n_jobs": "all"}, "n_jobs must be None or an integer"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(MercerError, match=message):
        OneClassForest(**settings).fit(X)


@pytest.mark.parametrize("rows", [np.ones((1, 3)), [[1.0, np.nan], [2.0, 3.0]], [["a"], ["b"]], np.zeros((3, 0))])
def test_bad_rows(rows):
    with pytest.raises(DataError):
        OneClassForest().fit(rows)


def test_new_rows_with_other_columns():
    with pytest.raises(DataError, match="3 features"):
        OneClassForest(2).fit(X).score_samples(X[:, :3])
