"""One-class forests, Tables D.3 and D.4 of Brault (2017): four of their twelve datasets, beside other detectors.

    python reproduce/one_class_forests.py --data DIR              # D.3: trained without anomalies; 10 splits
    python reproduce/one_class_forests.py --data DIR --polluted   # D.4: with the anomalies of the training half
    python reproduce/one_class_forests.py --data DIR --quick      # 1 split

Detectors are scored by the areas under the ROC curve and the precision-recall curve of a test part that has anomalies,
means over random splits. The picture has mean ROC and precision-recall curves (Figures D.7 to D.16), and the level sets
of the score of one tree of depth 4 with all rows (Figure D.3, on rows of ours), beside those of the forest.

As the authors' released benchmark does, and the thesis only in part: anomalies beyond a tenth of the normal rows are
left out, at random; columns are standardised, all rows together; half of the rows, less their anomalies where training
is without, are for training and the other half for testing. Anomalies are diseased trees (wilt), spam (spambase), "bad"
(ionosphere, without its first two columns) and "pos" (pima). OneClassSVM has ν = 0.5 and γ = 1/d, LOF 5 neighbours,
IsolationForest 100 trees of 256 rows, OneClassForest and LevelSetDetector (without calibration) their defaults.
Published precision-recall curves were averaged by interpolation; ours is the average precision.

Not published: the random splits, and whether the root cell of a tree is the box of its rows or of all training rows, as
here.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from report import Report, data_file, options, table
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve
from sklearn.neighbors import LocalOutlierFactor
from sklearn.preprocessing import scale
from sklearn.svm import OneClassSVM

from mercer import LevelSetDetector, OneClassForest

#: file, column of the class, its value for anomalies, columns that are left out, and what the file should hold
FILES = {
    "wilt": ("wilt.csv.gz", "class", "w", [], "the UCI dataset Wilt: 4 839 rows, five columns and class"),
    "spambase": ("spambase.csv.gz", "type", "spam", [], "the UCI dataset Spambase: 4 601 rows, 57 columns and type"),
    "ionosphere": (
        "ionosphere.csv.gz",
        "Class",
        "bad",
        ["V1", "V2"],
        "the UCI dataset Ionosphere: 351 rows, V1 to V34 and Class",
    ),
    "pima": (
        "pima_diabetes.csv.gz",
        "diabetes",
        "pos",
        [],
        "the UCI dataset Pima: 768 rows, eight columns and diabetes",
    ),
}
#: areas under the ROC and the precision-recall curve of Table D.3, by detector
NOVELTY = {
    "wilt": {"OneClassForest": (0.593, 0.070), "IsolationForest": (0.491, 0.045), "OneClassSVM": (0.323, 0.036)},
    "spambase": {"OneClassForest": (0.850, 0.373), "IsolationForest": (0.824, 0.372), "OneClassSVM": (0.737, 0.208)},
    "ionosphere": {"OneClassForest": (0.909, 0.643), "IsolationForest": (0.902, 0.535), "OneClassSVM": (0.973, 0.849)},
    "pima": {"OneClassForest": (0.719, 0.247), "IsolationForest": (0.726, 0.183), "OneClassSVM": (0.716, 0.237)},
}
NOVELTY["wilt"]["LOF"], NOVELTY["spambase"]["LOF"] = (0.697, 0.092), (0.746, 0.160)
NOVELTY["ionosphere"]["LOF"], NOVELTY["pima"]["LOF"] = (0.959, 0.807), (0.700, 0.152)
#: those of Table D.4
POLLUTED = {
    "wilt": {"OneClassForest": (0.520, 0.053), "IsolationForest": (0.443, 0.044), "OneClassSVM": (0.316, 0.036)},
    "spambase": {"OneClassForest": (0.830, 0.300), "IsolationForest": (0.799, 0.303), "OneClassSVM": (0.722, 0.192)},
    "ionosphere": {"OneClassForest": (0.903, 0.508), "IsolationForest": (0.888, 0.545), "OneClassSVM": (0.956, 0.813)},
    "pima": {"OneClassForest": (0.708, 0.229), "IsolationForest": (0.743, 0.205), "OneClassSVM": (0.706, 0.226)},
}
POLLUTED["wilt"]["LOF"], POLLUTED["spambase"]["LOF"] = (0.627, 0.069), (0.664, 0.120)
POLLUTED["ionosphere"]["LOF"], POLLUTED["pima"]["LOF"] = (0.956, 0.789), (0.670, 0.137)
DETECTORS: dict[str, Callable[[int], Any]] = {
    "OneClassForest": lambda seed: OneClassForest(random_state=seed),
    "IsolationForest": lambda seed: IsolationForest(random_state=seed),
    "OneClassSVM": lambda seed: OneClassSVM(nu=0.5, gamma="auto"),
    "LOF": lambda seed: LocalOutlierFactor(n_neighbors=5, novelty=True),
    "LevelSetDetector": lambda seed: LevelSetDetector(calibration=None),
}
#: anomalies per normal row at most
MOST = 0.1
#: where curves are averaged
SHARES = np.linspace(0, 1, 201)


def read(folder, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a dataset, and which rows are anomalies."""
    file, label, odd, left_out, contents = FILES[name]
    frame = pd.read_csv(data_file(folder, file, contents))
    return frame.drop(columns=[label, *left_out]).to_numpy(float), (frame[label] == odd).to_numpy()


