"""Radial kernels: functions of the Euclidean distance of points whose columns are divided by lengths."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import array_api_compat as compat
import numpy as np

from mercer._params import check_number
from mercer.backend import clip, namespace
from mercer.exceptions import UnsupportedError, parameter_error
from mercer.kernels.base import Array
from mercer.kernels.derivatives import column_identity, differences
from mercer.kernels.distances import assemble, scale_points, squared_distances
from mercer.kernels.stationary import Stationary

__all__ = ["Gaussian", "Matern", "Radial", "RationalQuadratic"]

#: exp(−800) is 0 in double precision; the cap keeps polynomial × exp from being ∞ × 0
FAR = 800.0


class Radial(Stationary):
    """Kernels k(x, z) = φ(s) of the squared distance s = Σ_k w_k² (x_k − z_k)², with a weight for each column.

    With W = diag(w) and v = W²(x − z) their derivatives are

        ∂₁k = 2φ′(s) v        and        ∂₁∂₂k = −4φ″(s) v vᵀ − 2φ′(s) W².

    A radial kernel of one's own gives φ, φ′ and φ″ in :meth:`_profile`; its bandwidth is the parameter
    ``length_scale``, w = 1/l, unless it says otherwise. With φ‴ as well, and ``profile_order = 3``, fields with the
    kernel ∂₁∂₂k can be differentiated.

    Examples
    --------
    >>> import numpy as np
    >>> @dataclass(eq=False, repr=False)
    ... class InverseMultiquadric(Radial):
    ...     length_scale: Any = "median"
    ...
    ...     def _profile(self, squares, order):
    ...         return (1.0, -0.5, 0.75)[order] * (1 + squares) ** -(0.5 + order)
    >>> InverseMultiquadric(1.0).gradient(np.array([[1.0, 1.0, 1.0]]), np.zeros((1, 3)))
    array([[[-0.125, -0.125, -0.125]]])
    """

    @abstractmethod
    def _profile(self, squares: Array, order: int) -> Array:
        """Return φ (order 0), φ′ (1), φ″ (2) or φ‴ (3) at squared distances; 0 where it is infinite, see profile."""

    @property
    def profile_order(self) -> int:
        """The highest derivative of φ that :meth:`profile` gives."""
        return 2 if self.differentiable else 0

    @property
    def differentiable(self) -> bool:
        """Whether φ has the derivatives that :meth:`profile` gives."""
        return True

    def profile(self, squared_distances: Array, order: int = 0) -> Array:
        """Return φ, φ′, φ″ or φ‴ as functions of the squared weighted distance.

        They are what products with the matrices ∂₁∂₂k need, in n·m numbers rather than the n·m·d² of
        :meth:`cross_hessian`. Where φ″ is unbounded at 0, as for Matérn kernels with ν = 3/2, its value there is
        0: it matters as φ″(s)·s only, which tends to 0. Hence k is C² in any case, but fields with the kernel ∂₁∂₂k
        have derivatives only where φ″(0) is finite (Gaussian, rational quadratic, Matérn with ν = 5/2). These have φ‴,
        which matters as φ‴(s)·s^{3/2} only and is 0 where it is infinite, too.

        Parameters
        ----------
        squared_distances : array
            s ≥ 0, of any shape; :meth:`squared_distances` makes them.
        order : {0, 1, 2, 3}, default=0
            Which derivative, at most :attr:`profile_order`.

        Returns
        -------
        array of the same shape

        Examples
        --------
        Σ_j ∂₁∂₂k(x_i, z_j) c_j without a matrix of d × d for each pair. Differences of v_i = W² x_i keep more digits
        when the points are centred first.

        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> X, C = rng.normal(size=(20, 3)), rng.normal(size=(20, 3))
        >>> k = Gaussian(gamma=[0.5, 1.0, 2.0])
        >>> s, w = k.squared_distances(X), k.weights(X)
        >>> V = w**2 * X
        >>> P = k.profile(s, 2) * (V @ C.T - np.sum(V * C, axis=1))  # φ″ · ⟨v_i − v_j, c_j⟩
        >>> product = -4 * (np.sum(P, axis=1)[:, None] * V - P @ V) - 2 * k.profile(s, 1) @ (w**2 * C)
        >>> np.allclose(product, np.einsum("ijab,jb->ia", k.cross_hessian(X), C))
        True
        """
        if not isinstance(order, Integral) or order not in (0, 1, 2, 3):
            raise parameter_error(self, "order", order, "0, 1, 2 or 3")
        if order > 0:
            self._refuse_rough()
        if order > self.profile_order:
            raise UnsupportedError(
                f"{self!r} has no third derivative of its profile: fields made of it are continuous, but not "
                "differentiable. Gaussian, Matern with nu=2.5 and RationalQuadratic have it; a Radial kernel of one's "
                "own gives it by _profile(squares, 3) and profile_order = 3."
            )
        if not compat.is_array_api_obj(squared_distances):
            squared_distances = np.asarray(squared_distances, dtype=float)
        return self._profile(squared_distances, int(order))

    def squared_distances(self, X: Array, Z: Array | None = None) -> Array:
        """Return s_ij = Σ_k w_k² (x_ik − z_jk)², shape (n, m); without Z, Z is X."""
        kernel, X, Z = self._ready(X, Z)
        return squared_distances(*scale_points(X, Z, kernel._weights(X)))

    def weights(self, X: Array) -> Array:
        """Return the weights w of the columns of X, inverse lengths, shape (d,)."""
        kernel, X, _ = self._ready(X, None)
        ones = namespace(X).ones((1, X.shape[1]), dtype=X.dtype, device=compat.device(X))
        return (ones * kernel._weights(X))[0, :]

    def _evaluate(self, X: Array, Z: Array) -> Array:
        X, Z, weights = scale_points(X, Z, self._weights(X))
        return assemble(lambda x, z: self._profile(squared_distances(x, z, weights), 0), X, Z)

    def _columns(self, X: Array) -> Callable[[int], Array]:
        points, _, weights = scale_points(X, X, self._weights(X))
        return lambda index: self._profile(squared_distances(points, points[index : index + 1, :], weights), 0)[:, 0]

    def _gradient(self, X: Array, Z: Array) -> Array:
        V, squares = self._displacements(X, Z)
        return (2 * self._profile(squares, 1))[:, :, None] * V

    def _cross_hessian(self, X: Array, Z: Array) -> Array:
        V, squares = self._displacements(X, Z)
        metric = self._weights(X) ** 2 * column_identity(V)
        bent = (4 * self._profile(squares, 2))[:, :, None] * V
        return -bent[:, :, :, None] * V[:, :, None, :] - (2 * self._profile(squares, 1))[:, :, None, None] * metric

    def _displacements(self, X: Array, Z: Array) -> tuple[Array, Array]:
        """Return v = W²(x_i − z_j), shape (n, m, d), and s of the same differences, shape (n, m)."""
        weights = self._weights(X)
        U = weights * differences(X, Z)
        return weights * U, namespace(U).sum(U * U, axis=2)


@dataclass(eq=False, repr=False)
class Gaussian(Radial):
    """Gaussian kernel exp(−Σ_k γ_k (x_k − z_k)²), analytic: the default for smooth functions.

    Parameters
    ----------
    gamma : float, sequence of shape (d,), "median" or "standardized", default="median"
        γ > 0, or one γ_k ≥ 0 for each column, where 0 ignores the column. ``"median"`` is 1/median² with
        the median distance of the distinct rows; ``"standardized"`` is γ_k = 1/(sd_k · median)² with the
        median distance of the rows whose columns were divided by their standard deviations, so that no
        column's unit matters. Normal density: γ = 1/(2σ²).

    Examples
    --------
    >>> import numpy as np
    >>> Gaussian(gamma=2.0)(np.array([[0.0], [0.3]])).round(6)
    array([[1.     , 0.83527],
           [0.83527, 1.     ]])
    """

    gamma: Any = "median"

    _bandwidth: ClassVar[str] = "gamma"
    _zero: ClassVar[bool] = True

    @staticmethod
    def _from_length(length):
        return (1 / length) ** 2

    @staticmethod
    def _to_weight(bandwidth):
        return np.sqrt(bandwidth)

    profile_order = 3

    def _profile(self, squares, order):
        values = namespace(squares).exp(-squares)
        return -values if order % 2 else values


@dataclass(eq=False, repr=False)
class Matern(Radial):
    """Matérn kernel, with functions of chosen smoothness, r² = Σ_k (x_k − z_k)²/l_k².

    ν = ½: e^{−r}; ν = 3/2: (1 + √3 r) e^{−√3 r}; ν = 5/2: (1 + √5 r + 5r²/3) e^{−√5 r}. The functions are ν
    − ½ times differentiable; prefer it to :class:`Gaussian` where infinite smoothness is too much to ask.
    Derivatives exist for ν = 3/2 and 5/2.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}, default=1.5
        Smoothness.
    length_scale : float, sequence of shape (d,), "median" or "standardized", default="median"
        l > 0, or one l_k for each column, where ``inf`` ignores the column. The rules are those of
        :class:`Gaussian` with l the median distance, or sd_k times the median distance of the standardised
        rows.

    Examples
    --------
    >>> import numpy as np
    >>> Matern(nu=0.5, length_scale=2.0)(np.array([[0.0]]), np.array([[2.0]])).round(6)
    array([[0.367879]])
    """

    nu: float = 1.5
    length_scale: Any = "median"

    _infinite: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        if self.nu not in (0.5, 1.5, 2.5):
            raise parameter_error(self, "nu", self.nu, "0.5, 1.5 or 2.5", "Gaussian is the limit of large nu.")

    @property
    def differentiable(self) -> bool:
        """Whether ν > 1, for which k is C²."""
        return self.nu > 1

    @property
    def profile_order(self) -> int:
        """3 for ν = 5/2, 2 for ν = 3/2."""
        return {0.5: 0, 1.5: 2, 2.5: 3}[self.nu]

    def _profile(self, squares, order):
        xp = namespace(squares)
        a = clip(math.sqrt(2 * self.nu) * xp.sqrt(squares), 0.0, FAR)
        return self._factor(a, order) * xp.exp(-a)

    def _factor(self, a: Array, order: int) -> Any:
        """Return φ, φ′, φ″ or φ‴ without its factor e^{−a}, a = √(2ν s)."""
        if self.nu == 0.5:
            return 1.0
        if order == 0:
            return 1 + a if self.nu == 1.5 else 1 + a + a * a / 3
        if order == 1:
            return -1.5 if self.nu == 1.5 else (-5 / 6) * (1 + a)
        if order == 3:
            return (-125 / 24) * _inverse(a)
        return 2.25 * _inverse(a) if self.nu == 1.5 else 25 / 12


@dataclass(eq=False, repr=False)
class RationalQuadratic(Radial):
    """Rational quadratic kernel (1 + r²/(2·shape))^(−shape), r² = Σ_k (x_k − z_k)²/l_k²: many scales at once.

    A mixture of Gaussian kernels over their length scales, and the Gaussian exp(−r²/2) as shape → ∞. Prefer
    it where both short and long distances carry information; its tails are polynomial.

    Parameters
    ----------
    shape : float, default=1.0
        Decay of the tails, > 0.
    length_scale : float, sequence of shape (d,), "median" or "standardized", default="median"
        As in :class:`Matern`.

    Examples
    --------
    >>> import numpy as np
    >>> RationalQuadratic(shape=1.0, length_scale=1.0)(np.array([[0.0]]), np.array([[2.0]])).round(6)
    array([[0.333333]])
    """

    shape: float = 1.0
    length_scale: Any = "median"

    _infinite: ClassVar[bool] = True

    def _check(self) -> None:
        super()._check()
        check_number(self, "shape", self.shape, low=0)

    profile_order = 3

    def _profile(self, squares, order):
        xp = namespace(squares)
        shape = float(self.shape)
        values = xp.exp(-(shape + order) * xp.log1p(squares / (2 * shape)))
        factor = 1.0
        for k in range(order):
            factor *= -(shape + k) / (2 * shape)
        return factor * values


def _inverse(values: Array) -> Array:
    """Return 1/values, and 0 where they are 0."""
    xp = namespace(values)
    apart = values > 0
    return xp.where(apart, 1 / xp.where(apart, values, xp.ones_like(values)), xp.zeros_like(values))
