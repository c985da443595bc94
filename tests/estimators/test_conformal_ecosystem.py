"""Calibration within scikit-learn: checks, pipelines, searches, frozen estimators, data frames; and what is refused."""

import pickle

import numpy as np
import pytest
from conformal_bases import LinearQuantiles, curved
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import ConformalQuantileRegressor, KernelQuantileRegressor
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.kernels import Gaussian
from mercer.measures import Points
from mercer.model_selection import make_crps_scorer

UNAVOIDABLE = {
    "check_sample_weight_equivalence_on_dense_data": "weights go to the base estimator; a row of weight 2 calibrates "
    "once, as coverage is that of rows drawn as the rows given were"
}
FAST = KernelQuantileRegressor(Gaussian(1.0), alpha=0.1, measure=Points([0.1, 0.5, 0.9]))


@parametrize_with_checks(
    [ConformalQuantileRegressor(), ConformalQuantileRegressor(method="cross", cv=2)],
    expected_failed_checks=lambda estimator: UNAVOIDABLE,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    return curved(np.random.default_rng(0), 80)


def test_default_is_a_kernel_quantile_regressor(data):
    model = ConformalQuantileRegressor(random_state=0).fit(*data)
    assert isinstance(model.estimators_[0], KernelQuantileRegressor)
    assert (model.n_calibration_, model.n_features_in_) == (20, 1)
    assert len(model.estimators_[0].X_fit_) == 60


@pytest.mark.parametrize("size", [0.25, 20])
def test_split_trains_on_the_rows_that_do_not_calibrate(data, size):
    X, y = data
    X = np.column_stack([X, np.arange(80.0)])
    base = KernelQuantileRegressor(Gaussian(1.0), alpha=0.1, measure=Points([0.5]))
    model = ConformalQuantileRegressor(base, calibration_size=size, random_state=1).fit(X, y)
    trained = set(model.estimators_[0].X_fit_[:, 1])
    calibrated = set(np.arange(80.0)) - trained
    assert len(trained) == 60
    again = clone(model).set_params(estimator=FrozenEstimator(model.estimators_[0]))
    rows = np.array(sorted(calibrated), dtype=int)
    again.fit(X[rows], y[rows])
    np.testing.assert_allclose(again.predict_interval(X), model.predict_interval(X))


def test_clone_pickle_and_repeat(data):
    X, y = data
    model = ConformalQuantileRegressor(LinearQuantiles(), method="cross", random_state=3).fit(X, y)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_interval(X), model.predict_interval(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    other = clone(model).set_params(random_state=4).fit(X, y)
    assert np.any(other.predict_interval(X) != model.predict_interval(X))


def test_data_frames(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=["x"], index=np.arange(80)[::-1])
    for method in ("split", "cross"):
        model = ConformalQuantileRegressor(FAST, method=method, random_state=0)
        framed = clone(model).fit(frame, pandas.Series(y, index=frame.index))
        assert list(framed.feature_names_in_) == ["x"]
        np.testing.assert_array_equal(framed.predict_interval(frame), model.fit(X, y).predict_interval(X))
        with pytest.raises(ValueError, match="feature names"):
            framed.predict(frame.rename(columns={"x": "z"}))


@pytest.mark.parametrize("method", ["split", "cross"])
def test_pipelines_and_searches_as_base(data, method):
    X, y = data
    scaled = make_pipeline(StandardScaler(), FAST)
    search = GridSearchCV(scaled, {"kernelquantileregressor__alpha": [0.1]}, cv=2)
    weight = np.linspace(0, 2, 80)
    by_hand = []
    for base in (scaled, search, make_pipeline(search)):
        model = ConformalQuantileRegressor(base, method=method, random_state=0)
        by_hand.append(model.fit(X, y, weight).predict_interval(X))
        unweighted = model.fit(X, y).predict_interval(X)
        assert np.max(np.abs(unweighted - by_hand[-1])) > 1e-3
        again = ConformalQuantileRegressor(FrozenEstimator(model.estimators_[0])).fit(X, y)
        assert again.predict_quantile(X, [0.1, 0.9]).shape == (80, 2)
    np.testing.assert_allclose(by_hand[1], by_hand[0])
    np.testing.assert_allclose(by_hand[2], by_hand[0])


def test_parameters_of_the_base_are_tuned(data):
    search = GridSearchCV(
        ConformalQuantileRegressor(LinearQuantiles(), random_state=0),
        {"estimator__spread": [0.5, 1.0]},
        scoring=make_crps_scorer(),
        cv=3,
    ).fit(*data)
    assert search.best_params_["estimator__spread"] in (0.5, 1.0)
    assert np.all(np.isfinite(cross_val_score(search.best_estimator_, *data, cv=3)))


def test_gram_matrices(data):
    X, y = data
    K = Gaussian(2.0)(X, X)
    plain = KernelQuantileRegressor(Gaussian(2.0), alpha=0.1, measure=Points([0.1, 0.5, 0.9]), tol=1e-6)
    given = clone(plain).set_params(kernel="precomputed")
    for method in ("split", "cross"):
        model = ConformalQuantileRegressor(plain, method=method, random_state=0)
        gram = ConformalQuantileRegressor(given, method=method, random_state=0)
        reference = model.fit(X, y).predict_interval(X)
        np.testing.assert_allclose(gram.fit(K, y).predict_interval(K), reference, atol=1e-3)


@pytest.mark.parametrize("method", ["split", "cross"])
def test_gram_matrices_have_a_column_for_each_row_given_to_fit(data, method):
    X, y = data
    K = Gaussian(2.0)(X, X)
    base = clone(FAST).set_params(kernel="precomputed")
    model = ConformalQuantileRegressor(base, method=method, random_state=0).fit(K, y)
    assert model.predict_quantile(K[:3], [0.2, 0.8]).shape == (3, 2)
    calls = [model.predict, model.predict_interval, model.predict_function]
    if method == "split":
        calls.append(lambda gram: model.calibrate(gram, y))
        assert model.calibrate(K, y).n_calibration_ == 80
    for call in calls:
        for gram in (K[:, :70], np.c_[K, K], K[0]):
            with pytest.raises(DataError, match=r"each of the 80 rows given to fit, .* got shape"):
                call(gram)
    with pytest.raises(DataError, match="square"):
        clone(model).fit(K[:, :70], y)


@pytest.mark.parametrize("method", ["split", "cross"])
def test_generators_are_random_states(data, method):
    X, y = data

    def interval(seed):
        model = ConformalQuantileRegressor(LinearQuantiles(), method=method, random_state=np.random.default_rng(seed))
        return model.fit(X, y).predict_interval(X)

    np.testing.assert_array_equal(interval(0), interval(0))
    assert np.any(interval(0) != interval(1))


@pytest.mark.parametrize("size", [np.float32(0.25), np.float64(0.25), np.int32(20)])
def test_numpy_numbers_are_sizes(data, size):
    assert ConformalQuantileRegressor(LinearQuantiles(), calibration_size=size).fit(*data).n_calibration_ == 20


def test_folds_of_groups_are_given_as_rows(data):
    folds = list(GroupKFold(4).split(*data, groups=np.arange(80) // 10))
    assert ConformalQuantileRegressor(LinearQuantiles(), method="cross", cv=folds).fit(*data).n_calibration_ == 80


def test_frozen_estimators_are_calibrated_with_all_rows(data):
    X, y = data
    base = LinearQuantiles().fit(X[:30], y[:30])
    fitted = ConformalQuantileRegressor(FrozenEstimator(base)).fit(X[30:], y[30:])
    calibrated = ConformalQuantileRegressor(FrozenEstimator(base)).calibrate(X[30:], y[30:])
    assert fitted.n_calibration_ == 50
    np.testing.assert_array_equal(fitted.predict_interval(X), calibrated.predict_interval(X))


def test_calibrate_takes_the_place_of_the_calibration_rows(data):
    X, y = data
    model = ConformalQuantileRegressor(LinearQuantiles(), random_state=0).fit(X, y)
    before, base = model.predict_interval(X), model.estimators_[0]
    assert model.calibrate(X, y + 100) is model
    assert model.estimators_[0] is base
    assert model.n_calibration_ == 80
    assert np.all(model.predict(X) > before.max())


def test_rows_of_weight_zero_do_not_calibrate(data):
    X, y = data
    weight = np.where(np.arange(80) < 50, 1.0, 0.0)
    base = FrozenEstimator(LinearQuantiles().fit(X, y))
    weighted = ConformalQuantileRegressor(base).fit(X, y, weight)
    np.testing.assert_array_equal(
        weighted.predict_interval(X), ConformalQuantileRegressor(base).fit(X[:50], y[:50]).predict_interval(X)
    )
    folds = [(np.arange(40, 80), np.arange(40)), (np.arange(40), np.arange(40, 80))]
    cross = ConformalQuantileRegressor(FAST, method="cross", cv=folds)
    assert cross.fit(X, y, weight).n_calibration_ == 50
    with pytest.raises(DataError, match="positive weights nowhere"):
        cross.fit(X, y, np.where(np.arange(80) < 40, 1.0, 0.0))


# -- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "jackknife"}, "method must be 'split' or 'cross'; got 'jackknife'"),
        ({"method": ["split"]}, "method must be"),
        ({"estimator": DummyRegressor()}, r"estimator must be an estimator with a method predict_quantile"),
        ({"estimator": make_pipeline(StandardScaler(), DummyRegressor())}, "predict_quantile"),
        ({"calibration_size": 1.5}, r"calibration_size must be a finite number in \(0, 1\)"),
        ({"calibration_size": "half"}, "calibration_size must be"),
        ({"calibration_size": True}, "calibration_size must be"),
        ({"calibration_size": 0}, "n_samples = 80"),
        ({"calibration_size": 80}, "n_samples = 80"),
        ({"calibration_size": 0.999}, "n_samples = 80"),
        ({"method": "cross", "cv": 1}, "k-fold"),
        ({"method": "cross", "cv": 81}, "greater than the number of samples"),
        ({"method": "cross", "cv": ShuffleSplit(3)}, "cv must be a splitter whose test folds hold every row"),
        ({"method": "cross", "cv": TimeSeriesSplit(3)}, "exactly once"),
        ({"method": "cross", "cv": RepeatedKFold(n_splits=3, n_repeats=2)}, "exactly once"),
        ({"method": "cross", "cv": GroupKFold(3)}, r"needs groups, which fit does not take. Pass its folds"),
        ({"method": "cross", "cv": "five"}, "cv"),
        ({"method": "cross", "cv": []}, r"exactly once; got \[\]"),
        ({"method": "cross", "cv": [(np.arange(80), np.arange(80))]}, "training rows leave out those of the test fold"),
        (
            {"method": "cross", "cv": [(np.arange(39, 80), np.arange(40)), (np.arange(40), np.arange(40, 80))]},
            "leave out",
        ),
        ({"method": "cross", "cv": [(np.arange(0), np.arange(80))]}, "without empty folds"),
        ({"method": "cross", "cv": [(np.arange(80), np.arange(81))]}, "folds of rows from 0 to 79"),
        ({"random_state": "a"}, r"random_state must be None, .*Generator; got 'a'"),
        ({"random_state": -1}, "random_state must be None"),
        ({"method": "cross", "random_state": -1}, "random_state must be None"),
        ({"method": "cross", "estimator": FrozenEstimator(LinearQuantiles())}, "Use method='split'"),
    ],
)
def test_bad_settings(data, settings, message):
    with pytest.raises(MercerError, match=message):
        ConformalQuantileRegressor(**{"estimator": LinearQuantiles(), **settings}).fit(*data)


@pytest.mark.parametrize("method", ["split", "cross"])
def test_too_few_calibration_rows(method):
    X, y = curved(np.random.default_rng(1), 40)
    model = ConformalQuantileRegressor(LinearQuantiles(), method=method, calibration_size=19, cv=KFold(2))
    model = model.fit(X[:19], y[:19]) if method == "cross" else model.fit(X, y)
    assert model.n_calibration_ == 19
    assert np.all(np.isfinite(model.predict_interval(X, 0.95)))
    assert np.all(np.isfinite(model.predict_quantile(X, [0.05, 0.95])))
    with pytest.raises(
        ValueError, match=r"coverage must be at most 0.95 with 19 calibration rows; got 0.96. 0.96 needs 24"
    ):
        model.predict_interval(X, 0.96)
    for level in (0.04, 0.96):
        with pytest.raises(ValueError, match=rf"between 0.05 and 0.95 with 19 .* got {level}. {level} needs 24"):
            model.predict_quantile(X, [0.5, level])


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90, np.nan, "most", None])
def test_bad_coverage(data, coverage):
    model = ConformalQuantileRegressor(LinearQuantiles()).fit(*data)
    with pytest.raises(MercerError, match="coverage must be"):
        model.predict_interval(data[0], coverage)


