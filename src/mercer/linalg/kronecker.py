"""K_X ⊗ K_Θ acting on (n, m) arrays in the geometry of the sample weights and of μ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import device, machine_epsilon, namespace
from mercer.exceptions import UnsupportedError
from mercer.linalg.conjugate_gradient import conjugate_gradient
from mercer.linalg.eigen import Eigen, congruence, eigh, norm2, solve
from mercer.linalg.operators import LinearOperator, Masked

__all__ = ["Kronecker", "KroneckerEigen"]


class Kronecker(LinearOperator):
    """A ↦ K (S A W) T with symmetric K (n×n), T (m×m) and diagonal weights S, W.

    It is self-adjoint for ⟨A, B⟩ = Σ_ij s_i w_j A_ij B_ij, not for the plain inner product. Therefore the *whitened*
    factors S^½ K S^½ and W^½ T W^½ are what is stored: they are symmetric, so that ``eigh``, Cholesky and
    conjugate gradients are the textbook ones.

    Parameters
    ----------
    left, right : LinearOperator
        K and T, symmetric and positive semi-definite.
    left_weights, right_weights : array, optional
        Positive diagonals of S (n,) and W (m,); ones by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> K = Kronecker(Dense(np.eye(2)), Dense(np.ones((2, 2))), right_weights=np.array([0.5, 0.5]))
    >>> K @ np.array([[1.0, 3.0], [0.0, 2.0]])
    array([[2., 2.],
           [1., 1.]])
    """

    tags = frozenset({"self-adjoint", "psd"})

    def __init__(
        self, left: LinearOperator, right: LinearOperator, left_weights: Any = None, right_weights: Any = None
    ) -> None:
        self.left_root = None if left_weights is None else namespace(left_weights).sqrt(left_weights)
        self.right_root = None if right_weights is None else namespace(right_weights).sqrt(right_weights)
        self.left = left if self.left_root is None else congruence(left, self.left_root)
        self.right = right if self.right_root is None else congruence(right, self.right_root)
        self._eigen: tuple[float, KroneckerEigen] | None = None

    @property
    def shape(self):
        size = self.left.shape[0] * self.right.shape[0]
        return (size, size)

    @property
    def like(self):
        return self.left.like

    @property
    def adjoint(self):
        return self

    def whiten(self, array: Any) -> Any:
        """Return S^½ A W^½, whose plain inner products are the weighted ones of A."""
        if self.left_root is not None:
            array = array * self.left_root[:, None]
        return array if self.right_root is None else array * self.right_root[None, :]

    def unwhiten(self, array: Any) -> Any:
        """Undo :meth:`whiten`."""
        if self.left_root is not None:
            array = array / self.left_root[:, None]
        return array if self.right_root is None else array / self.right_root[None, :]

    def apply(self, array):
        return self.unwhiten(self.left @ (self.right @ self.whiten(array).T).T)

    def inner(self, left: Any, right: Any) -> float:
        """Return Σ_ij s_i w_j A_ij B_ij."""
        return float(namespace(left).sum(self.whiten(left) * self.whiten(right)))

    def diagonal(self):
        xp = namespace(self.like)
        return xp.reshape(self.left.diagonal()[:, None] * self.right.diagonal()[None, :], (-1,))

    def _dense(self):
        xp = namespace(self.like)
        left, right = self.left.to_dense(), self.right.to_dense()
        n, m = left.shape[0], right.shape[0]
        matrix = xp.reshape(left[:, None, :, None] * right[None, :, None, :], (n * m, n * m))
        ones = xp.ones((n, m), dtype=matrix.dtype, device=device(matrix))
        root = xp.reshape(self.whiten(ones), (-1,))
        return matrix * root[None, :] / root[:, None]

    def norm2(self) -> float:
        """Return (an upper estimate of) the largest eigenvalue."""
        return norm2(self.left) * norm2(self.right)

    def eigh(self, tolerance: float = 0.0) -> KroneckerEigen:
        """Return thin eigenbases of both factors that leave out at most ``tolerance`` of the product's trace.

        The last answer is kept and serves every request that is not more exact.
        """
        if self._eigen is not None and self._eigen[0] <= tolerance:
            return self._eigen[1]
        xp = namespace(self.like)
        trace_left = float(xp.sum(self.left.diagonal()))
        trace_right = float(xp.sum(self.right.diagonal()))
        left = eigh(self.left, tolerance / (2 * trace_right) if trace_right > 0 else 0.0)
        right = eigh(self.right, tolerance / (2 * trace_left) if trace_left > 0 else 0.0)
        self._eigen = (tolerance, KroneckerEigen(left, right, self))
        return self._eigen[1]

    def solve(self, shift: float, rhs: Any) -> Any:
        """Return (𝐊 + shift·I)⁻¹ rhs through the eigenbases of the factors."""
        eigen = self.eigh()
        gain = 1 / (eigen.spectrum + shift) - 1 / shift
        return rhs / shift + eigen.synthesise(gain * eigen.analyse(rhs))


@norm2.register
def _(operator: Kronecker) -> float:
    return operator.norm2()


@eigh.register(Kronecker)
def _(operator: Kronecker, tolerance: float = 0.0) -> KroneckerEigen:
    return operator.eigh(tolerance)


@solve.register
def _(operator: Kronecker, shift: float, rhs: Any) -> Any:
    return operator.solve(shift, rhs)


@norm2.register
def _(operator: Masked) -> float:
    return norm2(operator.operator)  # a mask is a projection: it makes no norm larger


@solve.register
def _(operator: Masked, shift: float, rhs: Any) -> Any:
    """Conjugate gradients, in whitened coordinates where the operator has weights."""
    inner = operator.operator
    whiten, unwhiten = (inner.whiten, inner.unwhiten) if isinstance(inner, Kronecker) else (_same, _same)
    answer, _, _ = conjugate_gradient(
        lambda array: whiten(operator @ unwhiten(array)) + shift * array,
        whiten(rhs),
        tolerance=1e2 * machine_epsilon(rhs),
        max_iter=10 * operator.shape[0],
    )
    return unwhiten(answer)


@eigh.register
def _(operator: Masked, tolerance: float = 0.0, max_rank_share: float = 0.25) -> Any:
    raise UnsupportedError(
        "A masked operator has lost the structure that eigh uses. Use solve or conjugate_gradient with it, or the "
        "eigenbases of the operator behind the mask."
    )


def _same(array: Any) -> Any:
    return array


@dataclass(frozen=True, eq=False)
class KroneckerEigen:
    """Thin orthonormal eigenbases of the whitened factors: A ≈ synthesise(analyse(A)) on their span."""

    left: Eigen
    right: Eigen
    operator: Kronecker

    @property
    def spectrum(self) -> Any:
        """Eigenvalues σ_a λ_b of the product, shape (r, q)."""
        return self.left.values[:, None] * self.right.values[None, :]

    @property
    def rank(self) -> int:
        """Number of eigenpairs of the product."""
        return int(self.left.values.shape[0]) * int(self.right.values.shape[0])

    def analyse(self, array: Any) -> Any:
        """Return the coordinates Uᵀ(S^½ A W^½)V, shape (r, q)."""
        return self.left.vectors.T @ (self.operator.whiten(array) @ self.right.vectors)

    def synthesise(self, coordinates: Any) -> Any:
        """Return the array with the given coordinates, shape (n, m)."""
        return self.operator.unwhiten(self.left.vectors @ (coordinates @ self.right.vectors.T))
