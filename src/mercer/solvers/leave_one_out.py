"""Leave-one-out errors of the square loss in closed form, for many λ at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import copy_numpy, eigh
from mercer.exceptions import UnsupportedError
from mercer.problems import DualProblem

__all__ = ["leave_one_out_errors"]


def leave_one_out_errors(problem: DualProblem, alphas: Any) -> Any:
    """Return the mean leave-one-out error (1/n) Σ_i s_i ½‖y_i − h_{−i}(x_i)‖² for each λ.

    The problem decouples over the eigenvectors of the output Gram; in each of them the error of a left-out
    sample is its
    residual over one minus its leverage, λn being kept when a sample is left out. The intercept is handled by centring
    the input Gram. Cost: one eigendecomposition, then O(n r q) for each λ.

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
    root = np.sqrt(copy_numpy(problem.sample_weight)).astype(float)
    targets = copy_numpy(problem.gram.whiten(problem.Y)).astype(float)
    gram = copy_numpy(problem.gram.left.to_dense(max_bytes=2**34)).astype(float)
    constant = root / np.linalg.norm(root)
    leverage_constant = np.zeros(n)
    if problem.fit_intercept:
        along = gram @ constant
        gram = gram - np.outer(constant, along) - np.outer(along, constant)
        gram += (constant @ along) * np.outer(constant, constant)
        targets = targets - np.outer(constant, constant @ targets)
        leverage_constant = constant**2
    sigma, left = eigh(gram, overwrite=True)
    sigma = np.maximum(sigma, 0)
    tau, right = eigh(copy_numpy(problem.gram.right.to_dense()).astype(float))
    tau = np.maximum(tau, 0)
    coordinates = targets @ right  # (n, m): residuals in the eigenbasis of the output Gram
    inner = left.T @ coordinates
    squares = left**2
    errors = []
    for alpha in alphas:
        spectrum = sigma[:, None] * tau[None, :]
        gain = spectrum / (spectrum + alpha * n)
        residual = coordinates - left @ (gain * inner)
        leverage = leverage_constant[:, None] + squares @ gain
        errors.append(0.5 * np.sum((residual / np.maximum(1 - leverage, 1e-12)) ** 2) / n)
    return np.array(errors)
