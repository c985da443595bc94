"""Curves from several columns: scales learned by evidence against equal ones, held-out error and time.

    python benchmarks/functional_relevance.py --data DIRECTORY        # real curves that lie there, and synthetic ones
    python benchmarks/functional_relevance.py --splits 3              # synthetic ones only, fewer splits

Each table is split into two thirds to learn from and a third to predict, ten times. What is measured is the mean
squared error of held-out curves of ``FunctionalRegressor`` as it comes, in units of that with the best of its Gaussians
with equal scales of standardised columns, which is what it chooses where no scales are learned: of means over splits,
and the geometric mean of ratios of single splits; the share of splits in which learned scales were taken, and CPU time
in the same unit. "+5" has five columns of noise more. Prints a table, writes JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from mercer import FunctionalRegressor

#: seeds of the splits: none that constants were chosen with
FIRST_SEED = 1000
NODES = 25

Table = tuple[str, np.ndarray, np.ndarray, np.ndarray | None]


def tables(directory: Path | None) -> Iterator[Table]:
    """Yield name, inputs, curves and grid; real ones as they are and with columns of noise."""
    if directory is not None:
        for name, X, Y, grid in real(directory):
            step = 1 if grid is None else -(-len(grid) // NODES)
            Y, grid = Y[:, ::step].astype(float), None if grid is None else grid[::step].astype(float)
            yield name, X, Y, grid
            noise = np.random.default_rng(7).normal(size=(len(X), 5))
            yield f"{name} +5", np.column_stack([X, noise]), Y, grid
    yield from synthetic()


def synthetic() -> Iterator[Table]:
    """Yield curves of two columns among others, and of all columns alike."""
    grid = np.linspace(0, 1, NODES)
    rng = np.random.default_rng(0)
    for n in (60, 150, 400):
        for extra in (0, 3, 10):
            X = rng.normal(size=(n, 2 + extra))
            Y = np.sin(2 * X[:, :1] + 4 * grid) + X[:, 1:2] * grid + 0.3 * rng.normal(size=(n, NODES))
            yield f"shift and slope, n = {n}, {extra} idle columns", X, Y, grid
    X = rng.normal(size=(150, 8))
    parts = np.array([np.ones(NODES), grid, np.sin(6 * grid)])
    yield "linear in all columns", X, X @ rng.normal(size=(8, 3)) @ parts + rng.normal(size=(150, NODES)), grid
    waves = sum(np.sin(1.5 * X[:, [k]] + k * grid) for k in range(5))
    yield "a wave of each column", X[:, :5], waves + 0.3 * rng.normal(size=(150, NODES)), grid
    yield "noise alone", X, rng.normal(size=(150, 1)) * grid + rng.normal(size=(150, NODES)), grid


def real(directory: Path) -> Iterator[Table]:
    """Yield what lies in the directory: weather, spectra, torques, flows, metals."""
    import pandas as pd

    spain, canada, meat = (np.load(directory / f"{name}.npz") for name in ("aemet", "canadian_weather", "tecator"))
    stations = np.column_stack([spain["longitude"], spain["latitude"], spain["altitude"]])
    for field in ("temperature", "wind_speed", "logprec"):
        yield f"Spain {field}", stations, spain[field], spain["day"]
    for field in ("temperature", "log10precip"):
        yield f"Canada {field}", canada["coordinates"], canada[field], canada["day"]
    yield "Canada, curves to curves", canada["temperature"][:, ::10], canada["log10precip"], canada["day"]
    contents = np.column_stack([meat["fat"], meat["water"], meat["protein"]])
    yield "meat to spectra", contents, meat["absorbance"], meat["wavelength"]
    yield "spectra to meat", meat["absorbance"][:, ::5], contents, None
    air = np.load(directory / "nox_poblenou.npz")
    day = air["day_week"].astype(int)
    season = pd.to_datetime(air["date"]).dayofyear
    columns = [day == 6, day == 7, day, air["festive"].astype(int), season]
    yield "nitrogen oxides", np.column_stack(columns).astype(float), air["nox"], air["hour"]
    arm, river = (np.load(directory / f"{name}.npz") for name in ("sarcos_subset", "rf1_river_flow"))
    yield "torques", *some(arm["X_test"], arm["Y_test"]), None
    yield "river flows", *some(river["X_train"], river["Y_train"]), None
    jura = pd.read_csv(directory / "jura.csv")
    places = pd.get_dummies(jura[["Xloc", "Yloc", "Landuse", "Rock"]].astype({"Landuse": str, "Rock": str}))
    metals = np.log(jura[["Cd", "Co", "Cr", "Cu", "Ni", "Pb", "Zn"]].to_numpy(float))
    yield "metals in soil", places.to_numpy(float), metals / metals.std(axis=0), None
    gait, climate = np.load(directory / "gait.npz"), pd.read_csv(directory / "climate_na_1990_2002.csv.gz")
    yield "hip to knee", gait["hip"], gait["knee"], gait["t"]
    sites = climate.groupby(["LAT", "LONG"])
    for field in ("TMP", "PRE", "WET"):
        months = np.array([site[field].to_numpy()[:36] for _, site in sites])
        yield f"North America {field}", np.array(list(sites.groups)), months, np.arange(36.0)
    ground = pd.read_csv(directory / "gilgais.csv")
    deep = [name for name in ground.columns if name.endswith("80")]
    shallow = [name for name in ground.columns if name.endswith(("00", "30"))]
    below = ground[deep].to_numpy(float)
    yield "soil at depth", ground[shallow].to_numpy(float), below / below.std(axis=0), None


def some(X: np.ndarray, Y: np.ndarray, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Return n complete rows at random, outputs with unit variance."""
    rows = np.flatnonzero(np.isfinite(X).all(axis=1) & np.isfinite(Y).all(axis=1))
    rows = np.random.default_rng(0).permutation(rows)[:n]
    return X[rows].astype(float), (Y / np.nanstd(Y, axis=0))[rows].astype(float)


