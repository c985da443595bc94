"""The best predictor of a low rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.sample import Sample
from mercer.kernels import Kernel

__all__ = ["best_of_rank"]


def best_of_rank(kernel: Kernel, sample: Sample, coef: np.ndarray, rank: int) -> np.ndarray:
    """Return representer coefficients of the best function with values in a subspace of ``rank`` dimensions.

    At the ridge fit C the objective is ½‖C' − C‖² beyond its minimum, in the norm tr CᵀMC of M = KPSK/n + λK, P the
    centring of an intercept: its best approximation of rank r is CVVᵀ, with the r leading eigenvectors V of
    CᵀMC = HᵀS(Y − ȳ)/n, where H = KC (reduced-rank regression in the space of k_X).

    Parameters
    ----------
    kernel : Kernel
        k_X.
    sample : Sample
        Inputs and outputs of the fit.
    coef : array of shape (n, p)
        C, of the square loss.
    """
    Y = to_numpy(sample.outputs.values)
    weight = np.ones(len(Y)) if sample.weight is None else to_numpy(sample.weight)
    if sample.fit_intercept:
        Y = Y - weight @ Y / weight.sum()
    fitted: Any = kernel.gram(sample.X) @ coef
    moments = (fitted * weight[:, None]).T @ Y
    _, vectors = np.linalg.eigh((moments + moments.T) / 2)
    leading = vectors[:, ::-1][:, :rank]
    return (coef @ leading) @ leading.T
