"""Bars of relevance: sorted, named, as many as asked for."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from mercer import KernelQuantileRegressor
from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.plotting import RelevanceDisplay

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["age", "dose", "shoe"])
Y = np.sin(2 * FRAME["dose"]) + 0.3 * FRAME["age"] + 0.1 * RNG.normal(size=40)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def rows(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


def widths(display):
    return [bar.get_width() for bar in display.bars_]


class Relevant(BaseEstimator):
    """An estimator with a relevance: of its columns in rising order."""

    def fit(self, X, y=None):
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        self.relevance_ = np.arange(1.0, X.shape[1] + 1)
        self.relevance_ /= self.relevance_.sum()
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_bars_are_the_relevance_of_a_fit_in_order_and_by_name():
    model = KernelQuantileRegressor().fit(FRAME, Y)
    display = RelevanceDisplay.from_estimator(model)
    order = np.argsort(-model.relevance_)
    assert rows(display) == FRAME.columns[order].tolist()
    assert rows(display)[0] == "dose"
    np.testing.assert_allclose(widths(display), model.relevance_[order])
    low, high = display.ax_.get_ylim()
    assert low > high  # the first one is at the top
    assert "how quickly the model changes" in display.ax_.get_xlabel()
    assert display.labels_[0].get_text() == f"{100 * round(model.relevance_.max(), 3):.4g} %"


def test_columns_beyond_the_number_asked_for_are_added_up():
    display = RelevanceDisplay([0.1, 0.4, 0.2, 0.3], n_columns=2).plot()
    assert rows(display) == ["column 1", "column 3", "2 others"]
    np.testing.assert_allclose(widths(display), [0.4, 0.3, 0.3])
    many = RelevanceDisplay(np.full(40, 1 / 40)).plot()
    assert len(rows(many)) == 16
    assert rows(many)[-1] == "25 others"
    assert sum(widths(many)) == pytest.approx(1)


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (make_pipeline(StandardScaler(), Relevant()), ["shoe", "dose", "age"]),
        (make_pipeline(StandardScaler().set_output(transform="pandas"), Relevant()), ["shoe", "dose", "age"]),
        (make_pipeline(Relevant()), ["shoe", "dose", "age"]),
        (make_pipeline(FunctionTransformer(np.asarray), Relevant()), ["column 2", "column 1", "column 0"]),
        (GridSearchCV(make_pipeline(StandardScaler(), Relevant()), {}, scoring="r2", cv=2), ["shoe", "dose", "age"]),
    ],
)
def test_wrapped_estimators_and_the_names_of_their_columns(estimator, names):
    fitted = estimator.fit(FRAME, Y)
    for each in (fitted, FrozenEstimator(fitted)):
        assert rows(RelevanceDisplay.from_estimator(each)) == names
    assert rows(RelevanceDisplay.from_estimator(fitted, names=list("abc"))) == ["c", "b", "a"]


def test_refusals():
    joint = KernelQuantileRegressor(alpha=0.1).fit(FRAME, Y)
    for estimator in (joint, make_pipeline(StandardScaler(), joint), GridSearchCV(Relevant(), {})):
        with pytest.raises(UnsupportedError, match=r"has no relevance_.*in stages"):
            RelevanceDisplay.from_estimator(estimator)
    for relevance in ([], [[0.5, 0.5]], [-0.1, 1.1], [np.nan], ["much"]):
        with pytest.raises(DataError, match="relevance must hold"):
            RelevanceDisplay(relevance).plot()
    with pytest.raises(DataError, match="2 columns and 1 names"):
        RelevanceDisplay([0.5, 0.5], ["one"]).plot()
    with pytest.raises(MercerError, match="n_columns"):
        RelevanceDisplay([0.5, 0.5], n_columns=0).plot()


def test_a_joint_fit_forgets_the_relevance_of_an_earlier_one():
    model = KernelQuantileRegressor().fit(FRAME, Y)
    assert not hasattr(model.set_params(alpha=0.1).fit(FRAME, Y), "relevance_")
