"""Tables in files: CSV and Parquet, read and written by pandas."""

from __future__ import annotations

import re
import shlex
import zlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mercer.cli.terminal import CommandError, complain

if TYPE_CHECKING:
    import pandas

__all__ = [
    "columns_of_text",
    "doubts",
    "matching_columns",
    "number_column",
    "read_table",
    "require_columns",
    "rows_with",
    "rows_with_any",
    "without_holes",
    "write_table",
]

#: how dates and times are written, year first: other ways could mean several days, and stay text
DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?")
#: what separates columns, by the ending of the name
SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": ","}
#: what some programs write in their place, and a number as they write it then
OTHER_SEPARATOR = re.compile(r"[;\t|]")
COMMA_NUMBER = re.compile(r"\s*[-+]?(\d+(,\d*)?|,\d+)([eE][-+]?\d+)?\s*")
PARQUET = (".parquet", ".pq")
#: what may follow the ending of a text file that is compressed
COMPRESSED = ".gz"
#: rows from which a column of text that never repeats itself is noticed
ROWS_OF_NAMES = 10
#: a day or month first: which of them it is, no program can know
OTHER_DATE = re.compile(r"\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})")
#: what is written around digits, and the share of numbers from which a column of text seems to be meant as numbers
AROUND_DIGITS = re.compile(r"[\s,%$€£]")
SHARE_OF_NUMBERS = 0.5
#: names of columns that have none, as pandas makes them
NO_NAME = re.compile(r"Unnamed: \d+")
#: names of columns that an error lists
SHOWN_NAMES = 20


def read_table(path: str, text: Sequence[str] = ()) -> pandas.DataFrame:
    """Return the table of a file; columns of dates, year first, become dates.

    Where the names of the columns are separated by semicolons, tabs or bars, so are the columns; in tables with
    semicolons numbers may have decimal commas.

    Parameters
    ----------
    path : str
        A CSV file, one with tabs (``.tsv``), both also as ``.gz``, or a Parquet file (``.parquet``).
    text : sequence of str
        Columns that are text whatever they look like, as they were when a model was fitted.
    """
    pandas = _pandas()
    if "://" in path:  # which pandas would ask a network for
        raise CommandError(f"{path} is an address; save the table as a file first")
    ending = _ending(path)
    if ending in PARQUET:
        return _parquet(lambda: pandas.read_parquet(path))
    if ending not in SEPARATORS:
        raise _unknown(path)
    try:
        names = pandas.read_csv(path, sep=SEPARATORS[ending], nrows=0).columns
        other = OTHER_SEPARATOR.search(str(names[0])) if len(names) == 1 else None
        separator = SEPARATORS[ending] if other is None else other[0]
        frame = pandas.read_csv(path, sep=separator, dtype=dict.fromkeys(text, str), low_memory=False)
    except pandas.errors.EmptyDataError as error:
        raise CommandError(f"{path} is empty") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} cannot be read as a table: it is not in UTF-8; save it as CSV in UTF-8") from error
    except (pandas.errors.ParserError, EOFError, zlib.error) as error:
        raise CommandError(f"{path} cannot be read as a table: {error}") from error
    if len(frame) == 0:
        raise CommandError(f"{path} has names of columns, but no rows")
    first = pandas.read_csv(path, sep=separator, header=None, skiprows=1, nrows=1)
    if first.shape[1] > frame.shape[1]:  # of which pandas makes an index, and moves the rest
        raise CommandError(f"{path} has rows with more cells than there are names of columns; give each column a name")
    for name in frame.columns.difference(text, sort=False):
        if separator == ";" and _is_comma_numbers(frame[name]):
            frame[name] = frame[name].str.replace(",", ".").astype(float)
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
        raise CommandError(f"{path} has {len(names)} columns that match {option} {','.join(patterns)}; two are needed")
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
    if not frame[name].notna().any():
        raise CommandError(f"{path}: column {name!r} has no value in any row")
    return rows_with_any(frame, [name], path)


def rows_with_any(frame: pandas.DataFrame, names: Sequence[str], path: str) -> pandas.DataFrame:
    """Return the rows in which one of the columns has a value, and say how many are left out."""
    there = frame[list(names)].notna().any(axis=1)
    what = repr(names[0]) if len(names) == 1 else f"value from {names[0]!r} to {names[-1]!r}"
    if not there.any():
        raise CommandError(f"{path}: no row has a {what}")
    if not there.all():
        complain("warning", f"{path}: {int((~there).sum())} of {len(frame)} rows have no {what} and are left out")
    return frame[there]


def columns_of_text(frame: pandas.DataFrame) -> list[str]:
    """Return the columns whose cells are text."""
    return [str(name) for name in frame.columns if _text(frame[name]) is not None]


def without_holes(frame: pandas.DataFrame) -> bool:
    """Return whether all cells are numbers, and there: then predictions can make nothing of others."""
    return all(column.dtype.kind in "biuf" and column.notna().all() for _, column in frame.items())


def doubts(frame: pandas.DataFrame, text: Sequence[str] = ()) -> Iterator[str]:
    """Yield a sentence for each input that may not be what its user meant; columns named as text are."""
    if len(frame) < ROWS_OF_NAMES:
        return
    for name in frame.columns:
        column, cells, drop = frame[name], _text(frame[name]), f"--drop {shlex.quote(str(name))}"
        if NO_NAME.fullmatch(str(name)) and column.dtype.kind in "iu" and column.is_monotonic_increasing:
            yield f"a column without a name, {name!r}, grows from row to row; if it only counts them, {drop}"
        if cells is None or name in text:
            continue
        strange = [cell for cell in cells if not _is_number(cell)]
        numbers = sum(_is_number(AROUND_DIGITS.sub("", cell)) for cell in cells)
        if all(OTHER_DATE.fullmatch(cell) for cell in cells):
            yield f"{name!r} is taken as text: dates are read year first, as 2024-05-31, and it holds {cells.iloc[0]!r}"
        elif strange and numbers > SHARE_OF_NUMBERS * len(cells):
            leave = f"leave such cells empty or write plain numbers; if text is meant, --text {shlex.quote(str(name))}"
            yield f"{name!r} is taken as text, because of {strange[0]!r} among its numbers; {leave}"
        elif column.is_unique:  # as names and keys are: no new row has anything of theirs
            yield f"{name!r} is another text in each row; if it is a name, {drop}"


def _ending(path: str) -> str:
    name = path.lower()
    plain = name.removesuffix(COMPRESSED)
    return Path(plain if Path(plain).suffix in SEPARATORS else name).suffix


def _text(column: Any) -> Any:
    """Return the cells of a column that are there, if all of them are text; None otherwise."""
    there = column.dropna()
    plain = column.dtype.kind not in "biufcmM" and str(column.dtype) != "category"
    return there if plain and len(there) and all(isinstance(cell, str) for cell in there) else None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _is_comma_numbers(column: Any) -> bool:
    cells = _text(column)
    return cells is not None and all(COMMA_NUMBER.fullmatch(cell) for cell in cells)


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
