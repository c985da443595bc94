"""Figures 4.8 and 4.9 of Lambert (2021): error and sparsity against ε of the ε-ridge loss, with local outliers.

    python reproduce/lip_sparsity.py --data DIR            # lip data and synthetic curves
    python reproduce/lip_sparsity.py --data DIR --quick    # two scales of noise, 5 values of ε
    python reproduce/lip_sparsity.py --synthetic           # without the lip data

Protocol: noise N(0, s²) is added at 20 % of the points of 50 % of the curves. On the lip data (Figure 4.8), s = 0.2,
0.5, 0.8, 1.2, the error is that of leave-one-out; on synthetic curves (Figure 4.9), s = 0.4, 1.2, 1.7, that on 250
fresh curves without outliers. λ and the scales of the kernels are those of ridge regression. ε-ridge by norm leaves
out curves, ε-ridge point by point leaves out points; the paper shows the former and says that the latter is alike.

The paper shows curves: the error grows with ε, the proportion of zeros grows to 1, and s matters little. Here ε is
given as a share of ε_max, the largest norm of an output (or value, pointwise), from which on the model is zero.

Not published, and chosen by us: seeds; every tenth point of the lip curves; λ and the scales of kernels, for the lip
data from the grids of lip_outliers.py, for synthetic curves by the defaults of ``FunctionalRegressor``.
"""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from lip_icml import leave_one_out, read
from lip_outliers import GEOMETRIES, ridge, tune
from report import Report, options, table

from mercer import FunctionalRegressor
from mercer.datasets import contaminate_curves, make_curves
from mercer.kernels import Gaussian, IntegralGaussian, Precomputed
from mercer.losses import EpsilonRidge
from mercer.measures import Grid, Measure
from mercer.operator_valued import Decomposable
from mercer.plotting import SparsityProfileDisplay

LIP_SCALES, SYNTHETIC_SCALES = (0.2, 0.5, 0.8, 1.2), (0.4, 1.2, 1.7)
#: ε in units of ε_max
SHARES = np.concatenate([[0, 0.02, 0.05], np.linspace(0.1, 1, 10)])
#: the shares that the table shows
SHOWN = (0.05, 0.2, 0.5)
EVERY = 10


def largest(Y: np.ndarray, nodes: Measure, geometry: str) -> float:
    """Return ε_max: the norm of the largest curve, or the largest value."""
    return float(np.max(nodes.norm(Y) if geometry == "norm" else np.abs(Y)))


def zeros(coef: np.ndarray, geometry: str) -> float:
    """Return the share of curves, or of entries, without a coefficient."""
    return float(np.mean(np.all(coef == 0, axis=1) if geometry == "norm" else coef == 0))


def lip(X, Y, nodes: Measure, scale: float, shares: np.ndarray) -> dict:
    """Return leave-one-out errors and shares of zeros of both losses on the lip data."""
    Y, _ = contaminate_curves(Y, "local", scale=scale, random_state=0)
    found = tune(IntegralGaussian, X, Y, nodes, "released")
    K, alpha = found.pop("gram"), found["alpha"]
    bound = Decomposable(Precomputed(), Gaussian(found["gamma_theta"])).bind(nodes)
    found["ridge"] = ridge(bound, K, Y, nodes, alpha)[0].mean()
    for geometry in GEOMETRIES:
        epsilons = shares * largest(Y, nodes, geometry)
        left_out = leave_one_out(bound, K, Y, nodes, alpha, EpsilonRidge(geometry=geometry), epsilons, tol=1e-6)
        share = left_out.zero_rows if geometry == "norm" else left_out.zero_entries
        found[geometry] = {"epsilons": epsilons, "errors": left_out.errors.mean(axis=0), "zeros": share.mean(axis=0)}
    return found


