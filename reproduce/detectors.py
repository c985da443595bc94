"""Level sets beside other detectors: the outlier detection example of Figure 9.5 in Brault (2017).

    python reproduce/detectors.py            # 10 draws
    python reproduce/detectors.py --quick    # 2 draws

The thesis repeats an example of scikit-learn (plot_outlier_detection, as it was in 2017) and says of its result, a
picture, that the continuous one-class SVM is as good as the others. There 200 points are in the plane, 150 of them in
one or two clusters of deviation 0.3, centred at ±(a, a) with a = 0, 1 or 2, and 50 uniform in the square [−6, 6]².
Every detector calls the fourth of the points with the least scores outliers. We count what is called wrongly, over
several draws.

Rivals have the settings of the example: ``OneClassSVM(nu=0.95 · 0.25 + 0.05, gamma=0.1)``, ``EllipticEnvelope`` and
``IsolationForest`` with that fraction. Ours have the same kernel: all levels from one fit, of which that at θ = 0.25 is
used. "100 frequencies" have random features in its place, "coupled" a kernel on levels as well (c = 0.1, chosen by us,
as the thesis does not say its own).
"""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, options, pair, table
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.svm import OneClassSVM

from mercer import LevelSetDetector
from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.measures import Points

N_POINTS, FRACTION = 200, 0.25
#: distances of the two clusters from the origin
SEPARATIONS = (0.0, 1.0, 2.0)
LEVELS = np.linspace(0.05, 0.95, 19)  # 0.25 is one of them
#: seconds that the thesis states
PAPER = {"one-class SVM": 0.25, "isolation forest": 5.0, "robust covariance": 0.1, "level sets, 100 frequencies": 10.0}


def points(separation: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points, and which are outliers."""
    rng = np.random.default_rng(seed)
    n_inliers = int((1 - FRACTION) * N_POINTS)
    centres = np.repeat([-separation, separation], n_inliers // 2)[:, None]
    inliers = centres + 0.3 * rng.normal(size=(n_inliers, 2))
    outliers = rng.uniform(-6, 6, size=(N_POINTS - n_inliers, 2))
    return np.vstack([inliers, outliers]), np.arange(N_POINTS) >= n_inliers


def detectors(seed: int) -> dict:
    """Return rivals and ours."""
    ours = {"kernel": Gaussian(0.1), "measure": Points(LEVELS), "calibration": None}
    return {
        "one-class SVM": OneClassSVM(nu=0.95 * FRACTION + 0.05, gamma=0.1),
        "isolation forest": IsolationForest(max_samples=N_POINTS, contamination=FRACTION, random_state=seed),
        "robust covariance": EllipticEnvelope(contamination=FRACTION, random_state=seed),
        "level sets": LevelSetDetector(**ours),
        "level sets, 100 frequencies": LevelSetDetector(**ours, approximation=RandomFourier(100, random_state=seed)),
        "level sets, coupled": LevelSetDetector(**ours, coupling=0.1),
    }


def scores(detector, X: np.ndarray) -> np.ndarray:
    """Return scores, of ours those at the level of the fraction: large for inliers."""
    if isinstance(detector, LevelSetDetector):
        return detector.decision_function(X, level=FRACTION)
    return np.ravel(detector.decision_function(X))


def errors(found: np.ndarray, outlier: np.ndarray) -> int:
    """Return how many points are called wrongly if the fourth with the least scores are called outliers."""
    return int(np.sum((found < np.quantile(found, FRACTION)) != outlier))


def draw(axes, fitted: dict, X: np.ndarray, outlier: np.ndarray) -> None:
    """Draw the region that each detector calls inliers."""
    side = np.linspace(-7, 7, 120)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for ax, (name, detector) in zip(axes, fitted.items(), strict=True):
        threshold = np.quantile(scores(detector, X), FRACTION)
        inside = scores(detector, grid).reshape(len(side), -1) >= threshold
        ax.contourf(side, side, inside, levels=[0.5, 1.5], colors="tab:orange", alpha=0.4)
        ax.scatter(*X.T, s=4, c=np.where(outlier, "black", "tab:blue"))
        ax.set(title=f"{name}: {errors(scores(detector, X), outlier)}", xticks=[], yticks=[])


def main() -> None:
    """Count, time and draw."""
    given = options(__doc__.splitlines()[0])
    report = Report("detectors", given)
    figure, axes = plt.subplots(len(SEPARATIONS), 6, figsize=(17, 8.5), layout="constrained")
    wrong: dict[str, dict[float, list[int]]] = {}
    seconds: dict[str, list[float]] = {}
    for separation, row in zip(SEPARATIONS, axes, strict=True):
        for seed in range(2 if given.quick else 10):
            X, outlier = points(separation, seed)
            fitted = detectors(seed)
            for name, detector in fitted.items():
                start = time.process_time()
                detector.fit(X)
                seconds.setdefault(name, []).append(time.process_time() - start)
                found = errors(scores(detector, X), outlier)
                wrong.setdefault(name, {}).setdefault(separation, []).append(found)
            if seed == 0:
                draw(row, fitted, X, outlier)
        report.progress(f"clusters at ±{separation:g}")
    rows = []
    for name, counts in wrong.items():
        line: dict = {"detector": name, "text": f"{PAPER[name]:g}" if name in PAPER else ""}
        line |= {f"±{distance:g}": pair(np.mean(count), np.std(count), 1) for distance, count in counts.items()}
        rows.append(line | {"CPU s": f"{np.median(seconds[name]):.3f}"})
    groups = {"": ["detector"], "errors of 200, clusters at": [f"±{distance:g}" for distance in SEPARATIONS]}
    groups |= {"s, thesis": ["text"], "a fit": ["CPU s"]}
    print(table("Figure 9.5: points called wrongly, mean and deviation over draws", groups, rows))
    report.add(rows=rows, wrong=wrong, seconds=seconds)
    report.picture(figure)
    report.write()


if __name__ == "__main__":
    main()
