"""Functions ψ_j of θ with a spectrum λ_j: the contract, eigenfunctions on nodes, functions of the user."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mercer._params import Params, _same, check_number
from mercer._state import Stateful
from mercer.backend import as_like, device, namespace
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.kernels import Kernel
from mercer.kernels.base import as_points
from mercer.linalg import congruence, eigh
from mercer.measures import Measure

__all__ = ["Basis", "BoundBasis", "FunctionBasis", "NystromBasis"]


class Basis(Params, ABC):
    """What a user passes as a basis of L²(Θ, μ): a recipe for functions ψ_j and positive numbers λ_j.

    Together they are an output kernel, k_Θ(θ, τ) = Σ_j λ_j ψ_j(θ)ψ_j(τ). Where the ψ_j are orthonormal in L²(μ) they
    are the eigenfunctions of its integral operator, and the λ_j are its eigenvalues.
    """

    @abstractmethod
    def bind(self, measure: Measure, output_kernel: Kernel | None = None) -> BoundBasis:
        """Return the functions for a measure.

        Parameters
        ----------
        measure : Measure
            μ; it decides the array library, too.
        output_kernel : Kernel, optional
            The kernel whose eigenfunctions are asked for. Bases that bring a kernel of their own do not look at it.
        """


@dataclass(frozen=True, eq=False, repr=False)
class BoundBasis(Stateful, ABC):
    """Functions of θ that can be evaluated, and their spectrum; immutable.

    Subclasses implement :meth:`_evaluate`, and :meth:`_differentiate` where there is a formula.

    Parameters
    ----------
    spectrum : array of shape (J,)
        λ_j > 0.
    """

    spectrum: Any

    @abstractmethod
    def _evaluate(self, points: Any) -> Any:
        """Return ψ_j(θ_i) at checked points, shape (k, J)."""

    def _differentiate(self, points: Any) -> Any:
        """Return ψ_j'(θ_i) at checked points of one column, shape (k, J)."""
        raise NotImplementedError

    @property
    def differentiable(self) -> bool:
        """Whether :meth:`differentiate` works."""
        return False

    def evaluate(self, points: Any) -> Any:
        """Return ψ_j(θ_i) for points of shape (k, d), shape (k, J)."""
        return self._evaluate(as_points(self, points, "points"))

    def differentiate(self, points: Any) -> Any:
        """Return ψ_j'(θ_i) for points of shape (k, 1), shape (k, J)."""
        points = as_points(self, points, "points")
        if not self.differentiable or points.shape[1] != 1:
            raise UnsupportedError(
                f"{self!r} has no derivatives at points of {points.shape[1]} columns. Bases on the line have them: "
                "HarmonicBasis, LaplacianBasis, FourierFeatureBasis, NystromBasis of a differentiable kernel and "
                "FunctionBasis with derivatives."
            )
        return self._differentiate(points)

    def defect(self, measure: Measure) -> float:
        """Return max |⟨ψ_j, ψ_k⟩_μ − δ_jk|: how far the functions are from orthonormal for a discrete measure.

        Coefficients ⟨y, ψ_j⟩_μ mean what they say where this is small. A large value tells of a grid too coarse for the
        highest functions, or of another measure than the one that the basis is made for.
        """
        values = self.evaluate(measure.points)
        xp = namespace(values)
        products = values.T @ (values * as_like(measure.weights, values)[:, None])
        return float(xp.max(xp.abs(products - xp.eye(len(self), dtype=values.dtype, device=device(values)))))

    def __len__(self) -> int:
        return int(self.spectrum.shape[0])

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(_same(getattr(self, field.name), getattr(other, field.name)) for field in fields(self))

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={len(self)})"


@dataclass(eq=False, repr=False)
class NystromBasis(Basis):
    """Eigenfunctions of the output kernel for the discrete measure at hand.

    With W^½ K_Θ W^½ u = λu, ‖u‖ = 1, they are ψ(θ) = (1/λ) Σ_j √w_j k_Θ(θ, θ_j) u_j, so that ψ(θ_j) = u_j/√w_j:
    orthonormal in L²(μ) for any kernel and any points. All of them carry the whole kernel at the nodes; the first few
    are its best approximation of that rank. O(m³).

    The eigenfunctions of another basis that is not orthonormal come from its :class:`ExpansionKernel`.

    Parameters
    ----------
    size : int, optional
        At most so many functions, those of the largest eigenvalues; all by default.
    tolerance : float, default=1e-10
        Eigenvalues up to this part of the largest are left out: rounding spoils their functions.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import GaussLegendre
    >>> mu = GaussLegendre(20).build()
    >>> basis = NystromBasis(size=3).bind(mu, Gaussian(5.0))
    >>> basis.spectrum.round(4)
    array([0.6101, 0.2841, 0.0849])
    >>> basis.defect(mu) < 1e-12
    True
    """

    size: int | None = None
    tolerance: float = 1e-10

    def _check(self) -> None:
        if self.size is not None:
            check_number(self, "size", self.size, low=1, strict=False, integer=True)
        check_number(self, "tolerance", self.tolerance, low=0, high=1)

    def bind(self, measure, output_kernel=None):
        if not isinstance(output_kernel, Kernel):
            raise parameter_error(
                self, "output_kernel", output_kernel, "a Kernel, whose eigenfunctions to take", "Say Gaussian(5.0)."
            )
        kernel, nodes = output_kernel.adapt(measure.points), measure.points
        xp = namespace(nodes)
        root = xp.sqrt(as_like(measure.weights, nodes))
        eigen = eigh(congruence(kernel.gram(nodes), root))
        if eigen.values.shape[0] == 0:
            raise DataError(f"NystromBasis: {kernel!r} is zero at all points of the measure.")
        size = int(xp.sum(xp.astype(eigen.values > self.tolerance * eigen.values[0], xp.int64)))
        size = size if self.size is None else min(size, self.size)
        spectrum = eigen.values[:size]
        return BoundNystrom(spectrum, kernel, nodes, eigen.vectors[:, :size] * root[:, None] / spectrum[None, :])


