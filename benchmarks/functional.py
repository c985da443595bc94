"""Curves as outputs: robust, sparse and ridge fits against one another, the papers' algorithm and other libraries.

    python benchmarks/functional.py                        # everything, about half an hour on two idle cores
    python benchmarks/functional.py --quick                # small sizes, without targets, about two minutes
    OMP_NUM_THREADS=1 python benchmarks/functional.py --parts a b --clock cpu      # on a machine shared with others

(a) Huber, norm and pointwise, n = 400, m = 100, 10 % outlying curves, relative gap 1e-4, with and without intercept,
    in units of the square-loss fit of the same curves (``ClosedForm``): target 5. κ is a quantile (``share``) of the
    sizes of the ridge residuals. The table shows the worst κ of each row, the JSON all;
(b) ε-ridge, n = 2 000, m = 200, relative gap 1e-6, against the papers' proximal gradient, whose condition number is
    L = 1 + ‖K_X‖‖K_Θ‖/(λn): target 20 times faster where L ≥ 1 000, and never slower;
(c) sklearn's KernelRidge with m outputs, the same problem (K_Θ = I, one λ, no intercept): target 1.2 times its time,
    by problem and solver and by ``FunctionalRegressor``;
(d) celer's MultiTaskLasso on the dual of ε-ridge with K_Θ = I, a square after completion by a Cholesky factor, to the
    same certified gap; scikit-fda's regressors with functional response, time and test error;
(e) choice of λ and kernels, and (f) missing data: functional_choice.py and functional_missing.py.

The papers' proximal gradient (Lambert 2021, algorithms 4.1 to 4.4; Laforgue et al. 2020) is written here: the Gram
matrix is stored, ½‖α‖² is in the smooth part, the step is 1/L, it starts at zero, has no intercept, and its gap is
looked at in each step, where it costs no product. It is stopped after ``PATIENCE`` times the time of ours; ``at_least``
says so.

Everything from the data on is timed, Gram matrices and factorisations too. Rivals take turns; ratios are medians over
the rounds of ratios within a round. Prints tables, writes JSON. Needs ``pip install "mercer[bench]"``; rivals that are
not installed are reported as such.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import statistics
import sys
import time
import warnings
from pathlib import Path

THREADS = os.environ.setdefault("OMP_NUM_THREADS", "2")
for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # they would overrule the former
    os.environ[_name] = THREADS

import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402
import scipy.sparse.linalg  # noqa: E402
from sklearn.kernel_ridge import KernelRidge  # noqa: E402

from mercer import FunctionalRegressor  # noqa: E402
from mercer.kernels import Gaussian, Identity, Laplacian  # noqa: E402
from mercer.losses import EpsilonRidge, Huber, Square  # noqa: E402
from mercer.measures import Measure  # noqa: E402
from mercer.operator_valued import Decomposable  # noqa: E402
from mercer.problems import DualProblem  # noqa: E402
from mercer.solvers import ClosedForm, plan  # noqa: E402

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = time.perf_counter

#: inputs' dimension, input and output kernel, from numerically low rank to full rank
KERNELS = {
    "smooth, d = 1": (1, Gaussian(10.0), Gaussian(10.0)),
    "smooth, d = 3": (3, Gaussian(2.0), Gaussian(50.0)),
    "rough, d = 3": (3, Laplacian(2.0), Laplacian(3.0)),
    "mixed, d = 10": (10, Gaussian(0.3), Laplacian(5.0)),
}
#: multiples of the time of ours after which the papers' proximal gradient is stopped
PATIENCE = 22.0


def curves(n: int, m: int, dimension: int, seed: int = 0) -> tuple:
    """Smooth curves that depend on x, smooth and white noise; 10 % of them are outlying. On an even grid of [0, 1]."""
    rng = np.random.default_rng(seed)
    X, theta = rng.uniform(size=(n, dimension)), np.linspace(0, 1, m)
    waves = np.stack([np.cos(k * np.pi * theta) for k in range(5)])
    Y = np.sin(2 * np.pi * (theta + X[:, :1])) + X[:, [1 % dimension]] * np.cos(4 * np.pi * theta)
    Y += 0.2 * rng.normal(size=(n, 5)) @ waves + 0.1 * rng.normal(size=(n, m))
    outlying = rng.choice(n, n // 10, replace=False)
    Y[outlying] = 3 * rng.normal(size=(len(outlying), 5)) @ waves
    return X, theta[:, None], Y


def problem_of(data, kernels, loss, alpha: float, intercept: bool = False) -> DualProblem:
    X, theta, Y = data
    measure = Measure(theta, np.full(len(theta), 1 / len(theta)))
    return DualProblem(Decomposable(*kernels).bind(measure).gram(X), loss, Y, measure, alpha, fit_intercept=intercept)


def ridge_sizes(problem: DualProblem, geometry: str) -> np.ndarray:
    """Sizes of the residuals of the ridge fit: norms of curves, or values."""
    residuals = ClosedForm().solve(problem).coef
    return problem.measure.norm(residuals) if geometry == "norm" else np.abs(residuals)


def timed(function, *arguments):
    start = clock()
    answer = function(*arguments)
    return clock() - start, answer


def in_turn(tasks: dict, rounds: int) -> tuple[dict, dict]:
    """Run all tasks in each round; return lists of seconds and the last answers."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    answers = {}
    for _ in range(rounds):
        for name, task in tasks.items():
            spent, answers[name] = timed(task)
            seconds[name].append(spent)
    return seconds, answers


