"""Continuous quantile regression of Brault (2017, section 9.1.4): all quantiles of the sine data, loss and time.

    python reproduce/continuous_quantiles.py            # 5 samples
    python reproduce/continuous_quantiles.py --quick    # 2 samples, 2 folds

Protocol: 2500 training and 1000 test points of the sine data of Sangnier et al. (2016), levels 0.05, 0.275, 0.5, 0.725,
0.95 (the text has 0.775 for 0.725, its listing 0.725). Published, from one run each: a test pinball loss of 0.818 in
30 s on a GPU (random features, 100 levels), and 0.817 in 1330 s for joint quantile regression on the five levels.

How the published loss adds up is not stated. The sum over the five levels of the mean loss comes nearest to it. But
on the data as they are described the true quantiles themselves have a sum of 0.891 in expectation (0.867 with the level
0.775), and the standard deviation over test samples of 1000 points is 0.025: the published 0.818 is three (two) of them
below the true quantiles. It was a lucky test sample, or the data or the loss were others. We report ratios to the true
quantiles on the same test samples, and the time.

Not published, and chosen by us: λ (by leave-one-out or by cross-validation), the seeds, the number of features. On the
line a Gaussian kernel has few eigenfunctions that matter, which the exact fit finds by itself: features save no time
here, and are shown because the published method has them.
"""

from __future__ import annotations

import time

import numpy as np
from report import Report, options, pair, table

from mercer import KernelQuantileRegressor, KernelQuantileRegressorCV
from mercer.datasets import make_sine, sine_quantiles
from mercer.features import RandomFourier
from mercer.kernels import Gaussian
from mercer.measures import GaussLegendre, Points
from mercer.model_selection import crossing, integrated_pinball

LEVELS = np.array([0.05, 0.275, 0.5, 0.725, 0.95])


def models(folds: int) -> dict:
    """Return the models: defaults, cross-validation, the kernel and number of levels of the text, five levels alone."""
    gaussian = Gaussian(gamma=8.0)  # σ = 0.25
    return {
        "default": KernelQuantileRegressor(),
        "cross-validated": KernelQuantileRegressorCV(cv=folds),
        "σ = 0.25, 100 levels": KernelQuantileRegressor(gaussian, measure=GaussLegendre(100)),
        "the same, 100 frequencies": KernelQuantileRegressor(
            gaussian, measure=GaussLegendre(100), approximation=RandomFourier(100, random_state=0)
        ),
        "σ = 0.25, five levels": KernelQuantileRegressor(gaussian, measure=Points(LEVELS)),
    }


#: published loss and seconds, beside the model which resembles the method most
PAPER = {"the same, 100 frequencies": ("0.818", "30 (GPU)"), "σ = 0.25, five levels": ("0.817", "1330")}


def total_pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    """Return the sum over the five levels of the mean pinball loss."""
    return integrated_pinball(y, quantiles, LEVELS, np.ones(len(LEVELS)))


def one_sample(seed: int, folds: int = 5) -> dict[str, dict]:
    """Fit all models to one sample; return loss, time of training and prediction, crossing and gap."""
    X, y = make_sine(2500, random_state=seed)
    X_test, y_test = make_sine(1000, random_state=10_000 + seed)
    found = {"true quantiles": {"loss": total_pinball(y_test, sine_quantiles(X_test, LEVELS))}}
    for name, model in models(folds).items():
        start = time.perf_counter()
        quantiles = model.fit(X, y).predict_quantile(X_test, LEVELS)
        found[name] = {
            "seconds": time.perf_counter() - start,
            "loss": total_pinball(y_test, quantiles),
            "crossing": crossing(quantiles),
            "relative gap": model.relative_gap_,
            "alpha": model.alpha_,
        }
    return found


def summary(name: str, samples: list[dict]) -> dict:
    """Return one line of the table."""
    runs = [sample[name] for sample in samples]
    truth = np.array([sample["true quantiles"]["loss"] for sample in samples])
    losses = np.array([run["loss"] for run in runs])
    loss, seconds = PAPER.get(name, ("", ""))
    line = {"model": name, "loss ": loss, "seconds ": seconds, "loss": pair(losses.mean(), losses.std(ddof=1), 3)}
    line["/ true quantiles"] = f"{np.mean(losses / truth):.4f}"
    if name != "true quantiles":
        line["seconds"] = f"{np.mean([run['seconds'] for run in runs]):.1f}"
        line["largest gap"] = f"{max(run['relative gap'] for run in runs):.0e}"
        line["crossing"] = f"{max(run['crossing'] for run in runs):.0e}"
    return line


def main() -> None:
    """Fit, score and time."""
    given = options(
        __doc__.splitlines()[0],
        samples={"type": int, "help": "number of samples, at least 2 (default: 5, or 2 with --quick)"},
    )
    report = Report("continuous_quantiles", given)
    samples = []
    for seed in range(max(2, given.samples or (2 if given.quick else 5))):
        samples.append(one_sample(seed, 2 if given.quick else 5))
        report.progress(f"sample {seed}")
    rows = [summary(name, samples) for name in samples[0]]
    groups = {
        "": ["model"],
        "paper (one run)": ["loss ", "seconds "],
        "mercer": ["loss", "/ true quantiles", "seconds", "largest gap", "crossing"],
    }
    print(table(f"Brault 9.1.4, sum of the pinball loss at five levels, {len(samples)} samples", groups, rows))
    print(
        "± standard deviation over samples; seconds: training and prediction, on a CPU.\n"
        "True quantiles have 0.891 in expectation, with a standard deviation of 0.025 over test samples: the\n"
        "published losses, of one test sample, are below what a model can expect; see the ratios to the true quantiles."
    )
    report.add(rows=rows, samples=samples)
    report.write()


if __name__ == "__main__":
    main()
