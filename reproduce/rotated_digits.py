"""The angle of rotated digits, with noise that depends on the digit: a deep kernel beside its rivals.

    python reproduce/rotated_digits.py --data DIR            # 5 000 images to learn from
    python reproduce/rotated_digits.py --data DIR --quick    # 600 images and few passes, to see that it runs

Lambert (2021), section 5.4.4, learns quantiles of the age of fish from images of their otoliths, which are not
available, with a network pretrained for that; no numbers are printed. Here digits of MNIST are turned by angles between
−60 and 60 degrees, to which noise with a standard deviation of 2 + 2·(digit) degrees is added: a model has to read
angle and digit off the pixels. Compared on test images of others' writing, mean pinball loss at levels 0.1, ..., 0.9:

- the deep kernel: a small network and a Gaussian kernel, ``mercer.interop.torch.DeepKernel``;
- the same network with nine linear outputs, trained on the summed pinball loss;
- the kernel on raw pixels, landmarks, λ by leave-one-out.

The networks have the same rows, the same held-out fifth of them, Adam, the learning rates 1e-3 and 3e-3 of which the
better one by held-out loss is taken, and stop after as many passes without a lower held-out loss. Coverage is that of
the interval between 0.1 and 0.9, as it comes and after quantiles were shifted by their residuals on 1 000 images more.
"Least" is the loss of the true quantiles. Times are CPU seconds of all that is tried. Needs ``mercer[torch]``.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from report import Report, data_file, options, table
from scipy.ndimage import rotate
from scipy.stats import norm
from torch import nn

from mercer import KernelQuantileRegressor
from mercer.features import Nystroem
from mercer.interop.torch import DeepKernel
from mercer.kernels import Gaussian
from mercer.measures import Points
from mercer.model_selection import integrated_pinball

LEVELS = np.arange(1, 10) / 10
WEIGHTS = np.full(len(LEVELS), 1 / len(LEVELS))
RATES = (1e-3, 3e-3)
FEATURES, BATCH, PATIENCE = 16, 256, 8

Predict = Callable[[np.ndarray], np.ndarray]


def turned(images: np.ndarray, digits: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return turned images as rows of pixels, noisy angles in degrees, and the standard deviations of the noise."""
    rng = np.random.default_rng(seed)
    angles, spread = rng.uniform(-60, 60, size=len(images)), 2.0 + 2.0 * digits
    rows = [rotate(image / 255, angle, reshape=False, order=1) for image, angle in zip(images, angles, strict=True)]
    return np.reshape(rows, (len(rows), -1)).astype(np.float32), angles + spread * rng.normal(size=len(rows)), spread


def body() -> list[nn.Module]:
    """Return the layers that both networks have."""
    return [
        nn.Unflatten(1, (1, 28, 28)),
        *(nn.Conv2d(1, 12, 5, stride=2, padding=2), nn.ReLU()),
        *(nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU()),
        *(nn.Conv2d(24, 24, 3, stride=2, padding=1), nn.ReLU()),
        nn.Flatten(),
        *(nn.Linear(24 * 16, 64), nn.ReLU()),
        nn.Linear(64, FEATURES),
    ]


def pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    """Return the mean pinball loss over levels."""
    return float(integrated_pinball(y, quantiles, LEVELS, WEIGHTS))


def deep_kernel(X: np.ndarray, y: np.ndarray, epochs: int, rate: float) -> tuple[Predict, float, dict]:
    """Return quantiles by the deep kernel, its held-out loss, and more of the fit."""
    torch.manual_seed(0)
    module = nn.Sequential(*body(), nn.BatchNorm1d(FEATURES, affine=False))
    settings = {"max_epochs": epochs, "batch_size": BATCH, "learning_rate": rate, "patience": PATIENCE}
    model = DeepKernel(module, estimator=KernelQuantileRegressor(measure=Points(LEVELS)), **settings).fit(X, y)
    best = float(model.history_["held_out_loss"].min())
    more = {"passes": len(model.history_["value"]), "gap": model.estimator_.relative_gap_}
    return (lambda Z: model.predict_quantile(Z, LEVELS)), best, more


