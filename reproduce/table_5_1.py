"""Table 5.1 of Lambert (2021): joint quantile regression on twenty small datasets, against the published methods.

    python reproduce/table_5_1.py --data DIR --jobs 2    # 20 splits
    python reproduce/table_5_1.py --data DIR --quick     # 2 splits, few candidates
    python reproduce/table_5_1.py --data DIR --plain     # without the transforms below

Protocol: 20 random splits 70/30; x and y standardised on the training part; everything is chosen by 5-fold
cross-validation on the training part, with the same candidates for all datasets. Quantiles commute with increasing
maps: each column of x and y are first made more symmetric by a Yeo-Johnson transform, learned on the training part, and
predicted quantiles are mapped back before anything is scored; the published methods had no such step. The loss is
100 × the sum over the levels 0.1, 0.3, 0.5, 0.7, 0.9 of the mean pinball loss on the test part; crossing is 100 × the
mean over samples and neighbouring levels of (q_j − q_{j+1})₊. The ± of the tables is the standard deviation over
splits. The published splits are unknown: means are compared, not splits.

The unit of the published loss is not stated either. Test losses are given in units of the standard deviation of y in
the training part and of that in the whole dataset; training is the same. Where y has heavy tails (BigMac2003,
snowgeese) the two differ.
"""

from __future__ import annotations

import functools
import operator
import os
import warnings

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # splits run in parallel instead

from concurrent.futures import ProcessPoolExecutor  # noqa: E402

import numpy as np  # noqa: E402
from report import Report, data_file, options, pair, table  # noqa: E402
from scipy.stats import yeojohnson, yeojohnson_normmax  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.model_selection import KFold, train_test_split  # noqa: E402

from mercer import KernelQuantileRegressor, KernelQuantileRegressorCV  # noqa: E402
from mercer.kernels import Gaussian, Linear, Matern  # noqa: E402
from mercer.measures import Points  # noqa: E402
from mercer.model_selection import crossing, integrated_pinball  # noqa: E402
from mercer.solvers import ADMM  # noqa: E402

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
ALPHAS = 10.0 ** -np.arange(0.5, 5.1, 0.9)
QUICK_ALPHAS = (3e-2, 3e-3, 3e-4)
#: kernels whose models are averaged
COMMITTEE = 3
#: candidates that nearly interpolate need thousands of steps and lose; their comparison may stop early
CUT_SHORT = ADMM(max_iter=300)

CONTENTS = """arrays <name>_X and <name>_y for the twenty datasets of the table, taken from the R packages quantreg
(CobarOre, engel), mlbench (BostonHousing), alr3 (caution, ftcollinssnow, highway, heights, sniffer, snowgeese, ufc,
BigMac2003, UN3) and MASS (birthwt, crabs, GAGurine, geyser, gilgais, topo, mcycle, cpus), text columns as dummies."""

