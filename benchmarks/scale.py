"""Large n: square loss and quantiles in features, over blocks of rows, against scikit-learn and LightGBM.

    OMP_NUM_THREADS=1 python benchmarks/scale.py            # a million rows, about 20 minutes of one core
    OMP_NUM_THREADS=1 python benchmarks/scale.py --quick    # small sizes, without targets

(a) ``NormalEquations``, d = 20, p = 10 outputs, 1 000 features (pairs of cosine and sine): the rate of the dominant
    product in units of a general product of the same block measured in the same process (target 0.6, a symmetric
    product does half of the multiplications), peak memory (1.5 GB), 50 values of λ in units of one (1.1), growth from a
    tenth of the rows (slope of time 1.05), and ``RBFSampler`` + ``Ridge`` with as many features (never slower, at half
    the memory; it is measured at a fifth of the rows, as it keeps all features);
(b) 20 quantile levels, d = 20: ``StreamedADMM`` to a certified relative gap of 1e-2, and nine models of LightGBM:
    time, held-out loss at the nine levels (target 1.02), crossings of the 20 levels.

Everything is CPU time, each measurement in a process of its own, whose peak memory is that of all it does, the data
included. Targets are smooth, with noise whose size depends on the inputs. Prints tables, writes JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

D_INPUTS, N_OUTPUTS, N_LEVELS = 20, 10, 20
#: λ of the quantiles
ALPHA = 1e-6
NINE = np.arange(1, 10) / 10


def made(n: int, seed: int, dtype=np.float64, target: str = "axes") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, their mean response, and noise of a size that depends on them: along few axes, or along directions."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, D_INPUTS))
    noise = 0.3 * rng.normal(size=n)
    if target == "axes":
        mean, size = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2, np.exp(0.5 * X[:, 4])
    else:
        Z = X @ np.linalg.qr(np.random.default_rng(3).normal(size=(D_INPUTS, 3)))[0] * math.sqrt(3)
        mean, size = Z[:, 0] + np.sin(Z[:, 1]), np.exp(0.3 * Z[:, 2])
    return X.astype(dtype), mean, size * noise


class Waves:
    """Pairs of cosine and sine of random frequencies: features of a Gaussian kernel."""

    def __init__(self, n_features: int, dtype) -> None:
        width = 2 * math.sqrt(D_INPUTS / 3)  # in units of typical distances
        frequencies = np.random.default_rng(7).normal(size=(D_INPUTS, n_features // 2)) / width
        self.frequencies, self.size = frequencies.astype(dtype), dtype(math.sqrt(2 / n_features))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        angles = X @ self.frequencies
        values = np.empty((len(X), 2 * angles.shape[1]), dtype=angles.dtype)
        np.cos(angles, out=values[:, : angles.shape[1]])
        np.sin(angles, out=values[:, angles.shape[1] :])
        values *= self.size
        return values


# -- measurements, each in a process of its own -----------------------------------------------------------------------


def seconds(function) -> tuple[float, object]:
    """CPU seconds of a call, and what it returns."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def ridge(n: int, n_features: int, single: bool) -> dict:
    """Normal equations from arrays, 50 λ against one, and the rates of the two products."""
    from mercer.kernels import FeatureKernel
    from mercer.linalg import Moments
    from mercer.measures import Measure
    from mercer.rows import ArrayRows
    from mercer.solvers import NormalEquations

    dtype = np.float32 if single else np.float64
    X, mean, noise = made(n, 0, dtype)
    Y = (mean + noise)[:, None] * np.linspace(0.5, 1.5, N_OUTPUTS)
    kernel = FeatureKernel(Waves(n_features, dtype))
    equations = NormalEquations(kernel, Measure(np.arange(float(N_OUTPUTS)), np.ones(N_OUTPUTS)))
    one_pass, _ = seconds(lambda: equations.read(ArrayRows(X, Y)))
    alphas = np.logspace(-7, 0, 50)
    one, path = seconds(lambda: equations.solve([1e-5]).fit(1e-5))
    fifty, path = seconds(lambda: equations.solve(alphas))
    fifty += seconds(lambda: path.generalised_errors)[0]
    best = alphas[int(np.argmin(path.generalised_errors))]
    fit = path.fit(best)
    X, mean, _ = made(10_000, 1, dtype)
    predicted = kernel.features(X) @ fit.coef + fit.intercept
    error = float(np.sqrt(np.mean((predicted[:, 4] / np.linspace(0.5, 1.5, N_OUTPUTS)[4] - mean) ** 2)))
    block = kernel.features(X[:4096])
    targets = np.zeros((len(block), N_OUTPUTS))
    square = np.ones((n_features, n_features), dtype=dtype)
    moments = Moments(n_features, N_OUTPUTS)
    general, symmetric = (
        min(seconds(function)[0] for _ in range(5))
        for function in (lambda: block @ square, lambda: moments.update(block, targets))
    )
    rates = 2 * len(block) * n_features**2 / general / 1e9, len(block) * (n_features + N_OUTPUTS) ** 2 / symmetric / 1e9
    return {
        "pass": one_pass, "one": one_pass + one, "fifty": one_pass + fifty, "error": error, "alpha": best,
        "general_rate": rates[0], "symmetric_rate": rates[1],
    }  # fmt: skip


def sampler(n: int, n_features: int, single: bool) -> dict:
    """``RBFSampler`` and ``Ridge`` on the same data."""
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    X, mean, noise = made(n, 0, np.float32 if single else np.float64)
    Y = (mean + noise)[:, None] * np.linspace(0.5, 1.5, N_OUTPUTS)
    model = make_pipeline(RBFSampler(gamma=0.5 / (4 * D_INPUTS / 3), n_components=n_features), Ridge(1e-5 * n))
    spent, _ = seconds(lambda: model.fit(X, Y))
    X, mean, _ = made(10_000, 1, X.dtype.type)
    error = float(np.sqrt(np.mean((model.predict(X)[:, 4] / np.linspace(0.5, 1.5, N_OUTPUTS)[4] - mean) ** 2)))
    return {"one": spent, "error": error}


