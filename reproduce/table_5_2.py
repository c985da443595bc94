"""Table 5.2 of Lambert (2021): cost-sensitive classification, jointly over all costs and at three costs separately.

    python reproduce/table_5_2.py            # 50 splits
    python reproduce/table_5_2.py --quick    # 5 splits

Protocol: two moons (noise 0.4) and circles (noise 0.1) with 1000 points, iris; 50 random splits 50/50; Gaussian k_X
whose σ is the median distance of the training half; Gaussian k_Θ with γ = 5 on Θ = [−1, 1]; 20 Sobol costs; the hinge
loss smoothed by its Moreau envelope. The cost θ' ∈ [−1, 1] of the paper is (θ' + 1)/2 here, and γ is 20 on (0, 1).
ICSC is one model for all costs, IND three models for one cost each.

Not published, and chosen by us: λ, one for ICSC and one for IND, and κ, the same for all datasets; the factor of the
circles (that of scikit-learn, 0.8); an intercept; new points for each split; versicolor against virginica (positive) as
the two classes of iris. λ and κ were chosen to be close to the published rows on other splits (seeds below 50), so that
the table says that the published figures can be had, not that they were predicted. Of IND on the circles: with the λ
of ICSC it has about 15 % and 20 % where 0 is published; ten times that λ gives 0.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from report import Report, options, pair, table
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from mercer import CostSensitiveClassifier
from mercer.kernels import Gaussian
from mercer.losses import MoreauHinge
from mercer.measures import Points, Sobol

#: θ' of the paper
COSTS = (-0.9, 0.0, 0.9)
METHODS = ("IND", "ICSC")
#: sensitivity and specificity with their ± at each of the three costs, in hundredths
PAPER = {
    "two-moons": {
        "IND": ((30, 5), (99, 1), (83, 3), (86, 3), (99, 0), (32, 6)),
        "ICSC": ((32, 5), (99, 1), (84, 3), (87, 3), (100, 0), (36, 4)),
    },
    "circles": {
        "IND": ((0, 0), (100, 0), (82, 2), (84, 3), (100, 0), (0, 0)),
        "ICSC": ((15, 5), (100, 0), (82, 2), (84, 3), (100, 0), (12, 5)),
    },
    "iris": {
        "IND": ((88, 8), (94, 6), (94, 5), (92, 6), (97, 5), (87, 6)),
        "ICSC": ((89, 8), (94, 5), (94, 6), (92, 5), (97, 4), (90, 5)),
    },
}
#: how far a mean may be from the published one, in hundredths
MARGIN = 7


def unit_cost(cost: float) -> float:
    """Return θ ∈ (0, 1) for θ' ∈ (−1, 1)."""
    return (cost + 1) / 2


