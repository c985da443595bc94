"""``mercer report``: a page on a model, in which one moves θ and the inputs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mercer.cli.kinds import kind_of
from mercer.cli.outputs import check_page
from mercer.cli.predict import inputs_for, text_columns
from mercer.cli.tables import read_table
from mercer.cli.terminal import CommandError, complain, say
from mercer.explorer import explore
from mercer.io import load, summary_of
from mercer.linalg.memory import in_words

__all__ = ["add", "leave_report"]


def add(commands: Any) -> None:
    """Add the parser."""
    parser = commands.add_parser(
        "report",
        help="leave a page on a model to play with",
        description="Leave a page, one HTML file, in which one moves θ and the inputs and sees what a model predicts, "
        "how well it is calibrated on the rows of a table, and what it leaves.",
        epilog="examples:\n  mercer report rent.mercer flats.csv -o report.html\n"
        "  mercer report growth.mercer visits.csv -o growth.html --title 'How children grow'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("model", metavar="MODEL", help="a file of mercer fit or mercer.save")
    parser.add_argument("data", metavar="TABLE", help="rows, best new ones, with what was observed if that is known")
    parser.add_argument("-o", "--out", required=True, metavar="PAGE", help="where the page goes: a .html file")
    parser.add_argument("--title", help="of the page")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, _: Any) -> None:
    """Read a model and a table, and write the page."""
    check_page(options.out, options.model, options.data)
    notes, model = summary_of(options.model).notes, load(options.model)
    frame, kind = read_table(options.data, text_columns(notes)), kind_of(model)
    rows, observed = (frame, None) if kind is None else kind.observed(frame, notes, options.data)
    if len(rows) == 0:
        raise CommandError(f"{options.data} has no row in which something was observed")
    inputs = inputs_for(model, rows, options.data, notes)
    if observed is None and notes.get("target", notes.get("value")) is not None:
        complain("warning", f"{options.data} does not hold what the model predicts: the page does not judge it")
    leave_report(options.out, model, inputs, observed, notes, Path(options.data).name, options.title)


def leave_report(
    path: str, model: Any, inputs: Any, observed: Any, notes: dict[str, Any], source: str, title: str | None = None
) -> None:
    """Write the page on a model."""
    target = notes.get("target", notes.get("value"))
    if isinstance(target, list):
        target = target[0] if len(target) == 1 else notes.get("value")
    source = f"{len(inputs)} rows of {source}"
    report = explore(model, inputs, observed, title=title, target_name=target, source=source)
    size = in_words(report.save(path).stat().st_size)
    say(f"{report.title}: a page to open in a browser, saved as {path} ({size})")
