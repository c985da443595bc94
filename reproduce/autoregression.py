"""Tables 8.1, 8.2 and 8.3 of Brault (2017): vector autoregression, on the series of the released notebooks.

    python reproduce/autoregression.py --data DIR            # all of it
    python reproduce/autoregression.py --data DIR --quick    # macrodata, one simulated setting, part of Table 8.2
    python reproduce/autoregression.py --synthetic           # Tables 8.1 and 8.2, which need no data

Protocol: the rows of a window before a time are learned from, and the next one is predicted from the last; the window
slides. Errors are means of squares over times and series. "least squares" is VAR(1) with a constant, refitted at each
step; "last value" predicts no change.

"OKVAR" has the Gaussian kernel, σ and λ of the notebooks. What they call λ is λn of this library: the objective there
is ½Σ‖y_t − h(x_t)‖² + (λ/2)‖h‖², over the number of values. It was minimised by L-BFGS, whose default tolerance ends
it early for so flat an objective. "stopped early" does likewise; "minimum" is the fit that the objective asks for.

"mercer" is ``VectorAutoRegressor()`` as it comes: kernel, λ and what f is drawn to are chosen now and then (column
"tuned every"), and coefficients refitted with them to each window, as those of least squares are. Climate has windows
of 1 872 rows, and ours is refitted every 156 rows there.

"Gaussian" is the exact kernel in place of ORFFVAR's features, with σ and λ of the notebooks and standardised windows.

Table 8.2: features cos ω·x and sin ω·x for D random ω, σ = 1, λn = 1e-6, mean error of ten draws. Fits are made every
500 steps of the 5 000, those of the exact kernel with 1 000 rows of the window.
"""

from __future__ import annotations

import os
import time
import warnings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
from released_series import LONG, REAL, SIMULATED, Table, climate, gesture, heart, macrodata, simulate  # noqa: E402
from report import Report, options, table  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from series import Predict, least_squares, sequential_errors  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from mercer import VectorAutoRegressor, VectorValuedRegressor  # noqa: E402
from mercer.kernels import FeatureKernel, Gaussian  # noqa: E402

#: steps between choices of kernel and λ, and between fits
PACE = {
    "macrodata": (8, 1),
    "gesture 1": (100, 1),
    "gesture 4": (100, 1),
    "climate": (3900, 156),
    "heart": (1000, 1),
}
#: numbers of features of Table 8.2, and their published errors; the last is of VAR(1)
FEATURES = {1: 0.005342, 5: 0.001111, 10: 0.000991, 25: 0.000962, 50: 0.000949, 100: 0.000944}
LONG_LINEAR = 0.001660


def last_value(Y: np.ndarray) -> Predict:
    """Predict that nothing changes."""
    return lambda X: X


def tuned(every: int) -> Callable[[np.ndarray], Predict]:
    """Return what fits windows by the default regressor, its kernel, λ and target chosen at each so many-th of them."""
    chosen: list[VectorAutoRegressor] = []

    def fit(Y: np.ndarray) -> Predict:
        model = VectorAutoRegressor().fit(Y) if len(chosen) % every == 0 else chosen[-1]
        chosen.append(model)
        regressor, last = model.regressor_, float(model.toward_ == "last")
        inputs = Y[:-1] - model.centre_
        again = VectorValuedRegressor(regressor.kernel_, alpha=regressor.alpha_).fit(inputs, Y[1:] - last * Y[:-1])
        return lambda X: again.predict(X - model.centre_) + last * X

    return fit


def standardising(fit: Callable[[np.ndarray], Predict]) -> Callable[[np.ndarray], Predict]:
    """Return the fit of windows of mean 0 and variance 1."""

    def wrapped(Y: np.ndarray) -> Predict:
        mean, spread = Y.mean(axis=0), Y.std(axis=0)
        predict = fit((Y - mean) / spread)
        return lambda X: predict((X - mean) / spread) * spread + mean

    return wrapped


def minimum(kernel, shift: float) -> Callable[[np.ndarray], Predict]:
    """Return kernel ridge regression of the next value, without a constant, λn given."""

    def fit(Y: np.ndarray) -> Predict:
        model = VectorValuedRegressor(kernel, alpha=shift / (len(Y) - 1), fit_intercept=False)
        return model.fit(Y[:-1], Y[1:]).predict

    return fit


def stopped_early(kernel, shift: float) -> Callable[[np.ndarray], Predict]:
    """Return the same objective minimised from 0 over coefficients, by L-BFGS with its defaults."""

    def fit(Y: np.ndarray) -> Predict:
        X, targets = Y[:-1], Y[1:]
        K = kernel(X)

        def objective(coef: np.ndarray) -> tuple[float, np.ndarray]:
            C = coef.reshape(targets.shape)
            values = K @ C
            rest = values - targets
            value = np.sum(rest**2) + shift * np.sum(C * values)
            return value / (2 * targets.size), (K @ rest + shift * values).ravel() / targets.size

        C = minimize(objective, np.zeros(targets.size), jac=True, method="L-BFGS-B").x.reshape(targets.shape)
        return lambda points: kernel(points, X) @ C

    return fit


