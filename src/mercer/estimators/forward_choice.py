"""Kernels and λ for rows in the order of time: what predicts later rows best from earlier ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import (
    COMPARED_TOL,
    KERNEL_ROWS,
    PRICE_OF_ROUGHNESS,
    Smoothness,
    block_rows,
    default_alphas,
    some_rows,
)
from mercer.kernels import Kernel
from mercer.losses import Loss, Square
from mercer.solvers import ClosedForm

__all__ = ["FEWEST_FORWARD", "choose_forward", "forward_blocks", "forward_errors"]

#: share of the rows that nothing is predicted in, and blocks of the others
UNPREDICTED_SHARE, FORWARD_BLOCKS = 0.4, 5
#: rows below which nothing is predicted from earlier ones
FEWEST_FORWARD = 5
#: one in so many λ is tried, each of which takes a solve in each block, and where kernels are to be chosen, too
FINE, COARSE = 2, 4


def forward_blocks(n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows to learn from and rows to predict: five blocks of the last 60 %, each with all rows before it.

    Examples
    --------
    >>> [(len(train), len(test)) for train, test in forward_blocks(50)]
    [(20, 6), (26, 6), (32, 6), (38, 6), (44, 6)]
    """
    first = max(2, round(UNPREDICTED_SHARE * n))
    edges = np.unique(np.linspace(first, n, FORWARD_BLOCKS + 1).round().astype(int)).tolist()
    return [(np.arange(start), np.arange(start, end)) for start, end in itertools.pairwise(edges)]


def forward_errors(
    sample: Sample, kernels: Sequence[Kernel], output_kernels: Sequence[Kernel], alphas: np.ndarray, loss: Loss
) -> np.ndarray:
    """Return the mean squared errors of later rows by ridge regression on all earlier ones.

    An earlier part of n' of the n rows is fitted with λn/n', so that the prior and the noise of the Gaussian process
    are the same in all of them.

    Returns
    -------
    errors : array of shape (kernels, output kernels, λ)
    """
    blocks, n = forward_blocks(len(sample)), len(sample)
    weight = np.ones(n) if sample.weight is None else to_numpy(sample.weight)
    errors = np.zeros((len(kernels), len(output_kernels), len(alphas)))
    for train, test in blocks:
        inside, X_test, outside = sample.split(train, test, kernels[0].pairwise)
        shares = alphas * (n / len(train))
        for i, kernel in enumerate(kernels):
            for j, output_kernel in enumerate(output_kernels):
                bound = inside.bind(kernel, output_kernel, loss)
                problem = inside.pose(bound, Square(), 1.0)
                for k, result in enumerate(ClosedForm(tol=COMPARED_TOL).path(problem, shares.tolist())):
                    predict = inside.predictor(bound, problem.with_alpha(float(shares[k])), result)
                    norms = outside.norms(outside.residuals(predict, X_test))
                    errors[i, j, k] += np.sum(weight[test] * norms**2)
    return errors / np.sum(weight[blocks[0][1][0] :])


def choose_forward(
    sample: Sample,
    kernels: Sequence[Kernel],
    output_kernels: Sequence[Kernel],
    alpha: float | None,
    loss: Loss,
) -> Smoothness:
    """Return the kernels and λ (where ``alpha`` is None) whose ridge regression predicts later rows best.

    Few blocks are predicted, and the future may lie beyond them: of what is within 2/n of the least error the first
    input kernel is taken, if it is there, and otherwise the largest λ. Of many rows as many are looked at as
    :func:`~mercer.estimators.smoothness.choose_smoothness` does.
    """
    if len(kernels) == len(output_kernels) == 1 and alpha is not None:
        return Smoothness(kernels[0], output_kernels[0], alpha)
    alphas = default_alphas(sample) if alpha is None else np.array([alpha])
    rough, alphas = alphas[::COARSE] if len(kernels) > 1 else alphas[::FINE], alphas[::FINE]
    sample = some_rows(sample, kernels[0].pairwise, block_rows(sample, kernels[0]))
    few = some_rows(sample, kernels[0].pairwise, KERNEL_ROWS) if len(kernels) > 1 else sample
    i, j, k = _safest(forward_errors(few, kernels, output_kernels, rough, loss), len(few))
    if len(kernels) > 1:
        k = _safest(forward_errors(sample, [kernels[i]], [output_kernels[j]], alphas, loss), len(sample))[2]
    return Smoothness(kernels[i], output_kernels[j], float(alphas[k]))


def _safest(errors: np.ndarray, n: int) -> tuple[int, int, int]:
    """Return the place, of those whose error is nearly the least, of the first kernel or else of the largest λ."""
    near = np.argwhere(errors <= errors.min() * (1 + PRICE_OF_ROUGHNESS / n)).tolist()
    i, j, k = min(near, key=lambda place: (place[0] > 0, -place[2], place[0], place[1]))
    return i, j, k
