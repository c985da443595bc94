"""Rows of Parquet files, read by pyarrow: batch by batch, and only the columns that are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import DataError, UnsupportedError
from mercer.rows import Rows

__all__ = ["ParquetRows"]

#: rows that are read at a time where nobody says
ROWS_AT_A_TIME = 2**15


class ParquetRows(Rows):
    """Rows of one Parquet file or of several with the same columns, in the order given.

    Needs ``pyarrow``, which is imported when the first file is opened.

    Parameters
    ----------
    files : path or list of paths
        The files; a directory stands for the ``*.parquet`` in it, by name.
    inputs, targets : list of str
        Columns of X and of Y.
    weight : str, optional
        The column of weights.
    batch_size : int, default=32768
        Rows that are read at a time.
    """

    def __init__(
        self,
        files: Any,
        inputs: Sequence[str],
        targets: Sequence[str] | str,
        weight: str | None = None,
        batch_size: int = ROWS_AT_A_TIME,
    ) -> None:
        check_number(self, "batch_size", batch_size, low=1, strict=False, integer=True)
        self.files = _paths(files)
        self.inputs, self.targets = list(inputs), [targets] if isinstance(targets, str) else list(targets)
        self.weight, self.batch_size = weight, int(batch_size)
        self.n_rows = sum(self._open(file).metadata.num_rows for file in self.files)

    def read(self) -> Iterator[Any]:
        columns = [*self.inputs, *self.targets, *([] if self.weight is None else [self.weight])]
        for file in self.files:
            source = self._open(file)
            missing = [name for name in columns if name not in source.schema_arrow.names]
            if missing:
                raise DataError(
                    f"ParquetRows: {file} has no column {missing[0]!r}; it has {source.schema_arrow.names}."
                )
            for part in source.iter_batches(batch_size=self.batch_size, columns=columns):
                if not part.num_rows:
                    continue
                X, Y = (self._matrix(part, names, file) for names in (self.inputs, self.targets))
                yield X, Y, None if self.weight is None else self._matrix(part, [self.weight], file)[:, 0]

    def _matrix(self, part: Any, names: list[str], file: Path) -> np.ndarray:
        """Return some columns as numbers; single precision where all of them are."""
        columns = [part.column(name).to_numpy(zero_copy_only=False) for name in names]
        for name, column in zip(names, columns, strict=True):
            if column.dtype.kind not in "fiub":
                raise DataError(
                    f"ParquetRows: column {name!r} of {file} holds {part.schema.field(name).type}, no numbers."
                )
        return np.column_stack(columns)

    def _open(self, file: Path) -> Any:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise UnsupportedError(
                "ParquetRows needs pyarrow, which is not installed: pip install pyarrow. Or read the files by other "
                "means and pass StreamRows(function)."
            ) from error
        try:
            return pyarrow.parquet.ParquetFile(file)
        except (OSError, pyarrow.ArrowInvalid) as error:
            raise DataError(f"ParquetRows: {file} cannot be read as a Parquet file: {error}") from error


def _paths(files: Any) -> list[Path]:
    listed = [files] if isinstance(files, (str, Path)) else list(files)
    found = [one for path in map(Path, listed) for one in (sorted(path.glob("*.parquet")) if path.is_dir() else [path])]
    if not found:
        raise DataError(f"ParquetRows: no Parquet files in {files!r}.")
    return found
