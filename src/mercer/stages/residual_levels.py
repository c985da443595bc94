"""Quantiles of standardised residuals at every level, with tails beyond the last of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._state import Stateful

__all__ = ["ResidualLevels", "new_levels"]

#: share of the residuals whose excess gives the length of a tail, at least and at most so many
TAIL_SHARE, TAIL_LEAST, TAIL_MOST = 0.1, 5, 50


def new_levels(share: np.ndarray) -> np.ndarray:
    """Return the probabilities with which a new value lies below the values with these shares, in rising order.

    Among n values and a new one that are alike, the rank of the new one is uniform: it is below the k-th of them with
    probability k/(n + 1). With shares s of sum 1, n is 1/Σs² and k the middle of the share: reflected values have
    reflected levels.

    Examples
    --------
    >>> new_levels(np.full(4, 0.25))
    array([0.2, 0.4, 0.6, 0.8])
    """
    count = 1 / float(share @ share)
    return (count * (np.cumsum(share) - share / 2) + 0.5) / (count + 1)


@dataclass(frozen=True)
class ResidualLevels(Stateful):
    """b(θ): the quantile of residuals at the position θ(n + 1), and an exponential tail beyond 1/(n + 1).

    A new row lies below the k-th of n exchangeable residuals with probability k/(n + 1) (:func:`new_levels`): levels
    are honest for samples of any size. Below the first of them b(θ) = e₍₁₎ − β log(1/((n + 1)θ)), β the mean excess of
    the outer tenth; likewise above. With weights, n is (Σs)²/Σs².

    Attributes
    ----------
    levels, values : arrays of shape (n,)
        Positions and residuals, both rising; linear in between.
    tails : tuple of two floats
        β below and above.

    Examples
    --------
    >>> b = ResidualLevels.learn(np.arange(-4.0, 5.0))
    >>> b(np.array([0.5, 0.1, 0.25]))
    array([ 0. , -4. , -2.5])
    >>> bool(b(np.array([0.001]))[0] < -4)
    True
    """

    levels: np.ndarray
    values: np.ndarray
    tails: tuple[float, float]

    @classmethod
    def learn(cls, residuals: np.ndarray, weight: np.ndarray | None = None) -> ResidualLevels:
        """Sort residuals and measure their tails."""
        order = np.argsort(residuals, kind="stable")
        values = residuals[order]
        share = np.full(len(values), 1 / len(values)) if weight is None else weight[order] / weight.sum()
        return cls(new_levels(share), values, (_mean_excess(-values[::-1], share[::-1]), _mean_excess(values, share)))

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """Return b at levels in (0, 1)."""
        inner = np.interp(theta, self.levels, self.values)
        low, high = self.levels[0], 1 - self.levels[-1]
        below = self.tails[0] * np.log(np.minimum(theta / low, 1.0))
        above = self.tails[1] * np.log(np.minimum((1 - theta) / high, 1.0))
        return inner + below - above


def _mean_excess(values: np.ndarray, share: np.ndarray) -> float:
    """Return the mean by which the largest values exceed the largest of the others."""
    n = len(values)
    k = min(max(round(TAIL_SHARE * n), TAIL_LEAST), TAIL_MOST, n // 2)
    if k < 1:
        return 0.0
    return float(np.average(values[n - k :] - values[n - k - 1], weights=share[n - k :]))
