"""Stationary kernels, functions of the differences of the columns, each divided by a length: what they share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import array_api_compat as compat
import numpy as np

from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.bandwidth import column_scales, median_distance
from mercer.kernels.base import Array, Kernel
from mercer.kernels.derivatives import column_identity, differences
from mercer.kernels.distances import assemble, city_block_distances, column_sum, scale_points

__all__ = ["Laplacian", "Periodic", "Stationary"]

RULES = ("median", "standardized")


class Stationary(Kernel):
    """Kernels k(x, z) = κ(w ⊙ (x − z)) with a weight, an inverse length, for each column.

    Subclasses name the parameter that holds the bandwidth, and say how it is made from a length and turned into
    weights. :class:`~mercer.kernels.Radial` are those of the Euclidean distance.
    """

    _bandwidth: ClassVar[str] = "length_scale"
    #: the distance whose median the rules take
    _metric: ClassVar[str] = "euclidean"
    #: which rules turn data into a bandwidth
    _rules: ClassVar[tuple[str, ...]] = RULES
    #: whether the bandwidth of a single column may be 0 or ∞ (which ignores that column)
    _zero: ClassVar[bool] = False
    _infinite: ClassVar[bool] = False

    @staticmethod
    def _from_length(length: Any) -> Any:
        """Return the bandwidth parameter that belongs to a length."""
        return length

    @staticmethod
    def _to_weight(bandwidth: Any) -> Any:
        """Return the weight w of the differences for a bandwidth parameter."""
        return 1 / bandwidth

    def _check(self) -> None:
        check_bandwidth(
            self,
            self._bandwidth,
            getattr(self, self._bandwidth),
            rules=self._rules,
            zero=self._zero,
            infinite=self._infinite,
        )

    def _unresolved(self) -> list[str]:
        rule = getattr(self, self._bandwidth)
        return [f"{self._bandwidth}={rule!r}"] if isinstance(rule, str) else []

    def _adapt(self, X: Array) -> Self:
        rule = getattr(self, self._bandwidth)
        if not isinstance(rule, str):
            return self.replace()
        length = (median_distance if rule == "median" else column_scales)(X, self._metric)
        return self.replace(**{self._bandwidth: self._from_length(length)})

    def _weights(self, X: Array) -> Any:
        """Return the weights as a Python number or an array of shape (1, d)."""
        return per_column(self, self._bandwidth, self._to_weight, X)

    def _diagonal(self, X: Array) -> Array:
        return namespace(X).ones(X.shape[0], dtype=X.dtype, device=compat.device(X))


@dataclass(eq=False, repr=False)
class Laplacian(Stationary):
    """Laplacian kernel exp(−Σ_k γ_k |x_k − z_k|): continuous but rough functions, with kinks and steps.

    Parameters
    ----------
    gamma : float, sequence of shape (d,), "median" or "standardized", default="median"
        γ > 0, or one γ_k ≥ 0 for each column. The rules are those of :class:`Gaussian` with γ = 1/median and
        city-block distances.

    Examples
    --------
    >>> import numpy as np
    >>> Laplacian(gamma=1.0)(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(6)
    array([[0.135335]])
    """

    gamma: Any = "median"

    _bandwidth: ClassVar[str] = "gamma"
    _metric: ClassVar[str] = "cityblock"
    _zero: ClassVar[bool] = True

    @staticmethod
    def _from_length(length):
        return 1 / length

    @staticmethod
    def _to_weight(bandwidth):
        return bandwidth

    def _evaluate(self, X, Z):
        xp = namespace(X, Z)
        X, Z, weights = scale_points(X, Z, self._weights(X))
        return assemble(lambda x, z: xp.exp(-city_block_distances(x, z, weights)), X, Z)


@dataclass(eq=False, repr=False)
class Periodic(Stationary):
    """Periodic kernel exp(−2 Σ_k sin²(π(x_k − z_k)/p_k)/l_k²): seasons, angles, times of day.

    It is the Gaussian kernel of the points (cos 2πx/p, sin 2πx/p) on circles. Multiply it with another
    kernel for a pattern that repeats but drifts.

    Parameters
    ----------
    period : float or sequence of shape (d,), default=1.0
        p > 0, or one for each column.
    length_scale : float or sequence of shape (d,), default=1.0
        l > 0, or one for each column; relative to the period, so that no rule is needed.

    Examples
    --------
    >>> import numpy as np
    >>> Periodic(period=24.0)(np.array([[1.0]]), np.array([[25.0], [13.0]])).round(6)
    array([[1.      , 0.135335]])
    """

    period: Any = 1.0
    length_scale: Any = 1.0

    _rules: ClassVar[tuple[str, ...]] = ()
    _infinite: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        check_bandwidth(self, "period", self.period)

    @property
    def differentiable(self) -> bool:
        """Analytic."""
        return True

    def _evaluate(self, X, Z):
        xp = namespace(X, Z)
        ones = xp.ones((1, X.shape[1]), dtype=X.dtype, device=compat.device(X))
        periods, weights = ones * per_column(self, "period", None, X), ones * (math.sqrt(2) * self._weights(X))
        # whole periods are taken off before and after differences, without rounding: no digit of them is lost
        x = xp.sign(X) * (xp.abs(X) % periods)
        z = x if Z is X else xp.sign(Z) * (xp.abs(Z) % periods)

        def exponent(x, z):
            each = iter(zip(periods[0, :], weights[0, :], strict=True))
            return column_sum(lambda a, b: _squared_sine(a - b, *next(each)), x, z)

        return assemble(lambda x, z: xp.exp(-exponent(x, z)), x, z)

    def _gradient(self, X, Z):
        return self._logarithmic(X, Z)[0] * self._evaluate(X, Z)[:, :, None]

    def _cross_hessian(self, X, Z):
        slopes, curvatures = self._logarithmic(X, Z)
        matrices = curvatures[:, :, :, None] * column_identity(slopes) - slopes[:, :, :, None] * slopes[:, :, None, :]
        return matrices * self._evaluate(X, Z)[:, :, None, None]

    def _logarithmic(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return ∂₁ log k and the diagonals of ∂₁∂₂ log k, both of shape (n, m, d)."""
        xp = namespace(X, Z)
        period = per_column(self, "period", None, X)
        frequency = 2 * math.pi / period
        scale = frequency * self._weights(X) ** 2
        delta = differences(X, Z)
        angle = frequency * (xp.sign(delta) * (xp.abs(delta) % period))  # the remainder is exact
        return -scale * xp.sin(angle), (frequency * scale) * xp.cos(angle)


def _squared_sine(delta: Array, period: Any, weight: Any) -> Array:
    """Return (w sin(πδ/p))², from the difference to the nearest multiple of the period."""
    xp = namespace(delta)
    return (weight * xp.sin((math.pi / period) * (delta - period * xp.round(delta / period)))) ** 2


def check_bandwidth(
    owner: object,
    name: str,
    value: Any,
    *,
    rules: tuple[str, ...] = (),
    zero: bool = False,
    infinite: bool = False,
) -> None:
    """Refuse a bandwidth that is no rule, no positive number and no sequence of positive numbers."""
    words = "".join(f", {rule!r}" for rule in rules)
    if isinstance(value, str) and value in rules:
        return
    each = "numbers >= 0" if zero else "positive numbers"
    allowed = f"a positive number, a sequence of {each} (one per column){words}"
    try:
        numbers = np.asarray(to_numpy(value))
    except (TypeError, ValueError) as error:
        raise parameter_error(owner, name, value, allowed) from error
    if numbers.dtype.kind not in "fiu" or numbers.ndim > 1 or numbers.size == 0 or np.any(np.isnan(numbers)):
        raise parameter_error(owner, name, value, allowed)
    single = numbers.ndim == 0
    low = numbers >= 0 if zero and not single else numbers > 0
    high = numbers < math.inf
    if not np.all(low) or not (np.all(high) or (infinite and not single)):
        raise parameter_error(owner, name, value, allowed)


def per_column(owner: object, name: str, convert: Any, X: Array) -> Any:
    """Return ``convert`` of a bandwidth as a Python number, or as an array (1, d) of the library of X."""
    numbers = np.asarray(to_numpy(getattr(owner, name)), dtype=float)
    converted = numbers if convert is None else convert(numbers)
    if numbers.ndim == 0:
        return float(converted)
    if numbers.shape[0] != X.shape[1]:
        raise DataError(
            f"{type(owner).__name__}: {name} has {numbers.shape[0]} values, one per column, "
            f"but the points have {X.shape[1]} columns."
        )
    return as_like(converted[None, :], X)
