"""``partial_fit`` of objects: batches of the square loss are all rows at once; new objects join the candidates."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

import mercer
from mercer import InputOutputKernelRegressor
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian
from mercer.kernels.objects import Jaccard
from mercer.losses import Huber
from mercer.operator_valued import Decomposable

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(300, 2))
NEW = RNG.uniform(-1, 1, size=(20, 2))
LABELS = (X[:, :1] + 0.2 * X[:, 1:] > np.array([[-0.6, 0.0, 0.5]])).astype(float)
SETS = [set(np.flatnonzero(row).tolist()) for row in LABELS]
POOL = [{0}, {0, 1}, {0, 1, 2}, set()]
WEIGHT = RNG.uniform(0.5, 2.0, 300)
FEATURES = RandomFourier(30, random_state=0)


def objects(**settings):
    given = {"output_kernel": Jaccard(), "alpha": 1e-3, "approximation": FEATURES, **settings}
    return InputOutputKernelRegressor(Gaussian(1.0), **given)


def in_batches(model, X, y, weight=None, size=100):
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        model.partial_fit(X[part], y[part], None if weight is None else weight[part])
    return model


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["alike", "weights"])
def test_batches_of_the_square_loss_equal_all_rows(intercept, weight):
    model = objects(fit_intercept=intercept)
    whole, streamed = clone(model).fit(X, SETS, weight), in_batches(clone(model), X, SETS, weight)
    np.testing.assert_allclose(streamed.score_candidates(NEW, POOL), whole.score_candidates(NEW, POOL), atol=1e-8)
    assert streamed.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert streamed.n_samples_seen_ == 300
    assert streamed.status_ == "stream"
    assert streamed.X_fit_ is streamed.dual_coef_ is None
    assert len(streamed.outputs_fit_) == len(whole.outputs_fit_)


@pytest.mark.parametrize(
    "settings",
    [
        {"output_matrix": "learned"},
        {"output_approximation": 2},
        {"approximation": Nystroem(20, random_state=0)},
        {"approximation": "auto", "alpha": "auto"},
    ],
    ids=repr,
)
def test_one_batch_is_the_fit_of_it(settings):
    model = objects(**settings)
    streamed = clone(model).partial_fit(X, SETS)
    whole = clone(model).set_params(approximation=streamed.approximation_.features).fit(X, SETS)
    np.testing.assert_allclose(streamed.score_candidates(NEW, POOL), whole.score_candidates(NEW, POOL), atol=1e-7)
    assert streamed.approximation == settings.get("approximation", FEATURES)


def test_new_objects_are_candidates():
    few = [one for one in SETS if 2 not in one][:100]
    rows = np.array([2 not in one for one in SETS])
    model = objects(output_kernel=None).partial_fit(X[rows][:100], LABELS[rows][:100])
    assert not np.any(model.predict(NEW)[:, 2])
    model.partial_fit(X, LABELS)
    assert np.any(model.predict(NEW)[:, 2])
    assert len(model.outputs_fit_) == len({frozenset(one) for one in SETS})
    sets = objects().partial_fit(X[rows][:100], few)
    sets.partial_fit(X[:3], [{7, 8}, {7}, {7}], np.array([1.0, 1.0, 0.0]))  # what the first batch has nothing of
    assert {7} in sets.outputs_fit_
    assert np.all(sets.candidates_.coordinates[-2:] == 0)
    assert sets.predict(NEW)[0] in few


def test_sparse_outputs_stay_sparse():
    Z = scipy.sparse.csr_array(LABELS)
    model = in_batches(objects(output_kernel=None, approximation=FEATURES), X, Z)
    assert scipy.sparse.issparse(model.predict(NEW))
    dense = in_batches(objects(output_kernel=None), X, LABELS)
    np.testing.assert_allclose(model.predict_mean(NEW), dense.predict_mean(NEW), atol=1e-12)


def test_robust_losses_go_on():
    model = objects(loss=Huber(0.2, "norm"), alpha=0.02)
    whole, streamed = clone(model).fit(X, SETS), clone(model).partial_fit(X[:40], SETS[:40])
    errors = [np.abs(streamed.score_candidates(NEW, POOL) - whole.score_candidates(NEW, POOL)).mean()]
    for seed in range(30):
        order = np.random.default_rng(seed).permutation(300)
        streamed.partial_fit(X[order], [SETS[i] for i in order])
    errors.append(np.abs(streamed.score_candidates(NEW, POOL) - whole.score_candidates(NEW, POOL)).mean())
    assert errors[1] < min(0.02, errors[0] / 2)


def test_bad_batches_keep_what_was_learned():
    model = objects().partial_fit(X, SETS)
    vectors = objects(output_kernel=None).partial_fit(X, LABELS)
    before, seen = model.score_candidates(NEW), vectors.predict_mean(NEW)
    for bad in [
        (X[:, :1], SETS),
        (X[:0], []),
        (X, SETS[:5]),
        (X, None),
        (X, np.ones(300)),
        (np.full_like(X, np.nan), SETS),
        (X, SETS, -np.ones(300)),
    ]:
        with pytest.raises((MercerError, ValueError)):
            model.partial_fit(*bad)
    for bad in [LABELS[:, :2], np.full_like(LABELS, np.nan), SETS]:
        with pytest.raises((MercerError, ValueError)):
            vectors.partial_fit(X, bad)
    with pytest.raises(DataError, match="300 and 5"):
        model.partial_fit(X, SETS[:5])
    np.testing.assert_array_equal(model.score_candidates(NEW), before)
    np.testing.assert_array_equal(vectors.predict_mean(NEW), seen)
    assert model.n_samples_seen_ == vectors.n_samples_seen_ == 300


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (objects(loss="max_margin"), "one number a row"),
        (objects(mean_rank=2), "mean_rank"),
        (objects(output_kernel="precomputed"), "Gram matrix of outputs"),
        (InputOutputKernelRegressor(Jaccard(), Jaccard()), "one kernel on vectors"),
        (InputOutputKernelRegressor(Decomposable(Gaussian(1.0), Jaccard())), "one kernel on vectors"),
    ],
    ids=repr,
)
def test_what_needs_all_rows_says_so(model, message):
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.partial_fit(X, SETS)
    assert isinstance(caught.value.__cause__, UnsupportedError)
    assert message in str(caught.value.__cause__)


def test_fit_begins_anew_and_saved_streams_go_on(tmp_path):
    model = objects(fit_intercept=True).partial_fit(X[:150], SETS[:150])
    mercer.save(model, tmp_path / "stream.mercer")
    loaded = mercer.load(tmp_path / "stream.mercer").partial_fit(X[150:], SETS[150:])
    model.partial_fit(X[150:], SETS[150:])
    np.testing.assert_array_equal(loaded.score_candidates(NEW), model.score_candidates(NEW))
    model.fit(X, SETS)
    assert not hasattr(model, "stream_")
    assert model.partial_fit(X[:100], SETS[:100]).n_samples_seen_ == 100
