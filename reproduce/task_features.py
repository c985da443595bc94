"""Figures 6.7 and 6.9 of Brault (2017) by random features: a curl-free field in R^5, and four related tasks on R^20.

    python reproduce/task_features.py           # up to 100 000 rows
    python reproduce/task_features.py --quick   # up to 1 668 rows

1. Tasks (Figure 6.9). Data, kernel and λ are those of Figure 6.8 (``structured_outputs.py``): a Gaussian with γ = 0.05
and λn = 0.1, as in the released notebook, R² on 100 000 test rows. D frequencies are drawn independently; normal
equations take the rows in one pass, those of fewer rows being its beginning. The exact kernel is that of Figure 6.8. Of
the figure there are curves only: more frequencies come nearer to the kernel.
2. Fields (Figure 6.7). The first field of ``structured_outputs.py`` with σ = 0.4 and without noise, by the kernel of
its waves; λ by leave-one-out with the kernel itself, on some of the rows. A curl-free model has one coefficient for
each feature where one of independent components has five.
"""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, options, table
from structured_outputs import RELEASED, made_field, made_tasks, r2

from mercer import VectorValuedRegressor
from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.measures import Measure
from mercer.operator_valued import CurlFree
from mercer.solvers import NormalEquations

COUNTS = (10, 30, 100, 300)
SIZES = (*RELEASED, 10_000, 100_000)
GAMMA, SHIFT = 0.05, 0.1
#: length of the field, points to learn from, and frequencies
LENGTH, POINTS, WAVES = 0.4, (1000, 10_000), (300, 1000)
#: rows whose features are held at once
BATCH = 10_000


def scores(data: tuple[np.ndarray, ...], n_frequencies: int, sizes: tuple[int, ...]) -> tuple[list[float], float]:
    """Return R² after each number of rows, and CPU seconds of learning from all of them."""
    X, Y, test, targets, _ = data
    waves = RandomFourier(n_frequencies, "iid", random_state=0).bind(Gaussian(GAMMA), X[:1000])
    tasks = Measure(np.arange(4.0), np.ones(4))
    equations, done, found, seconds = NormalEquations(waves, tasks, fit_intercept=False), 0, [], 0.0
    for size in sizes:
        start = time.process_time()
        for first in range(done, size, BATCH):
            rows = slice(first, min(first + BATCH, size))
            equations.update((X[rows], Y[rows]))
        fit = equations.solve([SHIFT / size]).fit(SHIFT / size)
        seconds, done = seconds + time.process_time() - start, size
        predicted = [waves.features(part) @ fit.coef for part in np.array_split(test, 20)]
        found.append(r2(np.vstack(predicted), targets))
    return found, seconds


def fields(points: tuple[int, ...]) -> list[dict]:
    """Return R² of a curl-free model and of independent components, for numbers of points and frequencies."""
    scalar, lines = Gaussian(1 / (2 * LENGTH**2)), []
    for n in points:
        X, Y, test, truth = made_field(LENGTH, n, 2000, 0)
        for count in WAVES:
            line: dict = {"points": str(n), "D": str(count)}
            for name, kernel in (("curl-free", CurlFree(scalar)), ("independent", scalar)):
                features, start = RandomFourier(count, random_state=0), time.process_time()
                model = VectorValuedRegressor(kernel, approximation=features, fit_intercept=False).fit(X, Y)
                line |= {name: r2(model.predict(test), truth), f"{name}: s": time.process_time() - start}
            lines.append(line)
    return lines


def main() -> None:
    """Print the table, draw the curves and write the figures."""
    given = options(__doc__.splitlines()[0])
    report, data = Report("task_features", given), made_tasks()
    sizes = SIZES[:-2] if given.quick else SIZES
    lines, curves = [], {}
    for count in COUNTS:
        curves[count], seconds = scores(data, count, sizes)
        cells = {f"n = {size}": f"{value:.4f}" for size, value in zip(sizes, curves[count], strict=True)}
        lines.append({"D": str(count), **cells, "CPU s": f"{seconds:.1f}"})
        report.progress(f"D = {count}")
    lines.append({"D": "exact, released", **{f"n = {size}": f"{value:.4f}" for size, value in RELEASED.items()}})
    groups = {"": ["D"], "R²": [f"n = {size}" for size in sizes], "one core": ["CPU s"]}
    print(table("Figure 6.9: four tasks on R^20, D random frequencies", groups, lines))
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for count, values in curves.items():
        ax.plot(sizes, values, marker=".", label=f"D = {count}")
    ax.plot(list(RELEASED), list(RELEASED.values()), color="black", linestyle="--", label="exact")
    ax.set(xscale="log", xlabel="rows", ylabel="R²")
    ax.legend()
    field_lines = fields(POINTS[:1] if given.quick else POINTS)
    names = ["curl-free", "independent"]
    groups = {"": ["points", "D"], "R²": names, "CPU s": [f"{name}: s" for name in names]}
    print("\n" + table("Figure 6.7: a gradient in R^5, D random frequencies", groups, field_lines))
    report.add(scores=curves, fields=field_lines)
    report.picture(figure)
    report.write()


if __name__ == "__main__":
    main()