def ratio(seconds: dict, name: str, unit: str) -> float:
    return statistics.median(a / b for a, b in zip(seconds[name], seconds[unit], strict=True))


# -- the papers' proximal gradient -------------------------------------------------------------------------------------


def proximal_gradient(data, kernels, loss, alpha: float, tol: float, limit: float) -> dict:
    """α ← prox(α − γ(α + K_X α W K_Θ/(λn) − Y)), γ = 1/L, until the relative gap is within tol or time is up."""
    X, theta, Y = data
    n, weight, start = len(X), 1 / len(theta), clock()
    K, T = kernels[0](X), weight * kernels[1](theta)
    top = scipy.sparse.linalg.eigsh(K, 1, return_eigenvectors=False, tol=1e-3)[0] * np.linalg.eigvalsh(T)[-1]
    L = 1 + 1.01 * top / (alpha * n)
    A, n_iter = np.zeros_like(Y), 0
    while True:
        H = K @ (A @ T)
        H /= alpha * n
        R = Y - H
        gap = relative_gap(loss, A, R, H, Y, weight)
        if gap <= tol or clock() - start > limit:
            return {"seconds": clock() - start, "n_iter": n_iter, "relative_gap": gap, "L": L}
        n_iter += 1
        R -= A
        R /= L
        R += A
        A = shrink(loss, R, 1 / L, weight)


def sizes(loss, array: np.ndarray, weight: float) -> np.ndarray:
    return np.sqrt(weight * np.einsum("ij,ij->i", array, array))[:, None] if loss.geometry == "norm" else np.abs(array)


def shrink(loss, Z: np.ndarray, step: float, weight: float) -> np.ndarray:
    """Projection on |α| ≤ κ for Huber, soft threshold for ε-ridge, of curves or entries."""
    size = sizes(loss, Z, weight)
    if isinstance(loss, Huber):
        return Z * np.minimum(1, loss.kappa / np.maximum(size, 1e-300))
    return Z * np.maximum(1 - step * loss.epsilon / np.maximum(size, 1e-300), 0)


def relative_gap(loss, A, R, H, Y, weight: float) -> float:
    """(P − D)/max(P, D) from residuals and predictions."""
    r, a = sizes(loss, R, weight), sizes(loss, A, weight)
    mean = (lambda x: float(x.mean())) if loss.geometry == "norm" else (lambda x: float(weight * x.sum() / len(x)))
    if isinstance(loss, Huber):
        c = np.minimum(r, loss.kappa)
        risk, conjugate = mean(c * (r - 0.5 * c)), mean(0.5 * a * a)
    else:
        risk, conjugate = mean(0.5 * np.maximum(r - loss.epsilon, 0) ** 2), mean(a * (0.5 * a + loss.epsilon))
    half = 0.5 * weight * float(np.vdot(A, H)) / len(A)
    primal, dual = risk + half, weight * float(np.vdot(A, Y)) / len(A) - conjugate - half
    return (primal - dual) / max(abs(primal), abs(dual))


# -- (a) Huber in units of ridge ---------------------------------------------------------------------------------------


def huber_rows(quick: bool, rounds: int) -> list[dict]:
    n, m = (100, 30) if quick else (400, 100)
    table = []
    for name, (dimension, *kernels) in KERNELS.items():
        data = curves(n, m, dimension)
        for intercept in (False, True):
            for alpha in (1e-2, 1e-3, 1e-4, 1e-5):
                table += huber_group(data, kernels, alpha, intercept, rounds, {"kernels": name})
    return table