def test_bad_data(data):
    X, y = data
    model = ConformalQuantileRegressor(LinearQuantiles())
    for bad, message in [(np.full(80, np.nan), "NaN"), (["a"] * 80, "must hold numbers"), (y[:5], "inconsistent")]:
        with pytest.raises(DataError, match=message):
            model.fit(X, bad)
    with pytest.raises(DataError, match="1d array"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(UnsupportedError, match="takes no sample_weight"):
        model.fit(X, y, np.ones(80))
    with pytest.raises(DataError, match="n_samples = 1"):
        model.fit(X[:1], y[:1])


def test_a_base_that_predicts_nonsense_is_refused(data):
    class Nonsense(LinearQuantiles):
        def predict_quantile(self, X, levels):
            return super().predict_quantile(X, levels) * np.nan

    class Transposed(LinearQuantiles):
        def predict_quantile(self, X, levels):
            return super().predict_quantile(X, levels).T

    with pytest.raises(DataError, match=r"finite numbers .* with NaN"):
        ConformalQuantileRegressor(Nonsense()).fit(*data)
    with pytest.raises(DataError, match=r"shape \(20, 203\).* got shape \(203, 20\)"):
        ConformalQuantileRegressor(Transposed()).fit(*data)


def test_order_of_calls(data):
    X, y = data
    model = ConformalQuantileRegressor(LinearQuantiles())
    for call in (model.predict, model.predict_interval, model.predict_function):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        model.calibrate(X, y)
    with pytest.raises(NotFittedError):
        ConformalQuantileRegressor(FrozenEstimator(KernelQuantileRegressor())).fit(X, y)
    cross = ConformalQuantileRegressor(LinearQuantiles(), method="cross").fit(X, y)
    with pytest.raises(UnsupportedError, match="all rows calibrate in fit"):
        cross.calibrate(X, y)
