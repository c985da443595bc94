"""How a value that depends on a kernel matrix changes with the kernel's parameters, and with its points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.kernels.algebra import Product, Restricted, Scaled, Sum
from mercer.kernels.base import Kernel, as_points
from mercer.kernels.polynomial import Constant, Linear, Polynomial
from mercer.kernels.projected import Projected
from mercer.kernels.radial import Matern, Radial

__all__ = ["parameter_slopes", "pull_back"]

#: relative step of central differences, for parameters whose slope has no formula here
DIFFERENCE_STEP = 6e-6


def pull_back(kernel: Kernel, U: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Return the gradient in the rows of U of a value with the symmetric slope ∂V/∂K in K = k(U, U), shape (n, p).

    It is 2 Σ_j slope_ij ∂₁k(u_i, u_j), for radial kernels by two products with n × n matrices.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> U = np.array([[0.0], [1.0]])
    >>> pull_back(Gaussian(1.0), U, np.array([[0.0, 0.5], [0.5, 0.0]])).round(4)  # V = k(u_0, u_1)
    array([[ 0.7358],
           [-0.7358]])
    """
    if not isinstance(kernel, Radial):
        gradients: np.ndarray = kernel.gradient(U)
        return 2 * np.einsum("ij,ijd->id", slope, gradients)
    bent = slope * kernel.profile(kernel.squared_distances(U), 1)
    return 4 * (bent.sum(axis=1)[:, None] * U - bent @ U) * kernel.weights(U) ** 2


@singledispatch
def parameter_slopes(kernel: Any, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """Return Σ_ij slope_ij ∂k(x_i, x_j)/∂p for the parameters p of a kernel, by their names in ``get_params``.

    With the slope ∂V/∂K of a value in the kernel matrix that is ∂V/∂p; :func:`~mercer.problems.kernel_slope` has that
    of the optimal value of a learning problem, whatever its loss. There are formulas for bandwidths (one product of
    matrices for all columns), for multiples, sums, products, restrictions and projections (with their matrix), for
    constants, polynomials and the frequencies of :class:`~mercer.features.FourierKernel`. Parameters of other kernels
    that are floating numbers or arrays of such have central differences, two matrices for each number.
    ``@parameter_slopes.register`` adds formulas for a kernel of one's own.

    Parameters
    ----------
    kernel : Kernel
        With numbers for its parameters.
    X : array of shape (n, d)
        Points.
    slope : array of shape (n, n)
        ∂V/∂K, symmetric.

    Returns
    -------
    dict of str to array
        Of the shape of the parameter.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X, slope = np.array([[0.0], [1.0]]), np.array([[0.0, 0.5], [0.5, 0.0]])  # V = k(x_0, x_1)
    >>> {name: float(number) for name, number in parameter_slopes(3.0 * Gaussian(0.0001), X, slope).items()}
    {'scale': 0.99990..., 'kernel__gamma': -2.9997...}
    """
    return dict(_differences(kernel, as_points(kernel, X), slope, list(kernel.get_params())))


def _differences(kernel: Kernel, X: np.ndarray, slope: np.ndarray, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield the names of those parameters that are floating numbers, and their slopes by differences.

    They are central ones, but at 0, where a parameter may have to stay, on the right of it.
    """
    params = kernel.get_params()
    for name in names:
        values = np.asarray(params[name]) if isinstance(params[name], (float, list, tuple, np.ndarray)) else np.zeros(0)
        if values.dtype.kind != "f" or values.size == 0:
            continue

        def value(moved: np.ndarray, name: str = name) -> float:
            there = kernel.replace(**{name: moved if moved.ndim else float(moved)})
            return float(np.sum(slope * there._evaluate(X, X)))

        slopes = np.zeros(values.shape)
        for place in zip(*np.nonzero(np.isfinite(np.atleast_1d(values))), strict=True):
            place = place if values.ndim else ()
            step = np.zeros(values.shape)
            step[place] = DIFFERENCE_STEP * (abs(values[place]) or DIFFERENCE_STEP)
            back = step if values[place] else np.zeros(values.shape)
            slopes[place] = (value(values + step) - value(values - back)) / (step + back)[place]
        yield name, slopes


def _inside(kernel: Kernel, X: np.ndarray, slope: np.ndarray, name: str = "kernel") -> dict[str, np.ndarray]:
    """Return the slopes of a kernel within another, by the names that they have there."""
    return {f"{name}__{inner}": value for inner, value in parameter_slopes(kernel, X, slope).items()}


@parameter_slopes.register
def _of_radial(kernel: Radial, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    rest = [name for name in kernel._names() if name != kernel._bandwidth]
    return _of_bandwidth(kernel, X, slope) | dict(_differences(kernel, as_points(kernel, X), slope, rest))


@parameter_slopes.register
def _of_matern(kernel: Matern, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """ν is one of three numbers and has no slope."""
    return _of_bandwidth(kernel, X, slope)


def _of_bandwidth(kernel: Radial, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """∂V/∂w_k² = Σ_ij slope_ij φ′(s_ij)(x_ik − x_jk)², w = w(1)bᵉ for a bandwidth b; differences where φ is rough."""
    X, name = as_points(kernel, X), kernel._bandwidth
    if not kernel.differentiable:
        return dict(_differences(kernel, X, slope, [name]))
    centred = X - X.mean(axis=0)
    bent = slope * kernel.profile(kernel.squared_distances(X), 1)
    columns = 2 * (bent.sum(axis=1) @ centred**2 - np.sum(centred * (bent @ centred), axis=0))
    bandwidth = np.asarray(to_numpy(getattr(kernel, name)), dtype=float)
    unit = float(kernel._to_weight(1.0))
    exponent = math.log(kernel._to_weight(math.e) / unit)
    each = 2 * exponent * unit**2 * bandwidth ** (2 * exponent - 1)
    return {name: np.asarray(each * (columns if bandwidth.ndim else columns.sum()))}


@parameter_slopes.register
def _of_sum(kernel: Sum, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    return _inside(kernel.left, X, slope, "left") | _inside(kernel.right, X, slope, "right")


@parameter_slopes.register
def _of_product(kernel: Product, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    left = _inside(kernel.left, X, slope * kernel.right(X, X), "left")
    return left | _inside(kernel.right, X, slope * kernel.left(X, X), "right")


@parameter_slopes.register
def _of_multiple(kernel: Scaled, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    found = {"scale": np.asarray(np.sum(slope * kernel.kernel(X, X)))}
    return found | _inside(kernel.kernel, X, kernel.scale * slope)


@parameter_slopes.register
def _of_restriction(kernel: Restricted, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    return _inside(kernel.kernel, kernel._take(as_points(kernel, X)), slope)


@parameter_slopes.register
def _of_projection(kernel: Projected, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    X = as_points(kernel, X)
    mapped = kernel._map(X)
    found = {"matrix": X.T @ pull_back(kernel.kernel, mapped, slope)} if kernel.differentiable else {}
    return found | _inside(kernel.kernel, mapped, slope)


@parameter_slopes.register
def _of_constant(kernel: Constant, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    return {"value": np.asarray(np.sum(slope))}


@parameter_slopes.register
def _of_linear(kernel: Linear, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    return {}


@parameter_slopes.register
def _of_polynomial(kernel: Polynomial, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    X = as_points(kernel, X)
    products = X @ X.T
    bent = slope * kernel.degree * kernel._base(products) ** (kernel.degree - 1)
    return {"gamma": np.asarray(np.sum(bent * products)), "constant": np.asarray(np.sum(bent))}
