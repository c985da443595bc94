"""The output matrix of a sample: learned from some of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.learned_matrix import learn_output_matrix
from mercer.estimators.sample import Sample
from mercer.estimators.smoothness import KERNEL_ROWS, default_alphas, some_rows
from mercer.kernels import Kernel

__all__ = ["matrix_of_sample"]

#: observed values that an output matrix is learned from where some are missing: each step inverts their matrix
LEARNED_ENTRIES = 400


def matrix_of_sample(sample: Sample, kernel: Kernel, start: float, alpha: float | None, rank: int | None) -> Any:
    """Return Γ in the coordinates of the outputs, or None for their identity.

    Parameters
    ----------
    sample : Sample
        Of which 500 rows are looked at, fewer where some values are missing.
    kernel : Kernel
        k_X.
    start : float
        λ of the identity.
    alpha : float or None
        λ where it is given, else it is chosen, too.
    rank : int or None
        Of Γ.
    """
    outputs = sample.outputs
    share = LEARNED_ENTRIES / max(outputs.n_observed, 1)
    most = KERNEL_ROWS if outputs.complete else max(int(share * len(sample)), 1)
    few = some_rows(sample, kernel.pairwise, most)
    K = to_numpy(kernel.gram(few.X).to_dense()).astype(float)
    weight = np.ones(len(few)) if few.weight is None else to_numpy(few.weight)
    alphas = default_alphas(few)[::2] if alpha is None else np.array([alpha])
    alphas = alphas if outputs.complete else alphas[::2]
    Y, weight = to_numpy(few.outputs.values).astype(float), weight / weight.mean()
    n = len(few) if alpha is None else len(sample)
    return learn_output_matrix(K, Y, weight, alphas * n, start * n, sample.fit_intercept, rank)
