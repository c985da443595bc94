"""Curves: a row with a column for each point, or a row for each observation."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.cli.kinds.base import Kind, Predicted, Problem, add_calibration, inputs_of, names_in, weight_of
from mercer.cli.tables import matching_columns, read_table, require_columns, rows_with_any
from mercer.cli.terminal import CommandError, names_of, numbers_of
from mercer.estimators import ConformalFunctionalRegressor, FunctionalRegressor
from mercer.preprocessing import curves_from_long

if TYPE_CHECKING:
    import pandas

__all__ = ["Curves"]

#: a number within the name of a column
NUMBER_IN_NAME = re.compile(r"[-+]?\d+(?:\.\d+)?")


class Curves(Kind):
    """Whole curves: a column, or a row, for each point, or bands around them."""

    name = "curves"
    help = "whole curves, on a grid (wide tables) or each at points of its own (long tables)"
    example = (
        "mercer fit curves weather.csv --curve 'temp_*' --out weather.mercer\n"
        "  mercer fit curves visits.csv --id child --time age --value height --out growth.mercer"
    )
    models = (FunctionalRegressor, ConformalFunctionalRegressor)
    options = ("points", "coverage", "long")

    def add_arguments(self, parser):
        wide = parser.add_argument_group("wide tables", "a row for each curve, empty cells where nothing was observed")
        wide.add_argument("--curve", type=names_of, metavar="PATTERN", help="columns of the curve, such as 'temp_*'")
        wide.add_argument(
            "--points", type=numbers_of, metavar="T,T", help="where they lie; by default numbers in names"
        )
        parser.add_argument("--value", metavar="NAME", help="what was observed: of long tables its column")
        long = parser.add_argument_group("long tables", "a row for each observation, --value in one column")
        long.add_argument("--id", metavar="COLUMN", help="whose curve it is")
        long.add_argument("--time", metavar="COLUMN", help="where it was observed: a number or a date")
        constant = "by default inputs are columns of TABLE that are constant within each id"
        long.add_argument("--inputs", metavar="TABLE", help=f"a table with a row for each id; {constant}")
        add_calibration(parser, "bands")

    def pose(self, frame, options):
        is_long = options.id is not None
        if is_long == (options.curve is not None):
            raise CommandError("curves are --curve PATTERN of a wide table, or --id, --time and --value of a long one")
        inputs, curves, grid, notes, weight = (_long if is_long else _wide)(frame, options)
        model = FunctionalRegressor(grid=grid, verbose=int(options.verbose))
        if options.calibrate:
            model = ConformalFunctionalRegressor(model, random_state=0)
        return Problem(model, inputs, curves, weight, notes)

    def observed(self, frame, notes, path):
        names = [notes.get(entry) for entry in ("id", "time", "value")]
        if None in names:
            wide = notes.get("target")
            if not (isinstance(wide, list) and wide and all(name in frame.columns for name in wide)):
                return frame, None
            require_numbers(frame, wide, path)
            curves = frame[wide].to_numpy(dtype=float, na_value=np.nan)
            there = np.isfinite(curves).any(axis=1)
            return frame[there], curves[there]
        if not all(name in frame.columns for name in names):
            return frame, None
        who, time, value = names
        table = frame.drop_duplicates(who)
        found = curves_from_long(frame, id=who, t=time, value=value, ids=table[who].tolist()).curves
        there = [k for k, curve in enumerate(found) if curve is not None]
        return table.iloc[there], [found[k] for k in there]

    def predict(self, model, inputs, options, notes):
        points = _checked_grid(model) if options.points is None else np.asarray(options.points)
        found = {"": _real(_curves(model, inputs, options))}
        if options.coverage is not None:
            if not isinstance(model, ConformalFunctionalRegressor):
                raise CommandError("--coverage needs a model that was fitted with --calibrate")
            band = _real(model.prediction_band(inputs, options.coverage, points=options.points), 3)
            found |= {"lower": band[..., 0], "upper": band[..., 1]}
        if options.long:
            rows = np.repeat(np.arange(len(inputs)), len(points))
            values = {name or _value_name(notes): array.ravel() for name, array in found.items()}
            return Predicted({_time_name(notes): np.tile(points, len(inputs))} | values, rows)
        names = None if options.points is not None else names_in(notes, "target", len(points))
        names = names or [f"{_value_name(notes)}({point:g})" for point in points]
        return Predicted(
            {f"{end} {name}".strip(): values[:, j] for end, values in found.items() for j, name in enumerate(names)}
        )


def _wide(frame: pandas.DataFrame, options: argparse.Namespace) -> tuple[Any, Any, Any, dict[str, Any], Any]:
    """Return inputs, curves on a grid, the grid, notes and weights of a wide table."""
    names = matching_columns(frame, options.curve, "--curve", options.data)  # in the order of patterns, as points are
    points = _points_of(names) if options.points is None else options.points
    if len(points) != len(names):
        raise CommandError(f"--points has {len(points)} numbers for {len(names)} columns of the curve")
    if len(set(points)) < len(points):
        raise CommandError("--points must be different numbers")
    order = np.argsort(points)
    names, points = [names[k] for k in order], np.asarray(points, dtype=float)[order]
    require_numbers(frame, names, options.data)
    frame = rows_with_any(frame, names, options.data)
    curves = frame[names].to_numpy(dtype=float, na_value=np.nan)
    notes = {"target": names} | ({} if options.value is None else {"value": options.value})
    return inputs_of(frame, options, names), curves, points, notes, weight_of(frame, options)


def require_numbers(frame: pandas.DataFrame, names: list[str], path: str) -> None:
    """Refuse columns of a curve that hold other things than numbers."""
    strange = [name for name in names if frame[name].dtype.kind not in "biuf"]
    if strange:
        raise CommandError(f"{path}: column {strange[0]!r} of the curve holds other things than numbers")


def _points_of(names: list[str]) -> list[float]:
    """Return the last number in each name, which says where the column lies."""
    found = [NUMBER_IN_NAME.findall(re.sub(r"(?<=\w)-(?=\d)", " ", name)) for name in names]
    points = [float(numbers[-1]) for numbers in found if numbers]
    if len(set(points)) < len(names):
        raise CommandError("the names of the columns of the curve do not say where they lie; add --points T,T,...")
    return points


def _long(frame: pandas.DataFrame, options: argparse.Namespace) -> tuple[Any, Any, Any, dict[str, Any], Any]:
    """Return inputs, curves at points of their own, no grid, notes and weights of a long table."""
    if options.time is None or options.value is None:
        raise CommandError("long tables need --id, --time and --value")
    taken = [options.id, options.time, options.value]
    require_columns(frame, taken, options.data)
    if options.inputs is None:
        table = frame.drop_duplicates(options.id)
        inputs = inputs_of(table, options, taken)
        checked = [*inputs.columns, *([] if options.weight is None else [options.weight])]
        require_columns(frame, checked, options.data)
        counts = frame.groupby(options.id)[checked].nunique(dropna=False)
        changing = [name for name in checked if (counts[name] > 1).any()]
        if changing:
            raise CommandError(
                f"{options.data}: column {changing[0]!r} changes within one {options.id}, so that it is no input of a "
                "whole curve; leave it out by --drop, or give --inputs TABLE"
            )
    else:
        table = read_table(options.inputs, options.text)
        require_columns(table, [options.id], options.inputs)
        table = table[table[options.id].isin(frame[options.id])]
        if table[options.id].duplicated().any() or len(table) == 0:
            raise CommandError(f"{options.inputs} must have one row for each {options.id} of {options.data}")
        inputs = inputs_of(table, argparse.Namespace(**{**vars(options), "data": options.inputs}), [options.id])
    found = curves_from_long(frame, id=options.id, t=options.time, value=options.value, ids=table[options.id].tolist())
    there = [k for k, curve in enumerate(found.curves) if curve is not None]
    weight = weight_of(table, options)
    notes = {"id": options.id, "time": options.time, "value": options.value}
    curves = [found.curves[k] for k in there]
    return inputs.iloc[there], curves, None, notes, None if weight is None else weight[there]


def _curves(model: Any, inputs: Any, options: argparse.Namespace) -> Any:
    return model.predict(inputs) if options.points is None else model.predict_at(inputs, options.points)


def _checked_grid(model: Any) -> np.ndarray:
    """Return where curves are predicted; numbers of columns where these have no place."""
    grid = None if model.grid_ is None else np.asarray(model.grid_)
    if grid is None:
        raise CommandError("the model was fitted on columns without a place; give --points")
    if grid.ndim > 1:
        raise CommandError("functions of several variables are predicted in Python only")
    return grid


def _real(values: Any, n_dims: int = 2) -> np.ndarray:
    values = np.asarray(values)
    if values.ndim != n_dims:
        raise CommandError("curves with several components are predicted in Python only")
    return values


def _time_name(notes: dict[str, Any]) -> str:
    return notes["time"] if isinstance(notes.get("time"), str) else "t"


def _value_name(notes: dict[str, Any]) -> str:
    return notes["value"] if isinstance(notes.get("value"), str) else "value"
