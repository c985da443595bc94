"""Synthetic data whose conditional quantiles are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state

from mercer._params import check_number
from mercer.quantile_function import check_levels

__all__ = ["make_sine", "sine_quantiles"]


def _location(x: np.ndarray) -> np.ndarray:
    return -np.sin(2 * np.pi * x) * (1 + np.sin(2 * np.pi * x / 3))


def _scale(x: np.ndarray) -> np.ndarray:
    return 1.2 - x / 1.5


def make_sine(n_samples: int = 400, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return X (n, 1) and y (n,): a sine with noise that shrinks from 1.2 at x = 0 to 0.2 at x = 1.5.

    x is uniform on (0, 1.5) and y = −sin(2πx)(1 + sin(2πx/3)) + s(x)·N(0, 1): the toy data of Sangnier, Fercoq and
    d'Alché-Buc (2016) and of Lambert (2021).

    Examples
    --------
    >>> X, y = make_sine(5, random_state=0)
    >>> X.shape, y.shape
    ((5, 1), (5,))
    """
    check_number("make_sine", "n_samples", n_samples, low=1, strict=False, integer=True)
    rng = check_random_state(random_state)
    x = rng.uniform(0, 1.5, n_samples)
    return x[:, None], _location(x) + _scale(x) * rng.normal(size=n_samples)


def sine_quantiles(X: Any, levels: Any) -> np.ndarray:
    """Return the true conditional quantiles of :func:`make_sine`, shape (n, len(levels))."""
    x = np.asarray(X, dtype=float)[:, 0]
    return _location(x)[:, None] + _scale(x)[:, None] * norm.ppf(check_levels("sine_quantiles", levels))[None, :]