class EqualScales(FunctionalRegressor):
    """The same estimator without learned scales."""

    def _learns(self, sample):
        return False


def measure(name: str, X: np.ndarray, Y: np.ndarray, grid: np.ndarray | None, splits: int) -> dict:
    """Return errors and times of a table."""
    n, errors, seconds, taken = len(X), [], [], []
    for seed in range(FIRST_SEED, FIRST_SEED + splits):
        order = np.random.default_rng(seed).permutation(n)
        train, test = order[: 2 * n // 3], order[2 * n // 3 :]
        row, spent = [], []
        for kind in (FunctionalRegressor, EqualScales):
            start = time.process_time()
            model = kind(grid=grid).fit(X[train], Y[train])
            spent.append(time.process_time() - start)
            row.append(float(np.mean((model.predict(X[test]) - Y[test]) ** 2)))
            if kind is FunctionalRegressor and model.relevance_ is not None:
                shares = model.relevance_[model.relevance_ > 0]
                taken.append(float(np.ptp(shares) > 1e-9))
        errors.append(row)
        seconds.append(spent)
    ours, theirs = np.mean(errors, axis=0)
    ratios = np.array(errors)[:, 0] / np.array(errors)[:, 1]
    return {
        "name": name,
        "n": n,
        "columns": X.shape[1],
        "R2 equal": 1 - theirs / float(np.mean((Y - Y.mean(axis=0)) ** 2)),
        "error ratio": ours / theirs,
        "geometric": float(np.exp(np.mean(np.log(ratios)))),
        "worst split": float(ratios.max()),
        "taken": float(np.mean(taken)) if taken else 0.0,
        "time ratio": float(np.sum(seconds, axis=0)[0] / np.sum(seconds, axis=0)[1]),
        "seconds": float(np.median(seconds, axis=0)[0]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="directory with aemet.npz and others")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", default="", help="tables whose name contains this")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/functional_relevance.json"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for table in tables(options.data):
        if options.only in table[0]:
            rows.append(row := measure(*table, options.splits))
            numbers = "  ".join(f"{key} {value:.3f}" for key, value in row.items() if isinstance(value, float))
            print(f"{row['name']:<45} n {row['n']:4d}  d {row['columns']:3d}  {numbers}", flush=True)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