def direct_network(X: np.ndarray, y: np.ndarray, epochs: int, rate: float) -> tuple[Predict, float, dict]:
    """Return quantiles by the network with nine outputs, its held-out loss, and more of the fit."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    out, train = order[: len(X) // 5], order[len(X) // 5 :]
    network = nn.Sequential(*body(), nn.BatchNorm1d(FEATURES), nn.ReLU(), nn.Linear(FEATURES, len(LEVELS)))
    optimiser, levels = torch.optim.Adam(network.parameters(), lr=rate), torch.tensor(LEVELS)
    unit = float(np.std(y[train]))  # targets of deviation 1, as the learning rate expects
    losses: list[float] = []

    def predict(Z: np.ndarray) -> np.ndarray:
        network.eval()
        with torch.no_grad():
            return unit * network(torch.from_numpy(Z)).double().numpy()

    for _ in range(epochs):
        network.train()
        shuffled = rng.permutation(train)
        for batch in np.array_split(shuffled, max(1, len(shuffled) // (BATCH // 2))):
            residuals = torch.from_numpy(y[batch] / unit)[:, None] - network(torch.from_numpy(X[batch]))
            optimiser.zero_grad()
            torch.maximum(levels * residuals, (levels - 1) * residuals).sum(dim=1).mean().backward()
            optimiser.step()
        losses.append(pinball(y[out], predict(X[out])))
        if losses[-1] == min(losses):
            state = copy.deepcopy(network.state_dict())
        elif len(losses) - 1 - int(np.argmin(losses)) >= PATIENCE:
            break
    network.load_state_dict(state)
    return predict, min(losses), {"passes": len(losses)}


def raw_kernel(X: np.ndarray, y: np.ndarray) -> tuple[Predict, float, dict]:
    """Return quantiles by a Gaussian kernel on pixels."""
    features = Nystroem(min(1000, len(X) // 2), random_state=0)
    model = KernelQuantileRegressor(Gaussian("median"), measure=Points(LEVELS), approximation=features)
    model.fit(X.astype(float), y)
    return (lambda Z: model.predict_quantile(Z.astype(float), LEVELS)), np.nan, {"gap": model.relative_gap_}


def compared(name: str, tried: list[Callable], data: dict, report: Report) -> dict:
    """Fit all that is tried, take what has the least held-out loss, and judge it on test images."""
    start = time.process_time()
    predict, held_out, more = min((fit(*data["learn"][:2]) for fit in tried), key=lambda found: found[1])
    seconds = time.process_time() - start
    (X, y, _), (more_images, more_angles, _) = data["test"], data["calibrate"]
    quantiles = predict(X)
    rest = more_angles[:, None] - predict(more_images)
    shifted = quantiles + [np.quantile(column, level) for column, level in zip(rest.T, LEVELS, strict=True)]
    report.progress(f"{name}: {pinball(y, quantiles):.3f}")
    return {
        "model": name,
        "pinball": pinball(y, quantiles),
        "shifted": pinball(y, np.sort(shifted, axis=1)),
        "held out": held_out,
        "crossings %": 100 * float(np.mean(np.diff(quantiles, axis=1) < 0)),
        "coverage": float(np.mean((y >= quantiles[:, 0]) & (y <= quantiles[:, -1]))),
        "after shift": float(np.mean((y >= shifted[:, 0]) & (y <= shifted[:, -1]))),
        "CPU s": seconds,
    } | more


def main() -> None:
    """Fit and compare."""
    given = options(__doc__.splitlines()[0])
    report = Report("rotated_digits", given)
    contents = "X_train (12000, 28, 28), y_train, X_test (10000, 28, 28), y_test: the first images of MNIST, uint8."
    sizes = (600, 200, 500) if given.quick else (5000, 1000, 5000)
    epochs, longer = (2, 4) if given.quick else (30, 100)
    with np.load(data_file(given.data, "mnist_12k_10k.npz", contents)) as images:
        X, digits, X_test, digits_test = (images[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    learn, more = slice(sizes[0]), slice(sizes[0], sizes[0] + sizes[1])
    data = {
        "learn": turned(X[learn], digits[learn], 0),
        "calibrate": turned(X[more], digits[more], 1),
        "test": turned(X_test[: sizes[2]], digits_test[: sizes[2]], 2),
    }
    torch.set_num_threads(1)
    rows = [
        compared("deep kernel", [partial(deep_kernel, epochs=epochs, rate=rate) for rate in RATES], data, report),
        compared("network", [partial(direct_network, epochs=longer, rate=rate) for rate in RATES], data, report),
        compared("raw pixels", [raw_kernel], data, report),
    ]
    least = float(np.mean(data["test"][2]) * np.mean(norm.pdf(norm.ppf(LEVELS))))
    groups = {
        "": ["model"],
        "pinball loss": ["pinball", "shifted", "held out"],
        "quantiles": ["crossings %", "coverage", "after shift"],
        "fit": ["CPU s", "passes", "gap"],
    }
    print(table(f"{sizes[0]} images, {sizes[2]} test images; least loss {least:.3f}", groups, rows))
    report.add(models=rows, least=least, images=sizes, passes=(epochs, longer))
    report.write()


if __name__ == "__main__":
    main()
