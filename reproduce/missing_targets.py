"""Not in the papers: heavy metals in the Jura and river flow, with missing targets and a learned Γ.

    python reproduce/missing_targets.py --data DIR            # five draws of river flow
    python reproduce/missing_targets.py --data DIR --quick    # two draws, fewer rows

1. Jura. Cadmium at 100 places from that at 259 others, and from the other six metals at all 359: NaN for what is
   unknown, so that every row has some observation. Mean absolute and root mean squared error, in units of the data;
   metals are learned from as they are, or as logarithms. "independent" is Γ = I, "learned Γ" the default that learns
   it, "Γ = C" has the correlation of the 259 complete rows, and "C, with nugget" is that with the kernel k + 1{x =
   z}: what metals have in common at a single place, too. Rivals have the other metals as inputs, beside the place:
   ridge regression, and kernel ridge regression tuned by leave-one-out.
2. River flow (rf1). n rows drawn from the earlier file, of whose 8 gauges each is hidden with some probability; rows
   with nothing are left out. "held out" are 1 000 other rows of the same period, between which the drawn ones lie;
   "later" the second file, with floods that the first one does not have. nMSE is the mean over gauges of the mean
   squared error over the variance, in percent. Rivals are fitted gauge by gauge to the rows where it is known: ridge
   regression (generalised cross-validation), and kernel ridge regression with the Gaussian of standardised columns,
   length and λ by leave-one-out. Rows with missing inputs are left out.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from report import Report, data_file, options, pair, table
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV

from mercer import LearnedMatrix, VectorValuedRegressor
from mercer.kernels import Gaussian

METALS = ("Cd", "Co", "Cr", "Cu", "Ni", "Pb", "Zn")
ALPHAS = np.logspace(-4, 4, 17)
#: lengths in units of the median distance, and λn
LENGTHS, SHIFTS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), np.logspace(-8, 2, 21)
#: γ so large that only equal rows are alike
NUGGET = Gaussian(1e8)


def kernel_ridge(X: np.ndarray, y: np.ndarray):
    """Return kernel ridge regression of numbers, length and λn by leave-one-out in closed form."""
    gamma = Gaussian("median").adapt(X).gamma
    mean, best = y.mean(), (np.inf, None, None)
    for length in LENGTHS:
        k = Gaussian(gamma / length**2)
        values, vectors = np.linalg.eigh(k(X))
        inside, squares = vectors.T @ (y - mean), vectors**2
        for shift in SHIFTS:
            weights = 1 / (np.maximum(values, 0) + shift)
            coef = vectors @ (weights * inside)
            error = float(np.mean((coef / (squares @ weights)) ** 2))
            if error < best[0]:
                best = (error, k, coef)
    _, k, coef = best
    return lambda points: mean + k(points, X) @ coef


def standardised(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return columns of mean 0 and variance 1 as far as they are observed, means and deviations."""
    mean, spread = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0)
    return (Y - mean) / spread, mean, spread


def jura(folder, report: Report) -> list[dict]:
    """Return errors of cadmium."""
    contents = (
        "split (prediction, validation), Xloc, Yloc, Landuse, Rock and seven metals at 359 places of the Swiss Jura."
    )
    path = data_file(folder, "jura.csv", contents)
    data = np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")
    known = data["split"] == "prediction"
    places = np.stack([data["Xloc"], data["Yloc"]], axis=1)
    truth = np.asarray(data["Cd"], dtype=float)
    rows = []
    for log in (False, True):
        Y = np.stack([np.asarray(data[metal], dtype=float) for metal in METALS], axis=1)
        Y = np.log(Y) if log else Y
        Y[~known, 0] = np.nan
        Z, mean, spread = standardised(Y)
        C = np.corrcoef(Z[known].T)
        inputs = np.hstack([standardised(places)[0], Z[:, 1:]])
        length = VectorValuedRegressor().fit(places, Z).kernel_
        models = {
            "independent": VectorValuedRegressor(length),
            "learned Γ": VectorValuedRegressor(length, output_matrix="learned"),
            "learned, rank 2": VectorValuedRegressor(length, output_matrix=LearnedMatrix(rank=2)),
            "Γ = C": VectorValuedRegressor(length, output_matrix=C),
            "C, with nugget": VectorValuedRegressor(length + NUGGET, output_matrix=C),
        }
        predicted = {name: model.fit(places, Z).predict(places)[:, 0] for name, model in models.items()}
        predicted["ridge"] = RidgeCV(ALPHAS).fit(inputs[known], Z[known, 0]).predict(inputs)
        predicted["kernel ridge"] = kernel_ridge(inputs[known], Z[known, 0])(inputs)
        predicted["mercer on metals"] = VectorValuedRegressor().fit(inputs[known], Z[known, 0]).predict(inputs)
        for name, values in predicted.items():
            values = values * spread[0] + mean[0]
            errors = ((np.exp(values) if log else values) - truth)[~known]
            figures = {"MAE": np.mean(np.abs(errors)), "RMSE": np.sqrt(np.mean(errors**2))}
            rows.append({"model": name, "targets": "logarithms" if log else "as they are"} | figures)
        report.progress("jura")
    return rows


