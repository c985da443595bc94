"""Thresholds by left-out curves, of a loss of one's own that declares its threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from mercer import FunctionalRegressor, FunctionalRegressorCV
from mercer.estimators.read_outputs import read_outputs
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import Smoothness, ridge_residuals
from mercer.estimators.thresholds import default_thresholds
from mercer.kernels import Gaussian
from mercer.losses import Huber, Loss, Threshold

RNG = np.random.default_rng(0)
GRID = np.linspace(0, 1, 12)
X = RNG.uniform(size=(30, 1))
OUTLYING = np.sin(2 * np.pi * (GRID + X)) + 0.1 * RNG.normal(size=(30, 12))
OUTLYING[::6] *= -2
WEIGHTS = np.full(12, 1 / 11)
WEIGHTS[[0, -1]] /= 2


@dataclass(eq=False, repr=False)
class Bent(Loss):
    """Huber's loss of norms under another name, from the maps of a Loss only."""

    bend: float = 1.0

    pointwise = False
    smooth = True
    threshold = Threshold("bend", "square", of_norms=1.345, span=(10.0, 0.3))

    @property
    def dual_bound(self):
        return float(self.bend)

    def value(self, Y, U, measure):
        return Huber(self.bend).value(Y, U, measure)

    def gradient(self, Y, U, measure):
        return Huber(self.bend).gradient(Y, U, measure)

    def conjugate(self, Y, A, measure):
        return Huber(self.bend).conjugate(Y, A, measure)

    def conjugate_prox(self, Y, Z, t, measure):
        return Huber(self.bend).conjugate_prox(Y, Z, t, measure)


@pytest.mark.parametrize("observations", ["grid", "scattered"])
def test_a_declared_threshold_is_chosen(observations):
    curves = OUTLYING if observations == "grid" else [(GRID, row, WEIGHTS) for row in OUTLYING]
    settings = {
        "output_kernels": Gaussian(20.0),
        "alphas": [1e-4, 1e-3],
        "thresholds": [0.03, 0.1, 3.0],
        "grid": GRID,
        "cv": 3,
    }
    own, known = (
        FunctionalRegressorCV(Gaussian(10.0), loss=loss, **settings).fit(X, curves) for loss in (Bent(), Huber())
    )
    np.testing.assert_array_equal(own.thresholds_, [3.0, 0.1, 0.03])
    np.testing.assert_allclose(own.threshold_errors_, known.threshold_errors_, rtol=1e-6)
    assert own.loss_ == Bent(known.loss_.kappa)
    np.testing.assert_allclose(own.predict(X), known.predict(X), atol=1e-6)
    np.testing.assert_array_equal(own.saturated_, known.saturated_)
    literal = FunctionalRegressor(
        Gaussian(10.0), output_kernel=Gaussian(20.0), alpha=own.alpha_, loss=own.loss_, grid=GRID
    )
    np.testing.assert_allclose(literal.fit(X, curves).predict(X), own.predict(X), atol=1e-3)


def test_default_thresholds_of_a_declaration():
    """From the largest ridge residual down its span, in units of the typical one."""
    settings = {"output_kernels": Gaussian(20.0), "alphas": 1e-3, "grid": GRID, "cv": 3, "mean_curve": "free"}
    known = FunctionalRegressorCV(Gaussian(10.0), loss="huber", **settings).fit(X, OUTLYING)
    sample = Sample(X, read_outputs(known, OUTLYING, GRID, X)).centred()[1]
    chosen = Smoothness(Gaussian(10.0), Gaussian(20.0), 1e-3)
    residuals = ridge_residuals(sample, chosen, Bent())
    unit = 0.01
    values = default_thresholds(sample, chosen, Bent(), Bent.threshold, unit)
    assert values[0] == pytest.approx(known.thresholds_[0])
    assert values[0] == pytest.approx(sample.outputs.norms(residuals).max())
    np.testing.assert_allclose(values[1:], unit * np.geomspace(10.0, 0.3, 11))
