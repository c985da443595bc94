"""Every solver on a grid of problems: which is the fastest, and what ``solver="auto"`` takes.

    python benchmarks/solvers.py             # about 20 minutes on one core; rewrites docs/solvers.md
    python benchmarks/solvers.py --quick     # a tenth of the problems, writes no page
    python benchmarks/solvers.py --times benchmarks/results/solvers.json    # times as they were measured, of new
                                                                            # problems now, and all choices anew

Problems differ in what is learned (quantiles, costs, M-quantiles, expectiles, robust curves, coupled level sets, slopes
that cost or must not be negative, vectors of independent numbers), in n, m, the number of columns, λ, the gap and the
intercept. Each solver that takes a problem is timed from the Gram operator to the certificate (CPU time, one BLAS
thread, the best of two runs) and stopped after some seconds. The choice of ``auto`` is *good* where it takes at most
1.2 times as long as the fastest.
Prints tables, writes JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from mercer.estimators.monotone_fit import MonotoneFit
from mercer.exceptions import MercerError
from mercer.kernels import Gaussian, Identity
from mercer.losses import CostSensitiveHinge, EpsilonRidge, Expectile, Huber, MoreauPinball, Pinball
from mercer.measures import GaussLegendre, Grid, Points
from mercer.operator_valued import Decomposable
from mercer.problems import DualProblem, level_set_problem
from mercer.solvers import (
    ADMM,
    LBFGS,
    FactoredADMM,
    InteriorPoint,
    ProximalGradient,
    SemismoothNewton,
    SubspaceNewton,
    select,
)

SOLVERS = (SemismoothNewton, ADMM, InteriorPoint, ProximalGradient, LBFGS, SubspaceNewton, FactoredADMM)
LOSSES = {"quantiles": Pinball(), "costs": CostSensitiveHinge(), "M-quantiles": MoreauPinball(0.3)}
LOSSES |= {"expectiles": Expectile(), "robust curves": Huber(0.5, "norm"), "robust values": Huber(0.3, "pointwise")}
VECTOR_LOSSES = {"robust vectors": Huber(0.5, "norm"), "sparse vectors": EpsilonRidge(0.5)}
GOOD = 1.2
PAGE = Path(__file__).parents[1] / "docs" / "solvers.md"


def data(kind: str, n: int, m: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.uniform(size=(n, d)) if d == 1 else rng.normal(size=(n, d))
    signal = np.sin(5 * X[:, 0]) + (0.5 * X[:, 1] if d > 1 else 0.0)
    if kind.startswith("robust"):
        curves = signal[:, None] * np.linspace(0, 1, m) + 0.3 * rng.normal(size=(n, m))
        curves[::10] += 5 * rng.normal(size=(len(curves[::10]), 1))
        return X, curves
    y = signal + (0.2 + 0.3 * np.abs(X[:, 0])) * rng.normal(size=n)
    y = np.where(y > np.median(y), 1.0, -1.0) if kind == "costs" else y
    return X, np.repeat(y[:, None], m, axis=1)


def regression(kind: str, n: int, m: int, d: int, alpha: float, intercept: bool, seed: int) -> DualProblem:
    X, Y = data(kind, n, m, d, np.random.default_rng(seed))
    curves = kind.startswith("robust")
    measure = Grid(np.linspace(0, 1, m)).build() if curves else GaussLegendre(m).build()
    bound = Decomposable(Gaussian("standardized").adapt(X), Gaussian("median")).bind(measure)
    return DualProblem(bound.gram(X), LOSSES[kind], Y, measure, alpha, None, intercept)


def sloped(price: float, n: int, m: int, alpha: float, seed: int) -> DualProblem:
    X, Y = data("quantiles", n, m, 1, np.random.default_rng(seed))
    bound = Decomposable(Gaussian("standardized").adapt(X), Gaussian("median")).bind(GaussLegendre(m).build())
    return MonotoneFit(bound, Pinball(), X, Y, None, alpha, True, 0.0).problem(price)[0]


def levels(n: int, m: int, d: int, penalty: float, seed: int) -> DualProblem:
    X = np.random.default_rng(seed).normal(size=(n, d))
    measure = Points(np.linspace(0.05, 0.95, m)).build()
    gram = Gaussian(3.0)(measure.points)
    kernel = Gaussian("standardized").adapt(X).gram(X)
    return level_set_problem(kernel, measure, alpha=penalty, offset_gram=gram, coupling=0.01, output_gram=gram)


def vectors(kind: str, n: int, p: int, d: int, alpha: float, seed: int) -> DualProblem:
    """Return a problem of p numbers in each row with one kernel of large rank, and one row of ten that is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X @ rng.normal(size=(d, p))) + 0.1 * rng.normal(size=(n, p))
    Y[::10] += 5 * rng.normal(size=(len(Y[::10]), p))
    measure = Points(np.arange(p)).build()
    bound = Decomposable(Gaussian("standardized").adapt(X), Identity()).bind(measure)
    return DualProblem(bound.gram(X), VECTOR_LOSSES[kind], Y, measure, alpha, None, False)


