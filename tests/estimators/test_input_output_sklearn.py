"""InputOutputKernelRegressor among scikit-learn's tools, and what it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import CandidateLists, InputOutputKernelRegressor
from mercer.estimators.candidates import distinct_objects
from mercer.exceptions import DataError, MercerError, ParameterError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.kernels.objects import EditSimilarity, FeatureGaussian, Jaccard, ObjectFunction, Spectrum
from mercer.losses import Huber, Pinball
from mercer.model_selection import (
    example_f1,
    hamming_error,
    make_example_f1_scorer,
    make_hamming_scorer,
    make_top_k_scorer,
    top_k_accuracy,
)

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2))
LABELS = (X[:, :1] > np.array([[0.2, 0.5, 0.8]])).astype(int)
SETS = [set(np.flatnonzero(row).tolist()) for row in LABELS]


@parametrize_with_checks(
    [
        InputOutputKernelRegressor(),
        InputOutputKernelRegressor(loss="epsilon_ridge", fit_intercept=True),
        InputOutputKernelRegressor(output_kernel="gaussian", loss="max_margin"),
    ]
)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_clone_pickle_pipeline_and_search():
    model = InputOutputKernelRegressor(output_kernel=FeatureGaussian(Jaccard(), gamma=0.5))
    assert clone(model).set_params(output_kernel__gamma=2.0).output_kernel.gamma == 2.0
    fitted = clone(model).fit(X, SETS)
    assert pickle.loads(pickle.dumps(fitted)).predict(X) == fitted.predict(X)
    assert np.mean([a == b for a, b in zip(fitted.predict(X), SETS, strict=True)]) > 0.85
    pipeline = make_pipeline(StandardScaler(), InputOutputKernelRegressor(output_kernel="jaccard")).fit(X, SETS)
    assert pipeline.predict(X[:1]) == SETS[:1]
    search = GridSearchCV(
        InputOutputKernelRegressor(alpha=1e-3), {"kernel": [Gaussian(1e-6), Gaussian(10.0)]}, cv=3
    ).fit(X, LABELS)
    assert search.best_params_ == {"kernel": Gaussian(10.0)}


def test_data_frames_sparse_labels_and_numbers():
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(c=np.where(X[:, 0] > 0.5, "yes", "no"))
    model = InputOutputKernelRegressor().fit(frame, pd.DataFrame(LABELS))
    assert model.predict_labels(frame).shape == (40, 3)
    sparse = InputOutputKernelRegressor().fit(X, scipy.sparse.csr_array(LABELS))
    dense = InputOutputKernelRegressor().fit(X, LABELS)
    assert scipy.sparse.issparse(sparse.predict(X))
    np.testing.assert_array_equal(sparse.predict(X).toarray(), dense.predict(X))
    numbers = InputOutputKernelRegressor().fit(X, X[:, 0])
    assert numbers.predict(X).shape == numbers.predict_mean(X).shape == (40,)


def test_scorers():
    Z, P = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]]), np.array([[1, 0, 0], [0, 0, 0], [0, 1, 0]])
    assert example_f1(Z, P) == pytest.approx((2 / 3 + 1 + 0) / 3)
    assert example_f1([{0, 1}, set(), {0}], [{0}, set(), {1}]) == example_f1(Z, P)
    assert hamming_error(Z, P) == pytest.approx(3 / 9)
    assert example_f1(Z, P, sample_weight=[1, 0, 0]) == pytest.approx(2 / 3)
    assert top_k_accuracy([1, 2, 3.5], 2) == pytest.approx(2 / 3)
    model = InputOutputKernelRegressor()
    for scorer in (make_example_f1_scorer(), make_hamming_scorer(), make_top_k_scorer(1)):
        assert np.all(np.isfinite(cross_val_score(model, X, LABELS, scoring=scorer, cv=3)))
    fitted = model.fit(X, LABELS)
    assert make_hamming_scorer()(fitted, X, LABELS) == -np.mean(fitted.predict_labels(X) != LABELS)
    sets = InputOutputKernelRegressor(output_kernel="jaccard").fit(X, SETS)
    assert make_example_f1_scorer()(sets, X, SETS) == example_f1(SETS, sets.predict(X))
    ranks = sets.truth_rank(X, SETS, [{0}, {0, 1}, set()])
    assert make_top_k_scorer(2, [{0}, {0, 1}, set()])(sets, X, SETS) == np.mean(ranks <= 2)
    with pytest.raises(DataError, match="0 and 1"):
        hamming_error([[2, 0]], [[1, 0]])
    with pytest.raises(DataError, match="as many"):
        example_f1(Z, P[:2])
    with pytest.raises(MercerError, match="k must be"):
        make_top_k_scorer(0)


INDEFINITE = np.ones((40, 40)) - 2 * np.eye(40)


@pytest.mark.parametrize(
    ("settings", "Z", "message"),
    [
        ({"output_kernel": "precomputed"}, LABELS, r"is the Gram matrix of the outputs, of shape \(40, 40\)"),
        ({"output_kernel": "precomputed"}, "ab", "must hold numbers"),
        ({"solver": X}, LABELS, "solver must be"),
        ({"output_kernel": "precomputed"}, INDEFINITE, "positive semi-definite"),
        ({"output_kernel": "precomputed"}, np.triu(np.ones((40, 40))), "symmetric"),
        ({"output_kernel": ObjectFunction(lambda A, B: 1.0 - np.equal.outer(A, B))}, np.arange(40), "semi-definite"),
        ({"output_kernel": EditSimilarity(0.1, relative=False)}, None, "EmpiricalMap"),
        ({"output_kernel": EditSimilarity(0.1, relative=False), "output_approximation": 39}, None, "EmpiricalMap"),
        ({"output_kernel": "jacard"}, SETS, "Did you mean 'jaccard'"),
        ({"output_kernel": "jaccard"}, list("ab" * 20), "are sets, not text"),
        ({"output_kernel": "tanimoto"}, SETS, "fingerprints"),
        ({}, SETS, "'jaccard' for sets"),
        ({}, None.__class__, "come as a list"),
        ({}, LABELS[:39], "inconsistent numbers of samples, 40 and 39"),
        ({"loss": "hinge"}, LABELS, "max_margin"),
        ({"loss": "hubert"}, LABELS, "'huber'"),
        ({"loss": Pinball()}, LABELS, "are levels"),
        ({"loss": Huber(1.0, "pointwise")}, LABELS, "single coordinates"),
        ({"loss": "max_margin", "fit_intercept": True}, LABELS, "no intercept"),
        ({"loss": "huber", "mean_rank": 2}, LABELS, "known for the square loss"),
        ({"mean_rank": 0}, LABELS, "mean_rank must be"),
        ({"output_approximation": 1.5}, LABELS, "output_approximation must be"),
        ({"alpha": -1.0}, LABELS, "alpha must be"),
        ({"kernel": EditSimilarity()}, LABELS, "are strings"),
    ],
)
def test_what_a_fit_refuses(settings, Z, message):
    if Z is None:
        Z = ["".join(np.random.default_rng(i).choice(list("ab"), i % 6)) for i in range(40)]
    with pytest.raises(MercerError, match=message):
        InputOutputKernelRegressor(**settings).fit(X, Z)


def test_what_prediction_refuses():
    model = InputOutputKernelRegressor(output_kernel="jaccard").fit(X, SETS)
    for candidates, message in (([], "there are none"), ([1, 2], "cannot be compared"), ("ab", "come as a list")):
        with pytest.raises(DataError, match=message):
            model.score_candidates(X, candidates)
    with pytest.raises(DataError, match="list of row 1 is empty"):
        CandidateLists([[{1}], []])
    with pytest.raises(DataError, match="there are no lists"):
        CandidateLists([])
    with pytest.raises(DataError, match="indices must be from 0 to 0"):
        CandidateLists.of([{1}], [[1]])
    with pytest.raises(DataError, match="indices must be integers"):
        CandidateLists.of([{1}], [[0.7]])
    with pytest.raises(DataError, match="of one kind"):
        CandidateLists([np.zeros((1, 2)), np.zeros((1, 3))])
    with pytest.raises(DataError, match="single number"):
        CandidateLists(np.array(1.0))
    with pytest.raises(DataError, match="40 rows need as many lists"):
        model.predict(X, CandidateLists([[{1}]]))
    with pytest.raises(UnsupportedError, match="has no coordinates"):
        model.predict_mean(X)
    with pytest.raises(UnsupportedError, match="Pass candidates"):
        model.predict_labels(X)
    with pytest.raises(DataError, match="inconsistent numbers"):
        model.truth_rank(X, SETS[:3])
    with pytest.raises(DataError, match="inconsistent numbers"):
        model.score(X, SETS[:3])
    with pytest.raises(ParameterError, match="k must be"):
        model.rank(X, k=0)
    vectors = InputOutputKernelRegressor().fit(X, LABELS)
    with pytest.raises(DataError, match="length 3"):
        vectors.predict(X, [[0, 1]])
    with pytest.raises(UnsupportedError, match="outputs of 0 and 1"):
        InputOutputKernelRegressor().fit(X, 2 * LABELS).predict_labels(X)
    other = InputOutputKernelRegressor().fit(X, X)
    with pytest.raises(DataError, match="another model"):
        vectors.predict(X, other.encode(X))
    given = InputOutputKernelRegressor(output_kernel="precomputed").fit(X, LABELS @ LABELS.T)
    assert given.predict(X).dtype.kind == "i"
    for candidates, message in (
        (LABELS, r"shape \(m, 40\)"),
        (LABELS @ LABELS.T, "differs from object to object"),
        ((LABELS @ LABELS.T, np.ones(3)), r"must have shape \(40,\)"),
        ((LABELS @ LABELS.T, np.full(40, -1.0)), "numbers from 0"),
        (np.full((2, 40), np.nan), "finite"),
        (["a"], "must hold numbers"),
    ):
        with pytest.raises(DataError, match=message):
            given.predict(X, candidates)


def test_objects_in_lists_arrays_and_series():
    """A model does not mind in what its inputs and candidates come."""
    words = ["".join(RNG.choice(list("ab"), 3)) for _ in range(40)]
    model = InputOutputKernelRegressor(Spectrum(2), "spectrum", alpha=0.1).fit(words, words)
    others = InputOutputKernelRegressor(Spectrum(2), "spectrum", alpha=0.1).fit(pd.Series(words), pd.Series(words))
    assert len(model.outputs_fit_) == len(others.outputs_fit_) == len(set(words))
    for same in (np.array(words), pd.Series(words), tuple(words)):
        np.testing.assert_allclose(others.score_candidates(same), model.score_candidates(words), atol=1e-9)
        np.testing.assert_allclose(model.score_candidates(words, same), model.score_candidates(words, words))
    for nothing in ([], np.zeros(0)):
        with pytest.raises(DataError, match="inputs: there are none"):
            model.predict(nothing)


def test_distinct_outputs_are_the_candidates():
    sparse = scipy.sparse.csr_array(np.vstack([LABELS, LABELS]))
    sparse.data[:3] = 1  # a matrix that is not changed
    model = InputOutputKernelRegressor(alpha=0.1).fit(np.vstack([X, X]), sparse)
    assert model.outputs_fit_.shape[0] == len(np.unique(LABELS, axis=0))
    rows = np.array([["a", 1], ["a", 1], ["b", 1]], dtype=object)
    np.testing.assert_array_equal(distinct_objects(rows), [0, 2])
    np.testing.assert_array_equal(distinct_objects([np.zeros(1), np.zeros(1)]), [0, 1])
