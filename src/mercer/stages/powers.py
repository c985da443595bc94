"""Power transforms that bend the whole line (Yeo and Johnson, 2000), and the one that suits values best."""

from __future__ import annotations

import numpy as np

__all__ = ["likeliest_power", "yeo_johnson", "yeo_johnson_inverse", "yeo_johnson_log_slope"]

#: values from which a power is chosen
POWER_ROWS = 500


def yeo_johnson(t: np.ndarray, power: float) -> np.ndarray:
    """Return the transform of Yeo and Johnson (2000): a power of 1 + t above 0, of 1 − t with 2 − power below.

    Examples
    --------
    >>> yeo_johnson(np.array([-1.0, 0.0, 3.0]), 1.0)
    array([-1.,  0.,  3.])
    >>> yeo_johnson(np.array([0.0, 3.0]), 0.5)
    array([0., 2.])
    """
    size = np.log1p(np.abs(t))
    return np.where(t >= 0, _power_of(size, power), -_power_of(size, 2 - power))


def _power_of(size: np.ndarray, power: float) -> np.ndarray:
    return size if power == 0 else np.expm1(power * size) / power


def yeo_johnson_inverse(u: np.ndarray, power: float) -> np.ndarray:
    """Undo :func:`yeo_johnson`; for powers from 0 to 2, of any number."""
    size = np.abs(u)
    return np.where(u >= 0, _root_of(size, power), -_root_of(size, 2 - power))


def _root_of(size: np.ndarray, power: float) -> np.ndarray:
    return np.expm1(size if power == 0 else np.log1p(power * size) / power)


def yeo_johnson_log_slope(t: np.ndarray, power: float) -> np.ndarray:
    """Return the logarithm of the derivative in t."""
    return np.where(t >= 0, power - 1, 1 - power) * np.log1p(np.abs(t))


def likeliest_power(t: np.ndarray, powers: np.ndarray) -> float:
    """Return the power after which values are most like Gaussian ones: maximum likelihood."""
    t = t[np.linspace(0, len(t) - 1, min(len(t), POWER_ROWS)).round().astype(int)]
    scores = [0.5 * len(t) * np.log(_variance(t, power)) - yeo_johnson_log_slope(t, power).sum() for power in powers]
    return float(powers[int(np.argmin(scores))])


def _variance(t: np.ndarray, power: float) -> float:
    return max(float(np.var(yeo_johnson(t, power))), np.finfo(float).tiny)
