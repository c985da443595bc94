"""Bases of cosines and sines on an interval: harmonics, the Laplacian kernel's eigenfunctions, random features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from mercer._params import check_number
from mercer.backend import as_like, clip, eigh, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.measures import Measure
from mercer.operator_valued.bases import Basis, BoundBasis

__all__ = ["FourierFeatureBasis", "HarmonicBasis", "LaplacianBasis"]


@dataclass(frozen=True, eq=False, repr=False)
class BoundTrigonometric(BoundBasis):
    """ψ(θ) = [cos⟨ω_1, u⟩, …, cos⟨ω_D, u⟩, sin⟨ω_1, u⟩, …, sin⟨ω_D, u⟩] C with u = (θ − origin)/length.

    Parameters
    ----------
    spectrum : array of shape (J,)
        λ_j.
    frequencies : array of shape (D, d)
        ω, for the unit cube.
    coefficients : array of shape (2D, J)
        C.
    origin, length : arrays of shape (d,)
        The box that is carried to the unit cube.
    """

    frequencies: Any
    coefficients: Any
    origin: Any
    length: Any

    @property
    def differentiable(self):
        return self.frequencies.shape[1] == 1

    def _unit(self, points: Any) -> Any:
        """Return u, the points in the coordinates of the unit cube."""
        if points.shape[1] != self.frequencies.shape[1]:
            raise DataError(
                f"{type(self).__name__}: points must have {self.frequencies.shape[1]} columns; got {points.shape[1]}."
            )
        return (points - as_like(self.origin, points)) / as_like(self.length, points)

    def _functions(self, u: Any, order: int) -> Any:
        """Return ψ (order 0) or its derivative in u (order 1, on the line)."""
        xp = namespace(u)
        frequencies = as_like(self.frequencies, u)
        phase = u @ frequencies.T
        cosine, sine = xp.cos(phase), xp.sin(phase)
        if order:
            cosine, sine = -sine * frequencies.T, cosine * frequencies.T
        return xp.concat([cosine, sine], axis=1) @ as_like(self.coefficients, u)

    def _evaluate(self, points):
        return self._functions(self._unit(points), 0)

    def _differentiate(self, points):
        return self._functions(self._unit(points), 1) / as_like(self.length, points)


@dataclass(frozen=True, eq=False, repr=False)
class BoundLaplacian(BoundTrigonometric):
    """The same on the unit interval; beyond its ends ψ falls off like its kernel, ψ(1)·exp(−γ(u − 1))."""

    gamma: float

    def _evaluate(self, points):
        u = self._unit(points)
        inside = clip(u, 0.0, 1.0)
        return self._functions(inside, 0) * namespace(u).exp(-self.gamma * abs(u - inside))

    def _differentiate(self, points):
        xp = namespace(points)
        u = self._unit(points)
        inside = clip(u, 0.0, 1.0)
        beyond = -self.gamma * xp.sign(u - inside) * self._evaluate(points)
        return xp.where(u == inside, self._functions(inside, 1), beyond) / as_like(self.length, points)


@dataclass(eq=False, repr=False)
class HarmonicBasis(Basis):
    """Harmonics 1, √2 cos 2πlu, √2 sin 2πlu of u = (θ − a)/(b − a), with λ = 1/(1 + l)^decay.

    They are orthonormal for the uniform probability measure on [a, b], and for equal weights on an equally spaced grid
    of more than 2l points, one end left out. The kernel is periodic: take it for curves that close, such as gait
    or weather over a year. The faster the spectrum decays, the smoother are the functions.

    Parameters
    ----------
    size : int
        Number of functions, in the order 1, cos, sin, cos, sin, …
    decay : float, default=2.0
        Exponent ≥ 0 of the spectrum.
    constant : bool, default=True
        Whether the constant is one of the functions; without it, centre the curves.
    domain : (float, float), default=(0.0, 1.0)
        The period [a, b].

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Points
    >>> basis = HarmonicBasis(5).bind(Points(np.arange(8) / 8).build())
    >>> basis.spectrum.round(3)
    array([1.   , 0.25 , 0.25 , 0.111, 0.111])
    """

    size: int
    decay: float = 2.0
    constant: bool = True
    domain: tuple[float, float] = (0.0, 1.0)

    def _check(self) -> None:
        check_number(self, "size", self.size, low=1, strict=False, integer=True)
        check_number(self, "decay", self.decay, low=0, strict=False)
        if not isinstance(self.constant, (bool, np.bool_)):
            raise parameter_error(self, "constant", self.constant, "True or False")
        _box(self, 1)

    def bind(self, measure, output_kernel=None):
        box = _box_around(self, measure, line=True)
        order = np.arange(self.size) + (1 if self.constant else 2)  # 1 is the constant, then 2l and 2l + 1
        harmonics, column = np.unique(order // 2, return_inverse=True)
        coefficients = np.zeros((2, len(harmonics), self.size))
        coefficients[order % 2 * (order > 1), column, np.arange(self.size)] = np.where(order == 1, 1.0, math.sqrt(2))
        spectrum = (1.0 + order // 2) ** -float(self.decay)
        arrays = (spectrum, 2 * np.pi * harmonics[:, None], coefficients.reshape(-1, self.size), *box)
        return BoundTrigonometric(*(as_like(array, measure.points) for array in arrays))


@dataclass(eq=False, repr=False)
class LaplacianBasis(Basis):
    """Eigenfunctions of exp(−γ|θ − τ|) for the uniform probability measure on an interval, in closed form.

    On [0, 1], with c_j the root in ((j − 1)π, jπ) of 2γc cos c = (c² − γ²) sin c::

        λ_j = 2γ/(γ² + c_j²),     ψ_j(θ) = [c_j cos(c_jθ) + γ sin(c_jθ)] / √((c_j² + γ²)/2 + γ)

    On [a, b] the same holds for u = (θ − a)/(b − a) and γ(b − a). The λ_j sum to 1 and decay like 1/j²: functions of
    the kernel's space are continuous, with kinks. Beyond the interval ψ_j is continued by its integral equation.

    Parameters
    ----------
    size : int
        Number of functions.
    gamma : float, default=1.0
        γ > 0.
    domain : (float, float), default=(0.0, 1.0)
        The interval [a, b].

    Examples
    --------
    >>> from mercer.measures import GaussLegendre
    >>> LaplacianBasis(3).bind(GaussLegendre(20).build()).spectrum.round(6)
    array([0.738811, 0.138004, 0.045088])
    """

    size: int
    gamma: float = 1.0
    domain: tuple[float, float] = (0.0, 1.0)

    def _check(self) -> None:
        check_number(self, "size", self.size, low=1, strict=False, integer=True)
        check_number(self, "gamma", self.gamma, low=0)
        _box(self, 1)

    def bind(self, measure, output_kernel=None):
        origin, length = _box_around(self, measure, line=True)
        gamma = float(self.gamma * length[0])
        c = laplacian_roots(self.size, gamma)
        scale = np.sqrt((c**2 + gamma**2) / 2 + gamma)
        coefficients = np.concatenate([np.diag(c / scale), np.diag(gamma / scale)])
        arrays = (2 * gamma / (gamma**2 + c**2), c[:, None], coefficients, origin, length)
        spectrum, c, coefficients, origin, length = (as_like(array, measure.points) for array in arrays)
        return BoundLaplacian(spectrum, c, coefficients, origin, length, gamma)


def laplacian_roots(size: int, gamma: float) -> np.ndarray:
    """Return the roots c_j in ((j − 1)π, jπ) of 2γc cos c = (c² − γ²) sin c.

    The equation is tan c = tan(2 arctan(γ/c)), hence c_j = jπ − 2 arctan(c_j/γ): one root of an increasing function.
    """

    def root(j: int) -> float:
        return brentq(lambda c: c - j * math.pi + 2 * math.atan2(c, gamma), (j - 1) * math.pi, j * math.pi, xtol=1e-300)

    return np.array([root(j) for j in range(1, size + 1)])


@dataclass(eq=False, repr=False)
class FourierFeatureBasis(Basis):
    """Eigenfunctions of a random approximation of the Gaussian kernel exp(−γ‖θ − τ‖²) on a box.

    With D frequencies ω ~ N(0, 2γI) the kernel is replaced by (1/D) Σ_a cos⟨ω_a, θ − τ⟩, to an error of order D^{-1/2}.
    The eigenpairs of that kernel for the uniform probability measure on the box are exact: with F the cosines and
    sines and Ψ = ∫FFᵀdμ in closed form, Ψa = e·a gives λ = e/D and ψ = Fᵀa/√e. Its functions do not depend on the
    points at hand; where that is not asked for, :class:`NystromBasis` is without the random error.

    Parameters
    ----------
    size : int, optional
        At most so many functions; all by default.
    n_frequencies : int, default=25
        D.
    gamma : float, default=1.0
        γ > 0.
    random_state : None, int or numpy.random.Generator
        Seed of the frequencies. None draws others at each fit.
    domain : (float, float) or sequence of d of them, default=(0.0, 1.0)
        The box; one interval serves all columns of θ.
    tolerance : float, default=1e-10
        Eigenvalues up to this part of the largest are left out: rounding spoils their functions.

    Examples
    --------
    >>> from mercer.measures import GaussLegendre
    >>> mu = GaussLegendre(40).build()
    >>> FourierFeatureBasis(4, gamma=5.0, random_state=0).bind(mu).defect(mu) < 1e-10
    True
    """

    size: int | None = None
    n_frequencies: int = 25
    gamma: float = 1.0
    random_state: Any = None
    domain: Any = (0.0, 1.0)
    tolerance: float = 1e-10

    def _check(self) -> None:
        if self.size is not None:
            check_number(self, "size", self.size, low=1, strict=False, integer=True)
        check_number(self, "n_frequencies", self.n_frequencies, low=1, strict=False, integer=True)
        check_number(self, "gamma", self.gamma, low=0)
        check_number(self, "tolerance", self.tolerance, low=0, high=1)
        _box(self, None)

    def bind(self, measure, output_kernel=None):
        origin, length = _box_around(self, measure)
        rng = np.random.default_rng(self.random_state)
        frequencies = math.sqrt(2 * self.gamma) * rng.normal(size=(self.n_frequencies, len(length))) * length
        spectrum, coefficients = fourier_eigenpairs(frequencies, self.tolerance)
        arrays = (spectrum[: self.size], frequencies, coefficients[:, : self.size], origin, length)
        return BoundTrigonometric(*(as_like(array, measure.points) for array in arrays))


def fourier_moments(frequencies: np.ndarray) -> np.ndarray:
    """Return Ψ = ∫FFᵀ over the unit cube for F = (cos⟨ω_a, u⟩, sin⟨ω_a, u⟩), shape (2D, 2D).

    Products of cosines and sines are sums of cosines and sines of ⟨ω_a ∓ ω_b, u⟩, whose integrals are the real and
    imaginary parts of E(z) = ∫exp(i⟨z, u⟩)du = Π_k exp(iz_k/2)·sin(z_k/2)/(z_k/2).
    """

    def integral(z: np.ndarray) -> np.ndarray:
        return np.prod(np.exp(0.5j * z) * np.sinc(z / (2 * np.pi)), axis=2)

    less = integral(frequencies[:, None, :] - frequencies[None, :, :])
    more = integral(frequencies[:, None, :] + frequencies[None, :, :])
    sine_cosine = more.imag + less.imag
    return np.block([[less.real + more.real, sine_cosine.T], [sine_cosine, less.real - more.real]]) / 2


def fourier_eigenpairs(frequencies: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues (J,), descending, and coefficients (2D, J) of the eigenfunctions in cosines and sines."""
    values, vectors = eigh(fourier_moments(frequencies))
    values, vectors = values[::-1], vectors[:, ::-1]
    size = int(np.sum(values > tolerance * values[0]))
    return values[:size] / len(frequencies), vectors[:, :size] / np.sqrt(values[:size])


