"""All stages of a conditional distribution: warps chosen by evidence, then location, spread and levels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from mercer._state import Stateful
from mercer.stages.location import Location, learn_location
from mercer.stages.relevance import EVIDENCE_ROWS, Relevance, choose_relevance, one_thread
from mercer.stages.residual_levels import ResidualLevels
from mercer.stages.spread import Spread, learn_spread
from mercer.stages.warps import ColumnWarp, TargetWarp

__all__ = ["Stages", "choose_warps", "learn_stages"]

#: steps of the evidence for each choice of warps
SCREENING_STEPS = 8
#: least standard deviation by which predictions are divided as a feature of the spread: where nothing is learned,
#: predictions that leave a row out reveal its target
LEAST_SIGNAL = 0.3


@dataclass(frozen=True)
class Stages(Stateful):
    """q_θ(x) = T⁻¹(f(x) + σ(x)·b(θ)), from parts that were learned one after the other.

    Attributes
    ----------
    columns, target : ColumnWarp, TargetWarp
        The warps of inputs and of y, T.
    location, spread, levels : Location, Spread, ResidualLevels
        f, σ and b.
    signal : tuple of two floats
        By which f is standardised as a feature of the spread.
    """

    columns: ColumnWarp
    target: TargetWarp
    location: Location
    spread: Spread
    levels: ResidualLevels
    signal: tuple[float, float]

    def relevance(self, d: int) -> np.ndarray:
        """Return the share of each of d columns in the scales of the location, shape (d,); it sums to 1."""
        return self.columns.among_all(self.location.relevance, d)

    def parts(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return f and σ at rows, in units of the warped target, and the features that σ is a function of.

        Far from the rows σ grows by the doubt about f.
        """
        Z = self.columns(X)
        f = self.location(Z)
        features = _features(Z, f, self.signal)
        return f, self.spread(features) * self.location.doubt(Z), features

    def standardised(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (T(y_i) − f₋ᵢ(x_i))/σ₋ᵢ(x_i) of the training rows, and σ₋ᵢ(x_i)."""
        return self.location.residuals / self.spread.left_out, self.spread.left_out

    def training_features(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the features of the training rows, with predictions that have not seen the row."""
        return _features(self.columns(X), self.target(y) - self.location.residuals, self.signal)

    def quantiles(self, X: np.ndarray, levels: np.ndarray) -> np.ndarray:
        """Return quantiles, shape (n, len(levels))."""
        f, sigma, _ = self.parts(X)
        return self.target.inverse(f[:, None] + sigma[:, None] * self.levels(levels)[None, :])


def learn_stages(X: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> Stages:
    """Learn all stages of y given x.

    Parameters
    ----------
    X : array of shape (n, d)
        Inputs.
    y : array of shape (n,)
        Targets, not all equal.
    weight : array of shape (n,), optional
        Positive weights; only their ratios matter.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(200, 3))
    >>> stages = learn_stages(X, X[:, 0] + (0.1 + X[:, 1]) * rng.normal(size=200))
    >>> stages.quantiles(X[:2], np.array([0.05, 0.5, 0.95])).shape
    (2, 3)
    """
    weight = None if weight is None else weight / weight.mean()
    columns, target, start = choose_warps(X, y, weight)
    Z, t = columns(X), target(y)
    location = learn_location(Z, t, weight, start)
    predicted = t - location.residuals
    signal = float(predicted.mean()), max(float(predicted.std()), LEAST_SIGNAL)
    spread = learn_spread(_features(Z, predicted, signal), location.residuals, weight)
    levels = ResidualLevels.learn(location.residuals / spread.left_out, weight)
    return Stages(columns, target, location, spread, levels, signal)


def _features(Z: np.ndarray, f: np.ndarray, signal: tuple[float, float]) -> np.ndarray:
    return np.column_stack([Z, (f - signal[0]) / signal[1]])


def choose_warps(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray | None, target_powers: tuple[bool, ...] = (False, True)
) -> tuple[ColumnWarp, TargetWarp, Relevance | None]:
    """Return the warps of the largest evidence for y, ∏ T′(y_i) times that for T(y), and where it was reached.

    ``target_powers=(False,)`` leaves targets as they are but for origin and unit: labels have no power.
    """
    rows = np.random.default_rng(0).permutation(len(y))[:EVIDENCE_ROWS]
    columns = [ColumnWarp.learn(X, powers) for powers in (False, True)]
    targets = [TargetWarp.learn(y, weight, power) for power in target_powers]
    columns = columns if np.any(columns[1].powers != 1) else columns[:1]
    targets = targets if targets[-1].power != 1 else targets[:1]
    if len(columns) == len(targets) == 1:
        return columns[0], targets[0], None
    tried = []
    with one_thread():
        for warp, target in product(columns, targets):
            found = choose_relevance(warp(X), target(y), weight, rows, steps=SCREENING_STEPS)
            tried.append((found.loss - float(target.log_slope(y[rows]).sum()), warp, target, found))
    _, warp, target, found = min(tried, key=lambda entry: entry[0])
    return warp, target, found
