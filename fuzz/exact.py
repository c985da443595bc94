"""Kernels and losses in extended precision, by formulas of the campaign's own.

``np.longdouble`` has 64 bits of mantissa and exponents to ±4932 on x86; where it is the same as double (some ARM
machines) the campaign still runs, with less to tell rounding errors by.

A kernel or a basis without a formula here, such as one of your own, is taken at its word.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from mercer import kernels, losses

__all__ = ["conjugate", "kernel_matrix", "long", "loss_slope", "loss_value", "radius", "slope_matrix"]

PI = np.arctan2(np.longdouble(0), np.longdouble(-1))
#: beyond this many lengths a Matérn kernel is 0 in any precision
FAR = 12_000


def long(values: Any) -> Any:
    """Return numbers in extended precision."""
    return np.asarray(values, dtype=np.longdouble)


# -- kernels ---------------------------------------------------------------------------------------------------


@singledispatch
def kernel_matrix(kernel: Any, X: Any, Z: Any) -> Any:
    """Return k(x_i, z_j) for points of shape (n, d) and (m, d)."""
    return long(kernel(np.asarray(X, dtype=float), np.asarray(Z, dtype=float)))


def _differences(X: Any, Z: Any) -> Any:
    return long(X)[:, None, :] - long(Z)[None, :, :]


def _squares(X: Any, Z: Any, length: Any) -> Any:
    return np.sum((_differences(X, Z) / long(length)) ** 2, axis=2)


@kernel_matrix.register
def _(kernel: kernels.Gaussian, X, Z):
    return np.exp(-np.sum(long(kernel.gamma) * _differences(X, Z) ** 2, axis=2))


@kernel_matrix.register
def _(kernel: kernels.Laplacian, X, Z):
    return np.exp(-np.sum(long(kernel.gamma) * np.abs(_differences(X, Z)), axis=2))


def _matern(nu: float, squares: Any) -> Any:
    a = np.minimum(np.sqrt(long(2 * nu) * squares), FAR)
    return {0.5: 1, 1.5: 1 + a, 2.5: 1 + a + a * a / 3}[nu] * np.exp(-a)


@kernel_matrix.register
def _(kernel: kernels.Matern, X, Z):
    return _matern(kernel.nu, _squares(X, Z, kernel.length_scale))


@kernel_matrix.register
def _(kernel: kernels.RationalQuadratic, X, Z):
    shape = long(kernel.shape)
    return np.exp(-shape * np.log1p(_squares(X, Z, kernel.length_scale) / (2 * shape)))


@kernel_matrix.register
def _(kernel: kernels.Periodic, X, Z):
    period = np.asarray(kernel.period, dtype=float)
    turns = (long(np.fmod(np.asarray(points, dtype=float), period)) / period for points in (X, Z))  # fmod is exact
    return np.exp(-2 * np.sum((np.sin(PI * _differences(*turns)) / long(kernel.length_scale)) ** 2, axis=2))


@kernel_matrix.register
def _(kernel: kernels.Linear, X, Z):
    return long(X) @ long(Z).T


@kernel_matrix.register
def _(kernel: kernels.Polynomial, X, Z):
    return (long(kernel.gamma) * (long(X) @ long(Z).T) + long(kernel.constant)) ** int(kernel.degree)


@kernel_matrix.register
def _(kernel: kernels.Constant, X, Z):
    return np.full((len(X), len(Z)), long(kernel.value))


@kernel_matrix.register
def _(kernel: kernels.Identity, X, Z):
    return long(np.all(np.asarray(X)[:, None, :] == np.asarray(Z)[None, :, :], axis=2))


@kernel_matrix.register
def _(kernel: kernels.ExponentiatedChiSquared, X, Z):
    total = long(X)[:, None, :] + long(Z)[None, :, :]
    parts = np.where(total > 0, _differences(X, Z) ** 2 / np.where(total > 0, total, 1), 0)
    return np.exp(-long(kernel.gamma) * np.sum(parts, axis=2))


@kernel_matrix.register
def _(kernel: kernels.Precomputed, X, Z):
    return long(X)


@kernel_matrix.register
def _(kernel: kernels.Sum, X, Z):
    return kernel_matrix(kernel.left, X, Z) + kernel_matrix(kernel.right, X, Z)


@kernel_matrix.register
def _(kernel: kernels.Product, X, Z):
    return kernel_matrix(kernel.left, X, Z) * kernel_matrix(kernel.right, X, Z)


@kernel_matrix.register
def _(kernel: kernels.Scaled, X, Z):
    return long(kernel.scale) * kernel_matrix(kernel.kernel, X, Z)


@kernel_matrix.register
def _(kernel: kernels.Restricted, X, Z):
    columns = np.atleast_1d(kernel.columns)
    return kernel_matrix(kernel.kernel, np.asarray(X)[:, columns], np.asarray(Z)[:, columns])


@singledispatch
def slope_matrix(kernel: Any, s: Any, t: Any, both: bool) -> Any:
    """Return ∂₂k(s_i, t_j) on the line, or ∂₁∂₂k where ``both``; s and t are columns."""
    order = (1, 1) if both else (0, 1)
    return long(kernel.derivative(np.asarray(s, dtype=float), np.asarray(t, dtype=float), order))


@slope_matrix.register
def _(kernel: kernels.Gaussian, s, t, both):
    gamma, d = long(kernel.gamma), long(s) - long(t).T
    return np.exp(-gamma * d * d) * ((2 * gamma - 4 * gamma**2 * d * d) if both else 2 * gamma * d)


@slope_matrix.register
def _(kernel: kernels.Matern, s, t, both):
    rate = np.sqrt(long(2 * kernel.nu)) / long(kernel.length_scale)
    d = long(s) - long(t).T
    a = np.minimum(rate * np.abs(d), FAR)
    if kernel.nu == 1.5:  # φ = (1 + a) e^{−a}: φ′ = −a e^{−a}, φ″ = (a − 1) e^{−a}
        return rate**2 * np.exp(-a) * ((1 - a) if both else d)
    return rate**2 / 3 * np.exp(-a) * ((1 + a - a * a) if both else d * (1 + a))


@slope_matrix.register
def _(kernel: kernels.Linear, s, t, both):
    return np.ones((len(s), len(t)), dtype=np.longdouble) * (1 if both else long(s))


@slope_matrix.register
def _(kernel: kernels.Constant, s, t, both):
    return np.zeros((len(s), len(t)), dtype=np.longdouble)


@slope_matrix.register
def _(kernel: kernels.Polynomial, s, t, both):
    s, t, gamma, degree = long(s), long(t), long(kernel.gamma), int(kernel.degree)
    base = gamma * s * t.T + long(kernel.constant)
    if not both:
        return degree * gamma * s * base ** (degree - 1)
    bent = (degree - 1) * gamma * s * t.T * base ** (degree - 2) if degree > 1 else 0
    return degree * gamma * (base ** (degree - 1) + bent)


@slope_matrix.register
def _(kernel: kernels.Sum, s, t, both):
    return slope_matrix(kernel.left, s, t, both) + slope_matrix(kernel.right, s, t, both)


# -- losses ----------------------------------------------------------------------------------------------------
#
# A loss is a function f of the residual r (for costs, of 1 − y·u), θ its level; its conjugate, without the linear term,
# is a function of the dual variable a = f′(r). For losses of curves r may be the norm of a residual.


def _side(values: Any, theta: Any) -> Any:
    """Return θ above 0 and 1 − θ below."""
    return np.where(values > 0, theta, 1 - theta)


def loss_value(loss: losses.Loss, r: Any, theta: Any = None) -> Any:
    """Return f(r)."""
    match loss:
        case losses.Pinball():
            return np.maximum(theta * r, (theta - 1) * r)
        case losses.MoreauPinball(kappa=kappa):
            slope = np.clip(r / long(kappa), theta - 1, theta)
            return slope * (r - long(kappa) * slope / 2)
        case losses.WeightedHuber(kappa=kappa):
            inside = np.minimum(np.abs(r), long(kappa))
            return _side(r, theta) * (inside / long(kappa)) * (np.abs(r) - inside / 2)
        case losses.Expectile():
            return _side(r, theta) * r * r / 2
        case losses.CostSensitiveHinge():
            return theta * np.maximum(r, 0)
        case losses.MoreauHinge(kappa=kappa):
            slope = np.clip(r / long(kappa), 0, theta)
            return slope * (r - long(kappa) * slope / 2)
        case losses.WeightedMoreauHinge(kappa=kappa):
            slope = np.clip(r / long(kappa), 0, 1)
            return theta * slope * (r - long(kappa) * slope / 2)
        case losses.Square():
            return r * r / 2
        case losses.Huber(kappa=kappa):
            inside = np.minimum(np.abs(r), long(kappa))
            return inside * (np.abs(r) - inside / 2)
        case losses.EpsilonRidge(epsilon=epsilon):
            return np.maximum(np.abs(r) - long(epsilon), 0) ** 2 / 2
        case losses.EpsilonInsensitive(epsilon=epsilon):
            return np.maximum(np.abs(r) - long(epsilon), 0)
    raise NotImplementedError(f"{loss!r} has no formula in fuzz/exact.py.")


def conjugate(loss: losses.Loss, a: Any, theta: Any = None) -> Any:
    """Return f*(a), where a is in the domain."""
    match loss:
        case losses.Pinball() | losses.CostSensitiveHinge():
            return 0 * a
        case losses.MoreauPinball(kappa=kappa) | losses.MoreauHinge(kappa=kappa):
            return long(kappa) * a * a / 2
        case losses.WeightedHuber(kappa=kappa):
            return long(kappa) * a * a / (2 * _side(a, theta))
        case losses.WeightedMoreauHinge(kappa=kappa):
            return long(kappa) * a * a / (2 * theta)
        case losses.Expectile():
            return a * a / (2 * _side(a, theta))
        case losses.Square() | losses.Huber():
            return a * a / 2
        case losses.EpsilonRidge(epsilon=epsilon):
            return a * a / 2 + long(epsilon) * np.abs(a)
        case losses.EpsilonInsensitive(epsilon=epsilon):
            return long(epsilon) * np.abs(a)
    raise NotImplementedError(f"{loss!r} has no formula in fuzz/exact.py.")


def loss_slope(loss: losses.Loss, r: Any, theta: Any = None) -> Any:
    """Return a bound on |f′| at r: what an error of the residual is multiplied with."""
    match loss:
        case losses.Expectile() | losses.Square() | losses.EpsilonRidge():
            return np.abs(r)
        case losses.Huber(kappa=kappa):
            return np.minimum(np.abs(r), long(kappa))
    return np.ones_like(r)


def radius(loss: losses.Loss) -> float:
    """Return the largest size of a dual variable of a loss of curves."""
    match loss:
        case losses.Huber(kappa=kappa):
            return float(kappa)
        case losses.EpsilonInsensitive():
            return 1.0
    return np.inf
