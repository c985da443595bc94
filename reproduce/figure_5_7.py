"""Figures 5.7 and 5.8 of Lambert (2021): where costs put the boundary, jointly for all costs and alone for three.

    python reproduce/figure_5_7.py

Protocol: two moons (noise 0.4), circles (noise 0.1) and iris, the models of Table 5.2 (``table_5_2.py``, with its λ and
κ) on half of the points. The paper shows pictures of the independent problems and of the continuum beside each other.
We draw the boundaries, of 19 costs for the joint model, and count in the plane that is drawn how much of it each cost
calls positive, and how much is called positive at a cost and negative at a greater one: regions should grow with the
cost, and nothing in either model makes them. The three costs are θ' = −0.9, 0, 0.9.

Not published, and chosen by us: of iris the plane of its two leading principal components through the mean, and what
``table_5_2.py`` names. The models of iris are those of all four columns.
"""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, options, table
from sklearn.model_selection import train_test_split
from table_5_2 import COSTS, draw, models, unit_cost

DATASETS = ("two-moons", "circles", "iris")
#: θ' of the boundaries that are drawn for the joint model
DRAWN = np.linspace(-0.9, 0.9, 19)
#: points of the plane in each direction
SIDE = 120
#: room around the points, as a share of their range
ROOM = 0.1


def plane(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a point of a plane and two orthonormal directions: the plane itself, or that of principal components."""
    if X.shape[1] == 2:
        return np.zeros(2), np.eye(2)
    mean = X.mean(axis=0)
    return mean, np.linalg.svd(X - mean, full_matrices=False)[2][:2]


def grid_of(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the coordinates of a grid around points of the plane, and all of its points."""
    low, high = points.min(axis=0), points.max(axis=0)
    sides = [np.linspace(a - ROOM * (b - a), b + ROOM * (b - a), SIDE) for a, b in zip(low, high, strict=True)]
    return *sides, np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def turns_back(values: np.ndarray) -> float:
    """Return the share of rows that are positive at a cost and negative at a greater one; columns are costs."""
    positive = values >= 0
    return float(np.mean(np.any(positive[:, :-1] & ~positive[:, 1:], axis=1)))


def boundaries(name: str, seed: int, alpha: float, alpha_alone: float, kappa: float) -> dict[str, Any]:
    """Return decision values of both methods on the plane, and the training points in its coordinates."""
    X, _, y, _ = train_test_split(*draw(name, seed), test_size=0.5, random_state=seed)
    joint, alone = models(X, y, alpha, alpha_alone, kappa)
    origin, directions = plane(X)
    points = (X - origin) @ directions.T
    first, second, inside = grid_of(points)
    rows = origin + inside @ directions
    values = [model.predict_at(rows, [unit_cost(cost)]) for model, cost in zip(alone, COSTS, strict=True)]
    return {
        "points": points,
        "labels": y,
        "sides": (first, second),
        "IND": np.concatenate(values, axis=1),
        "ICSC": joint.predict_at(rows, unit_cost(DRAWN)),
        "gap": max(model.relative_gap_ for model in (joint, *alone)),
    }


def rows_of(name: str, found: dict[str, Any]) -> list[dict]:
    """Return two lines of the table, one for each method."""
    lines = []
    for method, costs in (("IND", np.array(COSTS)), ("ICSC", DRAWN)):
        at = [int(np.argmin(np.abs(costs - cost))) for cost in COSTS]
        shares = 100 * np.mean(found[method][:, at] >= 0, axis=0)
        line = {"dataset": name, "method": method}
        line |= {f"θ' = {cost:+.1f}": f"{share:.1f}" for cost, share in zip(COSTS, shares, strict=True)}
        line["of 3"] = f"{100 * turns_back(found[method][:, at]):.2f}"
        line["of all"] = f"{100 * turns_back(found[method]):.2f}"
        lines.append(line)
    return lines


def picture(results: dict[str, dict[str, Any]]) -> plt.Figure:
    """Return the three boundaries above and those of the continuum below, from blue (−0.9) to red (0.9)."""
    figure, axes = plt.subplots(2, len(results), figsize=(4 * len(results), 7.2), layout="constrained", squeeze=False)
    colours = plt.get_cmap("coolwarm")
    for column, (name, found) in zip(axes.T, results.items(), strict=True):
        for ax, (method, costs) in zip(column, (("IND", COSTS), ("ICSC", DRAWN)), strict=True):
            for label, marker, grey in ((0, ".", "0.7"), (1, "+", "0.4")):
                ax.plot(*found["points"][found["labels"] == label].T, marker, color=grey, markersize=4, zorder=0)
            for values, cost in zip(found[method].T, costs, strict=True):
                if values.min() < 0 < values.max():
                    shaped = values.reshape(SIDE, SIDE)
                    ax.contour(*found["sides"], shaped, [0], colors=[colours(unit_cost(cost))], linewidths=1)
            ax.set_title(f"{name}, {'three costs alone' if method == 'IND' else 'all costs'}")
    return figure


def main() -> None:
    """Fit, count, draw."""
    given = options(
        __doc__.splitlines()[0],
        alpha={"type": float, "default": 1.5e-5, "help": "λ of ICSC (default: 1.5e-5)"},
        alpha_ind={"type": float, "default": 1.5e-4, "help": "λ of IND (default: 1.5e-4)"},
        kappa={"type": float, "default": 0.5, "help": "κ of the Moreau envelope (default: 0.5)"},
        seed={"type": int, "default": 1000, "help": "of the points (default: 1000)"},
    )
    report = Report("figure_5_7", given)
    names = DATASETS[:1] if given.quick else DATASETS
    results = {name: boundaries(name, given.seed, given.alpha, given.alpha_ind, given.kappa) for name in names}
    lines = [line for name, found in results.items() for line in rows_of(name, found)]
    columns = list(lines[0])
    groups = {"": columns[:2], "positive, % of the plane": columns[2:5], "turns back, %": columns[5:]}
    print(table("Figures 5.7 and 5.8, regions of three costs alone (IND) and of all jointly (ICSC)", groups, lines))
    print(f"\npaper: pictures only. Largest relative gap: {max(found['gap'] for found in results.values()):.0e}.")
    report.add(rows=lines)
    report.picture(picture(results))
    report.write()


if __name__ == "__main__":
    main()