def huber_group(data, kernels, alpha: float, intercept: bool, rounds: int, row: dict) -> list[dict]:
    """One row for each geometry and κ at some λ; all of them and ridge take turns."""

    def solve(loss):
        problem = problem_of(data, kernels, loss, alpha, intercept)
        return plan(ClosedForm() if isinstance(loss, Square) else "auto", problem, 1e-4).solve()

    losses = {}
    for geometry in ("norm", "pointwise"):
        size = ridge_sizes(problem_of(data, kernels, Square(), alpha, intercept), geometry)
        for share in (0.5, 0.8, 0.95):
            losses[geometry, share] = Huber(float(np.quantile(size, share)), geometry)
    tasks = {"ridge": lambda: solve(Square())} | {key: (lambda loss=loss: solve(loss)) for key, loss in losses.items()}
    seconds, answers = in_turn(tasks, rounds)
    table = []
    for key, loss in losses.items():
        result = answers[key]
        table.append(
            row
            | {"intercept": intercept, "alpha": alpha, "geometry": key[0], "share": key[1], "kappa": loss.kappa}
            | {"ridge_seconds": statistics.median(seconds["ridge"]), "seconds": statistics.median(seconds[key])}
            | {"ratio": ratio(seconds, key, "ridge"), "target": 5.0, "n_iter": result.n_iter}
            | {"relative_gap": result.relative_gap, "solver": type(result.solver).__name__}
        )
        if not intercept and key[1] == 0.8:
            table[-1] |= rival_columns(data, kernels, loss, alpha, 1e-4, table[-1]["seconds"])
    return table


def rival_columns(data, kernels, loss, alpha: float, tol: float, seconds: float) -> dict:
    """Run the papers' proximal gradient once and return its time in units of ours."""
    rival = proximal_gradient(data, kernels, loss, alpha, tol, PATIENCE * seconds)
    return {
        "L": rival["L"],
        "rival_n_iter": rival["n_iter"],
        "rival_seconds": rival["seconds"],
        "times_faster": rival["seconds"] / seconds,
        "at_least": rival["relative_gap"] > tol,
    }


# -- (b) ε-ridge against the papers' proximal gradient -----------------------------------------------------------------


