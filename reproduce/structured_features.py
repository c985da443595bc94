"""Figures 6.7 and 6.9 of Brault (2017): a curl-free field in R^5 and four tasks on R^20, with random features.

    python reproduce/structured_features.py            # up to 10⁴ points and 10⁵ rows
    python reproduce/structured_features.py --quick    # up to 1 000

1. Fields (Figure 6.7). The random gradients of ``structured_outputs.py`` with σ = 0.4 and without noise. Features of
   the curl-free kernel and of independent components, both of the Gaussian of the median distance; λ by the error on a
   fifth of the points, after which these are learned, too (``NormalEquations``: update). The exact kernel has its λ in
   the same way, where its matrix of 25·N² numbers is a matter of a minute. The thesis finds features of the curl-free
   kernel to be as good as the kernel or better for many D, structure to be far ahead, and the exact kernel out of
   memory beyond 10⁴ points.
2. Tasks (Figure 6.9). R² on 20 000 of the test rows against N for several D, with γ = 0.05 and λn = 0.1 of the released
   notebook. The figure has curves without numbers: they approach that of the kernel as D grows.

CPU seconds are those of choosing λ and of the fit. D frequencies are 2·D features, drawn independently.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from report import Report, options, table
from structured_outputs import made_field, made_tasks, r2

from mercer import VectorValuedRegressor
from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.measures import Measure
from mercer.operator_valued import CurlFree
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations

ALPHAS = np.logspace(-12, -1, 23)
Predict = Callable[[np.ndarray], np.ndarray]


def by_features(kernel, n_frequencies: int, X: np.ndarray, Y: np.ndarray) -> Predict:
    """Return the ridge fit in random features, with λ by the error on a fifth of the rows."""
    features = RandomFourier(n_frequencies, "iid", random_state=0).bind(kernel.adapt(X), X)
    p, cut = Y.shape[1], len(X) // 5
    equations = NormalEquations(features, Measure(np.arange(float(p)), np.ones(p)), fit_intercept=False)
    path = equations.read(ArrayRows(X[cut:], Y[cut:])).solve(ALPHAS)
    held_out = features.features(X[:cut])
    alpha = min(ALPHAS, key=lambda alpha: np.sum((_product(held_out, path.fit(alpha).coef) - Y[:cut]) ** 2))
    coef = equations.update((X[:cut], Y[:cut])).solve([alpha]).fit(alpha).coef
    return lambda points: _product(features.features(points), coef)


def _product(features: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Return values of features (n, D), or of features with vectors as values, (n, p, D)."""
    return features @ coef if features.ndim == 2 else (features @ coef)[:, :, 0]


def by_kernel(kernel, X: np.ndarray, Y: np.ndarray) -> Predict:
    """Return the exact fit, with λ as above."""
    kernel, cut = kernel.adapt(X), len(X) // 5
    models = [VectorValuedRegressor(kernel, alpha=alpha, fit_intercept=False) for alpha in ALPHAS[8::3]]
    errors = [np.sum((model.fit(X[cut:], Y[cut:]).predict(X[:cut]) - Y[:cut]) ** 2) for model in models]
    return models[int(np.argmin(errors))].fit(X, Y).predict


def fields(report: Report, sizes, counts, most_exact: int) -> list[dict]:
    """Return R² and CPU time of the curl-free kernel, of independent components, and of their features."""
    rows = []
    for n in sizes:
        X, Y, test, truth = made_field(0.4, n, 2000, seed=0)
        for name, kernel in {"curl-free": CurlFree(Gaussian("median")), "independent": Gaussian("median")}.items():
            row: dict = {"points": str(n), "kernel": name}
            for count in [*counts, None]:
                column = "exact" if count is None else f"D = {count}"
                if count is None and n > most_exact:
                    continue
                start = time.process_time()
                predict = by_kernel(kernel, X, Y) if count is None else by_features(kernel, count, X, Y)
                row[f"{column}: s"] = time.process_time() - start
                row[column] = r2(predict(test), truth)
            rows.append(row)
            report.progress(", ".join(f"{key} {value}" for key, value in row.items()))
    return rows


def tasks(report: Report, sizes, counts, most_exact: int) -> list[dict]:
    """Return R² of the tasks for each number of rows and of frequencies."""
    X, Y, test, targets, _ = made_tasks()
    test, targets = test[:20_000], targets[:20_000]
    rows = []
    for n in sizes:
        row: dict = {"rows": str(n)}
        for count in [*counts, None]:
            column = "exact" if count is None else f"D = {count}"
            if count is None and n > most_exact:
                continue
            features = None if count is None else RandomFourier(count, "iid", random_state=0)
            model = VectorValuedRegressor(Gaussian(0.05), alpha=0.1 / n, fit_intercept=False, approximation=features)
            start = time.process_time()
            model.fit(X[:n], Y[:n])
            row[f"{column}: s"] = time.process_time() - start
            row[column] = r2(np.vstack([model.predict(part) for part in np.array_split(test, 20)]), targets)
        rows.append(row)
        report.progress(", ".join(f"{key} {value}" for key, value in row.items()))
    return rows


def print_rows(title: str, first: list[str], counts, rows: list[dict]) -> None:
    """Print R² and seconds, with nothing where a model was not run."""
    columns = [*(f"D = {count}" for count in counts), "exact"]
    groups = {"": first, "R²": columns, "CPU s": [f"{column}: s" for column in columns]}
    print(table(title, groups, [{name: "" for part in groups.values() for name in part} | row for row in rows]))


def main() -> None:
    """Run both, print the tables and write the figures."""
    given = options(__doc__.splitlines()[0])
    report = Report("structured_features", given)
    sizes, counts = ((300, 1000), (50, 200)) if given.quick else ((300, 1000, 3000, 10_000), (100, 300, 1000))
    field_rows = fields(report, sizes, counts, 300 if given.quick else 1000)
    print_rows("Figure 6.7: a gradient in R^5", ["points", "kernel"], counts, field_rows)
    sizes, counts = ((77, 599), (10, 100)) if given.quick else ((77, 599, 1668, 10_000, 100_000), (10, 50, 250, 1000))
    task_rows = tasks(report, sizes, counts, 1668)
    print_rows("\nFigure 6.9: four tasks on R^20", ["rows"], counts, task_rows)
    report.add(fields=field_rows, tasks=task_rows)
    report.write()


if __name__ == "__main__":
    main()
