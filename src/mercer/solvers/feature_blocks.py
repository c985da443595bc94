"""Explicit features in blocks, as stochastic gradients see them: forward to nodes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import DataError, UnsupportedError
from mercer.features import SeededFeatures
from mercer.kernels import Kernel
from mercer.measures import Measure

__all__ = ["FeatureBlocks", "MatrixBlock", "ScalarBlock", "feature_blocks"]


class ScalarBlock:
    """h(x)(θ_j) = c φ(x) C R_jᵀ with the features φ of a scalar kernel.

    Parameters
    ----------
    kernel : Kernel
        With explicit features.
    scale : float
        c.
    factor : array of shape (m, q)
        R.
    """

    def __init__(self, kernel: Any, scale: float, factor: np.ndarray) -> None:
        self.kernel, self.scale, self.factor = kernel, scale, factor

    def forward(self, X: np.ndarray, coef: np.ndarray, nodes: Any) -> np.ndarray:
        """Return h at some nodes, (n, k)."""
        return self.scale * ((self._features(X) @ coef) @ self.factor[nodes].T)

    def adjoint(self, X: np.ndarray, array: np.ndarray, nodes: Any) -> np.ndarray:
        """Return c Σ_i φ(x_i)ᵀ a_i R, of the shape of C."""
        return self.scale * (self._features(X).T @ (array @ self.factor[nodes]))

    def sizes(self, X: np.ndarray, weights: np.ndarray) -> float:
        """Return the largest ‖K(x, x)‖ of some rows, in the geometry of μ."""
        squares = np.einsum("ij,ij->i", features := self._features(X), features)
        size = np.linalg.norm(np.sqrt(weights)[:, None] * self.factor, 2) ** 2
        return self.scale**2 * float(squares.max()) * float(size)

    def shape(self, X: np.ndarray) -> tuple[int, ...]:
        """Shape of C."""
        return self._features(X[:1]).shape[1], self.factor.shape[1]

    def _features(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.kernel.features(X))


class MatrixBlock:
    """h(x) = c Φ(x) w with the features Φ of a kernel whose values are matrices."""

    def __init__(self, kernel: Any, scale: float) -> None:
        self.kernel, self.scale = kernel, scale

    def forward(self, X: np.ndarray, coef: np.ndarray, nodes: Any) -> np.ndarray:
        """Return some components of h, (n, k)."""
        return self.scale * np.asarray(self.kernel.forward(X, coef))[:, nodes]

    def adjoint(self, X: np.ndarray, array: np.ndarray, nodes: Any) -> np.ndarray:
        """Return c Σ_i Φ(x_i)ᵀa_i."""
        p = self.kernel.diagonal(X[:1]).shape[1]
        full = np.zeros((len(X), p))
        np.add.at(full.T, nodes, array.T)
        return self.scale * np.asarray(self.kernel.adjoint(X, full))

    def sizes(self, X: np.ndarray, weights: np.ndarray) -> float:
        """Return the largest ‖K(x, x)‖ of some rows."""
        root = np.sqrt(weights)
        values = np.asarray(self.kernel.diagonal(X)) * root[:, None] * root
        return self.scale**2 * float(np.linalg.norm(values, ord=2, axis=(1, 2)).max())

    def shape(self, X: np.ndarray) -> tuple[int, ...]:
        """Shape of w."""
        return (np.asarray(self.kernel.features(X[:1])).shape[2],)


class FeatureBlocks:
    """All blocks; those that are seeded are drawn when they are asked for.

    Parameters
    ----------
    features : Kernel, MatrixValuedKernel or SeededFeatures
        Explicit.
    factor : array of shape (m, q)
        R, for scalar kernels.
    """

    def __init__(self, features: Any, factor: np.ndarray) -> None:
        self.features, self.factor = features, factor
        self.n_blocks = features.n_blocks if isinstance(features, SeededFeatures) else 1

    def __call__(self, index: int) -> ScalarBlock | MatrixBlock:
        seeded = isinstance(self.features, SeededFeatures)
        kernel = self.features.block(index) if seeded else self.features
        scale = self.n_blocks**-0.5
        return ScalarBlock(kernel, scale, self.factor) if isinstance(kernel, Kernel) else MatrixBlock(kernel, scale)


def feature_blocks(features: Any, measure: Measure, factor: Any) -> FeatureBlocks:
    """Return the blocks of explicit features, or refuse others."""
    m = len(measure)
    kernel = features.kernel if isinstance(features, SeededFeatures) else features
    if kernel is features and not getattr(features, "explicit", False):
        raise UnsupportedError(
            f"StochasticGradient needs explicit features; {features!r} has none. Take RandomFourier(500).bind(kernel, "
            "X) or SeededFourier().bind(kernel, X)."
        )
    scalar = isinstance(kernel, Kernel)
    if factor is not None and not scalar:
        raise DataError("StochasticGradient: a kernel whose values are matrices has no factor beside it.")
    factor = np.eye(m) if factor is None else np.asarray(factor, dtype=float)
    if factor.ndim != 2 or factor.shape[0] != m or not np.all(np.isfinite(factor)):
        raise DataError(f"StochasticGradient: factor must be finite and of shape ({m}, q); got {factor.shape}.")
    return FeatureBlocks(features, factor)
