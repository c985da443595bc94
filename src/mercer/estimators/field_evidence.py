"""Lengths, sizes and noise of vector fields by evidence: the marginal likelihood of the Gaussian process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.optimize import minimize

from mercer.kernels import Gaussian
from mercer.operator_valued import CurlFree, Helmholtz, MatrixValuedKernel
from mercer.stages.relevance import one_thread

__all__ = ["FieldEvidence", "GaussianPart", "GivenPart", "TunedField", "tune_field"]

#: values of the field that evidence looks at; those that choose where to start, and rows at least
VALUES, FIRST_VALUES, LEAST_ROWS = 400, 120, 10
#: L-BFGS stops early, as ridges of evidence are long and flat
STOP = {"maxiter": 60, "ftol": 1e-7}
#: decimals of logarithms of parameters: what rounding does to them further on is not to be seen in a fit
DECIMALS = 3
#: standard deviations of the prior of the logarithms of lengths, sizes and noise
LENGTH_DEVIATION, SIZE_DEVIATION, NOISE_DEVIATION = 2.0, 4.0, 4.0
#: where the prior of lengths is centred, in units of the median distance; that of the noise, in units of the field
TYPICAL_LENGTH, TYPICAL_NOISE = 0.7, 0.1
#: lengths to start from, in units of the typical one
STARTS = (0.5, 2.0)
#: limits of parameters, in standard deviations of the prior
LIMIT = 3.5
#: least variance of the noise, in units of that of the field: what a Cholesky factorisation needs
FLOOR = 1e-9


class GaussianPart:
    """A field of size 1 with the kernel −∇∇ᵀk or (∇∇ᵀ − Δ I)k of a Gaussian k = exp(−γ‖δ‖²), γ = 1/(2l²).

    With s = γ‖δ‖² and E = γδδᵀ the first is (I − 2E)e⁻ˢ, the second (2E + (d − 1 − 2s)I)e⁻ˢ/(d − 1).

    Parameters
    ----------
    kind : type
        CurlFree or DivergenceFree.
    X : array of shape (n, d)
        Points.
    """

    n_lengths = 1

    def __init__(self, kind: type, X: np.ndarray) -> None:
        self.kind, self.d = kind, X.shape[1]
        differences = X[:, None, :] - X[None, :, :]
        self._outer = differences[:, :, :, None] * differences[:, :, None, :]
        self._squares = np.einsum("ijaa->ij", self._outer)

    def matrix(self, lengths: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the matrix of all values at all points, (nd, nd), and its derivatives in the logarithms of lengths."""
        gamma, d = 0.5 * np.exp(-2 * lengths[0]), self.d
        s, E, eye = gamma * self._squares[:, :, None, None], gamma * self._outer, np.eye(d)
        decay = np.exp(-s)
        if self.kind is CurlFree:
            values = decay * (eye - 2 * E)
            slopes = 2 * s * values + 4 * decay * E
        else:
            values = decay * (2 * E + (d - 1 - 2 * s) * eye) / (d - 1)
            slopes = 2 * s * values + 4 * decay * (s * eye - E) / (d - 1)
        return _flat(values), [_flat(slopes)]

    def record(self, lengths: np.ndarray) -> tuple[Any, float]:
        """Return the kernel that a user would pass, and its size K(x, x)."""
        gamma = float(0.5 * np.exp(-2 * lengths[0]))
        return self.kind(Gaussian(gamma)), 2 * gamma * (1 if self.kind is CurlFree else self.d - 1)


