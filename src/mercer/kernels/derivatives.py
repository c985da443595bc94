"""What formulas of derivatives share: arrays over pairs of points, and the columns of the points behind them."""

from __future__ import annotations

from typing import Any

import array_api_compat as compat

from mercer.backend import namespace

__all__ = ["column_identity", "differences", "zeros"]

Array = Any


def differences(X: Array, Z: Array) -> Array:
    """Return x_i − z_j, shape (n, m, d)."""
    return X[:, None, :] - Z[None, :, :]


def column_identity(X: Array) -> Array:
    """Return the identity matrix of the columns of X, shape (d, d)."""
    return namespace(X).eye(X.shape[-1], dtype=X.dtype, device=compat.device(X))


def zeros(X: Array, Z: Array, order: int) -> Array:
    """Return zeros in the shape of derivatives: (n, m, d) for order 1, (n, m, d, d) for order 2."""
    xp = namespace(X, Z)
    shape = (X.shape[0], Z.shape[0], *(X.shape[1],) * order)
    return xp.zeros(shape, dtype=xp.result_type(X.dtype, Z.dtype), device=compat.device(X))
