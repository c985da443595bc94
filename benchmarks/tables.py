"""Quantile models as they come out of the box, on many real tables: loss, coverage, width, time.

    python benchmarks/tables.py                                  # tables of scikit-learn and statsmodels
    python benchmarks/tables.py --data DIRECTORY                 # and the twenty of qr20_numeric.npz there
    python benchmarks/tables.py --models mercer joint --splits 1 # some models, one split
    git worktree add ../before ee72b4e
    python benchmarks/tables.py --models mercer cv --against ../before/src # the same defaults of another checkout

Each table is split 70/30 three times. Loss is the mean pinball loss at levels 0.1, ..., 0.9 of held-out rows; coverage
and interval score (Gneiting and Raftery, 2007) are those of the 90 % interval. Rivals: a forest of 200 trees, gradient
boosting (LightGBM with a model for each level, CatBoost with one for all) and linear quantile regression, each tuned
over the few settings in ``RIVALS`` by 3-fold cross-validation of the loss. The best rival is chosen on the same
held-out rows, in its favour. CPU time, one thread. With ``--against`` each fit of ours is made by another checkout,
too, in a process of its own and right after. Prints a table, writes JSON; rivals that were measured before are read
from there unless ``--fresh``. Needs ``pip install "mercer[bench]"``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import gmean
from sklearn import datasets
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelQuantileRegressor, KernelQuantileRegressorCV
from mercer.model_selection import integrated_pinball

LEVELS = np.arange(1, 10) / 10
ENDS = np.array([0.05, 0.95])
EVERY = np.sort(np.concatenate([LEVELS, ENDS]))
INNER, OUTER = np.isin(EVERY, LEVELS), np.isin(EVERY, ENDS)

# -- tables ---------------------------------------------------------------------------------------------------------


def tables(directory: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, inputs and targets."""
    yield "diabetes", *datasets.load_diabetes(return_X_y=True, scaled=False)
    for name, loader, target in (
        ("wine", datasets.load_wine, 0),
        ("iris", datasets.load_iris, 2),
        ("cancer", datasets.load_breast_cancer, 4),
        ("linnerud", datasets.load_linnerud, 0),
    ):
        X = loader().data
        yield name, np.delete(X, target, axis=1), X[:, target]
    yield "friedman", *datasets.make_friedman1(300, noise=1.0, random_state=0)
    yield from statsmodels_tables()
    if directory is not None:
        archive = np.load(directory / "qr20_numeric.npz")
        for name in sorted(key[:-2] for key in archive.files if key.endswith("_X")):
            yield name, archive[f"{name}_X"].astype(float), archive[f"{name}_y"].astype(float)


def statsmodels_tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield small tables that come with statsmodels."""
    try:
        from statsmodels import datasets as library
    except ImportError:
        return
    for name in ("ccard", "star98", "fair", "grunfeld", "statecrime", "copper", "scotland", "stackloss"):
        table = getattr(library, name).load_pandas()
        X = table.exog.select_dtypes("number").to_numpy(float)
        y = np.asarray(table.endog, float)
        yield name, X, y[:, 0] if y.ndim == 2 else y


# -- models: (X, y) -> function X -> (n, 11) quantiles at EVERY -------------------------------------------------------

Predict = Callable[[np.ndarray], np.ndarray]


def mercer(X: np.ndarray, y: np.ndarray) -> Predict:
    model = KernelQuantileRegressor().fit(X, y)
    return lambda Z: model.predict_quantile(Z, EVERY)


def joint(X: np.ndarray, y: np.ndarray) -> Predict:
    model = KernelQuantileRegressor(stages="joint").fit(X, y)
    return lambda Z: model.predict_quantile(Z, EVERY)


def cv(X: np.ndarray, y: np.ndarray) -> Predict:
    model = KernelQuantileRegressorCV().fit(X, y)
    return lambda Z: model.predict_quantile(Z, EVERY)


def forest(X, y, min_samples_leaf) -> Predict:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(200, min_samples_leaf=min_samples_leaf, random_state=0, n_jobs=1).fit(X, y)
    return lambda Z: model.predict(Z, quantiles=list(EVERY))


def lightgbm(X, y, num_leaves, n_estimators) -> Predict:
    from lightgbm import LGBMRegressor

    settings = {"learning_rate": 0.05, "min_child_samples": 10, "n_jobs": 1, "verbose": -1}
    models = [
        LGBMRegressor(
            objective="quantile", alpha=level, num_leaves=num_leaves, n_estimators=n_estimators, **settings
        ).fit(X, y)
        for level in EVERY
    ]
    return lambda Z: np.sort(np.column_stack([model.predict(Z) for model in models]), axis=1)


def catboost(X, y, depth, iterations) -> Predict:
    from catboost import CatBoostRegressor

    levels = ",".join(f"{level:g}" for level in EVERY)
    model = CatBoostRegressor(
        loss_function=f"MultiQuantile:alpha={levels}",
        depth=depth,
        iterations=iterations,
        thread_count=1,
        verbose=0,
        random_seed=0,
        allow_writing_files=False,
    ).fit(X, y)
    return lambda Z: np.sort(model.predict(Z), axis=1)


def linear(X, y, penalty) -> Predict:
    models = [
        make_pipeline(StandardScaler(), QuantileRegressor(quantile=level, alpha=penalty, solver="highs")).fit(X, y)
        for level in EVERY
    ]
    return lambda Z: np.sort(np.column_stack([model.predict(Z) for model in models]), axis=1)


OURS = {"mercer": mercer, "cv": cv, "joint": joint}
RIVALS: dict[str, tuple[Callable, dict[str, tuple]]] = {
    "forest": (forest, {"min_samples_leaf": (2, 5, 10, 20)}),
    "lightgbm": (lightgbm, {"num_leaves": (4, 15), "n_estimators": (100,)}),
    "catboost": (catboost, {"depth": (3, 6), "iterations": (200,)}),
    "linear": (linear, {"penalty": (0.0, 0.01)}),
}


def tuned(name: str, X: np.ndarray, y: np.ndarray) -> Predict:
    """Return a rival with the setting of least loss in 3-fold cross-validation."""
    make, grid = RIVALS[name]
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    folds = list(KFold(3, shuffle=True, random_state=0).split(X))

    def loss(setting: dict) -> float:
        return float(np.mean([pinball(y[test], make(X[train], y[train], **setting)(X[test])) for train, test in folds]))

    best = settings[0] if len(settings) == 1 else min(settings, key=loss)
    return make(X, y, **best)


# -- measures ---------------------------------------------------------------------------------------------------------


def pinball(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(integrated_pinball(y, predicted[:, INNER], LEVELS, np.full(len(LEVELS), 1 / len(LEVELS))))


def judged(name: str, X, y, X_test, y_test) -> dict[str, float]:
    """Fit a model and return its loss, coverage, interval score and time."""
    start = time.process_time()
    predict = OURS[name](X, y) if name in OURS else tuned(name, X, y)
    took = time.process_time() - start
    predicted = predict(X_test)
    low, high = predicted[:, OUTER].T
    outside = np.maximum(low - y_test, 0) + np.maximum(y_test - high, 0)
    return {
        "loss": pinball(y_test, predicted),
        "coverage": float(np.mean((low <= y_test) & (y_test <= high))),
        "interval_score": float(np.mean(high - low + 2 / 0.1 * outside)),
        "seconds": took,
    }


def judged_by(source: Path, name: str, X, y, X_test, y_test) -> dict[str, float]:
    """Return what another checkout's model of the same name does, in a process of its own."""
    rows = json.dumps([part.tolist() for part in (X, y, X_test, y_test)])
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--judge", name]
    return json.loads(subprocess.run(command, input=rows, env=environment, stdout=-1, text=True, check=True).stdout)


