"""Frequencies drawn from laws: random, quasi-random or with orthogonal directions, and shared between terms."""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import qmc

from mercer.exceptions import parameter_error
from mercer.features.spectra import Wave

__all__ = ["draw_frequencies", "draw_uniforms", "split_frequencies"]

#: columns from which on orthogonal directions have a smaller error than Sobol points
ORTHOGONAL_COLUMNS = 17


def split_frequencies(masses: list[float], n_frequencies: int) -> list[int]:
    """Split frequencies in proportion to the masses of terms, at least one each (largest remainders).

    Examples
    --------
    >>> split_frequencies([3.0, 1.0], 100)
    [75, 25]
    """
    if not masses:
        return []
    if n_frequencies < len(masses):
        allowed = f"at least {len(masses)}, one for each term of the kernel"
        raise parameter_error("RandomFourier", "n_frequencies", n_frequencies, allowed)
    free = n_frequencies - len(masses)
    quotas = np.maximum(n_frequencies * np.asarray(masses) / math.fsum(masses) - 1, 0)
    quotas *= free / max(float(np.sum(quotas)), 1e-300)
    sizes = np.floor(quotas + 1e-9).astype(int)
    most = np.argsort(-(quotas - sizes), kind="stable")[: free - int(np.sum(sizes))]
    sizes[most] += 1
    return [int(size) + 1 for size in sizes]


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
    fewest = {"orthogonal": 2, "auto": ORTHOGONAL_COLUMNS}.get(sampling, math.inf)
    if len(waves) == 1 and waves[0].law.radial and waves[0].law.n_columns >= fewest:
        return [waves[0].law.orthogonal(size, rng)]
    widths = [wave.law.n_uniforms for wave in waves]
    # all waves from one point of a cube: two scrambled sequences of their own would hang together
    uniforms = draw_uniforms(size, sum(widths), sampling != "iid", rng)
    parts = np.split(uniforms, np.cumsum(widths)[:-1], axis=1) if widths else []
    return [wave.law.frequencies(part) for wave, part in zip(waves, parts, strict=True)]