def synthetic(scale: float, shares: np.ndarray) -> dict:
    """Return errors on fresh curves and shares of zeros of both losses on synthetic curves."""
    data = make_curves(500, random_state=0)
    train, test = slice(250), slice(250, None)
    Y, _ = contaminate_curves(data.Y[train], "local", scale=scale, random_state=0)
    nodes = Grid(data.grid).build()
    square = FunctionalRegressor(IntegralGaussian(grid=data.x_grid), grid=data.grid, fit_intercept=False)
    square.fit(data.X[train], Y)

    def error(model) -> float:
        return float(np.mean(nodes.norm(data.noiseless[test] - model.predict(data.X[test])) ** 2))

    found: dict[str, Any] = {"alpha": square.alpha_, "kernel": str(square.kernel_)}
    found["output_kernel"] = str(square.output_kernel_)
    found["ridge"] = error(square)
    for geometry in GEOMETRIES:
        epsilons = shares * largest(Y, nodes, geometry)
        model = FunctionalRegressor(
            square.kernel_,
            output_kernel=square.output_kernel_,
            alpha=square.alpha_,
            grid=data.grid,
            fit_intercept=False,
            tol=1e-3,
            warm_start=True,
        )
        errors, share = [], []
        for epsilon in epsilons:
            model.set_params(loss=EpsilonRidge(float(epsilon), geometry=geometry)).fit(data.X[train], Y)
            errors.append(error(model))
            share.append(zeros(model.dual_coef_, geometry))
        found[geometry] = {"epsilons": epsilons, "errors": np.array(errors), "zeros": np.array(share)}
    return found


def rows(name: str, scale: float, found: dict, shares: np.ndarray) -> list[dict]:
    """Return two lines of the table, one for each loss."""
    lines = []
    for geometry in GEOMETRIES:
        line = {"data": name, "s": f"{scale:g}", "loss": geometry, "ridge": f"{found['ridge']:.4f}"}
        for share in SHOWN:
            k = int(np.argmin(np.abs(shares - share)))
            line[f"{shares[k]:.2g} ε_max"] = f"{found[geometry]['errors'][k]:.4f}"
            line[f"at {shares[k]:.2g}"] = f"{100 * found[geometry]['zeros'][k]:.0f} %"
        lines.append(line)
    return lines


def draw(profiles: dict[tuple[str, float], dict]) -> plt.Figure:
    """Return a row of panels for each loss."""
    figure, axes = plt.subplots(2, len(profiles), figsize=(4 * len(profiles), 6.4), layout="constrained", squeeze=False)
    for column, ((name, scale), found) in zip(axes.T, profiles.items(), strict=True):
        for ax, geometry in zip(column, GEOMETRIES, strict=True):
            part = found[geometry]
            display = SparsityProfileDisplay(
                part["epsilons"], part["errors"], part["zeros"], ridge_error=found["ridge"]
            )
            display.plot(ax)
            ax.set_title(f"{name}, noise {scale:g}, {geometry}")
            if geometry == "pointwise":
                display.share_ax_.set_ylabel("share of entries that are zero")
    return figure


def main() -> None:
    """Run both datasets."""
    given = options(__doc__.splitlines()[0], synthetic={"action": "store_true", "help": "leave out the lip data"})
    pair = None if given.synthetic else read(given.data)
    report = Report("lip_sparsity", given)
    shares = np.array([0, 0.05, 0.2, 0.5, 1]) if given.quick else SHARES
    profiles = {}
    if pair is not None:
        X, Y, grid = pair
        nodes, Y = Grid(grid[::EVERY]).build(), Y[:, ::EVERY]
        for scale in LIP_SCALES[::3] if given.quick else LIP_SCALES:
            profiles["lip", scale] = lip(X, Y, nodes, scale, shares)
            report.progress(f"lip, {scale:g}")
    for scale in SYNTHETIC_SCALES[::2] if given.quick else SYNTHETIC_SCALES:
        profiles["synthetic", scale] = synthetic(scale, shares)
        report.progress(f"synthetic, {scale:g}")
    lines = [line for (name, scale), found in profiles.items() for line in rows(name, scale, found, shares)]
    columns = list(lines[0])
    groups = {"": columns[:3], "error: ε = 0": columns[3:4], "error": columns[4::2], "share of zeros": columns[5::2]}
    print(table("Figures 4.8 and 4.9, ε-ridge with local outliers N(0, s²)", groups, lines))
    print("\npaper: curves only; errors and zeros grow with ε, s has little influence.")
    report.add(rows=lines, profiles={f"{name} {scale:g}": found for (name, scale), found in profiles.items()})
    report.picture(draw(profiles))
    report.write()


if __name__ == "__main__":
    main()
