"""Structured outputs: ε-ridge in the factor of K_Y against the papers' algorithm and group lassos; ranking.

    OMP_NUM_THREADS=1 python benchmarks/structured.py --data DIR            # half an hour, most of it rivals
    OMP_NUM_THREADS=1 python benchmarks/structured.py --data DIR --quick    # small sizes

(a) The dual of ε-ridge (Laforgue et al., 2020, D1), YEAST (n = 1 500, 14 columns, λ by λ, ε by ε) and made data with
    n = 5 000, to a relative gap of 1e-6: what ``solver="auto"`` takes, each of our solvers, the papers' proximal
    gradient (a constant step, no momentum) and, after a Cholesky factorisation K_X/(λn) + I = AᵀA, ``MultiTaskLasso``
    of celer and skglm with design A. Rivals stop by rules of their own; their gap is that of our certificate.
    Targets: 20 × the papers' algorithm, at most 1.5 × the time of either lasso.
(b) 1 000 rows ranked among 10 000 encoded candidates, in units of the product of predictions with candidates that this
    contains: 1.2; and in units of that and the product that predictions are made by.
(c) ε-insensitive regression of made data with and without safe screening: CPU time, and multiplications of products.

CPU seconds; what takes longer than ``--patience`` is stopped, and the time until then is a lower bound.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg

from mercer import InputOutputKernelRegressor
from mercer.kernels import Gaussian
from mercer.linalg import Dense, Kronecker
from mercer.losses import EpsilonRidge
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import ADMM, FactoredADMM, ProximalGradient, SafeScreening, SubspaceNewton, plan, select

TOL = 1e-6
EVERY = 25


def seconds(function) -> tuple[float, object]:
    """CPU seconds of a call, and what it returned."""
    start = time.process_time()
    value = function()
    return time.process_time() - start, value


def made(n: int) -> tuple[np.ndarray, np.ndarray]:
    """A kernel matrix that decays slowly, of 20 columns, and 14 noisy outputs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    Y = np.sin(X @ rng.normal(size=(20, 14)) / 2) + 0.3 * rng.normal(size=(n, 14))
    return Gaussian(0.02)(X), Y


