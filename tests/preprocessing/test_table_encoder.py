"""Tables as numbers: what each kind of column becomes, in pandas, polars and arrays."""

import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import skops.io
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.exceptions import DataError, MercerError
from mercer.preprocessing import TableEncoder
from mercer.preprocessing.cells import needs_encoding

LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
NOON = datetime(2024, 1, 1, 12)


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(params=LIBRARIES)
def frame(request):
    return LIBRARIES[request.param]


def encode(frame, cells, new=None, **settings):
    encoder = TableEncoder(**settings).fit(frame({"x": cells}))
    return encoder.transform(frame({"x": cells if new is None else new}))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([1.5, 2.0, -3.0], [[1.5], [2.0], [-3.0]]),
        ([True, False, True], [[1], [0], [1]]),
        ([1.0, None, 4.0], [[1, 0], [2.5, 1], [4, 0]]),
        ([1, None, 4], [[1, 0], [2.5, 1], [4, 0]]),
        ([True, None, False], [[1, 0], [0.5, 1], [0, 0]]),
        (["b", "a", "b"], [[0, 1], [1, 0], [0, 1]]),
        (["b", None, "a"], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        ([NOON, NOON - timedelta(days=2), NOON + timedelta(hours=6)], [[2], [0], [2.25]]),
        ([NOON, None, NOON + timedelta(days=3)], [[0, 0], [1.5, 1], [3, 0]]),
        ([date(2024, 3, 1), date(2024, 2, 1), date(2024, 2, 2)], [[29], [0], [1]]),
        ([timedelta(days=2), None, timedelta(hours=12)], [[2, 0], [1.25, 1], [0.5, 0]]),
        ([NOON.replace(tzinfo=UTC), (NOON + timedelta(days=1)).replace(tzinfo=UTC)], [[0], [1]]),
        ([Decimal("1.5"), None, Decimal("2.5")], [[1.5, 0], [2, 1], [2.5, 0]]),
    ],
)
def test_what_a_column_becomes(frame, cells, expected):
    encoded = encode(frame, cells)
    assert encoded.dtype == np.float64
    np.testing.assert_allclose(encoded, expected, atol=1e-9)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_types_of_pandas(dtype):
    table = pd.DataFrame({"x": pd.array([1, None, 0], dtype=dtype)})
    np.testing.assert_array_equal(TableEncoder().fit_transform(table), [[1, 0], [0.5, 1], [0, 0]])


def test_times_with_a_zone_are_moments():
    paris = pd.to_datetime(["2024-01-01 12:00", "2024-01-02 12:00"]).tz_localize("Europe/Paris")
    encoder = TableEncoder().fit(pd.DataFrame({"t": paris}))
    same = pd.DataFrame({"t": paris.tz_convert("Asia/Tokyo")})
    np.testing.assert_allclose(encoder.transform(same), [[0], [1]])
    np.testing.assert_allclose(encoder.transform(pd.DataFrame({"t": [datetime(2024, 1, 1, 11)]})), [[0]])  # UTC


def test_categories_keep_what_they_are():
    codes = pd.DataFrame({"zip": pd.Categorical([30, 4, 30], categories=[4, 30, 99])})
    encoder = TableEncoder().fit(codes)
    assert encoder.get_feature_names_out().tolist() == ["zip=4", "zip=30"]
    np.testing.assert_array_equal(encoder.transform(codes), [[0, 1], [1, 0], [0, 1]])
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"zip": [4, 7]})), [[1, 0], [0, 0]])
    missing = pd.DataFrame({"zip": pd.Categorical([4, None, 30])})  # which pandas keeps as floats
    np.testing.assert_array_equal(encoder.transform(missing), [[1, 0], [0, 0], [0, 1]])
    assert TableEncoder().fit(missing).get_feature_names_out().tolist() == ["zip=4", "zip=30", "zip=(missing)"]
    enumerated = pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Enum(["b", "a", "c"]))})
    np.testing.assert_array_equal(TableEncoder().fit_transform(enumerated), [[0, 1], [1, 0]])


def test_rare_categories_share_a_column(frame):
    cells = ["a"] * 3 + ["b"] * 2 + ["c", "d", None]
    table = frame({"x": cells})
    encoder = TableEncoder(max_categories=2).fit(table)
    assert encoder.get_feature_names_out().tolist() == ["x=a", "x=b", "x=(other)", "x=(missing)"]
    np.testing.assert_array_equal(encoder.transform(table).argmax(axis=1), [0, 0, 0, 1, 1, 2, 2, 3])
    np.testing.assert_array_equal(encoder.transform(frame({"x": ["never seen"]})), [[0, 0, 0, 0]])
    assert TableEncoder().fit(frame({"x": [f"{k:02d}" for k in range(40)]})).widths_ == [31]
    assert TableEncoder().fit(frame({"x": [f"{k:02d}" for k in range(30)]})).widths_ == [30]


def test_new_rows(frame):
    assert encode(frame, [1.0, 3.0], new=[None, 2.0]).tolist() == [[2.0], [2.0]]  # no indicator was learned
    assert encode(frame, [1.0, None, 3.0], new=[None, None]).tolist() == [[2.0, 1.0], [2.0, 1.0]]
    assert encode(frame, ["a", "b"], new=[None, None]).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert encode(frame, [NOON], new=[NOON - timedelta(days=3)]).tolist() == [[-3.0]]


def test_columns_without_a_value_are_left_out(frame):
    table = frame({"none": [None, None], "x": [1.0, 2.0]})
    encoder = TableEncoder().fit(table)
    assert encoder.get_feature_names_out().tolist() == ["x"]
    assert encoder.widths_ == [0, 1]
    assert encoder.transform(frame({"none": [7.0, None], "x": [1.0, 2.0]})).tolist() == [[1.0], [2.0]]
    with pytest.raises(DataError, match="nothing to learn from"):
        TableEncoder().fit(frame({"none": [None, None]}))


