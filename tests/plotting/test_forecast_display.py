"""The fan of a forecast."""

import numpy as np
import pytest

from mercer import VectorAutoRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Linear
from mercer.plotting import ForecastDisplay

Y = np.cumsum(np.random.default_rng(0).normal(size=(50, 2)), axis=0)


@pytest.fixture(scope="module")
def model():
    return VectorAutoRegressor(kernel=Linear(), alpha=0.1, toward="last").fit(Y[:40])


def test_lines_and_bands_are_those_of_the_forecast(model):
    display = ForecastDisplay.from_estimator(
        model, Y[:40], 6, series=1, coverages=(0.9, 0.5), n_past=20, future=Y[40:], random_state=3
    )
    np.testing.assert_allclose(display.past_.get_ydata(), Y[20:40, 1])
    np.testing.assert_allclose(display.forecast_.get_ydata(), [Y[39, 1], *model.forecast(6)[:, 1]])
    np.testing.assert_allclose(display.future_.get_ydata(), Y[39:46, 1])
    assert np.all(display.bands[:, 1, 0] <= display.bands[:, 0, 0])
    assert np.all(display.bands[:, 0, 1] <= display.bands[:, 1, 1])
    seed = np.random.RandomState(3).randint(2**31 - 1)
    np.testing.assert_allclose(display.bands[:, 1], model.forecast_band(6, 0.9, Y[:40], random_state=seed)[:, 1])
    ends = display.bands_[0].get_paths()[0].vertices[:, 1]
    assert (ends.min(), ends.max()) == pytest.approx((min(display.bands.min(), Y[39, 1]), display.bands.max()))
    assert [text.get_text() for text in display.legend_.get_texts()] == ["90 %", "50 %", "forecast", "what came"]
    assert display.ax_.get_ylabel() == "series 1"


def test_names_of_series():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(Y, columns=["income", "prices"])
    model = VectorAutoRegressor(kernel=Linear(), alpha=0.1, toward="last").fit(frame)
    display = ForecastDisplay.from_estimator(model, frame, 3, series="prices", random_state=0)
    assert display.ax_.get_ylabel() == "prices"
    np.testing.assert_allclose(display.past_.get_ydata()[-1], Y[-1, 1])


@pytest.mark.parametrize(
    ("changes", "says"), [({"series": 2}, "series"), ({"coverages": [95]}, "coverages"), ({"n_past": 0}, "n_past")]
)
def test_bad_settings(model, changes, says):
    with pytest.raises(MercerError, match=says):
        ForecastDisplay.from_estimator(model, Y, 3, **changes)
