"""Real curves beside scikit-fda, ridge regression of grid points and kernel ridge; not in the papers.

    python reproduce/curves.py --data DIR            # 3 repetitions of 5 folds, nine datasets
    python reproduce/curves.py --data DIR --quick    # 1 repetition, three datasets

Each method predicts the curves of a fold from the others. The figure is the integrated R², one minus the sum of squared
errors over that of the mean of the training curves, and the ratio of mercer's error to that of the best rival.

- default: ``FunctionalRegressor(grid=grid)`` as it comes, inputs as a table of numbers.
- FPLS, k-NN: scikit-fda's, number of components (1–8) or neighbours (1–15) by inner folds; inputs that are numbers, and
  functions together with numbers, go to k-NN as standardised columns of a function and to FPLS likewise.
- FPCR: linear regression on the scores of scikit-fda's principal components, their number (1–8) by inner folds.
- RidgeCV: of each grid point on standardised inputs, one λ by leave-one-out.
- KernelRidge: scikit-learn's, Gaussian kernel on standardised inputs, λ and γ by inner folds.

"between" is the error of the default at nodes that it has not seen (every second one), over that of straight lines
through its own predictions at the other nodes, on the same left-out curves. "band" is the share of left-out curves that
lie in their simultaneous 90 % band of ``ConformalFunctionalRegressor(method="cross")``, and its mean width over that of
Bonferroni's pointwise bands, where there are rows enough for those (nan elsewhere).
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from report import Report, data_file, options, table
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weather_dti import filled, kernel_ridge, read_dti, read_weather

from mercer import ConformalFunctionalRegressor, FunctionalRegressor
from mercer.measures import Grid

COVERAGE = 0.9
#: folds of the outer and of the inner cross-validation
FOLDS, INNER_FOLDS = 5, 5

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


# --- data


def datasets(folder: Path) -> dict[str, Callable[[], Data]]:
    """Return name → function with inputs, curves and grid on [0, 1]."""

    def load(name: str, contents: str):
        return np.load(data_file(folder, f"{name}.npz", contents))

    def weather() -> Data:
        X, Y, grid = read_weather(folder)
        return X[:, ::5], Y[:, ::5], grid[::5]

    def gait() -> Data:
        data = load("gait", "hip, knee (39, 20), t: the data gait of the R package fda.")
        return data["hip"], data["knee"], data["t"]

    def growth() -> Data:
        data = load("growth", "height_boys, height_girls, age (31,): the data growth of the R package fda.")
        heights = np.vstack([data["height_boys"], data["height_girls"]])
        boy, late = np.arange(len(heights)) < len(data["height_boys"]), data["age"] >= 6
        return np.column_stack([heights[:, ~late], boy]), heights[:, late], data["age"][late]

    def dti() -> Data:
        X, Y, grid = read_dti(folder)
        return X, filled(Y), grid

    def tecator() -> Data:
        data = load("tecator", "absorbance (215, 100), fat, water, protein: the data tecator of the R package fda.usc.")
        return np.column_stack([data["fat"], data["water"], data["protein"]]), data["absorbance"], data["wavelength"]

    def nox() -> Data:
        data = load("nox_poblenou", "nox (115, 24), festive, day_week: the data poblenou of the R package fda.usc.")
        idle = np.isin(data["day_week"], ["6", "7"]) | (data["festive"] == "1")
        levels = np.log(data["nox"].astype(float))
        return np.column_stack([levels[:, :12], idle]), levels[:, 12:], np.arange(12.0)

    def handwriting() -> Data:
        data = load("handwriting", "x, y (20, 1401), t_ms: the data handwrit of the R package fda.")
        return data["x"][:, ::20], data["y"][:, ::20], data["t_ms"][::20]

    def aemet() -> Data:
        data = load("aemet", "temperature, logprec (73, 365), day: the data aemet of the R package fda.usc.")
        return data["temperature"][:, ::5].astype(float), data["logprec"][:, ::5].astype(float), data["day"][::5]

    def lip() -> Data:
        data = load("lipemg", "X_emg, Y_lipacc (32, 641), t: lip acceleration and EMG of Ramsay and Silverman.")
        return data["X_emg"][:, ::10], data["Y_lipacc"][:, ::10], data["t"][::10]

    return {
        "weather": weather,
        "gait": gait,
        "growth": growth,
        "DTI": dti,
        "tecator": tecator,
        "NOx": nox,
        "handwriting": handwriting,
        "AEMET": aemet,
        "lip": lip,
    }


def on_unit_interval(grid: np.ndarray) -> np.ndarray:
    """Return the grid moved to [0, 1]."""
    grid = np.asarray(grid, dtype=float)
    return (grid - grid[0]) / (grid[-1] - grid[0])


# --- rivals: functions of training data and test inputs


def as_functions(X: np.ndarray, like: np.ndarray):
    """Return standardised columns as values of functions: units of scalars beside functions must not matter."""
    import skfda

    scale = np.where(like.std(axis=0) > 0, like.std(axis=0), 1.0)
    return skfda.FDataGrid((X - like.mean(axis=0)) / scale, np.linspace(0, 1, X.shape[1]))


def by_inner_folds(predict: Callable, sizes: range) -> Callable:
    """Return the method with the size of least error in inner folds."""

    def tuned(X, Y, X_test, grid):
        errors = {}
        for size in sizes:
            folds = KFold(INNER_FOLDS, shuffle=True, random_state=0).split(X)
            errors[size] = sum(
                np.sum((predict(X[train], Y[train], X[test], grid, size) - Y[test]) ** 2) for train, test in folds
            )
        return predict(X, Y, X_test, grid, min(errors, key=errors.__getitem__))

    return tuned


def fpls(X, Y, X_test, grid, size):
    """Return predictions of functional partial least squares."""
    from skfda import FDataGrid
    from skfda.ml.regression import FPLSRegression

    size = min(size, X.shape[1], len(X) - 1)
    model = FPLSRegression(n_components=size).fit(as_functions(X, X), FDataGrid(Y, grid))
    return model.predict(as_functions(X_test, X)).data_matrix[..., 0]


def neighbours(X, Y, X_test, grid, size):
    """Return means over neighbours in L²."""
    from skfda import FDataGrid
    from skfda.ml.regression import KNeighborsRegressor

    model = KNeighborsRegressor(n_neighbors=min(size, len(X))).fit(as_functions(X, X), FDataGrid(Y, grid))
    return model.predict(as_functions(X_test, X)).data_matrix[..., 0]


def components(X, Y, X_test, grid, size):
    """Return linear regressions on principal component scores."""
    from skfda.preprocessing.dim_reduction import FPCA

    pca = FPCA(n_components=min(size, X.shape[1], len(X) - 1))
    scores = pca.fit_transform(as_functions(X, X))
    return LinearRegression().fit(scores, Y).predict(pca.transform(as_functions(X_test, X)))


def ridge(X, Y, X_test, grid):
    """Return ridge regressions of all grid points."""
    return make_pipeline(StandardScaler(), RidgeCV(np.logspace(-4, 6, 21))).fit(X, Y).predict(X_test)


RIVALS = {
    "FPLS": by_inner_folds(fpls, range(1, 9)),
    "k-NN": by_inner_folds(neighbours, range(1, 16, 2)),
    "FPCR": by_inner_folds(components, range(1, 9)),
    "RidgeCV": ridge,
    "KernelRidge": lambda X, Y, X_test, grid: kernel_ridge(X, Y, X_test),
}


def default(X, Y, X_test, grid):
    """Return predictions of mercer as it comes."""
    return FunctionalRegressor(grid=grid).fit(X, Y).predict(X_test)


# --- figures


def out_of_fold(method: Callable, X, Y, grid, seed: int) -> tuple[np.ndarray, float]:
    """Return predictions for each curve by a fit without its fold, and seconds of CPU for a fit."""
    predicted, start = np.empty(Y.shape), time.process_time()
    for train, test in folds_of(X, seed):
        predicted[test] = method(X[train], Y[train], X[test], grid)
    return predicted, (time.process_time() - start) / FOLDS


def folds_of(X, seed: int):
    """Return the outer folds of a repetition."""
    return KFold(FOLDS, shuffle=True, random_state=seed).split(X)


def training_means(X, Y, seed: int) -> np.ndarray:
    """Return for each curve the mean of the curves outside of its fold."""
    means = np.empty(Y.shape)
    for train, test in folds_of(X, seed):
        means[test] = Y[train].mean(axis=0)
    return means


def errors_between(X, Y, grid, seed: int) -> tuple[float, float]:
    """Return squared errors at left-out nodes of left-out curves: the model's, and those of lines through it."""
    kept, hidden = np.arange(0, len(grid), 2), np.arange(1, len(grid) - 1, 2)
    own, straight = 0.0, 0.0
    for train, test in folds_of(X, seed):
        model = FunctionalRegressor(grid=grid[kept]).fit(X[train], Y[train][:, kept])
        lines = np.array([np.interp(grid[hidden], grid[kept], curve) for curve in model.predict(X[test])])
        own += np.sum((model.predict_at(X[test], grid[hidden]) - Y[test][:, hidden]) ** 2)
        straight += np.sum((lines - Y[test][:, hidden]) ** 2)
    return own, straight


