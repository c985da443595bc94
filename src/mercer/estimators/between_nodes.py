"""Whether an output kernel is good between the nodes, too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.estimators.sample import Sample
from mercer.interpolation import interpolation
from mercer.kernels import Kernel
from mercer.losses import Square
from mercer.solvers import ClosedForm

__all__ = ["FEW_CURVES", "carries_between"]

#: curves that say how good a kernel is between nodes
FEW_CURVES = 100
#: nodes from which on leaving out half of them says something
ENOUGH_NODES = 7
#: errors between nodes up to which a kernel is as good there as straight lines
AS_GOOD = 1.01


def carries_between(sample: Sample, kernel: Kernel, output_kernel: Kernel, alpha: float) -> tuple[bool, float]:
    """Say whether ridge regression is as good between nodes as straight lines, and return its squared error there.

    Every second node is left out; predictions there are compared with those by straight lines through the predictions
    at the others. Whole curves on an interval with ``ENOUGH_NODES`` nodes or more; otherwise there is nothing to say.
    """
    outputs = sample.outputs
    m = len(outputs.measure)
    if not (outputs.complete and outputs.located and outputs.measure.points.shape[1] == 1 and m >= ENOUGH_NODES):
        return True, 0.0
    order = np.argsort(to_numpy(outputs.measure.points)[:, 0])
    own, straight = 0.0, 0.0
    for first in (1, 2):
        left_out = order[first : m - 1 : 2]
        errors = _errors_between(sample, kernel, output_kernel, alpha, left_out)
        own, straight = own + errors[0], straight + errors[1]
    return own <= AS_GOOD * straight, own


def _errors_between(
    sample: Sample, kernel: Kernel, output_kernel: Kernel, alpha: float, left_out: np.ndarray
) -> tuple[float, float]:
    """Return the squared errors at nodes that a fit has not seen: its own, and those of straight lines through it."""
    outputs: Any = sample.outputs  # which are complete, and hence on a grid
    kept = np.setdiff1d(np.arange(len(outputs.measure)), left_out)
    fitted = replace(sample, outputs=outputs.at_nodes(kept))
    bound = fitted.bind(kernel, output_kernel, Square())
    problem = fitted.pose(bound, Square(), alpha)
    predict = fitted.predictor(bound, problem, ClosedForm().solve(problem))
    hidden = outputs.at_nodes(left_out)
    points, nodes = to_numpy(hidden.measure.points), to_numpy(fitted.measure.points)
    lines = interpolation(nodes[:, 0], points[:, 0]).T
    at_nodes = to_numpy(predict(sample.X, nodes)).reshape(len(sample), len(nodes), -1)
    between = np.einsum("kj,njp->nkp", lines, at_nodes).reshape(len(sample), -1)
    values = to_numpy(hidden.values)
    weight = 1.0 if sample.weight is None else to_numpy(sample.weight)
    own, straight = (
        float(np.sum(weight * hidden.norms(values - guess) ** 2))
        for guess in (to_numpy(predict(sample.X, points)), between)
    )
    return own, straight
