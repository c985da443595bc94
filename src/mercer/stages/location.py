"""The location f of y given x: Gaussian processes, judged on rows that neither they nor their parameters saw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from mercer._state import Stateful
from mercer.stages.relevance import JITTER, Relevance, cross_fitted_relevance

__all__ = ["Doubt", "Location", "Process", "learn_location"]

#: rows up to which processes are conditioned exactly; beyond, on the functions that so many rows span
EXACT_ROWS, LOCATION_LANDMARKS = 1200, 600
#: parts of the rows: parameters that judge one of them were learned on the others
LOCATION_FOLDS = 3
#: rows that doubt about f is judged by
DOUBT_ROWS = 200


@dataclass(frozen=True)
class Process(Stateful):
    """The posterior mean of a Gaussian process, Σ_j k(x, x_j) c_j.

    Attributes
    ----------
    relevance : Relevance
        The kernel and the noise.
    points : array of shape (m, d)
        x_j, scaled as the kernel takes them.
    coef : array of shape (m,)
        c.
    """

    relevance: Relevance
    points: np.ndarray
    coef: np.ndarray

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the mean at standardised rows, shape (n,)."""
        return self.relevance.kernel(self.relevance.scaled(Z), self.points) @ self.coef


@dataclass(frozen=True)
class Doubt(Stateful):
    """How much less is known of f far from the rows than at the least known of them, by the variance of a process.

    √((v + var f(x))/(v + max_i var f₋ᵢ(x_i))), at least 1, the variances given some of the rows.

    Attributes
    ----------
    relevance : Relevance
        The kernel and the noise v.
    points, factor : arrays of shape (m, d) and (m, m)
        Some rows, scaled as the kernel takes them, and the Cholesky factor of their covariance with noise.
    most : float
        v + max_i var f₋ᵢ(x_i), over these rows.
    """

    relevance: Relevance
    points: np.ndarray
    factor: np.ndarray
    most: float

    @classmethod
    def learn(cls, relevance: Relevance, Z: np.ndarray) -> Doubt:
        """Take some of the rows."""
        rows = np.sort(np.random.default_rng(5).permutation(len(Z))[:DOUBT_ROWS])
        points = relevance.scaled(Z[rows])
        covariance = relevance.kernel(points, points)
        covariance[np.diag_indices(len(points))] += relevance.noise + 1e-6
        factor = np.linalg.cholesky(covariance)
        inverse = cho_solve((factor, True), np.eye(len(points)))
        return cls(relevance, points, factor, float(1 / np.diagonal(inverse).min()))

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return the factor at standardised rows, shape (n,)."""
        A = self.relevance.scaled(Z)
        known = solve_triangular(self.factor, self.relevance.kernel(self.points, A), lower=True, check_finite=False)
        variance = self.relevance.kernel.diagonal(A) - np.sum(known * known, axis=0) + self.relevance.noise
        return np.sqrt(np.maximum(variance / self.most, 1.0))


@dataclass(frozen=True)
class Location(Stateful):
    """The mean of several processes, and how far each training row is from processes that have not seen it.

    Attributes
    ----------
    processes : tuple of Process
        Those whose parameters were learned without one of the folds, then the one of all rows.
    residuals : array of shape (n,)
        t_i less the prediction from the other rows, with parameters that were learned without the fold of row i.
    doubt : Doubt
        By how much residuals of new rows are larger far from the rows.
    """

    processes: tuple[Process, ...]
    residuals: np.ndarray
    doubt: Doubt

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        """Return f at standardised rows, shape (n,)."""
        return np.mean([process(Z) for process in self.processes], axis=0)

    @property
    def relevance(self) -> np.ndarray:
        """Share of each column in the scales of all rows' process, shape (d,); it sums to 1."""
        scales = self.processes[-1].relevance.scales
        return scales / scales.sum()


