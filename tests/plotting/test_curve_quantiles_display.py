"""Quantiles of curves as fans over time: what is drawn is what is predicted."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer import FunctionalQuantileRegressor, KernelQuantileRegressor
from mercer.exceptions import MercerError
from mercer.plotting import CurveQuantilesDisplay

RNG = np.random.default_rng(0)
X, GRID = RNG.uniform(size=(30, 1)), np.linspace(0, 1, 6)
Y = np.sin(2 * np.pi * GRID) * X + 0.2 * RNG.normal(size=(30, 6))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return FunctionalQuantileRegressor(grid=GRID, alpha=0.01, calibration=None).fit(X, Y)


def test_bands_are_predicted_quantiles(model):
    display = CurveQuantilesDisplay.from_estimator(model, X, Y, coverages=[0.9, 0.5], n_panels=2, names=["a", "b"])
    assert [ax.get_title() for ax in display.axes_] == ["a", "b"]
    expected = model.predict_quantile(X[:2], [0.05, 0.25, 0.5, 0.75, 0.95])
    np.testing.assert_allclose(display.bands[:, :, 0], expected[:, :, [1, 3]])
    np.testing.assert_allclose(display.bands[:, :, 1], expected[:, :, [0, 4]])
    np.testing.assert_allclose(display.medians_[1].get_ydata(), expected[1, :, 2])
    widest = display.bands_[0][0].get_paths()[0].vertices[:, 1]
    assert widest.min() == pytest.approx(expected[0, :, 0].min())
    assert widest.max() == pytest.approx(expected[0, :, 4].max())
    points = display.axes_[0].lines[-1]
    np.testing.assert_allclose(points.get_ydata(), Y[0])
    assert [text.get_text() for text in display.legend_.get_texts()] == ["90 %", "50 %", "median"]


def test_without_observed_curves_and_with_fewer_rows(model):
    display = CurveQuantilesDisplay.from_estimator(model, X[:1])
    assert len(display.axes_) == 1
    assert display.observed is None


def test_what_is_refused(model):
    for arguments, message in (
        ((X, Y[:, :3]), "curves on the grid"),
        ((X, Y[:1]), "curves on the grid"),
    ):
        with pytest.raises(MercerError, match=message):
            CurveQuantilesDisplay.from_estimator(model, *arguments)
    with pytest.raises(MercerError, match="Coverages are probabilities"):
        CurveQuantilesDisplay.from_estimator(model, X, coverages=[90])
    with pytest.raises(MercerError, match="one name for each"):
        CurveQuantilesDisplay.from_estimator(model, X, names=["a"])
    numbers = KernelQuantileRegressor(alpha=0.1, stages="joint", kernel="gaussian").fit(X, Y[:, 0])
    with pytest.raises(MercerError, match="QuantileFanDisplay draws them"):
        CurveQuantilesDisplay.from_estimator(numbers, X)
