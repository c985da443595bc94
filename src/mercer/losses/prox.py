"""Thresholds and projections: pure functions on arrays, from which the proxes of the losses are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import clip, is_numpy, namespace

__all__ = [
    "block_soft_threshold",
    "by_sign",
    "positive_part",
    "project_ball",
    "project_box",
    "rescale_rows",
    "soft_threshold",
]


def soft_threshold(values: Any, threshold: Any) -> Any:
    """Return sign(z)·(|z| − t)₊, the prox of t|·|, entry by entry.

    Examples
    --------
    >>> import numpy as np
    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    return values - clip(values, -threshold, threshold)


def rescale_rows(values: Any, norms: Any, new_norms: Any) -> Any:
    """Return (z/‖z‖)·q for each row z, given the norms ‖z‖ of the rows and their new norms q.

    Rows of norm zero have no direction and stay as they are. The prox of φ(‖·‖) is of this form, with
    q = prox_φ(‖z‖).

    Examples
    --------
    >>> import numpy as np
    >>> rescale_rows(np.array([[3.0, 4.0], [0.0, 0.0]]), np.array([5.0, 0.0]), np.array([10.0, 1.0]))
    array([[6., 8.],
           [0., 0.]])
    """
    xp = namespace(values)
    one = xp.ones_like(norms)
    moved = norms > 0
    factor = xp.where(moved, new_norms, one) / xp.where(moved, norms, one)
    return values * factor[:, None]


def block_soft_threshold(values: Any, norms: Any, threshold: Any) -> Any:
    """Return (1 − t/‖z‖)₊·z for each row, the prox of t‖·‖, given the norms of the rows in whatever geometry.

    Examples
    --------
    >>> import numpy as np
    >>> block_soft_threshold(np.array([[3.0, 4.0], [0.3, 0.4]]), np.array([5.0, 0.5]), 1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """
    return rescale_rows(values, norms, soft_threshold(norms, threshold))


def project_ball(values: Any, norms: Any, radius: Any) -> Any:
    """Return min(1, r/‖z‖)·z for each row, the projection on a ball, given the norms of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> project_ball(np.array([[3.0, 4.0], [0.3, 0.4]]), np.array([5.0, 0.5]), 1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    return rescale_rows(values, norms, clip(norms, 0.0, radius))


def project_box(values: Any, lower: Any, upper: Any) -> Any:
    """Return the projection of ``values`` on lower ≤ a ≤ upper; a NumPy array is overwritten.

    Give it a temporary array: at the sizes of a fit, fresh memory costs as much as the arithmetic.

    Examples
    --------
    >>> import numpy as np
    >>> project_box(np.array([-3.0, 0.2, 2.0]), -1.0, np.array([0.5, 0.5, 0.7]))
    array([-1. ,  0.2,  0.7])
    """
    if is_numpy(values):
        np.maximum(values, lower, out=values)
        return np.minimum(values, upper, out=values)
    return clip(values, lower, upper)


def positive_part(values: Any) -> Any:
    """Return max(z, 0); a NumPy array is overwritten, as by :func:`project_box`.

    Examples
    --------
    >>> import numpy as np
    >>> positive_part(np.array([-3.0, 2.0]))
    array([0., 2.])
    """
    if is_numpy(values):
        return np.maximum(values, 0.0, out=values)
    return namespace(values).maximum(values, 0.0)


def by_sign(values: Any, positive: Any, negative: Any) -> Any:
    """Return ``positive`` where the values are positive and ``negative`` elsewhere, broadcast to their shape.

    Examples
    --------
    >>> import numpy as np
    >>> by_sign(np.array([[-3.0], [2.0]]), np.array([0.1, 0.2]), np.array([0.9, 0.8]))
    array([[0.9, 0.8],
           [0.1, 0.2]])
    """
    return namespace(values).where(values > 0, positive, negative)