def pinball(Y: np.ndarray, Q: np.ndarray, levels: np.ndarray) -> float:
    """Mean pinball loss."""
    r = Y[:, None] - Q
    return float(np.mean(np.maximum(levels * r, (levels - 1) * r)))


def quantiles(n: int, n_features: int, single: bool, target: str) -> dict:
    """20 levels at once; the nine of the rival are read off the straight lines between them."""
    from mercer.kernels import FeatureKernel, Gaussian
    from mercer.linalg import right_factor
    from mercer.losses import Pinball
    from mercer.measures import Measure
    from mercer.problems import FeatureProblem
    from mercer.rows import ArrayRows
    from mercer.solvers import StreamedADMM

    dtype = np.float32 if single else np.float64
    X, mean, noise = made(n, 0, dtype, target)
    levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
    measure = Measure(levels, np.full(N_LEVELS, 1 / N_LEVELS))
    factor = right_factor(Gaussian(4.0)(levels[:, None], levels[:, None]), measure.weights, 1e-6)
    kernel = FeatureKernel(Waves(n_features, dtype))
    start = time.process_time()
    problem = FeatureProblem((kernel, ArrayRows(X, mean + noise)), Pinball(), measure, ALPHA, factor, True)
    result = StreamedADMM(tol=1e-2).solve(problem)
    spent = time.process_time() - start
    X, mean, noise = made(50_000, 1, dtype, target)
    Q = problem.predict(kernel.features(X).astype(float), result.coef, result.intercept)
    at_nine = np.stack([np.interp(NINE, levels, row) for row in Q])
    return {
        "one": spent, "gap": result.relative_gap, "steps": result.n_iter, "columns": factor.shape[1],
        "loss": pinball(mean + noise, at_nine, NINE), "crossings": int(np.count_nonzero(np.diff(Q, axis=1) < 0)),
    }  # fmt: skip


def boosting(n: int, n_features: int, single: bool, target: str) -> dict:
    """Nine models of LightGBM as they come."""
    from lightgbm import LGBMRegressor

    X, mean, noise = made(n, 0, target=target)
    start = time.process_time()
    models = [
        LGBMRegressor(objective="quantile", alpha=level, n_jobs=1, verbose=-1).fit(X, mean + noise) for level in NINE
    ]
    spent = time.process_time() - start
    X, mean, noise = made(50_000, 1, target=target)
    Q = np.column_stack([model.predict(X) for model in models])
    return {"one": spent, "loss": pinball(mean + noise, Q, NINE), "crossings": int((np.diff(Q, axis=1) < 0).sum())}


WORK = {function.__name__: function for function in (ridge, sampler, quantiles, boosting)}


def measured(name: str, n: int, n_features: int, single: bool = False, *target: str) -> dict:
    """Run a measurement in a process of its own; add its peak memory."""
    command = [sys.executable, __file__, "--work", name, str(n), str(n_features), str(int(single)), *target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"work": name, "n": n, "features": n_features, "failed": done.stderr.strip().splitlines()[-1]}
    row = {"work": name, "n": n, "features": n_features, "single": single, "target": target} | json.loads(done.stdout)
    print(
        " ".join(f"{key}={value:.4g}" if isinstance(value, float) else f"{key}={value}" for key, value in row.items())
    )
    return row


def slope(small: dict, large: dict) -> float:
    """Growth of CPU time with n in log–log."""
    return math.log(large["one"] / small["one"]) / math.log(large["n"] / small["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, without targets")
    parser.add_argument("--data", help="not needed: all data are made")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "scale.json")
    parser.add_argument("--only", choices=["ridge", "quantiles"], help="one of the two parts")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        name, n, n_features, single, *target = arguments.work
        row = WORK[name](int(n), int(n_features), bool(int(single)), *target)
        print(json.dumps(row | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
        return
    n, few, n_features = (20_000, 5_000, 200) if arguments.quick else (1_000_000, 100_000, 1000)
    rows = []
    if arguments.only != "quantiles":
        for single in (False, True):
            small, large = (measured("ridge", size, n_features, single) for size in (few, n))
            rows += [small, large]
            print(
                f"    product {large['symmetric_rate'] / large['general_rate']:.2f} of a general one (0.6), "
                f"50 λ {large['fifty'] / large['one']:.3f} of one (1.1), slope {slope(small, large):.3f} (1.05), "
                f"peak {large['peak']:.2f} GiB (1.5)"
            )
            fifth = [measured(name, n // 5, n_features, single) for name in ("ridge", "sampler")]
            rows += fifth
            print(f"    RBFSampler + Ridge / ours: time {fifth[1]['one'] / fifth[0]['one']:.2f} (1), "
                  f"memory {fifth[1]['peak'] / fifth[0]['peak']:.2f} (2)")  # fmt: skip
    if arguments.only != "ridge":
        for size in (few, n):
            for target in ("directions", "axes"):
                ours = measured("quantiles", size, n_features, True, target)
                theirs = measured("boosting", size, n_features, False, target)
                rows += [ours, theirs]
                print(
                    f"    {target}: LightGBM / ours: time {theirs['one'] / ours['one']:.2f} (1); loss of ours "
                    f"{ours['loss'] / theirs['loss']:.4f} of theirs (1.02), gap {ours['gap']:.2g} (1e-2)"
                )
    arguments.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
