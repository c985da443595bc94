"""``partial_fit``: batches of the square loss are all rows at once; others go on; what is refused changes nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, VectorValuedRegressor
from mercer.exceptions import DataError, MercerError, ParameterError, ParameterTypeError, UnsupportedError
from mercer.features import Nystroem, RandomFourier
from mercer.kernels import Gaussian

FEATURES = RandomFourier(30, random_state=0)


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    Y = np.c_[np.sin(3 * X[:, 0]), X[:, 1] + X[:, 0]] + 0.1 * rng.normal(size=(n, 2))
    return X, Y, rng.uniform(0.5, 2.0, n)


def vectors(**settings):
    return VectorValuedRegressor(Gaussian(1.0), **{"alpha": 1e-3, "approximation": FEATURES, **settings})


def in_batches(model, X, y, weight=None, size=100, **settings):
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        model.partial_fit(X[part], y[part], sample_weight=None if weight is None else weight[part], **settings)
    return model


@pytest.mark.parametrize(
    "settings",
    [{}, {"fit_intercept": False}, {"output_matrix": [[1.0, 0.5], [0.5, 1.0]]}, {"output_matrix": np.ones((2, 2))}],
    ids=["plain", "no intercept", "related", "rank one"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_batches_of_the_square_loss_equal_all_rows(settings, weighted):
    X, Y, weight = rows()
    weight = weight if weighted else None
    whole = vectors(**settings).fit(X, Y, weight)
    streamed = in_batches(vectors(**settings), X, Y, weight)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-8)
    assert streamed.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    assert streamed.n_samples_seen_ == len(X)
    assert streamed.status_ == "stream"
    assert streamed.X_fit_ is None


def test_curves_in_batches_equal_all_curves():
    X, _, weight = rows()
    grid = np.linspace(0, 1, 8)
    Y = np.sin(3 * X[:, :1] + 4 * grid) + 0.1 * np.random.default_rng(1).normal(size=(len(X), 8))
    settings = {"output_kernel": Gaussian(5.0), "alpha": 1e-3, "approximation": FEATURES, "grid": grid}
    free = FunctionalRegressor(Gaussian(1.0), mean_curve="free", **settings)
    whole, streamed = clone(free).fit(X, Y, weight), in_batches(clone(free), X, Y, weight)
    between = [0.11, 0.52]
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=1e-8)
    np.testing.assert_allclose(streamed.predict_at(X, between), whole.predict_at(X, between), atol=1e-6)
    smooth = FunctionalRegressor(Gaussian(1.0), **settings)
    whole, streamed = clone(smooth).fit(X, Y), in_batches(clone(smooth), X, Y)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), atol=0.02)  # its mean is of the first batch
    before = streamed.predict(X)
    with pytest.raises(MercerError, match="grid"):
        streamed.partial_fit(X, Y[:, :5])
    with pytest.raises(DataError, match="complete"):
        streamed.partial_fit(X, np.where(Y > 0, np.nan, Y))
    np.testing.assert_array_equal(streamed.predict(X), before)


def test_other_losses_approach_the_fit_of_all_rows():
    X, Y, _ = rows(600)
    model = vectors(loss=mercer.losses.Huber(0.1), alpha=0.02)
    whole = clone(model).fit(X, Y)
    streamed = clone(model).partial_fit(X[:40], Y[:40])
    error = [np.sqrt(np.mean((streamed.predict(X) - whole.predict(X)) ** 2))]
    rng = np.random.default_rng(0)
    for _ in range(40):
        order = rng.permutation(len(X))
        streamed.partial_fit(X[order], Y[order])
    error.append(np.sqrt(np.mean((streamed.predict(X) - whole.predict(X)) ** 2)))
    assert error[1] < min(0.02, error[0] / 2)


def test_quantiles_go_on_learning():
    X, Y, _ = rows(900)
    y = Y[:, 0]
    few = KernelQuantileRegressor(Gaussian(1.0), approximation=FEATURES).partial_fit(X[:40], y[:40])
    start = few.score(X, y)
    in_batches(few, X[40:], y[40:])
    assert few.score(X, y) > start
    assert few.n_samples_seen_ == 900
    assert np.all(np.diff(few.predict_quantile(X, [0.1, 0.5, 0.9]), axis=1) >= 0)


def test_classes_of_a_stream():
    X, Y, _ = rows()
    y = np.where(Y[:, 0] > 0, "yes", "no")
    model = in_batches(CostSensitiveClassifier(), X, y, classes=["no", "yes"])
    assert model.score(X, y) > 0.9
    model.partial_fit(X[:1], y[:1])  # later batches may have one class only
    with pytest.raises(DataError, match="classes"):
        model.partial_fit(X, y, classes=["no", "maybe"])
    with pytest.raises(DataError, match="labels of the fit"):
        model.partial_fit(X[:2], ["no", "maybe"])
    with pytest.raises(DataError, match="both classes"):
        CostSensitiveClassifier().partial_fit(X[:3], ["no"] * 3, classes=["no", "yes"])


def test_landmarks_where_a_kernel_has_no_frequencies():
    X, Y, _ = rows(120)
    model = VectorValuedRegressor(lambda A, B: (1 + A @ B.T) ** 3, alpha=1e-3)
    in_batches(model, X, Y, size=60)
    assert isinstance(model.approximation_.features, Nystroem)
    assert model.score(X, Y) > 0.8


def test_bad_batches_keep_what_was_learned():
    X, Y, _ = rows()
    model = vectors().partial_fit(X, Y)
    before, seen = model.predict(X), model.n_samples_seen_
    for bad in [
        (X[:, :1], Y),
        (X[:0], Y[:0]),
        (X, Y[:, :1]),
        (X, Y[:5]),
        (X, np.where(Y > 0, np.nan, Y)),
        (np.full_like(X, np.nan), Y),
        (np.full(X.shape, "text"), Y),
    ]:
        with pytest.raises((MercerError, ValueError)):
            model.partial_fit(*bad)
    with pytest.raises(DataError, match="2 outputs"):
        model.partial_fit(X, Y[:, :1])
    with pytest.raises(DataError, match="weight"):
        model.partial_fit(X, Y, -np.ones(len(X)))
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.n_samples_seen_ == seen
    fresh = vectors()
    with pytest.raises(MercerError):
        fresh.partial_fit(X[:0], Y[:0])
    assert not hasattr(fresh, "stream_")


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (vectors(approximation=None), ParameterTypeError, "approximation"),
        (vectors(metric="variance"), UnsupportedError, "metric"),
        (mercer.SemiSupervisedRegressor(), UnsupportedError, "graph is that of all rows"),
        (mercer.LevelSetDetector(coupling=0.1), UnsupportedError, "coupling=0.1 couples levels"),
        (mercer.LevelSetDetector(alpha=0.1), UnsupportedError, "alpha=0.1 couples levels"),
        (mercer.LevelSetDetector("precomputed"), ParameterError, "no Gram matrix"),
        (mercer.SimplexClassifier(approximation=None), ParameterTypeError, "approximation"),
        (mercer.CostMatrixClassifier(CostSensitiveClassifier(approximation=None)), AttributeError, "partial_fit"),
        (KernelQuantileRegressor(approximation=FEATURES, noncrossing="penalty"), UnsupportedError, "all rows"),
        (FunctionalRegressor(representation="eigen"), UnsupportedError, "nodes"),
    ],
)
def test_what_needs_all_rows_says_so(model, error, message):
    X, Y, _ = rows(60)
    y = Y if isinstance(model, (VectorValuedRegressor, FunctionalRegressor)) else Y[:, 0]
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        model.partial_fit(X, y)
    assert isinstance(caught.value.__cause__, error)
    assert message in str(caught.value.__cause__)


def test_every_estimator_with_features_goes_on_learning():
    models = [getattr(mercer, name)() for name in mercer.__all__ if hasattr(getattr(mercer, name), "fit")]
    streams = {type(model).__name__ for model in models if hasattr(model, "partial_fit")}
    features = {type(model).__name__ for model in models if "approximation" in model.get_params()}
    assert streams == features | {"CostMatrixClassifier"}
    assert len(features) >= 9


def test_fit_begins_anew_and_settings_stay():
    X, Y, _ = rows()
    model = VectorValuedRegressor(Gaussian(1.0), alpha=1e-3).partial_fit(X, Y)
    assert model.approximation == "auto"
    assert isinstance(model.approximation_.features, RandomFourier)
    model.fit(X, Y)
    assert not hasattr(model, "stream_")
    assert model.partial_fit(X[:100], Y[:100]).n_samples_seen_ == 100


def test_saved_streams_go_on(tmp_path):
    X, Y, _ = rows()
    for model in (vectors(), vectors(loss="huber")):
        model.partial_fit(X[:150], Y[:150])
        path = tmp_path / "stream.mercer"
        mercer.save(model, path)
        loaded = mercer.load(path).partial_fit(X[150:], Y[150:])
        np.testing.assert_array_equal(loaded.predict(X), model.partial_fit(X[150:], Y[150:]).predict(X))


def test_data_frames_keep_their_encoder():
    X, Y, _ = rows()
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "x", "y")})
    model = in_batches(vectors(), frame, Y)
    assert model.n_samples_seen_ == len(frame)
    with pytest.raises((MercerError, ValueError)):
        model.partial_fit(frame[["a"]], Y)


@parametrize_with_checks([VectorValuedRegressor(approximation=RandomFourier(10, random_state=0))])
def test_sklearn_checks_with_features(estimator, check):
    check(estimator)


def test_parameter_errors_are_parameter_errors():
    assert issubclass(ParameterTypeError, (ParameterError, TypeError))
