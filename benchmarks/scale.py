"""Large n: square loss and quantiles in features, over blocks of rows, against scikit-learn and LightGBM.

    OMP_NUM_THREADS=1 python benchmarks/scale.py            # a million rows, about 20 minutes of one core
    OMP_NUM_THREADS=1 python benchmarks/scale.py --quick    # small sizes, without targets

(a) ``NormalEquations``, d = 20, p = 10 outputs, 1 000 features (pairs of cosine and sine): the rate of the dominant
    product in units of a general product of the same block measured in the same process (target 0.6, a symmetric
    product does half of the multiplications), peak memory (1.5 GB), 50 values of λ in units of one (1.1), growth from a
    tenth of the rows (slope of time 1.05), and ``RBFSampler`` + ``Ridge`` with as many features (never slower, at half
    the memory; it is measured at a fifth of the rows, as it keeps all features);
(b) 20 quantile levels, d = 20: ``StreamedADMM`` to a certified relative gap of 1e-2, with one length for all columns
    and with lengths that the evidence of 300 rows chooses, and nine models of LightGBM: time, held-out loss at the nine
    levels (target 1.02), crossings of the 20 levels;
(c) the same levels on a Dask cluster of this machine, from Parquet, by two workers and by one: time of the products of
    features and of a step of ADMM by the clock (target 1.6), CPU time of the busiest worker, and bytes that workers
    send to each other in a step, for a quarter of the rows, too;
(d) estimators as they come: ``CostSensitiveClassifier`` and ``LevelSetDetector``, n = 100 000, d = 10 (targets 60 s and
    2 GB); ``KernelQuantileRegressor`` at the n of (b), whose loss is to be compared with that of LightGBM there; and
    predictions of 20 levels by a model in features, in batches of 10 000 rows, whose time does not depend on how many
    rows the model was fitted to (target 20 µs a row);
(e) ridge regression with a Gaussian kernel, n = 20 000, d = 8: ``KernelRidge`` of scikit-learn against conjugate
    gradients and landmarks (target: 20 × faster with the same error on new rows).

Everything but the clock of (c) is CPU time, each measurement in a process of its own, whose peak memory is that of all
it does, the data included. Targets are smooth, with noise whose size depends on the inputs. Prints tables, writes JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

D_INPUTS, N_OUTPUTS, N_LEVELS = 20, 10, 20
#: that of distances of the inputs
TYPICAL_LENGTH = 2 * math.sqrt(D_INPUTS / 3)
#: λ of the quantiles
ALPHA = 1e-6
NINE = np.arange(1, 10) / 10
#: of kernel ridge regression: scikit-learn, gaps of conjugate gradients, landmarks
RIDGES = ("scikit-learn", "1e-3", "1e-4", "1e-6", "1000", "2000")


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
    """Pairs of cosine and sine of random frequencies: features of a Gaussian kernel, with lengths of columns or one."""

    def __init__(self, n_features: int, dtype, lengths=TYPICAL_LENGTH) -> None:
        frequencies = np.random.default_rng(7).normal(size=(D_INPUTS, n_features // 2))
        frequencies /= np.reshape(lengths, (-1, 1))
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


def learned_lengths(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a length for each column by the evidence of 300 rows, as the default of the estimator learns them."""
    from mercer.stages import choose_relevance

    spread = X.std(axis=0)
    found = choose_relevance((X - X.mean(axis=0)) / spread, (y - y.mean()) / y.std())
    return spread / np.sqrt(found.scales)


def quantiles(n: int, n_features: int, single: bool, target: str, lengths: str = "one") -> dict:
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
    start = time.process_time()
    given = {"lengths": learned_lengths(X.astype(float), mean + noise)} if lengths == "learned" else {}
    kernel = FeatureKernel(Waves(n_features, dtype, **given))
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


