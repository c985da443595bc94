"""reproduce/fields.py: made fields are what they are called, and rivals are tuned as it says."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from mercer.kernels import Gaussian

FOLDER = Path(__file__).parent.parent / "reproduce"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("fields")


@pytest.mark.parametrize("kind", ["curl-free", "divergence-free"])
def test_made_fields_are_of_their_kind(script, kind):
    X, Y, grid, truth = script.made_field(kind, 0)
    assert X.shape == Y.shape == (50, 2)
    field, side = truth.reshape(20, 20, 2), np.unique(grid[:, 0])
    across, along = (np.gradient(field, side, axis=axis, edge_order=2) for axis in (1, 0))  # ∂/∂x₁, ∂/∂x₂
    divergence, curl = across[..., 0] + along[..., 1], across[..., 1] - along[..., 0]
    small, large = (curl, divergence) if kind == "curl-free" else (divergence, curl)
    assert np.sqrt(np.mean(small**2)) < 0.1 * np.sqrt(np.mean(large**2))


def test_left_out_fits_have_the_least_error_of_fits_to_the_others(script, monkeypatch):
    """By brute force, over the few candidates that are left."""
    monkeypatch.setattr(script, "LENGTHS", (0.6, 1.2))
    monkeypatch.setattr(script, "SHIFTS", np.array([1e-3, 1e-1]))
    X, Y, *_ = script.made_field("curl-free", 1)
    X, Y = X[:12], Y[:12]
    model = script.left_out(X, Y, "curl-free")
    errors = {}
    for length in script.LENGTHS:
        gamma = 0.5 / (script.typical_distance(X) * length) ** 2
        for shift in script.SHIFTS * 2 * gamma:
            for constant in (False, True):
                left = []
                for i in range(12):
                    keep = np.arange(12) != i
                    fit = script.VectorFieldRegressor(
                        script.CurlFree(Gaussian(gamma)), alpha=shift / 11, fit_intercept=constant, tol=1e-8
                    ).fit(X[keep], Y[keep])
                    left.append(np.sum((fit.predict(X[[i]]) - Y[[i]]) ** 2))
                errors[gamma, round(shift, 12), constant] = np.mean(left)
    gamma, shift, constant = min(errors, key=lambda key: errors[key])
    assert model.kernel_.kernel.gamma == pytest.approx(gamma)
    assert model.alpha_ * 12 == pytest.approx(shift)
    assert bool(np.any(model.intercept_)) == constant


def test_kernel_ridge_interpolates_what_is_smooth(script):
    x = np.linspace(-1, 1, 30)
    X = np.stack([x, np.sin(7 * x)], axis=1)
    np.testing.assert_allclose(script.kernel_ridge(X, X)(X), X, atol=1e-3)
