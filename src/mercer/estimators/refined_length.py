"""The length of a default kernel between those of a grid, by the slope of the leave-one-out error."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer.backend import to_numpy
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import KERNEL_ROWS, PRICE_OF_ROUGHNESS, Smoothness, choose_smoothness, some_rows
from mercer.kernels import Gaussian, Identity
from mercer.losses import Loss
from mercer.solvers import leave_one_out_slopes

__all__ = ["refined_length"]

#: the largest changes of log γ (lengths by a factor of four) and of log λ
FARTHEST_MOVES = (np.log(16.0), np.log(1e3))
#: steps of L-BFGS, and decimals of logarithms, so that rounding does not make another model
MOVES, LOG_DECIMALS = 30, 3


def refined_length(sample: Sample, chosen: Smoothness, alpha: float | None, loss: Loss) -> Smoothness:
    """Return a Gaussian kernel of another length, with its λ, that predicts rows better; or what was chosen.

    The scales of columns keep their ratios. Leave-one-out errors on at most 500 rows and their exact slopes in log γ
    and log λ go into L-BFGS. As a parameter more is learned, the error must fall below 1 − 2/n of what it was.
    Nothing is done where values are missing or outputs are related, as then each of them has an inverse of its own.
    """
    kernel: Any = chosen.kernel
    if type(kernel) is not Gaussian or not isinstance(chosen.output_kernel, Identity) or not sample.outputs.complete:
        return chosen
    few = some_rows(sample, False, KERNEL_ROWS)
    n, Y = len(few), to_numpy(few.outputs.values).astype(float)
    weight = np.ones(n) if few.weight is None else to_numpy(few.weight).astype(float)
    weight = weight / weight.mean()
    distances = _exponents(kernel, to_numpy(few.X).astype(float))
    start = np.log(chosen.alpha * n)

    def error(steps: np.ndarray) -> tuple[float, np.ndarray]:
        exponents = np.exp(steps[0]) * distances
        K = np.exp(-exponents)
        shift = np.exp(start + steps[1])
        value, slopes = leave_one_out_slopes(K, [-exponents * K], Y, weight, shift, few.fit_intercept)
        value = max(value, np.finfo(float).tiny)
        return np.log(value), slopes[::-1] / value

    farthest = (FARTHEST_MOVES[0], FARTHEST_MOVES[1] if alpha is None else 0.0)
    bounds = [(-limit, limit) for limit in farthest]
    found = minimize(error, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": MOVES})
    steps = np.round(found.x, LOG_DECIMALS)
    if not error(steps)[0] < error(np.zeros(2))[0] + np.log1p(-PRICE_OF_ROUGHNESS / n):
        return chosen
    refined = Gaussian(np.asarray(kernel.gamma) * np.exp(steps[0]))
    if alpha is None and n < len(sample):  # more rows know better how large λ should be
        return choose_smoothness(sample, [refined], [chosen.output_kernel], None, loss)
    return Smoothness(refined, chosen.output_kernel, chosen.alpha * float(np.exp(steps[1])))


def _exponents(kernel: Gaussian, X: np.ndarray) -> np.ndarray:
    """Return Σ_k γ_k(x_ik − x_jk)², shape (n, n)."""
    gamma: Any = kernel.gamma
    scaled = (X - X.mean(axis=0)) * np.sqrt(np.asarray(gamma, dtype=float))
    squares = np.sum(scaled**2, axis=1)
    return np.maximum(squares[:, None] + squares - 2 * scaled @ scaled.T, 0.0)
