"""CPU time of OneClassForest beside IsolationForest, with the same rows, numbers of trees and rows of each tree.

    python benchmarks/forests.py                      # n = 100 000, some minutes on one core
    python benchmarks/forests.py --quick              # n = 10 000
    python benchmarks/forests.py --output times.json  # figures as JSON, too

Normal rows in ten columns; 100 trees of 256 rows, which is IsolationForest's default, and of a fifth of the rows, which
is OneClassForest's. Medians over interleaved rounds of the time of a fit, of the scores of all rows, and of both.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.ensemble import IsolationForest

from mercer import OneClassForest

TREES = 100


def seconds(forest, X: np.ndarray) -> tuple[float, float, float]:
    """Return CPU seconds of a fit, of the scores of all rows, and of both."""
    start = time.process_time()
    forest.fit(X)
    fitted = time.process_time()
    forest.score_samples(X)
    scored = time.process_time()
    return fitted - start, scored - fitted, scored - start


def main() -> None:
    """Print a line for each size of a tree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 10 000")
    parser.add_argument("--output", type=Path, metavar="JSON", help="where figures go, too")
    given = parser.parse_args()
    n, rounds = (10_000, 1) if given.quick else (100_000, 3)
    X, figures = np.random.default_rng(0).normal(size=(n, 10)), {}
    print(f"n = {n}, ten columns, {TREES} trees; CPU seconds: fit, scores of all rows, both")
    for size in (256, n // 5):
        times: dict[str, list] = {"IsolationForest": [], "OneClassForest": []}
        for seed in range(rounds):
            for kind in (IsolationForest, OneClassForest):
                forest = kind(n_estimators=TREES, max_samples=size, random_state=seed)
                times[kind.__name__].append(seconds(forest, X))
        both = {name: np.median(each, axis=0) for name, each in times.items()}
        for name, each in both.items():
            print(f"  {size:6} rows a tree  {name:16}", *(f"{value:7.2f}" for value in each), flush=True)
        ratio = both["OneClassForest"] / both["IsolationForest"]
        print(f"  {size:6} rows a tree  {'ratio':16}", *(f"{value:7.2f}" for value in ratio), flush=True)
        figures[size] = {name: each.tolist() for name, each in both.items()} | {"ratio": ratio.tolist()}
    if given.output:
        given.output.write_text(json.dumps({"n": n, "trees": TREES, "seconds": figures}, indent=2) + "\n")


if __name__ == "__main__":
    main()
