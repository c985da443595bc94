"""Figure 5.4 of Lambert (2021): how many levels m the integral over levels needs.

    python reproduce/figure_5_4.py            # 5 repetitions
    python reproduce/figure_5_4.py --quick    # 1 repetition

Protocol: 1000 training and 2000 test points of the sine data of Sangnier et al. (2016); quantile curves at 0.05, 0.25,
0.5, 0.75, 0.95 against m. The paper shows that they no longer change from m = 34 ≈ √1000 on. We report the test pinball
loss and the mean change of the test predictions against the largest m, for random levels (Sobol, as quasi-Monte Carlo
in the paper's chapter 3) and for Gauss-Legendre levels.

Not published, and chosen by us: λ, the kernels, the seeds, the values of m; an intercept.
"""

from __future__ import annotations

import warnings

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from report import Report, options, table

from mercer import KernelQuantileRegressor
from mercer.datasets import make_sine, sine_quantiles
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre, Sobol
from mercer.model_selection import integrated_pinball

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
#: relative gap: fits that stop at 1e-3 differ by more than the levels change
TOL = 1e-5
SIZES = (2, 4, 8, 16, 34, 64, 128)
RULES = {"Sobol": Sobol, "Gauss-Legendre": GaussLegendre}


def predictions(rule, size: int, seed: int, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Return test inputs, targets and predictions of a model with m levels, and its gap."""
    X, y = make_sine(3000, random_state=seed)
    model = KernelQuantileRegressor(
        Gaussian(gamma=8.0),
        output_kernel=Gaussian(gamma=9.0),
        alpha=alpha,
        measure=rule(size),
        noncrossing=None,
        tol=TOL,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # Sobol points are balanced in sizes 2^k; 34 is the paper's
        warnings.filterwarnings("ignore", message="The balance properties of Sobol", category=UserWarning)
        model.fit(X[:1000], y[:1000])
    return X[1000:], y[1000:], model.predict_quantile(X[1000:], LEVELS), model.relative_gap_


def draw(losses: dict[str, np.ndarray], changes: dict[str, np.ndarray], oracle: float) -> plt.Figure:
    """Return test loss and change against m."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for name in losses:
        left.plot(SIZES, losses[name].mean(axis=0), "o-", label=name)
        right.plot(SIZES[:-1], changes[name].mean(axis=0)[:-1], "o-", label=name)
    left.axhline(oracle, color="k", linestyle=":", label="true quantiles")
    for ax in (left, right):
        ax.axvline(34, color="0.7", linewidth=0.8)
        ax.set(xscale="log", xlabel="m")
    left.set_ylabel("test pinball loss")
    right.set(ylabel=f"mean change against m = {SIZES[-1]}", yscale="log")
    left.legend(frameon=False)
    return figure


def main() -> None:
    """Fit for all m, score, draw."""
    given = options(
        __doc__.splitlines()[0],
        repetitions={"type": int, "help": "number of samples (default: 5, or 1 with --quick)"},
        alpha={"type": float, "default": 1e-4, "help": "λ (default: 1e-4)"},
    )
    report = Report("figure_5_4", given)
    repetitions = max(1, given.repetitions or (1 if given.quick else 5))
    losses, changes, gaps, oracle = {}, {}, [], []
    for name, rule in RULES.items():
        losses[name], changes[name] = np.zeros((repetitions, len(SIZES))), np.zeros((repetitions, len(SIZES)))
        for seed in range(repetitions):
            runs = [predictions(rule, size, seed, given.alpha) for size in SIZES]
            X, y, reference, _ = runs[-1]
            losses[name][seed] = [integrated_pinball(y, found, LEVELS) for _, _, found, _ in runs]
            changes[name][seed] = [np.mean(np.abs(found - reference)) for _, _, found, _ in runs]
            gaps += [gap for *_, gap in runs]
            oracle.append(integrated_pinball(y, sine_quantiles(X, LEVELS), LEVELS))
        report.progress(name)
    rows = [
        {"m": str(size), "text": "stable" if size >= 34 else ""}
        | {f"loss, {name}": f"{losses[name][:, j].mean():.4f}" for name in RULES}
        | {f"change, {name}": f"{changes[name][:, j].mean():.4f}" for name in RULES}
        for j, size in enumerate(SIZES)
    ]
    groups = {"": ["m"], "paper": ["text"], "mercer": list(rows[0])[2:]}
    print(
        table(
            f"Figure 5.4, number of levels: test pinball loss (mean over five levels), {repetitions} samples",
            groups,
            rows,
        )
    )
    print(
        f"\nTrue quantiles: {np.mean(oracle):.4f}. "
        f"change: mean absolute difference from the predictions with m = {SIZES[-1]}."
        f"\nλ = {given.alpha:g}, Gaussian kernels with γ = 8 (inputs) and 9 (levels): not published; ours."
        f"\nLargest relative gap: {max(gaps):.0e}."
    )
    report.add(rows=rows, oracle=np.mean(oracle), losses=losses, changes=changes, largest_relative_gap=max(gaps))
    report.picture(draw(losses, changes, float(np.mean(oracle))))
    report.write()


if __name__ == "__main__":
    main()
