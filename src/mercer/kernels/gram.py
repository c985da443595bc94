"""The Gram matrix of a kernel as an operator that is stored only when that pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backend import as_like, is_numpy
from mercer.linalg import PSD, LinearOperator, congruence
from mercer.linalg.announcement import KERNEL_WORK, announce
from mercer.linalg.memory import BLOCK_BYTES

__all__ = ["KernelGram", "gram_product", "kernel_product"]

#: least number of blocks of a symmetric product: one block would be evaluated whole
PARTS = 8


def kernel_product(kernel: Any, X: Any, Z: Any, array: Any) -> Any:
    """Return k(X, Z) @ array; on NumPy arrays in blocks of rows, so that k(X, Z) is never stored."""
    if not is_numpy(X):
        return kernel(X, Z) @ array
    rows = max(1, BLOCK_BYTES // (8 * max(Z.shape[0], 1)))
    blocks = [kernel(X[start : start + rows], Z) @ array for start in range(0, X.shape[0], rows)]
    return np.concatenate(blocks)


def gram_product(kernel: Any, X: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Return k(X, X) @ array for NumPy arrays, in blocks of which each pair of points is in one only."""
    n = X.shape[0]
    rows = max(1, min(BLOCK_BYTES // (8 * n), -(-n // PARTS)))
    product = np.zeros(array.shape, dtype=np.result_type(X, array))
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        block = kernel(X[start:stop], X[start:])
        product[start:stop] += block @ array[start:]
        product[stop:] += block[:, stop - start :].T @ array[start:stop]
    return product


class KernelGram(LinearOperator):
    """D K D with K_ij = k(x_i, x_j) and a diagonal scaling D, evaluated on demand.

    Products are made in blocks of rows, so that memory stays O(n); :meth:`stored` is the same operator with its matrix,
    several times faster. ``column`` serves the pivoted Cholesky factorisation.
    """

    tags = PSD

    def __init__(self, kernel: Any, X: Any, scale: Any = None) -> None:
        self.kernel = kernel
        self.X = X
        self.scale = None if scale is None else as_like(scale, X)

    @property
    def shape(self):
        return (self.X.shape[0], self.X.shape[0])

    @property
    def like(self):
        return self.X

    @property
    def adjoint(self):
        return self

    def apply(self, array):
        scaled = array if self.scale is None else array * self.scale[:, None]
        if self.kernel.pairwise or not is_numpy(self.X):
            product = kernel_product(self.kernel, self.X, self.X, scaled)
        else:
            product = gram_product(self.kernel, self.X, scaled)
        return product if self.scale is None else product * self.scale[:, None]

    def diagonal(self):
        values = self.kernel.diagonal(self.X)
        return values if self.scale is None else values * self.scale**2

    def column(self, index: int) -> Any:
        return self.columns()(index)

    def some_columns(self, indices: Any) -> Any:
        if self.kernel.pairwise or not is_numpy(self.X):
            return super().some_columns(indices)
        values = self.kernel(self.X[indices], self.X)
        return values if self.scale is None else values * (self.scale[indices, None] * self.scale)

    def columns(self) -> Callable[[int], Any]:
        if self.kernel.pairwise:  # a row of a pairwise kernel's matrix is no point
            matrix = self.kernel(self.X)

            def values(index: int) -> Any:
                return matrix[:, index]
        else:
            values = self.kernel.gram_columns(self.X)
        scale: Any = self.scale
        return values if scale is None else lambda index: values(index) * (scale * scale[index])

    def sample_spectrum(self, rows: Any) -> np.ndarray | None:
        if self.kernel.pairwise:
            return None
        block = KernelGram(self.kernel, self.X[rows, :], None if self.scale is None else self.scale[rows])
        return np.linalg.eigvalsh(block.to_dense())

    def _dense(self):
        if not self.kernel.pairwise:  # which is there already
            announce("kernel matrix", self, KERNEL_WORK * self.shape[0] ** 2)
        matrix = self.kernel(self.X)
        if self.scale is not None:
            matrix = matrix * self.scale[:, None] * self.scale[None, :]
        return matrix

    def own_dense(self) -> Any:
        return super().own_dense() if self.kernel.pairwise else self.to_dense()  # of points it is made anew


@congruence.register
def _(operator: KernelGram, scale: Any) -> LinearOperator:
    both = scale if operator.scale is None else operator.scale * scale
    return KernelGram(operator.kernel, operator.X, both)
