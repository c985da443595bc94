"""``mercer info``: what is in a model file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.cli.terminal import printable, say, table_of
from mercer.io import load, summary_of
from mercer.linalg.memory import in_words

__all__ = ["add", "rows_about"]

#: names that a line lists
NAMES_IN_A_LINE = 12


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
    rows = [*_rows_of_notes(summary.notes), *rows_about(model)]
    table_of([*rows, ("file", f"{in_words(summary.size)}, layout {summary.schema}"), ("written by", versions)])


def _rows_of_notes(notes: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "table" in notes:
        yield "fitted on", f"{notes['table']}, {notes.get('rows')} rows"
    target = notes.get("target", notes.get("value"))
    if target is not None:
        yield "predicts", _listed(target if isinstance(target, list) else [target])


def rows_about(model: Any) -> Iterator[tuple[str, str]]:
    """Yield what a fitted model says of itself: names and values."""
    if hasattr(model, "feature_names_in_"):
        yield "inputs", _listed(model.feature_names_in_)
    elif hasattr(model, "n_features_in_"):
        yield "inputs", f"columns without names ({model.n_features_in_})"
    else:
        yield "state", "not fitted"
    if hasattr(model, "classes_"):
        yield "classes", _listed(model.classes_)
    yield from _certified(_inner(model))
    if hasattr(model, "n_calibration_"):
        yield "calibration", f"{model.n_calibration_} rows that the fit has not seen, {model.method}"


def _inner(model: Any) -> Any:
    """Return the first of the models that a model is made of, or itself."""
    parts = getattr(model, "estimators_", None) or [getattr(model, "estimator_", model)]
    first = next(iter(parts))
    return first if first is model else _inner(first)


def _certified(model: Any) -> Iterator[tuple[str, str]]:
    """Yield kernels, λ, what columns matter and the certificate of one fit, as far as it has them."""
    for name, title in (("kernel_", "kernel"), ("output_kernel_", "output kernel"), ("loss_", "loss")):
        value = getattr(model, name, None)
        yield title, "" if value is None else repr(value)
    if getattr(model, "stages_", None) is not None:
        shape = "constant" if getattr(model, "shape_", None) is None else "learned"
        yield "stages", f"location, spread and levels of the residuals, shape {shape}"
    alpha = getattr(model, "alpha_", None)
    yield "λ", f"{alpha:.3g}" if isinstance(alpha, float) and np.isfinite(alpha) else ""
    relevance = getattr(model, "relevance_", None)
    if relevance is not None:
        yield "columns", _relevant(model, np.asarray(relevance))
    if getattr(model, "measure_", None) is not None:
        yield "nodes", f"{len(model.measure_)} of θ"
    closed = getattr(model, "stages_", None) is not None and getattr(model, "shape_", None) is None
    if hasattr(model, "relative_gap_") and not closed:  # stages alone solve no problem that has a gap
        yield "certificate", f"relative gap {model.relative_gap_:.1e}, {model.status_}, {model.n_iter_} iterations"


def _relevant(model: Any, relevance: np.ndarray) -> str:
    """Return the columns that matter most, with their shares."""
    encoder = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None) if encoder is None else encoder.get_feature_names_out()
    if names is None or len(names) != len(relevance):
        names = [f"column {j}" for j in range(len(relevance))]
    order = np.argsort(-relevance, kind="stable")[:NAMES_IN_A_LINE]
    return ", ".join(f"{names[j]} {100 * relevance[j]:.0f} %" for j in order)


def _listed(names: Any) -> str:
    names = [str(name) for name in names]
    return ", ".join(names[:NAMES_IN_A_LINE]) + (f", … ({len(names)})" if len(names) > NAMES_IN_A_LINE else "")
