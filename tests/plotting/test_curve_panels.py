"""Panels of single curves: which are shown, what is drawn of them, and how axes are named."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
import matplotlib.pyplot as plt

from mercer import FunctionalRegressor
from mercer.datasets import make_curves
from mercer.exceptions import MercerError
from mercer.plotting import CurvePanelsDisplay

GRID = np.linspace(0, 1, 6)
ZERO = np.zeros((7, 6))
Y = np.outer([3.0, 0.0, 1.0, 6.0, 2.0, 5.0, 4.0], np.ones(6))


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def titles(display):
    return [ax.get_title() for ax in display.axes_[0]]


def test_worst_median_and_best_are_shown():
    display = CurvePanelsDisplay.from_predictions(Y, ZERO, grid=GRID, names=list("abcdefg"))
    assert display.shown_.tolist() == [3, 0, 1]
    assert titles(display) == ["worst: d", "median: a", "best: b"]
    for sample, line, dots, left in zip(
        display.shown_, display.predicted_, display.observed_, display.residuals_, strict=True
    ):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([GRID, ZERO[sample]]))
        np.testing.assert_array_equal(dots.get_ydata(), Y[sample])
        np.testing.assert_array_equal(left.get_ydata(), Y[sample])
    assert display.bands_ == []
    display.figure_.canvas.draw()


@pytest.mark.parametrize(("n_panels", "shown"), [(1, [3]), (2, [3, 1]), (4, [3, 6, 4, 1]), (20, [3, 5, 6, 0, 4, 2, 1])])
def test_other_numbers_of_panels(n_panels, shown):
    display = CurvePanelsDisplay.from_predictions(Y, ZERO, n_panels=n_panels)
    assert display.shown_.tolist() == shown
    assert display.axes_.shape == (2, len(shown))
    assert titles(display)[0] == "worst: 3"


def test_curves_of_an_estimator_with_holes_and_scattered():
    data = make_curves(20, 12, random_state=0)
    holes = data.Y.copy()
    holes[:, 3] = np.where(np.arange(20) % 2, np.nan, holes[:, 3])
    fixed = {"kernel": "gaussian", "output_kernel": "gaussian", "alpha": 1e-3}
    model = FunctionalRegressor(grid=data.grid, **fixed).fit(data.X, holes)
    display = CurvePanelsDisplay.from_estimator(model, data.X, holes)
    residuals = (holes - model.predict(data.X))[display.shown_[0]]
    np.testing.assert_allclose(display.residuals_[0].get_ydata(), residuals[~np.isnan(residuals)])
    pairs = [(data.grid[::-2], row[::-2]) for row in data.Y]
    scattered = FunctionalRegressor(**fixed).fit(data.X, pairs)
    display = CurvePanelsDisplay.from_estimator(scattered, data.X, pairs)
    where, left = display.residuals_[0].get_data()
    np.testing.assert_array_equal(where, np.sort(data.grid[::-2]))
    sample = display.shown_[0]
    fitted = scattered.predict_at(data.X[[sample]], where)[0]
    np.testing.assert_allclose(left, np.interp(where, data.grid, data.Y[sample]) - fitted, atol=1e-9)


def test_bands_are_drawn_around_their_curves():
    width = np.arange(1.0, 8.0)[:, None]
    band = np.stack([ZERO - width, ZERO + width], axis=-1)
    display = CurvePanelsDisplay.from_predictions(Y, ZERO, grid=GRID, band=band)
    heights = [collection.get_paths()[0].vertices[:, 1].max() for collection in display.bands_]
    assert heights == [4.0, 1.0, 2.0]
    with pytest.raises(MercerError, match=r"band must have shape \(7, 6, 2\).*got \(2, 7, 6\).*axis=-1"):
        CurvePanelsDisplay.from_predictions(Y, ZERO, band=np.moveaxis(band, -1, 0))


def test_axes_have_the_names_that_are_given_or_those_of_the_data():
    def names(display):
        return display.axes_[1, 0].get_xlabel(), display.axes_[0, 0].get_ylabel()

    assert names(CurvePanelsDisplay.from_predictions(Y, ZERO)) == ("θ", "y(θ)")
    assert names(CurvePanelsDisplay.from_predictions(Y, ZERO, theta_name="age", target_name="height")) == (
        "age",
        "height",
    )
    skfda = pytest.importorskip("skfda")
    two = skfda.FDataGrid(np.stack([Y, -Y], axis=2), GRID, argument_names=("cycle",), coordinate_names=("hip", "knee"))
    predicted = np.zeros((7, 6, 2))
    assert names(CurvePanelsDisplay.from_predictions(two, predicted, component=1)) == ("cycle", "knee")
    given = CurvePanelsDisplay.from_predictions(two, predicted, component=0, target_name="angle")
    assert names(given) == ("cycle", "angle")
    model = FunctionalRegressor("gaussian", alpha=1e-2).fit(np.arange(7.0)[:, None], two.coordinates[1])
    found = CurvePanelsDisplay.from_estimator(model, np.arange(7.0)[:, None], two.coordinates[1])
    assert names(found) == ("cycle", "knee")


def test_a_figure_is_used_again_or_made():
    figure = plt.figure()
    left, right = figure.subfigures(1, 2)
    display = CurvePanelsDisplay.from_predictions(Y, ZERO, n_panels=2, figure=right)
    assert display.figure_ is right
    assert not left.axes
    assert display.plot().figure_ is not right


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_panels": 0}, "n_panels must be"),
        ({"names": ["a"]}, "7 curves and 1 names"),
        ({"Y": np.stack([Y, Y], axis=2), "predicted": np.zeros((7, 6, 2))}, "component must be given"),
        ({"grid": np.zeros((6, 2)) + GRID[:, None]}, "2 coordinates, but a curve is over a line"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(MercerError, match=message):
        CurvePanelsDisplay.from_predictions(**{"Y": Y, "predicted": ZERO, **settings})