def learn_location(
    Z: np.ndarray, t: np.ndarray, weight: np.ndarray | None = None, start: Relevance | None = None
) -> Location:
    """Learn f with cross-fitted parameters, and residuals that no row had a hand in.

    Residuals of closed-form leave-one-out with parameters from all rows would be too small where columns are many,
    as these have seen every row. So the rows are dealt to three folds; parameters come from the rows outside a fold,
    all rows condition the process, and the leave-one-out residuals of the rows in the fold are kept.

    Parameters
    ----------
    Z, t, weight, start
        As :func:`~mercer.stages.choose_relevance` takes them; ``start`` is for the process of all rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(120, 2))
    >>> t = Z[:, 0] + 0.5 * rng.normal(size=120)
    >>> found = learn_location(Z, t)
    >>> bool(0.4 < found.residuals.std() < 0.65)
    True
    """
    n = len(t)
    order = np.random.default_rng(1).permutation(n)
    fold = np.empty(n, dtype=int)
    fold[order] = np.arange(n) % LOCATION_FOLDS
    *parts, whole = cross_fitted_relevance(Z, t, weight, order, fold, start)
    processes, residuals = [], np.empty(n)
    for k, relevance in enumerate(parts):
        process, left_out = condition(relevance, Z, t, weight)
        processes.append(process)
        residuals[fold == k] = left_out[fold == k]
    processes.append(condition(whole, Z, t, weight)[0])
    return Location(tuple(processes), residuals, Doubt.learn(whole, Z))


def condition(
    relevance: Relevance, Z: np.ndarray, t: np.ndarray, weight: np.ndarray | None
) -> tuple[Process, np.ndarray]:
    """Return the process given all rows, and the leave-one-out residuals t_i − f₋ᵢ(x_i), in closed form."""
    noise = relevance.noise * (np.ones(len(t)) if weight is None else 1 / weight) + JITTER
    A = relevance.scaled(Z)
    if len(t) <= EXACT_ROWS:
        return _exact(relevance, A, t, noise)
    return _by_landmarks(relevance, A, t, noise)


def _exact(relevance: Relevance, A: np.ndarray, t: np.ndarray, noise: np.ndarray) -> tuple[Process, np.ndarray]:
    """C = k(A, A) + diag(noise): c = C⁻¹t, and the residuals are c_i/(C⁻¹)_ii."""
    C = relevance.kernel(A, A)
    C[np.diag_indices(len(t))] += noise
    factor, failed = lapack.dpotrf(C, lower=1, overwrite_a=1)
    if failed:  # rounding: the parts of the kernel that are as large as 1e12 times the noise
        return _by_landmarks(relevance, A, t, noise)
    coef = cho_solve((factor, True), t, check_finite=False)
    inverse = lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    return Process(relevance, A, coef), coef / np.diagonal(inverse)


def _by_landmarks(relevance: Relevance, A: np.ndarray, t: np.ndarray, noise: np.ndarray) -> tuple[Process, np.ndarray]:
    """Functions Φ of some rows, whitened: c = (I + ΦᵀN⁻¹Φ)⁻¹ΦᵀN⁻¹t, and leverages instead of an inverse."""
    rows = np.sort(np.random.default_rng(3).permutation(len(t))[:LOCATION_LANDMARKS])
    points = A[rows]
    spectrum, vectors = np.linalg.eigh(relevance.kernel(points, points))
    keep = spectrum > 1e-9 * spectrum[-1]
    basis = vectors[:, keep] / np.sqrt(spectrum[keep])
    features = relevance.kernel(A, points) @ basis
    inner = (features.T / noise) @ features
    inner[np.diag_indices(len(inner))] += 1
    solve = np.linalg.inv(inner)
    coef = solve @ (features.T @ (t / noise))
    leverage = np.sum((features @ solve) * features, axis=1) / noise
    residuals = (t - features @ coef) / np.maximum(1 - leverage, 1e-6)
    return Process(relevance, points, basis @ coef), residuals
