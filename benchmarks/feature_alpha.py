"""λ of features: that of the kernel, or of their own leave-one-out error, on real tables.

    python benchmarks/feature_alpha.py                   # small tables of scikit-learn and statsmodels
    python benchmarks/feature_alpha.py --data DIRECTORY  # and those of qr20_numeric.npz and nine larger ones there

``VectorValuedRegressor`` with the square loss chooses kernel and λ with the kernel itself; features then take its
place, with that λ (passed as ``alpha``) or with the one that ``alpha="auto"`` chooses for them. Mean squared error on
rows held out, the second over the first: geometric means over tables, the least and the largest table. Small tables
are split 70/30 three times; of larger ones 600, 2 000 and 70 % of the rows are learned from. Prints a table, writes
JSON.
"""

from __future__ import annotations

import argparse
import gzip
import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import clone
from tables import tables

from mercer import VectorValuedRegressor
from mercer.features import FeatureMap, Nystroem, RandomFourier

SMALL = {f"{D} frequencies": RandomFourier(D, random_state=0) for D in (30, 100, 300)} | {
    "30 landmarks": Nystroem(30, random_state=0)
}
LARGE = {f"{D} frequencies": RandomFourier(D, random_state=0) for D in (50, 150, 500)} | {
    f"{m} landmarks": Nystroem(m, random_state=0) for m in (100, 500)
}
MOST_ROWS = 12_000
#: rows that an automatic choice with the kernel looks at
CHOICE_ROWS = 2000


def numbers(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a gzipped table that are numbers, and those that are text."""
    with gzip.open(path, "rt") as lines:
        rows = np.array([line.strip().split(",") for line in lines][1:])
    text = np.array([any(character.isalpha() for character in cell) for cell in rows[0]])
    return rows[:, ~text].astype(float), rows[:, text]


def larger_tables(directory: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs and targets of tables with more than 2 000 rows."""
    with np.load(directory / "sarcos_subset.npz") as data:
        yield "sarcos", data["X_test"], data["Y_test"]
    for name in ("rf1_river_flow", "yeast_multilabel"):
        with np.load(directory / f"{name}.npz") as data:
            X, Y = (np.vstack([data[f"{part}_train"], data[f"{part}_test"]]).astype(float) for part in "XY")
        whole = ~np.any(np.isnan(X), axis=1)
        yield name, X[whole], Y[whole]
    with np.load(directory / "bibtex_multilabel.npz") as data:
        X, Y = (np.unpackbits(data[f"{part}_train"], axis=1).astype(float) for part in "XY")
        yield "bibtex", X[:, X.sum(axis=0) > 60], Y[:, :30]
    for name in ("wilt", "spambase"):
        X, labels = numbers(directory / f"{name}.csv.gz")
        yield name, X, np.where(labels == labels[0], 1.0, -1.0)
    columns = numbers(directory / "gesture_phase_va3.csv.gz")[0]
    yield "gesture", columns[:, :24], columns[:, 24:]
    series = numbers(directory / "heart_santafe_b.csv.gz")[0][:17_000]
    yield "heart", np.hstack([series[k : k - 6] for k in range(5)]), series[6:]
    with np.load(directory / "mnist_12k_10k.npz") as data:
        yield "mnist", data["X_train"].reshape(12_000, -1) / 127.5 - 1, np.eye(10)[data["y_train"]]


def compared(maps: dict[str, FeatureMap], train: tuple, test: tuple) -> dict[str, tuple[float, float]]:
    """Return for each map the ratio of held-out errors, and that of the two λ."""
    (X, Y), (Z, truth) = train, test
    few = np.unique(np.linspace(0, len(X) - 1, min(len(X), CHOICE_ROWS)).round().astype(int))
    exact = VectorValuedRegressor(approximation=None).fit(X[few], Y[few])
    found = {}
    for name, features in maps.items():
        if isinstance(features, Nystroem) and features.n_landmarks > len(np.unique(X, axis=0)):
            continue
        own = VectorValuedRegressor(exact.kernel_, approximation=features).fit(X, Y)
        given = clone(own).set_params(alpha=exact.alpha_).fit(X, Y)
        errors = [float(np.mean((model.predict(Z) - truth) ** 2)) for model in (own, given)]
        found[name] = errors[0] / errors[1], own.alpha_ / exact.alpha_
    return found


def parts(X: np.ndarray, Y: np.ndarray, size: int, seed: int) -> tuple[tuple, tuple]:
    """Return rows to learn from and others, targets in units of deviations of the former."""
    rows = np.random.default_rng(seed).permutation(len(X))[:MOST_ROWS]
    train, test = rows[:size], rows[int(0.7 * len(rows)) :]
    mean, spread = Y[train].mean(axis=0), Y[train].std(axis=0)
    Y = (Y - mean) / np.where(spread > 0, spread, 1.0)
    return (X[train], Y[train]), (X[test], Y[test])


def study(maps: dict[str, FeatureMap], source: Iterator, sizes: tuple[int, ...], seeds: range) -> dict:
    """Return for each map the mean logarithms of both ratios of each table."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in maps}
    for title, X, Y in source:
        Y = Y.reshape(len(Y), -1)
        runs = []
        for size in dict.fromkeys([min(size, int(0.7 * min(len(X), MOST_ROWS))) for size in sizes]):
            runs += [compared(maps, *parts(X, Y, size, seed)) for seed in seeds]
        for name in maps:
            ratios = [run[name] for run in runs if name in run]
            if ratios:
                found[name][title] = np.exp(np.mean(np.log(ratios), axis=0)).tolist()
        print(title, len(X), {name: round(of_map[title][0], 3) for name, of_map in found.items() if title in of_map})
    return found


def report(title: str, found: dict) -> None:
    """Print means over tables."""
    print(f"\n{title}: held-out error with λ of the features over that with λ of the kernel")
    for name, of_map in found.items():
        ratios = np.array([ratio for ratio, _ in of_map.values()])
        ends = [f"{list(of_map)[k]} {ratios[k]:.3f}" for k in (int(np.argmin(ratios)), int(np.argmax(ratios)))]
        print(f"  {name:16} {len(ratios):3} tables, mean {np.exp(np.log(ratios).mean()):.3f}, {ends[0]} to {ends[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="directory of qr20_numeric.npz and the larger tables")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "feature_alpha.json")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    small = ((name, X[:3000], y[:3000]) for name, X, y in tables(arguments.data))
    results = {"small": study(SMALL, small, (MOST_ROWS,), range(3))}
    if arguments.data:
        results["large"] = study(LARGE, larger_tables(arguments.data), (600, 2000, MOST_ROWS), range(1))
    for title, found in results.items():
        report(title, found)
    arguments.output.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
