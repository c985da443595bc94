"""Figures B.1 and B.2 of Brault (2017): few labels, and a graph of all rows.

    python reproduce/semi_supervised.py
    python reproduce/semi_supervised.py --quick    # fewer draws

Two moons, and two moons within nested circles, 400 rows of which a few of each class have a label; classes are
corners of a simplex. The figures of the thesis are illustrations without scores, so that this table is ours: errors
(%) on rows without labels, means over draws, of ``SemiSupervisedRegressor`` as it comes, of the same without the graph
(``strength=0``), and of scikit-learn's ``LabelSpreading``, whose neighbours are as many.
"""

from __future__ import annotations

import warnings

import numpy as np
from report import Report, options, table
from sklearn.datasets import make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading

from mercer import SemiSupervisedRegressor
from mercer.estimators.simplex import simplex_code

NEIGHBOURS = 10


def moons(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return 400 rows of two classes."""
    return make_moons(400, noise=0.08, random_state=seed)


def moons_in_circles(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return 400 rows of four classes: two moons within two circles."""
    inner, label = make_moons(200, noise=0.05, random_state=seed)
    outer, ring = make_circles(200, noise=0.02, factor=0.75, random_state=seed)
    return np.vstack([inner - [0.5, 0.25], 4 * outer]), np.concatenate([label, 2 + ring])


def labelled(label: np.ndarray, each: int, seed: int) -> np.ndarray:
    """Return rows of which the label is known, so many of each class."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(np.flatnonzero(label == one), each, replace=False) for one in np.unique(label)])


def classes_by(model: SemiSupervisedRegressor, X: np.ndarray, label: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Fit corners of a simplex to the rows that are known, and return the class of every row."""
    code = simplex_code(int(label.max()) + 1)
    Y = np.full((len(X), code.shape[1]), np.nan)
    Y[known] = code[label[known]]
    return np.argmax(model.fit(X, Y).predict(X).reshape(len(X), -1) @ code.T, axis=1)


def errors(X: np.ndarray, label: np.ndarray, each: int, seed: int) -> dict[str, float]:
    """Return the errors, in %, on rows without labels."""
    known = labelled(label, each, seed)
    rest = np.setdiff1d(np.arange(len(X)), known)
    found = {
        "graph": classes_by(SemiSupervisedRegressor(n_neighbors=NEIGHBOURS), X, label, known),
        "no graph": classes_by(SemiSupervisedRegressor(strength=0.0), X, label, known),
    }
    partial = np.where(np.isin(np.arange(len(X)), known), label, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        spreading = LabelSpreading(kernel="knn", n_neighbors=NEIGHBOURS, max_iter=200).fit(X, partial)
    found["LabelSpreading"] = spreading.transduction_
    return {name: 100 * float(np.mean(values[rest] != label[rest])) for name, values in found.items()}


def main() -> None:
    """Run all, print the table and write the figures."""
    given = options(__doc__.splitlines()[0])
    report, rows = Report("semi_supervised", given), []
    draws = 2 if given.quick else 10
    for name, data in (("two moons", moons), ("two moons in two circles", moons_in_circles)):
        for each in (1, 3, 10):
            found = [errors(*data(seed), each, seed) for seed in range(draws)]
            mean = {key: round(float(np.mean([one[key] for one in found])), 1) for key in found[0]}
            rows.append({"data": name, "labels of each class": each} | mean)
    print(table("Few labels", {"": ["data", "labels of each class"], "error, %": list(rows[0])[2:]}, rows))
    report.add(rows=rows, draws=draws)
    report.write()


if __name__ == "__main__":
    main()
