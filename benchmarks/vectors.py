"""Vectors as outputs: ridge, learned output matrices, leave-one-out and simplex codes against scikit-learn.

    OMP_NUM_THREADS=1 python benchmarks/vectors.py            # about two minutes on one core
    OMP_NUM_THREADS=1 python benchmarks/vectors.py --quick    # small sizes, without targets

(a) ``VectorValuedRegressor`` with Γ = I and given kernel and λ against ``KernelRidge``, n = 2 000, p = 10: target 1.2;
(b) leave-one-out errors of 50 λ in units of one eigendecomposition of the same matrix: target 2, for a kernel that
    decomposes, and in blocks for one that does not;
(c) a learned Γ at n = 2 000, p = 50, with a given kernel, in units of one fit of ``KernelRidge``: target 20;
(d) ``SimplexClassifier`` with all its choices on digits, against ``SVC`` (one against one) with a grid of 5 × 5 values
    of C and gamma and 5 folds: target a fifth of its time at equal error.

Everything is CPU time; rivals take turns, and ratios are medians of ratios within a round. Prints a table, writes JSON.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import SVC

from mercer import SimplexClassifier, VectorValuedRegressor
from mercer.kernels import Gaussian, Identity
from mercer.losses import Square
from mercer.measures import Measure
from mercer.operator_valued import Decomposable, MatrixValuedKernel
from mercer.problems import DualProblem
from mercer.solvers import leave_one_out_errors


@dataclass(eq=False, repr=False)
class Turning(MatrixValuedKernel):
    """exp(−γ‖x − z‖²) R(x)R(z)ᵀ with rotations R by the first column: a kernel that does not decompose."""

    gamma: float = 1.0

    def blocks(self, X, Z):
        angle = X[:, :1] - Z[:, :1].T
        turn = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1)
        return Gaussian(self.gamma)(X, Z)[:, :, None, None] * turn.reshape(*angle.shape, 2, 2)


def seconds(function) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def compare(name: str, target: float, ours, theirs, rounds: int, **facts) -> dict:
    """Median ratio of the times of two calls that take turns."""
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in pairs)
    mine, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {"name": name, "ours_s": mine, "theirs_s": other, "ratio": ratio, "target": target, **facts}


def tasks(n: int, p: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in R⁵ and p outputs that are mixtures of five functions, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.sin(X @ rng.normal(size=(5, 5))) @ rng.normal(size=(5, p)) + 0.3 * rng.normal(size=(n, p))


def ridge(n: int, rounds: int) -> dict:
    X, Y = tasks(n, 10)
    ours, theirs = VectorValuedRegressor(Gaussian(0.2), alpha=1e-3), KernelRidge(1e-3 * n, kernel="rbf", gamma=0.2)
    return compare(
        f"identity, n = {n}, p = 10 / KernelRidge", 1.2, lambda: ours.fit(X, Y), lambda: theirs.fit(X, Y), rounds
    )


def leave_one_out(n: int, rounds: int) -> list[dict]:
    alphas, rows = np.logspace(-6, 0, 50), []
    for name, kernel, size in (
        ("decomposes", Decomposable(Gaussian(0.2), Identity()), n),
        ("does not decompose", Turning(0.2), n // 2),
    ):
        X, Y = tasks(size, 2)
        measure = Measure(np.arange(2.0), np.ones(2))
        gram = kernel.bind(measure).gram(X)
        problem = DualProblem(gram, Square(), Y, measure, 1.0, fit_intercept=True)
        matrix = Gaussian(0.2)(X) if gram.decomposes else gram.to_dense()
        rows.append(
            compare(
                f"50 λ, {name}, {len(matrix)} numbers / eigh",
                2.0,
                lambda problem=problem: leave_one_out_errors(problem, alphas),
                lambda matrix=matrix: scipy.linalg.eigh(matrix),
                rounds,
            )
        )
    return rows


def learned(n: int, rounds: int) -> dict:
    X, Y = tasks(n, 50)
    ours = VectorValuedRegressor(Gaussian(0.2), output_matrix="learned")
    theirs = KernelRidge(1e-3 * n, kernel="rbf", gamma=0.2)
    return compare(
        f"learned, n = {n}, p = 50 / KernelRidge", 20.0, lambda: ours.fit(X, Y), lambda: theirs.fit(X, Y), rounds
    )


def digits(rounds: int) -> dict:
    X, y = load_digits(return_X_y=True)
    train, test, own, others = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    grid = {"C": [0.1, 1, 10, 100, 1000], "gamma": [1e-5, 1e-4, 3e-4, 1e-3, 3e-3]}
    ours = SimplexClassifier()
    theirs = GridSearchCV(SVC(decision_function_shape="ovo"), grid, cv=5)
    row = compare("digits, tuned / SVC", 0.2, lambda: ours.fit(train, own), lambda: theirs.fit(train, own), rounds)
    return row | {"error": 1 - ours.score(test, others), "their_error": 1 - theirs.score(test, others)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/vectors.json"))
    options = parser.parse_args()
    n = 400 if options.quick else 2000
    rows = [ridge(n, options.rounds), *leave_one_out(n, options.rounds), learned(n, options.rounds)]
    rows += [] if options.quick else [digits(1)]
    for row in rows:
        errors = f"  errors {row['error']:.4f}, {row['their_error']:.4f}" if "error" in row else ""
        print(
            f"{row['name']:<48} {row['ours_s']:7.2f} s  {row['theirs_s']:7.2f} s  ratio {row['ratio']:6.2f}  "
            f"target {row['target']:g}{errors}"
        )
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
