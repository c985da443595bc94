"""Sizes of data: what is beyond floating point is refused by name, what is within is fitted without a warning."""

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import CostSensitiveClassifier, FunctionalRegressor, KernelQuantileRegressor, LevelSetDetector
from mercer.exceptions import DataError, MercerError, ParameterError
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.magnitudes import LARGEST_NUMBER, check_magnitude

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 2)), RNG.normal(size=30)


def quantiles(**settings):
    return KernelQuantileRegressor(**settings)


@pytest.mark.parametrize("scale", [1e-150, 1e-70, 1e70, 1e150, 1e300])
@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("X", lambda scale: quantiles().fit(scale * X, Y)),
        ("y", lambda scale: quantiles().fit(X, scale * Y)),
        ("X", lambda scale: CostSensitiveClassifier().fit(scale * X, Y > 0)),
        ("X", lambda scale: LevelSetDetector().fit(scale * X)),
        ("X", lambda scale: FunctionalRegressor().fit(scale * X, Y[:, None] + X)),
        ("Y", lambda scale: FunctionalRegressor().fit(X, scale * (Y[:, None] + X))),
        ("Y", lambda scale: FunctionalRegressor().fit(X, [(np.array([0.1, 0.7]), scale * row) for row in X])),
    ],
)
def test_data_beyond_the_range_are_refused_by_name(name, fit, scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(DataError, match=rf"\b{name}\b.*Give {name} in another unit"):
            fit(scale)


@pytest.mark.parametrize("scale", [1e-50, 1e-12, 1e12, 1e50])
def test_data_within_the_range_are_fitted_alike(scale):
    one = quantiles(tol=1e-6).fit(X, Y).predict_quantile(X, [0.2, 0.7])
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        of_y = quantiles(tol=1e-6).fit(X, scale * Y).predict_quantile(X, [0.2, 0.7])
        of_X = quantiles(tol=1e-6).fit(scale * X, Y).predict_quantile(scale * X, [0.2, 0.7])
    np.testing.assert_allclose(of_y / scale, one, atol=1e-4)
    np.testing.assert_allclose(of_X, one, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-320, 1e-300, 1e-30, 1e30, 1e300])
def test_only_ratios_of_weights_matter(scale):
    weight = RNG.integers(1, 4, size=30).astype(float)
    one = quantiles(tol=1e-6).fit(X, Y, sample_weight=weight).predict(X)
    again = quantiles(tol=1e-6).fit(X, Y, sample_weight=scale * weight).predict(X)
    np.testing.assert_allclose(again, one, rtol=0 if scale > 1e-310 else 1e-2, atol=1e-6)


def test_weights_of_too_many_orders_are_refused():
    weight = np.ones(30)
    weight[3] = 1e-200
    with pytest.raises(DataError, match=r"sample_weight must not span more than 1e.30.*Use 0 for a row"):
        quantiles().fit(X, Y, sample_weight=weight)
    weight[3] = 1e-20
    quantiles().fit(X, Y, sample_weight=weight)


@pytest.mark.parametrize("alpha", [5e-324, 1e-150, 1e150, 1.7e308])
def test_alpha_beyond_the_range_is_refused(alpha):
    with pytest.raises(ParameterError, match=r"alpha must be a finite number in \[1e-100, 1e\+100\]"):
        quantiles(alpha=alpha).fit(X, Y)


def test_integers_beyond_floats_are_refused():
    with pytest.raises(ParameterError, match="alpha must be a finite number > 0"):
        quantiles(alpha=10**400).fit(X, Y)
    with pytest.raises(DataError, match="numbers that a float can"):
        quantiles().fit([[10**400], [1]], [0.0, 1.0])
    quantiles(alpha=np.float32(0.1)).fit(X, Y)  # no overflow where it is compared with bounds


def test_kernel_values_that_overflow_are_refused():
    with pytest.raises(DataError, match="kernel values"):
        quantiles(kernel=Polynomial(4, 1.0), alpha=1.0).fit(1e50 * X, Y)
    with pytest.raises(ParameterError, match=r"alpha must be at least .* for kernel values of size"):
        quantiles(kernel=Linear(), alpha=1e-60).fit(1e40 * X, Y)


@pytest.mark.parametrize("gamma", [1e-300, 1e-30, 1e30, 1e300])
def test_any_bandwidth_is_a_model(gamma):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = quantiles(kernel=Gaussian(gamma)).fit(X, Y)
        assert np.all(np.isfinite(model.predict_quantile(3 * X, [0.1, 0.9])))


def test_inputs_of_predictions_are_looked_at_too():
    model = quantiles().fit(X, Y)
    assert np.all(np.isfinite(model.predict(1e59 * X)))
    with pytest.raises(DataError, match="X must not have numbers beyond"):
        model.predict(1e200 * X)


def test_check_magnitude():
    check_magnitude("fit", "X", np.zeros((3, 2)))
    check_magnitude("fit", "X", np.full((3, 2), np.nan))
    check_magnitude("fit", "X", np.array([[1e-90, 0.0], [2e-90, 1.0]]), spread=False)
    with pytest.raises(MercerError, match="fit: column 0 of X varies by no more than 1e-90"):
        check_magnitude("fit", "X", np.array([[1e-90, 0.0], [2e-90, 1.0]]))
    with pytest.raises(MercerError, match="fit: y must not have numbers beyond " + re.escape(f"{LARGEST_NUMBER:g}")):
        check_magnitude("fit", "y", np.array([np.nan, -1e61]))


def test_a_kernel_that_spans_constants_needs_no_intercept():
    """The system of the intercept is then singular but for rounding; it used to end in a LinAlgError."""
    settings = {"kernel": "constant", "output_kernel": Gaussian(1e-12), "alpha": 1e-3, "solver": "admm"}
    for noncrossing in ("penalty", "constraint", None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = quantiles(noncrossing=noncrossing, **settings).fit(X[:4], Y[:4])
        assert np.all(np.isfinite(model.predict(X)))
