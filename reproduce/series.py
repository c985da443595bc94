"""All twelve macroeconomic series of Brault (2017), section 8.3.4: autoregression, by sequential cross-validation.

    python reproduce/series.py --data DIR                # refits every 8 quarters
    python reproduce/series.py --data DIR --every 1      # at every quarter
    python reproduce/series.py --data DIR --quick        # every 51

Protocol: the 50 quarters before a time are learned from, and the next values predicted one step ahead, each from the
true one before it; the window slides over the 203 quarters. The error is the mean over times and series of the
squared error, of which real GDP and its like have nearly all; the second figure takes each series in units of the
root mean square of its increments, so that 1 is a random walk, about.

The published errors (Table 8.3) are of 8 of these 12 series, of the smaller ones, and OKVAR's of standardised
windows: ``autoregression.py`` has them. Here are all twelve; the Gaussian has the median distance, and λ is chosen in
each window by errors of later values. Our models are refitted every 8 quarters by default, and so is least squares
for a fair comparison; it is also given with a refit at each quarter.
"""

from __future__ import annotations

import os
import time
import warnings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
from report import Report, data_file, options, table  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402

from mercer import VectorAutoRegressor  # noqa: E402
from mercer.kernels import Gaussian  # noqa: E402

CONTENTS = "the macroeconomic data of statsmodels: year, quarter and 12 series over 203 quarters, comma-separated"
WINDOW = 50

#: rows y_{t−1} → predictions of y_t
Predict = Callable[[np.ndarray], np.ndarray]


def least_squares(Y: np.ndarray, intercept: bool = True) -> Predict:
    """Return the linear map of least squares, from each value to the next."""
    ones = np.full((len(Y), int(intercept)), 1.0)
    coef = np.linalg.lstsq(np.hstack([Y, ones])[:-1], Y[1:], rcond=None)[0]
    return lambda X: np.hstack([X, np.full((len(X), int(intercept)), 1.0)]) @ coef


def walk(Y: np.ndarray) -> Predict:
    """Return the random walk with the drift of the window."""
    drift = np.mean(np.diff(Y, axis=0), axis=0)
    return lambda X: X + drift


def mean(Y: np.ndarray) -> Predict:
    """Return the mean of the window."""
    centre = Y.mean(axis=0)
    return lambda X: np.tile(centre, (len(X), 1))


def ours(**settings) -> Callable[[np.ndarray], Predict]:
    """Return what fits a VectorAutoRegressor of order 1 with these settings."""

    def fit(Y: np.ndarray) -> Predict:
        model = VectorAutoRegressor(**settings).fit(Y)
        return lambda X: np.array([model.forecast(1, x[None, :])[0] for x in X])

    return fit


def models() -> dict[str, tuple[Callable[[np.ndarray], Predict], bool]]:
    """Return name → (what fits a window, whether it is of the kind of this library)."""
    okvar = {"kernel": Gaussian("median"), "toward": "mean", "metric": None}
    return {
        "mean of the window": (mean, False),
        "random walk with drift": (walk, False),
        "VAR(1), least squares": (least_squares, False),
        "VAR(1), no constant": (lambda Y: least_squares(Y, intercept=False), False),
        "OKVAR: Gaussian, toward the mean": (ours(**okvar), True),
        "Gaussian, toward the last value": (ours(**(okvar | {"toward": "last"})), True),
        "VectorAutoRegressor(), leave-one-out": (ours(criterion="leave_one_out"), True),
        "VectorAutoRegressor()": (ours(), True),
        "VectorAutoRegressor(), learned Γ": (ours(output_matrix="learned"), True),
    }


def sequential_errors(Y: np.ndarray, window: int, every: int, fit: Callable[[np.ndarray], Predict]) -> np.ndarray:
    """Return errors of y_t from y_{t−1} by fits to the window before, again every so many steps; (T − window, p)."""
    errors = []
    for start in range(window, len(Y), every):
        end = min(start + every, len(Y))
        errors.append(Y[start:end] - fit(Y[start - window : start])(Y[start - 1 : end - 1]))
    return np.vstack(errors)


def figures(errors: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """Return the mean squared error, and that of each series in units of its increments."""
    squares = errors**2
    unit = np.mean(np.diff(Y, axis=0) ** 2, axis=0)
    return {"MSE": squares.mean(), "relative": float(np.mean(squares / unit))}


def main() -> None:
    """Run all, print the table and write the figures."""
    given = options(__doc__.splitlines()[0], every={"type": int, "default": 8, "help": "steps between refits"})
    report = Report("series", given)
    path = data_file(given.data, "macrodata.csv", CONTENTS)
    Y = np.loadtxt(path, delimiter=",", skiprows=1)[:, 2:]
    every = 51 if given.quick else given.every
    rows = []
    for name, (fit, kernel) in models().items():
        for step in sorted({every} if kernel else {1, every}):
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                found = figures(sequential_errors(Y, WINDOW, step, fit), Y)
            seconds = time.process_time() - start
            rows.append({"model": name, "refit every": str(step), **found, "CPU s": seconds})
            report.progress(f"{name}, every {step}: {found['MSE']:.1f}, {found['relative']:.3f}")
    heads = {"": ["model", "refit every"], "one step ahead": ["MSE", "relative"], "time": ["CPU s"]}
    print(table("Macrodata, 12 series, window of 50 quarters", heads, rows))
    report.add(rows=rows, window=WINDOW)
    report.write()


if __name__ == "__main__":
    main()
