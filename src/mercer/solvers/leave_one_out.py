"""Leave-one-out errors of the square loss in closed form, for many λ at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import eigh, is_numpy, to_numpy
from mercer.exceptions import UnsupportedError
from mercer.linalg import LowRank, pivoted_cholesky
from mercer.problems import DualProblem

__all__ = ["leave_one_out_errors"]


def leave_one_out_errors(problem: DualProblem, alphas: Any) -> Any:
    """Return the mean leave-one-out error (1/n) Σ_i s_i ½‖y_i − h_{−i}(x_i)‖² for each λ.

    The problem decouples over the eigenvectors of the output Gram; in each of them the error of a left-out
    sample is its residual over one minus its leverage, λn being kept when a sample is left out. The intercept is
    handled by centring the input Gram. Cost: one eigendecomposition, then O(n r q) for each λ.

    Parameters
    ----------
    problem : DualProblem
        On a complete grid; its loss and its λ are not used.
    alphas : array-like of float
        Values of λ.
    """
    if problem.measure.observed is not None:
        raise UnsupportedError("leave_one_out_errors needs a complete grid: the mask couples the nodes.")
    n = problem.shape[0]
    alphas = np.asarray(alphas, dtype=float)
    targets = to_numpy(problem.gram.whiten(problem.Y)).astype(float)
    tau, right = eigh(to_numpy(problem.gram.right.to_dense()).astype(float))
    tau = np.maximum(tau, 0)
    constant = None
    if problem.fit_intercept:
        constant = np.sqrt(to_numpy(problem.sample_weight).astype(float) / n)  # unit vector of the intercept
        targets = targets - np.outer(constant, constant @ targets)
    smallest = 1e-2 * float(np.min(alphas)) * n / max(float(tau[-1]), np.finfo(float).tiny)
    sigma, left = _input_eigenpairs(problem, constant, smallest)
    coordinates = targets @ right  # (n, m): residuals in the eigenbasis of the output Gram
    inner, squares = left.T @ coordinates, left**2
    # what no eigenvector with σ > 0 reaches; nothing but rounding where the basis is complete
    residual_outside, room_outside = np.zeros((1, 1)), np.zeros((1, 1))
    if left.shape[1] < n - problem.fit_intercept:
        residual_outside = coordinates - left @ inner
        room_outside = np.ones((n, 1)) - squares.sum(axis=1, keepdims=True)
        if constant is not None:
            room_outside = room_outside - constant[:, None] ** 2
    errors = []
    for alpha in alphas:
        loss_of_gain = alpha * n / (sigma[:, None] * tau[None, :] + alpha * n)
        residual = residual_outside + left @ (loss_of_gain * inner)
        room = room_outside + squares @ loss_of_gain  # one minus the leverage, a sum without cancellation
        errors.append(0.5 * np.sum((residual / np.maximum(room, 1e-12)) ** 2) / n)
    return np.array(errors)


def _input_eigenpairs(problem: DualProblem, constant: Any, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs of the whitened input Gram, orthogonal to ``constant`` where given; thin where its rank is small."""
    operator = problem.gram.left
    n = problem.shape[0]
    if n > 100 and is_numpy(operator.like):
        factor = pivoted_cholesky(operator, tolerance, max_rank=n // 4)
        if factor is not None:
            if constant is not None:
                factor = factor - np.outer(constant, constant @ factor)
            eigen = linalg.eigh(LowRank(factor))
            return eigen.values, eigen.vectors
    gram = to_numpy(operator.to_dense(max_bytes=2**34)).astype(float)
    if constant is None:
        sigma, left = eigh(gram)
        return np.maximum(sigma, 0), left
    # a reflection that maps the constant to the first axis: the others span what is orthogonal to it
    mirror = constant.copy()
    mirror[0] += 1.0
    mirror *= np.sqrt(2.0) / np.linalg.norm(mirror)
    along = gram @ mirror
    along -= 0.5 * (mirror @ along) * mirror
    gram = gram - np.outer(mirror, along) - np.outer(along, mirror)
    sigma, vectors = eigh(gram[1:, 1:])
    left = np.concatenate([np.zeros((1, n - 1)), vectors])
    return np.maximum(sigma, 0), left - np.outer(mirror, mirror @ left)