def epsilon_rows(quick: bool, rounds: int) -> list[dict]:
    n, m = (300, 50) if quick else (2000, 200)
    table = []
    for name in ("smooth, d = 3", "rough, d = 3"):
        dimension, *kernels = KERNELS[name]
        data = curves(n, m, dimension)
        for alpha in (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
            for geometry in ("norm", "pointwise"):
                size = ridge_sizes(problem_of(data, kernels, Square(), alpha), geometry)
                for share in (0.3, 0.9):
                    loss = EpsilonRidge(float(np.quantile(size, share)), geometry)
                    row = {"kernels": name, "alpha": alpha, "geometry": geometry, "share": share}
                    table.append(row | epsilon_row(data, kernels, loss, alpha, rounds))
    return table


def epsilon_row(data, kernels, loss, alpha: float, rounds: int) -> dict:
    def ours():
        problem = problem_of(data, kernels, loss, alpha)
        return plan("auto", problem, 1e-6).solve()

    runs = []
    for _ in range(rounds):
        seconds, result = timed(ours)
        runs.append({"seconds": seconds} | rival_columns(data, kernels, loss, alpha, 1e-6, seconds))
        if runs[-1]["at_least"]:  # far from ours: once is enough
            break
    median = sorted(runs, key=lambda run: run["times_faster"])[len(runs) // 2]
    return median | {
        "target": 20.0 if median["L"] >= 1000 else 1.0,
        "n_iter": result.n_iter,
        "relative_gap": result.relative_gap,
        "solver": type(result.solver).__name__,
        "zero_rows": float(np.mean(np.all(result.coef == 0, axis=1))),
    }


# -- (c) kernel ridge regression with many outputs ---------------------------------------------------------------------


def kernel_ridge_rows(quick: bool, rounds: int) -> list[dict]:
    table = []
    for n, m in ((200, 20), (500, 50)) if quick else ((500, 50), (1000, 20), (2000, 200)):
        X, _, Y = curves(n, m, 3)
        alpha, measure = 1e-3, Measure(np.arange(float(m)), np.ones(m))

        def problem(X=X, Y=Y, alpha=alpha, measure=measure):
            gram = Decomposable(Gaussian(2.0), Identity()).bind(measure).gram(X)
            built = DualProblem(gram, Square(), Y, measure, alpha)
            return built.predict(ClosedForm().solve(built).coef)

        model = FunctionalRegressor(Gaussian(2.0), output_kernel=Identity(), alpha=alpha, fit_intercept=False)
        rival = KernelRidge(alpha=alpha * n, kernel="rbf", gamma=2.0)
        tasks = {
            "KernelRidge": lambda rival=rival, X=X, Y=Y: rival.fit(X, Y),
            "ClosedForm": problem,
            "FunctionalRegressor": lambda model=model, X=X, Y=Y: model.fit(X, Y),
        }
        seconds, answers = in_turn(tasks, rounds)
        expected = rival.predict(X)
        found = {"ClosedForm": answers["ClosedForm"], "FunctionalRegressor": model.predict(X)}
        for name, predictions in found.items():
            table.append(
                {"n": n, "m": m, "what": name, "seconds": statistics.median(seconds[name])}
                | {"rival_seconds": statistics.median(seconds["KernelRidge"])}
                | {"ratio": ratio(seconds, name, "KernelRidge"), "target": 1.2}
                | {"largest_difference": float(np.max(np.abs(predictions - expected)))}
            )
    return table


# -- (d) other libraries -----------------------------------------------------------------------------------------------


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def group_lasso_rows(quick: bool, rounds: int) -> list[dict]:
    """½Tr(K̃WWᵀ) − Tr(VᵀW) + ε‖W‖₂₁ = ½‖LᵀW − L⁻¹V‖² + ε‖W‖₂₁ + constant, K̃ = LLᵀ = K_X/(λn) + I and V = Y."""
    if not installed("celer"):
        return [{"what": "celer MultiTaskLasso", "note": "not installed"}]
    n, m = (60, 10) if quick else (200, 20)
    X, _, Y = curves(n, m, 3)
    measure, table = Measure(np.arange(float(m)), np.ones(m)), []
    for alpha in (1e-2, 1e-3, 1e-4):
        for share in (0.3, 0.9):

            def problem(loss, alpha=alpha):
                gram = Decomposable(Gaussian(2.0), Identity()).bind(measure).gram(X)
                return DualProblem(gram, loss, Y, measure, alpha)

            epsilon = float(np.quantile(ridge_sizes(problem(Square()), "norm"), share))
            row = {"what": "celer MultiTaskLasso", "alpha": alpha, "share": share}
            table.append(row | group_lasso_row(X, Y, problem, EpsilonRidge(epsilon), alpha, rounds))
    return table


def group_lasso_row(X, Y, problem, loss, alpha: float, rounds: int, tol: float = 1e-4) -> dict:
    from celer.homotopy import mtl_path  # what MultiTaskLasso runs; that class lags behind scikit-learn's interface

    def ours():
        built = problem(loss)
        return plan("auto", built, tol).solve()

    def rival(rival_tol):
        n = len(X)
        factor = np.linalg.cholesky(Gaussian(2.0)(X) / (alpha * n) + np.eye(n))
        targets = np.asfortranarray(scipy.linalg.solve_triangular(factor, Y, lower=True))
        path = mtl_path(np.asfortranarray(factor.T), targets, alphas=[loss.epsilon / n], tol=rival_tol, max_iter=1000)
        return np.ascontiguousarray(path[1][..., 0].T)

    built = problem(loss)
    for rival_tol in 10.0 ** -np.arange(3, 10):  # its tolerance is in other units: take the largest that will do
        spent, coef = timed(rival, rival_tol)
        gap = built.certificate(coef).relative_gap
        if gap <= tol or spent > 20:
            break
    seconds, answers = in_turn({"ours": ours, "rival": lambda: rival(rival_tol)}, 1 if spent > 20 else rounds)
    return {
        "seconds": statistics.median(seconds["ours"]),
        "rival_seconds": statistics.median(seconds["rival"]),
        "times_faster": ratio(seconds, "rival", "ours"),
        "relative_gap": answers["ours"].relative_gap,
        "rival_gap": gap,
        "zero_rows": float(np.mean(np.all(answers["ours"].coef == 0, axis=1))),
    }


def functional_data_rows(quick: bool, rounds: int) -> list[dict]:
    """Curves from curves: x_i(t) of three random scores, y_i a nonlinear function of them, some curves outlying."""
    if not installed("skfda"):
        return [{"what": "scikit-fda", "note": "not installed"}]
    import skfda
    from skfda.ml.regression import KNeighborsRegressor

    n, m = (100, 30) if quick else (400, 100)
    scores, theta, Y = curves(2 * n, m, 3)
    truth = np.sin(2 * np.pi * (theta.T + scores[:, :1])) + scores[:, [1]] * np.cos(4 * np.pi * theta.T)
    X = scores @ np.stack([np.sqrt(2) * np.sin((k + 1) * np.pi * theta[:, 0]) for k in range(3)])
    inputs, outputs = (skfda.FDataGrid(array, theta[:, 0]) for array in (X, Y))

    def neighbours(count):
        model = KNeighborsRegressor(n_neighbors=count).fit(inputs[:n], outputs[:n])
        return model.predict(inputs[n:]).data_matrix[:, :, 0]

    def ours(loss):
        model = FunctionalRegressor(loss=loss).fit(inputs[:n], outputs[:n])
        return model.predict(inputs[n:]).data_matrix[:, :, 0]

    tasks = {f"{count} neighbours (scikit-fda)": (lambda count=count: neighbours(count)) for count in (5, 20)}
    tasks |= {f"FunctionalRegressor, {loss}": (lambda loss=loss: ours(loss)) for loss in ("square", "huber")}
    seconds, answers = in_turn(tasks, min(rounds, 3))
    return [
        {
            "what": name,
            "seconds": statistics.median(seconds[name]),
            "squared_error": float(np.mean((answers[name] - truth[n:]) ** 2)),
        }
        for name in tasks
    ]


# -- tables ------------------------------------------------------------------------------------------------------------


def choice_rows(quick: bool, rounds: int) -> list[dict]:
    import functional_choice

    functional_choice.clock = clock
    return functional_choice.rows(quick, rounds)


def missing_rows(quick: bool, rounds: int) -> list[dict]:
    import functional_missing

    return functional_missing.rows(quick, rounds)


PARTS = {
    "a": ("Huber in units of the square-loss fit", [huber_rows]),
    "b": ("ε-ridge against the papers' proximal gradient", [epsilon_rows]),
    "c": ("kernel ridge regression with many outputs, in units of KernelRidge", [kernel_ridge_rows]),
    "d": ("other libraries", [group_lasso_rows, functional_data_rows]),
    "e": ("choice of λ and kernels, in units of the two eigendecompositions", [choice_rows]),
    "f": ("missing data, in units of the complete grid", [missing_rows]),
}


def show(rows: list[dict]) -> None:
    columns = list(rows[0])
    columns += [column for column in dict.fromkeys(key for row in rows for key in row) if column not in columns]
    lines = [columns] + [[cell_of(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(columns))]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)), flush=True)


