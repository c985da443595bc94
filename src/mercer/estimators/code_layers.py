"""Layers of functions in RKHSs, one behind the other: codes of objects, and how a value depends on their coefficients.

A layer takes rows u_i to Σ_j k(u_i, u_j)Φ_j. The first one has the Gram matrix of the objects, K = FFᵀ, and
coordinates W = FᵀΦ instead of Φ: rows are FW, its norm is ‖W‖, and L-BFGS sees a well-conditioned problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import pull_back

__all__ = ["CodeLayers"]


@dataclass(frozen=True, eq=False)
class CodeLayers:
    """The finite layers of an autoencoder, as functions of one flat array of coefficients.

    Parameters
    ----------
    factor : array of shape (n, r)
        F, K = FFᵀ the Gram matrix of the first layer.
    widths : tuple of int
        Numbers of columns that the layers put out.
    kernel : Kernel
        That of all layers behind the first.
    price : float
        λ of Σ (λ/2) Tr(ΦᵀKΦ) over the layers.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> layers = CodeLayers(np.eye(3), (2, 1), Gaussian(1.0), 0.1)
    >>> [rows.shape for rows in layers.rows(np.ones(layers.size))]
    [(3, 2), (3, 1)]
    """

    factor: np.ndarray
    widths: tuple[int, ...]
    kernel: Any
    price: float

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return sum(rows * columns for rows, columns in self._shapes)

    @property
    def _shapes(self) -> list[tuple[int, int]]:
        n, r = self.factor.shape
        return [(r if not layer else n, width) for layer, width in enumerate(self.widths)]

    def split(self, flat: np.ndarray) -> list[np.ndarray]:
        """Return the coefficients W, Φ₂, Φ₃, ... of the layers."""
        ends = np.cumsum([np.prod(shape) for shape in self._shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends), self._shapes, strict=True)]

    def rows(self, flat: np.ndarray) -> list[np.ndarray]:
        """Return what each layer puts out, arrays of shape (n, width)."""
        first, *others = self.split(flat)
        found = [self.factor @ first]
        for coef in others:
            found.append(self.kernel(found[-1], found[-1]) @ coef)
        return found

    def start(self, scores: np.ndarray) -> np.ndarray:
        """Return coefficients with which every layer puts out about the leading columns of ``scores``, (n, ≥ width)."""
        F, n = self.factor, len(self.factor)
        ridge = 1e-6 * np.sum(F * F) / n
        parts = [np.linalg.solve(F.T @ F + ridge * np.eye(F.shape[1]), F.T @ scores[:, : self.widths[0]])]
        rows = F @ parts[0]
        for width in self.widths[1:]:
            K = self.kernel(rows, rows)
            parts.append(np.linalg.solve(K + 1e-3 * np.eye(n), scores[:, :width]))
            rows = K @ parts[-1]
        return np.concatenate([part.ravel() for part in parts])

    def penalty(self, flat: np.ndarray) -> float:
        """Return (λ/2) Σ Tr(ΦᵀKΦ)."""
        parts, rows = self.split(flat), self.rows(flat)
        others = sum(np.sum(coef * after) for coef, after in zip(parts[1:], rows[1:], strict=True))
        return 0.5 * self.price * float(np.sum(parts[0] ** 2) + others)

    def gradient(self, flat: np.ndarray, slope: np.ndarray) -> np.ndarray:
        """Return the gradient of V + penalty in the coefficients, of a value with ∂V/∂(last rows) = ``slope``."""
        parts, rows = self.split(flat), self.rows(flat)
        found = []
        for layer in range(len(parts) - 1, 0, -1):
            before, coef = rows[layer - 1], parts[layer]
            found.append(self.kernel(before, before) @ slope + self.price * rows[layer])
            through = slope @ coef.T + 0.5 * self.price * (coef @ coef.T)
            slope = pull_back(self.kernel, before, (through + through.T) / 2)
        found.append(self.factor.T @ slope + self.price * parts[0])
        return np.concatenate([part.ravel() for part in reversed(found)])
