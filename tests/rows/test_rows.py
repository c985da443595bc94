"""Rows in batches: what each source gives, and what is wrong with a batch, by name and number."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.exceptions import DataError, MercerError
from mercer.rows import ArrayRows, StreamRows

X, Y, S = np.arange(14.0).reshape(7, 2), np.arange(7.0), np.arange(1.0, 8.0)


def joined(rows):
    batches = list(rows)
    weight = None if batches[0].weight is None else np.concatenate([batch.weight for batch in batches])
    return np.vstack([batch.X for batch in batches]), np.vstack([batch.Y for batch in batches]), weight


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_arrays_come_back_batch_by_batch(size):
    rows = ArrayRows(X, Y, S, batch_size=size)
    for _ in range(2):  # two passes
        back = joined(rows)
        assert all(np.array_equal(*pair) for pair in zip(back, (X, Y[:, None], S), strict=True))


def test_a_memory_map_is_read_by_batches(tmp_path):
    np.save(tmp_path / "x.npy", X)
    rows = ArrayRows(np.load(tmp_path / "x.npy", mmap_mode="r"), Y, batch_size=2)
    assert np.array_equal(joined(rows)[0], X)


def test_streams_open_anew_for_each_pass():
    opened = []

    def stream():
        opened.append(1)
        yield from ((X[k : k + 2], Y[k : k + 2]) for k in range(0, 7, 2))

    rows = StreamRows(stream)
    assert rows.n_rows is None
    for _ in range(2):
        assert np.array_equal(joined(rows)[0], X)
    assert (len(opened), rows.n_rows) == (2, 7)


def test_single_precision_stays_and_integers_become_floats():
    batch = next(iter(ArrayRows(X.astype(np.float32), np.arange(7))))
    assert (batch.X.dtype, batch.Y.dtype) == (np.float32, np.float64)


def test_mapped_rows_are_functions_of_batches():
    rows = ArrayRows(X, Y, S, batch_size=3).mapped(lambda X, Y: (X[:, :1] / 2, -Y))
    back = joined(rows)
    assert np.array_equal(back[0], X[:, :1] / 2)
    assert np.array_equal(back[1], -Y[:, None])
    assert np.array_equal(back[2], S)


GOOD = (X, Y)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((X[:, :1], Y), "batch 1: X has 1 columns, and it had 2"),
        ((X, np.ones((7, 2))), "batch 1: Y has 2 columns, and it had 1"),
        ((X, Y, S), "batch 1: its rows have weights"),
        ((X[:0], Y[:0]), "batch 1: it has no rows"),
        ((X, Y[:3]), "X has 7 rows and Y has 3"),
        ((X.astype(str), Y), "X must hold numbers; its type is <U"),
        ((np.where(X == 3, np.nan, X), Y), "X must be finite"),
        ((X, np.where(Y == 3, np.inf, Y)), "Y must be finite"),
        ((X[:, 0], Y), "X must have shape"),
        (X, "must be .X, Y. or .X, Y, weight."),
    ],
)
def test_a_bad_batch_is_named(batch, message):
    with pytest.raises(DataError, match=message):
        list(StreamRows(lambda: iter([GOOD, batch])))


@pytest.mark.parametrize("weight", [np.zeros(7), np.full(7, np.nan), np.ones(3)])
def test_bad_weights_are_refused(weight):
    with pytest.raises(DataError, match="weights must"):
        list(StreamRows(lambda: iter([(X, Y, weight)])))


def test_a_stream_that_ends_early_is_an_error():
    with pytest.raises(DataError, match="ended after 7 of 20 rows"):
        list(StreamRows(lambda: iter([GOOD]), n_rows=20))
    with pytest.raises(DataError, match="more than the 3 rows"):
        list(StreamRows(lambda: iter([GOOD]), n_rows=3))
    lengths = iter([2, 1])
    rows = StreamRows(lambda: iter([GOOD] * next(lengths)))
    list(rows)
    with pytest.raises(DataError, match="ended after 7 of 14"):
        list(rows)


def test_a_reader_that_fails_says_where():
    def stream():
        yield GOOD
        raise OSError("the disk is gone")

    with pytest.raises(DataError, match=r"batch 1 .after 7 rows. could not be read: the disk is gone"):
        list(StreamRows(stream))


def test_iterators_are_refused_as_they_are_used_up():
    with pytest.raises(MercerError, match="a function that returns an iterator"):
        StreamRows(iter([GOOD]))
    once = iter([GOOD])
    rows = StreamRows(lambda: once)
    list(rows)
    with pytest.raises(DataError, match="used up"):
        list(rows)
    with pytest.raises(DataError, match="no batches"):
        list(StreamRows(lambda: []))


def test_arrays_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="X 7, Y 3"):
        ArrayRows(X, Y[:3])
    with pytest.raises(MercerError, match="batch_size"):
        ArrayRows(X, Y, batch_size=0)
