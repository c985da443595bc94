"""The spectral form of K_X ⊗ K_Θ: two thin eigenbases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.backend import machine_epsilon, namespace
from mercer.linalg.eigen import Eigen
from mercer.linalg.spectral import Spectral

__all__ = ["KroneckerSpectral"]


class KroneckerSpectral(Spectral):
    """Eigenvectors S^-½u_a ⊗ W^-½v_b from those of the whitened factors, with eigenvalues σ_a τ_b, shape (r, q).

    Parameters
    ----------
    left, right : Eigen
        Eigenpairs of the whitened factors, of sizes n and m.
    row_root, column_root : array or None
        Roots of the weights s and w.
    """

    def __init__(self, left: Eigen, right: Eigen, row_root: Any = None, column_root: Any = None) -> None:
        self.left, self.right = left, right
        self.spectrum = left.values[:, None] * right.values[None, :]
        xp = namespace(self.spectrum)
        trace_left, trace_right = (float(xp.sum(part.values)) + part.trace_left_out for part in (left, right))
        self.left_out = left.trace_left_out * trace_right + right.trace_left_out * trace_left
        U, V = left.vectors, right.vectors
        self._left_in = U if row_root is None else U * row_root[:, None]
        self._left_back = U if row_root is None else U / row_root[:, None]
        self._right_in = V if column_root is None else V * column_root[:, None]
        self._right_back = V if column_root is None else V / column_root[:, None]
        self._ones = xp.sum(self._left_in, axis=0)  # Uᵀ S^½ 1
        r, (m, q) = U.shape[1], V.shape
        self._right_first = q * (r + m) < r * m  # the cheaper order of the two products for a block of rows

    def factors(self) -> tuple[Any, Any]:
        """Return Φ (n, r) and Ψ (m, q) with ΦΦᵀ = K_X and ΨΨᵀ = K_Θ, without weights."""
        xp = namespace(self.spectrum)
        return self._left_back * xp.sqrt(self.left.values), self._right_back * xp.sqrt(self.right.values)

    @property
    def product_cost(self) -> float:
        (n, r), (m, q) = self.left.vectors.shape, self.right.vectors.shape
        return float(min(n * q * (r + m), r * m * (n + q)))

    def analyse(self, array: Any) -> Any:
        if self._right_first:
            return self._left_in.T @ (array @ self._right_in)
        return (self._left_in.T @ array) @ self._right_in

    def synthesise(self, coordinates: Any) -> Any:
        if self._right_first:
            return (self._left_back @ coordinates) @ self._right_back.T
        return self._left_back @ (coordinates @ self._right_back.T)

    def spread(self, coordinates: Any) -> Any:
        return coordinates if self._right_first else coordinates @ self._right_back.T

    def rows(self, spread: Any, block: slice, out: Any) -> None:
        left = self._left_back[block]
        if self._right_first:
            np.matmul(left @ spread, self._right_back.T, out=out)
        else:
            np.matmul(left, spread, out=out)

    def part(self, array: Any, block: slice) -> Any:
        return self._left_in[block].T @ (array @ self._right_in if self._right_first else array)

    def collect(self, total: Any) -> Any:
        return total if self._right_first else total @ self._right_in

    @property
    def entry_width(self) -> int:
        return self.left.vectors.shape[1] + self.right.vectors.shape[1]

    def entry_block(self, rows: Any, columns: Any) -> Any:
        """Return the Hadamard product of Φ_IΦ_Iᵀ and Ψ_JΨ_Jᵀ, far cheaper than features of rank r·q."""
        left, right = self._entry_factors(rows, columns)
        block = left @ left.T
        block *= right @ right.T
        return block

    def _entry_factors(self, rows: Any, columns: Any) -> tuple[Any, Any]:
        """Return Φ_I and Ψ_J."""
        left, right = self._left_back[rows], self._right_back[columns]
        left *= np.sqrt(self.left.values)
        right *= np.sqrt(self.right.values)
        return left, right

    def entry_features(self, rows: Any, columns: Any, kept: Any) -> Any:
        a, b = np.unravel_index(kept, self.spectrum.shape)
        left, right = self._entry_factors(rows, columns)
        features = left.T[a]
        features *= right.T[b]
        return features

    def entry_values(self, coordinates: Any, rows: Any, columns: Any) -> Any:
        along = coordinates @ self._right_back.T  # (r, m)
        return np.einsum("ka,ak->k", self._left_back[rows], along[:, columns])

    def constant(self, row: Any) -> Any:
        return self._ones[:, None] * (row @ self._right_in)[None, :]

    def constant_sums(self, coordinates: Any) -> Any:
        return self._right_in @ (self._ones @ coordinates)

    def _inside(self, gain: Any) -> Any:
        return namespace(self.spectrum).sum(gain * (self._ones * self._ones)[:, None], axis=0)

    def constant_gram(self, gain: Any) -> Any:
        return (self._right_in * self._inside(gain)) @ self._right_in.T

    def constant_solver(self, shrink: Any, weights: Any, total: float) -> Callable[[Any], Any]:
        # total·I − V diag(inside) Vᵀ in whitened columns, whose inverse is diagonal in V and 1/total outside; what is
        # outside of the gains, total − inside, is summed from parts without cancellation
        rest = total - float(namespace(self._ones).sum(self._ones * self._ones))  # outside the basis of K_X
        noise = machine_epsilon(self._ones) * total * max(1.0, self._ones.shape[0] ** 0.5)
        outside = (rest if rest > 8 * noise else 0.0) + self._inside(shrink)
        least = machine_epsilon(outside) * total  # what rounding leaves of right-hand sides is not to be magnified
        change, back = 1 / namespace(outside).where(outside > least, outside, least) - 1 / total, self._right_back
        return lambda rhs: rhs / (total * weights) + back @ (change * (rhs @ back))