def grid(quick: bool) -> Iterator[tuple[dict[str, Any], Callable[[], DualProblem], float]]:
    """Yield settings, a function that makes the problem, and the gap; a fixed choice of all combinations."""
    rng = np.random.default_rng(0)
    sizes = ((200, 5), (200, 20), (800, 20), (2000, 9), (4000, 20))
    everything = list(itertools.product(LOSSES, sizes, (1, 6), (1e-2, 1e-4, 1e-6), (1e-3, 1e-5), (False, True)))
    for number in rng.permutation(len(everything))[: 12 if quick else 110]:
        kind, (n, m), d, alpha, tol, intercept = everything[number]
        if n == 4000 and d > 1:
            n = 1000  # a full rank: minutes for every solver
        settings = {"kind": kind, "n": n, "m": m, "d": d, "alpha": alpha, "tol": tol, "intercept": intercept}
        yield settings, lambda k=kind, a=(n, m, d, alpha, intercept): regression(k, *a, seed=1), tol
    sized = ((100, 9), (400, 9), (400, 20))
    for (n, m), alpha, tol, price in itertools.product(sized, (1e-2, 1e-4), (1e-3, 1e-5), (1.0, np.inf)):
        if quick and n > 100:
            continue
        kind = "slopes with a price" if np.isfinite(price) else "strict slopes"
        settings = {"kind": kind, "n": n, "m": m, "d": 1, "alpha": alpha, "tol": tol, "intercept": True}
        yield settings, lambda a=(price, n, m, alpha): sloped(*a, seed=1), tol
    for n, d, penalty, tol in itertools.product((200, 800), (2, 6), (0.0, 0.05), (1e-3, 1e-5)):
        if quick and n > 200:
            continue
        settings = {"kind": "coupled levels", "n": n, "m": 10, "d": d, "alpha": penalty, "tol": tol, "intercept": True}
        yield settings, lambda a=(n, 10, d, penalty): levels(*a, seed=1), tol
    for kind, n, alpha, tol in itertools.product(VECTOR_LOSSES, (400, 1500), (1e-2, 1e-4, 1e-6), (1e-3, 1e-5)):
        if quick and n > 400:
            continue
        settings = {"kind": kind, "n": n, "m": 10, "d": 10, "alpha": alpha, "tol": tol, "intercept": False}
        yield settings, lambda k=kind, a=(n, 10, 10, alpha): vectors(k, *a, seed=1), tol


def seconds(solver: Any, make: Callable[[], DualProblem], limit: float) -> tuple[float, str]:
    """Return the best CPU time of two runs, infinite where the gap was not reached, and how it ended."""
    best, status = np.inf, ""
    for _ in range(2):
        problem = make()
        start = time.process_time()
        result = solver.solve(problem, callback=lambda *_, start=start: time.process_time() - start > limit)
        spent = time.process_time() - start
        status = result.status
        if not result.converged:
            return np.inf, status
        best = min(best, spent)
        if spent > 1.0:
            break
    return best, status


