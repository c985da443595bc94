"""A population of curves, learned from any observations of them: what a sparse or broken curve is expected to be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.interpolate
import scipy.linalg

from mercer._state import Stateful

__all__ = ["CurvePopulation"]

Pair = tuple[np.ndarray, np.ndarray]

#: splines that curves are made of, where observations are enough
MOST_SPLINES = 15
#: curves that the smooth covariance before any data counts as, and its length in lengths of the domain
WORTH_CURVES, PRIOR_LENGTH = 4.0, 0.15
#: variance of the mean curve before any data, in units of that of the values
MEAN_VARIANCE = 100.0
#: steps of expectation and maximisation, and the relative change of the noise and of the covariance that ends them
MOST_ROUNDS, SETTLED = 100, 1e-3
#: noise below this share of the variance of the values is rounding
LEAST_NOISE = 1e-6


@dataclass(frozen=True, eq=False)
class CurvePopulation(Stateful):
    """Curves x(t) = φ(t)·c + e(t), cubic splines φ, c ~ N(m, C), and what no spline reaches, e.

    m, C and the variance σ² of e maximise the likelihood of all observations, by expectation and maximisation,
    with a smooth prior for C that counts as four curves. A curve with few observations is expected to be

        E[x(t) | x(t₁), …, x(t_k)] = φ(t)·m + r(t)ᵀ(ΦCΦᵀ + σ²R)⁻¹(x − Φm),    r(t) = ΦCφ(t) + σ²ρ(t),

    the principal-component analysis through conditional expectation of functional data. ``length`` says what e is: 0
    for noise, R = I and ρ = 0, which is smoothed away; otherwise a detail of the curve with covariance
    exp(−|s − t|/length), so that curves pass through what was observed.

    Attributes
    ----------
    knots : array of shape (n_splines + 4,)
        Knots of the splines.
    mean, covariance : arrays of shape (n_splines,), (n_splines, n_splines)
        m and C.
    variance, length : float
        σ² and the length of e.
    """

    knots: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    variance: float
    length: float

    @classmethod
    def learn(cls, curves: Sequence[Pair], weight: np.ndarray, length: float) -> CurvePopulation:
        """Learn from (points, values) pairs, at two different points at least, and their positive weights."""
        points = np.concatenate([pair[0] for pair in curves])
        values = np.concatenate([pair[1] for pair in curves])
        knots = _knots(points)
        shares = np.repeat(weight, [len(pair[0]) for pair in curves])
        centre = float(np.average(values, weights=shares))
        scale = float(np.sqrt(np.average((values - centre) ** 2, weights=shares))) or 1.0
        mean, covariance, variance = _maximise(_Statistics.of(curves, weight, knots, centre, scale), _prior(knots))
        return cls(knots, centre + scale * mean, scale**2 * covariance, scale**2 * variance, float(length))

    @property
    def domain(self) -> tuple[float, float]:
        """The range of the points that were learned from."""
        return float(self.knots[0]), float(self.knots[-1])

    def expect(self, curves: Sequence[Pair], points: np.ndarray) -> np.ndarray:
        """Return what curves are expected to be at some points, given their own observations; shape (n, k).

        Observations out of ``domain`` say nothing; a curve without any is expected to be the mean curve.
        """
        low, high = self.domain
        inside = [(t[(t >= low) & (t <= high)], x[(t >= low) & (t <= high)]) for t, x in curves]
        there = _splines(self.knots, points)
        expected = np.tile(there @ self.mean, (len(curves), 1))
        for own, stacked, rows in by_points(inside):
            if len(own) == 0:
                continue
            here = _splines(self.knots, own)
            among = here @ self.covariance @ here.T + self._detail(own, own)
            across = here @ self.covariance @ there.T
            if self.length:
                across = across + self._detail(own, points)
            factor = scipy.linalg.cho_factor(among, lower=True)
            expected[rows] += (stacked - here @ self.mean) @ scipy.linalg.cho_solve(factor, across)
        return expected

    def _detail(self, points: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Return the covariance of e at points and others; equal points are one observation, or several of noise."""
        apart = np.abs(points[:, None] - others)
        if self.length == 0:
            return self.variance * np.eye(len(points))
        return self.variance * (np.exp(-apart / self.length) + 1e-9 * (apart == 0))


