"""Tables in files: CSV and Parquet, read and written by pandas."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.terminal import CommandError, complain

if TYPE_CHECKING:
    import pandas

__all__ = [
    "columns_of_names",
    "columns_of_text",
    "matching_columns",
    "number_column",
    "read_table",
    "require_columns",
    "rows_with",
    "write_table",
]

#: how dates and times are written, year first: other ways could mean several days, and stay text
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
#: what separates columns, by the ending of the name
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
#: what some programs write in their place
OTHER_SEPARATOR = re.compile(r"[;\t|]")
PARQUET = (".parquet", ".pq")
#: what may follow the ending of a text file that is compressed
COMPRESSED = ".gz"
#: rows from which a column of text that never repeats itself is noticed
ROWS_OF_NAMES = 10
#: names of columns that an error lists
SHOWN_NAMES = 20


def read_table(path: str, text: Sequence[str] = ()) -> pandas.DataFrame:
    """Return the table of a file; columns of dates, year first, become dates.

    Parameters
    ----------
    path : str
        A CSV file, one with tabs (``.tsv``), both also as ``.gz``, or a Parquet file (``.parquet``).
    text : sequence of str
        Columns that are text whatever they look like, as they were when a model was fitted.
    """
    pandas = _pandas()
    ending = _ending(path)
    if ending in PARQUET:
        return _parquet(lambda: pandas.read_parquet(path))
    if ending not in SEPARATORS:
        raise _unknown(path)
    try:
        frame = pandas.read_csv(path, sep=SEPARATORS[ending], dtype=dict.fromkeys(text, str))
    except pandas.errors.EmptyDataError as error:
        raise CommandError(f"{path} is empty") from error
    except (pandas.errors.ParserError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise CommandError(f"{path} cannot be read as a table: {error}") from error
    if len(frame) == 0:
        raise CommandError(f"{path} has names of columns, but no rows")
    if len(frame.columns) == 1 and (mark := OTHER_SEPARATOR.search(str(frame.columns[0]))):
        raise CommandError(
            f"{path} has one column, {frame.columns[0]!r}: columns seem to be separated by {mark[0]!r}; save it with "
            "commas as .csv, or with tabs as .tsv"
        )
    for name in frame.columns.difference(text, sort=False):
        if _is_dates(frame[name]):
            frame[name] = _dates(pandas, frame[name])
    return frame


def write_table(frame: pandas.DataFrame, path: str) -> None:
    """Write a table as CSV or Parquet, by the ending of the name."""
    ending = _ending(path)
    if ending in PARQUET:
        _parquet(lambda: frame.to_parquet(path, index=False))
    elif ending in SEPARATORS:
        frame.to_csv(path, sep=SEPARATORS[ending], index=False)
    else:
        raise _unknown(path)


def require_columns(frame: pandas.DataFrame, names: Sequence[str], path: str) -> None:
    """Refuse a table that lacks a column."""
    missing = [name for name in names if name not in frame.columns]
    if missing:
        there = ", ".join(map(str, frame.columns[:SHOWN_NAMES]))
        raise CommandError(f"{path} has no column {missing[0]!r}; it has {there}")


def matching_columns(frame: pandas.DataFrame, patterns: Sequence[str], option: str, path: str) -> list[str]:
    """Return the names of columns that match patterns such as ``temp_*``, in their order; two at least."""
    matched = [str(name) for each in patterns for name in frame.columns if fnmatchcase(str(name), each)]
    names = list(dict.fromkeys(matched))
    if len(names) < 2:
        raise CommandError(f"{path} has {len(names)} columns that match {option} {','.join(patterns)}")
    return names


def number_column(frame: pandas.DataFrame, name: str, path: str) -> Any:
    """Return a column of numbers without holes."""
    require_columns(frame, [name], path)
    column = frame[name]
    if column.isna().any():
        raise CommandError(f"{path}: column {name!r} has no value in {int(column.isna().sum())} rows; leave them out")
    if column.dtype.kind not in "biuf":
        raise CommandError(f"{path}: column {name!r} holds {column.iloc[0]!r} where numbers are needed")
    return column.to_numpy(dtype=float)


def rows_with(frame: pandas.DataFrame, name: str, path: str) -> pandas.DataFrame:
    """Return the rows in which a column has a value, which a target needs, and say how many are left out."""
    require_columns(frame, [name], path)
    there = frame[name].notna()
    if there.all():
        return frame
    if not there.any():
        raise CommandError(f"{path}: column {name!r} has no value in any row")
    complain("warning", f"{path}: {int((~there).sum())} of {len(frame)} rows have no {name!r} and are left out")
    return frame[there]


def columns_of_text(frame: pandas.DataFrame) -> list[str]:
    """Return the columns whose cells are text."""
    return [str(name) for name in frame.columns if _text(frame[name]) is not None]


def columns_of_names(frame: pandas.DataFrame) -> list[str]:
    """Return the columns of text that differ in every row, as names and keys do: no new row has anything of theirs."""
    if len(frame) < ROWS_OF_NAMES:
        return []
    return [str(name) for name in frame.columns if _text(frame[name]) is not None and frame[name].is_unique]


def _ending(path: str) -> str:
    name = path.lower()
    plain = name.removesuffix(COMPRESSED)
    return Path(plain if Path(plain).suffix in SEPARATORS else name).suffix


def _text(column: Any) -> Any:
    """Return the cells of a column that are there, if all of them are text; None otherwise."""
    there = column.dropna()
    plain = column.dtype.kind not in "biufcmM" and str(column.dtype) != "category"
    return there if plain and len(there) and all(isinstance(cell, str) for cell in there) else None


def _is_dates(column: Any) -> bool:
    cells = _text(column)
    return cells is not None and all(DATE.fullmatch(cell) for cell in cells)


def _dates(pandas: Any, column: Any) -> Any:
    """Return a column of dates, or the text that it was where a day does not exist; with zones, all in UTC."""
    zoned = any(cell[10:].endswith("Z") or re.search(r"[+-]\d{2}:?\d{2}$", cell[10:]) for cell in column.dropna())
    try:
        return pandas.to_datetime(column, format="ISO8601", utc=zoned)
    except ValueError:
        return column


def _unknown(path: str) -> CommandError:
    return CommandError(f"{path} must end in one of {', '.join([*SEPARATORS, *PARQUET])}, which say what it is")


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise CommandError('tables are read by pandas: pip install "mercer[cli]"') from error
    return pandas


def _parquet(work: Any) -> Any:
    try:
        return work()
    except ImportError as error:
        raise CommandError('Parquet files are read by pyarrow: pip install "mercer[parquet]"') from error
    except FileNotFoundError:
        raise
    except (ValueError, OSError) as error:
        raise CommandError(f"the file cannot be read as Parquet: {error}") from error
