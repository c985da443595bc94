"""Moments of features with values in R^p: of vectors whose components share one vector of coefficients."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer.exceptions import DataError
from mercer.linalg.moments import Moments

__all__ = ["ComponentMoments"]


class ComponentMoments(Moments):
    """What the square loss knows of rows (Φ_i, y_i) with Φ_i ∈ R^{p×r} and y_i ∈ R^p, for models y ≈ Φw + b.

    Each component a has a mean of its own, of z_ia = (Φ_i)_a, y_ia, and M = Σ_ia s_i η_a (z_ia − z̄_a)(z_ia − z̄_a)ᵀ is
    one matrix for all, so that they are (r + 1)² + p(r + 1) numbers.

    Parameters
    ----------
    n_features : int
        r.
    weights : array of shape (p,)
        η, of the components.

    Examples
    --------
    >>> import numpy as np
    >>> features, targets = np.array([[[1.0], [2.0]], [[3.0], [0.0]]]), np.array([[1.0, 2.0], [3.0, 2.0]])
    >>> moments = ComponentMoments(1, np.ones(2)).update(features, targets)
    >>> moments.mean
    array([[2., 2.],
           [1., 2.]])
    >>> moments.scatter
    array([[4., 2.],
           [2., 2.]])
    """

    def __init__(self, n_features: int, weights: np.ndarray) -> None:
        self.weights = np.asarray(weights, dtype=float)
        super().__init__(n_features, 1)

    @property
    def _mean_shape(self) -> tuple[int, ...]:
        return (len(self.weights), self.n_features + 1)

    def _empty(self) -> Self:
        return type(self)(self.n_features, self.weights)

    @property
    def feature_mean(self) -> np.ndarray:
        """Φ̄, shape (p, r)."""
        return self.mean[:, :-1]

    @property
    def target_mean(self) -> np.ndarray:
        """ȳ, shape (p,)."""
        return self.mean[:, -1]

    def _shift(self, change: np.ndarray, size: float) -> None:
        (rank_one,) = get_blas_funcs(("syr",), (self._lower,))
        for component, weight in zip(change, self.weights, strict=True):
            self._lower = rank_one(size * weight, component, lower=1, a=self._lower, overwrite_a=1)

    def _products_of(self, mean: np.ndarray) -> np.ndarray:
        return (mean * self.weights[:, None]).T @ mean

    def _of(self, features: np.ndarray, targets: np.ndarray, weight: Any) -> Moments:
        n, p, r = features.shape
        if (p, r) != (len(self.weights), self.n_features) or targets.shape != (n, p):
            raise DataError(
                f"ComponentMoments: they are of {self.n_features} features and {len(self.weights)} components; got "
                f"features of shape {features.shape} and targets of shape {targets.shape}."
            )
        part = self._empty()
        part.n_rows, part.total = n, float(n if weight is None else weight.sum())
        rows = np.concatenate([features, targets[:, :, None].astype(features.dtype, copy=False)], axis=2)
        share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
        part.mean = np.tensordot(share, rows.astype(float, copy=False), 1)
        rows -= part.mean
        rows *= np.sqrt(self.weights)[:, None]
        if weight is not None:
            rows *= np.sqrt(weight)[:, None, None]
        (product,) = get_blas_funcs(("syrk",), (rows,))
        part._lower = product(1.0, rows.reshape(n * p, r + 1).T, lower=1)
        return part
