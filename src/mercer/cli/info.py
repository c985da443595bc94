"""``mercer info``: what is in a model file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from mercer.cli.terminal import printable, say, table_of
from mercer.estimators.summary import facts, listed
from mercer.io import load, summary_of
from mercer.linalg.memory import in_words

__all__ = ["add"]


def add(commands: Any) -> None:
    """Add the parser."""
    parser = commands.add_parser(
        "info",
        help="say what a model file holds",
        description="Say what a model is: what it was fitted on, its kernels, its certificate, its calibration.",
        epilog="example:\n  mercer info rent.mercer",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a file of mercer fit or mercer.save")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, _: Any) -> None:
    """Write what a file holds."""
    summary, model = summary_of(options.model), load(options.model)
    say(f"{printable(options.model)}: {type(model).__name__}")
    versions = ", ".join(f"{name} {value}" for name, value in summary.versions.items())
    rows = [*_rows_of_notes(summary.notes), *facts(model)]
    table_of([*rows, ("file", f"{in_words(summary.size)}, layout {summary.schema}"), ("written by", versions)])


def _rows_of_notes(notes: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "table" in notes:
        yield "fitted on", f"{notes['table']}, {notes.get('rows')} rows"
    target = notes.get("target", notes.get("value"))
    if target is not None:
        yield "predicts", listed(target if isinstance(target, list) else [target])
