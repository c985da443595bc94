"""Table 5.1 of Lambert (2021): quantile regression on twenty small datasets, against the published methods.

    python reproduce/table_5_1.py --data DIR --jobs 2              # 20 splits
    python reproduce/table_5_1.py --data DIR --quick               # 2 splits
    python reproduce/table_5_1.py --data DIR --models default      # without the joint model
    python reproduce/table_5_1.py --data DIR --seed 100            # 20 other splits

Two models, both as they come: ``default`` is ``KernelQuantileRegressor()``, a model in stages without anything to
tune; ``joint`` is ``KernelQuantileRegressorCV``, the one problem of the papers on the levels of the table, kernel and λ
by 5-fold cross-validation on the training part, as published (JQR and IQR are problems of this kind). Columns of x go
in as they are, and all datasets are treated alike.

Protocol: 20 random splits 70/30. The loss is 100 × the sum over the levels 0.1, 0.3, 0.5, 0.7, 0.9 of the mean pinball
loss on the test part, of y over its standard deviation; crossing is 100 × the mean over samples and neighbouring levels
of (q_j − q_{j+1})₊. The ± of the tables is the standard deviation over splits. The published splits are unknown: means
are compared, not splits. Goal: a mean of at most that of the best published method plus its ±.

The unit of the published loss is not stated either. Test losses are given in units of the standard deviation of y in
the training part and of that in the whole dataset; training is the same. Where y has heavy tails (BigMac2003,
snowgeese) the two differ.
"""

from __future__ import annotations

import os
import time
import warnings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # splits run in parallel instead

from concurrent.futures import ProcessPoolExecutor  # noqa: E402

import numpy as np  # noqa: E402
from report import Report, data_file, options, pair, table  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import KFold, train_test_split  # noqa: E402

from mercer import KernelQuantileRegressor, KernelQuantileRegressorCV  # noqa: E402
from mercer.exceptions import ExtrapolationWarning  # noqa: E402
from mercer.measures import Points  # noqa: E402
from mercer.model_selection import crossing, integrated_pinball  # noqa: E402

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
MODELS = ("default", "joint")
#: standard deviation of y that is 1 in a test loss: that of the training part, or of the whole dataset
UNITS = ("train", "whole")

CONTENTS = """arrays <name>_X and <name>_y for the twenty datasets of the table, taken from the R packages quantreg
(CobarOre, engel), mlbench (BostonHousing), alr3 (caution, ftcollinssnow, highway, heights, sniffer, snowgeese, ufc,
BigMac2003, UN3) and MASS (birthwt, crabs, GAGurine, geyser, gilgais, topo, mcycle, cpus), text columns as dummies."""

METHODS = ("JQR", "IND", "IQR")
#: pinball (mean, ±) and crossing of JQR (Sangnier et al., 2016), IND (independent quantiles) and IQR (Lambert, 2021)
PAPER = {
    "CobarOre": ((159, 24, 0.1), (150, 21, 0.3), (165, 36, 2.0)),
    "engel": ((175, 555, 0.0), (63, 53, 4.0), (47, 6, 0.0)),
    "BostonHousing": ((49, 4, 0.7), (49, 4, 1.3), (49, 4, 0.3)),
    "caution": ((88, 17, 0.1), (89, 19, 0.3), (85, 16, 0.0)),
    "ftcollinssnow": ((154, 16, 0.0), (155, 13, 0.2), (156, 17, 0.1)),
    "highway": ((103, 19, 0.8), (99, 20, 6.2), (105, 36, 0.1)),
    "heights": ((127, 3, 0.0), (127, 3, 0.0), (127, 3, 0.0)),
    "sniffer": ((43, 6, 0.1), (44, 5, 1.4), (44, 7, 0.1)),
    "snowgeese": ((55, 20, 0.3), (53, 18, 0.4), (57, 20, 0.2)),
    "ufc": ((81, 5, 0.0), (82, 5, 1.0), (82, 4, 0.1)),
    "BigMac2003": ((80, 21, 1.4), (74, 24, 0.9), (84, 24, 0.2)),
    "UN3": ((98, 9, 0.0), (99, 9, 1.2), (99, 10, 0.1)),
    "birthwt": ((141, 13, 0.0), (140, 12, 0.1), (141, 12, 0.0)),
    "crabs": ((11, 1, 0.0), (11, 1, 0.0), (13, 3, 0.0)),
    "GAGurine": ((61, 7, 0.0), (62, 7, 0.1), (62, 7, 0.0)),
    "geyser": ((105, 7, 0.1), (105, 6, 0.2), (104, 6, 0.1)),
    "gilgais": ((51, 6, 0.1), (49, 6, 1.1), (49, 7, 0.3)),
    "topo": ((69, 18, 0.1), (71, 20, 1.7), (70, 17, 0.0)),
    "mcycle": ((66, 9, 0.2), (66, 8, 0.3), (65, 9, 0.0)),
    "cpus": ((7, 4, 0.7), (7, 5, 1.2), (16, 10, 0.0)),
}


def unfitted(model: str, seed: int) -> KernelQuantileRegressor:
    """Return the estimator of that name; folds are dealt anew for each split."""
    if model == "default":
        return KernelQuantileRegressor()
    equal = Points(LEVELS, np.full(len(LEVELS), 1 / len(LEVELS)))
    return KernelQuantileRegressorCV(measure=equal, cv=KFold(5, shuffle=True, random_state=seed))


