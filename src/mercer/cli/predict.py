"""``mercer predict``: from a model and a table to predictions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.kinds import kind_of
from mercer.cli.kinds.base import Predicted, check_options
from mercer.cli.outputs import check_output
from mercer.cli.tables import number_column, read_table, require_columns, write_table
from mercer.cli.terminal import CommandError, names_of, numbers_of, say
from mercer.io import load, summary_of

if TYPE_CHECKING:
    import pandas

__all__ = ["add"]

EXAMPLES_OF_PREDICT = """examples:
  mercer predict rent.mercer new.csv --levels .05,.5,.95 -o quantiles.csv
  mercer predict rent.mercer new.csv --coverage .9 --keep address -o intervals.parquet
  mercer predict loans.mercer new.csv --levels .1,.5,.9 -o decisions.csv
  mercer predict growth.mercer new.csv --points 2,4.5,10 --long -o curves.csv
  mercer predict genres.mercer new.csv --top 3 --keep title -o genres.csv
"""


def add(commands: Any) -> None:
    """Add the parser."""
    parser = commands.add_parser(
        "predict",
        help="predict the rows of a table by a model",
        description="Predict the rows of a table. Columns are found by name; others do not matter.",
        epilog=EXAMPLES_OF_PREDICT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a file of mercer fit or mercer.save")
    parser.add_argument("data", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    parser.add_argument("-o", "--out", required=True, metavar="TABLE", help="where predictions go, by its ending")
    parser.add_argument("--keep", type=names_of, default=[], metavar="A,B", help="columns to copy, such as ids")
    parser.add_argument("--levels", type=numbers_of, metavar="Q,Q", help="quantile levels, costs or outlier fractions")
    parser.add_argument("--coverage", type=float, metavar="C", help="intervals, bands or sets that hold this share")
    parser.add_argument("--points", type=numbers_of, metavar="T,T", help="where curves are predicted")
    parser.add_argument("--top", type=int, metavar="K", help="the K best candidates, of objects")
    parser.add_argument("--long", action="store_true", help="curves with a row for each point")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, _: Any) -> None:
    """Predict a table, and write the predictions."""
    check_output(options.out, options.model, options.data)
    notes, model = summary_of(options.model).notes, load(options.model)
    kind = kind_of(model)
    check_options(kind, model, options)
    frame = read_table(options.data, text_columns(notes))
    require_columns(frame, options.keep, options.data)
    inputs = inputs_for(model, frame, options.data, notes)
    predicted = _plainly(model, inputs) if kind is None else kind.predict(model, inputs, options, notes)
    rows = np.arange(len(frame)) if predicted.rows is None else predicted.rows
    table = frame[options.keep].iloc[rows].reset_index(drop=True)
    given = Path(options.data).name  # columns that have the names of predictions, such as what was observed
    table = table.rename(columns={name: f"{name} of {given}" for name in predicted.columns})
    for name, values in predicted.columns.items():
        table[name] = np.asarray(values)
    write_table(table, options.out)
    say(f"{len(frame)} rows predicted; saved as {options.out}")


def text_columns(notes: dict[str, Any]) -> list[str]:
    """Return the columns that were text when a model was fitted."""
    text = notes.get("text")
    return [name for name in text if isinstance(name, str)] if isinstance(text, list) else []


def inputs_for(model: Any, frame: pandas.DataFrame, path: str, notes: dict[str, Any]) -> Any:
    """Return the columns that a model was fitted on, by name; all of them, as numbers, where it knows no names."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        require_columns(frame, list(names), path)
        if notes.get("numbers") is True:  # other cells are refused in the words of the table
            for name in names:
                number_column(frame, name, path)
        return frame[list(names)]
    if any(frame[name].dtype.kind not in "biuf" for name in frame.columns):
        raise CommandError(f"the model was fitted on numbers without names, and {path} holds other columns, too")
    return frame.to_numpy(dtype=float)


def _plainly(model: Any, inputs: Any) -> Predicted:
    """Return what ``predict`` says, for estimators of other kinds."""
    if not hasattr(model, "predict"):
        raise CommandError(f"a {type(model).__name__} does not predict")
    values = np.asarray(model.predict(inputs))
    if len(values) != len(inputs) or values.ndim > 2:
        raise CommandError(f"predictions of a {type(model).__name__} are no table of these rows; use it in Python")
    values = values.reshape(len(values), -1)
    names = ["predicted"] if values.shape[1] == 1 else [f"predicted {j + 1}" for j in range(values.shape[1])]
    return Predicted({name: values[:, j] for j, name in enumerate(names)})
