"""The contract of a scalar kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import array_api_compat as compat
import numpy as np

from mercer._html import curve
from mercer._params import Params
from mercer.backend import is_numpy, namespace
from mercer.exceptions import DataError, MercerError, ParameterError, UnsupportedError, parameter_error
from mercer.kernels.gram import KernelGram
from mercer.kernels.layout import ColumnLayout
from mercer.linalg import LinearOperator, LowRank

__all__ = ["Kernel", "as_points"]

Array = Any
ORDERS = ((1, 0), (0, 1), (1, 1))
#: rows at a time when a diagonal has to be read from square blocks of the matrix
DIAGONAL_BLOCK = 64
#: what +, * and restrict build; mercer.kernels.algebra enters its records here, as they are kernels too
combinations: dict[str, Callable[[Any, Any], Any]] = {}


class Kernel(Params, ABC):
    """A positive semi-definite function k(x, z) of two points, evaluated on the rows of two arrays.

    A kernel is a small record of parameters: comparable, printable, tunable as ``kernel__gamma``. Kernels
    are added and multiplied with each other and with positive numbers, and restricted to some columns.
    Parameters may depend on the data (``"median"``); :meth:`adapt` turns them into numbers and leaves the
    kernel itself alone.

    A kernel of one's own implements :meth:`_evaluate`, and :meth:`_diagonal` where there is a formula. One that
    is C² says so in :attr:`differentiable` and implements :meth:`_gradient` and :meth:`_cross_hessian`.
    ``mercer.testing.check_kernel`` tests all that. These hooks receive checked two-dimensional floating arrays;
    ``Z is X`` says that both are the same points.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> @dataclass(eq=False, repr=False)
    ... class Minimum(Kernel):
    ...     def _evaluate(self, X, Z):
    ...         return np.minimum(X, Z.T)
    >>> (1.0 + 2.0 * Minimum())(np.array([[1.0], [3.0]]))
    array([[3., 3.],
           [3., 7.]])
    """

    # np.float64(2) * kernel must reach __rmul__ instead of making an object array
    __array_ufunc__ = None

    @abstractmethod
    def _evaluate(self, X: Array, Z: Array) -> Array:
        """Return the matrix k(x_i, z_j), shape (n, m); every parameter is a number by now."""

    def _diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i), shape (n,)."""
        kernel = self if self.adapted else self._adapt(X)
        xp = namespace(X)
        starts = range(0, X.shape[0], DIAGONAL_BLOCK)
        blocks = [X[start : start + DIAGONAL_BLOCK, :] for start in starts]
        if not blocks:
            return xp.zeros(0, dtype=X.dtype, device=compat.device(X))
        return xp.concat([xp.linalg.diagonal(kernel._evaluate(block, block)) for block in blocks])

    def _adapt(self, X: Array) -> Self:
        """Return a copy whose data-dependent parameters are numbers; by default it recurses."""
        return self.replace(**{name: kernel.adapt(X) for name, kernel in self._nested().items()})

    def _gradient(self, X: Array, Z: Array) -> Array:
        """Return ∂k(x_i, z_j)/∂x_i, shape (n, m, d)."""
        raise NotImplementedError(f"{type(self).__name__} is differentiable; it has to implement _gradient(X, Z)")

    def _cross_hessian(self, X: Array, Z: Array) -> Array:
        """Return ∂²k(x_i, z_j)/∂x_ia∂z_jb at (i, j, a, b), shape (n, m, d, d)."""
        raise NotImplementedError(f"{type(self).__name__} is differentiable; it has to implement _cross_hessian(X, Z)")

    def _second_gradient(self, X: Array, Z: Array) -> Array:
        """Return ∂k(x_i, z_j)/∂z_j, shape (n, m, d): that of k(z_j, x_i) in its first argument, as k is symmetric."""
        return namespace(X, Z).permute_dims(self._gradient(Z, X), (1, 0, 2))

    def _unresolved(self) -> list[str]:
        """Return the parameters that still depend on the data, as ``name='rule'``."""
        return [f"{name}__{inner}" for name, kernel in self._nested().items() for inner in kernel._unresolved()]

    def _nested(self) -> dict[str, Kernel]:
        params = {name: getattr(self, name) for name in self._names()}
        return {name: value for name, value in params.items() if isinstance(value, Kernel)}

    def _picture(self) -> str:
        """Return k(x, z) against a number x, as far as it takes to fall; nothing where it takes no single numbers."""
        if self.pairwise or not self.adapted:
            return ""
        try:
            centre = np.zeros((1, 1)) if float(self(np.zeros((1, 1)), np.zeros((1, 1)))[0, 0]) > 0 else np.ones((1, 1))
            there, reaches = self(centre, centre)[0, 0], 4.0 ** np.arange(-8, 9)
            falls = [reach for reach in reaches if self(centre + reach, centre)[0, 0] < 0.1 * there]
            at_once = len(falls) == len(reaches)  # as of categories, which have no length
            x = centre[0, 0] + np.linspace(-1, 1, 81) * (falls[0] if falls and not at_once else 3.0)
            label = f"k(x, {centre[0, 0]:g}) for x from {x[0]:.3g} to {x[-1]:.3g}".replace("-", "−")
            return curve(x, self(x[:, None], centre)[:, 0], label)
        except (MercerError, ValueError, TypeError, IndexError, NotImplementedError):
            return ""

    @property
    def adapted(self) -> bool:
        """Whether every parameter is a number, so that nothing is left to be learned from data."""
        return not self._unresolved()

    @property
    def differentiable(self) -> bool:
        """Whether k is C², so that :meth:`gradient`, :meth:`cross_hessian` and :meth:`derivative` work.

        That is enough for slopes of the functions h = Σ_i k(·, x_i) c_i and for kernels made of ∂₁∂₂k, such as
        curl-free ones.
        """
        return False

    @property
    def explicit(self) -> bool:
        """Whether :meth:`features` works: k has finitely many features, and they are known."""
        return False

    @property
    def pairwise(self) -> bool:
        """Whether X holds kernel values already, as for :class:`~mercer.kernels.Precomputed`."""
        return any(kernel.pairwise for kernel in self._nested().values())

    def __call__(self, X: Array, Z: Array | None = None) -> Array:
        """Return the matrix of k(x_i, z_j).

        Parameters
        ----------
        X : array of shape (n, d)
            Points, one a row.
        Z : array of shape (m, d), optional
            Other points. Without them Z is X, and data-dependent parameters are computed from X.

        Returns
        -------
        array of shape (n, m)
        """
        kernel, X, Z = self._ready(X, Z)
        return kernel._evaluate(X, Z)

    def gram_columns(self, X: Array) -> Callable[[int], Array]:
        """Return j ↦ k(x_i, x_j), shape (n,): columns of the Gram matrix, for algorithms that look at few of them."""
        kernel, X, _ = self._ready(X, None)
        return kernel._columns(X)

    def _columns(self, X: Array) -> Callable[[int], Array]:
        return lambda index: self._evaluate(X, X[index : index + 1, :])[:, 0]

    def diagonal(self, X: Array) -> Array:
        """Return k(x_i, x_i) for the rows of X, shape (n,), without the matrix."""
        return self._diagonal(as_points(self, X))

    def adapt(self, X: Array) -> Self:
        """Return a copy in which data-dependent parameters such as ``"median"`` are numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> Gaussian("median").adapt(np.array([[0.0], [2.0]]))
        Gaussian(gamma=0.25)
        """
        return self._adapt(as_points(self, X))

    def locate(self, layout: ColumnLayout) -> Self:
        """Return the kernel for the array that a table was encoded as: columns by name become numbers of columns.

        Estimators do this before :meth:`adapt`. By default what is nested is asked; a kernel that looks at columns of
        a table one by one overrides it.
        """
        nested = {name: kernel.locate(layout) for name, kernel in self._nested().items()}
        return self.replace(**nested) if nested else self

    def gram(self, X: Array) -> LinearOperator:
        """Return the Gram matrix k(x_i, x_j) as an operator: evaluated on demand, but for what has to be stored.

        Of a kernel with explicit features it is a product of thin factors. Stored at once are matrices of arrays that
        are not NumPy's, where products in blocks do not pay, and those of kernels on precomputed values, whose columns
        are not cheaper than the matrix.
        """
        if self.explicit:
            return LowRank((self if self.adapted else self.adapt(X)).features(as_points(self, X)))
        gram = KernelGram(self.adapt(X), as_points(self, X))
        return gram.stored() if self.pairwise or not is_numpy(gram.like) else gram

    def gradient(self, X: Array, Z: Array | None = None) -> Array:
        """Return the gradient of k in its first argument, in all columns.

        That in the second argument is the same with X and Z exchanged, as k is symmetric.

        Parameters
        ----------
        X, Z : arrays of shape (n, d) and (m, d)
            Points; without Z, Z is X.

        Returns
        -------
        array of shape (n, m, d)
            ∂k(x_i, z_j)/∂x_ia at (i, j, a).

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Polynomial
        >>> Polynomial(degree=2)(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))  # (1 + ⟨x, z⟩)²
        array([[16.]])
        >>> Polynomial(degree=2).gradient(np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]]))
        array([[[24.,  0.]]])
        """
        kernel, X, Z = self._smooth(X, Z)
        return kernel._gradient(X, Z)

    def cross_hessian(self, X: Array, Z: Array | None = None) -> Array:
        """Return the matrices ∂₁∂₂k of mixed second derivatives, in all columns.

        There are n·m·d² of them; products with those of a :class:`~mercer.kernels.Radial` kernel need no more than
        n·m numbers, see :meth:`Radial.profile <mercer.kernels.Radial.profile>`.

        Parameters
        ----------
        X, Z : arrays of shape (n, d) and (m, d)
            Points; without Z, Z is X.

        Returns
        -------
        array of shape (n, m, d, d)
            ∂²k(x_i, z_j)/∂x_ia∂z_jb at (i, j, a, b).

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import Gaussian
        >>> Gaussian(gamma=[0.5, 2.0]).cross_hessian(np.zeros((1, 2)))  # 2 diag(γ) where x = z
        array([[[[1., 0.],
                 [0., 4.]]]])
        """
        kernel, X, Z = self._smooth(X, Z)
        return kernel._cross_hessian(X, Z)

    def features(self, X: Array) -> Array:
        """Return φ(x_i), shape (n, D), of a kernel k(x, z) = φ(x)·φ(z)."""
        raise UnsupportedError(
            f"{self!r} has no features that are known. FeatureKernel(function) and Constant have them, and so have "
            "their sums, multiples and restrictions; RandomFourier and Nystroem of mercer.features approximate others."
        )

    def derivative(self, X: Array, Z: Array | None, order: tuple[int, int]) -> Array:
        """Return a partial derivative of k at the points of two arrays of one column.

        Parameters
        ----------
        X, Z : arrays of shape (n, 1) and (m, 1)
            Points; Z None means X.
        order : (1, 0), (0, 1) or (1, 1)
            ∂₁k, ∂₂k or ∂₁∂₂k.

        Returns
        -------
        array of shape (n, m)
        """
        try:
            orders = tuple(order)
        except TypeError:
            orders = ()
        if orders not in ORDERS:
            raise parameter_error(self, "order", order, "(1, 0), (0, 1) or (1, 1)")
        kernel, X, Z = self._smooth(X, Z)
        if X.shape[1] != 1:
            raise DataError(
                f"{type(self).__name__}: derivatives are for points of one column; got {X.shape[1]} columns. "
                "gradient(X, Z) and cross_hessian(X, Z) take any number of them."
            )
        if orders == (1, 1):
            return kernel._cross_hessian(X, Z)[:, :, 0, 0]
        first = orders == (1, 0)
        return (kernel._gradient(X, Z) if first else kernel._second_gradient(X, Z))[:, :, 0]

    def restrict(self, columns: Any) -> Kernel:
        """Return the kernel that sees only these columns: an integer, a name, or a sequence of them.

        Names are those of a data frame that an estimator is fitted on; see :class:`~mercer.kernels.Restricted`.
        """
        return combinations["restrict"](self, columns)

    def _refuse_rough(self) -> None:
        if not self.differentiable:
            raise UnsupportedError(
                f"{self!r} has no derivatives because it is not C². Gaussian, Matern with nu=1.5 or 2.5, "
                "RationalQuadratic, Periodic, Linear, Polynomial and Constant have them, and so have their "
                "sums and products."
            )

    def _smooth(self, X: Array, Z: Array | None) -> tuple[Self, Array, Array]:
        """Do what :meth:`_ready` does, for derivatives: kernels that have none are refused."""
        self._refuse_rough()
        return self._ready(X, Z)

    def _ready(self, X: Array, Z: Array | None) -> tuple[Self, Array, Array]:
        """Check the points and resolve what depends on data."""
        given = Z is not None
        same = not given or Z is X
        X = as_points(self, X)
        Z = X if same else as_points(self, Z, "Z")
        if not self.pairwise and X.shape[1] != Z.shape[1]:
            raise DataError(
                f"{type(self).__name__}: X and Z must have as many columns; got {X.shape[1]} and {Z.shape[1]}."
            )
        unresolved = self._unresolved()
        if not unresolved:
            return self, X, Z
        if given:
            raise ParameterError(
                f"{type(self).__name__}: {', '.join(unresolved)} depends on the data, and with both X and Z "
                "given it is not clear on which. Fix it first: kernel = kernel.adapt(X)."
            )
        return self._adapt(X), X, Z

    def __add__(self, other: Any) -> Kernel:
        return combinations["sum"](self, other)

    def __radd__(self, other: Any) -> Kernel:
        if type(other) is int and other == 0:
            return self  # sum(kernels) starts from 0
        return combinations["sum"](other, self)

    def __mul__(self, other: Any) -> Kernel:
        return combinations["product"](self, other)

    def __rmul__(self, other: Any) -> Kernel:
        return combinations["product"](other, self)


def as_points(owner: object, X: Any, name: str = "X") -> Array:
    """Return X as a floating array of shape (n, d), d ≥ 1; floating arrays of that shape pass untouched."""
    if not compat.is_array_api_obj(X):
        X = np.asarray(X)
    where = type(owner).__name__
    if X.ndim != 2:
        remedy = f" Use {name}.reshape(-1, 1) for points of one column." if X.ndim == 1 else ""
        raise DataError(f"{where}: {name} must have shape (n_points, n_columns); got {tuple(X.shape)}.{remedy}")
    if X.shape[1] == 0:
        raise DataError(f"{where}: {name} has no columns; its shape is {tuple(X.shape)}.")
    xp = namespace(X)
    if is_numpy(X) and X.dtype.kind not in "fiubc":  # objects and text may be numbers
        try:
            return X.astype(float)
        except (TypeError, ValueError) as error:
            raise DataError(f"{where}: {name} must hold real numbers; its dtype is {X.dtype}.") from error
    if xp.isdtype(X.dtype, "complex floating"):
        raise DataError(f"{where}: {name} must hold real numbers; its dtype is {X.dtype}.")
    return X if xp.isdtype(X.dtype, "real floating") else xp.astype(X, xp.asarray(0.0).dtype)