def one_split(task: tuple) -> dict:
    """Fit and score one model of one dataset on one split."""
    name, model, X, y, seed = task
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    start = time.process_time()
    with warnings.catch_warnings():  # small test parts reach beyond small training parts
        warnings.simplefilter("ignore", ExtrapolationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = unfitted(model, seed).fit(X_train, y_train)
        seconds = time.process_time() - start
        quantiles = fitted.predict_quantile(X_test, LEVELS)
    loss = 100 * integrated_pinball(y_test, quantiles, LEVELS, np.ones(len(LEVELS)))
    return {
        "dataset": name,
        "model": model,
        "seed": seed,
        "train": loss / y_train.std(),
        "whole": loss / y.std(),
        "crossing": 100 * crossing(quantiles) / y_train.std(),
        "seconds": seconds,
        "relative_gap": fitted.relative_gap_,
    }


def values(runs: list[dict], name: str, model: str, key: str) -> np.ndarray:
    """Return one figure of a model on a dataset, for all splits."""
    return np.array([run[key] for run in runs if run["dataset"] == name and run["model"] == model])


def within(runs: list[dict], name: str, model: str, unit: str) -> bool:
    """Whether a model is within the ± of the best published one."""
    best, margin, _ = min(PAPER[name])
    return bool(values(runs, name, model, unit).mean() <= best + margin)


def summary(runs: list[dict], name: str, models: list[str]) -> dict:
    """One row of the table: the published methods and ours, with a star where ours misses the goal."""
    row = {"dataset": name} | {m: pair(*given[:2]) for m, given in zip(METHODS, PAPER[name], strict=True)}
    for model in models:
        for unit in UNITS:
            found = values(runs, name, model, unit)
            mark = " " if within(runs, name, model, unit) else "*"
            row[f"{model}, {unit}"] = pair(found.mean(), found.std(ddof=1), 1) + mark
        row[f"{model}, seconds"] = f"{values(runs, name, model, 'seconds').mean():.2f}"
    return row


def means(runs: list[dict], names: list[str], models: list[str]) -> dict[str, float]:
    """Means over the datasets, published and ours, with the standard errors of ours."""
    figures = {method: np.mean([PAPER[name][i][0] for name in names]) for i, method in enumerate(METHODS)}
    figures["best of each dataset"] = np.mean([min(PAPER[name])[0] for name in names])
    for model in models:
        for unit in UNITS:
            found = [values(runs, name, model, unit) for name in names]
            figures[f"{model}, {unit}"] = np.mean([one.mean() for one in found])
            error = np.sqrt(sum(one.var(ddof=1) / len(one) for one in found)) / len(found)
            figures[f"{model}, {unit}: standard error"] = error
        figures[f"{model}: largest crossing"] = max(run["crossing"] for run in runs if run["model"] == model)
    return figures


def main() -> None:
    """Run the protocol, print the table and write the figures."""
    given = options(
        __doc__.splitlines()[0],
        splits={"type": int, "help": "number of splits, at least 2 (default: 20, or 2 with --quick)"},
        seed={"type": int, "default": 0, "help": "of the first split; the others follow (default: 0)"},
        datasets={"nargs": "+", "choices": list(PAPER), "default": list(PAPER), "metavar": "NAME"},
        models={"nargs": "+", "choices": MODELS, "default": list(MODELS), "help": "default: both"},
        jobs={"type": int, "default": 1, "help": "processes (default: 1)"},
    )
    with np.load(data_file(given.data, "qr20_numeric.npz", CONTENTS)) as arrays:
        data = {name: (arrays[f"{name}_X"].astype(float), arrays[f"{name}_y"].astype(float)) for name in given.datasets}
    report = Report("table_5_1", given)
    n_splits = max(2, given.splits or (2 if given.quick else 20))  # two for a standard deviation
    seeds = range(given.seed, given.seed + n_splits)
    tasks = [(name, model, *data[name], seed) for name in data for model in given.models for seed in seeds]
    runs: list[dict] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        for run in pool.map(one_split, tasks):
            runs.append(run)
            if len(runs) % n_splits == 0:
                name, model = run["dataset"], run["model"]
                report.progress(f"{name}, {model}: {values(runs, name, model, 'whole').mean():.1f}")
    rows, overall = [summary(runs, name, given.models) for name in data], means(runs, list(data), given.models)
    groups = {"": ["dataset"], "paper": list(METHODS)}
    groups |= {model: [f"{model}, {key}" for key in (*UNITS, "seconds")] for model in given.models}
    print(table(f"Table 5.1, pinball loss x 100, {n_splits} splits", groups, rows))
    print(
        "± standard deviation over splits; * mean above the best published one plus its ±;\n"
        "train, whole: in units of the standard deviation of y in the training part, in the whole dataset;\n"
        "seconds: CPU time of a fit, cross-validation included.\n\nMeans over the datasets:"
    )
    print("\n".join(f"{name:>32} {value:.2f}" for name, value in overall.items()))
    reached = {
        model: {unit: sum(within(runs, name, model, unit) for name in data) for unit in UNITS} for model in given.models
    }
    print("\nWithin the printed ± of the best published method:")
    for model, counts in reached.items():
        print(f"{model:>32} {counts['train']} (train) and {counts['whole']} (whole) of {len(data)}")
    report.add(rows=rows, means=overall, within=reached, splits=runs)
    report.write()


if __name__ == "__main__":
    main()
