"""``mercer fit``: from a table to a model."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from mercer.cli.kinds import PROBLEM_KINDS
from mercer.cli.kinds.base import Kind, add_common
from mercer.cli.outputs import check_output, check_page
from mercer.cli.report import leave_report
from mercer.cli.tables import columns_of_text, doubts, read_table, without_holes
from mercer.cli.terminal import complain, say
from mercer.interop.progress_bars import watched
from mercer.io import save
from mercer.linalg.memory import in_words

__all__ = ["add"]

#: inputs that the last line names
SHOWN_INPUTS = 8


def add(commands: Any) -> None:
    """Add the parsers of all kinds of problems."""
    parser = commands.add_parser("fit", help="fit a model on a table and save it")
    kinds = parser.add_subparsers(title="kinds of problems", dest="kind", required=True, metavar="KIND")
    for kind in PROBLEM_KINDS:
        fit = kinds.add_parser(
            kind.name,
            help=kind.help,
            description=f"Fit {kind.help}. Text, dates (2024-05-31) and empty cells of inputs are taken as they come.",
            epilog=f"example:\n  {kind.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        add_common(fit)
        kind.add_arguments(fit)
        fit.set_defaults(run=lambda options, _, kind=kind: run(kind, options))


def run(kind: Kind, options: argparse.Namespace) -> None:
    """Fit one kind of problem, save the model, and say what became of it."""
    read = [options.data, getattr(options, "inputs", None)]
    check_output(options.out, *read)  # before a long fit
    if options.report is not None:
        check_page(options.report, options.out, *read)
    options.verbose = options.verbose or watched()
    frame = read_table(options.data, options.text)
    estimator, inputs, targets, weight, notes = kind.pose(frame, options)
    for doubt in doubts(inputs, options.text):
        complain("warning", f"{options.data}: {doubt}")
    start = time.perf_counter()
    named = {} if weight is None else {"sample_weight": weight}
    model = estimator.fit(inputs, **named) if targets is None else estimator.fit(inputs, targets, **named)
    seconds = time.perf_counter() - start
    shown = {"kind": kind.name, "table": Path(options.data).name, "rows": len(inputs)}
    columns = {"text": columns_of_text(inputs), "numbers": without_holes(inputs)}
    save(model, options.out, notes=notes | shown | columns)
    size = in_words(Path(options.out).stat().st_size)
    what = f"{type(model).__name__} of {len(inputs)} rows with {', '.join(map(str, inputs.columns[:SHOWN_INPUTS]))}"
    more = f" and {inputs.shape[1] - SHOWN_INPUTS} more" if inputs.shape[1] > SHOWN_INPUTS else ""
    say(f"{what}{more} in {seconds:.1f} s; saved as {options.out} ({size})")
    if options.report is not None:
        source = f"{Path(options.data).name}, the rows of the fit: new rows will look worse"
        leave_report(options.report, model, inputs, targets, notes, source)
