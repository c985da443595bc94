"""Frequencies and directions of kernels whose values are matrices: fields, delays, sums and multiples of such."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._params import read_numbers
from mercer.exceptions import UnsupportedError
from mercer.features.directed_waves import DirectedWaves
from mercer.features.random_frequencies import draw_frequencies, split_frequencies
from mercer.features.spectra import Spectrum, Wave, spectrum
from mercer.operator_valued import (
    CurlFree,
    Delayed,
    DivergenceFree,
    Helmholtz,
    MatrixSum,
    MatrixValuedKernel,
    Modulated,
)
from mercer.operator_valued.components import check_output_matrix, positive_root

__all__ = ["FieldTerm", "directed_waves", "terms_of_matrix"]


@dataclass(frozen=True, eq=False)
class Term:
    """mass · K(x, z) · (a scalar kernel), with K of one kind."""

    kernel: Any
    mass: float = 1.0
    factors: tuple[Wave, ...] = ()


def directed_waves(
    kernel: MatrixValuedKernel,
    X: np.ndarray,
    n_frequencies: int,
    sampling: str,
    bounded: bool,
    rng: np.random.Generator,
) -> DirectedWaves:
    """Return the waves of a kernel with numbers for its parameters; its terms share the frequencies by their trace."""
    terms = terms_of_matrix(kernel, X.shape[1])
    kernel.require_outputs(X, _n_outputs(terms[0].kernel, X.shape[1]))
    makers = [FieldTerm(term, X.shape[1], bounded) for term in terms]
    sizes = split_frequencies([maker.trace for maker in makers], n_frequencies)
    drawn = [maker.draw(size, sampling, rng) for maker, size in zip(makers, sizes, strict=True)]
    terms_used, starts = max(one[1].shape[0] for one in drawn), np.cumsum([0, *sizes])
    places, directions = [], []
    for (_, vectors), start, size in zip(drawn, starts[:-1], sizes, strict=True):
        place, direction = _stacked(vectors, int(start), size, n_frequencies, terms_used)
        places.append(place)
        directions.append(direction)
    frequencies = np.ascontiguousarray(np.concatenate([one[0] for one in drawn]).T)
    return DirectedWaves(
        kernel, frequencies, np.mean(X, axis=0), np.concatenate(places, axis=1), np.concatenate(directions, axis=1)
    )


def terms_of_matrix(kernel: MatrixValuedKernel, n_columns: int) -> list[Term]:
    """Take sums, multiples and products with scalar kernels apart."""
    if isinstance(kernel, Helmholtz):
        return terms_of_matrix(kernel.mixture, n_columns)
    if isinstance(kernel, MatrixSum):
        return terms_of_matrix(kernel.left, n_columns) + terms_of_matrix(kernel.right, n_columns)
    if isinstance(kernel, Modulated):
        number = kernel._number
        factor = Spectrum(number) if number is not None else spectrum(kernel.factor, n_columns)
        inner = terms_of_matrix(kernel.kernel, n_columns)
        return [replace(one, mass=one.mass * factor.mass, factors=one.factors + factor.waves) for one in inner]
    if not isinstance(kernel, (CurlFree, DivergenceFree, Delayed)):
        raise UnsupportedError(
            f"RandomFourier: {kernel!r} has no spectral density that is known. CurlFree, DivergenceFree, Helmholtz, "
            "Delayed, their sums and multiples have one, and Decomposable and Transformable kernels take the features "
            "of their scalar kernel. Nystroem(n_landmarks) approximates any kernel."
        )
    return [Term(kernel)]


def _n_outputs(kernel: Any, n_columns: int) -> int:
    return len(kernel.delays) if isinstance(kernel, Delayed) else n_columns


class FieldTerm:
    """Draws frequencies of a term, and the conjugate factors B(ω)* of its spectral density B(ω)B(ω)*."""

    def __init__(self, term: Term, n_columns: int, bounded: bool) -> None:
        self.term, self.n_columns, self.bounded = term, n_columns, bounded
        own = spectrum(term.kernel.kernel, n_columns)
        self.waves, self.mass = own.waves, term.mass * own.mass
        if any(np.any(np.isfinite(wave.shift)) for wave in (*own.waves, *term.factors)):
            raise UnsupportedError(f"RandomFourier: {term.kernel!r} with logarithms of columns is not supported.")
        self.second_moment = 1.0
        if not isinstance(term.kernel, Delayed):
            (wave,) = own.waves
            self.second_moment = float(np.sum(wave.law.second_moment))
            if bounded:
                self.waves = (replace(wave, law=wave.law.tilted()),)

    @property
    def plain(self) -> bool:
        """Whether it is a field without scalar factors that depend on x."""
        return not self.term.factors and not isinstance(self.term.kernel, Delayed)

    @property
    def trace(self) -> float:
        """The trace of K(x, x)."""
        kernel = self.term.kernel
        if isinstance(kernel, Delayed):
            return self.mass * float(np.sum(self._root() ** 2))
        return self.mass * self.second_moment * (self.n_columns - 1 if isinstance(kernel, DivergenceFree) else 1)

    def draw(self, size: int, sampling: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return ω, shape (size, d), and √(mass/size)·B*, shape (t, size, p', p), t = 2 where it is complex."""
        blocks = draw_frequencies((*self.waves, *self.term.factors), size, sampling, rng)
        own, total = np.zeros((size, self.n_columns)), np.zeros((size, self.n_columns))
        for place, (wave, block) in enumerate(zip((*self.waves, *self.term.factors), blocks, strict=True)):
            np.add.at(total.T, wave.columns, block.T)
            if place < len(self.waves):
                np.add.at(own.T, wave.columns, block.T)
        return total, math.sqrt(self.mass / size) * self._directions(own)

    def _directions(self, frequencies: np.ndarray) -> np.ndarray:
        kernel = self.term.kernel
        if isinstance(kernel, Delayed):
            delays = read_numbers(kernel.delays)
            delays = delays[:, None] if delays.ndim == 1 else delays
            phases = (frequencies @ delays.T)[:, None, :]  # e^{i⟨ω, t_a⟩} G_ae at (e, a)
            root = self._root().T[None, :, :]
            return np.stack([np.cos(phases) * root, np.sin(phases) * root])
        lengths = np.linalg.norm(frequencies, axis=1)
        units = frequencies / np.where(lengths > 0, lengths, 1.0)[:, None]
        sizes = np.full(len(lengths), math.sqrt(self.second_moment)) if self.bounded else lengths
        frames = units[:, None, :] if isinstance(kernel, CurlFree) else complements(units)
        return (sizes[:, None, None] * frames)[None]

    def _root(self) -> np.ndarray:
        """Return G with GGᵀ = Γ, shape (p, p')."""
        kernel: Any = self.term.kernel
        if kernel.output_matrix is None:
            return np.ones((len(kernel.delays), 1))
        return positive_root(check_output_matrix(kernel, kernel.output_matrix))