def judge(name: str) -> None:
    """Print what a model does with rows from standard input, after a fit that loads what fits load."""
    parts = [np.asarray(part) for part in json.load(sys.stdin)]
    OURS[name](parts[0][:60], parts[1][:60])
    print(json.dumps(judged(name, *parts)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="directory of qr20_numeric.npz")
    parser.add_argument("--models", nargs="+", choices=[*OURS, *RIVALS], default=["mercer", "joint", *RIVALS])
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="measure rivals again")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "tables.json")
    parser.add_argument("--against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--judge", choices=[*OURS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.judge:
        judge(options.judge)
        return
    known = json.loads(options.output.read_text()) if options.output.exists() and not options.fresh else {}
    rows = {}
    for name, X, y in tables(options.data):
        if options.only and name not in options.only:
            continue
        rows[name] = {}
        for split in range(options.splits):
            parts = train_test_split(X, y, test_size=0.3, random_state=split)
            for model in options.models:
                key = f"{name} {split} {model}"
                if model in OURS or key not in known:
                    known[key] = judged(model, parts[0], parts[2], parts[1], parts[3])
                if model in ("mercer", "cv") and options.against is not None:
                    source = options.against.resolve()
                    known[f"{key} before"] = judged_by(source, model, parts[0], parts[2], parts[1], parts[3])
        for model in [*OURS, *(f"{own} before" for own in OURS), *RIVALS]:
            runs = [
                known[f"{name} {split} {model}"]
                for split in range(options.splits)
                if f"{name} {split} {model}" in known
            ]
            if runs:
                rows[name][model] = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(known))
        show(name, X.shape, rows[name])
    summarise(rows)


def show(name: str, shape: tuple, row: dict) -> None:
    best = min((row[model]["loss"] for model in RIVALS if model in row), default=1.0)
    cells = [f"{m} {run['loss'] / best:.3f} {run['coverage']:.2f} {run['seconds']:.1f}s" for m, run in row.items()]
    print(f"{name:<14} {shape[0]:>5} × {shape[1]:<3} {'  '.join(cells)}", flush=True)


def summarise(rows: dict) -> None:
    """Print means over tables: loss against the best rival; coverage; loss, score and time against the joint model."""
    for model in OURS:
        own = [row for row in rows.values() if model in row]
        if not own:
            continue
        cover = [row[model]["coverage"] for row in own]
        text = f"{model}: coverage mean {np.mean(cover):.3f}, least {min(cover):.2f}"
        rival = [
            row[model]["loss"] / min(row[name]["loss"] for name in RIVALS if name in row)
            for row in own
            if any(name in row for name in RIVALS)
        ]
        if rival:
            text += f"; loss against the best rival {gmean(rival):.3f}, largest {max(rival):.2f}"
        for other in ("joint", f"{model} before"):
            if model != other and all(other in row for row in own):
                ratios = {
                    key: gmean([row[model][key] / row[other][key] for row in own])
                    for key in ("loss", "interval_score", "seconds")
                }
                text += f"; against {other}: " + ", ".join(f"{key} {ratio:.3f}" for key, ratio in ratios.items())
        print(text)


if __name__ == "__main__":
    main()
