"""Γ as a matrix and as a graph, with names."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import MultiTaskRegressor, VectorAutoRegressor, VectorFieldRegressor, VectorValuedRegressor
from mercer.exceptions import MercerError, UnsupportedError
from mercer.kernels import Gaussian, Linear
from mercer.operator_valued import Helmholtz, graph_matrix
from mercer.plotting import OutputMatrixDisplay, TaskGraphDisplay
from mercer.plotting.style import BLUE, ORANGE

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 2)), RNG.normal(size=(20, 3))
GAMMA = np.array([[4.0, -1.0, 0.0], [-1.0, 1.0, 0.2], [0.0, 0.2, 1.0]])


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def fitted(matrix):
    return VectorValuedRegressor(Gaussian(1.0), output_matrix=matrix, alpha=0.1).fit(X, Y)


def names(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def test_the_matrix_is_drawn_as_correlations_with_names():
    display = OutputMatrixDisplay.from_estimator(fitted(GAMMA), names=["u", "v", "w"])
    root = np.sqrt(np.diag(GAMMA))
    np.testing.assert_allclose(display.image_.get_array(), GAMMA / root[:, None] / root)
    assert display.image_.get_clim() == (-1, 1)
    assert names(display.ax_.xaxis) == names(display.ax_.yaxis) == ["u", "v", "w"]
    assert display.texts_[1].get_text() == "-0.5"
    plain = OutputMatrixDisplay.from_estimator(
        make_pipeline(StandardScaler(), fitted(GAMMA)).fit(X, Y), correlations=False
    )
    np.testing.assert_allclose(plain.image_.get_array(), GAMMA)
    assert plain.image_.get_clim() == (-4, 4)
    assert len(OutputMatrixDisplay(np.eye(12)).plot().texts_) == 0


def test_names_of_tasks_and_of_series_are_known():
    task = np.array(["b", "a"])[RNG.integers(0, 2, 20)]
    frame = pd.DataFrame({"x": X[:, 0], "task": task})
    tasks = MultiTaskRegressor("task", output_matrix=[[1.0, 0.5], [0.5, 1.0]], alpha=0.1).fit(frame, Y[:, 0])
    assert names(OutputMatrixDisplay.from_estimator(tasks).ax_.xaxis) == ["a", "b"]
    assert [text.get_text() for text in TaskGraphDisplay.from_estimator(tasks).ax_.texts] == ["a", "b"]
    series = pd.DataFrame(np.cumsum(RNG.normal(size=(40, 2)), axis=0), columns=["income", "prices"])
    model = VectorAutoRegressor(kernel=Linear(), alpha=0.1).fit(series)
    assert names(OutputMatrixDisplay.from_estimator(model).ax_.xaxis) == ["income", "prices"]


def test_a_graph_of_tasks_comes_back_from_its_matrix():
    S = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 3.0], [0.0, 3.0, 0.0]])
    display = TaskGraphDisplay.from_estimator(fitted(graph_matrix(S)))
    assert display.ties_ == [(0, 1), (1, 2)]
    degree = S.sum(axis=1)
    expected = np.array([1 / np.sqrt(degree[0] * degree[1]), 3 / np.sqrt(degree[1] * degree[2])])
    widths = np.array([edge.get_linewidth() for edge in display.edges_])
    np.testing.assert_allclose(widths / widths.max(), expected / expected.max())
    opposite = TaskGraphDisplay.from_estimator(fitted(GAMMA), threshold=0.5)
    assert opposite.ties_ == [(0, 1)]
    assert same_color(opposite.edges_[0].get_edgecolor(), (*matplotlib.colors.to_rgb(ORANGE), 0.75))


def test_who_acts_on_whom_has_arrows():
    model = VectorAutoRegressor(kernel=Linear(), alpha=0.01)
    series = np.zeros((200, 2))
    for t in range(1, 200):
        series[t] = [0.5 * series[t - 1, 0], 0.8 * series[t - 1, 0]] + 0.1 * RNG.normal(size=2)
    display = TaskGraphDisplay.from_estimator(model.fit(series), threshold=0.5)
    assert display.ties_ == [(0, 1)]  # the first acts on the second
    assert display.directed
    assert same_color(display.edges_[0].get_edgecolor(), (*matplotlib.colors.to_rgb(BLUE), 0.75))
    assert [text.get_text() for text in display.ax_.texts] == ["0", "1"]


def test_independent_outputs_have_no_ties():
    display = TaskGraphDisplay.from_estimator(fitted(None))
    assert display.ties_ == []
    assert "no ties" in [text.get_text() for text in display.ax_.texts]


def test_refusals():
    field = VectorFieldRegressor(Helmholtz(Gaussian(0.3), Gaussian(0.2)), alpha=1e-2).fit(X, Y[:, :2])
    for display in (OutputMatrixDisplay, TaskGraphDisplay):
        with pytest.raises(UnsupportedError, match="does not decompose"):
            display.from_estimator(field)
        with pytest.raises(UnsupportedError, match="MultiTaskRegressor"):
            display.from_estimator(StandardScaler())
        with pytest.raises(MercerError, match=r"shape \(p, p\)"):
            display(np.ones((2, 3))).plot()
        with pytest.raises(MercerError, match="2 outputs and 1 names"):
            display(np.eye(2), ["a"]).plot()
    with pytest.raises(MercerError, match="threshold"):
        TaskGraphDisplay(np.eye(2), threshold=2).plot()
