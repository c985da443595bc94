"""Table 6.5 of Brault (2017): the torques of a robot arm, one task for each row, on a subset of the training rows.

    python reproduce/sarcos.py --data DIR            # 5 repetitions
    python reproduce/sarcos.py --data DIR --quick    # 2 repetitions, N = 50 and 100
    python reproduce/sarcos.py --data DIR --features # as published, with max(N, 500)/2 random frequencies

Protocol: N rows are drawn for each of the 7 torques, and of each row one torque is known; 21 inputs, standardised.
The test rows have all torques. nMSE is the mean over torques of the mean squared error over the variance, in percent.

*What the subset allows.* Of the 44 484 training rows 6 228 are there, each with one torque; rows that are test rows,
too, are dropped, which leaves 755 to 858 for a torque: N = 50 to 400 as published, not 800 and more. Repetitions
overlap for N = 400. As no two torques of a row are known, distances ‖y^k − y^l‖ of tasks cannot be computed; those of
predictions at the training rows by independent models stand in for them. Targets are standardised, torque by torque,
by what was drawn.

Published are features of the Gaussian with the median distance; here the kernel is exact. ``--features`` has as many
random frequencies as published in its place, drawn independently, with Γ and λ of their own. "printed" has Γ = M^{-1},
M_kl = exp(−γ‖y^k − y^l‖), which the thesis prints (and calls a Laplacian); only with it a large γ gives the identity,
as three rows of the published table do. "Laplacian" has Γ = L†, L that of the graph with weights M, "with ridge" (L +
rI)^{-1}. γ and r are chosen by leave-one-out, from among values that include the identity for "printed". "mercer" is
``VectorValuedRegressor()``, "learned Γ" the same with ``output_matrix="learned"``.
"""

from __future__ import annotations

import time

import numpy as np
from report import Report, data_file, options, pair, table

from mercer import VectorValuedRegressor
from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.operator_valued import graph_matrix, task_similarities

CONTENTS = "X_test, Y_test, X_train (n, 21), y_train, task_train, train_row_in_test: SARCOS, one torque a training row."
TASKS = 7
#: nMSE in percent, independent and Laplacian, and the deviations of their means
PAPER = {
    50: ((23.138, 0.577), (22.254, 0.536)),
    100: ((16.191, 0.221), (15.568, 0.187)),
    150: ((13.821, 0.115), (13.459, 0.106)),
    200: ((12.713, 0.0978), (12.554, 0.0838)),
    400: ((10.785, 0.0579), (10.651, 0.0466)),
}
#: γ in units of one over the median distance, and ridges in units of the mean degree
RATES, RIDGES = (0.3, 1.0, 3.0), (0.1, 1.0, 10.0)
SHIFTS = np.logspace(-6, 1, 22)


def load(path) -> tuple[np.ndarray, ...]:
    """Return inputs, torque and task of training rows that are no test rows, and inputs and torques of test rows."""
    with np.load(path) as data:
        keep = ~data["train_row_in_test"]
        X, y, task = (data[name][keep] for name in ("X_train", "y_train", "task_train"))
        mean, spread = X.mean(axis=0), X.std(axis=0)
        return (X - mean) / spread, y, task.astype(int), (data["X_test"] - mean) / spread, data["Y_test"]


