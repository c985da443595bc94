"""Functions of θ as coefficients in a basis: K(x, z) = k_X(x, z)·Σ_j λ_j ψ_j ⊗ ψ_j."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.backend import as_like, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.kernels import ExplicitKernel, Kernel
from mercer.linalg import PSD, Dense, Kronecker
from mercer.measures import Measure
from mercer.operator_valued.base import BoundKernel
from mercer.operator_valued.bases import Basis, BoundBasis
from mercer.operator_valued.expansion import SeparableExpansion, along_theta, expand_rows
from mercer.operator_valued.representers import BasisRepresenters, output_gram

__all__ = ["BoundCoefficients", "ExpansionKernel"]


@dataclass(eq=False, repr=False)
class ExpansionKernel(ExplicitKernel):
    """The kernel k_Θ(θ, τ) = Σ_j λ_j ψ_j(θ)ψ_j(τ) of a basis, of rank J.

    With it a truncated kernel is solved at the nodes: the meaning of a basis for pointwise losses, for missing entries,
    and for norm losses beside a free mean function.

    Parameters
    ----------
    basis : BoundBasis
        Functions and spectrum.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import GaussLegendre
    >>> from mercer.operator_valued import HarmonicBasis
    >>> kernel = ExpansionKernel(HarmonicBasis(3).bind(GaussLegendre(8).build()))
    >>> kernel(np.array([[0.0], [0.5]]))
    array([[1.5, 0.5],
           [0.5, 1.5]])
    """

    basis: BoundBasis

    def _check(self) -> None:
        if not isinstance(self.basis, BoundBasis):
            hint = "Bind it first: basis.bind(measure, output_kernel)." if isinstance(self.basis, Basis) else ""
            raise parameter_error(self, "basis", self.basis, "a BoundBasis", hint)

    @property
    def differentiable(self) -> bool:
        """Whether the functions of the basis are."""
        return self.basis.differentiable

    def features(self, points: Any) -> Any:
        """Return √λ_j ψ_j(θ_i), shape (k, J): the kernel is the inner product of these rows."""
        return self._scaled(self.basis.evaluate(points))

    def _scaled(self, values: Any) -> Any:
        return values * namespace(values).sqrt(as_like(self.basis.spectrum, values))[None, :]

    def _gradient(self, X, Z):
        return (self._scaled(self.basis.differentiate(X)) @ self.features(Z).T)[:, :, None]

    def _cross_hessian(self, X, Z):
        left, right = (self._scaled(self.basis.differentiate(points)) for points in (X, Z))
        return (left @ right.T)[:, :, None, None]


@dataclass(frozen=True, eq=False)
class BoundCoefficients(BoundKernel):
    """K(x, z) = k_X(x, z)·Σ_j λ_j ψ_j ⊗ ψ_j ⊗ A, its functions of θ represented by their coefficients.

    Prefer it to nodes for the square loss and losses of norms when few functions of θ say it all: arrays have J·p
    columns, (j, component) with the component last, and one more. Pointwise losses need values at nodes; there the
    same kernel is :class:`ExpansionKernel`.

    A curve y becomes R_j = ⟨y, ψ_j⟩_μ and, if ``augmented``, one column more, ρ = √(‖y‖² − Σ_j R_j²): what the
    functions do not reach. Its eigenvalue is 0, so that predictions are never there, and ‖y − h‖² is
    Σ_j (R_j − h_j)² + ρ²: a loss of the norm is that of the whole residual, and the problem is the one of the truncated
    kernel at the nodes. Without ρ the loss sees the projected residual only; for the square loss the solution is the
    same. All this is exact where the functions are orthonormal in L²(μ), ``basis.defect(nodes)`` = 0, as those of a
    :class:`NystromBasis` are.

    A free mean function has no place beside ρ, which knows the parts outside the span by their lengths only. Augmented
    curves therefore come to :meth:`analyse` centred, and their problem has no intercept (``takes_intercept``). Without
    ρ the intercept b of a problem is the mean function Σ_j b_j ψ_j of :meth:`synthesise`; on top of the mean curve,
    taken off before, it is the best of all mean functions for the square loss. For other losses with a mean function
    that is free everywhere, solve at the nodes, with :class:`ExpansionKernel`.

    Parameters
    ----------
    kernel : Kernel
        k_X.
    basis : BoundBasis
        ψ_j and λ_j.
    nodes : Measure
        μ: the points at which curves are given, and their weights.
    n_components : int, default=1
        p.
    output_matrix : array of shape (p, p), optional
        A, symmetric and positive semi-definite; the identity by default.
    augmented : bool, default=True
        Whether there is a column ρ.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import GaussLegendre
    >>> from mercer.operator_valued import HarmonicBasis
    >>> mu = GaussLegendre(20).build()
    >>> K = BoundCoefficients(Gaussian(1.0), HarmonicBasis(3).bind(mu), mu)
    >>> Y = np.array([1 + 2 * np.cos(2 * np.pi * mu.locations), np.cos(4 * np.pi * mu.locations)])
    >>> np.abs(K.analyse(Y)).round(4)
    array([[1.    , 1.4142, 0.    , 0.    ],
           [0.    , 0.    , 0.    , 0.7071]])
    """

    kernel: Kernel
    basis: BoundBasis
    nodes: Measure
    n_components: int = 1
    output_matrix: Any = None
    augmented: bool = True

    @property
    def output_kernel(self) -> ExpansionKernel:
        """Σ_j λ_j ψ_j ⊗ ψ_j as a kernel on Θ."""
        return ExpansionKernel(self.basis)

    @property
    def takes_intercept(self) -> bool:
        """Whether a problem on the coefficients may have an intercept: not beside ρ."""
        return not self.augmented

    @cached_property
    def measure(self) -> Measure:  # type: ignore[override]
        """The measure in which coefficients live: indices of weight 1, those of ρ included."""
        columns = len(self.basis) * self.n_components + bool(self.augmented)
        like = self.basis.spectrum
        return Measure(as_like(np.arange(float(columns)), like), as_like(np.ones(columns), like))

    @property
    def representers(self) -> BasisRepresenters:
        """λ_j ψ_j."""
        return BasisRepresenters(self.basis)

    @cached_property
    def _functions(self) -> Any:
        """ψ at the nodes, (m, J)."""
        return self.basis.evaluate(self.nodes.points)

    def gram(self, X: Any) -> Kronecker:
        """Return K_X ⊗ diag(Λ ⊗ A, 0) on coefficients."""
        matrix = output_gram(self.representers, self.n_components, self.output_matrix).to_dense()
        xp = namespace(matrix)
        if self.augmented:
            matrix = xp.concat([matrix, xp.zeros_like(matrix[:, :1])], axis=1)
            matrix = xp.concat([matrix, xp.zeros_like(matrix[:1, :])], axis=0)
        return Kronecker(self.kernel.gram(X), Dense(matrix, PSD))

    def analyse(self, Y: Any) -> Any:
        """Return the coefficients ⟨y_i, ψ_j⟩_μ of curves at the nodes and, if augmented, ρ_i.

        Parameters
        ----------
        Y : array of shape (n, m·p)
            Curves at the nodes, component last.

        Returns
        -------
        array of shape (n, J·p) or (n, J·p + 1)
        """
        xp = namespace(Y)
        m, p = len(self.nodes), self.n_components
        if Y.ndim != 2 or Y.shape[1] != m * p:
            raise DataError(
                f"BoundCoefficients: curves at {m} nodes with {p} components have shape (n, {m * p}); "
                f"got {tuple(Y.shape)}."
            )
        if bool(xp.any(xp.isnan(Y))):
            raise DataError(
                "BoundCoefficients: coefficients need complete curves, and there are NaNs. Solve at the nodes, with "
                "the ExpansionKernel of the basis."
            )
        weights = xp.repeat(as_like(self.nodes.weights, Y), p)[None, :]
        functions = as_like(self._functions, Y)
        R = along_theta(weights * Y, functions, p)
        if not self.augmented:
            return R
        rest = Y - along_theta(R, functions.T, p)  # ‖y‖² − ‖R‖² would lose half of the digits
        rho = xp.sqrt(xp.sum(weights * rest * rest, axis=1))
        beyond = xp.sum(R * R, axis=1) > 1.000001 * xp.sum(weights * Y * Y, axis=1)  # the basis is not orthonormal
        rho = xp.where(beyond, xp.zeros_like(rho), rho)
        return xp.concat([R, rho[:, None]], axis=1)

    def synthesise(self, coefficients: Any, points: Any) -> Any:
        """Return Σ_j c_ij ψ_j(θ) at some points, from coefficients without Λ or A, such as an intercept.

        Parameters
        ----------
        coefficients : array of shape (k, J·p) or (k, J·p + 1)
            Columns (j, component); one more, that of ρ, is passed over.
        points : array of shape (q, d)
            Points of Θ.

        Returns
        -------
        array of shape (k, q·p)
        """
        inner = coefficients[:, : len(self.basis) * self.n_components]
        return along_theta(inner, as_like(self.basis.evaluate(points), coefficients).T, self.n_components)

    def expand(self, X: Any, coef: Any) -> SeparableExpansion:
        """Return h from representer coefficients; those of ρ are passed over."""
        inner = coef[:, : len(self.basis) * self.n_components]
        return expand_rows(self.kernel, X, inner, self.representers, self.n_components, self.output_matrix)

    def observe(self, expansion: Any, X: Any) -> Any:
        """Return the coefficients of h at the rows of X."""
        return self.analyse(expansion.evaluate(X, self.nodes.points))
