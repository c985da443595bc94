"""A kernel of finitely many waves: what a shift-invariant kernel is on average over its frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import numpy as np

from mercer.backend import as_like, holds, is_numpy, namespace
from mercer.exceptions import DataError
from mercer.features.feature_map import DifferentiableFeatures
from mercer.kernels import parameter_slopes
from mercer.kernels.base import Kernel, as_points
from mercer.linalg.memory import PAIR_BLOCK

__all__ = ["FourierKernel", "write_waves"]


@dataclass(eq=False, repr=False)
class FourierKernel(DifferentiableFeatures):
    """k̃(x, z) = (mass/D) Σ_j cos⟨ω_j, u(x) − u(z)⟩, with 2D features √(mass/D)·[cos⟨ω_j, u⟩, sin⟨ω_j, u⟩].

    Its slopes are those of the kernel that it approximates, where that has any. :class:`RandomFourier` makes it.

    Parameters
    ----------
    kernel : Kernel
        What is approximated.
    frequencies : array of shape (c, D)
        ω, one a column.
    centre : array of shape (c,)
        What is taken off u before products with ω, so that no digits are lost far from 0.
    mass : float, default=1.0
        k̃(x, x).
    columns : array of int of shape (c,), optional
        The columns of x that u is made of; all by default.
    shift : array of shape (c,), optional
        Where it is finite, u_k = log(x_k + shift_k), else u_k = x_k; by default u = x.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> FourierKernel(Gaussian(1.0), np.array([[0.0, np.pi]]), np.zeros(1)).features(np.array([[0.5]])).round(3)
    array([[0.707, 0.   , 0.   , 0.707]])
    """

    kernel: Kernel
    frequencies: Any
    centre: Any
    mass: float = 1.0
    columns: Any = None
    shift: Any = None

    def __repr__(self) -> str:
        return f"FourierKernel({self.kernel!r}, {self.frequencies.shape[1]} frequencies)"

    @property
    def differentiable(self) -> bool:
        """Whether the kernel that it approximates is."""
        return self.kernel.differentiable and self.shift is None

    @property
    def n_features(self) -> int:
        """2D."""
        return 2 * int(self.frequencies.shape[1])

    def locate(self, layout):
        return self  # columns are numbers already

    def features(self, X: Any) -> Any:
        """Return φ(x_i), shape (n, 2D), cosines before sines; some rows at a time, in the dtype of X."""
        return self._features(as_points(self, X))

    def _features(self, X):
        u, frequencies = self._coordinates(X), as_like(self.frequencies, X)
        scale = math.sqrt(self.mass / frequencies.shape[1])
        if is_numpy(u):
            out = np.empty((len(u), self.n_features), dtype=u.dtype)
            write_waves(u, frequencies, scale, out)
            return out
        xp, phase = namespace(u), u @ frequencies
        return scale * xp.concat([xp.cos(phase), xp.sin(phase)], axis=1)

    def slopes(self, X: Any) -> Any:
        """Return ∂φ(x_i)/∂x_ib at (i, b), shape (n, d, 2D)."""
        self._refuse_rough()
        X = as_points(self, X)
        xp, features, half = namespace(X), self.features(X), self.frequencies.shape[1]
        turned = xp.concat([-features[:, half:], features[:, :half]], axis=1)
        matrix = as_like(self.frequencies, X)
        if self.columns is not None:
            full = np.zeros((X.shape[1], half))
            np.add.at(full, np.asarray(self.columns), np.asarray(self.frequencies))
            matrix = as_like(full, X)
        return turned[:, None, :] * xp.concat([matrix, matrix], axis=1)[None, :, :]

    def _diagonal(self, X):
        self._coordinates(X[:1, :])
        return namespace(X).full(X.shape[0], float(self.mass), dtype=X.dtype, device=compat.device(X))

    def _coordinates(self, X):
        """Return u(x_i) − centre, shape (n, c)."""
        xp, size = namespace(X), self.frequencies.shape[0]
        if self.columns is None and X.shape[1] != size:
            raise DataError(f"{self!r} was made for points of {size} columns; got {X.shape[1]}.")
        if self.columns is not None:
            if int(np.max(self.columns, initial=-1)) >= X.shape[1]:
                raise DataError(f"{self!r} sees the columns {self.columns}; the points have {X.shape[1]} columns.")
            X = xp.take(X, xp.asarray(self.columns, device=compat.device(X)), axis=1)
        if self.shift is not None:
            logs = np.isfinite(self.shift)
            shifted = X + as_like(np.where(logs, self.shift, 0.0), X)
            mask = xp.asarray(logs, device=compat.device(X))
            if not holds(xp.all((shifted > 0) | ~mask)):
                raise DataError(f"{self!r}: X must be > −skew in the columns of which logarithms are taken.")
            X = xp.where(mask, xp.log(xp.where(mask, shifted, xp.ones_like(shifted))), X)
        return X - as_like(self.centre, X)


@parameter_slopes.register
def _of_waves(kernel: FourierKernel, X: np.ndarray, slope: np.ndarray) -> dict[str, np.ndarray]:
    """Those of the frequencies: the phase p_ij of wave j at row i has −2 Σ_l slope_il sin(p_ij − p_lj)·mass/D."""
    features, half = kernel.features(X), kernel.frequencies.shape[1]
    cosines, sines = features[:, :half], features[:, half:]  # with √(mass/D)
    phases = -2 * (sines * (slope @ cosines) - cosines * (slope @ sines))
    mass = np.sum(features * (slope @ features)) / kernel.mass
    return {"frequencies": kernel._coordinates(as_points(kernel, X)).T @ phases, "mass": np.asarray(mass)}


def write_waves(u: np.ndarray, frequencies: np.ndarray, scale: float, out: np.ndarray) -> None:
    """Write scale·[cos(uΩ), sin(uΩ)] into ``out`` of shape (n, 2D), some rows at a time that stay in the cache.

    With t = tan(uΩ/2) and g = 2/(1 + t²) these are g − 1 and t·g, to rounding: one tangent in place of a cosine and a
    sine, which NumPy evaluates more than ten times faster where it has vector instructions for it.

    Examples
    --------
    >>> out = np.empty((1, 2))
    >>> write_waves(np.array([[1.0]]), np.array([[np.pi / 3]]), 2.0, out)
    >>> out.round(12)
    array([[1.        , 1.73205081]])
    """
    half, halves = frequencies.shape[1], frequencies / 2
    step = max(1, PAIR_BLOCK // max(half, 1))
    for start in range(0, len(u), step):
        block = out[start : start + step]
        cosines, sines = block[:, :half], block[:, half:]
        tangents = np.matmul(u[start : start + step], halves, out=sines)
        np.tan(tangents, out=tangents)
        np.multiply(tangents, tangents, out=cosines)
        cosines += 1
        np.divide(2 * scale, cosines, out=cosines)
        sines *= cosines
        cosines -= scale
