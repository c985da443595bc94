"""Quantiles, costs and their tuning as users fit them: CPU time beside another checkout and other libraries.

    python benchmarks/box_duals.py                              # about ten minutes on one core
    python benchmarks/box_duals.py --quick                      # small sizes, about a minute
    git worktree add ../before ee72b4e
    python benchmarks/box_duals.py --against ../before/src      # the same fits by another checkout, alternating

(a) twenty problems from the tables that come with scikit-learn, at gaps of 1e-3, 1e-4 and 1e-6;
(b) ``KernelQuantileRegressor()``, in stages, with one and with ten columns; the joint ``KernelQuantileRegressor`` on
    sine data, n = 10 000; ``CostSensitiveClassifier`` with a Gaussian kernel on moons, n = 2 000, and
    twenty fits of ``sklearn.svm.SVC`` with the same kernel and penalty; the headline problem of
    ``benchmarks/quantiles.py``; ``KernelQuantileRegressorCV()`` with one-hot columns, n = 1 500;
(c) a full-rank kernel, n = 20 000 in ten columns, with a budget of 6 GiB: finished or refused, and how soon;
(d) prediction of one quantile with n = 50 000 in one column, a row.

One BLAS thread, CPU time, medians over rounds; each fit in a process of its own, whose peak memory is said. Prints
tables, writes JSON.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

GAPS = (1e-3, 1e-4, 1e-6)


def real_problems() -> Iterator[tuple[str, str, np.ndarray, np.ndarray, float]]:
    """Yield name, estimator, standardised inputs, targets and λ: columns of real tables from the other columns."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
    from sklearn.preprocessing import scale

    diabetes, target = load_diabetes(return_X_y=True)
    for alpha in (1e-2, 1e-4):
        yield f"diabetes {alpha:g}", "quantile", scale(diabetes), scale(target), alpha
    for column in (2, 3, 5, 9):
        rest = np.delete(diabetes, column, axis=1)
        yield f"diabetes column {column}", "quantile", scale(rest), scale(diabetes[:, column]), 1e-3
    wine, cultivar = load_wine(return_X_y=True)
    for column in (0, 6, 12):
        yield f"wine column {column}", "quantile", scale(np.delete(wine, column, axis=1)), scale(wine[:, column]), 1e-3
    iris, species = load_iris(return_X_y=True)
    for column in (0, 3):
        yield f"iris column {column}", "quantile", scale(np.delete(iris, column, axis=1)), scale(iris[:, column]), 1e-4
    cancer, malignant = load_breast_cancer(return_X_y=True)
    for alpha in (1e-3, 1e-5):
        yield f"cancer radius {alpha:g}", "quantile", scale(cancer[:, 1:8]), scale(cancer[:, 0]), alpha
    for alpha in (1e-2, 1e-4, 1e-6):
        yield f"cancer {alpha:g}", "cost", scale(cancer), malignant, alpha
    yield "wine first", "cost", scale(wine), (cultivar == 0).astype(int), 1e-4
    yield "iris last", "cost", scale(iris), (species == 2).astype(int), 1e-4
    digits, number = load_digits(return_X_y=True)
    for alpha in (1e-3, 1e-5):
        yield f"digits even {alpha:g}", "cost", digits[:1000] / 16.0, (number[:1000] % 2 == 0).astype(int), alpha