def bands(X, Y, grid, seed: int) -> tuple[np.ndarray, float]:
    """Return which curves lie in their simultaneous bands, and the width of these over that of Bonferroni's."""
    inside, width, wide = np.empty(len(Y), dtype=bool), 0.0, 0.0
    single = 1 - (1 - COVERAGE) / len(grid)
    for train, test in folds_of(X, seed):
        model = ConformalFunctionalRegressor(FunctionalRegressor(grid=grid), method="cross", random_state=seed)
        band = model.fit(X[train], Y[train]).prediction_band(X[test], COVERAGE, kind="simultaneous")
        inside[test] = np.all((band[..., 0] <= Y[test]) & (Y[test] <= band[..., 1]), axis=1)
        width += np.mean(band[..., 1] - band[..., 0])
        if len(train) < single / (1 - single):  # too few rows for so high a coverage
            wide = np.nan
        else:
            every = model.prediction_band(X[test], single, kind="pointwise")
            wide += np.mean(every[..., 1] - every[..., 0])
    return inside, width / wide


def figures(name: str, data: Data, seeds: range, report: Report) -> dict:
    """Return one row of the table."""
    X, Y, grid = data[0], data[1], on_unit_interval(data[2])
    weights, methods = Grid(grid).build().weights, {"mercer": default, **RIVALS}
    errors, cpu = dict.fromkeys(methods, 0.0), dict.fromkeys(methods, 0.0)
    total, between, covered, widths = 0.0, np.zeros(2), [], []
    for seed in seeds:
        total += np.sum((Y - training_means(X, Y, seed)) ** 2 @ weights)
        for method, predict in methods.items():
            predicted, seconds = out_of_fold(predict, X, Y, grid, seed)
            errors[method] += np.sum((Y - predicted) ** 2 @ weights)
            cpu[method] += seconds / len(seeds)
        between += errors_between(X, Y, grid, seed)
        inside, width = bands(X, Y, grid, seed)
        covered.append(inside.mean())
        widths.append(width)
        report.progress(f"{name}, repetition {seed + 1}")
    best = min(RIVALS, key=errors.__getitem__)
    return {
        "data": name,
        "n": len(X),
        "m": len(grid),
        **{method: 1 - error / total for method, error in errors.items()},
        "best": best,
        "error/best": errors["mercer"] / errors[best],
        "between": float(np.sqrt(between[0] / between[1])),
        "band": float(np.mean(covered)),
        "width/Bonferroni": float(np.mean(widths)),
        "s": cpu["mercer"],
        "s best": cpu[best],
    }


