"""Which rows Nyström features are made of."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.cluster.vq import kmeans2

from mercer.backend import eigh
from mercer.kernels import Kernel, Radial
from mercer.linalg import leading_pivots

__all__ = ["SELECTIONS", "candidates", "inverse_root"]

#: rows among which landmarks are looked for, where that takes more than a draw: for each landmark, and at least
CANDIDATES_EACH, FEWEST_CANDIDATES = 20, 20_000
#: steps of Lloyd's algorithm
LLOYD_STEPS = 10
#: eigenvalues below this part of the largest are rounding
NULL_DIRECTION = 1e-13


def inverse_root(matrix: np.ndarray) -> np.ndarray:
    """Return U Λ^{-½} for the eigenvalues Λ of a positive matrix that are above rounding, shape (M, r).

    The cut is max(1e-13, M·ε) of the largest eigenvalue, ε the spacing of floating point numbers.
    """
    values, vectors = eigh(matrix)
    cut = max(NULL_DIRECTION, len(matrix) * float(np.finfo(matrix.dtype).eps)) * values[-1]
    kept = values > max(cut, 0.0)
    return vectors[:, kept] / np.sqrt(values[kept])


def candidates(X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the distinct ones of all rows, or of 20 for each landmark (and of 20 000 at least) that are drawn."""
    most = max(CANDIDATES_EACH * size, FEWEST_CANDIDATES)
    return np.unique(X if len(X) <= most else X[rng.choice(len(X), most, replace=False)], axis=0)


def uniform(kernel: Kernel, X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows drawn without replacement."""
    return X[np.sort(rng.choice(len(X), size, replace=False))]


def leverage(kernel: Kernel, X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows drawn by their ridge leverage scores k_i(K + γ)⁻¹k_i as features of a uniform draw see them.

    With those features Φ the score of row i is φ_i(ΦᵀΦ + γ)⁻¹φ_i + (k_ii − ‖φ_i‖²)/γ, at most 1; γ is the mean that the
    spectrum of K has left after half as many directions as there are to be landmarks (Musco and Musco, 2017).
    """
    landmarks = uniform(kernel, X, min(2 * size, len(X)), rng)
    features = kernel(X, landmarks) @ inverse_root(kernel(landmarks))
    values, vectors = eigh(features.T @ features)
    missed = np.maximum(kernel.diagonal(X) - np.sum(features**2, axis=1), 0)
    half = -(-size // 2)
    left = float(np.sum(values[: max(len(values) - half, 0)])) + float(np.sum(missed))
    ridge = max(left / half, float(values[-1]) * NULL_DIRECTION)
    scores = np.minimum(np.sum((features @ vectors) ** 2 / (values + ridge), axis=1) + missed / ridge, 1)
    # weighted draws without replacement (Efraimidis and Spirakis, 2006)
    keys = np.log(1 - rng.random(len(X))) / np.maximum(scores, np.finfo(float).tiny)
    return X[np.sort(np.argsort(-keys, kind="stable")[:size])]


def pivots(kernel: Kernel, X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return the pivots of a Cholesky factorisation: each is the row that those before it explain least."""
    return X[leading_pivots(kernel.gram(X), size)]


def kmeans(kernel: Kernel, X: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return centres of clusters, in the lengths of a radial kernel."""
    weights = np.asarray(kernel.weights(X)) if isinstance(kernel, Radial) else np.ones(X.shape[1])
    seen = weights > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a cluster that loses all its rows keeps its centre
        found = kmeans2(X[:, seen] * weights[seen], size, iter=LLOYD_STEPS, minit="++", rng=rng)[0]
    centres = np.tile(np.mean(X, axis=0), (size, 1))
    centres[:, seen] = found / weights[seen]
    return centres


SELECTIONS: dict[str, Callable[[Kernel, np.ndarray, int, np.random.Generator], np.ndarray]] = {
    "uniform": uniform,
    "leverage": leverage,
    "kmeans": kmeans,
    "pivots": pivots,
}
