"""Few rows that a smooth kernel's sections at all rows are made of, so that predictions need no others."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from mercer.backend import is_numpy
from mercer.kernels import Kernel
from mercer.kernels.gram import BLOCK_BYTES, kernel_product
from mercer.linalg import pivoted_factor

__all__ = ["Landmarks", "compress"]

#: rows below which sums over all of them are kept as they are, to the last digit: looking for landmarks takes time
ALL_KEPT = 20_000
#: rows among which landmarks are looked for at a time, and how often rows that they miss are added
CANDIDATE_ROWS, SEARCHES = 2000, 4
#: largest number of landmarks, as a share of the rows and in any case
LANDMARK_SHARE, MOST_LANDMARKS = 0.1, 1000
#: k(x, x) − k̂(x, x) of training rows that landmarks may miss, in units of the largest k(x, x)
MISSED = 2e-13
#: change of predictions that is allowed at training rows, in units of the largest of them
UNCHANGED = 1e-9
#: ... and far from them, where nothing is known
FAR_UNCHANGED = 1e-6
#: training rows at which predictions are compared, and how far from their mean they are moved for it
PROBE_ROWS, STRETCHES = 16, (1.0, 2.0, 4.0)


class Landmarks(NamedTuple):
    """Rows and coefficients with k(x, X)c = k(x, rows)coef to rounding."""

    rows: np.ndarray  #: (r, d)
    coef: np.ndarray  #: (r, q)


def compress(kernel: Kernel, X: Any, coef: Any) -> Landmarks | None:
    """Return landmarks that make the same function h = k(·, X)c, or None where some value of it would change.

    The landmarks P are pivots of a Cholesky factorisation, and h is replaced by its projection on their sections,
    k(·, P)d with d = K_PP⁻¹K_PX c. With R_j = k(x_j, x_j) − k̂(x_j, x_j) ≥ 0, what they miss of row j,

        |h(x) − h̃(x)| ≤ √R(x) · Σ_j √R_j |c_j|,

    as h − h̃ is orthogonal to their sections. At training rows R is at most 2e-13 of the largest k(x, x), and the bound
    at most 1e-9 of the largest prediction; else None is returned. Far from all rows R is larger: there predictions are
    compared as computed, at rows that are moved away from their mean up to four times as far, and must agree to 1e-6 of
    the largest one.

    Parameters
    ----------
    kernel : Kernel
        k, with numbers for its parameters.
    X : array of shape (n, d)
        Rows; fewer than 20 000 of them, or arrays other than NumPy's, are left alone.
    coef : array of shape (n, q)
        c.
    """
    if not is_numpy(X, coef) or kernel.pairwise or X.shape[0] < ALL_KEPT:
        return None
    largest = float(np.max(kernel.diagonal(X)))
    candidates = _first_candidates(X)
    for _ in range(SEARCHES):
        found = pivoted_factor(
            kernel.gram(X[candidates]), MISSED * largest, int(min(MOST_LANDMARKS, LANDMARK_SHARE * len(X)))
        )
        if found is None:
            return None
        rows, triangle = X[candidates[found.pivots]], found.factor[found.pivots]
        missed, sums = _project(kernel, X, coef, rows, triangle)
        lacking = np.flatnonzero(missed > MISSED * largest)
        if not len(lacking):
            landmarks = Landmarks(rows, scipy.linalg.solve_triangular(triangle, sums, lower=True, trans=1))
            bound = math.sqrt(MISSED * largest) * float(np.max(np.sqrt(missed) @ np.abs(coef)))
            return landmarks if _unchanged(kernel, X, coef, landmarks, bound) else None
        worst = lacking[np.argsort(missed[lacking])[::-1][:CANDIDATE_ROWS]]
        candidates = np.concatenate([candidates[found.pivots], worst])
    return None


def _first_candidates(X: np.ndarray) -> np.ndarray:
    """Return rows at equal steps, and as many that are farthest from the mean, which others say least about."""
    half = CANDIDATE_ROWS // 2
    away = np.sum(((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), np.finfo(float).tiny)) ** 2, axis=1)
    return np.union1d(np.linspace(0, len(X) - 1, half).astype(int), np.argpartition(away, -half)[-half:])


def _project(
    kernel: Kernel, X: np.ndarray, coef: np.ndarray, rows: np.ndarray, triangle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return R (n,), not less than rounding, and Fᵀc (r, q), where k̂(X, X) = F Fᵀ and F is triangular at the rows."""
    missed, sums = kernel.diagonal(X).astype(float), np.zeros((len(rows), coef.shape[1]))
    least = np.finfo(float).eps * missed
    size = max(1, BLOCK_BYTES // (8 * len(rows)))
    for start in range(0, len(X), size):
        block = slice(start, start + size)
        factor = scipy.linalg.solve_triangular(triangle, kernel(rows, X[block]), lower=True, check_finite=False)
        missed[block] -= np.einsum("ri,ri->i", factor, factor)
        sums += factor @ coef[block]
    return np.maximum(missed, least), sums


def _unchanged(kernel: Kernel, X: np.ndarray, coef: np.ndarray, landmarks: Landmarks, bound: float) -> bool:
    """Say whether the bound, and predictions as computed at some points, allow for the landmarks."""
    mean, some = X.mean(axis=0), X[np.linspace(0, len(X) - 1, PROBE_ROWS).astype(int)]
    probes = np.concatenate([mean + stretch * (some - mean) for stretch in STRETCHES])
    exact = kernel_product(kernel, probes, X, coef)
    size = np.max(np.abs(exact[: len(some)]))
    errors = np.abs(exact - kernel_product(kernel, probes, landmarks.rows, landmarks.coef))
    near, far = max(bound, float(np.max(errors[: len(some)]))), float(np.max(errors))
    return bool(near <= UNCHANGED * size and far <= FAR_UNCHANGED * size)
