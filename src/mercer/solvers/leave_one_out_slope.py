"""How the leave-one-out error of ridge regression changes with λ and with parameters of the input kernel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.backend import positive_inverse

__all__ = ["leave_one_out_slopes"]


def leave_one_out_slopes(
    K: np.ndarray,
    slopes: Sequence[np.ndarray],
    Y: np.ndarray,
    weight: np.ndarray,
    shift: float,
    centred: bool,
) -> tuple[float, np.ndarray]:
    """Return the mean error of rows left out and its derivatives in log λn and in parameters of the kernel.

    With A = K + λn S⁻¹, B = A⁻¹ − A⁻¹1(1ᵀA⁻¹1)⁻¹1ᵀA⁻¹ (A⁻¹ without an intercept) and c = BY, the residual of row i when
    it is left out is c_i/B_ii, and d(BY) = −B dA BY: a derivative costs one product with B. The error is that of
    :func:`~mercer.solvers.leave_one_out_errors` for outputs that share one kernel k_X.

    Parameters
    ----------
    K : array of shape (n, n)
        The Gram matrix.
    slopes : sequence of arrays of shape (n, n)
        Its derivatives in the parameters.
    Y : array of shape (n, p)
        Targets.
    weight : array of shape (n,)
        Positive weights of mean 1.
    shift : float
        λn.
    centred : bool
        Whether there is an intercept.

    Returns
    -------
    error : float
        (1/n) Σ_i s_i ½‖y_i − h_{−i}(x_i)‖².
    derivatives : array of shape (1 + len(slopes),)
        In log λn, then in the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(0, 1, 20)[:, None]
    >>> D = (X - X.T) ** 2
    >>> K = np.exp(-10 * D)  # its derivative in log γ is −10 D K
    >>> error, derivatives = leave_one_out_slopes(K, [-10 * D * K], np.sin(6 * X), np.ones(20), 0.1, True)
    >>> bool(derivatives[0] > 0), bool(derivatives[1] < 0)  # less λ and shorter lengths would be better
    (True, True)
    """
    n = len(K)
    noise = shift / weight
    B = positive_inverse(K + np.diag(noise))
    if centred:
        pull = B.sum(axis=1)
        B = B - np.outer(pull, pull / pull.sum())
    room = np.maximum(np.diagonal(B), np.finfo(float).tiny)
    coef = B @ Y
    left_out = coef / room[:, None]
    back = weight[:, None] * left_out / n  # the derivative of the error in the residuals
    derivatives = [_chain(B, B * noise @ coef, np.sum(B * noise * B, axis=1), back, left_out, room)]
    for slope in slopes:
        moved = B @ slope
        derivatives.append(_chain(B, moved @ coef, np.sum(moved * B, axis=1), back, left_out, room))
    return float(np.sum(back * left_out)) / 2, np.array(derivatives)


def _chain(
    B: np.ndarray, coef: np.ndarray, diagonal: np.ndarray, back: np.ndarray, left_out: np.ndarray, room: np.ndarray
) -> float:
    """Return Σ back·d(c_i/B_ii) for dc = −B dA c and diag(dB) = −diag(B dA B), both given without their signs."""
    return float(np.sum(back * (-coef + left_out * diagonal[:, None]) / room[:, None]))
