"""A synthetic flow in the plane, whose sources and rotation are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer._params import check_number
from mercer.exceptions import DataError

__all__ = ["flow_parts", "make_flow"]

#: where the source lies
SOURCE = np.array([1.0, 0.5])
#: half of the side of the square in which the flow is measured
REACH = 2.0


def make_flow(n_samples: int = 60, noise: float = 0.05, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return points X (n, 2) and vectors Y (n, 2): a source and a vortex, measured with noise.

    X is uniform on [−2, 2]² and Y = ∇u + (∂₂ψ, −∂₁ψ) + noise·N(0, I) with u(x) = −exp(−|x − s|²/2), s = (1, ½), and
    ψ(x) = −exp(−|x|²/2). :func:`flow_parts` has both parts.

    Examples
    --------
    >>> X, Y = make_flow(5, random_state=0)
    >>> X.shape, Y.shape
    ((5, 2), (5, 2))
    """
    check_number("make_flow", "n_samples", n_samples, low=1, strict=False, integer=True)
    check_number("make_flow", "noise", noise, low=0, strict=False)
    rng = check_random_state(random_state)
    X = rng.uniform(-REACH, REACH, size=(n_samples, 2))
    return X, sum(flow_parts(X)) + noise * rng.normal(size=X.shape)


def flow_parts(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the two parts of :func:`make_flow` at points, without noise: that with sources, and that which turns.

    The first is a gradient, and has no rotation; the second has no sources. Both have shape (n, 2).

    Examples
    --------
    >>> gradient, rotation = flow_parts([[0.0, 0.0], [1.0, 0.5]])
    >>> rotation[0], gradient[1]
    (array([0., 0.]), array([0., 0.]))
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise DataError(f"flow_parts: X must have two columns, points of the plane; got shape {X.shape}.")
    away = X - SOURCE
    gradient = away * np.exp(-np.sum(away**2, axis=1, keepdims=True) / 2)
    turned = np.stack([X[:, 1], 0.0 - X[:, 0]], axis=1)
    return gradient, turned * np.exp(-np.sum(X**2, axis=1, keepdims=True) / 2)
