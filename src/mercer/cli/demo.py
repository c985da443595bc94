"""``mercer demo``: made data, a fit and predictions, and the commands that do the same with data of one's own."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes

from mercer.cli.tables import write_table
from mercer.cli.terminal import CommandError, say, table_of
from mercer.datasets import make_sine, sine_quantiles
from mercer.estimators import KernelQuantileRegressor
from mercer.estimators.summary import facts
from mercer.explorer import Report, explore
from mercer.model_selection import coverage

__all__ = ["add", "page_of_patients"]

#: rows of the data, and of those that the fit has not seen
DEMO_ROWS, FRESH_ROWS = 400, 1000
#: the real data of the page: the columns of scikit-learn's diabetes study, and rows that are fitted
PATIENT_COLUMNS = (
    *("age", "sex", "body mass index", "blood pressure", "cholesterol", "LDL", "HDL", "cholesterol / HDL"),
    *("log triglycerides", "blood sugar"),
)
PATIENTS_FITTED = 300
DEMO_LEVELS, DEMO_INPUTS = np.array([0.05, 0.5, 0.95]), np.array([[0.1], [0.5], [1.0]])


def add(commands: Any) -> None:
    """Add the parser."""
    parser = commands.add_parser(
        "demo",
        help="fit made data, show what came out, and leave a table to try the other commands on",
        description="Fit every quantile of made data and compare them with the true ones.",
        epilog="examples:\n  mercer demo\n  mercer demo --out trial",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", metavar="FOLDER", help="where tables go, to go on with")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace, _: Any) -> None:
    """Fit, compare and write."""
    X, y = make_sine(DEMO_ROWS, random_state=0)
    start = time.perf_counter()
    model = KernelQuantileRegressor().fit(X, y)
    say(f"every quantile of {DEMO_ROWS} noisy values of a sine, in {time.perf_counter() - start:.1f} s")
    table_of(facts(model))
    say()
    say("     x   level   fitted     true")
    fitted, true = model.predict_quantile(DEMO_INPUTS, DEMO_LEVELS), sine_quantiles(DEMO_INPUTS, DEMO_LEVELS)
    for i, j in np.ndindex(fitted.shape):
        say(f"  {DEMO_INPUTS[i, 0]:.2f}    {DEMO_LEVELS[j]:.2f}   {fitted[i, j]:6.2f}   {true[i, j]:6.2f}")
    X_new, y_new = make_sine(FRESH_ROWS, random_state=1)
    share = coverage(y_new, model.predict_interval(X_new, 0.9))
    say(f"\nintervals of 90 % hold {100 * share:.1f} % of {FRESH_ROWS} new values")
    if options.out is not None:
        folder = Path(options.out)
        _leave(folder, X, y, X_new)
        page = page_of_patients().save(folder / "report.html")
        say(f"\nand a page to play with, of 442 patients of a diabetes study; open it in a browser: {page}")


def page_of_patients() -> Report:
    """Return a page on quantiles of a real dataset that comes with scikit-learn, on rows that the fit has not seen."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng(0).permutation(len(y))
    fitted, rest = order[:PATIENTS_FITTED], order[PATIENTS_FITTED:]
    model = KernelQuantileRegressor().fit(X[fitted], y[fitted])
    return explore(
        model,
        X[rest],
        y[rest],
        title="How diabetes goes on in a year: every quantile",
        feature_names=PATIENT_COLUMNS,
        target_name="progression",
        source=f"{len(rest)} patients that the fit has not seen; it saw {len(fitted)} others",
    )


def _leave(folder: Path, X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> None:
    """Write tables, and say which commands to try."""
    try:
        import pandas
    except ImportError as error:
        raise CommandError('tables are written by pandas: pip install "mercer[cli]"') from error
    folder.mkdir(parents=True, exist_ok=True)
    write_table(pandas.DataFrame({"x": X[:, 0], "y": y}), str(folder / "data.csv"))
    write_table(pandas.DataFrame({"x": X_new[:20, 0]}), str(folder / "new.csv"))
    say("\nto go on:")
    say(f"  mercer fit quantile {folder}/data.csv --target y --out {folder}/y.mercer")
    say(f"  mercer info {folder}/y.mercer")
    say(f"  mercer report {folder}/y.mercer {folder}/data.csv -o {folder}/y.html")
    say(f"  mercer predict {folder}/y.mercer {folder}/new.csv --levels .05,.5,.95 -o {folder}/quantiles.csv")