def complete(X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows whose inputs are all there."""
    keep = ~np.isnan(X).any(axis=1)
    return X[keep].astype(float), Y[keep].astype(float)


def river_draw(train, later, n: int, missing: float, seed: int) -> dict[str, dict[str, float]]:
    """Return model → nMSE in percent on held-out and later rows, and CPU seconds of the fit."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(train[0]))
    X, Y = train[0][rows[:n]], train[1][rows[:n]].copy()
    places = {"held out": tuple(part[rows[n : n + 1000]] for part in train), "later": later}
    Y[rng.uniform(size=Y.shape) < missing] = np.nan
    some = ~np.isnan(Y).all(axis=1)
    Z, mean, spread = standardised(Y[some])
    X, centre, unit = standardised(X[some])
    seen = ~np.isnan(Z)

    def each(fit):
        """Fit gauge by gauge."""
        models = [fit(X[seen[:, k]], Z[seen[:, k], k]) for k in range(Z.shape[1])]
        return lambda points: np.stack([model(points) for model in models], axis=1)

    fits = {
        "independent": lambda: VectorValuedRegressor().fit(X, Z).predict,
        "learned Γ": lambda: VectorValuedRegressor(output_matrix="learned").fit(X, Z).predict,
        "ridge": lambda: each(lambda A, y: RidgeCV(ALPHAS).fit(A, y).predict),
        "kernel ridge": lambda: each(kernel_ridge),
    }
    found = {}
    for name, fit in fits.items():
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            predict = fit()
        found[name] = {"CPU s": time.process_time() - start}
        for place, (points, truth) in places.items():
            errors = predict((points - centre) / unit) * spread + mean - truth
            found[name][place] = 100 * float(np.mean(np.mean(errors**2, axis=0) / truth.var(axis=0)))
    return found


def rivers(folder, report: Report, quick: bool) -> list[dict]:
    """Return a row for each number of rows and share of missing targets."""
    contents = "X_train, Y_train, X_test, Y_test: the multi-target data rf1 of Mulan, 64 inputs and 8 targets."
    with np.load(data_file(folder, "rf1_river_flow.npz", contents)) as data:
        train = complete(data["X_train"], data["Y_train"])
        later = complete(data["X_test"], data["Y_test"])
    rows = []
    for n in (100,) if quick else (100, 200, 500):
        for missing in (0.0, 0.5, 0.8):
            runs = [river_draw(train, later, n, missing, seed) for seed in range(2 if quick else 5)]
            for place in ("held out", "later"):
                row: dict = {"rows": str(n), "missing": f"{missing:.0%}", "nMSE on rows": place}
                for name in runs[0]:
                    errors = np.array([run[name][place] for run in runs])
                    row[name] = pair(errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors)), digits=1)
                row["CPU s"] = float(np.mean([run["learned Γ"]["CPU s"] for run in runs]))
                rows.append(row)
            report.progress(f"river flow, {n} rows, {missing:.0%} missing: {row}")
    return rows


def main() -> None:
    """Run both, print the tables and write the figures."""
    given = options(__doc__.splitlines()[0])
    report = Report("missing_targets", given)
    metals = jura(given.data, report)
    print(table("Cadmium", {"": ["model", "targets"], "100 places": ["MAE", "RMSE"]}, metals))
    flow = rivers(given.data, report, given.quick)
    groups = {
        "": ["rows", "missing", "nMSE on rows"],
        "VectorValuedRegressor": ["independent", "learned Γ"],
        "gauge by gauge": ["ridge", "kernel ridge"],
        "learned Γ, a fit": ["CPU s"],
    }
    print("\n" + table("River flow: nMSE in percent ± deviation of the mean", groups, flow))
    report.add(jura=metals, rivers=flow)
    report.write()


if __name__ == "__main__":
    main()
