"""The script of rotated digits: images turn as said, rivals learn, and what is least is the loss of the truth."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

pytest.importorskip("torch")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "reproduce"))
    return importlib.import_module("rotated_digits")


def bars(n):
    """Images of an upright bar."""
    images = np.zeros((n, 28, 28), dtype=np.uint8)
    images[:, 4:24, 12:16] = 255
    return images


def test_images_are_turned_by_the_angle_before_noise(script):
    rows, angles, spread = script.turned(bars(40), np.zeros(40, dtype=int), 0)
    assert np.all(spread == 2)
    y, x = np.mgrid[:28, :28] - 13.5
    second = np.array([[np.sum(row.reshape(28, 28) * part) for part in (x * x, x * y, y * y)] for row in rows])
    turned = np.rad2deg(0.5 * np.arctan2(-2 * second[:, 1], second[:, 2] - second[:, 0]))
    assert np.std(np.abs(angles) - np.abs(turned)) < 3


def test_the_least_loss_is_that_of_the_true_quantiles(script):
    rng = np.random.default_rng(0)
    spread = rng.uniform(1, 3, size=40_000)
    y, quantiles = spread * rng.normal(size=40_000), spread[:, None] * norm.ppf(script.LEVELS)
    least = np.mean(spread) * np.mean(norm.pdf(norm.ppf(script.LEVELS)))
    assert script.pinball(y, quantiles) == pytest.approx(least, rel=0.02)


def test_both_networks_learn(script):
    rng = np.random.default_rng(0)
    X, y, _ = script.turned(bars(240), rng.integers(0, 3, 240), 1)
    constant = script.pinball(y, np.tile(np.quantile(y, script.LEVELS), (240, 1)))
    for fit, passes in ((script.deep_kernel, 3), (script.direct_network, 60)):
        predict, held_out, more = fit(X, y, passes, 3e-3)
        assert predict(X).shape == (240, 9)
        assert script.pinball(y, predict(X)) < constant
        assert np.isfinite(held_out)
        assert more["passes"] <= passes
