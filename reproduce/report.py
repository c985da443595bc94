"""What the reproduction scripts share: arguments, data, progress, tables of paper against ours, and results as JSON."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import mercer

__all__ = ["Report", "data_file", "options", "pair", "table"]

HERE = Path(__file__).parent


def options(description: str, **extra: Mapping[str, Any]) -> argparse.Namespace:
    """Read ``--data``, ``--quick``, ``--output`` and the extra options (name → keywords of ``add_argument``)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--data", type=Path, default=HERE.parent / "data", metavar="DIR", help="folder of the data (default: data/)"
    )
    parser.add_argument("--quick", action="store_true", help="a small version, to see that everything runs")
    parser.add_argument(
        "--output", type=Path, metavar="JSON", help="where the figures go (default: reproduce/results/)"
    )
    for name, keywords in extra.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
    return parser.parse_args()


def data_file(folder: Path, name: str, contents: str) -> Path:
    """Return the path of a data file, or leave with a message that says what it should hold and where it comes from."""
    path = folder / name
    if not path.is_file():
        raise SystemExit(
            f"No {name} in {folder}. The data are not part of the package; pass their folder with --data DIR.\n"
            f"Expected: {contents}"
        )
    return path


class Report:
    """Progress on standard error while a script runs; figures, settings and time in a JSON file at its end.

    Parameters
    ----------
    name : str
        Of the experiment; the file is ``reproduce/results/<name>.json`` (``<name>_quick.json`` with --quick).
    given : argparse.Namespace
        What :func:`options` returned.
    """

    def __init__(self, name: str, given: argparse.Namespace) -> None:
        self.start = time.perf_counter()
        self.path = given.output or HERE / "results" / f"{name}{'_quick' if given.quick else ''}.json"
        settings = {key: value for key, value in vars(given).items() if key not in ("data", "output")}
        self.figures: dict[str, Any] = {"experiment": name, "settings": settings}

    @property
    def seconds(self) -> float:
        """Wall time since the start."""
        return time.perf_counter() - self.start

    def progress(self, message: str) -> None:
        """Write one line with the time to standard error."""
        sys.stderr.write(f"[{self.seconds:7.1f} s] {message}\n")
        sys.stderr.flush()

    def add(self, **figures: Any) -> None:
        """Keep figures for the file."""
        self.figures.update(figures)

    def picture(self, figure: Any) -> None:
        """Save a matplotlib figure beside the JSON file, under the same name."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.path.with_suffix(".png"), dpi=110, bbox_inches="tight")
        sys.stdout.write(f"picture: {self.path.with_suffix('.png')}\n")

    def write(self) -> None:
        """Write the file, with versions and wall time, and say where it is."""
        versions = {"mercer": mercer.__version__, "numpy": np.__version__, "python": platform.python_version()}
        self.figures |= {"versions": versions, "seconds": round(self.seconds, 1)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.figures, indent=2, default=_plain) + "\n")
        sys.stdout.write(f"\n{self.seconds:.0f} s; written to {self.path}\n")


def _plain(value: Any) -> Any:
    """JSON for NumPy's numbers and arrays, and for records."""
    if isinstance(value, np.generic):
        return value.item()
    return value.tolist() if isinstance(value, np.ndarray) else repr(value)


def pair(mean: float, spread: float, digits: int = 0) -> str:
    """Return mean ± spread as the papers print it."""
    return f"{mean:.{digits}f}±{spread:.{digits}f}"


def table(title: str, groups: Mapping[str, Sequence[str]], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a text table whose columns come in titled groups with a bar in between, such as paper | ours.

    Parameters
    ----------
    title : str
        First line.
    groups : dict of str to list of str
        Title of a group → its columns; columns have different names over all groups.
    rows : list of dict
        Column → cell, a string or a number; a missing cell is blank.
    """
    cells = [{column: _cell(row.get(column, "")) for columns in groups.values() for column in columns} for row in rows]
    width = {column: max([len(column), *(len(row[column]) for row in cells)]) for row in cells[:1] for column in row}

    def line(row: Mapping[str, str]) -> str:
        parts = ("  ".join(row[column].rjust(width[column]) for column in columns) for columns in groups.values())
        return " | ".join(parts).rstrip()

    spans = [sum(width[column] + 2 for column in columns) - 2 for columns in groups.values()]
    head = " | ".join(name.center(span) for name, span in zip(groups, spans, strict=True)).rstrip()
    names = line({column: column for column in width})
    return "\n".join([title, head, names, "-" * len(names), *map(line, cells)])


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
