"""Curves with holes: time of the exact fit against the complete grid, error, certified gap and memory.

    python benchmarks/functional_missing.py            # n = 500 curves at m = 100 points, two minutes
    python benchmarks/functional_missing.py --quick    # n = 60, m = 30, half a minute

Square loss, Gaussian kernels, an intercept (mean curve) and noise; smooth data in one to three inputs and a rough case.
Each fit starts from the data, Gram matrices and their factorisations included. "random" keeps half of the entries at
random, "windows" loses half of each curve in one piece, "points" has half as many points for each curve, all
different. The fits are interleaved, times are medians, ``ratio`` is in units of the complete grid in the same
round. ``error`` is the largest difference of predictions at the data to a fit whose gap is at rounding; with
``--quick`` to a dense solution. ``bound`` needs no other fit: twice the residual of the linear system, whose inverse
has norm 1 at most, bounds the root mean square error. Targets at full size: random ≤ 5 for λ ≥ 1e-6, windows ≤ 10 for
λ ≥ 1e-5, error and gap ≤ 1e-6, peak memory ≤ 500 MB, measured in a process of its own. Prints a table, writes JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

THREADS = os.environ.setdefault("OMP_NUM_THREADS", "1")
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, THREADS)

import numpy as np  # noqa: E402

from mercer.kernels import Gaussian  # noqa: E402
from mercer.losses import Square  # noqa: E402
from mercer.measures import Measure  # noqa: E402
from mercer.operator_valued import BoundPairs, Decomposable  # noqa: E402
from mercer.problems import DualProblem, curve_problem  # noqa: E402
from mercer.solvers import ClosedForm  # noqa: E402

#: name: number of inputs, γ of k_X, γ of k_Θ
CASES = {
    "smooth, 1 input": (1, 10.0, 10.0),
    "smooth, 2 inputs": (2, 5.0, 10.0),
    "smooth, 3 inputs": (3, 2.0, 10.0),
    "rough, 3 inputs": (3, 20.0, 200.0),
}
ALPHAS = (1e-3, 1e-5, 1e-6)
KINDS = ("complete", "random", "windows", "points")
TARGETS = {"random": (5.0, 1e-6), "windows": (10.0, 1e-5)}
#: relative gap asked for: predictions are then right to about its root
TOL = 1e-12


def size(quick: bool) -> tuple[int, int]:
    return (60, 30) if quick else (500, 100)


def curves(case: str, kind: str, quick: bool) -> tuple:
    """Return X, points and values: (m,) and (n, m) with NaN, or (n, m/2) both where each curve has its own points."""
    n, m = size(quick)
    d = CASES[case][0]
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, d))
    points = np.linspace(0, 1, m)
    if kind == "points":
        points = np.sort(rng.uniform(size=(n, m // 2)), axis=1)
    phase = 3 * X.mean(axis=1, keepdims=True)
    Y = np.sin(2 * phase) * np.cos(4 * points) + np.exp(-5 * (X[:, :1] - points) ** 2) + 1
    Y = Y + 0.1 * rng.normal(size=Y.shape)
    if kind == "random":
        Y[rng.random(Y.shape) < 0.5] = np.nan
    elif kind == "windows":
        for i, start in enumerate(rng.integers(0, m // 2 + 1, n)):
            Y[i, start : start + m // 2] = np.nan
    return X, points, Y


def problem_of(case: str, kind: str, alpha: float, quick: bool, data: tuple | None = None) -> DualProblem:
    X, points, Y = curves(case, kind, quick) if data is None else data
    _, gamma, output_gamma = CASES[case]
    kernels = Gaussian(gamma), Gaussian(output_gamma)
    if kind == "points":
        rows = np.repeat(np.arange(len(X)), Y.shape[1])
        gram = BoundPairs(*kernels, rows, points.ravel()).gram(X)
        return curve_problem(gram, Square(), Y.reshape(-1, 1), rows, alpha, fit_intercept=True)
    measure = Measure(points, np.full(len(points), 1 / len(points)))
    gram = Decomposable(*kernels).bind(measure).gram(X)
    return DualProblem(gram, Square(), Y, measure, alpha, fit_intercept=True)


def fit(case: str, kind: str, alpha: float, quick: bool, data: tuple) -> tuple:
    start = time.perf_counter()
    problem = problem_of(case, kind, alpha, quick, data)
    result = ClosedForm(tol=TOL).solve(problem)
    return time.perf_counter() - start, problem, result


def dense_predictions(problem: DualProblem) -> np.ndarray:
    """Predictions h + b at the observed entries, from the dense system of the stationarity conditions."""
    seen = np.ones(problem.shape, bool) if problem.measure.observed is None else problem.measure.observed
    n, m = problem.shape
    gram = problem.gram.to_dense().reshape(n * m, n * m)[np.ix_(seen.ravel(), seen.ravel())]
    nodes = np.tile(np.eye(m), (n, 1))[seen.ravel()]
    weight = np.outer(problem.sample_weight, problem.measure.weights)[seen]
    used = nodes.any(axis=0)
    nodes = nodes[:, used]
    k = nodes.shape[1]
    system = np.block(
        [[problem.scale * gram + np.eye(len(gram)), nodes], [(nodes * weight[:, None]).T, np.zeros((k, k))]]
    )
    solution = np.linalg.solve(system, np.concatenate([problem.Y[seen], np.zeros(k)]))
    return problem.Y[seen] - solution[: len(gram)]


def error_of(problem: DualProblem, result, quick: bool) -> float:
    """Largest difference of h + b at the observed entries to the reference."""
    seen = np.ones(problem.shape, bool) if problem.measure.observed is None else problem.measure.observed

    def predictions(result):
        return (problem.predict(result.coef) + result.intercept)[seen]

    reference = dense_predictions(problem) if quick else predictions(ClosedForm(tol=1e-18).solve(problem))
    return float(np.abs(predictions(result) - reference).max())


def bound_of(problem: DualProblem, result) -> float:
    """Bound on the root mean square error of h + b at the data: 2‖A + h_A + b − Y‖."""
    residual = problem.cut(result.coef + problem.predict(result.coef) + result.intercept - problem.Y)
    seen = problem.cut(np.ones(problem.shape))
    return 2 * float(np.sqrt(problem.inner(residual, residual) / problem.inner(seen, seen)))


def peak_memory(case: str, kind: str, alpha: float, quick: bool) -> float:
    """Peak memory in MB of one fit in a process of its own, libraries included."""
    arguments = [sys.executable, __file__, "--memory", case, kind, str(alpha), *(["--quick"] if quick else [])]
    return float(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)


def rows(quick: bool = False, rounds: int = 5) -> list[dict]:
    """Return one record for each case, λ and kind of observation."""
    table = []
    for case in CASES:
        data = {kind: curves(case, kind, quick) for kind in KINDS}
        for alpha in ALPHAS:
            seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
            last = {}
            for _ in range(rounds):
                for kind in KINDS:
                    taken, *last[kind] = fit(case, kind, alpha, quick, data[kind])
                    seconds[kind].append(taken)
            for kind in KINDS:
                problem, result = last[kind]
                ratios = [own / complete for own, complete in zip(seconds[kind], seconds["complete"], strict=True)]
                limit, least = TARGETS.get(kind, (np.inf, 0.0))
                table.append(
                    {
                        "case": case,
                        "alpha": alpha,
                        "kind": kind,
                        "seconds": statistics.median(seconds[kind]),
                        "ratio": statistics.median(ratios),
                        "target": limit if alpha >= least and not quick else None,
                        "relative_gap": result.relative_gap,
                        "error": error_of(problem, result, quick),
                        "bound": bound_of(problem, result),
                        "n_iter": result.n_iter,
                        "status": result.status,
                        "peak_mb": peak_memory(case, kind, alpha, quick) if alpha == ALPHAS[-1] else None,
                    }
                )
    return table


def show(table: list[dict]) -> None:
    heads = f"{'s':>7}{'ratio':>7}{'steps':>6}{'gap':>8}{'error':>8}{'bound':>8}{'MB':>5}"
    print(f"{'case':<18}{'λ':>8}  {'observed':<9}{heads}")
    for row in table:
        memory = "" if row["peak_mb"] is None else f"{row['peak_mb']:.0f}"
        missed = row["target"] is not None and row["ratio"] > row["target"]
        print(
            f"{row['case']:<18}{row['alpha']:>8.0e}  {row['kind']:<9}{row['seconds']:>7.3f}{row['ratio']:>7.1f}"
            f"{row['n_iter']:>6}{row['relative_gap']:>8.0e}{row['error']:>8.0e}{row['bound']:>8.0e}{memory:>5}"
            f"{' <- target' * missed}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="where to write JSON")
    parser.add_argument("--memory", nargs=3, metavar=("CASE", "KIND", "ALPHA"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory:
        case, kind, alpha = options.memory
        fit(case, kind, float(alpha), options.quick, curves(case, kind, options.quick))
        status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent, too
        print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
        return
    table = rows(options.quick, options.rounds)
    show(table)
    if options.output:
        options.output.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
