"""Quantile regressors that cost nothing, good and bad, for tests of calibration."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


class LinearQuantiles(RegressorMixin, BaseEstimator):
    """A line by least squares, and the quantiles of its residuals, whatever x: right for a line with even noise."""

    def __init__(self, shift=0.0, spread=1.0):
        self.shift = shift
        self.spread = spread

    def fit(self, X, y):
        X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
        self.coef_ = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
        self.residuals_ = y - self._line(X)
        return self

    def _line(self, X):
        return self.coef_[0] + np.asarray(X, dtype=float) @ self.coef_[1:]

    def predict_quantile(self, X, levels):
        return self._line(X)[:, None] + self.shift + self.spread * np.quantile(self.residuals_, levels)

    def predict(self, X):
        return self.predict_quantile(X, [0.5])[:, 0]


class CrossingQuantiles(LinearQuantiles):
    """Quantiles that go up and down with the level, more so where x is large."""

    def predict_quantile(self, X, levels):
        wave = np.sin(20 * np.asarray(levels))
        return super().predict_quantile(X, levels) + np.exp(np.asarray(X, dtype=float)[:, :1]) * wave[None, :]


def straight(rng, n):
    """A line with even noise."""
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, 1 + 2 * X[:, 0] + rng.normal(size=n)


def curved(rng, n):
    """A parabola whose noise grows with x, and is skew."""
    X = rng.uniform(-1, 1, size=(n, 1))
    return X, 4 * X[:, 0] ** 2 + (1.2 + X[:, 0]) * (rng.exponential(size=n) - 1)


class FanQuantiles(LinearQuantiles):
    """Quantiles that fan out from 3 at x = 0, whatever the data."""

    def predict_quantile(self, X, levels):
        return 3.0 + 10 * np.asarray(X, dtype=float) * (np.asarray(levels)[None, :] - 0.5)
