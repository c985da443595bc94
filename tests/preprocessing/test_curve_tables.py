"""Columns of curves: what they become, how they are read, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone

from mercer.exceptions import DataError, MercerError, UnsupportedError
from mercer.preprocessing import CurveTable, TableEncoder, curves_from_long
from mercer.preprocessing.curve_table import as_table

RNG = np.random.default_rng(0)
N, T = 40, np.linspace(0, 2, 12)
AGE = RNG.normal(size=N)
CURVES = np.sin(T * (1 + RNG.uniform(size=(N, 1)))) + 0.3 * RNG.normal(size=(N, 1)) * T
PAIRS = [(T, row) for row in CURVES]
HOLES = np.where(RNG.random(CURVES.shape) < 0.2, np.nan, CURVES)


def values_of(X):
    return TableEncoder(curves="values").fit_transform(X)


def test_curves_on_one_grid_are_their_values():
    for X in (PAIRS, CurveTable([PAIRS]), CurveTable({"growth": (T, CURVES)}), pd.DataFrame({"growth": PAIRS})):
        np.testing.assert_array_equal(values_of(X), CURVES)
    shuffled = [(T[order], row[order]) for row, order in zip(CURVES, map(RNG.permutation, [12] * N), strict=True)]
    np.testing.assert_array_equal(values_of(shuffled), CURVES)


def test_holes_are_filled_and_the_rest_is_kept():
    found = values_of([(T, row) for row in HOLES])
    seen = ~np.isnan(HOLES)
    np.testing.assert_allclose(found[seen], CURVES[seen], atol=1e-6)
    filled = np.sqrt(np.mean((found - CURVES)[~seen] ** 2))
    assert filled < 0.15 * CURVES.std()  # the mean of a column leaves all of its deviation
    np.testing.assert_array_equal(found, values_of([(T[~np.isnan(row)], row[~np.isnan(row)]) for row in HOLES]))


def test_new_curves_on_another_grid_are_evaluated_on_that_of_the_fit():
    encoder = TableEncoder(curves="values").fit(PAIRS)
    fine = np.linspace(0, 2, 200)
    smooth = np.sin(1.5 * fine)
    found = encoder.transform([(fine, smooth)])
    np.testing.assert_allclose(found[0], np.sin(1.5 * T), atol=0.01)
    np.testing.assert_array_equal(encoder.transform(CURVES[:3]), CURVES[:3])  # an array is on the grid
    with pytest.raises(DataError, match=r"observed from 5 to 9, the curves of the fit from 0 to 2"):
        encoder.transform([(np.array([5.0, 9.0]), np.ones(2))])


def test_curves_at_points_of_their_own_get_a_grid():
    pairs = [(np.sort(RNG.uniform(0, 2, 6)), None) for _ in range(N)]
    pairs = [(t, np.sin(t * (1 + a))) for (t, _), a in zip(pairs, RNG.uniform(size=N), strict=True)]
    encoder = TableEncoder(curves="values").fit(pairs)
    assert encoder.transform(pairs).shape == (N, 51)
    assert encoder.columns_[0].population.length == 0  # few values of each curve are taken for noisy ones
    few = [(T[np.sort(RNG.choice(12, 3, replace=False))], RNG.normal(size=3)) for _ in range(N)]
    np.testing.assert_allclose(TableEncoder().fit(few).columns_[0].points, T)


def test_scores_are_those_of_principal_components():
    encoder = TableEncoder().fit(PAIRS)
    scores = encoder.transform(PAIRS)
    weights = np.full(12, T[1] / 2)
    weights[[0, -1]] /= 2
    centred = CURVES - CURVES.mean(axis=0)
    values, vectors = np.linalg.eigh((centred * np.sqrt(weights)).T @ (centred * np.sqrt(weights)) / N)
    r = scores.shape[1]
    assert np.sum(values[-r:]) >= 0.99999 * values.sum() > np.sum(values[-r + 1 :])
    rough = TableEncoder().fit_transform([(T, row) for row in RNG.normal(size=(N, 12))])
    assert rough.shape == (N, 4)  # a tenth as many as curves
    np.testing.assert_allclose(np.mean(scores**2, axis=0), values[::-1][:r])
    np.testing.assert_allclose(np.abs(scores), np.abs(centred * np.sqrt(weights) @ vectors[:, ::-1][:, :r]), atol=1e-9)
    assert encoder.get_feature_names_out()[:2].tolist() == ["x0 score 1", "x0 score 2"]


def test_parts_side_by_side():
    frame = pd.DataFrame({"age": AGE, "town": ["Oslo", "Rome"] * (N // 2)})
    for X in (
        CurveTable([PAIRS, frame]),
        as_table([PAIRS, frame]),
        as_table({"growth": (T, CURVES), "others": frame}),
        frame.assign(growth=PAIRS)[["growth", "age", "town"]],
    ):
        encoder = TableEncoder(curves="values").fit(X)
        assert encoder.widths_ == [12, 1, 2]
        np.testing.assert_array_equal(encoder.transform(X)[:, :13], np.column_stack([CURVES, AGE]))
    table = CurveTable({"growth": PAIRS, "age": AGE})
    assert table.columns == ["growth", "age"]
    assert TableEncoder(curves="values").fit(table).get_feature_names_out()[[1, -1]].tolist() == [
        "growth(0.181818)",
        "age",
    ]
    assert [len(table[rows]) for rows in (3, slice(2, 5), [0, 7], AGE > 0)] == [1, 3, 2, int(np.sum(AGE > 0))]
    assert CurveTable([PAIRS, np.column_stack([AGE, AGE])]).shape == (N, 3)
    numbers = [AGE, AGE]
    assert as_table(numbers) is numbers  # no curves among them


def test_rows_without_a_curve_have_the_mean_curve():
    missing = [None, *PAIRS[1:]]
    for X in (missing, pd.DataFrame({"x0": missing})):
        found = values_of(X)
        np.testing.assert_array_equal(found[1:], CURVES[1:])
        np.testing.assert_allclose(found[0], CURVES[1:].mean(axis=0), atol=0.1)


def test_states_clones_and_files():
    X = [(T, row) for row in HOLES]
    encoder = TableEncoder().fit(X)
    assert clone(TableEncoder(curves="values")).curves == "values"
    for again in (pickle.loads(pickle.dumps(encoder)),):
        np.testing.assert_array_equal(again.transform(X), encoder.transform(X))
    data = skops.io.dumps(encoder)
    loaded = skops.io.loads(data, trusted=skops.io.get_untrusted_types(data=data))
    np.testing.assert_array_equal(loaded.transform(X), encoder.transform(X))
    weight = np.where(np.arange(N) < 5, 0.0, 1.0)
    np.testing.assert_array_equal(
        TableEncoder().fit(X, sample_weight=weight).transform(X), TableEncoder().fit(X[5:]).transform(X)
    )


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([(T, CURVES[0]), (T, CURVES[0, :5])], r"Column 0, row 1: points have shape \(12,\) and values \(5,\)"),
        ([(T, np.full(12, np.inf))], "finite"),
        ([(["a"] * 12, CURVES[0])], "must hold numbers"),
        ([PAIRS, AGE[:5]], r"same number of rows; they have \[40, 5\]"),
        ([(T, CURVES), (T[:3], CURVES)], r"a grid of 3 points comes with values of shape \(40, 12\)"),
    ],
)
def test_errors_name_what_is_wrong(X, words):
    with pytest.raises(MercerError, match=words):
        TableEncoder().fit(X)


def test_what_was_curves_stays_curves():
    table = CurveTable({"growth": PAIRS, "age": AGE})
    encoder = TableEncoder().fit(table)
    with pytest.raises(DataError, match="'growth' held curves in the training rows; now it holds numbers"):
        encoder.transform(CurveTable({"growth": AGE, "age": AGE}))
    with pytest.raises(DataError, match="'age' held numbers in the training rows; now it holds curves"):
        encoder.transform(CurveTable({"growth": PAIRS, "age": PAIRS}))
    with pytest.raises(DataError, match="X has 1 columns, of which a curve is one; TableEncoder was fitted on 2"):
        encoder.transform(PAIRS)
    with pytest.raises(DataError, match="in this order"):
        encoder.transform(CurveTable({"age": AGE, "growth": PAIRS}))
    with pytest.raises(MercerError, match="curves must be 'scores' or 'values'"):
        TableEncoder(curves="grid").fit(table)


def test_functions_of_two_variables_need_one_grid():
    square = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 0.5, 1.0)])
    surfaces = [(square, row) for row in CURVES[:, :6]]
    np.testing.assert_array_equal(values_of(surfaces), CURVES[:, :6])
    with pytest.raises(UnsupportedError, match="on one grid, without holes"):
        values_of([*surfaces, (square[:5], CURVES[0, :5])])
    with pytest.raises(UnsupportedError, match="on the grid of the training rows"):
        TableEncoder().fit(surfaces).transform([(square[:5], CURVES[0, :5])])


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_long_frames(library):
    long = pd.DataFrame([(f"c{i}", t, x, -x) for i, row in enumerate(HOLES) for t, x in zip(T, row, strict=True)])
    long.columns = ["child", "age", "height", "depth"]
    long = long.sample(frac=1, random_state=0)
    frame = library({name: long[name].to_numpy() for name in long})
    order = [f"c{i}" for i in range(N)]
    found = curves_from_long(frame, id="child", t="age", value="height", ids=order)
    assert found.ids == order
    for (t, x), row in zip(found.curves, HOLES, strict=True):
        np.testing.assert_array_equal(t, T[~np.isnan(row)])
        np.testing.assert_array_equal(x, row[~np.isnan(row)])
    np.testing.assert_array_equal(values_of(found.curves), values_of([(T, row) for row in HOLES]))
    appearing = curves_from_long(frame, id="child", t="age", value=["height", "depth"])
    assert appearing.ids == list(dict.fromkeys(long["child"]))
    assert appearing.curves[0][1].shape[1] == 2
    assert curves_from_long(frame, id="child", t="age", value="height", ids=["nobody"]).curves == [None]
    with pytest.raises(DataError, match="no column 'weight'; it has 'child', 'age'"):
        curves_from_long(frame, id="child", t="age", value="weight")
    with pytest.raises(DataError, match="column 'child' holds categories"):
        curves_from_long(frame, id="child", t="child", value="height")
    with pytest.raises(DataError, match="must be a data frame; got list"):
        curves_from_long([1], id="child", t="age", value="height")


def test_long_frames_with_dates():
    days = pd.to_datetime(["2024-01-01", "2024-01-03", "2024-01-02"])
    frame = pd.DataFrame({"id": [1, 1, 1], "day": days, "x": [1.0, 3.0, 2.0]})
    ((points, values),), ids = curves_from_long(frame, id="id", t="day", value="x")
    np.testing.assert_allclose(points - points[0], [0, 1, 2])
    assert (values.tolist(), ids) == ([1.0, 2.0, 3.0], [1])
    for column in ("id", "day"):
        with pytest.raises(DataError, match=f"column '{column}' has no value in row 1"):
            curves_from_long(
                frame.assign(**{column: [frame[column][0], None, frame[column][2]]}), id="id", t="day", value="x"
            )