def measure_all(quick: bool, limit: float, known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return settings, times and choices of all problems; times of ``known`` rows, the first ones, are taken there."""
    rows = []
    for number, (settings, make, tol) in enumerate(grid(quick)):
        problem = make()
        chosen = type(select(problem, tol)).__name__
        measured = number < len(known)
        times = known[number]["seconds"] if measured else {}
        for kind in () if measured else SOLVERS:
            solver = kind(tol=tol)
            try:
                solver.check(problem)
                times[kind.__name__] = seconds(solver, make, limit)[0]
            except MercerError:
                continue
        fastest = min(times, key=times.__getitem__)
        ratio = times[chosen] / times[fastest] if np.isfinite(times[fastest]) else 1.0
        rows.append(settings | {"seconds": times, "auto": chosen, "fastest": fastest, "ratio": ratio})
        shown = ", ".join(f"{name} {value:.3f}" for name, value in times.items())
        print(f"{settings}: {shown}; auto {chosen}, {ratio:.2f}", flush=True)
    return rows


def summarise(rows: list[dict[str, Any]]) -> list[str]:
    """Return the lines of a table: what is learned, who was fastest how often, and how good the choice is."""
    lines = ["| what is learned | problems | fastest, times | auto within 1.2 × | slowest choice |", "| --- " * 5 + "|"]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        of_kind = [row for row in rows if row["kind"] == kind]
        wins = ", ".join(f"{name} {count}" for name, count in Counter(r["fastest"] for r in of_kind).most_common())
        good = sum(row["ratio"] <= GOOD for row in of_kind)
        worst = max(row["ratio"] for row in of_kind)
        lines.append(f"| {kind} | {len(of_kind)} | {wins} | {good} | {worst:.1f} × |")
    return lines


def page(rows: list[dict[str, Any]]) -> str:
    good = sum(row["ratio"] <= GOOD for row in rows) / len(rows)
    head = (__doc__ or "").split("Problems differ", 1)[1].split("Prints tables", 1)[0]
    text = [
        "# Which solver",
        "",
        '`solver="auto"` takes the first row of the table in [design.md](design.md#solvers) whose condition holds. '
        "This page is written by `python benchmarks/solvers.py`; times are those of the machine that it ran on.",
        "",
        "Problems differ" + " ".join(head.split("\n")).rstrip(),
        "",
        f"The choice was good for {100 * good:.0f} % of {len(rows)} problems.",
        "",
        *summarise(rows),
        "",
        "Seconds to the gap; a dash where it was not reached in time, or is never tried.",
        "",
        "| what is learned | n | m | columns | λ | gap | intercept | "
        + " | ".join(kind.__name__ for kind in SOLVERS)
        + " | auto |",
        "| --- " * (8 + len(SOLVERS)) + "|",
    ]
    for row in rows:
        cells = [row[name] for name in ("kind", "n", "m", "d", "alpha", "tol")] + ["yes" if row["intercept"] else "no"]
        times = [row["seconds"].get(kind.__name__, np.inf) for kind in SOLVERS]
        cells += [f"{value:.3f}" if np.isfinite(value) else "–" for value in times] + [row["auto"]]
        text.append("| " + " | ".join(f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in cells) + " |")
    return "\n".join(text) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the problems, and no page")
    parser.add_argument("--times", type=Path, help="what an earlier run has written, to judge choices anew")
    parser.add_argument("--limit", type=float, default=5.0, help="CPU seconds after which a solver is stopped")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "solvers.json")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        known = [] if options.times is None else json.loads(options.times.read_text())
        rows = measure_all(options.quick, options.limit, known)
    print("\n".join(summarise(rows)))
    print(f"good: {sum(row['ratio'] <= GOOD for row in rows)} of {len(rows)}")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(rows, indent=2) + "\n")
    if not options.quick:
        PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