def drawn(X: np.ndarray, y: np.ndarray, task: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets (7n, 7), one known in each row, of n rows for each task."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(task == k), n, replace=False) for k in range(TASKS)])
    Y = np.full((len(rows), TASKS), np.nan)
    Y[np.arange(len(rows)), task[rows]] = y[rows]
    return X[rows], Y


def left_out_error(K: np.ndarray, y: np.ndarray) -> float:
    """Return the least mean squared leave-one-out error of ridge regression over λn."""
    values, vectors = np.linalg.eigh(K)
    inside = vectors.T @ y
    errors = []
    for shift in SHIFTS * np.mean(np.diagonal(K)):
        weights = 1 / (np.maximum(values, 0) + shift)
        errors.append(np.mean(((vectors @ (weights * inside)) / (vectors**2 @ weights)) ** 2))
    return float(min(errors))


def chosen_matrix(candidates: list[np.ndarray], kernel: Gaussian, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the Γ whose leave-one-out error is least, on 700 rows at equal steps where there are more."""
    few = slice(None, None, max(len(Y) // 700, 1))
    rows, tasks = np.nonzero(~np.isnan(Y[few]))
    K, y = kernel(X[few][rows]), Y[few][rows, tasks]
    errors = [left_out_error(K * matrix[np.ix_(tasks, tasks)], y) for matrix in candidates]
    return candidates[int(np.argmin(errors))]


def candidates(similar: np.ndarray) -> dict[str, list[np.ndarray]]:
    """Return Γ to choose from, of trace 7: the inverse of M as printed, and those of the Laplacian."""
    graphs = [task_similarities(similar, gamma=rate / _median_distance(similar)) for rate in RATES]
    found = {
        "printed": [np.eye(TASKS)] + [np.linalg.inv(M) for M in graphs],
        "Laplacian": [graph_matrix(M) for M in graphs],
        "with ridge": [graph_matrix(M, ridge=ridge * (M.sum() / TASKS - 1)) for M in graphs for ridge in RIDGES],
    }
    return {name: [TASKS * matrix / np.trace(matrix) for matrix in matrices] for name, matrices in found.items()}


def _median_distance(Y: np.ndarray) -> float:
    """Return the median distance of two columns."""
    rows = np.triu_indices(Y.shape[1], 1)
    return float(np.median(np.linalg.norm(Y[:, rows[0]] - Y[:, rows[1]], axis=0)))


def one_draw(data: tuple[np.ndarray, ...], n: int, seed: int, features: bool) -> dict[str, tuple[float, float]]:
    """Return model → nMSE in percent and CPU seconds; with ``features`` of the models that were published."""
    *train, test, truth = data
    X, Y = drawn(*train, n, seed)
    mean, spread = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0)
    Y = (Y - mean) / spread
    found = {}

    def note(name: str, model: VectorValuedRegressor) -> VectorValuedRegressor:
        start = time.process_time()
        model.fit(X, Y)
        seconds = time.process_time() - start
        errors = np.mean((model.predict(test) * spread + mean - truth) ** 2, axis=0) / truth.var(axis=0)
        found[name] = (100 * float(errors.mean()), seconds)
        return model

    kernel = Gaussian("median").adapt(X)
    if features:
        kernel = RandomFourier(max(n, 500) // 2, "iid", random_state=seed).bind(kernel, X)
    similar = note("independent", VectorValuedRegressor(kernel)).predict(X)
    for name, matrices in candidates(similar).items():
        note(name, VectorValuedRegressor(kernel, output_matrix=chosen_matrix(matrices, kernel, X, Y)))
    if not features:
        note("mercer", VectorValuedRegressor())
        note("learned Γ", VectorValuedRegressor(output_matrix="learned"))
    return found


def main() -> None:
    """Run all draws, print the table and write the figures."""
    given = options(
        __doc__.splitlines()[0],
        features={"action": "store_true", "help": "random frequencies in place of the kernel, as published"},
    )
    report = Report("sarcos", given)
    data = load(data_file(given.data, "sarcos_subset.npz", CONTENTS))
    rows, draws = [], {}
    for n in list(PAPER)[: 2 if given.quick else None]:
        repetitions = 2 if given.quick or (given.features and n == 400) else 5
        runs = [one_draw(data, n, seed, given.features) for seed in range(repetitions)]
        draws[n] = runs
        row: dict = {"N": f"{n}×{TASKS}", "draws": str(repetitions)}
        row |= dict(zip(("independent*", "Laplacian*"), (pair(*cell, digits=2) for cell in PAPER[n]), strict=True))
        for name in runs[0]:
            errors = np.array([run[name][0] for run in runs])
            row[name] = pair(errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors)), digits=2)
        first, second = ("independent", "with ridge") if given.features else ("mercer", "learned Γ")
        gains = np.array([run[first][0] - run[second][0] for run in runs])
        row["gain of Γ"] = pair(gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains)), digits=2)
        row["CPU s"] = float(np.mean([run[second][1] for run in runs]))
        rows.append(row)
        report.progress(f"N = {n}: " + ", ".join(f"{name} {row[name]}" for name in runs[0]))
    groups = {
        "": ["N", "draws"],
        "published": ["independent*", "Laplacian*"],
        "median distance": ["independent", "printed", "Laplacian", "with ridge"],
        "tuned": [*(() if given.features else ("mercer", "learned Γ")), "gain of Γ"],
        "a fit": ["CPU s"],
    }
    print(table("Table 6.5: nMSE in percent ± deviation of the mean", groups, rows))
    report.add(rows=rows, draws=draws)
    report.write()


if __name__ == "__main__":
    main()
