"""Stationary kernels: functions of the differences of the columns, each divided by a length."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from mercer._params import check_number
from mercer.backend import as_like, clip, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.bandwidth import column_scales, median_distance
from mercer.kernels.base import Array, Kernel
from mercer.kernels.distances import assemble, city_block_distances, scale_points, squared_distances

__all__ = ["Gaussian", "Laplacian", "Matern", "Periodic", "RationalQuadratic", "Stationary"]

RULES = ("median", "standardized")
#: exp(−800) is 0 in double precision; the cap keeps polynomial × exp from being ∞ × 0
FAR = 800.0


class Stationary(Kernel):
    """Kernels k(x, z) = κ(w ⊙ (x − z)) with a weight, an inverse length, for each column.

    Subclasses name the parameter that holds the bandwidth, say how it is made from a length and turned into
    weights, and give κ as a function of the distances of the weighted points.
    """

    _bandwidth: ClassVar[str]
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

    @abstractmethod
    def _profile(self, distances: Array, xp: Any) -> Array:
        """Return κ as a function of the distances of the weighted points (squared where Euclidean)."""

    def _slope(self, u: Array, xp: Any, order: int) -> Array:
        """Return κ'(u) (order 1) or κ''(u) (order 2) of one weighted difference u."""
        raise NotImplementedError

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

    def _adapt(self, X: Array) -> Kernel:
        rule = getattr(self, self._bandwidth)
        if not isinstance(rule, str):
            return self.replace()
        length = (median_distance if rule == "median" else column_scales)(X, self._metric)
        return self.replace(**{self._bandwidth: self._from_length(length)})

    def _weights(self, X: Array) -> Any:
        """Return the weights as a Python number or an array of shape (1, d)."""
        return per_column(self, self._bandwidth, self._to_weight, X)

    def _evaluate(self, X: Array, Z: Array) -> Array:
        xp = namespace(X, Z)
        distances = squared_distances if self._metric == "euclidean" else city_block_distances
        X, Z = scale_points(X, Z, self._weights(X))
        return assemble(lambda x, z: self._profile(distances(x, z), xp), X, Z)

    def _diagonal(self, X: Array) -> Array:
        return namespace(X).ones(X.shape[0], dtype=X.dtype, device=compat.device(X))

    def _differentiate(self, X: Array, Z: Array, order: tuple[int, int]) -> Array:
        weights = self._weights(X)
        values = self._slope((X - Z.T) * weights, namespace(X, Z), sum(order))
        if order == (1, 1):
            return -(values * weights) * weights
        return values * weights if order == (1, 0) else -values * weights


@dataclass(eq=False, repr=False)
class Gaussian(Stationary):
    """Gaussian kernel exp(−Σ_k γ_k (x_k − z_k)²), analytic: the default for smooth functions.

    Parameters
    ----------
    gamma : float, sequence of shape (d,), "median" or "standardized", default="median"
        γ > 0, or one γ_k ≥ 0 for each column, where 0 ignores the column. ``"median"`` is 1/median² with
        the median distance of the distinct rows; ``"standardized"`` is γ_k = 1/(sd_k · median)² with the
        median distance of the rows whose columns were divided by their standard deviations, so that no
        column's unit matters. Normal density: γ = 1/(2σ²).

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(gamma=2.0)(np.array([[0.0], [0.3]])).round(6)
    array([[1.     , 0.83527],
           [0.83527, 1.     ]])
    """

    gamma: Any = "median"

    _bandwidth: ClassVar[str] = "gamma"
    _zero: ClassVar[bool] = True

    @staticmethod
    def _from_length(length):
        return (1 / length) ** 2

    @staticmethod
    def _to_weight(bandwidth):
        return np.sqrt(bandwidth)

    @property
    def differentiable(self) -> bool:
        """Analytic: ∂₁k = −2γδk, ∂₂k = 2γδk, ∂₁∂₂k = (2γ − 4γ²δ²)k with δ = x − z."""
        return True

    def _profile(self, distances, xp):
        return xp.exp(-distances)

    def _slope(self, u, xp, order):
        values = xp.exp(-(u * u))
        return -2 * u * values if order == 1 else (4 * u * u - 2) * values


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

    def _profile(self, distances, xp):
        return xp.exp(-distances)


