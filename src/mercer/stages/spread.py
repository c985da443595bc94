"""The spread σ of y about its location, from residuals that were not fitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mercer._state import Stateful
from mercer.kernels import Gaussian

__all__ = ["Spread", "learn_spread"]

#: what is added to |r| before the logarithm, in units of its median: more flattens strong changes of the spread
SPREAD_FLOOR = 0.02
#: lengths of the kernel, in units of the standard deviation of its columns, and ridge penalties
SPREAD_LENGTHS, SPREAD_PENALTIES = (1.0, 2.0), np.logspace(-3, 1.5, 10)
#: rows whose sections span the functions
SPREAD_LANDMARKS = 250
#: relative gain in error below which a more variable spread is not taken
SPREAD_MARGIN = 1e-3


@dataclass(frozen=True)
class Spread(Stateful):
    """log σ(u) = Σ_j k(u, u_j) c_j + level, of features u; constant where there are no coefficients.

    Attributes
    ----------
    kernel : Gaussian
        k.
    points, coef : arrays of shape (m, d) and (m,)
        u_j and c.
    level : float
        A constant: the mean of log(|r| + c) where nothing else is known.
    left_out : array of shape (n,)
        σ at the training rows, each from the other rows.
    gain : float
        By how much leaving rows out is better with σ than with a constant, relative to the latter; 0 is a constant.
    """

    kernel: Gaussian
    points: np.ndarray
    coef: np.ndarray
    level: float
    left_out: np.ndarray
    gain: float

    def __call__(self, U: np.ndarray) -> np.ndarray:
        """Return σ at rows of features, shape (n,)."""
        if not len(self.coef):
            return np.full(len(U), np.exp(self.level))
        return np.exp(self.kernel(U, self.points) @ self.coef + self.level)


def learn_spread(U: np.ndarray, residuals: np.ndarray, weight: np.ndarray | None = None) -> Spread:
    """Regress log(|r| + c) on smooth functions of features; the penalty by leave-one-out, that of a constant included.

    Parameters
    ----------
    U : array of shape (n, d)
        Features, standardised.
    residuals : array of shape (n,)
        Residuals of rows that had no hand in their prediction.
    weight : array of shape (n,), optional
        Weights of mean 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> U = rng.uniform(-1.7, 1.7, size=(400, 1))
    >>> spread = learn_spread(U, np.exp(U[:, 0]) * rng.normal(size=400))
    >>> ratio = spread(np.array([[1.0]])) / spread(np.array([[-1.0]]))
    >>> bool(4 < ratio[0] < 12)  # e² = 7.4
    True
    """
    n = len(residuals)
    share = np.full(n, 1 / n) if weight is None else weight / weight.sum()
    size = np.abs(residuals)
    target = np.log(size + max(SPREAD_FLOOR * np.median(size), np.finfo(float).tiny))
    level = float(share @ target)
    target = target - level
    constant = share @ (target / (1 - share)) ** 2
    dimension = max(float(U.var(axis=0).sum()), 1.0)
    rows = np.sort(np.random.default_rng(2).permutation(n)[:SPREAD_LANDMARKS])
    best = Spread(Gaussian(0.5), U[:0], np.zeros(0), level, np.full(n, np.exp(level)), 0.0)
    least = constant
    for length in SPREAD_LENGTHS:
        kernel = Gaussian(0.5 / (dimension * length**2))
        for error, spread in _candidates(kernel, U, rows, target, share, level):
            if error < least * (1 - SPREAD_MARGIN):
                least, best = error, spread(1 - error / constant)
    return best


def _candidates(
    kernel: Gaussian, U: np.ndarray, rows: np.ndarray, target: np.ndarray, share: np.ndarray, level: float
) -> Iterator[tuple[float, Callable[[float], Spread]]]:
    """Yield the leave-one-out error of each penalty and what makes the spread of it.

    In the eigenbasis of the weighted features V, with the weighted mean taken off, a ridge fit keeps g/(g + penalty) of
    each coordinate, and a row has the leverage share·(1 + Σ_k v_k² keep_k).
    """
    spectrum, vectors = np.linalg.eigh(kernel(U[rows], U[rows]))
    keep = spectrum > 1e-9 * spectrum[-1]
    basis = vectors[:, keep] / np.sqrt(spectrum[keep])
    features = kernel(U, U[rows]) @ basis
    mean = share @ features
    features -= mean
    spectrum, vectors = np.linalg.eigh((features.T * share) @ features)
    keep = spectrum > 1e-10 * spectrum[-1]
    spectrum, vectors = spectrum[keep], vectors[:, keep]
    V = (features @ vectors) / np.sqrt(spectrum)
    coordinates = V.T @ (share * target)
    for penalty in SPREAD_PENALTIES:
        kept = spectrum / (spectrum + penalty)
        fitted = V @ (kept * coordinates)
        room = np.maximum(1 - share * (1 + (V * V) @ kept), 1e-6)
        left_out = (target - fitted) / room

        def spread(gain: float, kept: np.ndarray = kept, left_out: np.ndarray = left_out) -> Spread:
            coef = vectors @ (kept * coordinates / np.sqrt(spectrum))
            predicted = np.exp(target - left_out + level)
            return Spread(kernel, U[rows], basis @ coef, level - float(mean @ coef), predicted, gain)

        yield float(share @ left_out**2), spread
