"""Pictures of fields show what the fit says."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator

from mercer import VectorFieldRegressor
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian
from mercer.operator_valued import Helmholtz
from mercer.plotting import FieldDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X = np.random.default_rng(0).uniform(-1, 1, size=(20, 2)) * np.array([1.0, 3.0])
    Y = np.stack([X[:, 1], np.sin(X[:, 0])], axis=1)
    return VectorFieldRegressor(Helmholtz(Gaussian(0.3), Gaussian(0.2)), alpha=1e-4).fit(X, Y), X, Y


@pytest.mark.parametrize("shading", ["divergence", "curl", "potential", "stream_function", "speed"])
def test_shades_and_arrows_are_those_of_the_fit(fitted, shading):
    model, X, Y = fitted
    display = FieldDisplay.from_estimator(FrozenEstimator(model), X, Y, shading=shading, grid_resolution=9)
    point = np.array([[display.axes[0][4], display.axes[1][7]]])
    np.testing.assert_allclose(display.field[7, 4], model.predict(point)[0])
    expected = np.linalg.norm(model.predict(point)) if shading == "speed" else getattr(model, shading)(point)[0]
    assert display.shades[7, 4] == pytest.approx(expected)
    assert display.colorbar_.ax.get_ylabel() == shading.replace("_", " ")
    np.testing.assert_allclose(np.stack([display.observed_.U, display.observed_.V], axis=1), Y)
    assert display.observed_.scale == display.arrows_.scale


def test_streams_frames_and_no_shades(fitted):
    model, X, _ = fitted
    display = FieldDisplay.from_estimator(model, X, shading=None, style="streams", grid_resolution=9)
    assert display.shades_ is None
    assert display.observed_ is None
    frame = pd.DataFrame(X, columns=["east", "north"])
    named = VectorFieldRegressor(Helmholtz(Gaussian(0.3), Gaussian(0.2)), alpha=1e-4).fit(frame, fitted[2])
    display = FieldDisplay.from_estimator(named, frame, grid_resolution=5)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("east", "north")


def test_rounding_errors_are_pale(fitted):
    flow = VectorFieldRegressor("divergence-free").fit(*fitted[1:])
    display = FieldDisplay.from_estimator(flow, fitted[1], shading="divergence", grid_resolution=9)
    assert np.abs(display.shades).max() < 0.01 * display.shades_.norm.vmax


def test_refusals(fitted):
    model, X, Y = fitted
    with pytest.raises(MercerError, match="'divergence', 'curl'"):
        FieldDisplay.from_estimator(model, X, shading="rotation")
    with pytest.raises(MercerError, match="'arrows' or 'streams'"):
        FieldDisplay.from_estimator(model, X, style="lines")
    with pytest.raises(MercerError, match="two columns"):
        FieldDisplay.from_estimator(model, X[:, :1])
    with pytest.raises(MercerError, match="inconsistent"):
        FieldDisplay.from_estimator(model, X, Y[:3])
