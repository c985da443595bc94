"""Rules that build a measure: where to put the points of Θ and how much each of them counts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import qmc

from mercer._params import Params, check_number
from mercer.backend import as_like
from mercer.exceptions import parameter_error
from mercer.measures.measure import Measure

__all__ = ["GaussLegendre", "Grid", "Halton", "MeasureRule", "MonteCarlo", "Points", "Sobol", "Trapezoid"]


class MeasureRule(Params, ABC):
    """What a user passes as ``measure``: a recipe for points and weights."""

    @abstractmethod
    def nodes(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return points ``(m, d)`` and weights ``(m,)`` as NumPy arrays."""

    def build(self, like: Any = None, rng: Any = None) -> Measure:
        """Build the measure, in the array library and dtype of ``like``.

        Parameters
        ----------
        like : array, optional
            Decides library, device and dtype; NumPy float64 by default.
        rng : None, int or numpy.random.Generator
            Used by the random rules. Numbers are drawn with NumPy, so a seed means the same everywhere.
        """
        points, weights = self.nodes(np.random.default_rng(rng))
        keep = weights > 0
        reference = np.empty(0) if like is None else like
        return Measure(as_like(points[keep], reference), as_like(weights[keep], reference))


class _UnitRule(MeasureRule):
    """Points u_j and weights on the unit cube, carried to μ by its quantile function: θ_j = F⁻¹(u_j).

    The weights stay those of the unit cube, because ∫ f dμ = ∫ f(F⁻¹(u)) du.
    """

    size: int
    distribution: Any

    def _check(self) -> None:
        check_number(self, "size", self.size, low=1, strict=False, integer=True)
        if self.distribution is not None and not callable(getattr(self.distribution, "ppf", None)):
            raise parameter_error(
                self,
                "distribution",
                self.distribution,
                "None (uniform on [0, 1]) or a frozen scipy.stats distribution",
                "For instance scipy.stats.uniform(0.05, 0.9) or scipy.stats.beta(2, 3).",
            )

    @abstractmethod
    def unit_nodes(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return points in the unit cube ``(m, d)`` and weights that sum to 1."""

    def nodes(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        points, weights = self.unit_nodes(rng)
        if self.distribution is not None:
            points = np.asarray(self.distribution.ppf(points), dtype=float)
            if not np.all(np.isfinite(points)):
                raise parameter_error(
                    self,
                    "distribution",
                    self.distribution,
                    "one whose quantile function is finite at the points of the rule",
                    "GaussLegendre avoids the ends of an unbounded support; Trapezoid does not.",
                )
        return points, weights


@dataclass(eq=False, repr=False)
class GaussLegendre(_UnitRule):
    """Gauss–Legendre quadrature, exact for polynomials of degree 2·size − 1: the choice for smooth functions.

    Parameters
    ----------
    size : int, default=20
        Number of points.
    distribution : frozen scipy.stats distribution, optional
        The probability measure μ; uniform on [0, 1] by default.

    Examples
    --------
    >>> mu = GaussLegendre(5).build()
    >>> round(float(mu.integrate(mu.locations[None, :] ** 9)[0]), 12)
    0.1
    """

    size: int = 20
    distribution: Any = None

    def unit_nodes(self, rng):
        points, weights = np.polynomial.legendre.leggauss(self.size)
        return ((points + 1) / 2)[:, None], weights / 2


@dataclass(eq=False, repr=False)
class Trapezoid(_UnitRule):
    """Equally spaced levels, ends included, half the weight on the ends: what a regular grid of curves means.

    Examples
    --------
    >>> Trapezoid(3).build().weights
    array([0.25, 0.5 , 0.25])
    """

    size: int = 50
    distribution: Any = None

    def _check(self) -> None:
        super()._check()
        check_number(self, "size", self.size, low=2, strict=False, integer=True)

    def unit_nodes(self, rng):
        weights = np.full(self.size, 1 / (self.size - 1))
        weights[[0, -1]] /= 2
        return np.linspace(0, 1, self.size)[:, None], weights


@dataclass(eq=False, repr=False)
class MonteCarlo(_UnitRule):
    """Independent draws from μ with equal weights; error O(m^{-1/2}) in any dimension.

    Parameters
    ----------
    size : int, default=64
        Number of draws.
    distribution : frozen scipy.stats distribution, optional
        The law of each coordinate; uniform on [0, 1] by default.
    dimension : int, default=1
        Dimension of Θ.
    """

    size: int = 64
    distribution: Any = None
    dimension: int = 1

    def _check(self) -> None:
        super()._check()
        check_number(self, "dimension", self.dimension, low=1, strict=False, integer=True)

    def unit_nodes(self, rng):
        return self._points(rng), np.full(self.size, 1 / self.size)

    def _points(self, rng: np.random.Generator) -> np.ndarray:
        return rng.random((self.size, self.dimension))


@dataclass(eq=False, repr=False)
class Sobol(MonteCarlo):
    """Scrambled Sobol points with equal weights; error near O(1/m). A power of two as size is best.

    Examples
    --------
    >>> from scipy import stats
    >>> mu = Sobol(1024, stats.beta(2, 3)).build(rng=0)
    >>> import numpy as np
    >>> round(float(mu.integrate(np.cos(3 * mu.points.T) + mu.points.T)[0]), 3)
    0.71
    """

    def _points(self, rng: np.random.Generator) -> np.ndarray:
        sampler = qmc.Sobol(self.dimension, scramble=True, rng=rng)
        return sampler.random_base2(math.ceil(math.log2(self.size)))[: self.size]


@dataclass(eq=False, repr=False)
class Halton(MonteCarlo):
    """Scrambled Halton points with equal weights; like :class:`Sobol`, with no preferred size."""

    def _points(self, rng: np.random.Generator) -> np.ndarray:
        return qmc.Halton(self.dimension, scramble=True, rng=rng).random(self.size)


@dataclass(eq=False, repr=False)
class Points(MeasureRule):
    """Points and weights taken literally; the weights need not sum to 1. Zero weights are dropped.

    Parameters
    ----------
    points : array-like of shape (m,) or (m, d)
        Locations θ_j.
    weights : array-like of shape (m,), optional
        Non-negative weights; 1/m each by default, which makes a probability measure.

    Examples
    --------
    >>> Points([0.1, 0.5], [2.0, 3.0]).build().total
    5.0
    """

    points: Any
    weights: Any = None

    def _check(self) -> None:
        points = self._numbers("points", "numbers of shape (m,) or (m, d)")
        if points.ndim not in (1, 2) or points.size == 0 or not np.all(np.isfinite(points)):
            raise parameter_error(self, "points", self.points, "finite numbers of shape (m,) or (m, d), m >= 1")
        if self.weights is None:
            return
        weights = self._numbers("weights", f"{len(points)} numbers, one per point")
        if weights.shape != points.shape[:1]:
            raise parameter_error(self, "weights", self.weights, f"{len(points)} numbers, one per point")
        if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights > 0):
            raise parameter_error(
                self,
                "weights",
                self.weights,
                "non-negative, finite and not all zero",
                "Negative quadrature weights destroy convexity.",
            )

    def _numbers(self, name: str, allowed: str) -> np.ndarray:
        try:
            return np.asarray(getattr(self, name), dtype=float)
        except (TypeError, ValueError) as error:
            raise parameter_error(self, name, getattr(self, name), allowed) from error

    def nodes(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        points = np.asarray(self.points, dtype=float)
        points = points[:, None] if points.ndim == 1 else points
        if self.weights is None:
            return points, np.full(len(points), 1 / len(points))
        return points, np.asarray(self.weights, dtype=float)


@dataclass(eq=False, repr=False)
class Grid(MeasureRule):
    """The grid on which curves were observed, as a probability measure: what integrals over it mean.

    Increasing points on the line get the weights of the trapezoid rule, divided by the length of the grid; points of
    several columns, such as a scatter of emotions in the plane, count the same, 1/m each.

    Parameters
    ----------
    points : array-like of shape (m,), (m, 1) or (m, d)
        Where curves were observed; on the line strictly increasing.

    Examples
    --------
    >>> Grid([0.0, 1.0, 4.0]).build().weights
    array([0.125, 0.5  , 0.375])
    """

    points: Any

    def _check(self) -> None:
        try:
            points = np.asarray(self.points, dtype=float)
        except (TypeError, ValueError) as error:
            raise parameter_error(self, "points", self.points, "numbers of shape (m,) or (m, d)") from error
        if points.ndim not in (1, 2) or points.size == 0 or not np.all(np.isfinite(points)):
            raise parameter_error(self, "points", self.points, "finite numbers of shape (m,) or (m, d), m >= 1")
        on_line = points.ndim == 1 or points.shape[1] == 1
        if on_line and np.any(np.diff(points.ravel()) <= 0):
            raise parameter_error(
                self,
                "points",
                self.points,
                "strictly increasing",
                "Sort the grid, and the columns of the curves with it: order = numpy.argsort(grid).",
            )

    def nodes(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        points = np.asarray(self.points, dtype=float)
        points = points[:, None] if points.ndim == 1 else points
        m = len(points)
        if points.shape[1] > 1 or m == 1:
            return points, np.full(m, 1 / m)
        steps = np.diff(points[:, 0])
        weights = np.zeros(m)
        weights[:-1] += steps / 2
        weights[1:] += steps / 2
        return points, weights / weights.sum()
