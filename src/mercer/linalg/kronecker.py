"""K_X ⊗ K_Θ acting on (n, m) arrays in the geometry of the sample weights and of μ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.backend import device, is_numpy, namespace
from mercer.exceptions import DataError
from mercer.linalg.centred_basis import CentredBasis, centred_basis
from mercer.linalg.eigen import congruence, eigh, norm2, require_eigh, scaled, solve
from mercer.linalg.gram import GATHERED, Costs, Gram
from mercer.linalg.kronecker_spectral import KroneckerSpectral
from mercer.linalg.operators import PSD, Dense, LinearOperator
from mercer.linalg.random_pivots import leading_eigen
from mercer.linalg.tensor import complete_eigenbasis
from mercer.linalg.thin_features import GridFeatures, ThinFeatures

__all__ = ["Kronecker"]


class Kronecker(Gram):
    """A ↦ K (S A W) T with symmetric K (n×n), T (m×m) and diagonal weights S, W.

    It is self-adjoint for ⟨A, B⟩ = Σ_ij s_i w_j A_ij B_ij, not for the plain inner product. Therefore the *whitened*
    factors S^½ K S^½ and W^½ T W^½ are what algorithms see: they are symmetric, so that ``eigh``, Cholesky and
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

    decomposes = True

    def __init__(
        self, left: LinearOperator, right: LinearOperator, left_weights: Any = None, right_weights: Any = None
    ) -> None:
        super().__init__((left.shape[0], right.shape[0]), left_weights, right_weights)
        self._given = left, right
        self.left = left if self._row_root is None else congruence(left, self._row_root)
        self.right = right if self._column_root is None else congruence(right, self._column_root)

    @property
    def like(self):
        return self.left.like

    def weighted(self, row_weights: Any, column_weights: Any) -> Kronecker:
        return type(self)(*self._given, row_weights, column_weights)

    def apply(self, array):
        return self.unwhiten(self.left @ (self.right @ self.whiten(array).T).T)

    def diagonal(self):
        xp = namespace(self.like)
        return xp.reshape(self.left.diagonal()[:, None] * self.right.diagonal()[None, :], (-1,))

    def sizes(self) -> tuple[Any, Any]:
        xp = namespace(self.like)
        left, right = (xp.sqrt(xp.abs(operator.diagonal())) for operator in self._given)
        return left, right

    def _dense(self):
        xp = namespace(self.like)
        left, right = self.left.to_dense(), self.right.to_dense()
        n, m = left.shape[0], right.shape[0]
        matrix = xp.reshape(left[:, None, :, None] * right[None, :, None, :], (n * m, n * m))
        ones = xp.ones((n, m), dtype=matrix.dtype, device=device(matrix))
        root = xp.reshape(self.whiten(ones), (-1,))
        return matrix * root[None, :] / root[:, None]

    def column(self, index: int) -> Any:
        i, j = divmod(index, self.array_shape[1])
        left, right = self.left.column(i), self.right.column(j)
        if self._row_root is not None:
            left = left / self._row_root * self._row_root[i]
        if self._column_root is not None:
            right = right / self._column_root * self._column_root[j]
        return namespace(left).reshape(left[:, None] * right[None, :], (-1,))

    def norm2(self) -> float:
        return norm2(self.left) * norm2(self.right)

    def _traces(self) -> tuple[float, float]:
        xp = namespace(self.like)
        return float(xp.sum(self.left.diagonal())), float(xp.sum(self.right.diagonal()))

    def _decompose(self, tolerance: float) -> KroneckerSpectral:
        trace_left, trace_right = self._traces()
        left = eigh(self.left, tolerance / (2 * trace_right) if trace_right > 0 else 0.0)
        right = eigh(self.right, tolerance / (2 * trace_left) if trace_left > 0 else 0.0)
        return KroneckerSpectral(left, right, self._row_root, self._column_root)

    def leading(self, rank: int, tolerance: float = 0.0) -> KroneckerSpectral:
        right = eigh(self.right)
        trace_right = self._traces()[1]
        left = leading_eigen(self.left, rank, tolerance / trace_right if trace_right > 0 else 0.0)
        return KroneckerSpectral(left, right, self._row_root, self._column_root)

    def require_spectral(self, tolerance: float) -> None:
        trace_right = self._traces()[1]
        require_eigh(self.left, tolerance / (2 * trace_right) if trace_right > 0 else 0.0)

    def features(self, tolerance: float, scale: float = 1.0, observed: Any = None) -> ThinFeatures:
        spectral: Any = self.spectral(tolerance)
        return GridFeatures(spectral.left, spectral.right, scale, observed)

    def taken(self, rows: Any, columns: Any) -> Gram:
        def block(operator: LinearOperator, index: Any) -> Dense:
            matrix = operator.to_dense()
            take = namespace(matrix).take
            return Dense(take(take(matrix, index, axis=0), index, axis=1), PSD)

        return Kronecker(block(self._given[0], rows), block(self._given[1], columns))

    def entries(self, rows: Any, columns: Any) -> Any:
        return self.left.to_dense()[np.ix_(rows, rows)] * self.right.to_dense()[np.ix_(columns, columns)]

    @property
    def columns_alike(self) -> bool:
        return _one_eigenvalue(self.right)

    def column_operator(self) -> LinearOperator:
        if not self.columns_alike:
            return super().column_operator()
        left = self.left if self._row_root is None else self._given[0]
        return scaled(left, float(self.right.diagonal()[0]))

    @property
    def costs(self) -> Costs:
        n, m = self.array_shape
        rank = self.left.most_rank  # far below n for features: all that takes n³ operations takes n·rank² then
        factorisation = (len(self._output_groups()) or math.inf) * n * rank**2 / 3
        stored = isinstance(self.left, Dense) and isinstance(self.right, Dense)
        entry = 2 * GATHERED if stored else math.inf
        product = self.left.product_cost * m + n * m * m
        return Costs(product, factorisation, 9.0 * (n * rank**2 + m**3), entry)

    def stored(self, limit: int | None = None) -> Gram:
        left = self.left.stored(limit)
        if left is self.left:
            return self
        return self._with(left=left)

    def _with(self, **changes: Any) -> Any:
        """Return a copy with other forms of the same operators."""
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__ | changes)
        return other

    def sample_spectrum(self, size: int) -> np.ndarray | None:
        rows = np.linspace(0, self.array_shape[0] - 1, size).astype(int)
        values = self.left.sample_spectrum(rows) if is_numpy(self.like) else None
        return None if values is None else values * norm2(self.right)

    # -- solves ------------------------------------------------------------------------------------------------

    def shifted_solve(self, shift: float, rhs: Any, centred: bool = False) -> Any:
        groups = self._output_groups()
        if not groups:
            return self._spectral_solve(shift, rhs, centred)
        whitened, total = self.whiten(rhs), 0.0
        for value, basis in groups:
            part = self._solve_columns(shift, value, whitened if basis is None else whitened @ basis, centred)
            total = total + (part if basis is None else part @ basis.T)
        return self.unwhiten(total)

    def _solve_columns(self, shift: float, value: float, targets: Any, centred: bool) -> Any:
        """Return (value·K + shift)⁻¹ of whitened columns, orthogonal to the constant if ``centred``."""
        if not centred:
            return _scaled_solve(self.left, value, shift, targets)
        xp = namespace(targets)
        root = xp.ones_like(targets[:, 0]) if self._row_root is None else self._row_root
        solved = _scaled_solve(self.left, value, shift, xp.concat([targets, root[:, None]], axis=1))
        answers, ones = solved[:, :-1], solved[:, -1]
        nu = (root @ answers) / (root @ ones)
        return answers - ones[:, None] * nu[None, :]

    def _output_groups(self) -> list[tuple[float, Any]]:
        """Return the distinct eigenvalues of the whitened output matrix with bases of their eigenspaces, if so few
        that a factorisation for each is cheaper than eigendecompositions; None is the basis of all.
        """  # noqa: D205
        return [(float(self.right.diagonal()[0]), None)] if _one_eigenvalue(self.right) else []

    # -- the two bases, for all ridge fits at once -------------------------------------------------------------

    def input_basis(self, tolerance: float, centred: bool) -> CentredBasis:
        constant = None
        if centred:
            n = self.array_shape[0]
            constant = np.full(n, n**-0.5) if self._row_root is None else unit_vector(self._row_root)
        return centred_basis(self.left, constant, tolerance)

    def output_basis(self) -> tuple[np.ndarray, np.ndarray]:
        return complete_eigenbasis(self.right)

    def with_factors(self, left: LinearOperator | None = None, right: LinearOperator | None = None) -> Kronecker:
        changes: dict[str, Any] = {"_spectral": None}
        for name, operator, old, root in (
            ("left", left, self.left, self._row_root),
            ("right", right, self.right, self._column_root),
        ):
            if operator is not None:
                if operator.shape != old.shape:
                    raise DataError(f"Kronecker: {name} must have shape {old.shape}; got {operator!r}.")
                changes[name] = operator if root is None else congruence(operator, root)
        given = tuple(old if new is None else new for new, old in zip((left, right), self._given, strict=True))
        return self._with(_given=given, **changes)


def unit_vector(root: Any) -> np.ndarray:
    """Return a vector, as NumPy's, divided by its norm."""
    vector = np.asarray(root, dtype=float)
    return vector / np.linalg.norm(vector)


def _scaled_solve(operator: LinearOperator, value: float, shift: float, rhs: Any) -> Any:
    """Return (value·K + shift)⁻¹ rhs."""
    return solve(operator, shift / value, rhs) / value if value > 0 else rhs / shift


def _one_eigenvalue(right: LinearOperator) -> bool:
    """Whether the whitened output Gram is a multiple of the identity, so that one factorisation is enough."""
    if right.shape[0] == 1:
        return True
    if not isinstance(right, Dense):
        return False
    xp = namespace(right.matrix)
    diagonal = xp.linalg.diagonal(right.matrix)
    spread = float(xp.max(diagonal) - xp.min(diagonal))
    unit = xp.eye(right.shape[0], dtype=diagonal.dtype, device=device(diagonal))
    off = float(xp.max(xp.abs(right.matrix - unit * diagonal[:, None])))
    return max(spread, off) <= 1e-14 * float(xp.max(xp.abs(right.matrix)))
