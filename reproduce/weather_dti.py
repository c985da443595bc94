"""Two classic datasets of curves, not in the papers: diffusion tensor imaging, and Canadian weather.

    python reproduce/weather_dti.py --data DIR            # 4 repetitions of 5 folds
    python reproduce/weather_dti.py --data DIR --quick    # 1 repetition

DTI: fractional anisotropy along the corticospinal tract (55 points) predicts that along the corpus callosum (93
points), first visits of 100 patients with multiple sclerosis. Holes of the inputs are filled by straight lines, those
of the outputs stay. Weather: daily temperature predicts the logarithm of daily precipitation, 35 stations, 365 days.

Each method is cross-validated twice: as the data are, and with outliers among the training curves, 10 % of them, whose
deviation from the mean curve is replaced by −3 times itself; test curves are as they are. The figure is the integrated
R², one minus the sum of squared errors over that of the mean of the training curves, over all folds of a repetition.

- mean curve: 0 by definition without outliers.
- KernelRidge: scikit-learn's, Gaussian kernel on standardised inputs, λ and γ by inner cross-validation; holes are
  filled with the mean of the training curves.
- default: ``FunctionalRegressor(grid=grid)``, λ by leave-one-out; L², integral: with kernels of functions; tuned:
  integral, ``FunctionalRegressorCV`` over five scales; Huber: as default with this loss by name.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, data_file, options, table
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.kernels import FunctionalGaussian, IntegralGaussian
from mercer.measures import Grid
from mercer.plotting import CurvesDisplay

OUTLIERS = {"share": 0.1, "scale": 3.0}


def read_dti(folder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return inputs, outputs (NaN where missing) and the grid of the outputs."""
    contents = "cca (382, 93), rcst (382, 55), visit, case: the data DTI of the R package refund."
    with np.load(data_file(folder, "dti.npz", contents)) as data:
        rows = (data["visit"] == 1) & (data["case"] == 1)
        return filled(data["rcst"][rows]), data["cca"][rows], np.linspace(0, 1, data["cca"].shape[1])


def filled(X: np.ndarray) -> np.ndarray:
    """Return curves with straight lines over their holes, constant at the ends."""
    at = np.arange(X.shape[1])
    return np.stack([np.interp(at, at[~np.isnan(x)], x[~np.isnan(x)]) for x in X])


def read_weather(folder) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return temperatures, log precipitation and days on [0, 1]."""
    contents = "temperature, log10precip (35, 365), day (365,): the data CanadianWeather of the R package fda."
    with np.load(data_file(folder, "canadian_weather.npz", contents)) as data:
        return data["temperature"], data["log10precip"], data["day"] / 365


def spoiled(Y: np.ndarray, seed: int) -> np.ndarray:
    """Return curves, some of them with −3 times their deviation from the mean curve."""
    mean = np.nanmean(Y, axis=0)
    rows = np.random.default_rng(seed).choice(len(Y), max(1, round(OUTLIERS["share"] * len(Y))), replace=False)
    Y = Y.copy()
    Y[rows] = mean - OUTLIERS["scale"] * (Y[rows] - mean)
    return Y


def kernel_ridge(X, Y, X_test) -> np.ndarray:
    """Return predictions of scikit-learn's kernel ridge regression of centred outputs, tuned by cross-validation."""
    mean = np.nanmean(Y, axis=0)
    model = GridSearchCV(
        make_pipeline(StandardScaler(), KernelRidge(kernel="rbf")),
        {
            "kernelridge__alpha": np.logspace(-3, 2, 6),
            "kernelridge__gamma": np.array([0.1, 0.3, 1, 3]) / X.shape[1],
        },
        scoring="neg_mean_squared_error",
        cv=5,
    )
    return mean + model.fit(X, np.nan_to_num(Y - mean)).predict(X_test)


