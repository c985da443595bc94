"""Level sets on new rows: fractions of outliers, how well scores rank, and CPU time, with calibration and without.

    python benchmarks/detectors.py                      # some minutes on one core
    python benchmarks/detectors.py --quick              # one sample of each kind
    python benchmarks/detectors.py --data ../data       # also on Boston, Pima, Ionosphere, Wilt and Spambase
    python benchmarks/detectors.py --large 50000        # one fit of normal rows in two and in ten columns

Each table is split at random; a detector is fitted with its defaults to the first part. The fractions of the rest that
are outliers at the levels 1, 5, 10 and 50 %; the area under the ROC curve of ``score_samples`` against rows that do not
belong (normal rows and mixtures 1.5 times as far from the origin, uniform rows in the box of the others); seconds.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics import roc_auc_score

from mercer import LevelSetDetector

LEVELS = np.array([0.01, 0.05, 0.1, 0.5])
FILES = {
    "Boston": ("BostonHousing.csv", 300),
    "Pima": ("pima_diabetes.csv.gz", 400),
    "Ionosphere": ("ionosphere.csv.gz", 200),
    "Wilt": ("wilt.csv.gz", 1000),
    "Spambase": ("spambase.csv.gz", 1000),
}
#: new rows of synthetic data, and rows that do not belong
NEW, ODD = 3000, 1000
#: samples of few rows and of many
SAMPLES, SAMPLES_OF_MANY, MANY = 10, 5, 500

Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray]]


def synthetic(d: int, n: int, mixture: bool) -> Draw:
    """Return what draws training rows, new rows and rows that do not belong: normal, or from three normals."""
    centres = 3 * np.random.default_rng(99).normal(size=(3, d))

    def draw(rng: np.random.Generator):
        if mixture:
            kind = rng.integers(0, 3, size=n + NEW)
            rows = centres[kind] + rng.normal(size=(n + NEW, d)) * np.array([0.5, 1.0, 1.5])[kind][:, None]
        else:
            rows = rng.normal(size=(n + NEW, d))
        return rows[:n], rows[n:], 1.5 * rows[n : n + ODD]

    return draw


def table(rows: np.ndarray, n: int) -> Draw:
    """Return what splits a table at random, and draws uniform rows."""

    def draw(rng: np.random.Generator):
        order = rng.permutation(len(rows))
        X, new = rows[order[:n]], rows[order[n:]]
        return X, new, rng.uniform(X.min(axis=0), X.max(axis=0), size=new.shape)

    return draw


def cases(folder: Path | None) -> Iterator[tuple[str, int, Draw]]:
    """Yield names, numbers of training rows and what draws them."""
    for name, mixture in (("normal", False), ("mixture", True)):
        for d in (2, 10, 30):
            for n in (100, 500, 2000):
                yield f"{name}, d = {d}", n, synthetic(d, n, mixture)
    for name, rows, n in (
        ("breast cancer", load_breast_cancer().data, 300),
        ("wine", load_wine().data, 100),
        ("digits", load_digits().data, 1000),
    ):
        yield name, n, table(rows, n)
    for name, (file, n) in FILES.items() if folder else ():
        yield name, n, table(pd.read_csv(folder / file).select_dtypes("number").dropna().to_numpy(float), n)


def measure(draw: Draw, seed: int, calibration: str | None) -> np.ndarray:
    """Return fractions of outliers at the levels, the area under the curve and the seconds of one fit."""
    X, new, odd = draw(np.random.default_rng(seed))
    start = time.process_time()
    detector = LevelSetDetector(calibration=calibration).fit(X)
    seconds = time.process_time() - start
    outliers = np.mean(detector.predict_at(new, LEVELS) < 0, axis=0)
    scores = detector.score_samples(np.concatenate([new, odd]))
    area = roc_auc_score(np.arange(len(scores)) < len(new), scores)
    return np.r_[outliers, area, seconds]


def large(n: int) -> None:
    """Print the time of fits to many normal rows, and what fractions of new ones are outliers."""
    for d in (2, 10):
        rng = np.random.default_rng(0)
        new = rng.normal(size=(10_000, d))
        start = time.process_time()
        detector = LevelSetDetector().fit(rng.normal(size=(n, d)))
        seconds = time.process_time() - start
        outliers = np.mean(detector.predict_at(new, LEVELS) < 0, axis=0)
        print(f"n = {n}, d = {d}: {seconds:.0f} s, outliers {np.round(outliers, 4)}", flush=True)


def main() -> None:
    """Print a line for each case, and the means."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one sample of each kind")
    parser.add_argument("--data", type=Path, help="folder of the tables that do not come with scikit-learn")
    parser.add_argument("--large", type=int, help="only fits to this many rows")
    given = parser.parse_args()
    if given.large:
        large(given.large)
        return
    print(f"{'':16} {'n':>5}   without: 1 %, 5 %, 10 %, 50 %, AUC, s          calibrated")
    means = []
    for name, n, draw in cases(given.data):
        seeds = range(1 if given.quick else SAMPLES if n <= MANY else SAMPLES_OF_MANY)
        both = [np.mean([measure(draw, seed, how) for seed in seeds], axis=0) for how in (None, "cross")]
        means.append(both)
        print(f"{name:16} {n:5}", *("  " + " ".join(f"{value:6.3f}" for value in each) for each in both), flush=True)
    print(f"{'mean':22}", *("  " + " ".join(f"{value:6.3f}" for value in each) for each in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
