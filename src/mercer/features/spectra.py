"""Which law of frequencies a kernel has (Bochner's theorem), and which parts of a kernel have one."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from scipy import special

from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.features.laws import Columnwise, Mapped, OneColumn, Radius, ScaleMixture, SpectralLaw, harmonics
from mercer.kernels import (
    Constant,
    FunctionalGaussian,
    Gaussian,
    IntegralGaussian,
    IntegralLaplacian,
    Kernel,
    Laplacian,
    Matern,
    Periodic,
    Product,
    Projected,
    RationalQuadratic,
    Restricted,
    Scaled,
    SkewedChiSquared,
    Sum,
)
from mercer.kernels.stationary import per_column

__all__ = ["Spectrum", "Wave", "spectrum", "terms_of"]


@dataclass(frozen=True, eq=False)
class Wave:
    """One of the independent summands of the phase ⟨ω, u(x)⟩.

    Parameters
    ----------
    law : SpectralLaw
        Of ω.
    columns : array of int of shape (c,)
        The columns of x that it sees.
    shift : array of shape (c,)
        Where it is finite, u = log(x + shift); where it is infinite, u = x.
    """

    law: SpectralLaw
    columns: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True, eq=False)
class Spectrum:
    """k(x, z) = mass · E cos(Σ_w ⟨ω_w, u_w(x) − u_w(z)⟩) with independent ω_w.

    Parameters
    ----------
    mass : float
        k(x, x).
    waves : tuple of Wave
        What the phase is the sum of; none for a constant kernel.
    """

    mass: float
    waves: tuple[Wave, ...] = ()

    @classmethod
    def of(cls, law: SpectralLaw, mass: float = 1.0, shift: Any = None) -> Spectrum:
        """Return the spectrum of a kernel of all columns: of differences, or of those of log(x + shift)."""
        columns = np.arange(law.n_columns)
        shift = np.full(len(columns), math.inf) if shift is None else shift
        return cls(mass, (Wave(law, columns, shift),))


@singledispatch
def spectrum(kernel: Kernel, n_columns: int) -> Spectrum:
    """Return the spectrum of a kernel on points of so many columns.

    That of a kernel of one's own is entered by ``spectrum.register``.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> spectrum(3.0 * Gaussian(0.5), 2).mass
    3.0
    """
    raise UnsupportedError(
        f"RandomFourier: {kernel!r} has no spectral density that is known. Gaussian, Laplacian, Matern, "
        "RationalQuadratic, Periodic, SkewedChiSquared, kernels on functions, their sums and products have one, and "
        "Linear and Constant keep their own features. Nystroem(n_landmarks) approximates any kernel."
    )


def _spread(values: Any, n_columns: int) -> np.ndarray:
    """Return a number for each column."""
    return np.array(np.broadcast_to(np.asarray(values, dtype=float).reshape(-1), (n_columns,)))


def _weights(kernel: Any, n_columns: int) -> np.ndarray:
    """Return the inverse lengths of a stationary kernel."""
    return _spread(kernel._weights(np.zeros((1, n_columns))), n_columns)


def _cauchy(scale: float) -> Any:
    return lambda uniforms: scale * np.tan(math.pi * (uniforms - 0.5))


@spectrum.register
def _(kernel: Gaussian, n_columns: int) -> Spectrum:
    return Spectrum.of(ScaleMixture(_weights(kernel, n_columns), Radius(2.0)))


@spectrum.register
def _(kernel: Matern, n_columns: int) -> Spectrum:
    radius = Radius(float(kernel.nu), shape=float(kernel.nu), power=-1)  # ω is Student's, of 2ν degrees
    return Spectrum.of(ScaleMixture(_weights(kernel, n_columns), radius))


@spectrum.register
def _(kernel: RationalQuadratic, n_columns: int) -> Spectrum:
    radius = Radius(1 / float(kernel.shape), shape=float(kernel.shape))
    return Spectrum.of(ScaleMixture(_weights(kernel, n_columns), radius))


@spectrum.register
def _(kernel: FunctionalGaussian, n_columns: int) -> Spectrum:
    weights = kernel._weights(np.zeros((1, n_columns)))
    return Spectrum.of(ScaleMixture(np.sqrt(float(kernel.gamma) * weights), Radius(2.0)))


@spectrum.register
def _(kernel: Laplacian, n_columns: int) -> Spectrum:
    return Spectrum.of(Columnwise(tuple(_cauchy(weight) for weight in _weights(kernel, n_columns))))


@spectrum.register
def _(kernel: Periodic, n_columns: int) -> Spectrum:
    periods = _spread(per_column(kernel, "period", None, np.zeros((1, n_columns))), n_columns)
    pairs = zip(periods, _weights(kernel, n_columns), strict=True)
    return Spectrum.of(Columnwise(tuple(harmonics(*pair) for pair in pairs)))


@spectrum.register
def _(kernel: SkewedChiSquared, n_columns: int) -> Spectrum:
    def secant(uniforms: np.ndarray) -> Any:  # of density sech(πω)
        return np.log(np.tan((math.pi / 2) * uniforms)) / math.pi

    shift = _spread(per_column(kernel, "skew", None, np.zeros((1, n_columns))), n_columns)
    return Spectrum.of(Columnwise((secant,) * n_columns), shift=shift)


@spectrum.register
def _(kernel: IntegralGaussian, n_columns: int) -> Spectrum:
    weights, scale = kernel._weights(np.zeros((1, n_columns))), math.sqrt(2 * float(kernel.gamma))
    law = OneColumn(weights / np.sum(weights), lambda uniforms: scale * special.ndtri(uniforms))
    return Spectrum.of(law, float(np.sum(weights)))


@spectrum.register
def _(kernel: IntegralLaplacian, n_columns: int) -> Spectrum:
    weights = kernel._weights(np.zeros((1, n_columns)))
    return Spectrum.of(OneColumn(weights / np.sum(weights), _cauchy(float(kernel.gamma))), float(np.sum(weights)))


@spectrum.register
def _(kernel: Constant, n_columns: int) -> Spectrum:
    return Spectrum(float(kernel.value))


@spectrum.register
def _(kernel: Scaled, n_columns: int) -> Spectrum:
    inner = spectrum(kernel.kernel, n_columns)
    return replace(inner, mass=float(kernel.scale) * inner.mass)


@spectrum.register
def _(kernel: Product, n_columns: int) -> Spectrum:
    left, right = spectrum(kernel.left, n_columns), spectrum(kernel.right, n_columns)
    return Spectrum(left.mass * right.mass, left.waves + right.waves)


@spectrum.register
def _(kernel: Restricted, n_columns: int) -> Spectrum:
    places = kernel._places(np.zeros((1, n_columns)))
    inner = spectrum(kernel.kernel, len(places))
    return replace(inner, waves=tuple(replace(wave, columns=places[wave.columns]) for wave in inner.waves))


@spectrum.register
def _(kernel: Projected, n_columns: int) -> Spectrum:
    matrix = np.asarray(to_numpy(kernel.matrix), dtype=float)
    inner = spectrum(kernel.kernel, matrix.shape[1])
    if any(np.any(np.isfinite(wave.shift)) for wave in inner.waves):
        return spectrum.dispatch(Kernel)(kernel, n_columns)
    laws = [Mapped(wave.law, matrix[:, wave.columns]) for wave in inner.waves]
    columns, shift = np.arange(n_columns), np.full(n_columns, math.inf)
    return replace(inner, waves=tuple(Wave(law, columns, shift) for law in laws))


def terms_of(kernel: Kernel) -> list[Kernel]:
    """Return kernels that are no sums and of which the kernel is the sum: products, multiples, … are distributed.

    Examples
    --------
    >>> from mercer.kernels import Gaussian, Linear, Periodic
    >>> len(terms_of((Gaussian(1.0) + 2.0) * Periodic() + Linear()))
    3
    """
    if isinstance(kernel, Sum):
        return terms_of(kernel.left) + terms_of(kernel.right)
    if isinstance(kernel, Product):
        rights = terms_of(kernel.right)
        return [Product(left, right) for left in terms_of(kernel.left) for right in rights]
    if isinstance(kernel, (Scaled, Restricted, Projected)):
        return [kernel.replace(kernel=term) for term in terms_of(kernel.kernel)]
    return [kernel]