def few_anomalies(X: np.ndarray, odd: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal rows and some anomalies, shuffled, columns standardised, and which are which."""
    normal, anomalies = np.flatnonzero(~odd), np.flatnonzero(odd)
    most = min(len(anomalies), int(MOST * len(normal)))
    rows = rng.permutation(np.r_[normal, rng.choice(anomalies, most, replace=False)])
    return scale(X[rows]), odd[rows]


def split_scores(X: np.ndarray, odd: np.ndarray, seed: int, polluted: bool) -> tuple[np.ndarray, dict]:
    """Return which test rows are anomalies, and for each detector their scores and its CPU seconds, for one split."""
    rows, anomaly = few_anomalies(X, odd, np.random.default_rng(seed))
    half = len(rows) // 2
    train = rows[:half] if polluted else rows[:half][~anomaly[:half]]
    found = {}
    for title, make in DETECTORS.items():
        start = time.process_time()
        scores = -make(seed).fit(train).score_samples(rows[half:])
        found[title] = scores, time.process_time() - start
    return anomaly[half:], found


def areas(truth: np.ndarray, scores: np.ndarray) -> tuple[float, float]:
    """Return the areas under the ROC and the precision-recall curve."""
    return float(roc_auc_score(truth, scores)), float(average_precision_score(truth, scores))


def curves(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return true positives against false ones, and precision against recall, both at ``SHARES``."""
    false, true, _ = roc_curve(truth, scores)
    precision, recall, _ = precision_recall_curve(truth, scores)
    return np.stack([np.interp(SHARES, false, true), np.interp(SHARES, recall[::-1], precision[::-1])])


def draw(found: dict[str, dict[str, np.ndarray]]) -> plt.Figure:
    """Return mean curves of all datasets and detectors, and the level sets of a tree and of a forest."""
    figure, axes = plt.subplots(3, len(found), figsize=(3.2 * len(found), 9), layout="constrained", squeeze=False)
    labels = (("false positives", "true positives"), ("recall", "precision"))
    for column, (name, of_detectors) in enumerate(found.items()):
        for row, (x, y) in enumerate(labels):
            for title, mean in of_detectors.items():
                axes[row, column].plot(SHARES, mean[row], label=title)
            axes[row, column].set(xlabel=x, ylabel=y, title=name)
    axes[0, 0].legend(fontsize="x-small")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 0.5, size=(250, 2)) for centre in (-1.5, 1.5)])
    one = OneClassForest(n_estimators=1, max_samples=1.0, max_features=2, max_depth=4, random_state=0)
    for ax, forest, title in zip(axes[2], (one, OneClassForest(random_state=0)), ("one tree", "forest"), strict=False):
        draw_levels(ax, forest.fit(X), X)
        ax.set_title(title)
    for ax in axes[2, 2:]:
        ax.axis("off")
    return figure


def draw_levels(ax: plt.Axes, forest: OneClassForest, X: np.ndarray) -> None:
    """Draw the levels of the score s(x), and the rows."""
    at = np.linspace(-4, 4, 161)
    points = np.stack(np.meshgrid(at, at), axis=-1).reshape(-1, 2)
    filled = ax.contourf(at, at, -forest.score_samples(points).reshape(161, 161), levels=12, cmap="viridis_r")
    ax.scatter(*X.T, s=2, color="black")
    ax.figure.colorbar(filled, ax=ax)


def line(name: str, title: str, values: np.ndarray, published: dict) -> dict[str, str]:
    """Return a line of the table: means over splits beside what is printed."""
    (roc, precision, seconds), printed = values.mean(axis=0), published[name].get(title)
    return {
        "dataset": name,
        "detector": title,
        "ROC ": f"{printed[0]:.3f}" if printed else "",
        "PR ": f"{printed[1]:.3f}" if printed else "",
        "ROC": f"{roc:.3f} ± {values[:, 0].std():.3f}",
        "PR": f"{precision:.3f}",
        "CPU s": f"{seconds:.2f}",
    }


def main() -> None:
    """Print the table of all datasets and detectors."""
    polluted = {"action": "store_true", "help": "leave anomalies in the training half, as in Table D.4"}
    given = options(__doc__.splitlines()[0], polluted=polluted)
    name_of_run = "one_class_forests_polluted" if given.polluted else "one_class_forests"
    published = POLLUTED if given.polluted else NOVELTY
    report, lines, figures, drawn = Report(name_of_run, given), [], {}, {}
    for name in FILES:
        X, odd = read(given.data, name)
        splits = [split_scores(X, odd, seed, given.polluted) for seed in range(1 if given.quick else 10)]
        for title in DETECTORS:
            values = np.array([[*areas(truth, found[title][0]), found[title][1]] for truth, found in splits])
            figures[f"{name}, {title}"] = values
            lines.append(line(name, title, values, published))
            mean = np.mean([curves(truth, found[title][0]) for truth, found in splits], axis=0)
            drawn.setdefault(name, {})[title] = mean
        report.progress(name)
    for title in DETECTORS:
        every = np.mean([figures[f"{name}, {title}"] for name in FILES], axis=0)
        printed = [published[name][title] for name in FILES if title in published[name]]
        lines.append(
            line("mean", title, every, {"mean": {title: np.mean(printed, axis=0).tolist()} if printed else {}})
        )
    groups = {"": ["dataset", "detector"], "published": ["ROC ", "PR "], "ours": ["ROC", "PR", "CPU s"]}
    how = "with anomalies among the training rows (D.4)" if given.polluted else "trained without anomalies (D.3)"
    print(table(f"Areas under the curves, {how}", groups, lines))
    report.add(areas=figures)
    report.picture(draw(drawn))
    report.write()


if __name__ == "__main__":
    main()