def by_points(curves: Sequence[Pair]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield points that some curves share, the values of these curves, shape (n, k), and their rows."""
    groups: dict[bytes, list[int]] = {}
    for row, (points, _) in enumerate(curves):
        groups.setdefault(points.tobytes(), []).append(row)
    for rows in groups.values():
        yield curves[rows[0]][0], np.stack([curves[row][1] for row in rows]), np.array(rows)


def _knots(points: np.ndarray) -> np.ndarray:
    """Return knots of cubic splines, equally spaced over the range of the points."""
    n_splines = int(np.clip(len(np.unique(points)), 4, MOST_SPLINES))
    inner = np.linspace(points.min(), points.max(), n_splines - 2)
    return np.concatenate([[inner[0]] * 3, inner, [inner[-1]] * 3])


def _splines(knots: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return φ at points within the knots, shape (k, n_splines)."""
    if len(points) == 0:
        return np.zeros((0, len(knots) - 4))
    points = np.clip(points, knots[0], knots[-1])
    return scipy.interpolate.BSpline.design_matrix(points, knots, 3).toarray()


def _prior(knots: np.ndarray) -> np.ndarray:
    """Return the covariance of coefficients before any data: a Gaussian kernel of the places of the splines."""
    places = np.mean([knots[1:-3], knots[2:-2], knots[3:-1]], axis=0)
    apart = (places[:, None] - places) / (PRIOR_LENGTH * (knots[-1] - knots[0]))
    return np.exp(-(apart**2) / 2) + 1e-3 * np.eye(len(places))


class _Statistics(NamedTuple):
    """All that the likelihood of curves x depends on: ΦᵀΦ for the points that some share, and Φᵀx, ‖x‖² of each."""

    grams: np.ndarray
    which: np.ndarray
    products: np.ndarray
    squares: np.ndarray
    counts: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, curves: Sequence[Pair], weight: np.ndarray, knots: np.ndarray, centre: float, scale: float):
        """Return those of standardised curves."""
        n, size = len(curves), len(knots) - 4
        grams: list[np.ndarray] = []
        which, products, squares = np.zeros(n, dtype=int), np.zeros((n, size)), np.zeros(n)
        for points, stacked, rows in by_points(curves):
            design, values = _splines(knots, points), (stacked - centre) / scale
            which[rows], products[rows], squares[rows] = len(grams), values @ design, np.sum(values**2, axis=1)
            grams.append(design.T @ design)
        return cls(np.array(grams), which, products, squares, np.array([len(t) for t, _ in curves]), weight)


def _maximise(seen: _Statistics, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return m, C and σ² for standardised values, by expectation and maximisation."""
    weight, total = seen.weight, float(seen.weight.sum())
    shares = np.bincount(seen.which, weights=weight)
    mean, covariance, variance = np.zeros(len(prior)), prior, 0.1
    flat = np.linalg.inv(prior) / MEAN_VARIANCE
    for _ in range(MOST_ROUNDS):
        inverse, before = np.linalg.inv(covariance), (covariance, variance)
        # given its values, c of a curve is normal with a covariance of its points and a mean of its own
        within = np.linalg.inv(inverse + seen.grams / variance)
        found = np.einsum("nj,njk->nk", seen.products / variance + inverse @ mean, within[seen.which])
        left = seen.squares - 2 * np.sum(found * seen.products, axis=1)
        left += np.einsum("nj,njk,nk->n", found, seen.grams[seen.which], found, optimize=True)
        doubt = np.einsum("p,pjk,pkj->", shares, within, seen.grams, optimize=True)
        variance = max(float((weight @ left + doubt) / (weight @ seen.counts)), LEAST_NOISE)
        mean = np.linalg.solve(total * inverse + flat, inverse @ (weight @ found))
        off = found - mean
        covariance = off.T @ (weight[:, None] * off) + np.einsum("p,pjk->jk", shares, within)
        covariance = (covariance + covariance.T + 2 * WORTH_CURVES * prior) / (2 * (total + WORTH_CURVES))
        change = np.linalg.norm(covariance - before[0]) / np.linalg.norm(covariance)
        if change < SETTLED and abs(variance - before[1]) < SETTLED * variance:
            break
    return mean, covariance, variance
