"""``partial_fit`` of level sets, fields, classes and what is tuned: batches against all rows at once."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import (
    CostMatrixClassifier,
    CostSensitiveClassifier,
    FunctionalRegressorCV,
    KernelQuantileRegressorCV,
    LevelSetDetector,
    SimplexClassifier,
    VectorFieldRegressor,
    VectorValuedRegressor,
)
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian, Linear, Matern
from mercer.linalg import memory_limit
from mercer.measures import Points
from mercer.operator_valued import CurlFree, Decomposable, Helmholtz, Indexed
from mercer.solvers.streamed import StreamedSolver

FEATURES = RandomFourier(40, random_state=0)
LEVELS = np.array([0.05, 0.2, 0.5])


def in_batches(model, X, y, size=100, first=None, weight=None, **settings):
    start, stop = 0, first or size
    while start < len(X):
        part = slice(start, stop)
        rest = {} if weight is None else {"sample_weight": weight[part]}
        model.partial_fit(X[part], None if y is None else y[part], **rest, **settings)
        start, stop = stop, stop + size
    return model


# -- fields: kernels whose values are matrices ------------------------------------------------------------------------


def vortices(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    Y = np.stack([-np.cos(2 * X[:, 1]), np.sin(2 * X[:, 0])], axis=1) + X + 0.1 * rng.normal(size=(n, 2)) + 0.5
    return X, Y, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("features", [FEATURES, Nystroem(25, random_state=0)], ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_fields_in_batches_equal_all_vectors(features, intercept):
    X, Y, weight = vortices()
    kernel = Helmholtz(Gaussian(1.0), Gaussian(1.0))
    model = VectorFieldRegressor(kernel, alpha=1e-3, fit_intercept=intercept, approximation=RandomFourier(40))
    model.set_params(approximation=features if features is FEATURES else Nystroem(25, selection="uniform"))
    # landmarks are those of the first batch: all vectors at once are fitted with its kernel
    streamed = in_batches(clone(model), X, Y, weight=weight)
    first = clone(model).fit(X[:100], Y[:100], weight[:100]).approximation_.kernel
    whole = VectorValuedRegressor(first, alpha=1e-3, fit_intercept=intercept, approximation=None).fit(X, Y, weight)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-7)
    assert streamed.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert streamed.n_samples_seen_ == len(X)
    step = 1e-5 * np.eye(2)[0]
    slope = (streamed.predict(X[:5] + step) - streamed.predict(X[:5] - step)) / 2e-5
    np.testing.assert_allclose(streamed.jacobian(X[:5])[:, :, 0], slope, atol=1e-6)


def test_fields_by_name_choose_by_the_first_batch():
    X, Y, _ = vortices()
    streamed = in_batches(VectorFieldRegressor(), X, Y)
    first = VectorFieldRegressor().fit(X[:100], Y[:100])
    assert repr(streamed.kernel_) == repr(first.kernel_)
    assert streamed.score(X, Y) > 0.95
    with pytest.raises(DataError, match="2 columns and vectors with 1"):
        streamed.partial_fit(X, Y[:, :1])


def test_robust_fields_go_on():
    X, Y, _ = vortices(600)
    Y[::10] *= 5
    model = VectorValuedRegressor(CurlFree(Gaussian(1.0)), alpha=0.05, loss=mercer.losses.Huber(0.2))
    model.set_params(approximation=FEATURES)
    whole, streamed = clone(model).fit(X, Y), clone(model).partial_fit(X[:40], Y[:40])
    errors = [np.sqrt(np.mean((streamed.predict(X) - whole.predict(X)) ** 2))]
    rng = np.random.default_rng(0)
    for _ in range(30):
        order = rng.permutation(len(X))
        streamed.partial_fit(X[order], Y[order])
    errors.append(np.sqrt(np.mean((streamed.predict(X) - whole.predict(X)) ** 2)))
    assert errors[1] < min(0.05, errors[0] / 2)


def test_fields_beyond_memory_go_by_blocks():
    X, Y, _ = vortices(1200)
    model = VectorFieldRegressor(CurlFree(Gaussian(1.0)), alpha=1e-3, loss=mercer.losses.Huber(0.1), tol=1e-5)
    model.set_params(approximation=Nystroem(40, random_state=0), fit_intercept=True)
    whole = clone(model).fit(X, Y)
    with memory_limit(2**20):
        parts = clone(model).fit(X, Y)
    assert isinstance(parts.solver_, StreamedSolver)
    assert not isinstance(whole.solver_, StreamedSolver)
    assert abs(parts.objective_ - whole.objective_) <= parts.dual_gap_ + whole.dual_gap_
    np.testing.assert_allclose(parts.predict(X[:20]), whole.predict(X[:20]), atol=1e-2)


def test_sums_of_kernels_have_no_features_as_a_whole():
    X, Y, _ = vortices(60)
    both = Decomposable(Gaussian(1.0), Indexed(np.eye(2))) + CurlFree(Gaussian(1.0))
    model = VectorValuedRegressor(both, alpha=1e-2)
    with pytest.raises(UnsupportedError, match="which replaces the kernels inside"):
        model.partial_fit(X, Y)
    with pytest.raises(UnsupportedError, match="which replaces the kernels inside"):
        clone(model).set_params(approximation=FEATURES).fit(X, Y)
    inside = clone(model).set_params(kernel=FEATURES.bind(both, X), approximation=None).fit(X, Y)
    np.testing.assert_allclose(inside.predict(X), model.fit(X, Y).predict(X), atol=0.1)


# -- level sets -------------------------------------------------------------------------------------------------------


def blobs(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    X[: n // 3] += 2
    return rng.permutation(X)


def excess(model, X):
    """Objectives of the levels on some rows."""
    h, t = model.expansion_.evaluate(X, LEVELS[:, None]), model.offset_
    return np.mean(np.maximum(t - h, 0), axis=0) / LEVELS - t + np.sum(model.expansion_.coef**2, axis=0) / 2


def test_level_sets_go_on_learning_towards_the_fit_of_all_rows():
    X, new = blobs(12_000), blobs(20_000, seed=1)
    model = LevelSetDetector(Gaussian(0.25), approximation=FEATURES, measure=Points(LEVELS), calibration=None)
    first, streamed = clone(model).fit(X[:300]), in_batches(clone(model), X, None, 500, first=300)
    whole = clone(model).fit(X)
    best = excess(whole, new)
    behind = [excess(one, new) - best for one in (first, streamed)]
    assert np.all(behind[1] < np.array([0.9, 0.7, 0.5]) * behind[0])
    assert np.all(behind[1] < 0.05 * np.abs(best))
    fractions = np.mean(streamed.predict_at(new, LEVELS) < 0, axis=0)
    np.testing.assert_allclose(fractions, LEVELS, atol=0.02)
    assert (streamed.n_samples_seen_, streamed.status_) == (12_000, "stream")
    assert streamed.n_calibration_ == 11_700
    assert streamed.X_fit_ is None
    assert np.isnan(streamed.relative_gap_)
    np.testing.assert_array_equal(streamed.offset_, streamed.optimal_offset_)


def test_a_stream_of_one_batch_is_the_fit_of_it():
    X = blobs(300)
    model = LevelSetDetector(approximation=FEATURES)
    streamed, whole = clone(model).partial_fit(X), clone(model).fit(X)
    np.testing.assert_array_equal(streamed.predict_at(X, LEVELS), whole.predict_at(X, LEVELS))
    assert streamed.relative_gap_ == whole.relative_gap_
    assert streamed.n_samples_seen_ == 300
    assert not hasattr(streamed.fit(X), "stream_")


@pytest.mark.parametrize(
    ("kernel", "features", "X"),
    [(Linear(), FEATURES, np.ones((100, 2))), (Matern(1.5, 1.0), Nystroem(17, random_state=0), 2e9 * blobs(49)[:, :1])],
    ids=["alike", "unlike"],
)
def test_regions_of_rows_that_are_all_alike_or_all_unlike(kernel, features, X):
    model = LevelSetDetector(kernel, approximation=features, measure=Points(LEVELS), calibration=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model.partial_fit(X).partial_fit(X)
    assert np.all(np.isfinite(model.offset_))
    assert np.all(np.isfinite(model.predict_at(X, LEVELS)))


def test_offsets_follow_rows_that_change():
    """Later rows lie elsewhere: regions move there."""
    model = LevelSetDetector(Gaussian(0.25), approximation=FEATURES, measure=Points(LEVELS))
    in_batches(model, np.concatenate([blobs(300), blobs(30_000) + 3.0]), None, 1000, first=300)
    assert np.mean(model.decision_function(blobs(500) + 3.0, 0.2)) > np.mean(model.decision_function(blobs(500), 0.2))


def test_bad_batches_keep_what_detectors_learned():
    X = blobs(300)
    model = LevelSetDetector(approximation=FEATURES).partial_fit(X).partial_fit(X)
    before = model.predict_at(X, LEVELS)
    for bad in (X[:, :1], X[:0], np.full_like(X, np.nan), np.full(X.shape, "text")):
        with pytest.raises((MercerError, ValueError)):
            model.partial_fit(bad)
    np.testing.assert_array_equal(model.predict_at(X, LEVELS), before)
    assert model.n_samples_seen_ == 600


# -- classes ----------------------------------------------------------------------------------------------------------


def classes(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, np.array(["a", "b", "c"])[np.digitize(X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=n), [-0.1, 0.15])]


def test_simplex_codes_in_batches_equal_all_rows():
    X, y = classes()
    new, truth = classes(4000, seed=1)
    model = SimplexClassifier(Gaussian(2.0), alpha=1e-3, approximation=FEATURES)
    whole, streamed = clone(model).fit(X, y), in_batches(clone(model), X, y)
    np.testing.assert_allclose(streamed.decision_function(X), whole.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(streamed.predict(X), whole.predict(X))
    assert streamed.n_samples_seen_ == 600
    index = np.searchsorted(streamed.classes_, truth)
    losses = [-np.mean(np.log(one.predict_proba(new)[np.arange(4000), index])) for one in (whole, streamed)]
    assert losses[1] < 1.05 * losses[0]
    assert streamed.fit(X, y).sharpness_ == whole.sharpness_


def test_labels_of_a_stream():
    X, y = classes()
    with pytest.raises(DataError, match=r"row \d+ has the label 'c', which is not among"):
        in_batches(
            SimplexClassifier(approximation=FEATURES), X, np.where(np.arange(600) < 100, "a", y), classes=["a", "b"]
        )
    later = SimplexClassifier(approximation=FEATURES)
    two = y[:100] != "c"
    later.partial_fit(X[:100][two], y[:100][two], classes=["a", "b", "c"])
    later.partial_fit(X[100:], y[100:])
    assert later.score(X, y) > 0.8
    with pytest.raises(DataError, match="the first batch came with"):
        later.partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(DataError, match="one class only"):
        SimplexClassifier(approximation=FEATURES).partial_fit(X, np.zeros(600))


def test_each_class_against_the_rest_goes_on():
    X, y = classes()
    base = CostSensitiveClassifier(Gaussian(2.0), alpha=1e-3, approximation=FEATURES, measure=Points([0.3, 0.7]))
    model = in_batches(CostMatrixClassifier(base), X, y, classes=["a", "b", "c"])
    assert model.score(X, y) > 0.75
    assert model.n_samples_seen_ == 600
    assert [one.n_samples_seen_ for one in model.estimators_] == [600] * 3
    before = model.predict_proba(X)
    with pytest.raises(DataError, match="classes are those of the first batch"):
        model.partial_fit(X, np.full(600, "d"))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :1], y)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert not hasattr(CostMatrixClassifier(VectorValuedRegressor(approximation=None)), "partial_fit")


# -- what is tuned ----------------------------------------------------------------------------------------------------


def test_what_the_first_batch_chose_stays():
    X, Y, _ = vortices(400)
    y = Y[:, 0]
    tuned = KernelQuantileRegressorCV(
        [Gaussian(1.0), Gaussian(0.1)],
        alphas=[1e-3, 1e-1],
        measure=Points([0.1, 0.5, 0.9]),
        cv=3,
        approximation=FEATURES,
    )
    streamed, first = in_batches(clone(tuned), X, y, first=100), clone(tuned).fit(X[:100], y[:100])
    assert (streamed.alpha_, streamed.kernel_) == (first.alpha_, first.kernel_)
    assert streamed.n_samples_seen_ == 400
    assert streamed.score(X, y) > first.score(X, y) - 0.01
    grid = np.linspace(0, 1, 5)
    curves = np.sin(3 * X[:, :1] + 4 * grid)
    model = FunctionalRegressorCV(alphas=[1e-4, 1e-1], grid=grid, approximation=FEATURES, cv=3)
    assert in_batches(model, X, curves).score(X, curves) > 0.95


def test_saved_streams_go_on(tmp_path):
    X, Y, _ = vortices()
    rows, y = classes(300)
    for model, inputs, targets in (
        (LevelSetDetector(approximation=FEATURES), X, None),
        (VectorFieldRegressor(CurlFree(Gaussian(1.0)), alpha=1e-2, approximation=Nystroem(9)), X, Y),
        (SimplexClassifier(approximation=FEATURES), rows, y),
    ):
        in_batches(model, inputs[:200], None if targets is None else targets[:200])
        mercer.save(model, tmp_path / "stream.mercer")
        loaded = mercer.load(tmp_path / "stream.mercer")
        rest = (inputs[200:],) if targets is None else (inputs[200:], targets[200:])
        ask = (LEVELS,) if targets is None else ()
        method = "predict_at" if targets is None else "predict"
        np.testing.assert_array_equal(
            getattr(loaded.partial_fit(*rest), method)(inputs, *ask),
            getattr(model.partial_fit(*rest), method)(inputs, *ask),
        )


@parametrize_with_checks([SimplexClassifier(approximation=RandomFourier(10, random_state=0))])
def test_sklearn_checks_of_streams(estimator, check):
    check(estimator)