METHODS = ("JQR", "IND", "IQR")
#: standard deviation of y that is 1 in a test loss: that of the training part, or of the whole dataset
UNITS = ("train", "whole")
#: pinball (mean, ±) and crossing of JQR (Sangnier et al., 2016), IND (independent quantiles) and IQR (Lambert, 2021)
PAPER = {
    "CobarOre": ((159, 24, 0.1), (150, 21, 0.3), (165, 36, 2.0)),
    "engel": ((175, 555, 0.0), (63, 53, 4.0), (47, 6, 0.0)),
    "BostonHousing": ((49, 4, 0.7), (49, 4, 1.3), (49, 4, 0.3)),
    "caution": ((88, 17, 0.1), (89, 19, 0.3), (85, 16, 0.0)),
    "ftcollinssnow": ((154, 16, 0.0), (155, 13, 0.2), (156, 17, 0.1)),
    "highway": ((103, 19, 0.8), (99, 20, 6.2), (105, 36, 0.1)),
    "heights": ((127, 3, 0.0), (127, 3, 0.0), (127, 3, 0.0)),
    "sniffer": ((43, 6, 0.1), (44, 5, 1.4), (44, 7, 0.1)),
    "snowgeese": ((55, 20, 0.3), (53, 18, 0.4), (57, 20, 0.2)),
    "ufc": ((81, 5, 0.0), (82, 5, 1.0), (82, 4, 0.1)),
    "BigMac2003": ((80, 21, 1.4), (74, 24, 0.9), (84, 24, 0.2)),
    "UN3": ((98, 9, 0.0), (99, 9, 1.2), (99, 10, 0.1)),
    "birthwt": ((141, 13, 0.0), (140, 12, 0.1), (141, 12, 0.0)),
    "crabs": ((11, 1, 0.0), (11, 1, 0.0), (13, 3, 0.0)),
    "GAGurine": ((61, 7, 0.0), (62, 7, 0.1), (62, 7, 0.0)),
    "geyser": ((105, 7, 0.1), (105, 6, 0.2), (104, 6, 0.1)),
    "gilgais": ((51, 6, 0.1), (49, 6, 1.1), (49, 7, 0.3)),
    "topo": ((69, 18, 0.1), (71, 20, 1.7), (70, 17, 0.0)),
    "mcycle": ((66, 9, 0.2), (66, 8, 0.3), (65, 9, 0.0)),
    "cpus": ((7, 4, 0.7), (7, 5, 1.2), (16, 10, 0.0)),
}


def kernels(dimension: int, quick: bool) -> list:
    """Candidates for k_X on standardised columns: a linear part, which holds outside the data, and a nonlinear one.

    Lengths are in units of √d. Each part has a mean diagonal near 1, so that one grid of λ serves all.
    """

    def gaussian(length: float) -> Gaussian:
        return Gaussian(gamma=0.5 / (dimension * length**2))

    linear = (1 / dimension) * Linear()
    rough = Matern(nu=1.5, length_scale=4 * dimension**0.5)
    if quick:
        return [linear + gaussian(1.0), linear + rough]
    parts = [gaussian(0.5), gaussian(1.0), gaussian(2.0), rough]
    if dimension > 1:
        columns = (Gaussian(gamma=0.5).restrict(column) for column in range(dimension))
        parts.append((1 / dimension) * functools.reduce(operator.add, columns))
    return [linear + part for part in parts]


class Symmetrizer:
    """An increasing bijection of the line: the Yeo-Johnson transform that suits a sample best, standardised.

    Beyond the sample it goes on along its tangents, so that a quantile somewhat outside is not mapped back to a number
    without any proportion. ``plain`` only standardises.
    """

    def __init__(self, plain: bool) -> None:
        self.plain = plain

    def fit(self, values):
        self.first_ = _moments(values)
        scaled = (values - self.first_[0]) / self.first_[1]
        suits = 1.0 if self.plain or np.ptp(scaled) == 0 else float(yeojohnson_normmax(scaled))
        self.power_ = min(max(suits, 0.0), 2.0)  # every real number has an image and an origin
        self.ends_ = np.array([scaled.min(), scaled.max()])
        self.second_ = _moments(self._bend(scaled))
        return self

    def transform(self, values):
        scaled = (values - self.first_[0]) / self.first_[1]
        inside = np.clip(scaled, *self.ends_)
        bent = self._bend(inside) + (scaled - inside) * self._slope(inside)
        return (bent - self.second_[0]) / self.second_[1]

    def inverse(self, values):
        bent = values * self.second_[1] + self.second_[0]
        inside = np.clip(bent, *self._bend(self.ends_))
        origin = self._unbend(inside)
        return (origin + (bent - inside) / self._slope(origin)) * self.first_[1] + self.first_[0]

    def _bend(self, scaled):
        return yeojohnson(scaled, self.power_)

    def _slope(self, scaled):
        return (1 + np.abs(scaled)) ** (np.sign(scaled) * (self.power_ - 1))

    def _unbend(self, bent):
        size, exponent = np.abs(bent), np.where(bent >= 0, self.power_, 2 - self.power_)
        power = np.where(exponent == 0, 1.0, exponent)
        return np.sign(bent) * np.where(exponent == 0, np.expm1(size), (1 + power * size) ** (1 / power) - 1)