def draw(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a dataset, new ones for each seed, and labels of which 1 is the positive class."""
    if name == "two-moons":
        return make_moons(1000, noise=0.4, random_state=seed)
    if name == "circles":
        return make_circles(1000, noise=0.1, factor=0.8, random_state=seed)
    X, y = load_iris(return_X_y=True)
    return X[y > 0], y[y > 0] - 1


def models(
    X: np.ndarray, y: np.ndarray, alpha: float, alpha_alone: float, kappa: float
) -> tuple[CostSensitiveClassifier, list[CostSensitiveClassifier]]:
    """Return the model of all costs, and one for each of the three."""
    kernel = Gaussian(gamma=0.5 / np.median(pdist(X)) ** 2)
    common = {"loss": MoreauHinge(kappa), "output_kernel": Gaussian(gamma=20.0), "random_state": 0}
    with warnings.catch_warnings():
        # Sobol points are balanced in sizes 2^k; the paper takes 20
        warnings.filterwarnings("ignore", message="The balance properties of Sobol", category=UserWarning)
        joint = CostSensitiveClassifier(kernel, alpha=alpha, measure=Sobol(20), **common).fit(X, y)
    rules = [Points([unit_cost(cost)]) for cost in COSTS]
    return joint, [CostSensitiveClassifier(kernel, alpha=alpha_alone, measure=one, **common).fit(X, y) for one in rules]


def one_split(name: str, seed: int, alpha: float, alpha_alone: float, kappa: float) -> dict[str, np.ndarray]:
    """Return sensitivity and specificity at the three costs, shape (6,) in hundredths, and gaps for both methods."""
    X_train, X_test, y_train, y_test = train_test_split(*draw(name, seed), test_size=0.5, random_state=seed)
    joint, alone = models(X_train, y_train, alpha, alpha_alone, kappa)

    def operation(model: CostSensitiveClassifier, costs: Sequence[float]) -> np.ndarray:
        curve = model.operating_curve(X_test, y_test, [unit_cost(cost) for cost in costs])
        return 100 * np.stack([curve.sensitivity, curve.specificity], axis=1).ravel()

    found = {"ICSC": operation(joint, COSTS), "gap ICSC": joint.relative_gap_}
    found["IND"] = np.concatenate([operation(model, [cost]) for model, cost in zip(alone, COSTS, strict=True)])
    found["gap IND"] = max(model.relative_gap_ for model in alone)
    return found


def rows(name: str, method: str, values: np.ndarray) -> tuple[list[dict], float]:
    """Return lines of the table, one for each cost, and the largest distance of a mean from the published one."""
    lines, distances = [], []
    for j, cost in enumerate(COSTS):
        line = {"dataset": name, "method": method, "θ'": f"{cost:+.1f}"}
        for shift, short in enumerate(("sens", "spec")):
            at = 2 * j + shift
            line[f"{short} "] = pair(*PAPER[name][method][at])
            line[short] = pair(values[:, at].mean(), values[:, at].std(ddof=1))
            distances.append(abs(values[:, at].mean() - PAPER[name][method][at][0]))
        line["largest difference"] = f"{max(distances[-2:]):.1f}"
        lines.append(line)
    return lines, max(distances)


def main() -> None:
    """Run the protocol, print the table and write the figures."""
    given = options(
        __doc__.splitlines()[0],
        splits={"type": int, "help": "number of splits, at least 2 (default: 50, or 5 with --quick)"},
        alpha={"type": float, "default": 1.5e-5, "help": "λ of ICSC (default: 1.5e-5)"},
        alpha_ind={"type": float, "default": 1.5e-4, "help": "λ of IND (default: 1.5e-4)"},
        kappa={"type": float, "default": 0.5, "help": "κ of the Moreau envelope (default: 0.5)"},
        seed={"type": int, "default": 1000, "help": "of the first split (default: 1000)"},
    )
    report = Report("table_5_2", given)
    n_splits = max(2, given.splits or (5 if given.quick else 50))
    lines, distances, figures = [], {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)  # every fit is certified
        for name in PAPER:
            seeds = range(given.seed, given.seed + n_splits)
            splits = [one_split(name, seed, given.alpha, given.alpha_ind, given.kappa) for seed in seeds]
            for method in METHODS:
                values = np.stack([split[method] for split in splits])
                found, distances[f"{name} {method}"] = rows(name, method, values)
                lines += found
                figures[f"{name} {method}"] = {
                    "mean": values.mean(axis=0),
                    "std": values.std(axis=0, ddof=1),
                    "largest relative gap": max(split[f"gap {method}"] for split in splits),
                }
            report.progress(name)
    groups = {
        "": ["dataset", "method", "θ'"],
        "paper": ["sens ", "spec "],
        "mercer": ["sens", "spec"],
        "points": ["largest difference"],
    }
    print(table(f"Table 5.2, sensitivity and specificity in %, {n_splits} splits", groups, lines))
    print(
        f"\nλ = {given.alpha:g} (ICSC) and {given.alpha_ind:g} (IND), κ = {given.kappa:g} (not published; ours); "
        "20 Sobol costs, intercept, σ = median distance."
    )
    print("largest difference of a mean from the published one, in points (goal: 7 for ICSC on moons and circles):")
    print("\n".join(f"{name:>16} {value:5.1f}" for name, value in distances.items()))
    report.add(rows=lines, largest_difference=distances, figures=figures)
    report.write()


if __name__ == "__main__":
    main()
