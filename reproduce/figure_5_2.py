"""Figure 5.2 of Lambert (2021): quantile curves that cross, and five ways to keep them from it.

    python reproduce/figure_5_2.py

Protocol: 40 points of the sine data of Sangnier et al. (2016), 20 levels, the crossing penalty at the training points
and levels with λ_nc = 0 and 10; 100 levels are drawn. The paper shows a picture: many crossings with λ_nc = 0, few with
10, and those where there are no points. We count them, on 300 inputs between the outer training points, and add what
forbids them: at the training inputs ("constraint"), at 31 inputs of equal distance ("anchors"), everywhere between the
outer ones ("guarantee"), and by sorting the predictions ("rearrange").

Not published, and chosen by us: λ, the kernels, the seed; Gauss-Legendre levels; an intercept.
"""

from __future__ import annotations

import time

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, options, table

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre
from mercer.model_selection import crossing

#: inputs between the outer training points, where there are points or not
ANCHORS = np.linspace(0.03, 1.46, 31)[:, None]
#: title → settings, and what the paper says of its picture
METHODS = {
    "λ_nc = 0": ({"noncrossing": None}, "many crossings"),
    "λ_nc = 10": ({"noncrossing": "penalty", "crossing_penalty": 10.0}, "almost none"),
    "constraint": ({"noncrossing": "constraint"}, ""),
    "anchors": ({"noncrossing": "constraint", "crossing_anchors": ANCHORS}, ""),
    "guarantee": ({"noncrossing": "guarantee"}, ""),
    "rearrange": ({"noncrossing": "rearrange"}, ""),
}
LEVELS = np.linspace(0.005, 0.995, 100)


def falls(quantiles: np.ndarray) -> float:
    """Return the share of pairs of neighbouring levels, over all inputs, at which the quantile falls."""
    return float(np.mean(np.diff(quantiles, axis=1) < -1e-8))


def draw(curves: dict[str, np.ndarray], X: np.ndarray, y: np.ndarray, grid: np.ndarray) -> plt.Figure:
    """Return a panel of 100 quantile curves for each method, from blue (0) to red (1)."""
    figure, axes = plt.subplots(1, len(curves), figsize=(3.2 * len(curves), 3.2), sharey=True, layout="constrained")
    for ax, (name, quantiles) in zip(axes, curves.items(), strict=True):
        ax.set_prop_cycle(color=plt.get_cmap("coolwarm")(LEVELS))
        ax.plot(grid[:, 0], quantiles, linewidth=0.6)
        ax.plot(X[:, 0], y, "k.", markersize=4)
        ax.set(title=f"{name}: {100 * falls(quantiles):.1f} % fall", xlabel="x")
    axes[0].set_ylabel("quantiles")
    return figure


def main() -> None:
    """Fit, count, draw."""
    given = options(
        __doc__.splitlines()[0],
        alpha={"type": float, "default": 1e-5, "help": "λ (default: 1e-5)"},
        seed={"type": int, "default": 0, "help": "of the data (default: 0)"},
    )
    report = Report("figure_5_2", given)
    X, y = make_sine(40, random_state=given.seed)
    grid = np.linspace(X.min(), X.max(), 300)[:, None]
    rows, curves = [], {}
    for name, (settings, statement) in METHODS.items():
        start = time.perf_counter()
        model = KernelQuantileRegressor(
            Gaussian(gamma=8.0),
            output_kernel=Gaussian(gamma=9.0),
            alpha=given.alpha,
            measure=GaussLegendre(20),
            **settings,
        ).fit(X, y)
        seconds = time.perf_counter() - start
        curves[name] = model.predict_quantile(grid, LEVELS)
        at_data = model.predict_quantile(X, LEVELS)
        rows.append(
            {
                "method": name,
                "text": statement,
                "falls at data %": f"{100 * falls(at_data):.2f}",
                "falls on grid %": f"{100 * falls(curves[name]):.2f}",
                "crossing x 100": f"{100 * crossing(curves[name]):.4f}",
                "objective": f"{model.objective_:.5f}",
                "relative gap": f"{model.relative_gap_:.0e}",
                "seconds": f"{seconds:.1f}",
            }
        )
        report.progress(name)
    groups = {"": ["method"], "paper": ["text"], "mercer": list(rows[0])[2:]}
    print(table("Figure 5.2, crossings of 100 quantile curves of 40 points, 20 levels trained on", groups, rows))
    print(
        f"\nλ = {given.alpha:g}, Gaussian kernels with γ = 8 (inputs) and 9 (levels), "
        f"seed {given.seed}: not published; ours."
    )
    report.add(rows=rows)
    report.picture(draw(curves, X, y, grid))
    report.write()


if __name__ == "__main__":
    main()
