"""The contract of a Gram operator: what problems and solvers may ask of it, whatever it is made of."""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer.backend import device, namespace
from mercer.exceptions import DataError, UnsupportedError
from mercer.linalg.centred_basis import CentredBasis
from mercer.linalg.operators import PSD, LinearOperator
from mercer.linalg.spectral import Spectral
from mercer.linalg.thin_features import ThinFeatures

__all__ = ["GATHERED", "Costs", "Gram"]

#: multiplications that looking up a number in a stored matrix is worth
GATHERED = 30.0


class Costs(NamedTuple):
    """Estimates of multiplications: what ``solver="auto"`` and the closed form compare."""

    product: float  #: one product
    factorisation: float  #: one solve with a shift; infinite where there is no direct way
    decomposition: float  #: all eigenpairs
    entry: float = math.inf  #: one number of ``entries``; infinite where the matrices are not stored


class Gram(LinearOperator):
    """A positive operator 𝐊 on (n, m) arrays, self-adjoint for ⟨A, B⟩ = Σ_ij s_i w_j A_ij B_ij.

    (𝐊A)_i = Σ_j s_j K(x_i, x_j)(w ∘ a_j). It is *not* symmetric for the plain inner product; its whitened form
    S^½W^½ 𝐊 S^-½W^-½ is, and eigenvectors, Cholesky and conjugate gradients are those of the latter.

    A kernel makes a Gram without weights, a problem puts them on (:meth:`weighted`). Grams are immutable: what is
    computed is kept only where that is asked for, by :meth:`stored`, :meth:`decomposed` and :meth:`featured`, which
    return another Gram.

    Parameters
    ----------
    array_shape : (int, int)
        (n, m).
    row_weights, column_weights : array, optional
        Positive s (n,) and w (m,); ones by default.
    """

    tags = PSD
    #: whether it is a product K_X ⊗ K_Θ, whose factors ``spectral().factors()`` has
    decomposes: ClassVar[bool] = False

    def __init__(self, array_shape: tuple[int, int], row_weights: Any = None, column_weights: Any = None) -> None:
        self.array_shape = (int(array_shape[0]), int(array_shape[1]))
        for name, weights, size in zip(("row", "column"), (row_weights, column_weights), array_shape, strict=True):
            if weights is not None and tuple(weights.shape) != (size,):
                raise DataError(
                    f"{type(self).__name__}: {name} weights must have shape {(size,)}; got {tuple(weights.shape)}."
                )
        self._row_root = None if row_weights is None else namespace(row_weights).sqrt(row_weights)
        self._column_root = None if column_weights is None else namespace(column_weights).sqrt(column_weights)
        self._spectral: tuple[float, Spectral] | None = None

    @property
    def shape(self):
        size = self.array_shape[0] * self.array_shape[1]
        return (size, size)

    @property
    def adjoint(self):
        return self

    def column(self, index: int) -> Any:
        """Return one column of the dense form: the image of an array with a single 1, flat."""
        xp = namespace(self.like)
        unit = xp.zeros(self.array_shape, dtype=self.like.dtype, device=device(self.like))
        unit[index // self.array_shape[1], index % self.array_shape[1]] = 1.0
        return xp.reshape(self.apply(unit), (-1,))

    # -- the weighted geometry ---------------------------------------------------------------------------------

    @abstractmethod
    def weighted(self, row_weights: Any, column_weights: Any) -> Gram:
        """Return the Gram of the same kernel with these weights (None: ones) in place of its own."""

    def whiten(self, array: Any) -> Any:
        """Return S^½ A W^½, whose plain inner products are the weighted ones of A."""
        if self._row_root is not None:
            array = array * self._row_root[:, None]
        return array if self._column_root is None else array * self._column_root[None, :]

    def unwhiten(self, array: Any) -> Any:
        """Undo :meth:`whiten`."""
        if self._row_root is not None:
            array = array / self._row_root[:, None]
        return array if self._column_root is None else array / self._column_root[None, :]

    def inner(self, left: Any, right: Any) -> float:
        """Return Σ_ij s_i w_j A_ij B_ij."""
        xp, product = namespace(left), left * right
        rows = xp.sum(product, axis=1) if self._column_root is None else product @ self._column_root**2
        return float(xp.sum(rows) if self._row_root is None else (self._row_root**2) @ rows)

    def sizes(self) -> tuple[Any, Any]:
        """Return r (n,) and c (m,) with |K_(ij)(kl)| ≤ r_i c_j r_k c_l, for the kernel without weights."""
        xp = namespace(self.like)
        diagonal = xp.reshape(self.diagonal(), self.array_shape)  # s_i w_j K_(ij)(ij)
        roots = self.unwhiten(xp.sqrt(xp.where(diagonal > 0, diagonal, xp.zeros_like(diagonal))))
        return xp.max(roots, axis=1), xp.ones_like(roots[0, :])

    # -- what is computed from it ------------------------------------------------------------------------------

    @abstractmethod
    def norm2(self) -> float:
        """Return the largest eigenvalue, or a number at most a few per cent above it."""

    @abstractmethod
    def _decompose(self, tolerance: float) -> Spectral:
        """Compute :meth:`spectral`."""

    def spectral(self, tolerance: float = 0.0) -> Spectral:
        """Return eigenpairs that leave out at most ``tolerance`` of the trace."""
        if self._spectral is not None and self._spectral[0] <= tolerance:
            return self._spectral[1]
        return self._decompose(tolerance)

    def require_spectral(self, tolerance: float) -> None:
        """Refuse at once a spectral form that clearly does not fit into the memory budget; cheap, and free if it does.

        Forms that are not refused may still be, by :meth:`spectral`, which finds out by trying.
        """

    def decomposed(self, tolerance: float) -> Gram:
        """Return the same Gram with its spectral form kept, for all requests that are not more exact."""
        if self._spectral is not None and self._spectral[0] <= tolerance:
            return self
        other = copy.copy(self)
        other._spectral = (tolerance, self._decompose(tolerance))
        return other

    def leading(self, rank: int, tolerance: float = 0.0) -> Spectral:
        """Return eigenpairs of Nyström's approximation of 𝐊 from ``rank`` rows at most, whatever it leaves out.

        Fewer rows are taken where these leave a trace of ``tolerance``. It is to precondition, not to solve.
        """
        raise UnsupportedError(f"{self!r} has no rows to take few of.")

    @abstractmethod
    def features(self, tolerance: float, scale: float = 1.0, observed: Any = None) -> ThinFeatures:
        """Return Φ with scale·𝐊 ≈ ΦΦᵀ on whitened arrays, for conjugate gradients; see :class:`ThinFeatures`.

        What is left out of 𝐊 has a trace of at most ``tolerance``; ``observed`` is a mask of the entries that count.
        """

    def featured(self, tolerance: float) -> Gram:
        """Return the same Gram with what :meth:`features` computes kept, for requests that are not more exact."""
        return self.decomposed(tolerance)

    @property
    @abstractmethod
    def costs(self) -> Costs:
        """What products and factorisations cost."""

    @property
    def direct(self) -> bool:
        """Whether :meth:`shifted_solve` factorises; otherwise conjugate gradients are the cheaper way."""
        return True

    @abstractmethod
    def shifted_solve(self, shift: float, rhs: Any, centred: bool = False) -> Any:
        """Return (𝐊 + shift)⁻¹ rhs for a positive shift.

        With ``centred``, of rhs − 1⊗ν, the rows ν ∈ R^m being such that Σ_i s_i a_i = 0 holds for the answer a.
        """

    def _spectral_solve(self, shift: float, rhs: Any, centred: bool) -> Any:
        """:meth:`shifted_solve` from the eigenpairs: (𝐊 + t)⁻¹r = (r − U[g ∘ Uᵀr])/t with g = d/(d + t)."""
        spectral = self.spectral()
        gain = spectral.spectrum / (spectral.spectrum + shift)
        coordinates = gain * spectral.analyse(rhs)
        if not centred:
            return (rhs - spectral.synthesise(coordinates)) / shift
        xp = namespace(rhs)
        s, w = (
            xp.ones_like(example) if root is None else root**2
            for root, example in ((self._row_root, rhs[:, 0]), (self._column_root, rhs[0, :]))
        )
        solver = spectral.constant_solver(shift / (spectral.spectrum + shift), w, float(xp.sum(s)))
        nu = solver(w * (s @ rhs) - spectral.constant_sums(coordinates))
        coordinates = coordinates - gain * spectral.constant(nu)
        return (rhs - nu[None, :] - spectral.synthesise(coordinates)) / shift

    @abstractmethod
    def taken(self, rows: Any, columns: Any) -> Gram:
        """Return the Gram of some rows and columns of arrays, by index, with repetitions: stored, without weights."""

    @abstractmethod
    def entries(self, rows: Any, columns: Any) -> Any:
        """Return the whitened matrix on some entries (i, j) of arrays, given by two index arrays: a dense block."""

    @property
    def columns_alike(self) -> bool:
        """Whether the operator does the same to each column of arrays, see :meth:`column_operator`."""
        return False

    def column_operator(self) -> LinearOperator:
        """Return K (n × n) with 𝐊A = K(SA), where columns are alike."""
        raise UnsupportedError(f"{self!r} mixes the columns of arrays.")

    def stored(self, limit: int | None = None) -> Gram:
        """Return the same Gram with its large matrix stored where that takes at most ``limit`` bytes, else itself."""
        return self

    def sample_spectrum(self, size: int) -> np.ndarray | None:
        """Return eigenvalues (ascending) on ``size`` rows at equal steps, in the leading direction of the columns.

        None where that is not cheap. Times n/size the largest is a guess of :meth:`norm2`.
        """
        return None

    # -- the two bases of a product, for all ridge fits at once ------------------------------------------------

    def input_basis(self, tolerance: float, centred: bool) -> CentredBasis:
        """Return eigenpairs of the whitened K_X, orthogonal to the intercept's direction if ``centred``.

        They are thin where what is left out has a trace of at most ``tolerance`` and the rank is small.
        """
        raise self._indecomposable()

    def output_basis(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all eigenvalues of the whitened K_Θ, the largest first, and eigenvectors (NumPy)."""
        raise self._indecomposable()

    def with_factors(self, left: LinearOperator | None = None, right: LinearOperator | None = None) -> Gram:
        """Return the Gram with the same weights and another K_X or K_Θ, given without weights."""
        raise self._indecomposable()

    def _indecomposable(self) -> UnsupportedError:
        return UnsupportedError(f"{self!r} does not decompose into K_X ⊗ K_Θ.")
