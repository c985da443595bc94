"""Eigenpairs of an input Gram matrix orthogonal to the constant, thin where the rank is small."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mercer import backend
from mercer.backend import is_numpy, to_numpy
from mercer.linalg.announcement import EIGH_WORK, announce
from mercer.linalg.eigen import eigh, eigh_fits, too_large
from mercer.linalg.operators import LinearOperator, LowRank
from mercer.linalg.pivoted_cholesky import pivoted_cholesky

__all__ = ["CentredBasis", "centred_basis"]


class CentredBasis(NamedTuple):
    """Eigenpairs of the whitened input Gram, orthogonal to the intercept's unit vector where there is one (NumPy)."""

    values: np.ndarray  #: (r,), ascending
    vectors: np.ndarray  #: (n, r)
    constant: np.ndarray | None  #: (n,), the unit vector of the intercept
    complete: bool  #: whether the vectors span all that is orthogonal to ``constant``


def centred_basis(operator: LinearOperator, constant: np.ndarray | None, tolerance: float) -> CentredBasis:
    """Return the eigenpairs of CKC, C the projection orthogonal to ``constant`` (the identity where it is None).

    Parameters
    ----------
    operator : LinearOperator
        K, positive semi-definite.
    constant : array of shape (n,) or None
        A unit vector.
    tolerance : float
        Bound on the trace of what a thin basis may leave out.
    """
    factor = _thin_factor(operator, tolerance)
    if factor is not None:
        if constant is not None:
            factor = factor - np.outer(constant, constant @ factor)
        eigen = eigh(LowRank(factor))
        complete = eigen.vectors.shape[1] >= len(factor) - (constant is not None)
        return CentredBasis(eigen.values[::-1], np.asfortranarray(eigen.vectors[:, ::-1]), constant, complete)
    if not eigh_fits(operator.shape[0]):
        raise too_large(operator, tolerance)
    gram = np.asarray(to_numpy(operator.to_dense()), dtype=float)
    announce("eigendecomposition", operator, EIGH_WORK * operator.shape[0] ** 3)
    if constant is None:
        sigma, vectors = backend.eigh(gram)
        return CentredBasis(np.maximum(sigma, 0), vectors, None, True)
    return _reflected(gram, constant)


def _thin_factor(operator: LinearOperator, tolerance: float) -> np.ndarray | None:
    """Return F with K ≈ FFᵀ where it is given or has few columns."""
    if isinstance(operator, LowRank):
        return to_numpy(operator.factor).astype(float)
    n = operator.shape[0]
    if n > 100 and is_numpy(operator.like):
        return pivoted_cholesky(operator, tolerance, max_rank=n // 4 if eigh_fits(n) else n)
    return None


def _reflected(gram: np.ndarray, constant: np.ndarray) -> CentredBasis:
    """A reflection that maps the constant to the first axis: the others span what is orthogonal to it."""
    n = len(gram)
    mirror = constant.copy()
    mirror[0] += 1.0
    mirror *= np.sqrt(2.0) / np.linalg.norm(mirror)
    along = gram @ mirror
    along -= 0.5 * (mirror @ along) * mirror
    gram = gram - np.outer(mirror, along)
    gram -= np.outer(along, mirror)
    sigma, reflected = backend.eigh(gram[1:, 1:])
    rows = np.zeros((n - 1, n))
    rows[:, 1:] = reflected.T
    rows -= np.outer(rows @ mirror, mirror)
    return CentredBasis(np.maximum(sigma, 0), rows.T, constant, True)