def parquet(directory: Path, n: int, n_files: int) -> None:
    """Write inputs and a target, some rows a file."""
    import pandas as pd

    for k in range(n_files):
        X, mean, noise = made(n // n_files, 100 + k, np.float32, "directions")
        table = pd.DataFrame(X, columns=[f"x{j}" for j in range(D_INPUTS)])
        table.assign(y=mean + noise).to_parquet(directory / f"{k:03d}.parquet")


def cluster(n: int, n_features: int, single: bool, n_workers: str, directory: str) -> dict:
    """Products of features, and a few steps of ADMM for 20 levels, on workers of one thread."""
    import dask.dataframe
    from distributed import Client

    from mercer.interop.dask import DaskBlocks, DaskRows
    from mercer.kernels import FeatureKernel, Gaussian
    from mercer.linalg import right_factor
    from mercer.losses import Pinball
    from mercer.measures import Measure
    from mercer.problems import FeatureProblem
    from mercer.solvers.feature_ridge import FeatureBasis
    from mercer.solvers.streamed_admm import Start, Step

    levels = (np.arange(N_LEVELS) + 0.5) / N_LEVELS
    measure = Measure(levels, np.full(N_LEVELS, 1 / N_LEVELS))
    factor = right_factor(Gaussian(4.0)(levels[:, None], levels[:, None]), measure.weights, 1e-6)
    kernel = FeatureKernel(Waves(n_features, np.float32))
    with Client(n_workers=int(n_workers), threads_per_worker=1, dashboard_address=None) as client:
        table = dask.dataframe.read_parquet(directory)
        rows = DaskRows(table[[f"x{j}" for j in range(D_INPUTS)]], table["y"])
        problem = FeatureProblem(DaskBlocks(kernel, rows), Pinball(), measure, ALPHA, factor, True)

        def watched(function) -> tuple[float, float, float, object]:
            """Seconds by the clock and of the busiest worker, and bytes between workers."""
            before, start = client.run(spent_by_worker), time.perf_counter()
            result = function()
            clock, after = time.perf_counter() - start, client.run(spent_by_worker)
            seconds, sent = zip(*((after[key][0] - before[key][0], after[key][1] - before[key][1]) for key in after),
                                strict=True)  # fmt: skip
            return clock, max(seconds), sum(sent), result

        products = watched(lambda: problem.moments)
        basis = FeatureBasis(problem)
        rho = 1.0
        states, (along, total) = problem.blocks.map(Start(problem.terms, rho, None))

        def steps() -> None:
            state, sums = states, (along, total)
            for _ in range(5):
                correction = basis.correction(*sums, rho)
                state, sums = problem.blocks.map(Step(problem.terms, rho, correction, 1.6, False), state)

        stepped = watched(steps)
    return {
        "workers": int(n_workers), "products": products[0], "products_cpu": products[1],
        "one": stepped[0] / 5, "one_cpu": stepped[1] / 5, "bytes": stepped[2] / 5,
    }  # fmt: skip


def spent_by_worker(dask_worker) -> tuple[float, int]:
    """CPU seconds of a worker, and bytes that it has sent to others."""
    return time.process_time(), dask_worker.transfer_outgoing_bytes_total


# -- estimators as they come -------------------------------------------------------------------------------------------


def costs(n: int, n_features: int, single: bool) -> dict:
    """All misclassification costs of labels whose probability is smooth in a few of ten columns."""
    from mercer import CostSensitiveClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    positive = rng.uniform(size=n) < 1 / (1 + np.exp(-(2 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2])))
    spent, model = seconds(lambda: CostSensitiveClassifier().fit(X, positive.astype(int)))
    return certified(spent, model)


