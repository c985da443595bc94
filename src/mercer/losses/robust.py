"""Losses of the size of the residual, by its norm or point by point: Huber, ε-ridge and ε-insensitive.

Each is f(|r|) of a scalar. With geometry "pointwise" it is integrated over μ; with "norm" it is taken of
‖r‖_μ, and gradients and proxes keep the direction of their argument. Both are written once, with odd
functions of a number. For functions with values in R^p "pointwise" is of the length of r(θ), "componentwise" of each
number by itself; where columns are mere points, both are the same.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer._params import check_number
from mercer.backend import clip, namespace
from mercer.exceptions import parameter_error
from mercer.losses.base import Box, Loss, indicator
from mercer.losses.box import slack
from mercer.losses.observed import observed_only, residual
from mercer.losses.prox import rescale_rows, soft_threshold
from mercer.losses.threshold import Threshold
from mercer.losses.vectors import VectorLoss
from mercer.measures import Measure

__all__ = ["EpsilonInsensitive", "EpsilonRidge", "Huber", "RadialLoss"]

#: κ by default: 1.345 standard deviations of Gaussian noise (Huber, 1981), which are 1.345 median norms of curves, as
#: norms vary little, and twice the median size of single values
KAPPA = Threshold("kappa", "square", of_norms=1.345, of_values=2.0, span=(10.0, 0.3))
#: ε by default: half of the residuals are within
EPSILON = Threshold("epsilon", "nothing", span=(4.0, 0.1))


class RadialLoss(Loss):
    """A loss f(|r|): subclasses give even or odd maps, applied to entries or to norms of rows."""

    geometry: str

    @property
    def pointwise(self) -> bool:  # type: ignore[override]
        """Whether the loss is an integral over μ of a loss at each point."""
        return self.geometry != "norm"

    @property
    def compares(self) -> str:
        """The geometry."""
        return self.geometry

    def of_vectors(self, n_components: int) -> Loss:
        """Return the loss of the length of the vector in R^p at each point, where it is pointwise and p > 1."""
        if n_components == 1 or self.geometry != "pointwise":
            return self
        return VectorLoss(self.replace(geometry="norm"), n_components)

    def _check_geometry(self) -> None:
        if self.geometry not in ("norm", "pointwise", "componentwise"):
            raise parameter_error(
                self,
                "geometry",
                self.geometry,
                "'norm', 'pointwise' or 'componentwise'",
                "'norm' treats whole curves, 'pointwise' each of their points, 'componentwise' each number at a point.",
            )

    @abstractmethod
    def _size(self, r: Any) -> Any:
        """Return f(r), an even function."""

    @abstractmethod
    def _slope(self, r: Any) -> Any:
        """Return f'(r), an odd function."""

    @abstractmethod
    def _pull(self, r: Any, t: float) -> Any:
        """Return r − prox_{tf}(r), an odd function."""

    @abstractmethod
    def _dual_size(self, a: Any) -> Any:
        """Return f*(a) inside its domain, an even function."""

    @abstractmethod
    def _dual_prox(self, v: Any, t: float) -> Any:
        """Return prox_{tf*}(v), an odd function."""

    @property
    @abstractmethod
    def _radius(self) -> float:
        """The domain of f* is |a| ≤ radius."""

    @property
    def dual_bound(self) -> float:
        """The radius of the domain of the conjugate: κ for Huber's loss, 1 for the ε-insensitive one."""
        return self._radius

    def _even(self, function: Callable[[Any], Any], values: Any, measure: Measure) -> Any:
        if self.pointwise:
            return measure.integrate(function(values))
        return function(measure.norm(values))

    def _odd(self, function: Callable[[Any], Any], values: Any, measure: Measure) -> Any:
        if self.pointwise:
            return function(values)
        norms = measure.norm(values)
        return rescale_rows(values, norms, function(norms))

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return f(‖r_i‖_μ), or ∫ f(r_i) dμ, for each row."""
        return self._even(self._size, residual(Y, U, measure), measure)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −f'(‖r‖_μ)·r/‖r‖_μ, or −f'(r)."""
        return -self._odd(self._slope, residual(Y, U, measure), measure)

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return y − prox_{tf}(y − z)."""
        return Z + self._odd(lambda r: self._pull(r, t), residual(Y, Z, measure), measure)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return f*(a) − ⟨a, y⟩_μ on the domain and +inf elsewhere, for each row."""
        A = observed_only(A, measure)
        value = self._even(self._dual_size, A, measure) - measure.inner(A, Y)
        radius = self._radius * (1 + slack(A))
        if math.isinf(radius):
            return value
        xp = namespace(A)
        inside = xp.all(xp.abs(A) <= radius, axis=1) if self.pointwise else measure.norm(A) <= radius
        return value + indicator(inside, value)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return prox_{tf*}(z + t·y)."""
        return self._odd(lambda v: self._dual_prox(v, t), observed_only(Z + t * Y, measure), measure)


@dataclass(eq=False, repr=False)
class Huber(RadialLoss):
    """The Huber loss: quadratic for small residuals, linear for large ones.

    f(r) = r²/2 where |r| ≤ κ, κ(|r| − κ/2) beyond;    f*(a) = a²/2 on |a| ≤ κ

    Prefer it to the square loss where y has outliers: whole curves (``"norm"``, f(‖r_i‖_μ)) or stretches of
    curves (``"pointwise"``, ∫ f(r_i(θ)) dμ). It is the square loss once κ exceeds all residuals of the ridge
    fit.

    Parameters
    ----------
    kappa : float, default=1.0
        Where the loss turns linear, in units of the L²(μ) norm, or of y when pointwise.
    geometry : {"norm", "pointwise", "componentwise"}, default="norm"
        What counts as a residual: the norm of a curve, its value at each point (of curves in R^p the length of this
        vector), or each component of it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> Y, U = np.array([[1.5, 0.0]]), np.zeros((1, 2))
    >>> Huber(kappa=0.8, geometry="pointwise").value(Y, U, mu)
    array([0.44])
    >>> Huber(kappa=2.0).value(Y, U, mu)
    array([0.5625])
    """

    kappa: float = 1.0
    geometry: str = "norm"

    smooth = True
    lipschitz = 1.0
    threshold = KAPPA

    def _check(self) -> None:
        check_number(self, "kappa", self.kappa, low=0, hint="Square() is the limit κ → ∞.")
        self._check_geometry()

    @property
    def _radius(self) -> float:
        return float(self.kappa)

    def _size(self, r: Any) -> Any:
        c = clip(r, -self._radius, self._radius)
        return c * (r - 0.5 * c)

    def _slope(self, r: Any) -> Any:
        return clip(r, -self._radius, self._radius)

    def _pull(self, r: Any, t: float) -> Any:
        return clip((t / (1 + t)) * r, -t * self._radius, t * self._radius)

    def _dual_size(self, a: Any) -> Any:
        return 0.5 * a * a

    def _dual_prox(self, v: Any, t: float) -> Any:
        return clip(v / (1 + t), -self._radius, self._radius)

    def box(self, Y: Any, measure: Measure) -> Box | None:
        """Return −κ ≤ a ≤ κ with curvature 1 when pointwise, else None."""
        return _symmetric_box(self._radius, 1.0, Y) if self.pointwise else None


@dataclass(eq=False, repr=False)
class EpsilonRidge(RadialLoss):
    """The square loss beyond a tube of half-width ε: small residuals cost nothing.

    f(r) = ½(|r| − ε)₊²,    f*(a) = a²/2 + ε|a|

    Prefer it for sparse duals with light-tailed noise: samples (``"norm"``) or entries (``"pointwise"``)
    inside the tube have coefficient zero. ε = 0 is the square loss; ε ≥ max_i ‖y_i‖ gives the zero function.

    Parameters
    ----------
    epsilon : float, default=0.1
        Half-width of the tube, in units of the L²(μ) norm, or of y when pointwise.
    geometry : {"norm", "pointwise", "componentwise"}, default="norm"
        What counts as a residual: the norm of a curve, its value at each point (of curves in R^p the length of this
        vector), or each component of it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.0]), np.array([1.0]))
    >>> EpsilonRidge(epsilon=0.4).value(np.array([[1.5], [0.3]]), np.zeros((2, 1)), mu)
    array([0.605, 0.   ])
    """

    epsilon: float = 0.1
    geometry: str = "norm"

    smooth = True
    lipschitz = 1.0
    sparse = True
    growth = 2
    threshold = EPSILON

    def _check(self) -> None:
        check_number(self, "epsilon", self.epsilon, low=0, strict=False)
        self._check_geometry()

    @property
    def _radius(self) -> float:
        return math.inf

    def _size(self, r: Any) -> Any:
        excess = soft_threshold(r, float(self.epsilon))
        return 0.5 * excess * excess

    def _slope(self, r: Any) -> Any:
        return soft_threshold(r, float(self.epsilon))

    def _pull(self, r: Any, t: float) -> Any:
        return (t / (1 + t)) * soft_threshold(r, float(self.epsilon))

    def _dual_size(self, a: Any) -> Any:
        size = namespace(a).abs(a)
        return size * (0.5 * size + float(self.epsilon))

    def _dual_prox(self, v: Any, t: float) -> Any:
        return soft_threshold(v, t * float(self.epsilon)) / (1 + t)


@dataclass(eq=False, repr=False)
class EpsilonInsensitive(RadialLoss):
    """The ε-insensitive loss of support vector regression: a tube that costs nothing, linear beyond.

    f(r) = (|r| − ε)₊,    f*(a) = ε|a| on |a| ≤ 1

    Prefer it for sparse duals *and* robustness to outliers. ε = 0 is the absolute loss (pointwise: twice the
    pinball loss at θ = ½).

    Parameters
    ----------
    epsilon : float, default=0.1
        Half-width of the tube, in units of the L²(μ) norm, or of y when pointwise.
    geometry : {"norm", "pointwise", "componentwise"}, default="norm"
        What counts as a residual: the norm of a curve, its value at each point (of curves in R^p the length of this
        vector), or each component of it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.0]), np.array([1.0]))
    >>> EpsilonInsensitive(epsilon=0.4).value(np.array([[1.5], [0.3]]), np.zeros((2, 1)), mu)
    array([1.1, 0. ])
    """

    epsilon: float = 0.1
    geometry: str = "norm"

    sparse = True
    threshold = EPSILON

    def _check(self) -> None:
        check_number(self, "epsilon", self.epsilon, low=0, strict=False)
        self._check_geometry()

    @property
    def _radius(self) -> float:
        return 1.0

    def _size(self, r: Any) -> Any:
        return namespace(r).abs(soft_threshold(r, float(self.epsilon)))

    def _slope(self, r: Any) -> Any:
        return namespace(r).sign(soft_threshold(r, float(self.epsilon)))

    def _pull(self, r: Any, t: float) -> Any:
        return clip(soft_threshold(r, float(self.epsilon)), -t, t)

    def _dual_size(self, a: Any) -> Any:
        return float(self.epsilon) * namespace(a).abs(a)

    def _dual_prox(self, v: Any, t: float) -> Any:
        return clip(soft_threshold(v, t * float(self.epsilon)), -1.0, 1.0)

    def box(self, Y: Any, measure: Measure) -> Box | None:
        """Return −1 ≤ a ≤ 1 when pointwise with ε = 0, else None (ε|a| is no part of a box form)."""
        return _symmetric_box(1.0, 0.0, Y) if self.pointwise and self.epsilon == 0 else None


def _symmetric_box(radius: float, curvature: float, like: Any) -> Box:
    bound = radius * namespace(like).ones_like(like[0, :])
    return Box(-bound, bound, curvature)
