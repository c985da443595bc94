"""The public contract of a scalar kernel, as a check."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.kernels.base import Kernel

__all__ = ["check_kernel"]

#: step of finite differences, as a part of the spread of a column, and how near they come to the largest derivative
STEP = 1e-6
DERIVATIVE_TOLERANCE = 1e-3
#: values and slopes of which the matrix is tested for positivity
LARGEST_BLOCK = 400


def check_kernel(kernel: Kernel, X: Any = None, *, seed: int = 0, tolerance: float = 1e-8) -> None:
    """Check that a kernel keeps the contract of :class:`mercer.kernels.Kernel`; AssertionError if not.

    Checked are symmetry, positive semi-definiteness, the diagonal, columns of the Gram operator, that an entry depends
    on its two points only, :meth:`~mercer.kernels.Kernel.adapt`, and that the record survives ``get_params``,
    ``set_params`` and scikit-learn's ``clone``. Where the kernel is ``differentiable``: gradient and cross-Hessian in
    all columns against finite differences, at coincident points too, the symmetry ∂₁∂₂k(x, z) = ∂₁∂₂k(z, x)ᵀ, and that
    [k, ∂₂k; ∂₁k, ∂₁∂₂k] is positive semi-definite. Where it is ``explicit``: that k is the inner product of its
    features, that these depend on one point each, and that the Gram operator has the matrix K.

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
    if kernel.explicit:
        _check_features(kernel, X, tolerance)
    _check_columns(kernel, X, tolerance)
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


def _check_columns(kernel: Kernel, X: np.ndarray, tolerance: float) -> None:
    """The Gram operator has the columns of the matrix, which thin bases are made of."""
    _close(kernel.gram(X).columns()(1), kernel(X)[:, 1], kernel, "a column of gram(X) differs from K(X)", tolerance)


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


def _check_features(kernel: Kernel, X: np.ndarray, tolerance: float) -> None:
    features, few = np.asarray(kernel.features(X)), len(X) // 2
    good = features.ndim == 2 and len(features) == len(X)
    _that(good, kernel, f"features(X) must have shape ({len(X)}, D), it has {features.shape}")
    _close(features @ features.T, kernel(X), kernel, "features(X) @ features(X).T differs from K(X)", tolerance)
    _close(kernel.features(X[:few]), features[:few], kernel, "features of some points depend on others", tolerance)
    _close(kernel.gram(X).to_dense(), kernel(X), kernel, "gram(X) differs from K(X)", tolerance)


def _check_derivatives(kernel: Kernel, X: np.ndarray, rng: np.random.Generator, tolerance: float) -> None:
    X = X[: max(2, LARGEST_BLOCK // (1 + X.shape[1]))]
    spreads = np.ptp(X, axis=0)
    units = np.where(spreads > 0, spreads, 1.0)
    mixing = rng.dirichlet(np.full(len(X), 0.3), size=5)
    Z = np.concatenate([X[:4], mixing @ X])  # coincident points and others

    # unit-free: derivatives in units of the spreads, so that no column and no block dwarfs the others
    def slopes(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return _over_pairs(kernel.gradient(X, Z), X, Z, kernel, "gradient(X, Z)", 1) * units

    def curvatures(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
        return _over_pairs(kernel.cross_hessian(X, Z), X, Z, kernel, "cross_hessian(X, Z)", 2) * units[:, None] * units

    first = _quotients(lambda points: kernel(points, Z), X, units)
    _close(slopes(X, Z), first, kernel, "gradient(X, Z) differs from finite differences", DERIVATIVE_TOLERANCE)
    mixed = _quotients(lambda points: slopes(X, points), Z, units)
    found = curvatures(X, Z)
    _close(found, mixed, kernel, "cross_hessian(X, Z) differs from finite differences", DERIVATIVE_TOLERANCE)
    turned = np.transpose(curvatures(Z, X), (1, 0, 3, 2))
    _close(found, turned, kernel, "∂₁∂₂k(x, z) differs from ∂₁∂₂k(z, x)ᵀ", tolerance)
    same = X.copy()
    _close(slopes(X), slopes(X, same), kernel, "gradient(X) differs from gradient(X, copy of X)", tolerance)
    _close(curvatures(X), curvatures(X, same), kernel, "cross_hessian(X) differs from (X, copy of X)", tolerance)
    _check_slope_block(kernel, kernel(X), slopes(X), curvatures(X), tolerance)


def _over_pairs(values: Any, X: np.ndarray, Z: np.ndarray | None, kernel: Kernel, what: str, order: int) -> np.ndarray:
    found = np.asarray(values)
    shape = (len(X), len(X if Z is None else Z), *(X.shape[1],) * order)
    _that(found.shape == shape, kernel, f"{what} must have shape {shape}, it has {found.shape}")
    return found


def _check_slope_block(kernel: Kernel, k: Any, d1: np.ndarray, d12: np.ndarray, tolerance: float) -> None:
    """Check that values and slopes, at all points and in all columns, have a positive Gram matrix."""
    below = np.transpose(d1, (0, 2, 1)).reshape(-1, len(d1))  # rows are (point, column)
    corner = np.transpose(d12, (0, 2, 1, 3)).reshape(len(below), len(below))
    block = np.block([[np.asarray(k), below.T], [below, corner]])
    _close(block, block.T, kernel, "[k, ∂₂k; ∂₁k, ∂₁∂₂k] is not symmetric", tolerance)
    _positive(block, kernel, "[k, ∂₂k; ∂₁k, ∂₁∂₂k]", tolerance)


def _quotients(function: Callable[[np.ndarray], Any], X: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Return central differences in each column of X, per unit of the column; columns on a new last axis."""
    ahead = [np.asarray(function(X + step)) for step in STEP * np.diag(units)]
    behind = [np.asarray(function(X - step)) for step in STEP * np.diag(units)]
    return (np.stack(ahead, axis=-1) - np.stack(behind, axis=-1)) / (2 * STEP)


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
