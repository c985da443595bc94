"""Random Fourier features: a shift-invariant kernel is a mean of waves, of which some are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from scipy.stats import qmc

from mercer._params import check_number
from mercer.exceptions import parameter_error
from mercer.features.feature_map import FeatureMap, check_random_state, exact_features, generator
from mercer.features.fourier_kernel import FourierKernel
from mercer.features.spectra import Spectrum, Wave, spectrum, terms_of
from mercer.kernels import Constant, Kernel, Sum

__all__ = ["RandomFourier", "draw_uniforms"]

SAMPLINGS = ("orthogonal", "quasi", "iid")


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
    sampling : {"orthogonal", "quasi", "iid"}, default="orthogonal"
        ``"orthogonal"``: in blocks of d frequencies the directions are orthogonal, which lessens the error of radial
        kernels (Gaussian, Matérn, rational quadratic) of two columns or more; for others it is ``"quasi"``: Sobol
        points in place of random ones. ``"iid"``: independent frequencies, of which the theory speaks. All are
        unbiased.
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
    sampling: str = "orthogonal"
    random_state: Any = None

    def _check(self) -> None:
        check_number(self, "n_frequencies", self.n_frequencies, low=1, strict=False, integer=True)
        if self.sampling not in SAMPLINGS:
            raise parameter_error(self, "sampling", self.sampling, " or ".join(map(repr, SAMPLINGS)))
        check_random_state(self, self.random_state)

    def bind(self, kernel: Kernel, X: Any, rng: Any = None) -> Kernel:
        """Return k̃ for a kernel and some rows, of which the parameters and a centre are computed."""
        kernel, X = self._ready(kernel, X)
        if kernel.explicit:
            return kernel
        self._refuse_pairwise(kernel)
        rng = generator(self.random_state, rng)
        terms = [(term, exact_features(term)) for term in terms_of(kernel)]
        spectra = [spectrum(term, X.shape[1]) for term, exact in terms if exact is None]
        sizes = iter(self._sizes([one.mass for one in spectra]))
        each = iter(spectra)
        made = [self._waves(term, next(each), next(sizes), X, rng) if exact is None else exact for term, exact in terms]
        return reduce(Sum, made)

    def _sizes(self, masses: list[float]) -> list[int]:
        """Split the frequencies in proportion to the masses, at least one each (largest remainders)."""
        if not masses:
            return []
        if self.n_frequencies < len(masses):
            allowed = f"at least {len(masses)}, one for each term of the kernel"
            raise parameter_error(self, "n_frequencies", self.n_frequencies, allowed)
        quotas = (self.n_frequencies - len(masses)) * np.asarray(masses) / math.fsum(masses)
        sizes = np.floor(quotas).astype(int)
        most = np.argsort(-(quotas - sizes), kind="stable")[: self.n_frequencies - len(masses) - int(np.sum(sizes))]
        sizes[most] += 1
        return [int(size) + 1 for size in sizes]

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


def draw_uniforms(size: int, dimension: int, quasi: bool, rng: np.random.Generator) -> np.ndarray:
    """Return points of the open unit cube, shape (size, dimension): random or of a scrambled Sobol sequence."""
    if dimension == 0:
        return np.zeros((size, 0))
    if quasi and dimension <= qmc.Sobol.MAXDIM:
        order = math.ceil(math.log2(size)) if size > 1 else 0
        points = qmc.Sobol(dimension, scramble=True, rng=rng).random_base2(order)[:size]
    else:
        points = rng.random((size, dimension))
    return np.clip(points, 1e-16, 1 - 1e-16)


def draw_frequencies(waves: tuple[Wave, ...], size: int, sampling: str, rng: np.random.Generator) -> list[np.ndarray]:
    """Return frequencies of each wave, shapes (size, c)."""
    if sampling == "orthogonal" and len(waves) == 1 and waves[0].law.radial and waves[0].law.n_columns > 1:
        return [waves[0].law.orthogonal(size, rng)]
    widths = [wave.law.n_uniforms for wave in waves]
    # all waves from one point of a cube: two scrambled sequences of their own would hang together
    uniforms = draw_uniforms(size, sum(widths), sampling != "iid", rng)
    parts = np.split(uniforms, np.cumsum(widths)[:-1], axis=1) if widths else []
    return [wave.law.frequencies(part) for wave, part in zip(waves, parts, strict=True)]


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