def test_weights_count_as_copies():
    table = pd.DataFrame({"x": [1.0, 5.0, None, 100.0], "t": ["a", "b", "b", "c"]})
    weight = np.array([3, 1, 2, 0])
    weighted = TableEncoder(max_categories=1).fit(table, sample_weight=weight)
    copies = TableEncoder(max_categories=1).fit(table.loc[table.index.repeat(weight)])
    assert weighted.columns_ == copies.columns_
    np.testing.assert_array_equal(weighted.transform(table), copies.transform(table))
    polars = pl.DataFrame({"x": [1.0, 5.0, None, 100.0], "t": ["a", "b", "b", "c"]})
    assert TableEncoder(max_categories=1).fit(polars, sample_weight=weight).columns_ == copies.columns_


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"t": rng.choice(list("abcdef"), 50), "x": rng.normal(size=50)})
    shuffled = table.sample(frac=1, random_state=0)
    encoded = TableEncoder(max_categories=3).fit(table).transform(shuffled)
    np.testing.assert_allclose(encoded, TableEncoder(max_categories=3).fit_transform(shuffled), rtol=1e-14)


def test_arrays_have_columns_too():
    array = np.array([["a", 1.0], ["b", None], ["a", 3.0]], dtype=object)
    encoder = TableEncoder().fit(array)
    assert encoder.get_feature_names_out().tolist() == ["x0=a", "x0=b", "x1", "x1=(missing)"]
    assert encoder.get_feature_names_out(["t", "x"]).tolist() == ["t=a", "t=b", "x", "x=(missing)"]
    expected = [[1, 0, 1, 0], [0, 1, 2, 1], [1, 0, 3, 0]]
    np.testing.assert_array_equal(encoder.transform(array), expected)
    np.testing.assert_array_equal(TableEncoder().fit_transform(array.tolist()), expected)
    numbers = np.array([[1.0, np.nan], [2.0, 4.0]])
    np.testing.assert_array_equal(TableEncoder().fit_transform(numbers), [[1, 4, 1], [2, 4, 0]])


@pytest.mark.parametrize("library", LIBRARIES)
def test_output_as_a_data_frame(library):
    table = LIBRARIES[library]({"x": [1.0, None], "t": ["a", "b"]})
    encoder = TableEncoder().set_output(transform=library).fit(table)
    encoded = encoder.transform(table)
    assert isinstance(encoded, LIBRARIES[library])
    assert list(encoded.columns) == ["x", "x=(missing)", "t=a", "t=b"]


def test_saving(tmp_path):
    table = pd.DataFrame({"x": [1.0, None, 2.0], "t": ["a", "b", None], "d": [NOON, NOON, None]})
    encoder = TableEncoder().fit(table)
    expected = encoder.transform(table)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).transform(table), expected)
    np.testing.assert_array_equal(clone(encoder).fit(table).transform(table), expected)
    dumped = skops.io.dumps(encoder)
    loaded = skops.io.loads(dumped, trusted=skops.io.get_untrusted_types(data=dumped))
    np.testing.assert_array_equal(loaded.transform(table), expected)


@pytest.mark.parametrize(
    ("cells", "new", "message"),
    [
        ([1.0, 2.0], ["1", "2"], "Column 'x' held numbers in the training rows; now it holds categories"),
        ([NOON, NOON], ["2024-01-01", "2024-01-02"], "Column 'x' held dates"),
        ([NOON, NOON], [1.0, 2.0], "Column 'x' held dates in the training rows; now it holds numbers"),
        (["1", "2"], [1, 2], "Column 'x' held text in the training rows; now it holds 1"),
        ([1.0, 2.0], [1.0, np.inf], "Column 'x' contains infinity"),
    ],
)
def test_new_rows_of_another_kind_are_refused(frame, cells, new, message):
    with pytest.raises(DataError, match=message):
        encode(frame, cells, new)


@pytest.mark.parametrize("cells", [[[1], [2]], [{"a": 1}, {"a": 2}], [1j, 2j]])
def test_what_is_not_read(cells):
    with pytest.raises(DataError, match=r"Column .x. holds .* leave it out"):
        TableEncoder().fit(pd.DataFrame({"x": cells}))


def test_tables_of_another_layout_are_refused(frame):
    encoder = TableEncoder().fit(frame({"a": [1.0, 2.0], "b": ["u", "v"]}))
    with pytest.raises(ValueError, match="same order"):
        encoder.transform(frame({"b": ["u"], "a": [1.0]}))
    with pytest.raises(ValueError, match="missing"):
        encoder.transform(frame({"a": [1.0]}))
    with pytest.raises(DataError, match="minimum of 1"):
        encoder.transform(frame({"a": [], "b": []}))
    with pytest.raises(MercerError, match="max_categories must be an integer"):
        TableEncoder(max_categories=0).fit(frame({"a": [1.0]}))


def test_which_tables_need_encoding(frame):
    assert not needs_encoding(frame({"x": [1.0, 2.0], "i": [1, 2], "b": [True, False]}))
    for cells in ([1.0, None], [1.0, np.nan], ["1", "2"], [NOON, NOON], [None, None]):
        assert needs_encoding(frame({"x": [1.0, 2.0], "y": cells}))
    assert not needs_encoding(pd.DataFrame({"x": np.array([1, 2.5], dtype=object)}))
    assert needs_encoding(pd.DataFrame({"x": pd.Categorical([1, 2])}))