def timed(work: Callable[[], dict]) -> dict:
    """Return what the work returns, and its CPU time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        answer = work()
        return {"seconds": time.process_time() - start} | answer


def fitted(model) -> dict:
    return {"relative_gap": model.relative_gap_, "status": model.status_, "solver": type(model.solver_).__name__}


def task_real(index: int, gap: float) -> dict:
    from mercer import CostSensitiveClassifier, KernelQuantileRegressor

    _, kind, X, y, alpha = list(real_problems())[index]
    estimator = KernelQuantileRegressor if kind == "quantile" else CostSensitiveClassifier
    estimator(alpha=1e-1, tol=1e-1).fit(X[::10], y[::10])
    return timed(lambda: fitted(estimator(alpha=alpha, tol=gap).fit(X, y)))


def joint(model: Any) -> Any:
    """Return the model that solves one problem, which older checkouts know by no other name."""
    return model.set_params(stages="joint") if "stages" in model.get_params() else model


def task_sine(n: int) -> dict:
    from mercer import KernelQuantileRegressor
    from mercer.datasets import make_sine

    X, y = make_sine(n, random_state=0)
    joint(KernelQuantileRegressor()).fit(X[::50], y[::50])
    return timed(lambda: fitted(joint(KernelQuantileRegressor()).fit(X, y)))


def task_stages(n: int, d: int) -> dict:
    from mercer import KernelQuantileRegressor
    from mercer.datasets import make_sine

    rng = np.random.default_rng(0)
    X, y = make_sine(n, random_state=0) if d == 1 else (rng.normal(size=(n, d)), rng.normal(size=n))
    y = y if d == 1 else X[:, 0] + np.sin(X[:, 1]) + y
    return timed(lambda: {"status": KernelQuantileRegressor().fit(X, y).status_})


def task_headline(n: int, m: int) -> dict:
    from mercer import KernelQuantileRegressor
    from mercer.datasets import make_sine
    from mercer.kernels import Gaussian
    from mercer.measures import GaussLegendre

    X, y = make_sine(n, random_state=0)
    model = KernelQuantileRegressor(
        Gaussian(10.0), output_kernel=Gaussian(5.0), alpha=1e-5, measure=GaussLegendre(m), fit_intercept=False
    )
    model.fit(X[::100], y[::100])
    return timed(lambda: fitted(model.fit(X, y)))


def task_moons(n: int) -> dict:
    from sklearn.datasets import make_moons
    from sklearn.svm import SVC

    from mercer import CostSensitiveClassifier
    from mercer.kernels import Gaussian

    X, y = make_moons(n, noise=0.4, random_state=1)
    model = CostSensitiveClassifier(Gaussian("standardized"))
    model.fit(X[::20], y[::20])
    answer = timed(lambda: fitted(model.fit(X, y)))
    scaled = X * np.sqrt(np.asarray(model.kernel_.gamma))
    start = time.process_time()
    for cost in np.linspace(0.05, 0.95, 20):
        machine = SVC(C=1 / (model.alpha_ * n), gamma=1.0, class_weight={0: 1 - cost, 1: cost})
        machine.fit(scaled, y)
    return answer | {"one_svc": (time.process_time() - start) / 20}


def one_hot_table(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Five numbers and three categories, 23 columns in all."""
    rng = np.random.default_rng(0)
    numbers, sizes = rng.normal(size=(n, 5)), (8, 6, 4)
    categories = [rng.integers(0, size, size=n) for size in sizes]
    X = np.hstack([numbers] + [np.eye(size)[each] for size, each in zip(sizes, categories, strict=True)])
    effects = sum(0.4 * rng.normal(size=size)[each] for size, each in zip(sizes, categories, strict=True))
    spread = 0.4 + 0.3 * np.abs(numbers[:, 3])
    return X, np.sin(numbers[:, 0]) + 0.5 * numbers[:, 1] * numbers[:, 2] + effects + spread * rng.normal(size=n)


def task_cv(n: int) -> dict:
    from mercer import KernelQuantileRegressorCV

    X, y = one_hot_table(n)
    return timed(lambda: fitted(joint(KernelQuantileRegressorCV()).fit(X, y)))


def task_full_rank(n: int) -> dict:
    from mercer import KernelQuantileRegressor
    from mercer.exceptions import MercerError
    from mercer.linalg import memory_limit

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    y = X[:, 0] + rng.normal(size=n)

    def fit() -> dict:
        try:
            with memory_limit(6 * 2**30):
                return fitted(joint(KernelQuantileRegressor()).fit(X, y))
        except MercerError as error:
            return {"status": "refused", "message": str(error)}

    return timed(fit)


def task_predict(n: int) -> dict:
    from mercer import KernelQuantileRegressor
    from mercer.datasets import make_sine

    X, y = make_sine(n, random_state=0)
    model = KernelQuantileRegressor(alpha=1e-4, tol=1e-2).fit(X, y)
    model.predict(X[:10])
    return timed(lambda: {"rows": len(model.predict(X[:1000]))})


TASKS = {name.removeprefix("task_"): value for name, value in globals().items() if name.startswith("task_")}


