"""Figure 4.7 of Lambert (2021): test error of the Huber loss on contaminated synthetic curves.

    python reproduce/synthetic_curves.py            # 8 seeds
    python reproduce/synthetic_curves.py --quick    # 2 seeds, fewer scales of outliers

Protocol: 250 curves of ``make_curves`` (four Gaussian processes, after Bouche et al., 2021) and 25 outliers whose input
and output come from other processes, with coefficients in [−s, s], s = 2, 4, 6, 10. λ and the scales of kernels are
those of ridge regression on the contaminated data. The error is the mean of ‖y − h(x)‖² on 250 fresh curves, without
noise. The paper shows curves, and says that for some κ Huber is better, though it is hard to see.

The inputs of such outliers are far from all others, so that they do little harm. We add two harder cases: outliers with
the input of an ordinary curve and a foreign output, 10 % of the curves ("misread"); and noise N(0, s²) at 20 % of the
points of 50 % of the curves ("local", s = 0.4, 1.2, 1.7), where the pointwise loss should help.

κ is 1.345 times the median norm of ridge residuals, or twice their median size at a point; the picture and the columns
"best κ" show other multiples. λ, chosen by ridge on data with outliers, is large. The last columns have
``FunctionalRegressor(loss="huber")`` with all its defaults, which chooses λ, k_Θ and κ without the outlying curves.
Means over seeds, with the standard error of the mean change of the error from that of ridge.

Not published, and chosen by us: seeds, noise of standard deviation 0.1 on the outputs, the integral Gaussian kernel
with the median scale, the defaults of ``FunctionalRegressor`` for λ and the output kernel.
"""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, options, table

from mercer import FunctionalRegressor
from mercer.datasets import contaminate_curves, make_curves
from mercer.kernels import IntegralGaussian
from mercer.losses import Huber
from mercer.measures import Grid

SCALES = {"foreign": (2, 4, 6, 10), "misread": (2, 4, 6, 10), "local": (0.4, 1.2, 1.7)}
GEOMETRIES = ("norm", "pointwise")
#: κ in units of the median size of the residuals of ridge; the default of the estimator is among them
MULTIPLES = (0.5, 1.0, 1.345, 2.0, 4.0, 8.0)
DEFAULT = {"norm": 1.345, "pointwise": 2.0}
N_CURVES, N_OUTLIERS = 250, 25


def foreign_curves(size: int, n_points: int, scale: float, seed: int) -> np.ndarray:
    """Return curves of other processes than those of ``make_curves``."""
    return contaminate_curves(np.zeros((size, n_points)), "foreign", 0.999, scale, random_state=seed)[0]


