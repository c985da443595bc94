"""Kernels of vector fields without rotation, and without sources: second derivatives of a radial kernel."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Radial
from mercer.operator_valued.displacements import Displacements, displacements
from mercer.operator_valued.matrix_valued import MatrixValuedKernel

__all__ = ["CurlFree", "DivergenceFree", "RadialField"]


class RadialField(MatrixValuedKernel):
    """K(x, z) = α vvᵀ + β W² + γ I with v = W²(x − z), and functions α, β, γ of the distance: what both kinds share.

    Products never form the blocks: Σ_j α_ij v_ij⟨v_ij, c_j⟩ is two products of n × m matrices with the points, as
    v_ij is a difference. That is O(nmd) instead of O(nmd²), and two or three numbers for each pair of points.
    """

    kernel: Radial

    def _check(self) -> None:
        check_radial(self, "kernel", self.kernel)

    def require_outputs(self, X: Any, n_outputs: int) -> None:
        require_field(self, X, n_outputs)

    @abstractmethod
    def _coefficients(self, pairs: Displacements) -> tuple[Any, Any, Any]:
        """Return α, β, γ of shape (n, m); γ is None where there is none."""

    @property
    def pair_numbers(self) -> int:
        """α, γ, and β where columns have lengths of their own."""
        return 3

    def blocks(self, X, Z):
        X, Z = np.asarray(X, dtype=float), np.asarray(Z, dtype=float)
        pairs = displacements(self.kernel, X, Z)
        alpha, beta, gamma = self._coefficients(pairs)
        V = (X[:, None, :] - Z[None, :, :]) * pairs.metric
        values = (alpha[:, :, None] * V)[:, :, :, None] * V[:, :, None, :]
        own = np.einsum("ijaa->ija", values)  # a view of the diagonals
        own += beta[:, :, None] * pairs.metric
        if gamma is not None:
            own += gamma[:, :, None]
        return values

    def products(self, X, Z, factor=None):
        pairs = displacements(self.kernel, X, Z)
        alpha, beta, gamma = self._coefficients(pairs)
        if pairs.isotropic:  # then W² is a multiple of I
            gamma = pairs.metric[0] * beta if gamma is None else gamma + pairs.metric[0] * beta
            beta = None
        if factor is not None:
            alpha, beta, gamma = (None if part is None else part * factor for part in (alpha, beta, gamma))

        def product(C: np.ndarray) -> np.ndarray:
            along = pairs.along(C)
            along *= alpha
            image = pairs.total(along)
            if beta is not None:
                image += beta @ (pairs.metric * C)
            return image if gamma is None else image + gamma @ C

        return product

    def diagonal(self, X):
        X = np.asarray(X, dtype=float)
        origin = np.zeros((1, X.shape[1]))
        return np.repeat(self.blocks(origin, origin)[0], len(X), axis=0)

    def jacobian(self, X, Z, C):
        X, Z, C = (np.asarray(array, dtype=float) for array in (X, Z, C))
        self.require_outputs(X, C.shape[1])
        self.kernel.profile(np.zeros(0), 3)  # refuses kernels without
        return self._by_rows(lambda x: self._jacobian(displacements(self.kernel, x, Z), C), X, C)

    @abstractmethod
    def _jacobian(self, pairs: Displacements, C: np.ndarray) -> np.ndarray:
        """Return the Jacobian for some rows."""

    def _third(self, pairs: Displacements, C: np.ndarray) -> np.ndarray:
        """Return Σ_j ∂_b ∂_a ⟨∇, c_j⟩ k(· − z_j), the third derivatives of k along c_j, shape (n, d, d).

        They are 8φ‴ v_a v_b⟨v, c⟩ + 4φ″(⟨v, c⟩W²_ab + v_a(W²c)_b + (W²c)_a v_b).
        """
        along, second = pairs.along(C), self.kernel.profile(pairs.squares, 2)
        mixed = pairs.outer(4 * second, pairs.metric * C)
        total = pairs.square(8 * self.kernel.profile(pairs.squares, 3) * along)
        total += mixed + mixed.transpose(0, 2, 1)
        own = np.einsum("iaa->ia", total)
        own += np.sum(4 * second * along, axis=1)[:, None] * pairs.metric
        return total

    def _slopes(self, X: Any, Z: Any, C: Any) -> np.ndarray:
        """Return Σ_j ⟨∇k(x_i − z_j), c_j⟩, with ∇k = 2φ′v, shape (n,)."""
        X, Z, C = (np.asarray(array, dtype=float) for array in (X, Z, C))
        self.require_outputs(X, C.shape[1])

        def slopes(x: np.ndarray) -> np.ndarray:
            pairs = displacements(self.kernel, x, Z)
            return np.sum(2 * self.kernel.profile(pairs.squares, 1) * pairs.along(C), axis=1)

        return self._by_rows(slopes, X, C)


@dataclass(eq=False, repr=False)
class CurlFree(RadialField):
    """K(x, z) = −∇∇ᵀk(x − z): fields on R^d that are gradients, h = ∇u, such as forces with an energy.

    With k = φ(s), s = Σ_k w_k²(x_k − z_k)², W = diag(w) and v = W²(x − z),

        K(x, z) = −4φ″(s) vvᵀ − 2φ′(s) W²,

    for the Gaussian kernel exp(−‖x − z‖²/(2σ²)) this is (I − δδᵀ/σ²) exp(−‖δ‖²/(2σ²))/σ² with δ = x − z. With a length
    for each column fields are gradients all the same, of functions with these lengths. :meth:`potential` is u.

    Parameters
    ----------
    kernel : Radial
        k, twice continuously differentiable: Gaussian, RationalQuadratic, Matern with ν = 5/2 or 3/2. For ν = 3/2
        fields are continuous, but have no derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> kernel = CurlFree(Gaussian(gamma=0.5))
    >>> kernel.product(np.zeros((1, 2)), np.array([[0.0, 2.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[ 0.1353, -0.406 ]])
    """

    kernel: Any

    def _coefficients(self, pairs):
        return -4 * self.kernel.profile(pairs.squares, 2), -2 * self.kernel.profile(pairs.squares, 1), None

    def _jacobian(self, pairs, C):
        return -self._third(pairs, C)

    def parts(self, X, Z, C):
        field = self.product(X, Z, C)
        return field, np.zeros_like(field)

    def potential(self, X, Z, C):
        """Return u(x_i) = −Σ_j ⟨∇k(x_i − z_j), c_j⟩, shape (len(X),), for which ∇u = h = Σ_j K(·, z_j) c_j."""
        return -self._slopes(X, Z, C)

    def stream_function(self, X, Z, C):
        """Return 0, as there is no part without sources."""
        return np.zeros(len(X))


@dataclass(eq=False, repr=False)
class DivergenceFree(RadialField):
    """K(x, z) = (∇∇ᵀ − Δ I)k(x − z): fields on R^d, d ≥ 2, without sources, such as flows that are not compressed.

    With k = φ(s), s = Σ_k w_k²(x_k − z_k)², W = diag(w) and v = W²(x − z),

        K(x, z) = 4φ″(s) vvᵀ + 2φ′(s) W² − (4φ″(s)‖v‖² + 2φ′(s) tr W²) I,

    for the Gaussian kernel exp(−‖δ‖²/(2σ²)) this is (δδᵀ/σ² + (d − 1 − ‖δ‖²/σ²) I) exp(−‖δ‖²/(2σ²))/σ². In the plane
    fields are (∂ψ/∂x₂, −∂ψ/∂x₁) with the :meth:`stream_function` ψ.

    Parameters
    ----------
    kernel : Radial
        k, as for :class:`CurlFree`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> kernel = DivergenceFree(Gaussian(gamma=0.5))
    >>> kernel.product(np.zeros((1, 2)), np.array([[0.0, 2.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[-0.406 ,  0.1353]])
    """

    kernel: Any

    def require_outputs(self, X, n_outputs):
        super().require_outputs(X, n_outputs)
        if n_outputs == 1:
            raise DataError(
                "DivergenceFree: on the line a field without divergence is a constant, and the kernel is 0; got one "
                "column. Pass inputs of two or more columns, or use CurlFree."
            )

    def _coefficients(self, pairs):
        first, second = self.kernel.profile(pairs.squares, 1), self.kernel.profile(pairs.squares, 2)
        alpha, beta = 4 * second, 2 * first
        return alpha, beta, -(alpha * pairs.sizes + beta * np.sum(pairs.metric))

    def _jacobian(self, pairs, C):
        second, third = self.kernel.profile(pairs.squares, 2), self.kernel.profile(pairs.squares, 3)
        # ∇Δk = (8φ‴‖v‖² + 4φ″ tr W²)v + 8φ″W²v
        laplacian = pairs.outer(8 * third * pairs.sizes + 4 * second * np.sum(pairs.metric), C)
        laplacian += pairs.metric[:, None] * pairs.outer(8 * second, C)
        return self._third(pairs, C) - laplacian.transpose(0, 2, 1)

    def parts(self, X, Z, C):
        field = self.product(X, Z, C)
        return np.zeros_like(field), field

    def potential(self, X, Z, C):
        """Return 0, as there is no part without rotation."""
        return np.zeros(len(X))

    def stream_function(self, X, Z, C):
        """Return ψ(x_i), shape (len(X),), in the plane: h = (∂ψ/∂x₂, −∂ψ/∂x₁) for h = Σ_j K(·, z_j) c_j."""
        C = np.asarray(C, dtype=float)
        if C.shape[1] != 2:
            raise UnsupportedError(
                f"{type(self).__name__}: stream functions are for fields in the plane; got {C.shape[1]} components."
            )
        return self._slopes(X, Z, np.stack([C[:, 1], -C[:, 0]], axis=1))


def check_radial(owner: object, name: str, kernel: Any) -> None:
    """Refuse what is no radial kernel with two derivatives."""
    allowed = "a radial kernel with two derivatives: Gaussian, RationalQuadratic, Matern with nu=2.5 (or 1.5)"
    hint = "Fields of sums and multiples of kernels are sums and multiples: CurlFree(k) + 2.0 * CurlFree(l)."
    if not isinstance(kernel, Radial):
        raise parameter_error(owner, name, kernel, allowed, hint)
    if not kernel.differentiable:
        raise parameter_error(owner, name, kernel, allowed, "It has no derivatives; make it smoother, nu=2.5, say.")


def require_field(owner: object, X: Any, n_outputs: int) -> None:
    """Refuse fields that do not have as many components as inputs have columns."""
    if X.ndim != 2 or X.shape[1] != n_outputs:
        raise DataError(
            f"{type(owner).__name__}: a field on R^d has d components; got inputs of shape {tuple(X.shape)} and "
            f"{n_outputs} components. Choose the columns that are positions, or use Decomposable for other outputs."
        )