def in_process(source: Path | None, task: str, **arguments) -> dict:
    """Run one task in a process of its own, with mercer from ``source`` (None: as installed)."""
    environment = dict(os.environ) if source is None else os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, __file__, "--task", task, "--arguments", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        return {"seconds": float("nan"), "status": done.stderr.splitlines()[-1][:80]}
    return json.loads(done.stdout.splitlines()[-1])


def compare(sources: dict[str, Path | None], rounds: int, task: str, **arguments) -> dict[str, dict]:
    """Return the run of median time of each checkout; the checkouts alternate."""
    runs: dict[str, list[dict]] = {name: [] for name in sources}
    for _ in range(rounds):
        for name, source in sources.items():
            runs[name].append(in_process(source, task, **arguments))
    return {name: sorted(each, key=lambda run: run["seconds"])[len(each) // 2] for name, each in runs.items()}


def show(label: str, rows: dict[str, dict]) -> None:
    cells = []
    for name, run in rows.items():
        gap = f", gap {run['relative_gap']:.1e}" if "relative_gap" in run else ""
        peak = f", {run['peak_gb']:.2f} GB" if "peak_gb" in run else ""
        cells.append(f"{name} {run['seconds']:.3f} s ({run.get('solver') or run.get('status', '')}{gap}{peak})")
    times = [run["seconds"] for run in rows.values()]
    ratio = f"  ratio {times[0] / times[1]:.3f}" if len(times) == 2 else ""
    print(f"{label:<28} {'; '.join(cells)}{ratio}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices="abcd", default=list("abcd"))
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "box_duals.json")
    parser.add_argument("--task", choices=sorted(TASKS), help=argparse.SUPPRESS)
    parser.add_argument("--arguments", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        answer = TASKS[options.task](**json.loads(options.arguments))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        print(json.dumps(answer | {"peak_gb": peak}))
        return
    here = Path(__file__).parents[1] / "src"
    sources: dict[str, Path | None] = {"mercer": here}
    if options.against is not None:
        sources["before"] = options.against.resolve()
    report: dict = {}
    if "a" in options.parts:
        names = [row[0] for row in real_problems()]
        indices = range(0, len(names), 5) if options.quick else range(len(names))
        for gap in GAPS[:2] if options.quick else GAPS:
            print(f"\n(a) relative gap {gap:g}")
            rows = {}
            for k in indices:
                rows[names[k]] = compare(sources, options.rounds, "real", index=k, gap=gap)
                show(names[k], rows[names[k]])
            if len(sources) == 2:
                ratios = [row["mercer"]["seconds"] / row["before"]["seconds"] for row in rows.values()]
                mean = statistics.geometric_mean(ratios)
                print(f"geometric mean {mean:.3f} = 1/{1 / mean:.1f}, largest {max(ratios):.2f}")
            report[f"real {gap:g}"] = rows
    small = options.quick
    if "b" in options.parts:
        print("\n(b)")
        for n, d in ((2000, 1), (2000, 10)) if small else ((10_000, 1), (20_000, 10)):
            label = f"in stages, {n} × {d}"
            report[label] = compare({"mercer": here}, options.rounds, "stages", n=n, d=d)
            show(label, report[label])
        for label, task, arguments in (
            ("sine, default", "sine", {"n": 2000 if small else 10_000}),
            ("headline, gap 1e-3", "headline", {"n": 2000, "m": 40} if small else {"n": 10_000, "m": 100}),
            ("moons, default", "moons", {"n": 500 if small else 2000}),
            ("CV, one-hot", "cv", {"n": 200 if small else 1500}),
        ):
            rows = compare(sources, 1 if task == "cv" else options.rounds, task, **arguments)
            show(label, rows)
            if task == "moons":
                print(f"  one SVC {rows['mercer']['one_svc']:.3f} s")
            report[label] = rows
    if "c" in options.parts:
        print("\n(c)")
        report["full rank"] = compare({"mercer": here}, 1, "full_rank", n=5000 if small else 20_000)
        show("full rank, 6 GiB", report["full rank"])
        print("  ", report["full rank"]["mercer"].get("message", ""))
    if "d" in options.parts:
        print("\n(d)")
        report["predict"] = compare(sources, 1, "predict", n=5000 if small else 50_000)
        for name, run in report["predict"].items():
            print(f"prediction, {name}: {run['seconds'] / run.get('rows', 1) * 1e6:.1f} microseconds a row")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwritten to {options.output}")


if __name__ == "__main__":
    main()
