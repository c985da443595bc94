"""Numbers in kernels by slopes of held-out loss, on real tables: what GradientSearchCV gains on where it starts.

    python benchmarks/learned_kernels.py                    # tables of scikit-learn and statsmodels
    python benchmarks/learned_kernels.py --data DIRECTORY   # and the twenty of qr20_numeric.npz there
    python benchmarks/learned_kernels.py --splits 1 --names diabetes engel

Mean pinball loss at levels 0.1, ..., 0.9 of held-out rows, 70/30 splits: the joint model with one length for all
standardised columns ("start"), the same with a length for each column and λ by slopes ("search"), lengths, λ and the
weights of a sum with a linear kernel ("sum"), and the default in stages, which learns scales by evidence ("default").
CPU seconds, one thread. Prints a table of ratios to the start, writes JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import gmean
from sklearn.model_selection import train_test_split
from tables import LEVELS, tables

from mercer import GradientSearchCV, KernelQuantileRegressor
from mercer.kernels import Gaussian, Linear
from mercer.measures import Points
from mercer.model_selection import integrated_pinball

MEASURE = Points(LEVELS)


def fits(n_columns: int) -> dict:
    """Return the models that are compared; a linear part needs columns in units of their own, hence one for each."""
    lines = sum(1.0 * Linear().restrict(column) for column in range(n_columns))
    start = KernelQuantileRegressor(Gaussian("standardized"), measure=MEASURE)
    both = KernelQuantileRegressor(1.0 * Gaussian("standardized") + lines, measure=MEASURE)
    return {
        "start": start,
        "search": GradientSearchCV(start),
        "sum": GradientSearchCV(both),
        "default": KernelQuantileRegressor(),
    }


def losses(X: np.ndarray, y: np.ndarray, splits: int) -> dict[str, list[float]]:
    """Return loss and CPU seconds of each model, means over splits, on one table."""
    found: dict[str, list] = {}
    X = X[:, X.std(axis=0) > 0]
    for split in range(splits):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=split)
        mean, scale = train.mean(axis=0), train.std(axis=0)
        scale[scale == 0] = 1.0
        for name, model in fits(X.shape[1]).items():
            start = time.process_time()
            model.fit((train - mean) / scale, y_train)
            seconds = time.process_time() - start
            model = getattr(model, "best_estimator_", model)
            predicted = model.predict_quantile((test - mean) / scale, LEVELS)
            loss = integrated_pinball(y_test, predicted, LEVELS, np.full(len(LEVELS), 1 / len(LEVELS)))
            found.setdefault(name, []).append((loss, seconds))
    return {name: np.mean(pairs, axis=0).tolist() for name, pairs in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with qr20_numeric.npz")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--names", nargs="*", help="some of the tables")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "learned_kernels.json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = {}
    for name, X, y in tables(given.data):
        if given.names and name not in given.names:
            continue
        rows[name] = {"n": len(y), "d": X.shape[1]} | losses(X, y, given.splits)
        start = rows[name]["start"][0]
        ratios = {kind: rows[name][kind][0] / start for kind in ("search", "sum", "default")}
        shown = "  ".join(f"{kind} {ratio:.3f} ({rows[name][kind][1]:.1f} s)" for kind, ratio in ratios.items())
        print(f"{name:<16} n {len(y):>5}, d {X.shape[1]:>3}   {shown}", flush=True)
    for kind in ("search", "sum", "default"):
        ratios = np.array([row[kind][0] / row["start"][0] for row in rows.values()])
        print(f"{kind:<8} geometric mean {gmean(ratios):.3f}, largest {ratios.max():.2f}, least {ratios.min():.2f}")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
