"""Choosing λ and kernels for curves in closed form, in units of the eigendecompositions that this takes.

    OMP_NUM_THREADS=1 python benchmarks/functional_choice.py             # n = 2 000, m = 200, about three minutes
    OMP_NUM_THREADS=2 python benchmarks/functional_choice.py
    python benchmarks/functional_choice.py --quick --rounds 3            # n = 500, m = 100, some seconds

The unit is the time of ``scipy.linalg.eigh`` of the input Gram (n×n) and of the output Gram (m×m) by its fastest driver
for all eigenvectors ("evd"). The input kernel is a Laplacian in three dimensions, whose Gram has full numerical rank;
the output kernel is Gaussian (rank below 30) or Laplacian (full rank). 50 values of λ from 1e-6 to 10, with intercept.

- path + leave-one-out: objectives and training errors of all fits and their leave-one-out errors (``RidgePath``);
- path + generalised: the same with generalised cross-validation;
- kernel grid: leave-one-out for 2 input × 3 output kernels, in units of two input and two output decompositions;
- direct leave-one-out: the same errors by one product with all eigenvectors for each λ, as a rival and as a check.

Everything is measured once a round, one after the other; ratios are medians over the rounds of the ratios in a round.
On a machine shared with others take one thread and ``--clock cpu``, processor seconds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time

THREADS = os.environ.setdefault("OMP_NUM_THREADS", "2")
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # they would overrule the former
    os.environ[_name] = THREADS

import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402

from mercer.kernels import Gaussian, Laplacian  # noqa: E402
from mercer.linalg import Dense, Kronecker  # noqa: E402
from mercer.losses import Square  # noqa: E402
from mercer.measures import Measure  # noqa: E402
from mercer.problems import DualProblem  # noqa: E402
from mercer.solvers import RidgePath, kernel_grid_errors  # noqa: E402

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = time.perf_counter

ALPHAS = np.logspace(-6, 1, 50)
OUTPUTS = {"smooth": Gaussian(4.0), "full rank": Laplacian(2.0)}
#: largest multiples of the time of the two eigendecompositions
TARGETS = {"smooth": 1.3, "full rank": 2.5, "generalised": 1.25}


def make_problem(n: int, m: int, output) -> DualProblem:
    """Noisy curves on an even grid, Gram matrices stored."""
    rng = np.random.default_rng(0)
    X, points = rng.uniform(size=(n, 3)), np.linspace(0, 1, m)[:, None]
    Y = np.sin(4 * X[:, :1] + 3 * points.T) + 0.3 * rng.normal(size=(n, m))
    gram = Kronecker(Dense(Laplacian(2.0)(X)), Dense(output(points)))
    return DualProblem(gram, Square(), Y, Measure(points, np.full(m, 1 / m)), 1.0, None, True)


def two_eigh(problem: DualProblem) -> None:
    for factor in (problem.gram.left, problem.gram.right):
        scipy.linalg.eigh(factor.to_dense(), driver="evd", check_finite=False)


def leave_one_out(problem: DualProblem) -> np.ndarray:
    path = RidgePath(problem, ALPHAS)
    assert np.all(path.training_errors <= path.objectives)
    return path.leave_one_out_errors


def generalised(problem: DualProblem) -> np.ndarray:
    path = RidgePath(problem, ALPHAS)
    assert np.all(path.training_errors <= path.objectives)
    return path.generalised_errors


def kernel_grid(problem: DualProblem) -> np.ndarray:
    left, right = problem.gram.left, problem.gram.right
    inputs = [left, Dense(left.matrix**2)]
    outputs = [Dense(right.matrix**power * problem.shape[1]) for power in (1, 2, 4)]  # without the weights 1/m
    return kernel_grid_errors(problem, inputs, outputs, ALPHAS)


def direct_leave_one_out(problem: DualProblem) -> np.ndarray:
    """Residuals over one minus leverages, λ by λ, with all eigenvectors of the centred input Gram."""
    n, m = problem.shape
    tau, V = scipy.linalg.eigh(problem.gram.right.to_dense())
    K = problem.gram.left.to_dense()
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    sigma, U = scipy.linalg.eigh(K, driver="evd")
    sigma, tau = np.maximum(sigma, 0), np.maximum(tau, 0)
    Y = (problem.Y - problem.Y.mean(axis=0)) @ V / np.sqrt(m)
    Z, squares, errors = U.T @ Y, U**2, []
    for alpha in ALPHAS:
        gain = sigma[:, None] * tau / (sigma[:, None] * tau + alpha * n)
        errors.append(0.5 * np.sum(((Y - U @ (gain * Z)) / (1 - 1 / n - squares @ gain)) ** 2) / n)
    return np.array(errors)


def timed(function, *arguments):
    start = clock()
    answer = function(*arguments)
    return clock() - start, answer


def rows(quick: bool = False, rounds: int = 5) -> list[dict]:
    """Return one row for each measurement: name, seconds, ratio, target, and the accuracy where there is a rival."""
    n, m = (500, 100) if quick else (2000, 200)
    table = []
    for kind, output in OUTPUTS.items():
        problem = make_problem(n, m, output)
        seconds: dict[str, list[float]] = {}
        answers = {}
        tasks = {
            "two eigh": two_eigh,
            "path + leave-one-out": leave_one_out,
            "path + generalised": generalised,
            "kernel grid": kernel_grid,
        }
        for _ in range(rounds):
            for name, task in tasks.items():
                spent, answers[name] = timed(task, problem)
                seconds.setdefault(name, []).append(spent)
        spent, exact = timed(direct_leave_one_out, problem)
        seconds["direct leave-one-out"] = [spent]
        error = float(np.max(np.abs(answers["path + leave-one-out"] / exact - 1)))
        targets = {} if quick else {"path + leave-one-out": TARGETS[kind], "path + generalised": TARGETS["generalised"]}
        for name, spent in seconds.items():
            unit = seconds["two eigh"]
            scale = 2.0 if name == "kernel grid" else 1.0  # two large decompositions; three small ones hardly count
            table.append(
                {
                    "name": f"{name}, {kind} output kernel, n = {n}, m = {m}, {THREADS} threads",
                    "seconds": statistics.median(spent),
                    "ratio": statistics.median(a / b for a, b in zip(spent, unit, strict=False)) / scale,
                    "target": targets.get(name),
                    "accuracy": error if name == "path + leave-one-out" else None,
                }
            )
    return table


def main() -> None:
    global clock  # noqa: PLW0603  one clock for a run, chosen on the command line
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 500, m = 100")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    options = parser.parse_args()
    clock = CLOCKS[options.clock]
    for row in rows(options.quick, options.rounds):
        target = "" if row["target"] is None else f"  target {row['target']:.2f}"
        accuracy = "" if row["accuracy"] is None else f"  error {row['accuracy']:.0e}"
        print(f"{row['name']:<75}{row['seconds']:9.3f} s{row['ratio']:8.2f}{target}{accuracy}")


if __name__ == "__main__":
    main()