@dataclass(frozen=True, eq=False, repr=False)
class BoundNystrom(BoundBasis):
    """ψ_j = Σ_q C_qj k_Θ(·, θ_q): eigenfunctions as sections of their kernel."""

    kernel: Kernel
    nodes: Any
    coefficients: Any

    @property
    def differentiable(self):
        return self.kernel.differentiable and self.nodes.shape[1] == 1

    def _evaluate(self, points):
        return self.kernel(points, as_like(self.nodes, points)) @ as_like(self.coefficients, points)

    def _differentiate(self, points):
        sections = self.kernel.derivative(points, as_like(self.nodes, points), (1, 0))
        return sections @ as_like(self.coefficients, points)


@dataclass(eq=False, repr=False)
class FunctionBasis(Basis):
    """Functions and a spectrum of one's own, taken literally.

    This defines k_Θ = Σ_j λ_j ψ_j ⊗ ψ_j whatever the functions are. Coefficients are R_ij = ⟨y_i, ψ_j⟩_μ; they are
    those of a projection only where the functions are orthonormal in L²(μ) (see :meth:`BoundBasis.defect`). For other
    functions, such as B-splines, :class:`ExpansionKernel` at the nodes is exact, and so is :class:`NystromBasis`
    with it.

    Parameters
    ----------
    functions : callable
        Takes points of shape (k, d), returns their values of shape (k, J).
    spectrum : array-like of shape (J,)
        λ_j > 0.
    derivatives : callable, optional
        As ``functions``, the derivatives for d = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import GaussLegendre
    >>> basis = FunctionBasis(lambda t: np.hstack([t**0, np.sqrt(3) * (2 * t - 1)]), [1.0, 0.5])
    >>> bound = basis.bind(GaussLegendre(4).build())
    >>> bound.evaluate(np.array([[0.5], [1.0]])).round(3)
    array([[1.   , 0.   ],
           [1.   , 1.732]])
    """

    functions: Callable[[Any], Any]
    spectrum: Any
    derivatives: Callable[[Any], Any] | None = None

    def _check(self) -> None:
        if not callable(self.functions):
            raise parameter_error(self, "functions", self.functions, "a function of points (k, d) with values (k, J)")
        if not (self.derivatives is None or callable(self.derivatives)):
            raise parameter_error(self, "derivatives", self.derivatives, "None or a function like functions")
        try:
            spectrum = np.asarray(self.spectrum, dtype=float)
        except (TypeError, ValueError) as error:
            raise parameter_error(self, "spectrum", self.spectrum, "positive numbers, one per function") from error
        if spectrum.ndim != 1 or spectrum.size == 0 or not np.all(np.isfinite(spectrum)) or not np.all(spectrum > 0):
            raise parameter_error(
                self,
                "spectrum",
                self.spectrum,
                "positive numbers, one per function",
                "Leave out functions of weight 0.",
            )

    def bind(self, measure, output_kernel=None):
        spectrum = as_like(np.asarray(self.spectrum, dtype=float), measure.points)
        bound = BoundFunctions(spectrum, copy.copy(self))  # the record may change later
        bound.evaluate(measure.points)  # refuses functions that do not fit, before anything is computed with them
        return bound


@dataclass(frozen=True, eq=False, repr=False)
class BoundFunctions(BoundBasis):
    """Functions of the user, whose answers are checked; the record keeps them."""

    record: FunctionBasis

    @property
    def differentiable(self):
        return self.record.derivatives is not None

    def _evaluate(self, points):
        return self._checked(self.record.functions, points)

    def _differentiate(self, points):
        return self._checked(self.record.derivatives, points)

    def _checked(self, functions: Any, points: Any) -> Any:
        name = getattr(functions, "__name__", repr(functions))
        try:
            values = as_like(functions(points), points)
        except (TypeError, ValueError) as error:
            raise DataError(f"FunctionBasis: {name}(points) failed or returned no numbers: {error}") from error
        expected = (int(points.shape[0]), len(self))
        if tuple(values.shape) != expected:
            raise DataError(
                f"FunctionBasis: {name}(points) must return one row per point and one column per number of the "
                f"spectrum, {expected} here; got {tuple(values.shape)}."
            )
        if not bool(namespace(values).all(namespace(values).isfinite(values))):
            raise DataError(f"FunctionBasis: {name}(points) returned NaN or infinite values.")
        return values