def worst_rows(rows: list[dict]) -> list[dict]:
    """The largest ratio for each pair of kernels, intercept, λ and geometry."""
    worst: dict[tuple, dict] = {}
    for row in rows:
        key = tuple(row[name] for name in ("kernels", "intercept", "alpha", "geometry"))
        if key not in worst or row["ratio"] > worst[key]["ratio"]:
            worst[key] = row
    return list(worst.values())


def cell_of(value) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def verdict(rows: list[dict]) -> str:
    """How many rows with a target meet it: ratios from above, factors of speed from below."""
    judged = [row for row in rows if row.get("target") is not None]
    met = [row["ratio"] <= row["target"] if "ratio" in row else row["times_faster"] >= row["target"] for row in judged]
    return f"{sum(met)} of {len(met)} targets met" if met else ""


def main() -> None:
    global clock  # noqa: PLW0603  one clock for a run, chosen on the command line
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rounds", type=int, help="interleaved rounds; 5 by default, 1 with --quick")
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "functional.json")
    options = parser.parse_args()
    clock = CLOCKS[options.clock]
    rounds = options.rounds or (1 if options.quick else 5)
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(Path(__file__).parent))
    report: dict = {"threads": THREADS, "clock": options.clock, "quick": options.quick, "rounds": rounds}
    for part in options.parts:
        title, functions = PARTS[part]
        print(f"\n({part}) {title}")
        report[part] = []
        for function in functions:
            rows = function(options.quick, rounds)
            for row in rows if options.quick else []:  # targets are for full sizes
                row.pop("target", None)
            show(worst_rows(rows) if part == "a" else rows)
            print(verdict(rows))
            report[part] += rows
    report["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=2) + "\n")
    print(f"\nwritten to {options.output}")


if __name__ == "__main__":
    main()
