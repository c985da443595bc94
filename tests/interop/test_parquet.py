"""Rows of Parquet files."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

from mercer.exceptions import DataError, UnsupportedError
from mercer.interop.parquet import ParquetRows

X, Y = np.arange(14.0).reshape(7, 2), np.arange(7.0)


@pytest.fixture
def files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, rows in (("a", slice(0, 4)), ("b", slice(4, 7))):
        columns = {"x": X[rows, 0], "z": X[rows, 1], "y": Y[rows], "s": Y[rows] + 1, "name": ["n"] * len(Y[rows])}
        parquet.write_table(pyarrow.table(columns), tmp_path / f"{name}.parquet")
    return tmp_path


def test_files_of_a_directory_are_read_in_order(files):
    rows = ParquetRows(files, ["x", "z"], "y", weight="s", batch_size=3)
    assert rows.n_rows == 7
    for _ in range(2):
        batches = list(rows)
        assert [batch.n_rows for batch in batches] == [3, 1, 3]
        assert np.array_equal(np.vstack([batch.X for batch in batches]), X)
        assert np.array_equal(np.concatenate([batch.weight for batch in batches]), Y + 1)
    assert next(iter(ParquetRows(files / "b.parquet", ["z"], ["y", "x"]))).Y.shape == (3, 2)


def test_errors_name_the_file_and_the_column(files):
    with pytest.raises(DataError, match=r"a.parquet has no column 'w'"):
        list(ParquetRows(files, ["w"], "y"))
    with pytest.raises(DataError, match=r"column 'name' of .*a.parquet holds string"):
        list(ParquetRows(files, ["name"], "y"))
    (files / "c.parquet").write_text("no table")
    with pytest.raises(DataError, match=r"c.parquet cannot be read"):
        ParquetRows(files, ["x"], "y")
    with pytest.raises(DataError, match="no Parquet files"):
        ParquetRows([], ["x"], "y")


def test_without_pyarrow_the_error_names_it(tmp_path, monkeypatch):
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UnsupportedError, match="pip install pyarrow"):
        ParquetRows(tmp_path / "a.parquet", ["x"], "y")
