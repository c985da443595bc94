"""The public contract of a scalar kernel, as a check."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.exceptions import DataError
from mercer.kernels.base import ORDERS, Kernel

__all__ = ["check_kernel"]

#: finite differences are compared to this part of the largest derivative
DERIVATIVE_TOLERANCE = 1e-3


def check_kernel(kernel: Kernel, X: Any = None, *, seed: int = 0, tolerance: float = 1e-8) -> None:
    """Check that a kernel keeps the contract of :class:`mercer.kernels.Kernel`; AssertionError if not.

    Checked are symmetry, positive semi-definiteness, the diagonal, that an entry depends on its two points
    only, derivatives against finite differences (where the kernel has them),
    :meth:`~mercer.kernels.Kernel.adapt`, and that the record survives ``get_params``, ``set_params`` and
    scikit-learn's ``clone``.

    Parameters
    ----------
    kernel : Kernel
        The kernel, with numbers or with data-dependent parameters.
    X : array of shape (n, d), optional
        Points for which the kernel is meant; by default 14 random points with three non-negative columns,
        some of them zero or repeated (a random Gram matrix for kernels on precomputed values).
    seed : int, default=0
        Seed of the random points.
    tolerance : float, default=1e-8
        What counts as zero, relative to the largest entry or eigenvalue.

    Examples
    --------
    >>> from mercer.kernels import FunctionKernel, Gaussian
    >>> check_kernel(Gaussian() + 1.0)
    >>> check_kernel(FunctionKernel(lambda X, Z: X[:, :1] - Z[:, :1].T))
    Traceback (most recent call last):
    AssertionError: FunctionKernel(...): K(X) is not symmetric...
    """
    _that(isinstance(kernel, Kernel), kernel, f"is no Kernel but {type(kernel).__name__}")
    rng = np.random.default_rng(seed)
    X = _points(kernel, rng) if X is None else np.asarray(X, dtype=float)
    _check_record(kernel)
    _check_adapt(kernel, X, tolerance)
    kernel = kernel.adapt(X)
    _check_matrix(kernel, X, tolerance)
    _check_diagonal(kernel, X, tolerance)
    _check_blocks(kernel, X, rng, tolerance)
    if kernel.differentiable:
        _check_derivatives(kernel, X, rng, tolerance)


def _points(kernel: Kernel, rng: np.random.Generator) -> np.ndarray:
    X = rng.uniform(0, 2, size=(14, 3))
    X[2, 0] = X[5, 1] = 0
    X[7] = X[3]
    if kernel.pairwise:
        factor = rng.normal(size=(14, 5))
        return factor @ factor.T
    return X


def _check_record(kernel: Kernel) -> None:
    shallow = kernel.get_params(deep=False)
    _that(type(kernel)(**shallow) == kernel, kernel, "differs from one made of its own parameters")
    twin = clone(kernel)
    _that(twin == kernel and twin is not kernel, kernel, "differs from its clone")
    _that(twin.set_params(**clone(kernel).get_params()) == kernel, kernel, "set_params(get_params()) changes it")
    _that(copy.deepcopy(kernel) == kernel, kernel, "differs from its deep copy")


def _check_adapt(kernel: Kernel, X: np.ndarray, tolerance: float) -> None:
    before = copy.deepcopy(kernel)
    rows = X.copy()
    adapted = kernel.adapt(X)
    values = kernel(X)
    _that(kernel == before, kernel, "adapt(X) or a call changed the kernel itself")
    _that(np.array_equal(rows, X), kernel, "adapt(X) or a call changed X")
    _that(adapted is not kernel, kernel, "adapt(X) returned the kernel itself, not a copy")
    _that(adapted.adapted, kernel, "adapt(X) left parameters that depend on the data")
    _that(adapted.adapt(X) == adapted, kernel, "adapt is not idempotent")
    _that(
        adapted.adapt(X[: len(X) // 2] / 3 + 1) == adapted,
        kernel,
        "adapt changed parameters that were numbers",
    )
    _close(adapted(X), values, kernel, "K(X) before and after adapt(X) differ", tolerance)


def _check_matrix(kernel: Kernel, X: np.ndarray, tolerance: float) -> None:
    K = np.asarray(kernel(X))
    shape = (len(X), len(X))
    _that(K.shape == shape, kernel, f"K(X) must have shape {shape}, it has {K.shape}")
    _that(bool(np.all(np.isfinite(K))), kernel, "K(X) has NaN or infinite entries")
    _close(K, K.T, kernel, "K(X) is not symmetric", tolerance)
    _positive(K, kernel, "K(X)", tolerance)


def _check_diagonal(kernel: Kernel, X: np.ndarray, tolerance: float) -> None:
    diagonal = np.asarray(kernel.diagonal(X))
    _that(
        diagonal.shape == (len(X),),
        kernel,
        f"diagonal(X) must have shape {(len(X),)}, it has {diagonal.shape}",
    )
    _close(diagonal, np.diagonal(kernel(X)), kernel, "diagonal(X) differs from that of K(X)", tolerance)
    _close(
        diagonal,
        np.diagonal(kernel(X, X.copy())),
        kernel,
        "diagonal(X) differs from K(X, copy of X)",
        tolerance,
    )


def _check_blocks(kernel: Kernel, X: np.ndarray, rng: np.random.Generator, tolerance: float) -> None:
    if kernel.pairwise:
        _close(kernel(X[:5], X), kernel(X)[:5], kernel, "K(X[:5], X) differs from the rows of K(X)", tolerance)
        return
    mixing = rng.dirichlet(np.ones(len(X)), size=6)
    Z = np.concatenate([mixing @ X, X[:2]])  # convex combinations stay in the domain; two points in common
    n = len(X)
    everything = kernel(np.concatenate([X, Z]))
    _close(
        kernel(X, Z),
        everything[:n, n:],
        kernel,
        "K(X, Z) differs from the block of K of all points",
        tolerance,
    )
    _close(
        kernel(Z, X),
        everything[n:, :n],
        kernel,
        "K(Z, X) differs from the block of K of all points",
        tolerance,
    )
    _close(
        kernel(X[:1], Z),
        everything[:1, n:],
        kernel,
        "K(x, Z) of one point differs from that of many",
        tolerance,
    )


def _check_derivatives(kernel: Kernel, X: np.ndarray, rng: np.random.Generator, tolerance: float) -> None:
    T = X[:, :1]
    try:
        kernel(T)
    except DataError:
        return  # the parameters are for more columns, and derivatives for one only
    spread = float(np.ptp(T)) or 1.0
    S = np.concatenate([T[:4], T.min() + spread * rng.random((5, 1))])  # coincident points and others
    step = 1e-6 * spread
    first = (kernel(T + step, S) - kernel(T - step, S)) / (2 * step)
    second = (kernel(T, S + step) - kernel(T, S - step)) / (2 * step)
    mixed = (kernel.derivative(T, S + step, (1, 0)) - kernel.derivative(T, S - step, (1, 0))) / (2 * step)
    for order, expected in zip(ORDERS, (first, second, mixed), strict=True):
        found = kernel.derivative(T, S, order)
        _close(
            found,
            expected,
            kernel,
            f"derivative {order} differs from finite differences",
            DERIVATIVE_TOLERANCE,
        )
    turned = kernel.derivative(S, T, (1, 0)).T
    _close(kernel.derivative(T, S, (0, 1)), turned, kernel, "∂₂k(x, z) differs from ∂₁k(z, x)", tolerance)
    d1, d2, d12 = (kernel.derivative(T, None, order) for order in ORDERS)
    # unit-free: derivatives in units of the spread, so that no block dwarfs the other
    block = np.block([[kernel(T), spread * d2], [spread * d1, spread**2 * d12]])
    _close(block, block.T, kernel, "[k, ∂₂k; ∂₁k, ∂₁∂₂k] is not symmetric", tolerance)
    _positive(block, kernel, "[k, ∂₂k; ∂₁k, ∂₁∂₂k]", tolerance)


def _positive(matrix: np.ndarray, kernel: Kernel, what: str, tolerance: float) -> None:
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    good = values[0] >= -tolerance * np.max(np.abs(values))
    _that(
        bool(good),
        kernel,
        f"{what} is not positive semi-definite: eigenvalues {values[0]:.3g} to {values[-1]:.3g}",
    )


def _close(found: Any, expected: Any, kernel: Kernel, message: str, tolerance: float) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    _that(found.shape == expected.shape, kernel, f"{message}: shapes {found.shape} and {expected.shape}")
    error = float(np.max(np.abs(found - expected), initial=0.0))
    scale = float(np.max(np.abs(expected), initial=0.0))
    # an expected 0 leaves only the rounding of finite differences
    limit = tolerance * scale if scale > 1e-9 else max(tolerance, 1e-9)
    _that(error <= limit, kernel, f"{message} by {error:.3g}, {limit:.3g} is allowed")


def _that(condition: bool, kernel: object, message: str) -> None:
    if not condition:
        raise AssertionError(f"{kernel!r}: {message}.")