def _moments(values) -> tuple[float, float]:
    return float(values.mean()), float(values.std()) or 1.0


class Committee:
    """The mean of the quantiles of several models: the best λ for each of the kernels that cross-validate best.

    On few samples the error of cross-validation exceeds the differences between kernels, and a mean of the leaders is
    steadier than the winner. Means of quantile functions that do not cross do not cross.
    """

    def __init__(self, size: int, target: Symmetrizer) -> None:
        self.size, self.target = size, target

    def _score(self, model, X, y) -> float:
        quantiles = self.target.inverse(model.predict_quantile(X, LEVELS))
        return -integrated_pinball(self.target.inverse(y), quantiles, LEVELS)

    def fit(self, X, y, kernels, alphas, cv):
        y = self.target.fit(y).transform(y)
        common = {"measure": Points(LEVELS, np.full(5, 0.2)), "output_kernel": Gaussian(gamma=2.0)}
        search = KernelQuantileRegressorCV(
            kernels, alphas=alphas, cv=cv, scoring=self._score, solver=CUT_SHORT, **common
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            search.fit(X, y)
        scores = search.cv_results_["mean_test_score"].reshape(len(kernels), len(alphas))
        leaders = np.argsort(-scores.max(axis=1), kind="stable")[: self.size]
        chosen = [(kernels[leader], alphas[np.argmax(scores[leader])]) for leader in leaders]
        self.models_ = [KernelQuantileRegressor(kernel, alpha=alpha, **common).fit(X, y) for kernel, alpha in chosen]
        return self

    def predict_quantile(self, X, levels):
        return np.mean([self.member_quantile(model, X, levels) for model in self.models_], axis=0)

    def member_quantile(self, model, X, levels):
        return self.target.inverse(model.predict_quantile(X, levels))


def one_split(task: tuple) -> dict:
    """Tune, fit and score one dataset on one split."""
    name, X, y, seed, quick, plain = task
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
    columns = [Symmetrizer(plain).fit(column) for column in X_train.T]
    X_train, X_test = (
        np.column_stack([one.transform(column) for one, column in zip(columns, part.T, strict=True)])
        for part in (X_train, X_test)
    )
    centre, scale = y_train.mean(), y_train.std()
    y_train, y_test = (y_train - centre) / scale, (y_test - centre) / scale
    model = Committee(1 if quick else COMMITTEE, Symmetrizer(plain)).fit(
        X_train,
        y_train,
        kernels(X.shape[1], quick),
        QUICK_ALPHAS if quick else ALPHAS,
        KFold(5, shuffle=True, random_state=seed),
    )
    best, quantiles = model.models_[0], model.predict_quantile(X_test, LEVELS)
    return {
        "dataset": name,
        "seed": seed,
        "loss": total_pinball(y_test, quantiles),
        "loss_one_kernel": total_pinball(y_test, model.member_quantile(best, X_test, LEVELS)),
        "unit": float(scale / y.std()),
        "crossing": 100 * crossing(quantiles),
        "kernel": best.kernel_,
        "alpha": best.alpha_,
        "relative_gap": max(member.relative_gap_ for member in model.models_),
    }


def total_pinball(y, quantiles) -> float:
    """Return 100 × the sum over the levels of the mean pinball loss."""
    return 100 * integrated_pinball(y, quantiles, LEVELS, np.ones(len(LEVELS)))


def losses(splits: list[dict], unit: str, key: str = "loss") -> np.ndarray:
    """Test losses in units of the standard deviation of y in the training part ("train") or in all rows ("whole")."""
    return np.array([split[key] * (split["unit"] if unit == "whole" else 1) for split in splits])


def summary(name: str, splits: list[dict]) -> dict:
    """One row of the table: the published methods, ours, and whether ours is within the ± of the best of them."""
    best, margin, _ = min(PAPER[name])
    row = {"dataset": name} | {m: pair(*given[:2]) for m, given in zip(METHODS, PAPER[name], strict=True)}
    for unit in UNITS:
        values = losses(splits, unit)
        row[unit] = pair(values.mean(), values.std(ddof=1), 1)
        row[f"{unit}: within ±"] = "yes" if values.mean() <= best + margin else "no"
        row[f"{unit}: below IQR"] = "yes" if values.mean() < PAPER[name][2][0] else "no"
    row["error"] = f"{values.std(ddof=1) / len(values) ** 0.5:.1f}"
    row["crossing"] = f"{np.mean([split['crossing'] for split in splits]):.1f}"
    return row


def means(splits: dict[str, list[dict]]) -> dict:
    """Means over the datasets, published and ours, and the standard errors of ours."""
    figures = {method: np.mean([PAPER[name][i][0] for name in splits]) for i, method in enumerate(METHODS)}
    figures["best of each dataset"] = np.mean([min(PAPER[name])[0] for name in splits])
    for unit in UNITS:
        values = [losses(runs, unit) for runs in splits.values()]
        one_kernel = [losses(runs, unit, "loss_one_kernel").mean() for runs in splits.values()]
        figures[f"mercer ({unit})"] = np.mean([one.mean() for one in values])
        figures[f"standard error ({unit})"] = np.sqrt(sum(one.var(ddof=1) / len(one) for one in values)) / len(values)
        figures[f"one kernel ({unit})"] = np.mean(one_kernel)
    figures["largest crossing"] = max(split["crossing"] for runs in splits.values() for split in runs)
    return figures


def main() -> None:
    """Run the protocol, print the table and write the figures."""
    given = options(
        __doc__.splitlines()[0],
        splits={"type": int, "help": "number of splits, at least 2 (default: 20, or 2 with --quick)"},
        datasets={"nargs": "+", "choices": list(PAPER), "default": list(PAPER), "metavar": "NAME"},
        jobs={"type": int, "default": 1, "help": "processes (default: 1)"},
        plain={"action": "store_true", "help": "standardise only, as the published methods"},
    )
    with np.load(data_file(given.data, "qr20_numeric.npz", CONTENTS)) as arrays:
        data = {name: (arrays[f"{name}_X"].astype(float), arrays[f"{name}_y"].astype(float)) for name in given.datasets}
    report = Report("table_5_1", given)
    n_splits = max(2, given.splits or (2 if given.quick else 20))  # two for a standard deviation
    tasks = [(name, *data[name], seed, given.quick, given.plain) for name in given.datasets for seed in range(n_splits)]
    splits: dict[str, list[dict]] = {name: [] for name in given.datasets}
    with ProcessPoolExecutor(given.jobs) as pool:
        for split in pool.map(one_split, tasks):
            done = splits[split["dataset"]]
            done.append(split)
            if len(done) == n_splits:
                report.progress(f"{split['dataset']}: {losses(done, 'whole').mean():.1f}")
    rows, overall = [summary(name, splits[name]) for name in given.datasets], means(splits)
    groups = {
        "": ["dataset"],
        "paper": list(METHODS),
        "mercer": [*UNITS, "error", "crossing"],
        "goal": [f"{unit}: {goal}" for unit in UNITS for goal in ("within ±", "below IQR")],
    }
    print(table(f"Table 5.1, pinball loss x 100, {n_splits} splits", groups, rows))
    print(
        "± standard deviation over splits; error: standard error of our mean (whole);\n"
        "train, whole: in units of the standard deviation of y in the training part, in the whole dataset;\n"
        "within ±: our mean is at most the best published one plus its ±.\n\nMeans over the datasets:"
    )
    print("\n".join(f"{name:>24} {value:.2f}" for name, value in overall.items()))
    report.add(rows=rows, means=overall, splits=splits)
    report.write()


if __name__ == "__main__":
    main()