def main() -> None:
    """Print the table."""
    given = options(
        __doc__.splitlines()[0],
        repetitions={"type": int, "help": "of 5 folds (default: 3, or 1 with --quick)"},
        only={"nargs": "+", "help": "datasets (default: all, or the first three with --quick)"},
    )
    warnings.simplefilter("ignore")
    readers = datasets(given.data)
    names = given.only or list(readers)[: 3 if given.quick else None]
    report = Report("curves", given)
    repetitions = range(max(1, given.repetitions or (1 if given.quick else 3)))
    rows = [figures(name, readers[name](), repetitions, report) for name in names]
    groups = {
        "": ["data", "n", "m"],
        "integrated R² of left-out curves": ["mercer", *RIVALS],
        "against the best": ["best", "error/best"],
        "mercer's": ["between", "band", "width/Bonferroni", "s", "s best"],
    }
    print(table(f"5 folds, {len(repetitions)} repetitions; s: seconds of CPU for a fit", groups, rows))
    ratio = np.exp(np.mean(np.log([row["error/best"] for row in rows])))
    print(
        f"\nerror against the best rival, geometric mean: {ratio:.3f}; curves within bands: "
        f"{np.mean([row['band'] for row in rows]):.3f}"
    )
    report.add(rows=rows, geometric_mean=ratio)
    report.write()


if __name__ == "__main__":
    main()
