"""Further losses of the norm of the residual: the norm itself, its powers and its exponential.

All are admissible for outputs that are known through a kernel alone, as their conjugates depend on norms (Laforgue et
al., 2020, Proposition 1). The loss ‖r‖ log‖r‖ of that list is not convex near 0, and is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mercer._params import check_number
from mercer.backend import clip, namespace
from mercer.losses.robust import RadialLoss

__all__ = ["ExponentialNorm", "Norm", "Power"]

#: residuals from which on the exponential is a straight line, so that it stays finite
LARGEST_EXPONENT = 600.0
#: bisections of a scalar equation, which give all digits of a double; Newton steps take a sixth of that
BISECTIONS = 60


@dataclass(eq=False, repr=False)
class Norm(RadialLoss):
    """The norm of the residual: the geometric median of what is alike, and the most robust of all.

    f(r) = c|r|,    f*(a) = 0 on |a| ≤ c

    It is ε-insensitive with ε = 0, times c. Prefer Huber's loss where residuals are small for most rows.

    Parameters
    ----------
    scale : float, default=1.0
        c > 0.
    geometry : {"norm", "pointwise", "componentwise"}, default="norm"
        What counts as a residual, see :class:`Huber`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.arange(2.0), np.ones(2))
    >>> Norm().value(np.array([[3.0, 4.0]]), np.zeros((1, 2)), mu)
    array([5.])
    """

    scale: float = 1.0
    geometry: str = "norm"

    def _check(self) -> None:
        check_number(self, "scale", self.scale, low=0)
        self._check_geometry()

    @property
    def _radius(self) -> float:
        return float(self.scale)

    def _size(self, r: Any) -> Any:
        return self._radius * namespace(r).abs(r)

    def _slope(self, r: Any) -> Any:
        return self._radius * namespace(r).sign(r)

    def _pull(self, r: Any, t: float) -> Any:
        return clip(r, -t * self._radius, t * self._radius)

    def _dual_size(self, a: Any) -> Any:
        return namespace(a).zeros_like(a)

    def _dual_prox(self, v: Any, t: float) -> Any:
        return clip(v, -self._radius, self._radius)


@dataclass(eq=False, repr=False)
class Power(RadialLoss):
    """A power of the norm of the residual, between the norm and the square loss, or beyond.

    f(r) = (c/p)|r|^p with p > 1,    f*(a) = c^{1−q}|a|^q/q with 1/p + 1/q = 1

    Prefer 1 < p < 2 for residuals with heavier tails than Gaussian ones where no size separates outliers from others.

    Parameters
    ----------
    power : float, default=1.5
        p > 1.
    scale : float, default=1.0
        c > 0.
    geometry : {"norm", "pointwise", "componentwise"}, default="norm"
        What counts as a residual, see :class:`Huber`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.arange(2.0), np.ones(2))
    >>> Power(power=2.0).value(np.array([[3.0, 4.0]]), np.zeros((1, 2)), mu)
    array([12.5])
    """

    power: float = 1.5
    scale: float = 1.0
    geometry: str = "norm"

    def _check(self) -> None:
        check_number(self, "power", self.power, low=1, hint="Norm() is the limit p → 1.")
        check_number(self, "scale", self.scale, low=0)
        self._check_geometry()

    @property
    def _radius(self) -> float:
        return math.inf

    def _size(self, r: Any) -> Any:
        return float(self.scale) / float(self.power) * namespace(r).abs(r) ** float(self.power)

    def _slope(self, r: Any) -> Any:
        xp = namespace(r)
        return float(self.scale) * xp.sign(r) * xp.abs(r) ** (float(self.power) - 1)

    def _pull(self, r: Any, t: float) -> Any:
        return r - self._shrunk(r, t * float(self.scale), float(self.power))

    def _dual_size(self, a: Any) -> Any:
        dual = float(self.power) / (float(self.power) - 1)
        return float(self.scale) ** (1 - dual) / dual * namespace(a).abs(a) ** dual

    def _dual_prox(self, v: Any, t: float) -> Any:
        dual = float(self.power) / (float(self.power) - 1)
        return self._shrunk(v, t * float(self.scale) ** (1 - dual), dual)

    @staticmethod
    def _shrunk(v: Any, t: float, power: float) -> Any:
        """Return the root of x + t·x^{power−1} = v, odd in v: by bisection."""
        xp = namespace(v)
        size = xp.abs(v)
        low, high = xp.zeros_like(v), size + 0.0
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            above = middle + t * middle ** (power - 1) > size
            low, high = xp.where(above, low, middle), xp.where(above, middle, high)
        return xp.sign(v) * 0.5 * (low + high)


@dataclass(eq=False, repr=False)
class ExponentialNorm(RadialLoss):
    """The exponential of the norm of the residual: large residuals are avoided at any price.

    f(r) = c(e^{|r|} − 1),    f*(a) = 0 on |a| ≤ c,  |a|(log(|a|/c) − 1) + c beyond

    Prefer it where no row may be far off, and none is an outlier. Beyond |r| = 600 it goes on as a straight line.

    Parameters
    ----------
    scale : float, default=1.0
        c > 0.
    geometry : {"norm", "pointwise", "componentwise"}, default="norm"
        What counts as a residual, see :class:`Huber`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.arange(1.0), np.ones(1))
    >>> ExponentialNorm().value(np.array([[np.log(3.0)]]), np.zeros((1, 1)), mu).round(6)
    array([2.])
    """

    scale: float = 1.0
    geometry: str = "norm"

    def _check(self) -> None:
        check_number(self, "scale", self.scale, low=0)
        self._check_geometry()

    @property
    def _radius(self) -> float:
        return math.inf

    def _size(self, r: Any) -> Any:
        xp = namespace(r)
        size = xp.abs(r)
        near = clip(size, 0.0, LARGEST_EXPONENT)
        return float(self.scale) * (xp.expm1(near) + (size - near) * xp.exp(near))

    def _slope(self, r: Any) -> Any:
        xp = namespace(r)
        return float(self.scale) * xp.sign(r) * xp.exp(clip(xp.abs(r), 0.0, LARGEST_EXPONENT))

    def _pull(self, r: Any, t: float) -> Any:
        """Return t·c·e^x with x + t·c·e^x = |r|, where |r| > t·c; |r| itself below."""
        xp = namespace(r)
        least = t * float(self.scale)
        size = xp.abs(r)
        beyond = xp.where(size > least, size, least + xp.zeros_like(size))
        return xp.sign(r) * xp.where(size > least, _omega(beyond + math.log(least)), size)

    def _dual_size(self, a: Any) -> Any:
        xp, c = namespace(a), float(self.scale)
        size = xp.abs(a)
        ratio = xp.where(size > c, size, c + xp.zeros_like(size)) / c
        return c * (ratio * (xp.log(ratio) - 1) + 1)

    def _dual_prox(self, v: Any, t: float) -> Any:
        """Return a with a + t·log(a/c) = |v| where |v| > c; |v| itself below."""
        if t == 0:
            return v
        xp, c = namespace(v), float(self.scale)
        size = xp.abs(v)
        beyond = xp.where(size > c, size, c + xp.zeros_like(size))
        root = t * _omega(beyond / t + math.log(c / t))
        return xp.sign(v) * xp.where(size > c, root, size)


def _omega(z: Any) -> Any:
    """Return ω with ω + log ω = z, the Wright omega function, by Newton's method on log ω."""
    xp = namespace(z)
    log = xp.where(z > 1, xp.log(xp.where(z > 1, z, xp.ones_like(z))), z)
    for _ in range(BISECTIONS // 6):
        value = xp.exp(log)
        log = log - (value + log - z) / (value + 1)
    return xp.exp(log)
