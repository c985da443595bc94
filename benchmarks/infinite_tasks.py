"""One fit for every level or cost, against one fit per level with other libraries.

    python benchmarks/infinite_tasks.py                   # everything, about half an hour on two idle cores
    python benchmarks/infinite_tasks.py --quick           # small sizes, about two minutes
    python benchmarks/infinite_tasks.py --parts b c --data DIRECTORY

(a) quantiles: sine data, n = 400, levels 0.1, ..., 0.9, several seeds. KernelQuantileRegressor and its CV as they are,
    against the rivals in ``RIVALS``, each tuned over the grid written there by 5-fold cross-validation of the pinball
    loss (per level where the rival fits per level); tuning is part of the time. As y | x is normal, the expected
    pinball loss and the coverage are computed exactly, on an even grid of inputs, and set against the true quantiles';
(b) costs: CostSensitiveClassifier with 20 costs against 20 fits of SVC, the same kernel, C = 1/(λn) and class weights;
(c) level sets: LevelSetDetector with 20 levels against 20 fits of OneClassSVM. With ``--data``, also on the first
    2 000 shuffled rows of wilt.csv.gz and spambase.csv.gz in that directory (standardised columns, the label dropped);
(d) tuning: KernelQuantileRegressorCV against GridSearchCV of KernelQuantileRegressor: 5 λ, 3 kernels, 5 folds.

Times are those of the wall clock on an idle machine with two BLAS threads; ``--clock cpu`` counts processor seconds,
which is what a machine shared with others can measure: set OMP_NUM_THREADS=1 then, as waiting threads count as work.
Rivals of (a) run each seed in a process of their own, one after the other, so that peak memory is their own and
disturbances fall on all of them; the time of imports is not counted. Boosters and forests have one thread, which at
this size is faster for each of them. Prints tables, writes JSON. Needs ``pip install "mercer[bench]"``;
rivals that are not installed are reported as such.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from itertools import product
from pathlib import Path

THREADS = os.environ.setdefault("OMP_NUM_THREADS", "2")
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # they would overrule the former
    os.environ[_name] = THREADS

import numpy as np  # noqa: E402
from scipy.stats import norm  # noqa: E402
from sklearn.datasets import make_moons  # noqa: E402
from sklearn.kernel_approximation import Nystroem  # noqa: E402
from sklearn.linear_model import QuantileRegressor  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import SVC, OneClassSVM  # noqa: E402

from mercer import (  # noqa: E402
    CostSensitiveClassifier,
    KernelQuantileRegressor,
    KernelQuantileRegressorCV,
    LevelSetDetector,
)
from mercer.datasets import make_sine, sine_quantiles  # noqa: E402
from mercer.kernels import Gaussian  # noqa: E402
from mercer.kernels.bandwidth import median_distance  # noqa: E402
from mercer.measures import GaussLegendre, Points  # noqa: E402
from mercer.model_selection import integrated_pinball  # noqa: E402

LEVELS = np.arange(1, 10) / 10
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = time.perf_counter

# -- (a) quantiles: each rival is fit(X, y, levels, **setting) and returns a function X -> (n, len(levels)) ------------


def default(X, y, levels):
    model = KernelQuantileRegressor().fit(X, y)
    return lambda Z: model.predict_quantile(Z, levels)


def cross_validated(X, y, levels):
    model = KernelQuantileRegressorCV().fit(X, y)
    return lambda Z: model.predict_quantile(Z, levels)


def nystroem(X, y, levels, length, penalty):
    features = Nystroem(gamma=(length * median_distance(X)) ** -2, n_components=50, random_state=0)
    linear = QuantileRegressor(quantile=levels[0], alpha=penalty, solver="highs")
    model = make_pipeline(features, linear).fit(X, y)
    return lambda Z: model.predict(Z)[:, None]


def kernel_quantile_regression(X, y, levels, length, C):
    import cvxopt
    from kernel_quantile_regression.kqr import KQR

    cvxopt.solvers.options["show_progress"] = False
    scale = length * median_distance(X) / np.sqrt(2)  # its Gaussian is exp(−d²/2scale²)
    model = KQR(alpha=levels[0], C=C, gamma=scale, var=1.0).fit(X, y)
    return lambda Z: model.predict(Z)[:, None]


def quantile_forest(X, y, levels, min_samples_leaf):
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(200, min_samples_leaf=min_samples_leaf, random_state=0, n_jobs=1).fit(X, y)
    return lambda Z: model.predict(Z, quantiles=list(levels)).reshape(len(Z), -1)


def lightgbm(X, y, levels, num_leaves, min_child_samples, n_estimators):
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(
        objective="quantile",
        alpha=levels[0],
        learning_rate=0.05,
        num_leaves=num_leaves,
        min_child_samples=min_child_samples,
        n_estimators=n_estimators,
        n_jobs=1,
        verbose=-1,
    ).fit(X, y)
    return lambda Z: model.predict(Z)[:, None]


def xgboost(X, y, levels, max_depth, n_estimators):
    from xgboost import XGBRegressor

    model = XGBRegressor(
        objective="reg:quantileerror",
        quantile_alpha=np.asarray(levels),
        learning_rate=0.1,
        max_depth=max_depth,
        n_estimators=n_estimators,
        n_jobs=1,
    ).fit(X, y)
    return lambda Z: model.predict(Z).reshape(len(Z), -1)


def catboost(X, y, levels, depth, iterations):
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        loss_function="MultiQuantile:alpha=" + ",".join(f"{level:g}" for level in levels),
        learning_rate=0.05,
        depth=depth,
        iterations=iterations,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        random_seed=0,
    ).fit(X, y)
    return model.predict


#: name -> fit, grid, whether all levels come from one fit
RIVALS = {
    "mercer default": (default, {}, True),
    "mercer CV": (cross_validated, {}, True),
    "Nystroem+QR": (nystroem, {"length": (0.5, 1, 2), "penalty": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)}, False),
    "KQR package": (kernel_quantile_regression, {"length": (0.5, 1, 2), "C": (0.1, 1.0, 10.0, 100.0, 1000.0)}, False),
    "quantile-forest": (quantile_forest, {"min_samples_leaf": (5, 10, 20, 40)}, True),
    "LightGBM": (
        lightgbm,
        {"num_leaves": (3, 7), "min_child_samples": (10, 20), "n_estimators": (100, 200, 400)},
        False,
    ),
    "XGBoost": (xgboost, {"max_depth": (2, 3), "n_estimators": (50, 100, 200)}, True),
    "CatBoost": (catboost, {"depth": (2, 4), "iterations": (50, 100, 200, 400)}, True),
}


def tuned(fit, grid, X, y, levels):
    """Return the setting of least pinball loss on five held-out folds, and the fit on all rows with it."""
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(settings) == 1:
        return settings[0], fit(X, y, levels, **settings[0])
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))

    def loss(setting):
        predicted = np.concatenate([fit(X[train], y[train], levels, **setting)(X[test]) for train, test in folds])
        residual = np.concatenate([y[test] for _, test in folds])[:, None] - predicted
        return np.mean(np.maximum(levels * residual, (levels - 1) * residual))

    best = min(settings, key=loss)
    return best, fit(X, y, levels, **best)


def exact_scores(predict) -> dict:
    """Return expected pinball loss, crossing and coverage under the distribution that made the data."""
    X = ((np.arange(2000) + 0.5) / 2000 * 1.5)[:, None]
    truth, centre = sine_quantiles(X, LEVELS), sine_quantiles(X, [0.5])
    scale = (sine_quantiles(X, [norm.cdf(1.0)]) - centre).clip(min=1e-12)

    def pinball(quantiles):  # θ E(Y − q) + E(q − Y)₊
        z = (quantiles - centre) / scale
        return float(np.mean(-LEVELS * scale * z + scale * (z * norm.cdf(z) + norm.pdf(z))))

    quantiles = np.asarray(predict(X), dtype=float)
    falls = np.maximum(quantiles[:, :-1] - quantiles[:, 1:], 0)
    below = norm.cdf((quantiles[:, [0, -1]] - centre) / scale)
    return {
        "pinball": pinball(quantiles),
        "excess_percent": 100 * (pinball(quantiles) / pinball(truth) - 1),
        "crossing": float(np.mean(falls)),
        "crossed_percent": 100 * float(np.mean(falls > 1e-9)),
        "coverage_percent": 100 * float(np.mean(below[:, 1] - below[:, 0])),
    }


def quantile_task(rival: str, n: int, seed: int) -> dict:
    fit, grid, joint = RIVALS[rival]
    X, y = make_sine(n, random_state=seed)
    parts = [LEVELS] if joint else [LEVELS[j : j + 1] for j in range(len(LEVELS))]
    first = {name: values[0] for name, values in grid.items()}
    fit(X[:50], y[:50], parts[0], **first)  # imports, and what libraries do once
    before = peak_megabytes()
    start = clock()
    chosen = [tuned(fit, grid, X, y, levels) for levels in parts]
    seconds = clock() - start
    scores = exact_scores(lambda Z: np.hstack([model(Z) for _, model in chosen]))
    settings = [setting for setting, _ in chosen]
    return scores | {"seconds": seconds, "fit_mb": peak_megabytes() - before, "settings": settings}


def quantiles(rivals: list[str], seeds: int, n: int, limit: float) -> list[dict]:
    measured: dict[str, list[dict]] = {rival: [] for rival in rivals}
    failed: dict[str, str] = {}
    for seed in range(seeds):
        for rival in rivals:
            if rival in failed:
                continue
            answer = in_process("quantile", limit, rival=rival, n=n, seed=seed)
            if "failed" in answer:
                failed[rival] = answer["failed"]
            else:
                measured[rival].append(answer | {"seed": seed})
                sys.stderr.write(f"{rival}, seed {seed}: {answer['excess_percent']:.2f} %, {answer['seconds']:.1f} s\n")
    rows = []
    for rival, runs in measured.items():
        row = {"what": rival, "note": failed.get(rival, "")}
        if runs:
            keys = [key for key in runs[0] if key not in ("seed", "settings", "seconds", "peak_mb", "fit_mb")]
            row |= {key: statistics.fmean(run[key] for run in runs) for key in keys}
            row |= {key: statistics.median(run[key] for run in runs) for key in ("seconds", "peak_mb", "fit_mb")}
            row |= {"worst_percent": max(run["excess_percent"] for run in runs)}
        rows.append(row | {"runs": runs})
    return rows


# -- (b) costs and (c) level sets: one of ours against one support vector machine per θ --------------------------------


def seconds_of(fit) -> float:
    start = clock()
    fit()
    return clock() - start


def against_each(ours, rivals, rounds: int) -> dict:
    """Time one fit of ours and all fits of the rivals in turn; return medians over the rounds and their ratios."""
    one, each = [], []
    for _ in range(rounds):
        one.append(seconds_of(ours))
        each.append([seconds_of(rival) for rival in rivals])
    median_fit = statistics.median(np.ravel(each).tolist())
    total = statistics.median(sum(fits) for fits in each)
    seconds = statistics.median(one)
    return {
        "seconds": seconds,
        "one_rival_fit": median_fit,
        "all_rival_fits": total,
        "to_5_fits": seconds / (5 * median_fit),
        "to_all_fits": seconds / total,
    }


def cost_task(n: int, alpha: float, rounds: int) -> dict:
    X, y = make_moons(n, noise=0.4, random_state=0)
    X_test, y_test = make_moons(2000, noise=0.4, random_state=1)
    gamma = 1 / (2 * median_distance(X) ** 2)
    rule = GaussLegendre(20)
    costs = rule.build().locations
    model = CostSensitiveClassifier(Gaussian(gamma), alpha=alpha, measure=rule, tol=1e-3)
    machines = [
        SVC(kernel="rbf", gamma=gamma, C=1 / (alpha * n), class_weight={0: 1 - cost, 1: cost}) for cost in costs
    ]
    answer = against_each(
        lambda: model.fit(X, y), [lambda machine=machine: machine.fit(X, y) for machine in machines], rounds
    )

    def risk(labels, cost):
        return np.mean(np.where(y_test == 1, cost, 1 - cost) * (labels != y_test))

    return answer | {
        "relative_gap": model.relative_gap_,
        "n_iter": model.n_iter_,
        "solver": type(model.solver_).__name__,
        "risk": float(np.mean([risk(model.predict(X_test, cost), cost) for cost in costs])),
        "rival_risk": float(
            np.mean([risk(machine.predict(X_test), cost) for machine, cost in zip(machines, costs, strict=True)])
        ),
    }


def level_data(name: str, n: int, directory: str | None) -> np.ndarray:
    rng = np.random.default_rng(0)
    if name.startswith("mixture"):
        centres = 2.5 * rng.normal(size=(3, int(name.rpartition(" ")[2])))
        return centres[rng.integers(3, size=n)] + rng.normal(size=(n, centres.shape[1]))
    import pandas

    table = pandas.read_csv(Path(str(directory)) / f"{name}.csv.gz").iloc[:, :-1].to_numpy(dtype=float)
    return StandardScaler().fit_transform(table[rng.permutation(len(table))[:n]])


def level_task(name: str, n: int, rounds: int, directory: str | None) -> dict:
    X = level_data(name, n, directory)
    gamma = 1 / (2 * median_distance(X) ** 2)
    levels = np.linspace(0.05, 0.95, 20)
    model = LevelSetDetector(Gaussian(gamma), measure=Points(levels), calibration=None, tol=1e-3)
    machines = [OneClassSVM(kernel="rbf", gamma=gamma, nu=level) for level in levels]
    answer = against_each(
        lambda: model.fit(X), [lambda machine=machine: machine.fit(X) for machine in machines], rounds
    )
    fractions = np.array([np.mean(model.predict(X, level) < 0) for level in levels])
    rival = np.array([np.mean(machine.predict(X) < 0) for machine in machines])
    return answer | {
        "relative_gap": model.relative_gap_,
        "n_iter": model.n_iter_,
        "fraction_error": float(np.max(np.abs(fractions - levels))),
        "rival_fraction_error": float(np.max(np.abs(rival - levels))),
    }


# -- (d) tuning --------------------------------------------------------------------------------------------------------


def negative_pinball(model, X, y):
    measure = model.measure_
    return -integrated_pinball(y, model.predict_quantile(X, measure.locations), measure.locations, measure.weights)


def tuning_task(n: int, m: int, rounds: int) -> dict:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 5))
    signal = np.sin(2 * np.pi * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] * X[:, 3]
    y = signal + (0.2 + 0.5 * X[:, 4]) * rng.normal(size=n)
    gamma = np.asarray(Gaussian("standardized").adapt(X).gamma)
    kernels = [Gaussian(gamma * factor) for factor in (4, 1, 0.25)]
    automatic = KernelQuantileRegressor(measure=GaussLegendre(m)).fit(X, y).alpha_
    alphas = (automatic * 10 ** np.linspace(-1.5, 1.5, 5)).tolist()
    folds = KFold(5, shuffle=True, random_state=0)
    ours = KernelQuantileRegressorCV(kernels, alphas=alphas, measure=GaussLegendre(m), cv=folds)
    grid = {"kernel": kernels, "alpha": alphas}
    search = GridSearchCV(KernelQuantileRegressor(measure=GaussLegendre(m)), grid, cv=folds, scoring=negative_pinball)
    answer = against_each(lambda: ours.fit(X, y), [lambda: search.fit(X, y)], rounds)
    scores = {
        (repr(setting["kernel"]), setting["alpha"]): score
        for setting, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    mine = {
        (repr(setting["kernel"]), setting["alpha"]): score
        for setting, score in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True)
    }
    same = repr(ours.best_params_["kernel"]) == repr(search.best_params_["kernel"])
    return {
        "seconds": answer["seconds"],
        "grid_search_seconds": answer["all_rival_fits"],
        "times_faster": answer["all_rival_fits"] / answer["seconds"],
        "same_choice": same and ours.best_params_["alpha"] == search.best_params_["alpha"],
        "largest_score_difference_percent": 100 * max(abs(mine[key] / scores[key] - 1) for key in scores),
        "relative_gap": ours.relative_gap_,
    }


# -- processes, tables -------------------------------------------------------------------------------------------------

TASKS = {"quantile": quantile_task, "cost": cost_task, "level": level_task, "tuning": tuning_task}


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def clock_name() -> str:
    return next(name for name, function in CLOCKS.items() if function is clock)


def in_process(task: str, limit: float, **arguments) -> dict:
    """Run one task in a fresh process and return what it measured, or why it failed."""
    command = [sys.executable, __file__, "--clock", clock_name(), "--task", task]
    command += ["--arguments", json.dumps(arguments)]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {limit:.0f} s"}
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def show(title: str, rows: list[dict], columns: list[str]) -> None:
    print(f"\n{title}")
    print("  ".join(f"{column:>16}" for column in columns))
    for row in rows:
        cells = [row.get(column, "") for column in columns]
        print("  ".join(f"{cell:16.4g}" if isinstance(cell, float) else f"{cell!s:>16}" for cell in cells), flush=True)


def main() -> None:
    global clock  # noqa: PLW0603  one clock for a run, chosen on the command line
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--parts", nargs="+", choices=list("abcd"), default=list("abcd"))
    parser.add_argument("--rivals", nargs="+", choices=list(RIVALS), default=list(RIVALS), metavar="NAME")
    parser.add_argument("--seeds", type=int, help="training sets of (a); 5 by default")
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds of (b), (c) and (d)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which a process is stopped")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--data", help="directory with wilt.csv.gz and spambase.csv.gz")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "infinite_tasks.json")
    parser.add_argument("--task", choices=list(TASKS), help=argparse.SUPPRESS)
    parser.add_argument("--arguments", help=argparse.SUPPRESS)
    options = parser.parse_args()
    clock = CLOCKS[options.clock]
    if options.task:
        warnings.simplefilter("ignore")
        print(json.dumps(TASKS[options.task](**json.loads(options.arguments)) | {"peak_mb": peak_megabytes()}))
        return

    report: dict = {"threads": THREADS, "clock": options.clock, "quick": options.quick}
    n, limit = 500 if options.quick else 2000, options.limit
    if "a" in options.parts:
        seeds = options.seeds or (1 if options.quick else 5)
        rows = quantiles(options.rivals, seeds, 100 if options.quick else 400, limit)
        columns = ["what", "pinball", "excess_percent", "worst_percent", "crossed_percent", "crossing"]
        title = "(a) nine quantiles of sine data; excess over the true quantiles: mean and worst of the seeds"
        show(title, rows, [*columns, "coverage_percent", "seconds", "peak_mb", "note"])
        report["quantiles"] = rows
    ratios = ["seconds", "one_rival_fit", "all_rival_fits", "to_5_fits", "to_all_fits", "relative_gap", "n_iter"]
    if "b" in options.parts:
        rows = [
            {"alpha": alpha} | in_process("cost", limit, n=n, alpha=alpha, rounds=options.rounds)
            for alpha in (1e-5, 1e-4, 1e-3, 1e-2)
        ]
        show(f"(b) 20 costs, two moons, n = {n}, against SVC", rows, ["alpha", *ratios, "risk", "rival_risk", "failed"])
        report["costs"] = rows
    if "c" in options.parts:
        names = ["mixture 2", "mixture 10", *(["wilt", "spambase"] if options.data else [])]
        rows = [
            {"what": name} | in_process("level", limit, name=name, n=n, rounds=options.rounds, directory=options.data)
            for name in names
        ]
        columns = ["what", *ratios, "fraction_error", "rival_fraction_error", "failed"]
        show(f"(c) 20 levels, n = {n}, against OneClassSVM", rows, columns)
        report["levels"] = rows
    if "d" in options.parts:
        size = (200, 10) if options.quick else (1000, 20)
        row = in_process("tuning", 3 * limit, n=size[0], m=size[1], rounds=1 if options.quick else options.rounds)
        show(f"(d) 5 alphas, 3 kernels, 5 folds, n, m = {size}, d = 5, against GridSearchCV", [row], list(row))
        report["tuning"] = row

    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwritten to {options.output}")


if __name__ == "__main__":
    main()