def contaminated(X: np.ndarray, Y: np.ndarray, kind: str, scale: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training data with outliers: 25 added pairs, 25 replaced outputs, or noise at some points."""
    if kind == "foreign":
        inputs = foreign_curves(N_OUTLIERS, X.shape[1], scale, 2 * seed)
        outputs = foreign_curves(N_OUTLIERS, Y.shape[1], scale, 2 * seed + 1)
        return np.concatenate([X, inputs]), np.concatenate([Y, outputs])
    if kind == "misread":
        return X, contaminate_curves(Y, "foreign", 0.1, scale, random_state=seed)[0]
    return X, contaminate_curves(Y, "local", scale=scale, random_state=seed)[0]


def one_seed(kind: str, scale: float, seed: int) -> dict:
    """Return test errors of ridge and, for each geometry and multiple, of Huber."""
    data = make_curves(2 * N_CURVES, random_state=seed)
    fresh = slice(N_CURVES, None)
    X, Y = contaminated(data.X[:N_CURVES], data.Y[:N_CURVES], kind, scale, seed)
    nodes = Grid(data.grid).build()

    def error(model) -> float:
        return float(np.mean(nodes.norm(data.noiseless[fresh] - model.predict(data.X[fresh])) ** 2))

    kernel = IntegralGaussian(grid=data.x_grid)
    square = FunctionalRegressor(kernel, grid=data.grid, fit_intercept=False).fit(X, Y)
    residuals = Y - square.predict(X)
    found = {"ridge": error(square), "gap": square.relative_gap_}
    for geometry in GEOMETRIES:
        typical = np.median(nodes.norm(residuals) if geometry == "norm" else np.abs(residuals))
        model = FunctionalRegressor(
            square.kernel_,
            output_kernel=square.output_kernel_,
            alpha=square.alpha_,
            grid=data.grid,
            fit_intercept=False,
            tol=1e-3,
            warm_start=True,
        )
        errors = []
        for multiple in MULTIPLES[::-1]:
            model.set_params(loss=Huber(float(multiple * typical), geometry=geometry)).fit(X, Y)
            errors.append(error(model))
            found["gap"] = max(found["gap"], model.relative_gap_)
        found[geometry] = errors[::-1]
        model = FunctionalRegressor(
            kernel, grid=data.grid, fit_intercept=False, loss="huber", geometry=geometry, tol=1e-3
        )
        found[f"{geometry}, automatic"] = error(model.fit(X, Y))
    return found


def change(results: list[dict], geometry: str) -> np.ndarray:
    """Return error of Huber over that of ridge less 1, in %, (seeds, multiples) or (seeds,)."""
    return 100 * np.array([np.array(result[geometry]) / result["ridge"] - 1 for result in results])


def row(kind: str, scale: float, results: list[dict]) -> dict:
    """Return a line of the table."""
    at = {geometry: MULTIPLES.index(DEFAULT[geometry]) for geometry in GEOMETRIES}
    line = {"outliers": kind, "s": f"{scale:g}", "ridge": f"{np.mean([result['ridge'] for result in results]):.4f}"}
    for geometry in GEOMETRIES:
        line[geometry] = f"{np.mean([result[geometry][at[geometry]] for result in results]):.4f}"
    for geometry in GEOMETRIES:
        changes = change(results, geometry)[:, at[geometry]]
        line[f"{geometry} "] = mean_change(changes)
        line[f"{geometry} wins"] = f"{np.sum(changes < 0)} of {len(changes)}"
    for geometry in GEOMETRIES:
        changes = change(results, geometry).mean(axis=0)
        line[f"{geometry}  "] = f"{changes.min():+.1f} % at {MULTIPLES[changes.argmin()]:g}"
    for geometry in GEOMETRIES:
        line[f"{geometry}   "] = mean_change(change(results, f"{geometry}, automatic"))
    return line


def mean_change(changes: np.ndarray) -> str:
    """Return mean and standard error of changes in %."""
    return f"{changes.mean():+.1f}±{changes.std(ddof=1) / np.sqrt(len(changes)):.1f} %"


def draw(results: dict[tuple[str, float], list[dict]]) -> plt.Figure:
    """Return two panels for each kind of outliers: change of the error against κ, a line for each scale."""
    kinds = list(dict.fromkeys(kind for kind, _ in results))
    figure, axes = plt.subplots(2, len(kinds), figsize=(4.4 * len(kinds), 6.4), layout="constrained", squeeze=False)
    for column, kind in zip(axes.T, kinds, strict=True):
        for ax, geometry in zip(column, GEOMETRIES, strict=True):
            for (other, scale), found in results.items():
                if other == kind:
                    changes = change(found, geometry)
                    spread = changes.std(axis=0, ddof=1) / np.sqrt(len(changes))
                    ax.errorbar(MULTIPLES, changes.mean(axis=0), spread, marker="o", label=f"s = {scale:g}")
            ax.axhline(0, color="grey", linewidth=0.8, linestyle="--")
            ax.set(xscale="log", title=f"{kind}, {geometry}", xlabel="κ / median residual of ridge")
            ax.set_xticks(MULTIPLES, [f"{multiple:g}" for multiple in MULTIPLES])
            ax.minorticks_off()
        column[0].legend(frameon=False, fontsize=8)
    for ax in axes[:, 0]:
        ax.set_ylabel("change of the error from ridge, %")
    return figure


def main() -> None:
    """Run all kinds and scales of outliers."""
    given = options(
        __doc__.splitlines()[0],
        seeds={"type": int, "help": "number of seeds, at least 2 (default: 8, or 2 with --quick)"},
    )
    report = Report("synthetic_curves", given)
    n_seeds = max(2, given.seeds or (2 if given.quick else 8))
    results = {}
    for kind, scales in SCALES.items():
        for scale in scales[1:2] if given.quick else scales:
            results[kind, scale] = [one_seed(kind, scale, seed) for seed in range(n_seeds)]
            report.progress(f"{kind}, {scale:g}")
    rows = [row(kind, scale, found) for (kind, scale), found in results.items()]
    columns = list(rows[0])
    groups = {"": columns[:2], "test error": columns[2:5], "Huber against ridge": columns[5:9]}
    groups |= {"best κ": columns[9:11], "all by default": columns[11:]}
    print(table(f"Figure 4.7, contaminated synthetic curves, {n_seeds} seeds", groups, rows))
    gap = max(result["gap"] for found in results.values() for result in found)
    print(
        "\nκ = 1.345 (norm) and 2 (pointwise) times the median residual of ridge, or all by default;"
        "\nchange of the error ± standard error over seeds."
        "\nbest κ: the multiple of the median residual with the smallest mean change, as one reads it off the figure."
        f"\npaper: curves only; a range of κ in which Huber is better. largest relative duality gap: {gap:.0e}."
    )
    report.add(rows=rows, multiples=MULTIPLES, results={f"{kind} {scale:g}": v for (kind, scale), v in results.items()})
    report.picture(draw(results))
    report.write()


if __name__ == "__main__":
    main()
