"""Random Fourier features: a shift-invariant kernel is a mean of waves, of which some are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.exceptions import parameter_error
from mercer.features.feature_map import FeatureMap, check_random_state, exact_features
from mercer.features.field_waves import directed_waves
from mercer.features.fourier_kernel import FourierKernel
from mercer.features.random_frequencies import draw_frequencies, split_frequencies
from mercer.features.spectra import Spectrum, Wave, spectrum, terms_of
from mercer.kernels import Constant, Kernel, Sum
from mercer.operator_valued import Transformable

__all__ = ["RandomFourier"]

SAMPLINGS = ("auto", "orthogonal", "quasi", "iid")


@dataclass(eq=False, repr=False)
class RandomFourier(FeatureMap):
    """Random Fourier features, k̃(x, z) = (k(0)/D) Σ_j cos⟨ω_j, x − z⟩ with ω_j of the kernel's spectral law.

    Each frequency gives two features, cos⟨ω, x⟩ and sin⟨ω, x⟩. The error at a pair of points falls like D^{-1/2},
    whatever the number of columns; featurising n rows costs O(nDd). Prefer it to :class:`Nystroem` for very many rows
    and kernels of slowly falling spectrum (rough ones, many columns); for smooth kernels of few columns Nystroem is
    better by far.

    It takes every shift-invariant kernel: Gaussian, Laplacian, Matérn, rational quadratic, periodic, skewed χ² (in its
    logarithms), those on functions, and products, multiples and restrictions of them. Of a sum each term has its
    frequencies, in proportion to its mean diagonal, and linear, constant and other terms with known features keep
    these.

    Parameters
    ----------
    n_frequencies : int, default=500
        D, all terms of a sum together.
    sampling : {"auto", "orthogonal", "quasi", "iid"}, default="auto"
        ``"quasi"``: Sobol points in place of random ones. ``"orthogonal"``: in blocks of d frequencies the directions
        are orthogonal, for radial kernels (Gaussian, Matérn, rational quadratic) of two columns or more, and
        ``"quasi"`` for others. ``"auto"``: the former up to 16 columns, where its error is the smallest, the latter
        beyond. ``"iid"``: independent frequencies, of which the theory speaks. All are unbiased.
    bounded : bool, default=True
        For fields (curl-free, divergence-free and their sums): whether frequencies are drawn in proportion to ‖ω‖² and
        have vectors of one length, which has the smaller variance; otherwise by the law of the scalar kernel, with
        vectors of length ‖ω‖.
    random_state : None, int or numpy.random.Generator
        Seed of the frequencies. None draws others each time.

    References
    ----------
    Rahimi and Recht (2007); orthogonal frequencies: Yu et al. (2016); quasi-random ones: Avron et al. (2016).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian, Linear
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> kernel = RandomFourier(300, random_state=0).bind(Gaussian(0.5) + Linear(), X)
    >>> kernel
    Sum(left=FourierKernel(Gaussian(gamma=0.5), 300 frequencies), right=LinearFeatures())
    >>> kernel.features(X).shape
    (50, 603)
    >>> bool(np.max(np.abs(kernel(X) - (Gaussian(0.5) + Linear())(X))) < 0.2)
    True
    """

    n_frequencies: int = 500
    sampling: str = "auto"
    bounded: bool = True
    random_state: Any = None

    def _check(self) -> None:
        check_number(self, "n_frequencies", self.n_frequencies, low=1, strict=False, integer=True)
        if self.sampling not in SAMPLINGS:
            raise parameter_error(self, "sampling", self.sampling, " or ".join(map(repr, SAMPLINGS)))
        if not isinstance(self.bounded, bool):
            raise parameter_error(self, "bounded", self.bounded, "True or False")
        check_random_state(self, self.random_state)

    def _scalar(self, kernel, X, rng):
        terms = [(term, exact_features(term)) for term in terms_of(kernel)]
        spectra = [spectrum(term, X.shape[1]) for term, exact in terms if exact is None]
        each = iter(zip(spectra, split_frequencies([one.mass for one in spectra], self.n_frequencies), strict=True))
        made = [self._waves(term, *next(each), X, rng) if exact is None else exact for term, exact in terms]
        return reduce(Sum, made)

    def _matrix_valued(self, kernel, X, rng):
        if isinstance(kernel, Transformable):
            return super()._matrix_valued(kernel, X, rng)
        return directed_waves(kernel, X, self.n_frequencies, self.sampling, self.bounded, rng)

    def _waves(self, kernel: Kernel, spectral: Spectrum, size: int, X: np.ndarray, rng: Any) -> Kernel:
        merged = _merge(spectral.waves, draw_frequencies(spectral.waves, size, self.sampling, rng))
        if not merged:
            return Constant(spectral.mass)
        frequencies = np.ascontiguousarray(np.concatenate([block for _, block in merged], axis=1).T)
        columns = np.concatenate([wave.columns for wave, _ in merged])
        shift = np.concatenate([wave.shift for wave, _ in merged])
        logs = bool(np.any(np.isfinite(shift)))
        found = FourierKernel(
            kernel,
            frequencies,
            np.zeros(len(columns)),
            spectral.mass,
            None if np.array_equal(columns, np.arange(X.shape[1])) else columns,
            shift if logs else None,
        )
        return found.replace(centre=np.mean(found._coordinates(np.asarray(X, dtype=float)), axis=0))


def _merge(waves: tuple[Wave, ...], blocks: list[np.ndarray]) -> list[tuple[Wave, np.ndarray]]:
    """Add the frequencies of waves in the same coordinates: ⟨ω, u⟩ + ⟨ω′, u⟩ is one wave."""
    merged: list[tuple[Wave, np.ndarray]] = []
    for wave, block in zip(waves, blocks, strict=True):
        for place, (other, sum_of) in enumerate(merged):
            if np.array_equal(wave.columns, other.columns) and np.array_equal(wave.shift, other.shift):
                merged[place] = (other, sum_of + block)
                break
        else:
            merged.append((wave, block))
    return merged