def yeast(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The training part of YEAST with the kernel of the paper."""
    with np.load(folder / "yeast_multilabel.npz") as data:
        return Gaussian(1.0)(data["X_train"]), data["Y_train"].astype(float)


def papers(problem: DualProblem, K: np.ndarray, patience: float) -> tuple[float, float]:
    """Proximal gradient with step 1/‖K̃‖; CPU seconds and gap at the end."""
    n, epsilon, scale = len(K), problem.loss.epsilon, problem.scale
    start = time.process_time()
    step = 1 / (1 + scale * float(scipy.linalg.eigh(K, eigvals_only=True, subset_by_index=[n - 1, n - 1])[0]))
    W = np.zeros(problem.shape)
    for k in range(10**9):
        H = scale * (K @ W)
        if k % EVERY == 0:
            gap = problem.certificate(W, H).visible_gap
            if gap <= TOL or time.process_time() - start > patience:
                return time.process_time() - start, gap
        Z = W - step * (H + W - problem.Y)
        norms = np.linalg.norm(Z, axis=1, keepdims=True)
        W = Z * np.maximum(0, 1 - step * epsilon / np.maximum(norms, 1e-300))
    raise AssertionError


def lasso(name: str, problem: DualProblem, K: np.ndarray) -> tuple[float, float]:
    """The same as a group lasso; CPU seconds, with the Cholesky factorisation, and gap."""
    n = len(K)

    def solve():
        whole = problem.scale * K
        whole[np.diag_indices(n)] += 1
        A = np.asfortranarray(scipy.linalg.cholesky(whole, lower=False))
        T = np.asfortranarray(scipy.linalg.solve_triangular(A, problem.Y, trans="T"))
        return group_lasso(name, A, T, problem.loss.epsilon / n)

    taken, W = seconds(solve)
    return taken, problem.certificate(W).relative_gap


def group_lasso(name: str, A: np.ndarray, T: np.ndarray, penalty: float) -> np.ndarray:
    """Coefficients (n, r); tolerances are those that leave gaps of ours near 1e-6."""
    if name == "celer":  # its estimator asks for an older scikit-learn; this is what it calls
        from celer.homotopy import mtl_path

        return np.ascontiguousarray(mtl_path(A, T, alphas=[penalty], tol=1e-5, max_iter=100)[1][..., 0].T)
    from skglm import MultiTaskLasso

    return np.ascontiguousarray(MultiTaskLasso(penalty, fit_intercept=False, tol=1e-6, max_iter=100).fit(A, T).coef_.T)


def compare(name, K, Y, alpha, epsilon, rounds, patience, rivals) -> dict:
    """All methods on one problem; ours are medians of rounds."""
    p = Y.shape[1]
    measure = Measure(np.arange(float(p)), np.ones(p))
    problem = DualProblem(Kronecker(Dense(K), Dense(np.eye(p))), EpsilonRidge(epsilon), Y, measure, alpha)
    auto = select(problem, TOL)
    row: dict = {"problem": name, "λ": alpha, "ε": epsilon, "auto": type(auto).__name__}
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        for solver in (None, SubspaceNewton(TOL), FactoredADMM(TOL), ProximalGradient(TOL), ADMM(TOL)):
            if isinstance(solver, ADMM) and len(K) > 2000:
                continue
            if solver is None:
                taken, result = seconds(lambda: plan("auto", problem, TOL).solve())
            else:
                taken, result = seconds(lambda s=solver: s.solve(problem))
            assert result.converged, result.message
            times.setdefault("auto, s" if solver is None else type(solver).__name__, []).append(taken)
            if solver is None:
                row["zero rows"] = float(np.mean(~np.any(result.coef != 0, axis=1)))
    row |= {key: statistics.median(value) for key, value in times.items()}
    row["papers, s"], row["papers, gap"] = papers(problem, K, patience)
    row["papers / ours"] = row["papers, s"] / row["auto, s"]
    for rival in rivals:
        row[f"{rival}, s"], row[f"{rival}, gap"] = lasso(rival, problem, K)
        row[f"ours / {rival}"] = row["auto, s"] / row[f"{rival}, s"]
    return row


def ranking(n: int, m: int, k: int, rounds: int) -> dict:
    """Ten best of m encoded candidates for k rows, in units of the product."""
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 5)), rng.normal(size=(n, 8))
    model = InputOutputKernelRegressor(Gaussian(0.1), Gaussian(0.1), alpha=1e-4).fit(X, Z)
    candidates, new = model.encode(rng.normal(size=(m, 8))), rng.normal(size=(k, 5))
    h, sections = model.dual_coef_[:1].repeat(k, axis=0), rng.normal(size=(k, len(model.X_fit_)))
    pairs = []
    for _ in range(rounds):
        product, _ = seconds(lambda: h @ candidates.coordinates.T)
        predicted, _ = seconds(lambda: sections @ model.dual_coef_)
        scored, _ = seconds(lambda: model.score_candidates(new, candidates))
        ranked, _ = seconds(lambda: model.rank(new, candidates, 10))
        pairs.append((product, predicted, scored, ranked))
    product, predicted, scored, ranked = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "n": n,
        "candidates": m,
        "rows": k,
        "dimensions": candidates.coordinates.shape[1],
        "product, s": product,
        "scores / product": scored / product,
        "ranking / product": ranked / product,
        "ranking / both products": ranked / (product + predicted),
    }


def screening(n: int, epsilon: float) -> dict:
    """The proximal gradient method alone and within rounds of safe screening, to the same gap."""
    K, Y = made(n)
    p = Y.shape[1]
    measure = Measure(np.arange(float(p)), np.ones(p))
    problem = DualProblem(Kronecker(Dense(K), Dense(np.eye(p))), EpsilonRidge(epsilon), Y, measure, 1e-3)
    alone, plain = seconds(lambda: ProximalGradient(TOL).solve(problem))
    within, safe = seconds(lambda: SafeScreening(TOL).solve(problem))
    return {
        "n": n,
        "ε": epsilon,
        "zero rows": float(np.mean(~np.any(plain.coef != 0, axis=1))),
        "alone, s": alone,
        "screened, s": within,
        "screened / alone": within / alone,
        "gaps": (plain.relative_gap, safe.relative_gap),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--patience", type=float, default=120.0)
    parser.add_argument("--rivals", nargs="*", default=["celer", "skglm"])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "structured.json")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for rival in given.rivals:  # compiled by numba before they are timed
        group_lasso(rival, np.asfortranarray(np.eye(5)), np.asfortranarray(np.eye(5)), 0.1)
    rows = []
    if given.quick:
        K, Y = made(300)
        rows.append(compare("made, 300", K, Y, 1e-2, 1.0, 1, 5.0, given.rivals))
        ranks = ranking(200, 500, 100, 1)
    else:
        K, Y = yeast(given.data)
        for alpha, epsilon in ((1e-4, 0.6), (1e-3, 1.2), (1e-2, 1.2)):
            rows.append(compare("YEAST", K, Y, alpha, epsilon, 3, given.patience, given.rivals))
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
        K, Y = made(5000)
        for alpha in (1e-2, 1e-3, 1e-4):
            rows.append(compare("made, 5 000", K, Y, alpha, 1.0, 1, given.patience, []))
            print(json.dumps(rows[-1], ensure_ascii=False), flush=True)
        ranks = ranking(1500, 10_000, 1000, 5)
    print(json.dumps(ranks, ensure_ascii=False))
    screened = [screening(300 if given.quick else 2000, epsilon) for epsilon in (1.0, 2.0, 3.0)]
    print(json.dumps(screened, ensure_ascii=False))
    given.output.parent.mkdir(parents=True, exist_ok=True)
    given.output.write_text(
        json.dumps({"d1": rows, "ranking": ranks, "screening": screened}, indent=2, ensure_ascii=False) + "\n"
    )


if __name__ == "__main__":
    main()
