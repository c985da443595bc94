"""Means and scatter of features and targets together: added to, merged, taken back, batch by batch."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer.exceptions import DataError

__all__ = ["Moments"]


class Moments:
    """Weighted sums of rows z_i = (φ_i, y_i) and of their products, about their mean.

    W = Σ_i w_i, z̄ = Σ_i w_i z_i/W and M = Σ_i w_i (z_i − z̄)(z_i − z̄)ᵀ are all that the square loss knows of the data.
    M is kept about the mean (Chan, Golub and LeVeque, 1983), so that features and targets far from zero lose no digits:
    two sets of rows a and b have

        M = M_a + M_b + (W_a W_b/W) δδᵀ,    δ = z̄_b − z̄_a.

    M_b is a symmetric product, half of the multiplications of a general one. Features in single precision are
    multiplied in single precision, and added up in double.

    Parameters
    ----------
    n_features, n_targets : int
        D and m.

    Examples
    --------
    >>> import numpy as np
    >>> moments = Moments(1, 1).update(np.array([[1.0], [3.0]]), np.array([[0.0], [4.0]]))
    >>> moments.mean
    array([2., 2.])
    >>> moments.scatter
    array([[2., 4.],
           [4., 8.]])
    """

    def __init__(self, n_features: int, n_targets: int) -> None:
        self.n_features, self.n_targets = int(n_features), int(n_targets)
        self._clear()

    def _clear(self) -> None:
        size = self.n_features + self.n_targets
        self.n_rows, self.total = 0, 0.0
        self.mean = np.zeros(self._mean_shape)
        self._lower = np.zeros((size, size), order="F")  # M, its lower triangle

    @property
    def _mean_shape(self) -> tuple[int, ...]:
        return (self.n_features + self.n_targets,)

    def _empty(self) -> Self:
        """Return moments of the same kind without rows."""
        return type(self)(self.n_features, self.n_targets)

    def restore(self, n_rows: int, total: float, mean: np.ndarray, scatter: np.ndarray) -> Self:
        """Become the moments that had these numbers."""
        self.n_rows, self.total, self.mean = int(n_rows), float(total), np.array(mean, dtype=float)
        self._lower = np.array(np.tril(scatter), order="F")
        return self

    def update(self, features: np.ndarray, targets: np.ndarray, weight: Any = None) -> Self:
        """Add rows, in place."""
        self._add(self._of(features, targets, weight), 1)
        return self

    def downdate(self, features: np.ndarray, targets: np.ndarray, weight: Any = None) -> Moments:
        """Take rows back that were added before, in place, up to rounding."""
        part = self._of(features, targets, weight)
        if part.n_rows > self.n_rows or part.total > self.total * (1 + 1e-9):
            raise DataError(
                f"Moments: {part.n_rows} rows (weight {part.total:g}) cannot be taken back from {self.n_rows} "
                f"(weight {self.total:g}): they were never added."
            )
        if part.n_rows == self.n_rows:
            self._clear()
            return self
        self._add(part, -1)
        return self

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of rows."""
        self._check(other.n_features, other.n_targets)
        return self.copy()._add(other, 1)

    def copy(self) -> Moments:
        """Return the same moments, which can be added to on their own."""
        return self._empty()._add(self, 1)

    @property
    def scatter(self) -> np.ndarray:
        """M, shape (D + m, D + m)."""
        return np.tril(self._lower) + np.tril(self._lower, -1).T

    def products(self, centred: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean products of features, of features and targets, and of targets: M/W, about the mean or not."""
        if not self.n_rows:
            raise DataError("Moments: there are no rows in them yet.")
        matrix = self.scatter / self.total
        if not centred:
            matrix += self._products_of(self.mean)
        D = self.n_features
        return matrix[:D, :D], matrix[:D, D:], matrix[D:, D:]

    @property
    def feature_mean(self) -> np.ndarray:
        """φ̄, shape (D,)."""
        return self.mean[: self.n_features]

    @property
    def target_mean(self) -> np.ndarray:
        """ȳ, shape (m,)."""
        return self.mean[self.n_features :]

    def _add(self, other: Moments, sign: int) -> Moments:
        """Add or subtract moments, in place."""
        total = self.total + sign * other.total
        change = other.mean - self.mean
        self._lower += sign * other._lower
        if self.n_rows:
            self._shift(change, sign * self.total * other.total / total)
        self.mean = self.mean + (sign * other.total / total) * change
        self.n_rows, self.total = self.n_rows + sign * other.n_rows, total
        return self

    def _shift(self, change: np.ndarray, size: float) -> None:
        """Add the products of a difference of means."""
        (rank_one,) = get_blas_funcs(("syr",), (self._lower,))
        self._lower = rank_one(size, change, lower=1, a=self._lower, overwrite_a=1)

    def _products_of(self, mean: np.ndarray) -> np.ndarray:
        return np.outer(mean, mean)

    def _of(self, features: np.ndarray, targets: np.ndarray, weight: Any) -> Moments:
        """Return the moments of one batch."""
        self._check(features.shape[1], targets.shape[1])
        rows = np.empty((features.shape[0], self.n_features + self.n_targets), dtype=features.dtype)
        part = self._empty()
        part.n_rows = features.shape[0]
        share = np.full(part.n_rows, 1.0 / part.n_rows) if weight is None else weight / weight.sum()
        part.total = float(part.n_rows if weight is None else weight.sum())
        # means in double precision, also of single; targets are made small before they lose digits to it
        part.mean = np.concatenate([share @ features, share @ targets])
        np.subtract(features, part.mean[: self.n_features], out=rows[:, : self.n_features], casting="same_kind")
        np.subtract(targets, part.mean[self.n_features :], out=rows[:, self.n_features :], casting="same_kind")
        if weight is not None:
            rows *= np.sqrt(weight)[:, None]
        (product,) = get_blas_funcs(("syrk",), (rows,))
        part._lower = product(1.0, rows.T, lower=1)
        return part

    def _check(self, n_features: int, n_targets: int) -> None:
        if (n_features, n_targets) != (self.n_features, self.n_targets):
            raise DataError(
                f"Moments: they are of {self.n_features} features and {self.n_targets} targets; got {n_features} and "
                f"{n_targets}."
            )
