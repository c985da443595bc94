"""Cost-sensitive classifiers as they come out of the box, on many real tables: expected cost, time.

    python benchmarks/costs.py                                  # tables of scikit-learn and statsmodels
    python benchmarks/costs.py --data DIRECTORY                 # and nine more that lie there
    python benchmarks/costs.py --models mercer joint --splits 1 # some models, one split

Each table, of at most 1 000 rows drawn at random, is split 70/30 three times. What is measured is the mean cost of
errors of held-out rows, θ for a missed positive and 1 − θ for a false alarm, over θ = 0.05, 0.10, ..., 0.95. Rivals: a
support vector machine for each cost, one with Platt's probabilities, logistic regression and gradient boosting, the
last three with thresholds at the costs, each tuned over the few settings in ``RIVALS`` by 3-fold cross-validation of
the expected cost. The best rival is chosen on the same held-out rows, in its favour. CPU time, one thread. Prints a
table, writes JSON; rivals that were measured before are read from there unless ``--fresh``. Needs
``pip install "mercer[bench]"``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import gmean
from sklearn import datasets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from mercer import CostSensitiveClassifier
from mercer.kernels import Gaussian
from mercer.model_selection import expected_cost

COSTS = np.arange(1, 20) / 20
MOST_ROWS = 1000

# -- tables: name, inputs, whether a row is positive -------------------------------------------------------------------

Table = tuple[str, np.ndarray, np.ndarray]


def tables(directory: Path | None) -> Iterator[Table]:
    """Yield tables of at most MOST_ROWS rows."""
    for name, X, y in every_table(directory):
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
        yield name, np.asarray(X, float)[rows], np.asarray(y, bool)[rows]


def every_table(directory: Path | None) -> Iterator[Table]:
    X, y = datasets.load_breast_cancer(return_X_y=True)
    yield "cancer", X, y == 0
    X, y = datasets.load_wine(return_X_y=True)
    yield "wine", X, y == 1
    X, y = datasets.load_iris(return_X_y=True)
    yield "iris", X, y == 1
    X, y = datasets.load_diabetes(return_X_y=True, scaled=False)
    yield "diabetes", X, y > 200
    X, y = datasets.load_digits(return_X_y=True)
    yield "digits", X, y == 8
    yield from statsmodels_tables()
    if directory is not None:
        yield from stored_tables(directory)


def statsmodels_tables() -> Iterator[Table]:
    """Yield tables that come with statsmodels; "dummies" has one for each value of each column."""
    try:
        import pandas as pd
        from statsmodels import datasets as library
    except ImportError:
        return
    fair = library.fair.load_pandas()
    yield "fair", fair.exog.to_numpy(float), fair.endog > 0
    yield "dummies", pd.get_dummies(fair.exog.astype(str)).to_numpy(float), fair.endog > 0
    anes = library.anes96.load_pandas().data
    yield "anes96", anes[["popul", "TVnews", "selfLR", "age", "educ", "income"]].to_numpy(float), anes["vote"] == 1
    school = library.star98.load_pandas()
    yield "star98", school.exog.to_numpy(float), school.endog.iloc[:, 0] > school.endog.iloc[:, 1]
    visits = library.randhie.load_pandas()
    yield "randhie", visits.exog.to_numpy(float), visits.endog > 0


def stored_tables(directory: Path) -> Iterator[Table]:
    import pandas as pd

    for name, file, target, positive in (
        ("pima", "pima_diabetes.csv.gz", "diabetes", "pos"),
        ("ionosphere", "ionosphere.csv.gz", "Class", "bad"),
        ("spambase", "spambase.csv.gz", "type", "spam"),
        ("wilt", "wilt.csv.gz", "class", "w"),
        ("crabs", "crabs.csv", "sex", "M"),
        ("birthwt", "birthwt.csv", "low", 1),
    ):
        table = pd.read_csv(directory / file).drop(columns=["index", "bwt"], errors="ignore")
        X = pd.get_dummies(table.drop(columns=target), drop_first=True).to_numpy(float)
        yield name, X, table[target] == positive
    yeast = np.load(directory / "yeast_multilabel.npz")
    yield "yeast", yeast["X_train"], yeast["Y_train"][:, 0] == 1
    archive = np.load(directory / "qr20_numeric.npz")
    for name in ("BostonHousing", "gilgais"):
        y = archive[f"{name}_y"].astype(float)
        yield name, archive[f"{name}_X"], y > np.quantile(y, 0.7)


# -- models: (X, y) -> function X -> (n, 19), whether a row is called positive at each cost ----------------------------

Decide = Callable[[np.ndarray], np.ndarray]


def by_probability(model) -> Decide:
    """Call positive where P(positive | x) > 1 − θ."""
    return lambda Z: model.predict_proba(Z)[:, 1:] > 1 - COSTS


def mercer(X: np.ndarray, y: np.ndarray) -> Decide:
    model = CostSensitiveClassifier().fit(X, y)
    return lambda Z: model.predict_at(Z, COSTS) > 0


def joint(X: np.ndarray, y: np.ndarray) -> Decide:
    """One length for all columns, λ by leave-one-out: the default until columns had scales of their own."""
    model = CostSensitiveClassifier(Gaussian("standardized")).fit(X, y)
    return lambda Z: model.predict_at(Z, COSTS) > 0


def machines(X, y, C, gamma) -> Decide:
    models = [
        make_pipeline(
            StandardScaler(), SVC(C=C, gamma=gamma / X.shape[1], class_weight={True: 2 * cost, False: 2 - 2 * cost})
        ).fit(X, y)
        for cost in COSTS
    ]
    return lambda Z: np.column_stack([model.predict(Z) for model in models])


def platt(X, y, C, gamma) -> Decide:
    machine = make_pipeline(StandardScaler(), SVC(C=C, gamma=gamma / X.shape[1]))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    return by_probability(CalibratedClassifierCV(machine, cv=folds, ensemble=False).fit(X, y))


def logistic(X, y, C) -> Decide:
    return by_probability(make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=2000)).fit(X, y))


def boosting(X, y, max_iter, max_leaf_nodes) -> Decide:
    settings = {"learning_rate": 0.05, "min_samples_leaf": 10, "early_stopping": False, "random_state": 0}
    model = HistGradientBoostingClassifier(max_iter=max_iter, max_leaf_nodes=max_leaf_nodes, **settings)
    return by_probability(model.fit(X, y))


OURS = {"mercer": mercer, "joint": joint}
MACHINE = {"C": (0.3, 3.0, 30.0), "gamma": (0.1, 0.5)}
RIVALS: dict[str, tuple[Callable, dict[str, tuple]]] = {
    "machines": (machines, MACHINE),
    "platt": (platt, MACHINE),
    "logistic": (logistic, {"C": (0.01, 0.1, 1.0, 10.0)}),
    "boosting": (boosting, {"max_iter": (50, 150), "max_leaf_nodes": (4, 15)}),
}


def tuned(name: str, X: np.ndarray, y: np.ndarray) -> Decide:
    """Return a rival with the setting of least cost in 3-fold cross-validation."""
    make, grid = RIVALS[name]
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def loss(setting: dict) -> float:
        return float(np.mean([cost(y[test], make(X[train], y[train], **setting)(X[test])) for train, test in folds]))

    return make(X, y, **min(settings, key=loss))


# -- measures ---------------------------------------------------------------------------------------------------------


def cost(y: np.ndarray, called: np.ndarray) -> float:
    return float(np.mean(expected_cost(y, called, COSTS)))


def judged(name: str, X, y, X_test, y_test) -> dict[str, float]:
    """Fit a model and return its expected cost and time."""
    start = time.process_time()
    decide = OURS[name](X, y) if name in OURS else tuned(name, X, y)
    took = time.process_time() - start
    return {"cost": cost(y_test, decide(X_test)), "seconds": took}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="directory of further tables")
    parser.add_argument("--models", nargs="+", choices=[*OURS, *RIVALS], default=[*OURS, *RIVALS])
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="measure rivals again")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "costs.json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    known = json.loads(options.output.read_text()) if options.output.exists() and not options.fresh else {}
    rows = {}
    for name, X, y in tables(options.data):
        if options.only and name not in options.only:
            continue
        rows[name] = {}
        for split in range(options.splits):
            parts = train_test_split(X, y, test_size=0.3, random_state=split, stratify=y)
            for model in options.models:
                key = f"{name} {split} {model}"
                if model in OURS or key not in known:
                    known[key] = judged(model, parts[0], parts[2], parts[1], parts[3])
        for model in [*OURS, *RIVALS]:
            keys = [f"{name} {split} {model}" for split in range(options.splits)]
            runs = [known[key] for key in keys if key in known]
            if runs:
                rows[name][model] = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
        options.output.parent.mkdir(exist_ok=True)
        options.output.write_text(json.dumps(known))
        show(name, X.shape, rows[name])
    summarise(rows)


def best_rival(row: dict) -> float:
    return min((row[model]["cost"] for model in RIVALS if model in row), default=np.nan)


def show(name: str, shape: tuple, row: dict) -> None:
    """Print the cost of the best rival, and of each model over it, with its time."""
    cells = [f"{model} {run['cost'] / best_rival(row):.3f} {run['seconds']:.1f}s" for model, run in row.items()]
    print(f"{name:<14} {shape[0]:>5} × {shape[1]:<3} {best_rival(row):.4f}  {'  '.join(cells)}", flush=True)


def summarise(rows: dict) -> None:
    """Print means over tables: cost against the best rival; cost and time against the joint model."""
    for model in OURS:
        own = [row for row in rows.values() if model in row]
        if not own:
            continue
        rival = [row[model]["cost"] / best_rival(row) for row in own]
        text = f"{model}: cost against the best rival {gmean(rival):.3f}, largest {max(rival):.2f}"
        if model != "joint" and all("joint" in row for row in own):
            for key in ("cost", "seconds"):
                ratios = [row[model][key] / row["joint"][key] for row in own]
                text += f"; {key} against joint {gmean(ratios):.3f}, largest {max(ratios):.2f}"
        print(text)


if __name__ == "__main__":
    main()