def complements(units: np.ndarray) -> np.ndarray:
    """Return orthonormal bases of what is orthogonal to unit vectors, shapes (D, d) to (D, d − 1, d).

    They are the other rows of the reflection that carries a unit vector to ∓e₁.

    Examples
    --------
    >>> complements(np.array([[0.6, 0.8]])).round(12)
    array([[[-0.8,  0.6]]])
    """
    normal = units.copy()
    normal[:, 0] += np.where(units[:, 0] < 0, -1.0, 1.0)
    scale = 2 / np.sum(normal**2, axis=1)
    frames = np.eye(units.shape[1])[None, 1:] - (scale[:, None] * normal[:, 1:])[:, :, None] * normal[:, None, :]
    return frames


def _stacked(
    factors: np.ndarray, start: int, size: int, n_frequencies: int, terms: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return places and directions, shapes (terms, r) and (terms, r, p), of the coefficients of some frequencies.

    With B* = P + iQ the features are Re(e^{i⟨ω, x⟩}B*) = cos·P − sin·Q and Im(e^{i⟨ω, x⟩}B*) = sin·P + cos·Q.
    """
    parts, _, width, p = factors.shape
    cosines = start + np.repeat(np.arange(size), width)
    sines = cosines + n_frequencies
    real = factors[0].reshape(-1, p)
    imaginary = factors[1].reshape(-1, p) if parts == 2 else np.zeros_like(real)
    places = np.stack([np.concatenate([cosines, sines]), np.concatenate([sines, cosines])])[:terms]
    directions = np.stack([np.concatenate([real, real]), np.concatenate([-imaginary, imaginary])])[:terms]
    return places, directions
