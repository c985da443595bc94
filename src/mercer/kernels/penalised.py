"""A kernel under a norm with a further price: for what functions do at points without targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._params import check_number
from mercer.backend import as_like, namespace, to_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.kernels.base import Kernel
from mercer.linalg.memory import beyond_budget, memory_budget
from mercer.linalg.pivoted_cholesky import FACTOR_COPIES, pivoted_factor

__all__ = ["Penalised", "penalised_kernel"]

#: share of the trace of Gram matrices that is not penalised, as it is near rounding
UNPENALISED = 1e-12


@dataclass(eq=False, repr=False)
class Penalised(Kernel):
    """The kernel of x ↦ Σ_a w_a h_a(x) for the norm Σ_a ‖h_a‖² + c·uᵀMu, u the values of the h_a at some points.

    It is k̃(x, z) = Σ_a w_a² k_a(x, z) − Σ_l ψ_l(x)ψ_l(z)·c s_l/(1 + c s_l), in which M is diagonal in the functions
    ψ_l, with s_l on its diagonal. With one view, h = h_1, and a graph Laplacian M this is manifold regularisation; with
    several and a price for their differences co-regularisation. Made by :func:`penalised_kernel`.

    Parameters
    ----------
    kernels : list of Kernel
        k_a, adapted.
    weights : array of shape (n_views,)
        w_a.
    points : array of shape (r, d)
        Points whose kernel sections span the ψ_l, those of the first view first.
    counts : array of int, shape (n_views,)
        How many of them each view has.
    directions : array of shape (r, r)
        T with ψ(x) = Tᵀ(w_a k_a(x, points)).
    energies : array of shape (r,)
        s_l ≥ 0.
    strength : float
        c ≥ 0.
    """

    kernels: Any
    weights: Any
    points: Any
    counts: Any
    directions: Any
    energies: Any
    strength: float = 1.0

    def _check(self) -> None:
        check_number(self, "strength", self.strength, low=0, strict=False)
        if not all(isinstance(kernel, Kernel) and not kernel.pairwise for kernel in self.kernels):
            raise parameter_error(self, "kernels", self.kernels, "kernels on vectors")

    @property
    def adapted(self) -> bool:
        """Yes: its kernels are."""
        return True

    def _evaluate(self, X, Z):
        psi = self._sections(X)
        other = psi if Z is X else self._sections(Z)
        plain = sum(w**2 * kernel._evaluate(X, Z) for w, kernel in zip(self._view_weights, self.kernels, strict=True))
        return plain - (psi * as_like(self._removed, psi)) @ other.T

    def _diagonal(self, X):
        psi = self._sections(X)
        plain = sum(w**2 * kernel._diagonal(X) for w, kernel in zip(self._view_weights, self.kernels, strict=True))
        return plain - psi**2 @ as_like(self._removed, psi)

    @property
    def _view_weights(self) -> list[float]:
        return [float(weight) for weight in self.weights]

    @property
    def _removed(self) -> np.ndarray:
        """The share c s/(1 + c s) of each direction that the price takes."""
        price = float(self.strength) * np.asarray(self.energies, dtype=float)
        return price / (1 + price)

    def _sections(self, X: Any) -> Any:
        """Return ψ(x_i), shape (n, r)."""
        xp, points = namespace(X), as_like(np.asarray(self.points, dtype=float), X)
        stops = np.cumsum(self.counts).tolist()
        starts = [0, *stops[:-1]]
        values = [
            w * kernel._evaluate(X, points[start:stop, :])
            for w, kernel, start, stop in zip(self._view_weights, self.kernels, starts, stops, strict=True)
        ]
        return xp.concat(values, axis=1) @ as_like(np.asarray(self.directions, dtype=float), X)


def penalised_kernel(kernels: Sequence[Kernel], weights: Any, X: Any, matrix: Any, strength: float = 1.0) -> Penalised:
    """Return the kernel of Σ_a w_a h_a under the norm Σ_a ‖h_a‖² + c·uᵀMu, u_{an + i} = h_a(x_i).

    The Gram matrices of the views are factorised, K_a ≈ Φ_aΦ_aᵀ, to 1e-12 of their traces; then M is diagonalised
    among the functions of these factors, ΦᵀMΦ = U diag(s) Uᵀ: O(n r² + r³) operations, r the sum of the ranks, and a
    product with M. Other functions vanish at the points but for a millionth of their norm, and have no price.

    Parameters
    ----------
    kernels : sequence of Kernel
        k_a; one for plain manifold regularisation.
    weights : array-like of shape (n_views,)
        w_a.
    X : array of shape (n, d)
        Points, with targets or without.
    matrix : array or sparse matrix of shape (n_views·n, n_views·n)
        M, symmetric and positive semi-definite.
    strength : float, default=1.0
        c ≥ 0.

    Examples
    --------
    Two points, of which h may not differ much:

    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> X, M = np.array([[0.0], [1.0]]), np.array([[1.0, -1.0], [-1.0, 1.0]])
    >>> penalised_kernel([Gaussian(1.0)], [1.0], X, M, strength=1e6)(X).round(3)
    array([[0.684, 0.684],
           [0.684, 0.684]])
    """
    X = np.asarray(to_numpy(X), dtype=float)
    kernels = [kernel.adapt(X) for kernel in kernels]
    size = len(kernels) * len(X)
    if matrix.shape != (size, size):
        raise DataError(f"penalised_kernel: matrix must have shape ({size}, {size}); got {tuple(matrix.shape)}.")
    factors, roots, points = zip(*(_thin(kernel, X) for kernel in kernels), strict=True)
    whole = scipy.linalg.block_diag(*factors)
    inner = whole.T @ (matrix @ whole)
    energies, vectors = np.linalg.eigh((inner + inner.T) / 2)
    directions = scipy.linalg.solve_triangular(scipy.linalg.block_diag(*roots), vectors, lower=True, trans="T")
    counts = np.array([len(some) for some in points])
    return Penalised(
        kernels,
        np.asarray(weights, dtype=float),
        np.vstack(points),
        counts,
        directions,
        np.maximum(energies, 0.0),
        strength,
    )


def _thin(kernel: Kernel, X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Φ with ΦΦᵀ ≈ K, its rows at the pivots (lower triangular), and these points."""
    gram, size = kernel.gram(X), 8.0 * FACTOR_COPIES * len(X) ** 2
    limit = None if size <= memory_budget() else len(X)  # with a limit it asks for the memory of the columns it takes
    found = pivoted_factor(gram, UNPENALISED * float(np.sum(to_numpy(gram.diagonal()))), limit)
    if found is None:
        raise beyond_budget(size, f"a factor of the kernel matrix of {len(X)} rows", "Pass fewer rows without targets.")
    return found.factor, found.factor[found.pivots], X[found.pivots]