@dataclass(eq=False, repr=False)
class Matern(Stationary):
    """Matérn kernel, with functions of chosen smoothness, r² = Σ_k (x_k − z_k)²/l_k².

    ν = ½: e^{−r}; ν = 3/2: (1 + √3 r) e^{−√3 r}; ν = 5/2: (1 + √5 r + 5r²/3) e^{−√5 r}. The functions are ν
    − ½ times differentiable; prefer it to :class:`Gaussian` where infinite smoothness is too much to ask.
    Derivatives exist for ν = 3/2 and 5/2.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    length_scale : float, sequence of shape (d,), "median" or "standardized", default="median"
        l > 0, or one l_k for each column, where ``inf`` ignores the column. The rules are those of
        :class:`Gaussian` with l the median distance, or sd_k times the median distance of the standardised
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> Matern(nu=0.5, length_scale=2.0)(np.array([[0.0]]), np.array([[2.0]])).round(6)
    array([[0.367879]])
    """

    nu: float = 1.5
    length_scale: Any = "median"

    _bandwidth: ClassVar[str] = "length_scale"
    _infinite: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        if self.nu not in (0.5, 1.5, 2.5):
            raise parameter_error(self, "nu", self.nu, "0.5, 1.5 or 2.5", "Gaussian is the limit of large nu.")

    @property
    def differentiable(self) -> bool:
        """Whether ν > 1, for which k is C²."""
        return self.nu > 1

    def _profile(self, distances, xp):
        a = clip(math.sqrt(2 * self.nu) * xp.sqrt(distances), 0.0, FAR)
        if self.nu == 0.5:
            return xp.exp(-a)
        polynomial = 1 + a if self.nu == 1.5 else 1 + a + a * a / 3
        return polynomial * xp.exp(-a)

    def _slope(self, u, xp, order):
        u = clip(u, -FAR, FAR)
        a = math.sqrt(2 * self.nu) * xp.abs(u)
        if self.nu == 1.5:
            return (-3 * u if order == 1 else 3 * (a - 1)) * xp.exp(-a)
        return (-5 / 3) * (u * (1 + a) if order == 1 else 1 + a - a * a) * xp.exp(-a)


@dataclass(eq=False, repr=False)
class RationalQuadratic(Stationary):
    """Rational quadratic kernel (1 + r²/(2·shape))^(−shape), r² = Σ_k (x_k − z_k)²/l_k²: many scales at once.

    A mixture of Gaussian kernels over their length scales, and the Gaussian exp(−r²/2) as shape → ∞. Prefer
    it where both short and long distances carry information; its tails are polynomial.

    Parameters
    ----------
    shape : float, default=1.0
        Decay of the tails, > 0.
    length_scale : float, sequence of shape (d,), "median" or "standardized", default="median"
        As in :class:`Matern`.

    Examples
    --------
    >>> import numpy as np
    >>> RationalQuadratic(shape=1.0, length_scale=1.0)(np.array([[0.0]]), np.array([[2.0]])).round(6)
    array([[0.333333]])
    """

    shape: float = 1.0
    length_scale: Any = "median"

    _bandwidth: ClassVar[str] = "length_scale"
    _infinite: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        check_number(self, "shape", self.shape, low=0)

    @property
    def differentiable(self) -> bool:
        """Analytic."""
        return True

    def _profile(self, distances, xp):
        shape = float(self.shape)
        return xp.exp(-shape * xp.log1p(distances / (2 * shape)))

    def _slope(self, u, xp, order):
        shape = float(self.shape)
        base = 1 + u * u / (2 * shape)
        values = base ** -(shape + 1)
        return -u * values if order == 1 else (((shape + 1) / shape) * (u * u / base) - 1) * values


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

    _bandwidth: ClassVar[str] = "length_scale"
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
        x = self._circles(X)
        z = x if Z is X else self._circles(Z)
        return assemble(lambda a, b: self._profile(squared_distances(a, b), xp), x, z)

    def _circles(self, X: Array) -> Array:
        """Return points on circles of radius 1/(√2 l), where squared distances are 2 sin²(π(x − z)/p)/l²."""
        xp = namespace(X)
        period = per_column(self, "period", None, X)
        angle = (2 * math.pi) * ((X % period) / period)  # the remainder is exact, however far X is
        radius = self._weights(X) / math.sqrt(2)
        return xp.concat([radius * xp.cos(angle), radius * xp.sin(angle)], axis=1)

    def _profile(self, distances, xp):
        return xp.exp(-distances)

    def _differentiate(self, X, Z, order):
        xp = namespace(X, Z)
        weight = (2 * math.pi) / per_column(self, "period", None, X)
        squared = self._weights(X) ** 2
        angle = weight * (X - Z.T)
        values = xp.exp(squared * (xp.cos(angle) - 1))
        slope = -weight * squared * xp.sin(angle)
        if order == (1, 1):
            return (weight * weight * squared * xp.cos(angle) - slope * slope) * values
        return slope * values if order == (1, 0) else -slope * values


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