def _box(basis: Any, dimension: int | None) -> np.ndarray:
    """Return the domain as an array of shape (2,) or (d, 2), or refuse it."""
    try:
        box = np.asarray(basis.domain, dtype=float)
    except (TypeError, ValueError):
        box = np.empty(0)
    shapes = box.shape == (2,) or (dimension is None and box.ndim == 2 and box.shape[1:] == (2,) and len(box) > 0)
    if not shapes or not np.all(np.isfinite(box)) or not np.all(box[..., 0] < box[..., 1]):
        several = "" if dimension == 1 else " or a sequence of them, one per column"
        raise parameter_error(
            basis, "domain", basis.domain, f"a pair (low, high) of finite numbers, low < high{several}"
        )
    return box


def _box_around(basis: Any, measure: Measure, line: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return origin and length (d,) of the domain, or refuse points of a measure that lie elsewhere."""
    points = to_numpy(measure.points)
    dimension = points.shape[1]
    name = type(basis).__name__
    if line and dimension != 1:
        raise DataError(
            f"{name} is for functions on the line; the points have dimension {dimension}. FourierFeatureBasis and "
            "NystromBasis take any dimension."
        )
    box = _box(basis, None)
    if box.ndim == 2 and len(box) != dimension:
        raise DataError(f"{name}: domain has {len(box)} intervals, but points have dimension {dimension}.")
    low, high = np.broadcast_to(box, (dimension, 2)).T
    slack = 1e-6 * (high - low)  # points may come in single precision
    if np.any(points < low - slack) or np.any(points > high + slack):
        spans = ", ".join(f"[{a:.6g}, {b:.6g}]" for a, b in zip(points.min(axis=0), points.max(axis=0), strict=True))
        raise DataError(
            f"{name}: the points of the measure span {spans}, beyond domain={basis.domain!r}. Pass their domain."
        )
    return low, high - low
