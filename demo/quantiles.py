"""Every quantile from one fit: a small real dataset, a larger synthetic one, a picture and a report.

Run with ``make demo``. Leaves demo/quantiles.png, demo/report.md and demo/report.html, a page to play with.

The real data are scikit-learn's diabetes study (442 patients; Efron, Hastie, Johnstone and Tibshirani, *Least angle
regression*, Annals of Statistics 2004), which ships with scikit-learn: disease progression after a year against the
body mass index and all ten baseline variables.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from mercer import KernelQuantileRegressor
from mercer.cli.demo import page_of_patients
from mercer.datasets import make_sine, sine_quantiles
from mercer.measures import GaussLegendre
from mercer.model_selection import coverage, crossing

HERE = Path(__file__).parent
LEVELS = np.linspace(0.05, 0.95, 19)


def fit_and_measure(name: str, model: KernelQuantileRegressor, X, y, X_test, y_test) -> dict:
    """Fit, and return the row of the report."""
    start = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - start
    return {
        "data": name,
        "n": len(y),
        "d": X.shape[1],
        "levels": len(model.measure_),
        "seconds": f"{seconds:.2f}",
        "shape": "constant" if model.shape_ is None else f"learned, relative gap {model.relative_gap_:.1e}",
        "90 % coverage": f"{coverage(y_test, model.predict_interval(X_test, 0.9)):.3f}",
        "D2": f"{model.score(X_test, y_test):.3f}",
        "crossings": f"{crossing(model.predict_quantile(X_test, LEVELS)):.1f}",
    }


def fan(axis, model: KernelQuantileRegressor, X, y, grid, title: str) -> None:
    """Draw bands between symmetric quantiles over the data, and the median."""
    bands = model.predict_quantile(grid[:, None], LEVELS)
    half = len(LEVELS) // 2
    for j in range(half):
        axis.fill_between(grid, bands[:, j], bands[:, -1 - j], color=plt.cm.Blues(0.15 + 0.6 * j / half), linewidth=0)
    axis.plot(grid, bands[:, half], color="#08306b", linewidth=2, label="median")
    axis.scatter(X[:, 0], y, s=6, color="black", alpha=min(0.5, 150 / len(y)), linewidths=0)
    axis.set(title=title, xlim=(grid[0], grid[-1]))


def main() -> None:
    """Run the demo."""
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    rows = [
        fit_and_measure("diabetes, all inputs", KernelQuantileRegressor(), X, y, X_test, y_test),
    ]
    by_bmi = KernelQuantileRegressor()
    rows.append(fit_and_measure("diabetes, body mass index", by_bmi, X[:, [2]], y, X_test[:, [2]], y_test))

    sine_X, sine_y = make_sine(5000, random_state=0)
    sine_test, sine_y_test = make_sine(5000, random_state=1)
    by_sine = KernelQuantileRegressor(measure=GaussLegendre(50))
    rows.append(fit_and_measure("sine (synthetic)", by_sine, sine_X, sine_y, sine_test, sine_y_test))
    error = np.abs(by_sine.predict_quantile(sine_test, LEVELS) - sine_quantiles(sine_test, LEVELS)).mean()

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), constrained_layout=True)
    grid = np.linspace(X[:, 2].min(), X[:, 2].max(), 300)
    fan(axes[0], by_bmi, X[:, [2]], y, grid, "Diabetes: 19 quantiles of progression, one fit")
    axes[0].set(xlabel="body mass index", ylabel="progression after one year")
    grid = np.linspace(0.001, 1.499, 400)
    fan(axes[1], by_sine, sine_X, sine_y, grid, "Sine: dashed, the true 5, 50 and 95 % quantiles")
    axes[1].plot(grid, sine_quantiles(grid[:, None], [0.05, 0.5, 0.95]), "--", color="#d94801", linewidth=1)
    axes[1].set(xlabel="x", ylabel="y")
    figure.savefig(HERE / "quantiles.png", dpi=120)

    columns = list(rows[0])
    table = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    table += ["| " + " | ".join(str(row[column]) for column in columns) + " |" for row in rows]
    report = "\n".join(
        [
            "# Every quantile from one fit",
            "",
            *table,
            "",
            "Coverage, D2 (share of the integrated pinball loss explained) and crossings are on held-out data.",
            f"On the sine data the mean distance to the true quantiles at 19 levels is {error:.3f} "
            "(noise scale 0.2 to 1.2).",
            "",
            "![quantiles](quantiles.png)",
            "",
        ]
    )
    (HERE / "report.md").write_text(report)
    print(report)
    page = page_of_patients().save(HERE / "report.html")
    print(f"left {HERE / 'quantiles.png'} and {HERE / 'report.md'}")
    print(f"and a page to play with, every quantile of the diabetes study: open {page} in a browser")


if __name__ == "__main__":
    main()
