"""Which outputs are alike: the output matrix of greatest evidence, for ridge regression as a Gaussian process."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Evidence", "covariance_of_entries", "covariance_of_rows"]

#: steps of the iteration, each of which raises the evidence; the first ones do most
COVARIANCE_STEPS = 30
#: variance of the noise that is rounding, relative to the largest one of the signal to start from
NO_NOISE = 1e-12


class Evidence(NamedTuple):
    """Covariances of a Gaussian process with outputs in R^p."""

    matrix: np.ndarray  #: Γ, (p, p)
    noise: float  #: variance of the noise


def covariance_of_rows(spectrum: np.ndarray, Z: np.ndarray, shift: float, rank: int | None = None) -> Evidence:
    """Return Γ and v of greatest evidence for z_a ~ N(0, σ_aΓ + vI), independent rows of Z.

    Such are the rows of UᵀY where K = U diag(σ) Uᵀ, columns of F have covariance K, rows Γ, and Y = F + noise. Each
    step majorises the negative logarithm of the evidence, the determinants by their tangents T and the quadratic forms
    by those of fixed residuals, and minimises tr(TΓ) + tr(Γ⁻¹M): Γ ← T^-½(T^½MT^½)^½T^-½.

    Parameters
    ----------
    spectrum : array of shape (r,)
        σ.
    Z : array of shape (r, p)
        Targets.
    shift : float
        v over the mean of the diagonal of Γ, to start from.
    rank : int, optional
        Rank of Γ; that of greatest evidence in the span of the leading eigenvectors of the unrestricted one.
    """
    p = Z.shape[1]
    size = float(np.sum(Z**2 / (spectrum[:, None] + shift))) / max(Z.size, 1)
    if not (size > 0 and np.any(spectrum > 0)):
        return nothing_to_learn(p, size * shift, rank)
    matrix, noise, least = size * np.eye(p), size * shift, NO_NOISE * size * float(np.max(spectrum))
    for step in range(COVARIANCE_STEPS if rank is None else 2 * COVARIANCE_STEPS):
        if rank is not None and step >= COVARIANCE_STEPS:  # at each step, as roots of rounding errors would grow
            matrix = leading_part(matrix, rank)
        tau, V = np.linalg.eigh(matrix)
        tau = np.maximum(tau, 0)
        total = spectrum[:, None] * tau + noise
        rotated = (Z @ V) / total
        tangent = np.sum(spectrum[:, None] / total, axis=0)
        moment = np.sqrt(spectrum)[:, None] * rotated * tau
        noise = max(noise * float(np.sqrt(np.sum(rotated**2) / np.sum(1 / total))), least)
        matrix = V @ _balance(np.diag(tangent), moment.T @ moment) @ V.T
    return Evidence(matrix if rank is None else leading_part(matrix, rank), noise)


def covariance_of_entries(
    K: np.ndarray, columns: np.ndarray, y: np.ndarray, p: int, shift: float, rank: int | None = None
) -> Evidence:
    """Return the same from some entries of F + noise: y_e = F at (row e of K, ``columns[e]``), for missing targets.

    Parameters
    ----------
    K : array of shape (N, N)
        Values of k_X between the inputs of the entries; those of one row of X are equal.
    columns : array of int, shape (N,)
        The output of each entry.
    y : array of shape (N,)
        Targets.
    p : int
        Number of outputs.
    shift, rank
        As in :func:`covariance_of_rows`.
    """
    belongs = np.eye(p)[columns]
    alone = np.linalg.solve(K * (columns[:, None] == columns) + shift * np.eye(len(y)), y)
    size = float(np.mean(y * alone))
    if not (size > 0 and np.any(np.diagonal(K) > 0)):
        return nothing_to_learn(p, size * shift, rank)
    matrix, noise, least = size * np.eye(p), size * shift, NO_NOISE * size * float(np.trace(K))
    for step in range(COVARIANCE_STEPS if rank is None else 2 * COVARIANCE_STEPS):
        if rank is not None and step >= COVARIANCE_STEPS:  # at each step, as roots of rounding errors would grow
            matrix = leading_part(matrix, rank)
        inverse = np.linalg.inv(K * matrix[np.ix_(columns, columns)] + noise * np.eye(len(y)))
        solved = inverse @ y
        by_output = belongs * solved[:, None]
        moment = matrix @ (by_output.T @ K @ by_output) @ matrix
        tangent = belongs.T @ (K * inverse) @ belongs
        noise = max(noise * float(np.sqrt(solved @ solved / np.trace(inverse))), least)
        matrix = _balance((tangent + tangent.T) / 2, moment)
    return Evidence(matrix if rank is None else leading_part(matrix, rank), noise)


def nothing_to_learn(p: int, noise: float, rank: int | None) -> Evidence:
    """Return the identity, which is as good as any where targets or inputs do not differ."""
    return Evidence(np.eye(p) if rank is None else leading_part(np.eye(p), rank), max(noise, 0.0))


def leading_part(matrix: np.ndarray, rank: int) -> np.ndarray:
    """Return the part of a positive matrix in its leading eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    kept = vectors[:, -rank:]
    return (kept * np.maximum(values[-rank:], 0)) @ kept.T


def _balance(tangent: np.ndarray, moment: np.ndarray) -> np.ndarray:
    """Return the positive G that minimises tr(TG) + tr(G⁻¹M): T^-½(T^½MT^½)^½T^-½."""
    values, vectors = np.linalg.eigh(tangent)
    roots = np.sqrt(np.maximum(values, np.finfo(float).eps * values[-1]))
    half, back = (vectors * roots) @ vectors.T, (vectors / roots) @ vectors.T
    values, vectors = np.linalg.eigh(half @ moment @ half)
    middle = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    result = back @ middle @ back
    return (result + result.T) / 2