def level_sets(n: int, n_features: int, single: bool) -> dict:
    """All level sets of two clouds, one of them curved."""
    from mercer import LevelSetDetector

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10)) * np.linspace(0.5, 1.5, 10)
    X[n // 2 :] += np.sin(X[n // 2 :, ::-1]) + 1
    return certified(*seconds(lambda: LevelSetDetector().fit(X)))


def certified(spent: float, model) -> dict:
    """What a fit took, its gap, and the features that stand in for the kernel."""
    stands_in = 0 if model.approximation_ is None else model.approximation_.n_features
    return {"one": spent, "gap": model.relative_gap_, "steps": model.n_iter_, "landmarks": stands_in}


def defaults(n: int, n_features: int, single: bool, target: str) -> dict:
    """Quantiles by the estimator as it comes."""
    from mercer import KernelQuantileRegressor

    X, mean, noise = made(n, 0, target=target)
    spent, model = seconds(lambda: KernelQuantileRegressor().fit(X, mean + noise))
    X, mean, noise = made(50_000, 1, target=target)
    Q = np.concatenate([model.predict_quantile(X[k : k + 10_000], NINE) for k in range(0, len(X), 10_000)])
    return {"one": spent, "loss": pinball(mean + noise, Q, NINE), "crossings": int((np.diff(Q, axis=1) < 0).sum())}


def prediction(n: int, n_features: int, single: bool) -> dict:
    """Microseconds a row for 20 levels, by frequencies and by half as many landmarks."""
    from mercer import KernelQuantileRegressor
    from mercer.features import Nystroem, RandomFourier
    from mercer.kernels import Gaussian

    X, mean, noise = made(5000, 0)  # the model keeps no rows: more would make no other one
    levels, new = (np.arange(N_LEVELS) + 0.5) / N_LEVELS, made(n, 1)[0]
    row = {}
    for name, features in (
        ("frequencies", RandomFourier(n_features // 2, random_state=0)),
        ("landmarks", Nystroem(n_features // 2, random_state=0)),
    ):
        model = KernelQuantileRegressor(Gaussian("standardized"), alpha=1e-5, approximation=features, tol=1e-2)
        model.fit(X, mean + noise)
        batches = [new[k : k + 10_000] for k in range(0, n, 10_000)]
        spent, _ = seconds(lambda: [model.predict_quantile(batch, levels) for batch in batches])  # noqa: B023
        row[name] = spent / n * 1e6
    return row


def kernel_ridge(n: int, n_features: int, single: bool, how: str) -> dict:
    """Ridge regression in 8 columns, Gaussian kernel, λ = 1e-4: time, and error on new rows."""
    rng = np.random.default_rng(0)
    omega = rng.normal(size=(8, 5))

    def drawn(size: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.uniform(-1, 1, size=(size, 8))
        return X, np.sin(X @ omega).sum(axis=1)

    X, truth = drawn(n)
    y, alpha, gamma = truth + 0.5 * rng.normal(size=n), 1e-4, 0.25
    new, truth = drawn(2000)
    if how == "scikit-learn":
        from sklearn.kernel_ridge import KernelRidge

        spent, model = seconds(lambda: KernelRidge(alpha=alpha * n, kernel="rbf", gamma=gamma).fit(X, y))
    else:
        from mercer import VectorValuedRegressor
        from mercer.features import Nystroem
        from mercer.kernels import Gaussian
        from mercer.solvers import PreconditionedCG

        given = (
            {"approximation": None, "solver": PreconditionedCG(float(how))}
            if how.startswith("1e")
            else {"approximation": Nystroem(int(how), random_state=0)}
        )
        estimator = VectorValuedRegressor(Gaussian(gamma), alpha=alpha, fit_intercept=False, **given)
        spent, model = seconds(lambda: estimator.fit(X, y[:, None]))
    error = float(np.sqrt(np.mean((np.ravel(model.predict(new)) - truth) ** 2)))
    return {"one": spent, "error": error}


WORK = {
    function.__name__: function
    for function in (
        ridge,
        sampler,
        quantiles,
        boosting,
        cluster,
        costs,
        level_sets,
        defaults,
        prediction,
        kernel_ridge,
    )
}


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


def scaling(n: int, n_features: int) -> list[dict]:
    """Measure part (c): one worker and two, and two with a quarter of the rows."""
    rows = []
    for size, workers in ((n, "1"), (n, "2"), (n // 4, "2")):
        with tempfile.TemporaryDirectory() as directory:
            parquet(Path(directory), size, 40 if n >= 400_000 else 8)
            rows.append(measured("cluster", size, n_features, True, workers, directory))
    one, two, quarter = rows
    if any("failed" in row for row in rows):
        return rows
    for what in ("products", "one"):
        print(f"    {what}: one worker / two: {one[what] / two[what]:.2f} by the clock (1.6), "
              f"{one[what + '_cpu'] / two[what + '_cpu']:.2f} in CPU time of the busiest")  # fmt: skip
    print(f"    bytes between workers in a step: {two['bytes']:.0f}, of a quarter of the rows {quarter['bytes']:.0f}")
    return rows


def slope(small: dict, large: dict) -> float:
    """Growth of CPU time with n in log–log."""
    return math.log(large["one"] / small["one"]) / math.log(large["n"] / small["n"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, without targets")
    parser.add_argument("--data", help="not needed: all data are made")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "scale.json")
    parser.add_argument(
        "--only", choices=["ridge", "quantiles", "cluster", "estimators", "kernel_ridge"], help="one of the parts"
    )
    parser.add_argument("--rows", type=int, help="rows of the cluster; 4 000 000 by default")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        name, n, n_features, single, *target = arguments.work
        row = WORK[name](int(n), int(n_features), bool(int(single)), *target)
        print(json.dumps(row | {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
        return
    n, few, n_features = (20_000, 5_000, 200) if arguments.quick else (1_000_000, 100_000, 1000)
    rows = []
    if arguments.only in (None, "ridge"):
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
    if arguments.only in (None, "cluster"):
        rows += scaling(arguments.rows or (40_000 if arguments.quick else 4_000_000), n_features)
    if arguments.only in (None, "quantiles"):
        for size in (few, n):
            for target in ("directions", "axes"):
                theirs = measured("boosting", size, n_features, False, target)
                rows.append(theirs)
                for lengths in ("one", "learned"):
                    ours = measured("quantiles", size, n_features, True, target, lengths)
                    rows.append(ours)
                    print(
                        f"    {target}, {lengths}: LightGBM / ours: time {theirs['one'] / ours['one']:.2f} (1); loss "
                        f"of ours {ours['loss'] / theirs['loss']:.4f} of theirs (1.02), gap {ours['gap']:.2g} (1e-2)"
                    )
    if arguments.only in (None, "estimators"):
        for name in ("costs", "level_sets"):
            rows.append(measured(name, few, 0))
            print(f"    {name}: {rows[-1]['one']:.1f} s (60), {rows[-1]['peak']:.2f} GiB (1.86)")
        rows.append(measured("prediction", few, n_features))
        print(f"    20 levels, µs a row (20): {rows[-1]['frequencies']:.1f} and {rows[-1]['landmarks']:.1f}")
        rows += [measured("defaults", few, 0, False, target) for target in ("directions", "axes")]
    if arguments.only in (None, "kernel_ridge"):
        size = 2000 if arguments.quick else 20_000
        theirs, *others = (measured("kernel_ridge", size, 0, False, how) for how in RIDGES)
        rows += [theirs, *others]
        for how, row in zip(RIDGES[1:], others, strict=True):
            ratios = theirs["one"] / row["one"], row["error"] / theirs["error"]
            print(f"    {how}: {ratios[0]:.1f} × (20), error {ratios[1]:.5f} of theirs")
    arguments.output.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