class GivenPart:
    """A kernel without anything to tune but its size."""

    n_lengths = 0

    def __init__(self, kernel: MatrixValuedKernel, X: np.ndarray) -> None:
        values = np.asarray(kernel.blocks(X, X), dtype=float)
        self.kernel, self.size = kernel, max(float(np.einsum("iiaa->ia", values).mean()), np.finfo(float).tiny)
        self._matrix = _flat(values) / self.size

    def matrix(self, lengths: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the matrix of all values at all points, of size 1."""
        return self._matrix, []

    def record(self, lengths: np.ndarray) -> tuple[Any, float]:
        """Return the kernel and its size."""
        return self.kernel, self.size


class TunedField(NamedTuple):
    """A kernel and the shift λn that goes with it."""

    kernel: Any
    shift: float
    loss: float


@dataclass(frozen=True, eq=False)
class FieldEvidence:
    """Minus the logarithm of evidence and prior of y = Σ_parts a_k h_k + b + noise, as a function of parameters.

    Their vector holds the logarithms of the lengths of the parts, of their sizes a_k and of the deviation of the noise,
    in this order. h_k are Gaussian processes of size 1, y is in units of its root mean square.

    Parameters
    ----------
    parts : list of GaussianPart or GivenPart
        What the field is made of.
    y : array of shape (N,)
        Observed values.
    observed : array of int, shape (N,)
        Where they are among all nd values.
    weight : array of shape (N,)
        Their weights; the variance of the noise is divided by them.
    constants : array of shape (N, d) or (N, 0)
        Columns of the constant part b.
    constant_variance : float
        Of b; infinite for a flat prior.
    centre : float
        Logarithm of the typical length.
    shift : float, optional
        λn, where it is given: the noise then follows from sizes and lengths, and is no parameter.
    """

    parts: Sequence[Any]
    y: np.ndarray
    observed: np.ndarray
    weight: np.ndarray
    constants: np.ndarray
    constant_variance: float
    centre: float
    shift: float | None = None

    @property
    def prior(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and standard deviations of all parameters."""
        n_lengths, n_sizes = sum(part.n_lengths for part in self.parts), len(self.parts)
        n_noises = int(self.shift is None)
        means = [self.centre] * n_lengths + [-0.5 * np.log(n_sizes)] * n_sizes + [np.log(TYPICAL_NOISE)] * n_noises
        deviations = [LENGTH_DEVIATION] * n_lengths + [SIZE_DEVIATION] * n_sizes + [NOISE_DEVIATION] * n_noises
        return np.array(means), np.array(deviations)

    def split(self, p: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, float | None]:
        """Return logarithms of lengths for each part, variances a_k², and the variance of the noise where it is one."""
        ends = np.cumsum([part.n_lengths for part in self.parts])
        sizes = np.exp(2 * p[ends[-1] : ends[-1] + len(self.parts)])
        return np.split(p[: ends[-1]], ends[:-1]), sizes, None if self.shift is not None else float(np.exp(2 * p[-1]))

    def noise(self, lengths: list[np.ndarray], sizes: np.ndarray, noise: float | None) -> tuple[float, np.ndarray]:
        """Return the variance of the noise, with its floor, and the share that follows each of the parts."""
        floors = FLOOR * sizes
        if noise is not None:
            return noise + float(floors.sum()), np.zeros(len(sizes))
        follows = np.array(
            [
                self.shift * size / part.record(own)[1]
                for part, own, size in zip(self.parts, lengths, sizes, strict=True)
            ]
        )
        return float(np.sum(follows + floors)), follows

    def __call__(self, p: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the function and its gradient."""
        lengths, sizes, free = self.split(p)
        noise, follows = self.noise(lengths, sizes, free)
        diagonal = np.arange(len(self.y))
        built = [self._among(*part.matrix(own)) for part, own in zip(self.parts, lengths, strict=True)]
        A = sum((size * values for size, (values, _) in zip(sizes, built, strict=True)), np.zeros(()))
        A[diagonal, diagonal] += noise / self.weight
        value, G = self._gaussian(A)
        own = float(np.sum(np.diagonal(G) / self.weight))  # the slope in the variance of the noise
        in_lengths = [
            size * np.vdot(G, slope) + 2 * follow * own
            for size, (_, slopes), follow in zip(sizes, built, follows, strict=True)
            for slope in slopes
        ]
        in_sizes = [
            2 * (size * np.vdot(G, values) + (follow + FLOOR * size) * own)
            for size, (values, _), follow in zip(sizes, built, follows, strict=True)
        ]
        in_noise = [] if free is None else [2 * free * own]
        means, deviations = self.prior
        scores = (p - means) / deviations
        return value + 0.5 * float(scores @ scores), np.array(in_lengths + in_sizes + in_noise) + scores / deviations

    def _among(self, values: np.ndarray, slopes: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return what matrices of all values are on the observed ones."""
        if len(self.observed) == len(values):
            return values, slopes
        keep = np.ix_(self.observed, self.observed)
        return values[keep], [slope[keep] for slope in slopes]

    def _gaussian(self, A: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log density of y ~ N(0, A + CCᵀ·variance), but for a constant, and its gradient in A."""
        factor = scipy.linalg.cho_factor(A, lower=True, check_finite=False)
        value = float(np.log(np.diagonal(factor[0])).sum())
        B = scipy.linalg.cho_solve(factor, np.eye(len(A)), check_finite=False)
        if self.constants.shape[1]:
            pull = B @ self.constants
            inner = self.constants.T @ pull + np.eye(self.constants.shape[1]) / self.constant_variance
            small = scipy.linalg.cho_factor(inner, lower=True)
            value += float(np.log(np.diagonal(small[0])).sum())
            if np.isfinite(self.constant_variance):
                value += 0.5 * len(inner) * np.log(self.constant_variance)
            B = B - pull @ scipy.linalg.cho_solve(small, pull.T)
        solved = B @ self.y
        return value + 0.5 * float(self.y @ solved), 0.5 * (B - np.outer(solved, solved))

    def minimise(self, starts: Sequence[np.ndarray]) -> Any:
        """Return the best minimum that L-BFGS finds."""
        means, deviations = self.prior
        bounds = list(zip(means - LIMIT * deviations, means + LIMIT * deviations, strict=True))
        with one_thread():
            found = [
                minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options=STOP) for start in starts
            ]
        return min(found, key=lambda result: result.fun)

    def starts(self) -> list[np.ndarray]:
        """Return the centre of the prior, and shorter and longer lengths of the parts."""
        means, _ = self.prior
        n_lengths = sum(part.n_lengths for part in self.parts)
        moves = [(1.0,) * n_lengths, *(product(STARTS, repeat=n_lengths) if n_lengths else [])]
        return [means + np.concatenate([np.log(move), np.zeros(len(means) - n_lengths)]) for move in moves]

    def record(self, found: Any) -> TunedField:
        """Return kernel and shift of the parameters that were found."""
        lengths, sizes, free = self.split(np.round(found.x, DECIMALS))
        noise, _ = self.noise(lengths, sizes, free)
        records = [part.record(own) for part, own in zip(self.parts, lengths, strict=True)]
        variances = sizes / np.array([size for _, size in records])
        total = float(variances.sum())
        kernel = records[0][0]
        if len(records) == 2:
            curls, flows = records[0][0].kernel, records[1][0].kernel
            kernel = Helmholtz(curls, flows, weight=float(variances[0] / total))
        return TunedField(kernel, noise / total if self.shift is None else self.shift, float(found.fun))


def tune_field(
    kinds: Sequence[Any],
    X: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray | None = None,
    constant_variance: float = 0.0,
    shift: float | None = None,
    values: int = VALUES,
) -> TunedField:
    """Return the kernel of greatest evidence, times a weak prior, and the shift λn that goes with it.

    The logarithms of lengths, sizes and noise are normal around the median distance, the size of Y and a tenth of it,
    with standard deviations of 2, 4 and 4. Few values say where to start, more of them what is best.

    Parameters
    ----------
    kinds : list
        CurlFree, DivergenceFree or both, or one MatrixValuedKernel, whose λn alone is looked for.
    X, Y : arrays of shape (n, d)
        Points and vectors, NaN where nothing was observed.
    weight : array of shape (n,), optional
        Weights.
    constant_variance : float, default=0.0
        Of a constant part, in units of the mean square of Y: 0 for none, infinite for a flat prior.
    shift : float, optional
        λn, where it is given.
    values : int, default=400
        Numbers to look at, some of the rows.

    Examples
    --------
    >>> from mercer.operator_valued import CurlFree, DivergenceFree
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(40, 2))
    >>> tuned = tune_field([CurlFree, DivergenceFree], X, np.stack([X[:, 1], -X[:, 0]], axis=1))  # turns, no sources
    >>> tuned.kernel.weight < 0.01
    True
    """
    n, d = X.shape
    weight = np.ones(n) if weight is None else weight / weight.mean()
    size = float(np.sqrt(np.nanmean(Y**2))) or 1.0
    start = None
    counts = sorted({min(n, max(most // d, LEAST_ROWS)) for most in (FIRST_VALUES, values)})
    for count in counts:
        rows = np.linspace(0, n - 1, count).round().astype(int)
        evidence = _evidence(kinds, X[rows], Y[rows] / size, weight[rows], constant_variance, shift)
        start = evidence.minimise(evidence.starts() if start is None else [start.x])
    return evidence.record(start)


def _evidence(kinds, X, Y, weight, constant_variance, shift) -> FieldEvidence:
    """Return the evidence of some rows."""
    observed = np.flatnonzero(~np.isnan(Y.ravel()))
    n, d = Y.shape
    constants = np.tile(np.eye(d), (n, 1))[observed, : d if constant_variance else 0]
    distances = np.sqrt(np.sum((X[:, None, :] - X[None, :, :]) ** 2, axis=2))
    positive = distances[distances > 0]
    centre = np.log(TYPICAL_LENGTH * float(np.median(positive))) if len(positive) else 0.0
    given = isinstance(kinds[0], MatrixValuedKernel)
    parts = [GivenPart(kind, X) if given else GaussianPart(kind, X) for kind in kinds]
    return FieldEvidence(
        parts,
        Y.ravel()[observed],
        observed,
        np.repeat(weight, d)[observed],
        constants,
        constant_variance,
        centre,
        shift,
    )


def _flat(values: np.ndarray) -> np.ndarray:
    """Blocks (n, n, d, d) as one matrix (nd, nd)."""
    n, _, d, _ = values.shape
    return values.transpose(0, 2, 1, 3).reshape(n * d, n * d)
