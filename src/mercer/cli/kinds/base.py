"""What a kind of problem is to the command: arguments, a fit of a table, predictions as a table."""

from __future__ import annotations

import argparse
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.cli.tables import number_column, require_columns, rows_with
from mercer.cli.terminal import CommandError, names_of

if TYPE_CHECKING:
    import pandas

__all__ = [
    "Kind",
    "Predicted",
    "Problem",
    "add_calibration",
    "add_common",
    "add_target",
    "check_options",
    "inputs_of",
    "names_in",
    "weight_of",
]


class Problem(NamedTuple):
    """An estimator, not yet fitted, and what it is fitted on.

    Attributes
    ----------
    estimator : estimator
        What ``fit`` is called of.
    inputs, targets : data frame and what the estimator takes, or None
        X and y.
    weight : array or None
        Weights of rows.
    notes : dict
        What predictions must know of the table beyond the model.
    """

    estimator: Any
    inputs: pandas.DataFrame
    targets: Any
    weight: Any
    notes: dict[str, Any]


class Predicted(NamedTuple):
    """Predictions of a table.

    Attributes
    ----------
    columns : dict
        Columns by name.
    rows : array of int or None
        Which row of the inputs each row of the columns belongs to; None where there is one for each, in order.
    """

    columns: dict[str, Any]
    rows: np.ndarray | None = None


class Kind(ABC):
    """A kind of problem: a name on the command line, and the estimators that solve it."""

    #: the word after ``mercer fit``, what it does in a line, and commands as they are typed
    name: str
    help: str
    example: str
    #: estimators whose predictions this kind writes
    models: tuple[type, ...]
    #: options of ``mercer predict`` that mean something here
    options: tuple[str, ...] = ()

    @abstractmethod
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of a fit beyond those that all kinds have."""

    @abstractmethod
    def pose(self, frame: pandas.DataFrame, options: argparse.Namespace) -> Problem:
        """Return the problem that a table and the arguments mean."""

    @abstractmethod
    def predict(
        self, model: Any, inputs: pandas.DataFrame, options: argparse.Namespace, notes: dict[str, Any]
    ) -> Predicted:
        """Return predictions as columns by name; notes are those of the fit, and may be of another program."""

    def observed(self, frame: pandas.DataFrame, notes: dict[str, Any], path: str) -> tuple[pandas.DataFrame, Any]:
        """Return the rows of a table and what was observed of them, as the fit takes it; None where nothing was."""
        names = notes.get("target")
        if not (isinstance(names, list) and names and all(name in frame.columns for name in names)):
            return frame, None
        if len(names) == 1:
            frame = rows_with(frame, names[0], path)
        columns = [number_column(frame, name, path) for name in names]
        return frame, columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


def add_target(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the argument that names the target."""
    parser.add_argument("--target", required=True, metavar="COLUMN", help=what)


def add_calibration(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the argument that asks for calibration on rows that the fit has not seen."""
    parser.add_argument("--calibrate", action="store_true", help=f"{what} that cover new rows as often as they say")


def inputs_of(frame: pandas.DataFrame, options: argparse.Namespace, taken: Sequence[str]) -> pandas.DataFrame:
    """Return the columns that are inputs: those that were named, or all that are nothing else."""
    named = options.features
    require_columns(frame, [*(named or []), *options.drop], options.data)
    both = [name for name in named or [] if name in taken]
    if both:
        raise CommandError(f"{both[0]!r} cannot be an input and something else at once; leave it out of --features")
    others = {*taken, *options.drop, options.weight}
    found = [name for name in frame.columns if name not in others] if named is None else list(named)
    if not found:
        raise CommandError(f"{options.data} has no column left that could be an input")
    return frame[found]


def weight_of(frame: pandas.DataFrame, options: argparse.Namespace) -> np.ndarray | None:
    """Return the weights of rows, if a column has them."""
    return None if options.weight is None else number_column(frame, options.weight, options.data)


def check_options(kind: Kind | None, model: Any, options: argparse.Namespace) -> None:
    """Refuse options of predictions that mean nothing for a model."""
    for name in ("levels", "coverage", "points", "top", "long"):
        if getattr(options, name) not in (None, False) and (kind is None or name not in kind.options):
            raise CommandError(f"--{name} means nothing for a {type(model).__name__}")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that all kinds of fits have."""
    parser.add_argument("data", metavar="TABLE", help="a .csv, .tsv or .parquet file with names of columns")
    parser.add_argument("--out", "-o", required=True, metavar="MODEL", help="the file of the model, such as y.mercer")
    parser.add_argument("--report", metavar="PAGE", help="a page on the fit to play with, such as report.html")
    parser.add_argument("--features", type=names_of, metavar="A,B", help="inputs; all other columns by default")
    parser.add_argument("--drop", type=names_of, default=[], metavar="A,B", help="columns that are no inputs")
    parser.add_argument("--text", type=names_of, default=[], metavar="A,B", help="codes that look like numbers")
    parser.add_argument("--weight", metavar="COLUMN", help="weights of rows")
    parser.add_argument(
        "--verbose",
        "-v",
        action="store_true",
        help="tell on standard error what is computed; in a terminal it is shown anyway",
    )


def names_in(notes: dict[str, Any], entry: str, count: int) -> list[str] | None:
    """Return the names that notes have there, if they are names, as many as are needed and of different columns."""
    names = notes.get(entry)
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        return None
    return names if len(names) == len(set(names)) == count else None
