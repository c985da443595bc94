"""Laws of frequencies: symmetric probability laws on R^d, drawn from uniform numbers by inverse cdf."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special, stats

from mercer.exceptions import UnsupportedError

__all__ = ["Columnwise", "Mapped", "OneColumn", "Radius", "ScaleMixture", "SpectralLaw", "harmonics"]

#: κ beyond which the harmonics of a periodic kernel are those of a normal law
MANY_HARMONICS = 1e6
#: deviations of the harmonics that are looked at, and at least so many harmonics
FAR_HARMONICS, FEWEST_HARMONICS = 12.0, 40


class SpectralLaw(ABC):
    """A probability law of frequencies ω ∈ R^d with k(x, z)/k(x, x) = E cos⟨ω, x − z⟩.

    It is drawn from points of the unit cube, be they random or quasi-random.
    """

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns, d."""

    @property
    def n_uniforms(self) -> int:
        """Numbers in (0, 1) that a frequency is made of."""
        return self.n_columns

    @abstractmethod
    def frequencies(self, uniforms: np.ndarray) -> np.ndarray:
        """Return ω, shape (D, d), from numbers in (0, 1), shape (D, n_uniforms)."""

    @property
    def radial(self) -> bool:
        """Whether ω is a length times a uniform direction, both independent, times a weight for each column."""
        return False

    def orthogonal(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return ω of which blocks of d have orthogonal directions, shape (D, d), where the law is radial."""
        raise UnsupportedError(f"{type(self).__name__}: only radial laws have orthogonal frequencies.")

    @property
    def second_moment(self) -> np.ndarray:
        """E ω_k², shape (d,); infinite for kernels that are not C²."""
        return np.full(self.n_columns, math.inf)

    def tilted(self) -> SpectralLaw:
        """Return the law of density ‖ω‖²/E‖ω‖² with respect to this one: that of bounded features of fields."""
        raise UnsupportedError(
            f"{type(self).__name__}: frequencies tilted by ‖ω‖² are known for radial kernels that are C²."
        )


@dataclass(frozen=True)
class Radius:
    """The square τ of a random factor: factor·G^power with G of a Gamma law of that shape, or the factor alone."""

    factor: float
    shape: float | None = None
    power: int = 1

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        gamma = special.gammaincinv(self.shape, uniforms)
        return self.factor * np.maximum(gamma, 1e-300) ** self.power

    @property
    def mean(self) -> float:
        """E τ, infinite where it does not exist."""
        if self.shape is None:
            return self.factor
        if self.power == 1:
            return self.factor * self.shape
        return self.factor / (self.shape - 1) if self.shape > 1 else math.inf

    def tilted(self) -> Radius:
        """The law of density τ/E τ with respect to this one."""
        return self if self.shape is None else replace(self, shape=self.shape + self.power)


@dataclass(frozen=True, eq=False)
class ScaleMixture(SpectralLaw):
    """ω = √τ·w ⊙ g with g standard normal, or, tilted, of density ‖ω‖²/E‖ω‖² with respect to that.

    A Gaussian kernel has a constant τ; τ is 2ν/χ²_2ν for a Matérn kernel (ω is Student's), and of a Gamma law for a
    rational quadratic one.

    Parameters
    ----------
    weights : array of shape (d,)
        w, inverse lengths.
    radius : Radius
        The law of τ.
    by_square : bool, default=False
        Whether the law is tilted; τ is to be tilted already.
    """

    weights: np.ndarray
    radius: Radius
    by_square: bool = False

    @property
    def n_columns(self):
        return len(self.weights)

    @property
    def n_uniforms(self):
        return self.n_columns + (self.radius.shape is not None) + self.by_square

    @property
    def radial(self):
        return not self.by_square or bool(np.ptp(self.weights) == 0)

    @property
    def second_moment(self):
        squares = self.weights**2
        if self.by_square:  # E[g_k² Σ w_l²g_l²] = 2w_k² + Σ w_l²
            return self.radius.mean * squares * (2 * squares + np.sum(squares)) / np.sum(squares)
        return self.radius.mean * squares

    def frequencies(self, uniforms):
        d = self.n_columns
        directions = special.ndtri(uniforms[:, :d])
        if self.by_square:  # ‖w ⊙ g‖² = Σ w_k²g_k²: one column k, chosen by w_k², has the density g²φ(g)
            bounds = np.cumsum(self.weights**2)
            chosen = np.searchsorted(bounds[:-1] / bounds[-1], uniforms[:, d], side="right")
            rows = np.arange(len(uniforms))
            own = 2 * uniforms[rows, chosen] - 1
            directions[rows, chosen] = np.sign(own) * stats.chi.ppf(np.abs(own), 3)
        return self._scaled(directions, uniforms[:, -1])

    def orthogonal(self, size, rng):
        d = self.n_columns
        blocks = [_directions(d, min(d, size - start), rng) for start in range(0, size, d)]
        lengths = np.sqrt(rng.chisquare(d + 2 * self.by_square, size=size))
        return self._scaled(lengths[:, None] * np.concatenate(blocks), rng.random(size))

    def _scaled(self, directions: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        square = np.full(len(directions), self.radius.factor)
        if self.radius.shape is not None:
            square = self.radius.draw(np.clip(uniforms, 1e-16, 1 - 1e-16))
        return np.sqrt(square)[:, None] * self.weights * directions

    def tilted(self):
        if not math.isfinite(self.radius.mean) or self.by_square:
            return super().tilted()
        return replace(self, radius=self.radius.tilted(), by_square=True)


def _directions(d: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return orthonormal rows, each of a uniform direction, shape (size, d)."""
    orthogonal, triangle = np.linalg.qr(rng.standard_normal((d, size)))
    return (orthogonal * np.sign(np.diagonal(triangle))).T


@dataclass(frozen=True, eq=False)
class Columnwise(SpectralLaw):
    """Independent columns, each by its inverse cdf.

    Parameters
    ----------
    inverse : sequence of callables
        u ↦ F⁻¹(u), one for each column.
    """

    inverse: tuple[Callable[[np.ndarray], np.ndarray], ...]

    @property
    def n_columns(self):
        return len(self.inverse)

    def frequencies(self, uniforms):
        return np.stack([one(u) for one, u in zip(self.inverse, uniforms.T, strict=True)], axis=1)


@dataclass(frozen=True, eq=False)
class OneColumn(SpectralLaw):
    """One column is chosen and has a frequency, the others have 0: of means of kernels of one column each.

    Parameters
    ----------
    shares : array of shape (d,)
        Probabilities of the columns.
    inverse : callable
        u ↦ F⁻¹(u), of the frequency.
    """

    shares: np.ndarray
    inverse: Callable[[np.ndarray], np.ndarray]

    @property
    def n_columns(self):
        return len(self.shares)

    @property
    def n_uniforms(self):
        return 2

    def frequencies(self, uniforms):
        bounds = np.cumsum(self.shares)
        chosen = np.searchsorted(bounds[:-1] / bounds[-1], uniforms[:, 0], side="right")
        values = np.zeros((len(uniforms), self.n_columns))
        values[np.arange(len(uniforms)), chosen] = self.inverse(uniforms[:, 1])
        return values


@dataclass(frozen=True, eq=False)
class Mapped(SpectralLaw):
    """Mω for frequencies ω of another law: those of k(xM, zM).

    Parameters
    ----------
    law : SpectralLaw
        Of ω.
    matrix : array of shape (d, r)
        M.
    """

    law: SpectralLaw
    matrix: np.ndarray

    @property
    def n_columns(self):
        return len(self.matrix)

    @property
    def n_uniforms(self):
        return self.law.n_uniforms

    def frequencies(self, uniforms):
        return self.law.frequencies(uniforms) @ self.matrix.T


def harmonics(period: float, weight: float) -> Callable[[np.ndarray], np.ndarray]:
    """Return u ↦ 2πk/p, the inverse cdf of the frequencies of exp(−2w² sin²(πδ/p)).

    exp(κ(cos t − 1)) = Σ_k e^{−κ} I_k(κ) cos(kt) with κ = w²: the weights of k are a probability law on the integers,
    that of the difference of two Poisson variables of mean κ/2 (Skellam's).

    Examples
    --------
    >>> harmonics(1.0, 0.0)(np.array([0.1, 0.9]))
    array([0., 0.])
    """
    square = float(weight) ** 2

    def inverse(uniforms: np.ndarray) -> Any:
        if square > MANY_HARMONICS:
            return (2 * math.pi / period) * np.rint(math.sqrt(square) * special.ndtri(uniforms))
        last = math.ceil(FAR_HARMONICS * math.sqrt(square)) + FEWEST_HARMONICS
        order = np.arange(-last, last + 1)
        bounds = np.cumsum(special.ive(order, square))
        return (2 * math.pi / period) * order[np.searchsorted(bounds[:-1] / bounds[-1], uniforms)].astype(float)

    return inverse
