"""Kernels by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from mercer.exceptions import parameter_error
from mercer.kernels.base import Kernel
from mercer.kernels.callable import FunctionKernel
from mercer.kernels.categorical import Categorical
from mercer.kernels.histogram import ExponentiatedChiSquared, SkewedChiSquared
from mercer.kernels.identity import Identity
from mercer.kernels.on_functions import FunctionalGaussian, IntegralGaussian, IntegralLaplacian
from mercer.kernels.polynomial import Constant, Linear, Polynomial
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import Gaussian, Matern, RationalQuadratic
from mercer.kernels.stationary import Laplacian, Periodic

__all__ = ["as_kernel"]

NAMES: dict[str, Callable[[], Kernel]] = {
    "gaussian": Gaussian,
    "rbf": Gaussian,
    "laplacian": Laplacian,
    "matern": Matern,
    "rational_quadratic": RationalQuadratic,
    "periodic": Periodic,
    "linear": Linear,
    "polynomial": Polynomial,
    "poly": Polynomial,
    "constant": Constant,
    "identity": Identity,
    "categorical": Categorical,
    "chi2": ExponentiatedChiSquared,
    "skewed_chi2": SkewedChiSquared,
    "integral_gaussian": IntegralGaussian,
    "integral_laplacian": IntegralLaplacian,
    "functional_gaussian": FunctionalGaussian,
    "precomputed": Precomputed,
}


def as_kernel(value: Any, owner: object = "as_kernel", name: str = "kernel") -> Kernel:
    """Return a kernel from a kernel, a name or a function of two arrays.

    Parameters
    ----------
    value : Kernel, str or callable
        A kernel passes unchanged; a name gives that kernel with its default parameters; a function (X, Z) →
        matrix becomes a :class:`FunctionKernel`.
    owner, name : object and str, optional
        Whose parameter it is, for the message of an error.

    Examples
    --------
    >>> as_kernel("rbf")
    Gaussian()
    >>> as_kernel("gausian")
    Traceback (most recent call last):
    mercer.exceptions.ParameterError: as_kernel: kernel must be ...; got 'gausian'. Did you mean 'gaussian'?
    """
    if isinstance(value, Kernel):
        return value
    hint = ""
    if isinstance(value, str):
        if value in NAMES:
            return NAMES[value]()
        close = difflib.get_close_matches(value.lower(), NAMES, n=1, cutoff=0.5)
        hint = f"Did you mean {close[0]!r}?" if close else ""
    elif isinstance(value, type):
        hint = f"Pass an instance: {value.__name__}()." if issubclass(value, Kernel) else ""
    elif callable(value):
        return FunctionKernel(value)
    allowed = f"a Kernel, a function of two arrays or one of {', '.join(map(repr, NAMES))}"
    raise parameter_error(owner, name, value, allowed, hint)
