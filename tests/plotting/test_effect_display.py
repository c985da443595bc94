"""Effects of a column on a curve, drawn with bands."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import FunctionalRegressor
from mercer.exceptions import DataError, MercerError
from mercer.kernels import Gaussian
from mercer.model_selection import ResampledCurves, resample_effects
from mercer.plotting import EffectDisplay

RNG = np.random.default_rng(0)
GRID = np.linspace(0, 10, 8)
X = RNG.uniform(size=(30, 2))
Y = X[:, :1] * GRID + 0.1 * RNG.normal(size=(30, 8))
FIXED = {"kernel": Gaussian(1.0), "output_kernel": Gaussian(0.1), "alpha": 1e-3, "grid": GRID}
SETTINGS = {"n_resamples": 19, "random_state": 0}


def test_curves_and_bands_are_those_of_the_effects():
    model = FunctionalRegressor(**FIXED).fit(X, Y)
    names = {"theta_name": "day", "target_name": "height"}
    display = EffectDisplay.from_estimator(model, X, Y, 0, [0.1, 0.9], coverage=0.8, **SETTINGS, **names)
    effects = resample_effects(FunctionalRegressor(**FIXED), X, Y, 0, [0.1, 0.9], **SETTINGS)
    band = effects.band(0.8)
    for place, (line, filled) in enumerate(zip(display.curves_, display.bands_, strict=True)):
        np.testing.assert_allclose(line.get_xdata(), GRID)
        np.testing.assert_allclose(line.get_ydata(), effects.curves[place], rtol=1e-6)
        ends = filled.get_paths()[0].vertices[:, 1]
        assert (ends.min(), ends.max()) == pytest.approx((band[place, :, 0].min(), band[place, :, 1].max()), rel=1e-6)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("day", "height")
    assert display.ax_.get_title() == "column 0, 80 % bands of the whole curve"
    assert [label.get_text() for label in display.labels_] == ["0.1", "0.9"]


def test_differences_from_a_reference():
    effects = resample_effects(FunctionalRegressor(**FIXED), X, Y, 0, [0.0, 0.5, 1.0], **SETTINGS)
    display = EffectDisplay(effects, reference=1, kind="pointwise", column_name="dose").plot()
    assert [label.get_text() for label in display.labels_] == ["0", "1"]
    np.testing.assert_allclose(display.curves_[1].get_ydata(), effects.curves[2] - effects.curves[1])
    assert display.ax_.get_title() == "dose against 0.5, 90 % bands at each point"
    assert display.ax_.get_ylabel() == "difference in y(θ)"
    with pytest.raises(MercerError, match="reference"):
        EffectDisplay(effects, reference=3).plot()


def test_names_of_frames():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["dose", "age"])
    model = FunctionalRegressor(**FIXED).fit(frame, Y)
    assert EffectDisplay.from_estimator(model, frame, Y, 1, **SETTINGS).ax_.get_title().startswith("age")


def test_curves_in_the_plane_are_refused():
    effects = ResampledCurves(np.zeros((1, 8, 2)), np.zeros((5, 1, 8, 2)), GRID, np.zeros(1))
    with pytest.raises(DataError, match="real curves over a line"):
        EffectDisplay(effects).plot()
