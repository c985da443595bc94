"""Autoregression of several series.

``check_estimator`` does not apply where X is a series: rows have an order, and the first ones are not predicted. What
of its conventions applies is tested here by hand.
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit

from mercer import VectorAutoRegressor, VectorValuedRegressor
from mercer.estimators.forward_choice import choose_forward, forward_blocks, forward_errors
from mercer.estimators.sample import Sample
from mercer.estimators.vector_outputs import VectorOutputs
from mercer.exceptions import DataError, MercerError
from mercer.kernels import Gaussian, Identity, Linear
from mercer.losses import Huber, Square
from mercer.measures import Points
from mercer.operator_valued import CurlFree

A = np.array([[0.7, 0.2, 0.0], [0.0, 0.5, 0.0], [0.3, 0.0, -0.4]])


def linear_series(T, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    Y = np.zeros((T + 20, 3))
    for t in range(1, T + 20):
        Y[t] = A @ Y[t - 1] + noise * rng.normal(size=3)
    return Y[20:]


def lags(Y, order):
    return np.array([np.concatenate([Y[t - lag] for lag in range(1, order + 1)]) for t in range(order, len(Y))])


def fixed(**changes):
    """A model that has nothing to choose."""
    return VectorAutoRegressor(**({"kernel": Gaussian(0.1), "alpha": 1e-3, "toward": "mean"} | changes))


@pytest.mark.parametrize("order", [1, 3])
@pytest.mark.parametrize("loss", ["square", Huber(kappa=0.5)])
def test_it_is_the_regression_on_lagged_values(order, loss):
    Y = linear_series(60)
    model = fixed(order=order, loss=loss, metric="variance", tol=1e-8).fit(Y)
    X = lags(Y, order)
    regression = VectorValuedRegressor(Gaussian(0.1), alpha=1e-3, loss=loss, metric=Y.var(axis=0), tol=1e-8)
    np.testing.assert_allclose(model.predict(Y), regression.fit(X, Y[order:]).predict(X), atol=1e-9)


def test_drawn_to_the_last_value_it_is_the_regression_of_increments():
    Y = np.cumsum(linear_series(60), axis=0)
    model = fixed(toward="last", metric=None).fit(Y)
    regression = VectorValuedRegressor(Gaussian(0.1), alpha=1e-3).fit(Y[:-1], np.diff(Y, axis=0))
    np.testing.assert_allclose(model.predict(Y), Y[:-1] + regression.predict(Y[:-1]), atol=1e-9)


@pytest.mark.parametrize("toward", ["mean", "last"])
def test_a_linear_kernel_and_hardly_any_penalty_are_least_squares(toward):
    Y = linear_series(80)
    model = fixed(kernel=Linear(), alpha=1e-7, toward=toward, tol=1e-6).fit(Y)
    design = np.hstack([Y[:-1], np.ones((79, 1))])
    coefficients = np.linalg.lstsq(design, Y[1:], rcond=None)[0]
    np.testing.assert_allclose(model.predict(Y), design @ coefficients, atol=1e-5)
    s = Y.std(axis=0)
    np.testing.assert_allclose(model.graph_, np.abs(coefficients[:3].T) * s / s[:, None], atol=1e-5)


def test_the_graph_is_the_root_mean_square_of_derivatives_over_lags():
    Y = linear_series(50)
    model = fixed(order=2, metric=None).fit(Y)
    X, s = lags(Y, 2), Y.std(axis=0)
    slopes = np.einsum("ijd,jp->ipd", Gaussian(0.1).gradient(X, model.regressor_.X_fit_), model.regressor_.dual_coef_)
    slopes = slopes.reshape(len(X), 3, 2, 3) * s / s[:, None, None]
    np.testing.assert_allclose(model.graph_, np.sqrt(np.mean(np.sum(slopes**2, axis=2), axis=0)), rtol=1e-5)


def test_a_forecast_iterates_the_prediction():
    Y = linear_series(60)
    model = fixed(order=2).fit(Y)
    longer = Y
    for _ in range(4):
        longer = np.vstack([longer, model.predict(np.vstack([longer[-2:], np.zeros(3)]))])
    np.testing.assert_allclose(model.forecast(4), longer[-4:], atol=1e-10)
    np.testing.assert_allclose(model.forecast(2, Y[:30]), model.forecast(2, Y[28:30]), atol=1e-12)
    assert not np.allclose(model.forecast(2, Y[:30]), model.forecast(2))


def test_residuals_are_those_of_later_values_by_fits_to_earlier_ones():
    Y = linear_series(60)
    model = fixed(metric=None).fit(Y)
    X, Z = Y[:-1], Y[1:]
    expected = []
    for train, test in forward_blocks(59):
        part = VectorValuedRegressor(Gaussian(0.1), alpha=1e-3 * 59 / len(train)).fit(X[train], Z[train])
        expected.append(Z[test] - part.predict(X[test]))
    np.testing.assert_allclose(model.residuals_, np.vstack(expected), atol=1e-9)
    assert model.forward_error_ == pytest.approx(np.mean(np.sum(np.vstack(expected) ** 2, axis=1)))


def test_bands_cover_as_they_say():
    """Futures of 200 states of the stationary process; 4 standard errors of 200 dependent hits are allowed for."""
    Y = linear_series(500, seed=1)
    model = fixed(kernel=Linear(), alpha=1e-4).fit(Y[:300])
    inside, together = [], []
    for t in np.arange(310, 490, 6):
        past, future = Y[:t], Y[t : t + 5]
        band = model.forecast_band(5, 0.8, past, n_paths=200, random_state=t)
        inside.append((band[..., 0] <= future) & (future <= band[..., 1]))
        wide = model.forecast_band(5, 0.8, past, kind="simultaneous", n_paths=200, random_state=t)
        together.append(np.all((wide[..., 0] <= future) & (future <= wide[..., 1])))
    assert abs(np.mean(inside) - 0.8) < 0.08
    assert abs(np.mean(together) - 0.8) < 0.25
    assert np.mean(wide[..., 1] - wide[..., 0]) > np.mean(band[..., 1] - band[..., 0])


def test_bands_are_quantiles_of_simulated_paths():
    """One step ahead a band holds quantiles of the prediction plus centred residuals."""
    Y = linear_series(60)
    model = fixed().fit(Y)
    band = model.forecast_band(1, 0.5, n_paths=20_000, random_state=0)
    noise = model.residuals_ - model.residuals_.mean(axis=0)
    expected = model.forecast(1)[0] + np.quantile(noise, [0.25, 0.75], axis=0, method="inverted_cdf")
    spacing = np.max(np.diff(np.sort(noise, axis=0)[5:-5], axis=0))
    np.testing.assert_allclose(band[0].T, expected, atol=spacing)
    again = model.forecast_band(1, 0.5, n_paths=20_000, random_state=0)
    np.testing.assert_array_equal(band, again)


def sample_of(X, Y):
    nodes = Points(np.arange(float(Y.shape[1])), np.ones(Y.shape[1])).build(X)
    return Sample(X, VectorOutputs(Y, nodes, 1, 2, located=False))


def test_forward_errors_are_those_of_refits_and_choose_the_best():
    Y = linear_series(40)
    X, Z = Y[:-1], Y[1:]
    kernels, alphas = [Linear(), Gaussian(0.1)], np.array([1e-3, 1e-1])
    errors = forward_errors(sample_of(X, Z), kernels, [Identity()], alphas, Square())
    for i, kernel in enumerate(kernels):
        for k, alpha in enumerate(alphas):
            squares = []
            for train, test in forward_blocks(39):
                part = VectorValuedRegressor(kernel, alpha=alpha * 39 / len(train)).fit(X[train], Z[train])
                squares.append(np.sum((Z[test] - part.predict(X[test])) ** 2, axis=1))
            assert errors[i, 0, k] == pytest.approx(np.mean(np.concatenate(squares)), rel=1e-6)
    chosen = choose_forward(sample_of(X, Z), kernels, [Identity()], 1e-3, Square())
    assert chosen.kernel == kernels[int(np.argmin(errors[:, 0, 0]))]


def test_blocks_follow_all_that_is_before_them():
    for n in (5, 6, 17, 100):
        blocks = forward_blocks(n)
        np.testing.assert_array_equal(np.concatenate([test for _, test in blocks]), np.arange(len(blocks[0][0]), n))
        assert all(len(train) >= 2 and train[-1] + 1 == test[0] for train, test in blocks)


def test_defaults_find_a_nonlinear_map_and_who_acts_on_whom():
    rng = np.random.default_rng(0)
    Y = np.zeros((150, 2))
    for t in range(1, 150):
        Y[t] = [0.5 * Y[t - 1, 0], np.cos(3 * Y[t - 1, 0])] + [1.0, 0.2] * rng.uniform(-1, 1, size=2)
    model = VectorAutoRegressor().fit(Y[:120])
    straight = VectorAutoRegressor(kernel=Linear(), alpha=1e-4).fit(Y[:120])
    assert model.toward_ == "mean"
    assert model.score(Y[120:]) > straight.score(Y[120:]) + 0.1
    assert model.graph_[1, 0] > 5 * model.graph_[0, 1]


def test_random_walks_are_drawn_to_the_last_value():
    Y = np.cumsum(np.random.default_rng(0).normal(size=(80, 2)), axis=0) * [1.0, 1000.0]
    model = VectorAutoRegressor(kernel=Gaussian(), alpha="auto").fit(Y)
    assert model.toward_ == "last"
    walk = np.mean(np.diff(Y[32:], axis=0) ** 2 / np.mean(np.diff(Y, axis=0) ** 2, axis=0))
    assert model.forward_error_ / 2 < 1.15 * walk


def test_units_of_series_do_not_matter():
    Y, units = linear_series(30), np.array([1, 100, 0.01])
    model, scaled = (VectorAutoRegressor(toward="mean", alpha=1e-2).fit(Z) for Z in (Y, Y * units))
    np.testing.assert_allclose(scaled.forecast(3) / units, model.forecast(3), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(scaled.graph_, model.graph_, rtol=1e-5, atol=1e-7)


def test_output_matrices_and_kernels_that_do_not_decompose():
    Y = linear_series(50)
    matrix = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    model = fixed(output_matrix=matrix, metric=None).fit(Y)
    np.testing.assert_allclose(model.regressor_.output_matrix_, matrix)
    assert fixed(output_matrix="learned").fit(Y).regressor_.output_matrix_.shape == (3, 3)
    field = fixed(kernel=CurlFree(Gaussian(0.1)), metric=None).fit(Y)
    expected = VectorValuedRegressor(CurlFree(Gaussian(0.1)), alpha=1e-3).fit(Y[:-1], Y[1:]).predict(Y[:-1])
    np.testing.assert_allclose(field.predict(Y), expected, atol=1e-9)


def test_several_series_share_one_map_and_no_row_looks_beyond_its_own():
    Y = linear_series(61)
    parts = [Y[:30], Y[31:]]
    model = fixed(metric=None).fit(parts)
    X, Z = np.vstack([one[:-1] for one in parts]), np.vstack([one[1:] for one in parts])
    expected = VectorValuedRegressor(Gaussian(0.1), alpha=1e-3).fit(X, Z)
    predicted = model.predict(parts)
    np.testing.assert_allclose(np.vstack(predicted), expected.predict(X), atol=1e-8)
    assert model.history_ is None
    assert model.forecast(2, Y).shape == (2, 3)
    with pytest.raises(DataError, match="several series"):
        model.forecast(2)
    with pytest.raises(DataError, match="call it for each"):
        model.forecast(2, parts)


def test_one_series():
    y = linear_series(60)[:, 0]
    model = fixed().fit(y)
    assert model.predict(y).shape == (59, 1)
    assert model.forecast(3).shape == (3, 1)
    np.testing.assert_allclose(model.forecast(3), fixed().fit(y[:, None]).forecast(3))


def test_data_frames_with_times():
    pd = pytest.importorskip("pandas")
    Y = linear_series(40)
    frame = pd.DataFrame(Y, columns=list("abc"), index=pd.period_range("2000-01", periods=40, freq="M"))
    model = fixed().fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(model.forecast(2, frame.iloc[:20]), fixed().fit(Y).forecast(2, Y[:20]))
    with pytest.raises(DataError, match="sort_index"):
        fixed().fit(frame.iloc[::-1])
    with pytest.raises(DataError, match="feature names"):
        model.forecast(2, frame[["b", "a", "c"]])


def test_score_is_r_squared_in_the_metric():
    Y = linear_series(60)
    model = fixed(metric="variance").fit(Y)
    s, rest = Y.std(axis=0), Y[1:] - model.predict(Y)
    expected = 1 - np.sum((rest / s) ** 2) / np.sum(((Y[1:] - Y[1:].mean(axis=0)) / s) ** 2)
    assert model.score(Y) == pytest.approx(expected)


def test_cycles_are_learned():
    y = np.tile([0.0, 1.0, 3.0], 10)
    model = VectorAutoRegressor(toward="mean", alpha=1e-4).fit(y)
    np.testing.assert_allclose(model.forecast(3)[:, 0], [0, 1, 3], atol=0.3)


def test_the_origin_does_not_matter():
    """Without a centre products of values around 10⁶ would have no digits left, and the fit would warn."""
    Y = linear_series(30)
    model, moved = (VectorAutoRegressor(toward="mean", alpha=1e-3).fit(Z) for Z in (Y, Y + 1e6))
    np.testing.assert_allclose(moved.forecast(3) - 1e6, model.forecast(3), atol=1e-6)


def test_constant_series():
    Y = np.hstack([linear_series(40)[:, :1], np.full((40, 1), 3.0)])
    model = VectorAutoRegressor(toward="mean", alpha=0.01).fit(Y)
    np.testing.assert_allclose(model.forecast(2)[:, 1], 3.0)
    assert np.all(np.isfinite(model.graph_))
    assert fixed().fit(Y[:, 1]).score(Y[:, 1]) == 1.0


def test_conventions_of_scikit_learn():
    Y = linear_series(40)
    model = fixed(order=2)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        model.forecast(2)
    before = Y.copy()
    assert model.fit(Y) is model
    assert model.n_features_in_ == 3
    np.testing.assert_array_equal(Y, before)
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.forecast(3), model.forecast(3))
    search = GridSearchCV(fixed(), {"order": [1, 2], "kernel__gamma": [0.01, 0.1]}, cv=TimeSeriesSplit(3)).fit(Y)
    assert search.best_params_["order"] in (1, 2)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))


@pytest.mark.parametrize(
    ("changes", "Y", "says"),
    [
        ({"order": 0}, linear_series(20), "order"),
        ({"order": 1.5}, linear_series(20), "order"),
        ({"order": 20}, linear_series(20), "smaller order"),
        ({"order": 17}, linear_series(20), "needs 5"),
        ({"toward": "zero"}, linear_series(20), "toward"),
        ({"metric": "levels"}, linear_series(20), "metric"),
        ({"metric": [1.0, 2.0]}, linear_series(20), "metric"),
        ({"criterion": "aic"}, linear_series(20), "criterion"),
        ({"alpha": -1.0}, linear_series(20), "alpha"),
        ({}, np.where(np.arange(20)[:, None] == 7, np.nan, linear_series(20)), "row 7 of column 0"),
        ({}, np.full((20, 2), np.inf), "NaN or infinite"),
        ({}, np.zeros((0, 2)), "0 sample"),
        ({}, [["a", "b"]] * 20, "could not convert"),
        ({}, np.zeros((4, 5, 3)), "3"),
    ],
)
def test_bad_input(changes, Y, says):
    with pytest.raises(MercerError, match=says):
        fixed(**changes).fit(Y)


def test_bad_forecasts():
    Y = linear_series(30)
    model = fixed(order=3).fit(Y)
    for bad, says in [
        (lambda: model.forecast(0), "steps"),
        (lambda: model.forecast(2, Y[:2]), "needs 3"),
        (lambda: model.predict(Y[:3]), "needs 4"),
        (lambda: model.predict(Y[:, :2]), "2 features"),
        (lambda: model.forecast_band(2, 90), "coverage"),
        (lambda: model.forecast_band(2, kind="both"), "kind"),
        (lambda: model.forecast_band(2, n_paths=1), "n_paths"),
    ]:
        with pytest.raises(MercerError, match=says):
            bad()
    growing = fixed(kernel=Linear(), alpha=1e-6).fit(1.5 ** np.arange(12)[:, None])
    with pytest.raises(DataError, match="explodes"):
        growing.forecast(500)
