"""Monotone transforms of columns and of targets, so that smooth functions with one scale fit skewed data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._state import Stateful
from mercer.stages.powers import likeliest_power, yeo_johnson, yeo_johnson_inverse, yeo_johnson_log_slope

__all__ = ["ColumnWarp", "TargetWarp"]

#: a column with no more values than this is left as it is: a code, a count or a dummy
FEW_VALUES = 10
#: how far beyond the training range, in standard deviations, warps hold: further inputs are moved there, and further
#: targets go on along a straight line
WARP_MARGIN = 0.5
#: powers among which that of a column is chosen, and that of y; beyond 0 and 2 the range of y would be bounded
COLUMN_POWERS, TARGET_POWERS = np.linspace(-3, 5, 33), np.linspace(0, 2, 21)


@dataclass(frozen=True)
class ColumnWarp(Stateful):
    """Columns standardised, some of them after a power transform, and kept within reach of the training range.

    Columns that do not vary are left out (but for one, where none does); d below is the number of the others.

    Attributes
    ----------
    kept : array of int, shape (d,)
        Which columns are used.
    powers : array of shape (d,)
        Powers of Yeo and Johnson, of standardised columns; 1 leaves a column as it is.
    centre, scale : arrays of shape (2, d)
        What is taken off and divided by, before and after the power.
    low, high : arrays of shape (d,)
        Between which warped columns are kept.
    range : array of shape (2, d)
        Least and largest values of columns as they came.

    Examples
    --------
    >>> X = np.exp(np.random.default_rng(0).normal(size=(100, 1)))
    >>> warp = ColumnWarp.learn(X, powers=True)
    >>> bool(warp.powers[0] < 0)
    True
    >>> bool(warp(np.array([[1e6]]))[0, 0] == warp.high[0])
    True
    """

    kept: np.ndarray
    powers: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    range: np.ndarray

    @classmethod
    def learn(cls, X: np.ndarray, powers: bool) -> ColumnWarp:
        """Standardise columns; with ``powers`` those of more than ten values after their likeliest power transform."""
        kept = np.flatnonzero(_varies(X))
        kept = kept if len(kept) else np.zeros(1, dtype=int)
        X = X[:, kept]
        first = _location_and_scale(X)
        Z = (X - first[0]) / first[1]
        chosen = np.ones(X.shape[1])
        if powers:
            for k in range(X.shape[1]):
                if len(np.unique(Z[:, k])) > FEW_VALUES:
                    chosen[k] = likeliest_power(Z[:, k], COLUMN_POWERS)
        Z = _powered(Z, chosen)
        second = _location_and_scale(Z)
        Z = (Z - second[0]) / second[1]
        centre, scale = (np.stack(pair) for pair in zip(first, second, strict=True))
        ends = np.stack([X.min(axis=0), X.max(axis=0)])
        return cls(kept, chosen, centre, scale, Z.min(axis=0) - WARP_MARGIN, Z.max(axis=0) + WARP_MARGIN, ends)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return warped columns."""
        Z = _powered((X[:, self.kept] - self.centre[0]) / self.scale[0], self.powers)
        return np.clip((Z - self.centre[1]) / self.scale[1], self.low, self.high)

    def among_all(self, values: np.ndarray, d: int) -> np.ndarray:
        """Return values of the columns that are used as values of all d columns, 0 for the others."""
        every = np.zeros(d)
        every[self.kept] = values
        return every

    def beyond(self, X: np.ndarray) -> np.ndarray:
        """Return how far rows are from the training range, the most of all columns, in standard deviations of it."""
        X = X[:, self.kept]
        return np.max(np.maximum(self.range[0] - X, X - self.range[1]) / self.scale[0], axis=1)


def _location_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations; 1 for a column that does not vary."""
    return X.mean(axis=0), np.where(_varies(X), X.std(axis=0), 1.0)


def _varies(X: np.ndarray) -> np.ndarray:
    return X.std(axis=0) > 1e-14 * np.abs(X).max(axis=0)


def _powered(Z: np.ndarray, powers: np.ndarray) -> np.ndarray:
    Z = Z.copy()
    for k in np.flatnonzero(powers != 1):
        with np.errstate(over="ignore"):  # far beyond the training range, where values are clipped
            Z[:, k] = yeo_johnson(Z[:, k], powers[k])
    return Z


@dataclass(frozen=True)
class TargetWarp(Stateful):
    """Targets standardised, perhaps after a power transform: T, with its inverse and slope.

    Half a standard deviation beyond the training range and further T goes on along its tangents. A sum of location and
    spread that is a little too large is thus not made exponentially larger by T⁻¹: no row has said that the power
    holds out there.

    Attributes
    ----------
    power : float
        The power of Yeo and Johnson, of standardised targets, in [0, 2]; 1 is linear.
    centre, scale : tuple of two floats
        What is taken off and divided by, before and after the power.
    ends : array of shape (2,)
        Standardised targets between which T is a power.

    Examples
    --------
    >>> y = np.exp(np.random.default_rng(0).normal(size=200))
    >>> warp = TargetWarp.learn(y, None, power=True)
    >>> bool(np.allclose(warp.inverse(warp(y)), y))
    True
    >>> far = warp.inverse(warp(y).max() + np.array([1.0, 2.0, 3.0]))
    >>> bool(np.isclose(far[2] - far[1], far[1] - far[0]))
    True
    """

    power: float
    centre: tuple[float, float]
    scale: tuple[float, float]
    ends: np.ndarray

    @classmethod
    def learn(cls, y: np.ndarray, weight: np.ndarray | None, power: bool) -> TargetWarp:
        """Standardise targets, with ``power`` after their likeliest power transform."""
        first = _moments(y, weight)
        t = (y - first[0]) / first[1]
        chosen = likeliest_power(t, TARGET_POWERS) if power else 1.0
        bent = yeo_johnson(t, chosen)
        second = _moments(bent, weight)
        ends = np.array([bent.min() - WARP_MARGIN * second[1], bent.max() + WARP_MARGIN * second[1]])
        return cls(chosen, (first[0], second[0]), (first[1], second[1]), yeo_johnson_inverse(ends, chosen))

    def __call__(self, y: np.ndarray) -> np.ndarray:
        """Return T(y)."""
        standard, inside = self._standard(y)
        slope = np.exp(yeo_johnson_log_slope(inside, self.power))
        t = yeo_johnson(inside, self.power) + slope * (standard - inside)
        return (t - self.centre[1]) / self.scale[1]

    def inverse(self, t: np.ndarray) -> np.ndarray:
        """Return y with T(y) = t."""
        bent = t * self.scale[1] + self.centre[1]
        inside = np.clip(bent, *yeo_johnson(self.ends, self.power))
        standard = yeo_johnson_inverse(inside, self.power)
        standard = standard + (bent - inside) * np.exp(-yeo_johnson_log_slope(standard, self.power))
        return standard * self.scale[0] + self.centre[0]

    def log_slope(self, y: np.ndarray) -> np.ndarray:
        """Return log T′(y), but for a constant that is the same for all warps of the same targets."""
        _, inside = self._standard(y)
        return yeo_johnson_log_slope(inside, self.power) - np.log(self.scale[1])

    def _standard(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return standardised targets, and the nearest ones between the ends."""
        standard = (y - self.centre[0]) / self.scale[0]
        return standard, np.clip(standard, *self.ends)


def _moments(y: np.ndarray, weight: np.ndarray | None) -> tuple[float, float]:
    mean = float(np.average(y, weights=weight))
    return mean, float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
