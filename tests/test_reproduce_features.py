"""The scripts of reproduce/ on features: variances are those of the table, operators those of their matrices."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent.parent / "reproduce"))
    return importlib.import_module


def test_variances_at_zero_and_far_away(script):
    module = script("features")
    d, sigma = 3, 0.8
    deltas = np.array([[0.0, 0.0, 0.0], [30.0, 0.0, 0.0]])
    rows = {
        ("curl-free", False): (d + 1, (d + 2) / 2),
        ("curl-free", True): (d - 1, d / 2),
        ("divergence-free", False): (3 * (d - 1), (d - 1) * (d + 2) / 2),
        ("divergence-free", True): (d - 1, d * (d - 1) / 2),
    }
    for (kind, bounded), (near, far) in rows.items():
        found = module.exact_variance(kind, bounded, deltas, sigma)
        np.testing.assert_allclose(found, np.array([near, far])[:, None, None] * np.eye(d) / sigma**4, atol=1e-12)
        stated = module.stated_variance(kind, bounded, deltas[:1], sigma)
        np.testing.assert_allclose(stated, found[:1] / 2, atol=1e-12)  # the factor that was lost


def test_kernels_and_their_features_are_those_of_the_formulas(script):
    module = script("features")
    deltas = np.random.default_rng(0).normal(size=(5, module.COLUMNS))
    for kind in module.KINDS:
        own = module.values(module.kernel_of(kind), deltas, np.zeros((1, module.COLUMNS)))[:, 0]
        np.testing.assert_allclose(own, module.exact_values(kind, deltas), atol=1e-12)
    (row,) = module.convergence("curl-free", False, "iid", np.array([50]), 30)
    assert row["rms"] == pytest.approx(row["exact"], rel=0.25)


def test_the_expected_error_of_an_illustration_is_the_mean_of_draws(script):
    module = script("features")
    rows = [module.illustration(np.array([40]), seeds=(seed,))[0] for seed in range(12)]
    ratios = [(row[f"u{seed}"] / row[f"u{seed} exact"]) ** 2 for seed, row in enumerate(rows)]
    assert 0.6 < np.mean(ratios) < 1.5


@pytest.mark.parametrize("kind", ["decomposable", "curl-free", "divergence-free"])
def test_operators_have_the_products_of_their_matrices(script, monkeypatch, kind):
    module = script("feature_operators")
    monkeypatch.setattr(module, "SETTINGS", {kind: (20, 10)})
    monkeypatch.setattr(module, "seconds", lambda work, repeats: 1.0)
    row = module.compare(kind, 3, 1)
    assert row["difference"] < 1e-12
    assert row["matrix, MB"] == pytest.approx(8e-6 * 20 * 3 * row["rank"])
    monkeypatch.setattr(module, "MOST", 0)
    assert "difference" not in module.compare(kind, 3, 1)


def test_features_choose_their_own_regularisation(script):
    module = script("mnist")
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 784)) + 2 * np.eye(784)[y]
    data = X, y, X[:10], y[:10]
    approximation, alpha = module.RandomFourier(20, random_state=0), module.alpha_of_kernel(data, 60)
    own, given = module.one_fit(approximation, data, 60), module.one_fit(approximation, data, 60, alpha)
    assert given["λN"] == pytest.approx(60 * alpha)
    assert own["λN"] != given["λN"]
    assert max(given["gap"], own["gap"]) < 1e-4
    assert given["N"] == 60


def test_fields_and_tasks_have_the_fit_of_their_features(script):
    module = script("structured_features")
    X, Y, test, truth = module.made_field(2.0, 200, 100, seed=0)
    kernel = module.CurlFree(module.Gaussian("median"))
    scores = [module.r2(module.by_features(kernel, count, X, Y)(test), truth) for count in (5, 100)]
    assert 0.98 < scores[1] <= 1
    assert scores[0] < scores[1]
    assert module.r2(module.by_kernel(kernel, X[:60], Y[:60])(test), truth) > 0.98
    independent = module.by_features(module.Gaussian("median"), 100, X, Y)(test)
    assert independent.shape == truth.shape
    assert module.r2(independent, truth) > 0.9


def test_errors_of_detectors_are_counted(script):
    module = script("detectors")
    X, outlier = module.points(2.0, seed=0)
    assert X.shape == (200, 2)
    assert outlier.sum() == 50
    assert module.errors(np.where(outlier, -1.0, 1.0) + 1e-3 * X[:, 0], outlier) == 0
    assert module.errors(np.where(outlier, 1.0, -1.0) + 1e-3 * X[:, 0], outlier) == 100
    fitted = module.detectors(0)["level sets, 100 frequencies"].fit(X)
    assert fitted.approximation_.n_features == 200
    assert module.errors(module.scores(fitted, X), outlier) < 30