def methods(grid: np.ndarray) -> dict:
    """Return name → function of training data and test inputs with predictions."""

    def fitted(**parameters):
        return lambda X, Y, X_test: FunctionalRegressor(grid=grid, **parameters).fit(X, Y).predict(X_test)

    def tuned(X, Y, X_test):
        scale = float(IntegralGaussian().adapt(X).gamma)
        kernels = [IntegralGaussian(scale * factor) for factor in (0.03, 0.1, 0.3, 1.0, 3.0)]
        return FunctionalRegressorCV(kernels, grid=grid).fit(X, Y).predict(X_test)

    return {
        "mean curve": lambda X, Y, X_test: np.tile(np.nanmean(Y, axis=0), (len(X_test), 1)),
        "KernelRidge": kernel_ridge,
        "default": fitted(),
        "L²": fitted(kernel=FunctionalGaussian()),
        "integral": fitted(kernel=IntegralGaussian()),
        "tuned": tuned,
        "Huber, norm": fitted(loss="huber"),
        "Huber, pointwise": fitted(loss="huber", geometry="pointwise"),
    }


def cross_validate(X, Y, grid, seed: int, outliers: bool) -> tuple[dict, dict]:
    """Return the integrated R² of each method over the folds of one repetition, and its predictions."""
    weights = Grid(grid).build().weights
    predicted = {name: np.empty(Y.shape) for name in methods(grid)}
    reference = np.empty(Y.shape)
    for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
        Y_train = spoiled(Y[train], seed) if outliers else Y[train]
        reference[test] = np.nanmean(Y[train], axis=0)
        for name, method in methods(grid).items():
            predicted[name][test] = method(X[train], Y_train, X[test])

    def error(curves) -> float:
        return float(np.sum(np.nan_to_num((Y - curves) ** 2) @ weights))

    return {name: 1 - error(curves) / error(reference) for name, curves in predicted.items()}, predicted


def rows(name: str, scores: dict[bool, list[dict]]) -> list[dict]:
    """Return a line of the table for each method."""
    lines = []
    for method in scores[False][0]:
        line = {"data": name, "method": method}
        for outliers, title in ((False, "R²"), (True, "R² ")):
            values = np.array([score[method] for score in scores[outliers]])
            line[title] = f"{values.mean():.3f}" + (f"±{values.std(ddof=1):.3f}" if len(values) > 1 else "")
        lines.append(line)
    return lines


def main() -> None:
    """Cross-validate on both datasets."""
    given = options(
        __doc__.splitlines()[0], repetitions={"type": int, "help": "of 5 folds (default: 4, or 1 with --quick)"}
    )
    datasets = {"DTI": read_dti(given.data), "weather": read_weather(given.data)}
    report = Report("weather_dti", given)
    n_repetitions = max(1, given.repetitions or (1 if given.quick else 4))
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
    lines = []
    for ax, (name, (X, Y, grid)) in zip(axes, datasets.items(), strict=True):
        scores: dict[bool, list[dict]] = {False: [], True: []}
        for seed in range(n_repetitions):
            for outliers in scores:
                score, predicted = cross_validate(X, Y, grid, seed, outliers)
                scores[outliers].append(score)
                if seed == 0 and not outliers:
                    CurvesDisplay.from_predictions(Y, predicted["integral"], grid=grid, ax=ax)
                    ax.set_title(f"{name}: cross-validated predictions, integral Gaussian kernel")
            report.progress(f"{name}, repetition {seed + 1}")
        lines += rows(f"{name}, n = {len(X)}", scores)
    groups = {"": ["data", "method"], "as they are": ["R²"], "10 % outliers in training": ["R² "]}
    print(table(f"Integrated R² in 5 folds, {n_repetitions} repetitions (mean ± standard deviation)", groups, lines))
    print("\nnot in the papers; nothing to compare with.")
    report.add(rows=lines)
    report.picture(figure)
    report.write()


if __name__ == "__main__":
    main()
