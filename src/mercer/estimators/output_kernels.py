"""Output kernels where none is given: scales that the points of Θ can carry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.spatial

from mercer.backend import to_numpy
from mercer.estimators.outputs import Outputs
from mercer.kernels import Gaussian, Identity, Kernel

__all__ = ["default_output_kernels", "node_spacing"]

#: of the distances between neighbouring nodes, the share that is at most the spacing
MOST_GAPS = 0.9
#: scales of the default output kernel, as divisors of the median distance of the grid
DIVISORS = (1.0, 2.0, 4.0, 8.0, 16.0)
#: variance of the shortest scale beside the longest ones, which have 1
DETAIL = 0.1


def default_output_kernels(outputs: Outputs) -> list[Kernel]:
    """Return the candidates for k_Θ where none is given: identity for mere columns, Gaussians of falling scale.

    No scale is below the spacing of the points, which could not carry anything from one to the next. The last two add
    a little of the shortest scale to the longest ones: details at the nodes, and something smooth between them.
    """
    if not outputs.located or len(outputs.measure) == 1:
        return [Identity()]
    points = outputs.measure.points
    widest: Any = Gaussian("median").adapt(points)
    spacing = node_spacing(to_numpy(points))
    steepest = max(float(widest.gamma), 1 / spacing**2) if spacing > 0 else math.inf
    gammas = [min(float(widest.gamma) * divisor**2, steepest) for divisor in DIVISORS]
    kernels: list[Kernel] = [Gaussian(gamma) for gamma in dict.fromkeys(gammas)]
    return kernels + [kernel + DETAIL * kernels[-1] for kernel in kernels[:2] if len(kernels) > 2]


def node_spacing(points: np.ndarray) -> float:
    """Return how far apart neighbouring points of shape (m, d) are, few of them excepted; 0 for a single one.

    A Gaussian whose length is the spacing δ, exp(−|θ − τ|²/δ²), gives a constant back between equidistant nodes to one
    part in ten thousand; of half that length it falls by two thirds there.
    """
    distinct = np.unique(points, axis=0)
    if len(distinct) < 2:
        return 0.0
    if distinct.shape[1] == 1:
        gaps = np.diff(distinct[:, 0])
    else:
        gaps = scipy.spatial.KDTree(distinct).query(distinct, k=2)[0][:, 1]
    return float(np.quantile(gaps, MOST_GAPS))
