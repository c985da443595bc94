"""Errors against numbers of features, and times against numbers of rows."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import VectorValuedRegressor
from mercer.exceptions import DataError, ParameterError, ParameterTypeError
from mercer.features import Nystroem, RandomFourier, kernel_error
from mercer.kernels import Gaussian
from mercer.operator_valued import CurlFree
from mercer.plotting import ScalingDisplay

X = np.random.default_rng(0).uniform(-1, 1, size=(80, 2))
Y = np.stack([np.sin(3 * X[:, 0]), X[:, 0] * X[:, 1]], axis=1)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def test_sizes_are_sorted_and_the_slope_is_that_of_least_squares():
    display = ScalingDisplay([100, 1, 10], [3e-4, 2.0, 0.03], expected=[1e-4, 1.0, 0.01], name="rows").plot()
    assert display.line_.get_xdata().tolist() == [1, 10, 100]
    assert display.line_.get_ydata().tolist() == [2.0, 0.03, 3e-4]
    assert display.expected_.get_ydata().tolist() == [1.0, 0.01, 1e-4]
    assert display.slope_ == pytest.approx(np.polyfit([0, 1, 2], np.log10([2.0, 0.03, 3e-4]), 1)[0])
    assert display.labels_[0].get_text() == "slope −1.91"
    assert (display.ax_.get_xscale(), display.ax_.get_yscale(), display.ax_.get_xlabel()) == ("log", "log", "rows")


def test_a_single_size_has_no_slope():
    display = ScalingDisplay([7], [0.5]).plot()
    assert np.isnan(display.slope_)
    assert display.labels_ == []
    assert display.expected_ is None


@pytest.mark.parametrize("kernel", [Gaussian(2.0), CurlFree(Gaussian(1.0))], ids=repr)
def test_errors_of_kernels_are_those_of_kernel_error(kernel):
    maps = [RandomFourier(D, "iid", random_state=1) for D in (30, 300, 3000)]
    display = ScalingDisplay.from_kernel(kernel, X, maps=maps)
    found = [kernel_error(one.bind(kernel, X), kernel, X) for one in maps]
    np.testing.assert_allclose(display.line_.get_ydata(), [one.root_mean_square for one in found])
    np.testing.assert_allclose(display.expected_.get_ydata(), [one.predicted for one in found])
    np.testing.assert_allclose(display.line_.get_xdata(), [60, 600, 6000])
    assert -0.65 < display.slope_ < -0.35


def test_landmarks_have_no_expected_error():
    _, ax = plt.subplots()
    display = ScalingDisplay.from_kernel(Gaussian(2.0), X, maps=[Nystroem(m, random_state=0) for m in (5, 20)], ax=ax)
    assert display.ax_ is ax
    assert display.expected_ is None
    assert display.slope_ < -1


def test_errors_of_fits_through_a_pipeline():
    fits = [
        make_pipeline(
            StandardScaler(), VectorValuedRegressor(Gaussian(1.0), alpha=1e-4, approximation=Nystroem(m))
        ).fit(X[:60], Y[:60])
        for m in (30, 5)
    ]
    display = ScalingDisplay.from_estimators(fits, X[60:], Y[60:])
    assert display.line_.get_xdata().tolist() == [5, 30]
    expected = [1 - one.score(X[60:], Y[60:]) for one in reversed(fits)]
    np.testing.assert_allclose(display.line_.get_ydata(), expected)
    squared = ScalingDisplay.from_estimators(fits, X[60:], Y[60:], scoring="neg_mean_squared_error")
    errors = [np.mean((one.predict(X[60:]) - Y[60:]) ** 2) for one in reversed(fits)]
    np.testing.assert_allclose(squared.line_.get_ydata(), errors)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(DataError, match="one length and not empty; got shapes \\(2,\\), \\(1,\\)"):
        ScalingDisplay([1, 2], [1.0]).plot()
    with pytest.raises(DataError, match="sizes, values and expected"):
        ScalingDisplay([1, 2], [1.0, 2.0], expected=[1.0]).plot()
    with pytest.raises(DataError, match="values must be positive"):
        ScalingDisplay([1, 2], [1.0, 0.0]).plot()
    with pytest.raises(DataError, match="sizes must hold numbers"):
        ScalingDisplay(["few"], [1.0]).plot()
    with pytest.raises((ParameterError, ParameterTypeError), match="maps must be"):
        ScalingDisplay.from_kernel(Gaussian(1.0), X, maps=[300])
    exact = VectorValuedRegressor(Gaussian(1.0), alpha=1e-3, approximation=None).fit(X, Y)
    with pytest.raises(DataError, match="number 0 has the kernel itself"):
        ScalingDisplay.from_estimators([exact], X, Y)
    with pytest.raises(DataError, match="there is none"):
        ScalingDisplay.from_estimators([], X, Y)
