"""The filter t/(t + σ) of a whole spectrum from its values at few points, to a given relative accuracy."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

__all__ = ["CompressedSpectrum", "compress_spectrum"]

#: bound on the relative error of a filter value; squares of residuals are then right to nine digits
ACCURACY = 1e-10
#: numbers of nodes in a block that are tried: the work depends little on them
NODE_COUNTS = (16, 12, 9, 6, 4, 2)


@dataclass(frozen=True, eq=False)
class CompressedSpectrum:
    """Nodes s_k and, block by block of eigenvalues, interpolation weights ℓ_k(σ_a).

    For all t at or above the one it was made for, Σ_a t/(t + σ_a)·v_a = Σ_k t/(t + s_k)·(Σ_a ℓ_k(σ_a) v_a) up to a
    relative error of ``ACCURACY`` in each term of the left side.
    """

    nodes: np.ndarray
    blocks: list[tuple[slice, slice, np.ndarray]]  #: eigenvalues, nodes, weights (eigenvalues × nodes)

    def filters(self, t: np.ndarray) -> np.ndarray:
        """Return t/(t + s_k), with the nodes as a new last axis."""
        return t[..., None] / (t[..., None] + self.nodes)


def compress_spectrum(sigma: np.ndarray, smallest: float, n_filters: int) -> CompressedSpectrum:
    """Return nodes and weights for eigenvalues ``sigma`` (ascending, σ ≥ 0) and all filters with t ≥ ``smallest``.

    Polynomial interpolation of 1/(σ + t) at the K Chebyshev points of an interval has the relative error
    T_K(x)/T_K(x₀), x and x₀ the places of σ and of the pole −t when the interval is mapped to [−1, 1]. Hence a block
    may reach from σ₂ down to ((z − 1)σ₂ − 2t)/(z + 1) where T_K(z) = 1/``ACCURACY``: by a constant factor while
    σ > t, and to zero below. Blocks with no more than K eigenvalues keep them as nodes. K is the number of nodes that
    makes the work for ``n_filters`` filters least.

    Examples
    --------
    >>> import numpy as np
    >>> sigma, t = np.geomspace(1e-6, 1e3, 5000), np.array([1e-2, 1.0])
    >>> spectrum = compress_spectrum(sigma, 1e-2, 50)
    >>> direct = np.sum(t[:, None] / (t[:, None] + sigma), axis=1)
    >>> sums = np.concatenate([weights.sum(axis=0) for _, _, weights in spectrum.blocks])
    >>> bool(np.max(np.abs(spectrum.filters(t) @ sums / direct - 1)) < 1e-9)
    True
    >>> len(spectrum.nodes) < 500
    True
    """
    best: list[tuple[int, int]] = []
    values = sigma.tolist()  # searched many times for one number, where lists are faster
    count, least = 1, float("inf")
    for trial in NODE_COUNTS:
        bounds, work = _blocks(values, smallest, trial, n_filters, least)
        if work < least:
            best, count, least = bounds, trial, work
    nodes, blocks, first = [], [], 0
    for start, stop in best:
        points, weights = _interpolate(sigma[start:stop], count)
        nodes.append(points)
        blocks.append((slice(start, stop), slice(first, first + len(points)), weights))
        first += len(points)
    return CompressedSpectrum(np.concatenate(nodes), blocks)


def _blocks(
    sigma: list[float], smallest: float, count: int, n_filters: int, limit: float
) -> tuple[list[tuple[int, int]], float]:
    """Return (start, stop) of the blocks, from the largest eigenvalues down, and the work; give up beyond ``limit``."""
    far = float(np.cosh(np.arccosh(1 / ACCURACY) / count))
    bounds, stop, work = [], len(sigma), 0.0
    while stop > 0 and work < limit:
        lowest = ((far - 1) * sigma[stop - 1] - 2 * smallest) / (far + 1)
        start = min(bisect_left(sigma, lowest, 0, stop), stop - 1)
        work += min(count, stop - start) * (stop - start + n_filters)
        bounds.append((start, stop))
        stop = start
    return bounds, work


def _interpolate(sigma: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and the values of their Lagrange polynomials at ``sigma``."""
    if len(sigma) <= count:
        return sigma, np.eye(len(sigma))
    centre, half = (sigma[-1] + sigma[0]) / 2, (sigma[-1] - sigma[0]) / 2
    if half <= 1e-12 * centre:
        return np.array([centre]), np.ones((len(sigma), 1))
    angles = (np.arange(count) + 0.5) * (np.pi / count)
    places = np.clip((sigma - centre) / half, -1, 1)
    # Σ_k T_k(x) T_k(x_j) is the Lagrange polynomial of a Chebyshev point, up to its first term
    degrees = np.arange(count)
    polynomials = np.cos(np.outer(np.arccos(places), degrees))
    values = np.cos(np.outer(angles, degrees)) * np.where(degrees == 0, 1.0, 2.0) / count
    return centre + half * np.cos(angles), polynomials @ values.T
