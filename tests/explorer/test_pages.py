"""What pages are given is what models say, and nothing in it is obeyed."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.exceptions import DataError, UnsupportedError
from mercer.explorer.packing import packed
from mercer.explorer.slices import read_input_table
from tests.explorer.fits import HOSTILE, PAGES, data_of, flats, page, unpacked

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X[:, 0] + 0.3 * RNG.normal(size=60)
JOINT = {"kernel": "gaussian", "alpha": 1e-2}


class Objects(BaseEstimator):
    """A regressor of objects."""

    def __init__(self, objects):
        self.objects = objects

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def predict(self, X):
        return [self.objects[k % 2] for k in range(len(X))]


def test_codes_are_close_and_missing_stays_missing():
    values = np.array([[1e3, -5.0, np.nan], [0.1, np.inf, 2.0]])
    found = unpacked(packed(values))
    np.testing.assert_array_equal(np.isnan(found), ~np.isfinite(values))
    np.testing.assert_allclose(found[np.isfinite(values)], values[np.isfinite(values)], atol=1005 / 65534 / 2)
    assert np.isnan(unpacked(packed(np.full(2, np.nan)))).all()
    assert unpacked(packed([3.0, 3.0])).tolist() == [3.0, 3.0]


@pytest.mark.parametrize("name", list(PAGES))
def test_pages_are_small_and_alone(name):
    report = page(name)
    assert len(report.html.encode()) < 400_000
    addresses = set(re.findall(r"https?://[\w./-]+", report.html))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert report.html.count("</script") == 2
    assert not re.search(r"<(img|link|iframe)|@import|url\(h", report.html)
    assert "%%" not in report.html


def test_what_users_wrote_is_no_markup():
    report = page("fan")
    assert "<img" not in report.html
    data = data_of(report)
    assert data["explore"]["target"] == HOSTILE
    assert HOSTILE in [name for panel in data["panels"] if panel["panel"] == "bars" for name in panel["names"]]
    odd = pd.DataFrame({"<!--": X[:, 0], "%%SCRIPT%%": X[:, 1], "\u2028": X[:, 1] ** 2})
    strange = mercer.explore(mercer.KernelQuantileRegressor(**JOINT).fit(odd, Y), odd, Y, title="<b>%%DATA%%")
    assert "<!--" not in strange.html
    assert "<title>&lt;b&gt;%%DATA%%</title>" in strange.html
    names = {handle["name"] for handle in data_of(strange)["explore"]["handles"]}
    assert {"<!--", "%%SCRIPT%%"} < names


def test_slices_are_what_the_model_predicts():
    model = mercer.KernelQuantileRegressor(**JOINT).fit(X, Y)
    given = data_of(mercer.explore(model, X, Y))["explore"]
    first, second = given["handles"]
    assert {first["name"], second["name"]} == {"column 0", "column 1"}
    places = [int(handle["name"][-1]) for handle in (first, second)]
    values = unpacked(given["slices"][0]["values"])  # held values of the second, along the first, levels
    rows = np.empty((values.shape[1], 2))
    for k, held in enumerate(second["held"]["at"]):
        rows[:, places[0]], rows[:, places[1]] = first["fine"]["at"], held
        expected = model.predict_quantile(rows, given["levels"])
        np.testing.assert_allclose(values[k], expected, atol=1e-4 * np.ptp(expected))
    below = np.mean(Y[:, None] <= model.predict_quantile(X, given["levels"]), axis=0)
    np.testing.assert_allclose(given["below"], below, atol=1e-6)
    own = model.predict_quantile(X, given["levels"])
    np.testing.assert_array_equal(given["above"], np.sum(Y[:, None] > own, axis=1))


def test_planes_are_what_the_classifier_decides():
    given = data_of(page("regions"))["explore"]
    assert given["plane"]
    assert len(given["slices"]) == 3
    values = unpacked(given["slices"][0]["values"])
    assert values.shape[-1] == len(given["levels"]) + 1
    assert 0 <= values[..., -1].min() <= values[..., -1].max() <= 1
    assert len(given["inside"]) == 90
    called = np.mean([[mark == "1" for mark in row] for row in given["inside"]], axis=0)
    np.testing.assert_allclose(called, given["called"], atol=1e-6)


def test_tables_of_all_kinds_are_moved_in_their_types():
    table, _ = flats()
    read = read_input_table(table)
    kinds = {column.name: column.kind for column in read.columns}
    assert kinds == {"area": "number", "town": "category", "day": "date", "lift": "number", HOSTILE: "number"}
    columns = [read.columns[k] for k in (1, 2, 3)]
    rows = read.product(columns, [column.held() for column in columns])
    assert rows.dtypes["town"] == table.dtypes["town"]
    assert str(rows.dtypes["day"].tz) == "UTC"
    assert rows.dtypes["lift"].kind == "b"
    assert len(rows) == np.prod([len(column.held()) for column in columns])
    assert rows["area"].nunique() == 1
    assert set(rows["town"]) == {"Oslo", "Rome", HOSTILE}


def test_curves_of_chosen_inputs_and_of_rows():
    given = data_of(page("curves"))["explore"]
    held, predicted = unpacked(given["held"]), unpacked(given["predicted"])
    assert held.shape[-2:] == predicted.shape[1:] == (1, 20)
    assert len(given["observed"]) == len(given["rows"]) == len(predicted)
    seen = np.array([one["y"][0] for one in given["observed"]])
    assert np.sqrt(np.mean((predicted[:, 0] - seen) ** 2)) < 0.2


@pytest.mark.parametrize("form", ["polars", "pipeline", "search", "without y", "functions", "scattered", "classes"])
def test_models_and_data_in_all_forms(form):
    model, inputs, targets, kind = mercer.KernelQuantileRegressor(**JOINT), X, Y, "fan"
    if form == "polars":
        inputs = pytest.importorskip("polars").DataFrame({"a": X[:, 0], "b": X[:, 1]})
    elif form == "pipeline":
        model = make_pipeline(StandardScaler(), model)
    elif form == "search":
        from sklearn.model_selection import GridSearchCV

        model = GridSearchCV(model, {"alpha": [1e-2, 1e-1]}, cv=2)
    elif form == "functions":
        inputs = [(np.linspace(0, 1, 5), row) for row in RNG.normal(size=(60, 5))]
        model = mercer.KernelQuantileRegressor(alpha=1e-2)
    elif form == "scattered":
        targets, kind = [(np.sort(RNG.uniform(size=4)), RNG.normal(size=4)) for _ in Y], "curves"
        model = mercer.FunctionalRegressor("gaussian", alpha=1e-2)
    elif form == "classes":
        targets, kind, model = np.digitize(Y, [-0.5, 0.5]), "lines", mercer.SimplexClassifier("gaussian", alpha=1e-2)
    report = mercer.explore(model.fit(inputs, targets), inputs, None if form == "without y" else targets)
    assert report.kind == kind
    data = data_of(report)
    handles = data["explore"]["handles"]
    assert len(handles) == (0 if form == "functions" else 2)
    assert ("y" in data["explore"]) == (kind == "fan" and form != "without y")


def test_a_short_calibration_leaves_out_outer_levels():
    model = mercer.ConformalQuantileRegressor(mercer.KernelQuantileRegressor(**JOINT), random_state=0).fit(X, Y)
    given = data_of(mercer.explore(model, X, Y))["explore"]
    n = model.n_calibration_
    assert 1 / (n + 1) <= min(given["levels"]) < 0.5 < max(given["levels"]) <= n / (n + 1)
    below = np.mean(Y[:, None] <= model.predict_quantile(X, given["levels"]), axis=0)
    np.testing.assert_allclose(given["below"], below, atol=1e-6)


def test_rows_without_an_observation_are_predicted_only():
    targets = np.stack([Y, -Y], axis=1)
    targets[::3] = np.nan
    report = mercer.explore(mercer.SemiSupervisedRegressor("gaussian", alpha=1e-2).fit(X, targets), X, targets)
    given = data_of(report)["explore"]
    assert [one is None for one in given["observed"]] == [row % 3 == 0 for row in given["rows"]]


def test_vectors_have_names():
    targets = pd.DataFrame({"knee": Y, "hip": -Y})
    report = mercer.explore(mercer.VectorValuedRegressor("gaussian", alpha=1e-2).fit(X, targets), X, targets)
    assert data_of(report)["explore"]["names"] == ["knee", "hip"]


def test_what_cannot_be_shown_is_said():
    model = mercer.KernelQuantileRegressor(**JOINT)
    with pytest.raises(NotFittedError):
        mercer.explore(model, X, Y)
    model.fit(X, Y)
    with pytest.raises(DataError, match="60 and 59"):
        mercer.explore(model, X, Y[1:])
    with pytest.raises(DataError, match="1 names for 2 columns"):
        mercer.explore(model, X, Y, feature_names=["a"])
    series = mercer.VectorAutoRegressor().fit([np.cumsum(X, 0), X])
    with pytest.raises(UnsupportedError, match="one series"):
        mercer.explore(series, [X, X])
    with pytest.raises(UnsupportedError, match="no page for a StandardScaler"):
        mercer.explore(StandardScaler().fit(X), X)
    for objects in (["a", "b"], [{1}, {2}], [(1, [2]), (3, [4, 5])]):
        with pytest.raises(UnsupportedError, match="predicts objects"):
            mercer.explore(Objects(objects).fit(X), X)
    gram = mercer.KernelQuantileRegressor("precomputed", alpha=1e-2).fit(X @ X.T, Y)
    with pytest.raises(UnsupportedError, match="Gram"):
        mercer.explore(gram, X @ X.T, Y)


def test_reports_are_saved_and_shown(tmp_path):
    report = page("levels")
    path = report.save(tmp_path / "a.html")
    assert path.read_text(encoding="utf-8") == report.html
    shown = report._repr_html_()
    assert shown.startswith("<iframe")
    assert "<script" not in shown


def test_candidates_are_those_that_the_model_ranks():
    report = page("candidates")
    given, panels = data_of(report)["explore"], data_of(report)["panels"]
    scores = np.array(given["scores"])
    assert np.all(np.diff(scores, axis=1) <= 0)
    assert scores.shape == np.shape(given["best"])
    first = [given["names"][row[0]] for row in given["best"]]
    right = np.mean([found == truth for found, truth in zip(first, given["truth"], strict=True)])
    assert right == pytest.approx(np.mean(np.array(given["ranks"]) == 1))
    assert right > 0.6
    assert len(given["heldBest"]) == np.prod(given["heldShape"])
    share = next(panel for panel in panels if panel["title"].startswith("How far down"))["lines"][0]["y"]
    assert share[-1] == 1
    assert f"{HOSTILE}, sea" not in given["names"]  # labels keep the order of their columns
    assert any(name.startswith("sea, ") for name in given["names"])


def test_forecasts_are_those_of_the_model():
    rng = np.random.default_rng(0)
    Y = np.cumsum(rng.normal(size=(60, 2)), axis=0)
    model = mercer.VectorAutoRegressor(order=2, toward="last").fit(Y)
    given = data_of(mercer.explore(model, Y))["explore"]
    for k in (0, 7, len(given["origins"]) - 1):
        t = given["origins"][k]
        expected = model.forecast(len(given["forecasts"][0][k]), Y[:t])
        np.testing.assert_allclose(np.array(given["forecasts"])[:, k].T, expected, rtol=1e-3, atol=1e-3)
    assert np.all(np.array(given["low"]) <= np.array(given["high"]))
    assert given["origins"][-1] == 60
    np.testing.assert_allclose(np.array(given["values"]).T, Y, rtol=1e-3, atol=1e-3)


def test_quantiles_of_curves_are_those_of_the_model():
    report = page("curvefan")
    given = data_of(report)["explore"]
    values = unpacked(given["predicted"])
    assert values.shape[1:] == (12, len(given["levels"]))
    step = np.ptp(values) / 65534
    assert np.all(np.diff(values, axis=2) >= -2 * step)  # levels do not cross
    judged = next(panel for panel in data_of(report)["panels"] if panel["panel"] == "reliability")
    np.testing.assert_allclose(judged["observed"], judged["levels"], atol=0.12)
    row = given["rows"].index(3)  # of which one value was not observed
    assert [len(given["observed"][k]["t"]) for k in (row, row + 1)] == [11, 12]


def test_codes_are_decoded():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 1)) @ np.ones((1, 3)) + 0.05 * rng.normal(size=(30, 3))
    model = mercer.KernelAutoencoder(n_components=1, alpha=1e-3).fit(rows)
    given = data_of(mercer.explore(model, rows, feature_names=["a", "b", "c"]))["explore"]
    assert given["columns"] == ["a", "b", "c"]
    decoded = unpacked(given["decoded"])
    expected = model.inverse_transform(np.array(given["axes"][0])[:, None])
    np.testing.assert_allclose(decoded, expected, atol=1e-3)
    np.testing.assert_allclose(given["codes"][0], model.transform(rows)[:, 0], rtol=1e-3, atol=1e-4)


def test_fractions_of_a_forest_are_those_of_the_rows():
    given = data_of(page("scores"))["explore"]
    assert np.all(np.array(given["outside"]) <= np.array(given["levels"]) + 1 / 90)  # less where scores are equal
    assert np.all(np.diff(given["outside"]) >= 0)
    outside = np.mean([[mark == "0" for mark in row] for row in given["inside"]], axis=0)
    np.testing.assert_allclose(outside, given["outside"], atol=1e-6)


def test_sets_of_candidates_are_judged():
    sets = [{"low"} if x < 0 else {"high"} for x in X[:, 0] + 0.3 * RNG.normal(size=60)]
    regression = mercer.InputOutputKernelRegressor("gaussian", "jaccard", alpha=1e-2)
    model = mercer.ConformalCandidates(regression, random_state=0).fit(X[:40], sets[:40])
    report = mercer.explore(model, X[40:], sets[40:])
    given = data_of(report)
    judged = next(panel for panel in given["panels"] if panel["panel"] == "reliability")
    held = [
        [truth in found for truth, found in zip(sets[40:], model.predict_set(X[40:], coverage=c), strict=True)]
        for c in judged["levels"]
    ]
    np.testing.assert_allclose(judged["observed"], np.mean(held, axis=1))
    assert max(judged["levels"]) < 10 / 11  # what ten rows can promise
    alone = data_of(mercer.explore(model.estimator_, X[40:], sets[40:]))
    assert alone["explore"] == given["explore"]