def random_features(n_features: int, seed: int) -> FeatureKernel:
    """Return the kernel of cosines and sines for D frequencies of the Gaussian of length 1."""
    frequencies = np.random.default_rng(seed).normal(size=(5, n_features))

    def waves(X: np.ndarray) -> np.ndarray:
        return np.hstack([np.cos(X @ frequencies), np.sin(X @ frequencies)]) / np.sqrt(n_features)

    return FeatureKernel(waves)


def error(Y: np.ndarray, window: int, every: int, fit: Callable[[np.ndarray], Predict]) -> float:
    """Return the mean squared error over times and series."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(np.mean(sequential_errors(Y, window, every, fit) ** 2))


def row(name: str, Y: np.ndarray, published: Table, pace: tuple[int, int], kernel_every: int) -> dict:
    """Return a row of Table 8.1 or 8.3, ours beside the published one."""
    window, (tune, refit) = published.window, pace
    found: dict = {"series": name, "T × p": f"{len(Y)}×{Y.shape[1]}", "tuned every": str(tune)}
    found |= {"VAR(1)*": published.linear, "ORFFVAR*": published.features}
    found["last value"] = error(Y, window, 1, last_value)
    found["least squares"] = error(Y, window, 1, least_squares)
    start = time.process_time()
    found["mercer"] = error(Y, window, refit, tuned(max(tune // refit, 1)))
    found["CPU s"] = time.process_time() - start
    if published.gaussian is not None:
        length, alpha = published.gaussian
        exact = minimum(Gaussian(0.5 / length**2), alpha * (window - 1))
        found["Gaussian"] = error(Y, window, refit, standardising(exact))
    if published.kernel is not None:
        kernel = Gaussian(0.5 / published.length**2)
        fits = {"minimum": minimum, "stopped early": stopped_early}
        for key, make in fits.items():
            fit = make(kernel, published.alpha)
            found[key] = error(Y, window, kernel_every, standardising(fit) if published.standardised else fit)
        found["OKVAR*"] = published.kernel
    return found


def influence_of_features(report: Report, quick: bool) -> list[dict]:
    """Return the rows of Table 8.2."""
    Y, window, every = simulate(LONG), 5000, 500
    rows: list[dict] = [{"model": "VAR(1)", "published": LONG_LINEAR, "ours": error(Y, window, 1, least_squares)}]
    draws = 2 if quick else 10
    for D, published in list(FEATURES.items())[: 4 if quick else None]:
        errors = [error(Y, window, every, minimum(random_features(D, seed), 1e-6)) for seed in range(draws)]
        rows.append({"model": f"D = {D}", "published": published, "ours": np.mean(errors), "spread": np.std(errors)})
        report.progress(f"Table 8.2, D = {D}: {np.mean(errors):.6f}")
    exact = error(Y[window - 1000 :], 1000, every, minimum(Gaussian(0.5), 1e-6))
    default = error(Y[window - 1000 :], 1000, every, tuned(5))
    rows += [{"model": "exact, 1 000 rows", "ours": exact}, {"model": "mercer, 1 000 rows", "ours": default}]
    for found in rows:
        for key in ("published", "ours", "spread"):
            found[key] = f"{found[key]:.6f}" if key in found else ""
    return rows


def real_series(folder, quick: bool) -> dict[str, Callable[[], np.ndarray]]:
    """Return what reads the series of Table 8.3."""
    read = {
        "macrodata": lambda: macrodata(folder),
        "gesture 1": lambda: gesture(folder, "a1"),
        "gesture 4": lambda: gesture(folder, "b1"),
        "climate": lambda: climate(folder),
        "heart": lambda: heart(folder),
    }
    return dict(list(read.items())[: 1 if quick else None])


def main() -> None:
    """Run all, print the tables and write the figures."""
    synthetic = {"action": "store_true", "help": "Tables 8.1 and 8.2 only, which need no data"}
    given = options(__doc__.splitlines()[0], synthetic=synthetic)
    report = Report("autoregression", given)
    groups = {
        "": ["series", "T × p"],
        "published": ["VAR(1)*", "ORFFVAR*", "OKVAR*"],
        "refitted at each step": ["last value", "least squares", "mercer", "tuned every"],
        "ORFFVAR": ["Gaussian"],
        "OKVAR": ["stopped early", "minimum"],
        "time": ["CPU s"],
    }
    simulated = []
    for name, (setting, published) in SIMULATED.items():
        if given.quick and name != "exp, white":
            continue
        simulated.append(row(name, simulate(setting), published, (500 if given.quick else 100, 1), 10))
        report.progress(name)
    print(table("Table 8.1: mean squared errors (* published)", groups, simulated))
    features = influence_of_features(report, given.quick)
    columns = {"": ["model"], "mean squared error": ["published", "ours"], "of draws": ["spread"]}
    print("\n" + table("Table 8.2: 10 000 steps of exp, white", columns, features))
    report.add(simulated=simulated, features=features)
    if not given.synthetic:
        real = []
        for name, read in real_series(given.data, given.quick).items():
            pace, kernel_every = ((50, 1), 5) if given.quick else (PACE[name], 1)
            real.append(row(name, read(), REAL[name], pace, kernel_every))
            report.progress(name)
        print("\n" + table("Table 8.3: mean squared errors (* published)", groups, real))
        report.add(real=real)
    report.write()


if __name__ == "__main__":
    main()
