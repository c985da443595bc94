"""The spectral form of a Gram operator: what solvers that work in an eigenbasis may ask of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from mercer.backend import device, is_numpy, machine_epsilon, namespace
from mercer.exceptions import UnsupportedError
from mercer.linalg.positive import positive_solver

__all__ = ["Spectral"]


class Spectral(ABC):
    """Orthonormal eigenvectors u_k of a Gram operator in the weighted geometry: 𝐊 ≈ Σ_k d_k ⟨u_k, ·⟩ u_k.

    ``analyse`` and ``synthesise`` go from (n, m) arrays to coordinates and back, as arrays of the shape of
    ``spectrum``. Algorithms that pass over blocks of rows, to stay in cache, use :meth:`spread` and :meth:`rows`
    instead of ``synthesise``, and :meth:`part` and :meth:`collect` instead of ``analyse``. Arrays whose rows are all
    equal, which is what an intercept adds, have coordinates of their own: :meth:`constant` and :meth:`constant_sums`.
    """

    #: eigenvalues d_k, in the shape of coordinates
    spectrum: Any
    #: bound on the trace, hence the norm, of what is not represented
    left_out: float

    @property
    def rank(self) -> int:
        """Number of eigenpairs."""
        size = 1
        for length in self.spectrum.shape:
            size *= int(length)
        return size

    @property
    @abstractmethod
    def product_cost(self) -> float:
        """Multiplications of :meth:`analyse` or :meth:`synthesise`."""

    def factors(self) -> tuple[Any, Any]:
        """Return Φ (n, r) and Ψ (m, q) with 𝐊 ≈ ΦΦᵀ ⊗ ΨΨᵀ without weights, where the operator decomposes."""
        raise UnsupportedError(f"{type(self).__name__} belongs to a Gram operator that does not decompose.")

    # -- whole arrays ------------------------------------------------------------------------------------------

    @abstractmethod
    def analyse(self, array: Any) -> Any:
        """Return the coordinates ⟨u_k, A⟩ of an (n, m) array."""

    @abstractmethod
    def synthesise(self, coordinates: Any) -> Any:
        """Return Σ_k c_k u_k, shape (n, m)."""

    # -- blocks of rows ----------------------------------------------------------------------------------------

    @abstractmethod
    def spread(self, coordinates: Any) -> Any:
        """Return coordinates in the form that :meth:`rows` takes them, whatever that is."""

    @abstractmethod
    def rows(self, spread: Any, block: slice, out: Any) -> None:
        """Write the rows ``block`` of the array with these coordinates to ``out``, of shape (rows, m)."""

    @abstractmethod
    def part(self, array: Any, block: slice) -> Any:
        """Return what the rows ``block`` of an array, given alone, add to its coordinates, for :meth:`collect`."""

    @abstractmethod
    def collect(self, total: Any) -> Any:
        """Return the coordinates from the sum of all parts."""

    # -- single entries ----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def entry_width(self) -> int:
        """Multiplications that an entry of :meth:`entry_block` takes."""

    @abstractmethod
    def entry_block(self, rows: Any, columns: Any) -> Any:
        """Return the kernel that is represented, without weights, between k entries (i, j) of arrays: (k, k)."""

    @abstractmethod
    def entry_features(self, rows: Any, columns: Any, kept: Any) -> Any:
        """Return √d u at k entries, for the coordinates with the flat indices ``kept``: (len(kept), k)."""

    @abstractmethod
    def entry_values(self, coordinates: Any, rows: Any, columns: Any) -> Any:
        """Return k entries (i, j) of the array with these coordinates."""

    # -- constants ---------------------------------------------------------------------------------------------

    @abstractmethod
    def constant(self, row: Any) -> Any:
        """Return the coordinates of the array whose rows are all ``row``, of shape (m,)."""

    @abstractmethod
    def constant_sums(self, coordinates: Any) -> Any:
        """Return w_j Σ_i s_i a_ij of the array a with these coordinates, shape (m,): the adjoint of ``constant``."""

    @abstractmethod
    def constant_gram(self, gain: Any) -> Any:
        """Return Cᵀ diag(gain) C, shape (m, m), with C = :meth:`constant`."""

    def constant_solver(self, shrink: Any, weights: Any, total: float) -> Callable[[Any], Any]:
        """Return rhs ↦ ν, the solution of (total·diag(weights) − Cᵀ diag(1 − shrink) C)ν = rhs.

        It is the system behind a ridge step whose rows sum to zero.
        """
        xp = namespace(weights)
        unit = xp.eye(weights.shape[0], dtype=weights.dtype, device=device(weights))
        matrix = total * (weights[:, None] * unit) - self.constant_gram(1 - shrink)
        if is_numpy(matrix):
            return positive_solver(matrix, machine_epsilon(matrix) * total * float(xp.max(weights)))
        return lambda rhs: xp.linalg.solve(matrix, rhs[:, None])[:, 0]
