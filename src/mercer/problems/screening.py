"""Rows that no optimum touches: inside the tube of an ε-loss by more than the gap can move a prediction."""

from __future__ import annotations

import numpy as np

from mercer.backend import to_numpy
from mercer.exceptions import UnsupportedError
from mercer.problems.certificate import Certificate
from mercer.problems.dual import DualProblem

__all__ = ["certainly_inside", "without_rows"]

#: part of ε that rounding may be
ROUNDED_TUBE = 1e-9


def certainly_inside(problem: DualProblem, certificate: Certificate) -> np.ndarray:
    """Say for each row whether its residual is below ε at the optimum, whatever that is, shape (n,).

    ‖h − ĥ‖² ≤ 2·gap/λ by strong convexity, so that ‖y_i − ĥ(x_i)‖ ≤ ‖y_i − h(x_i)‖ + √(k(x_i, x_i)·2·gap/λ).

    Parameters
    ----------
    problem : DualProblem
        With an ε-loss of norms, columns of one kernel and no intercept.
    certificate : Certificate
        Of any dual array, with its predictions h and gap.
    """
    loss, gram = problem.loss, problem.gram
    if not (loss.of_norms and loss.threshold is not None and loss.threshold.inside == "nothing"):
        raise UnsupportedError(f"{loss!r} has no tube for norms of residuals that costs nothing.")
    if problem.fit_intercept or problem.has_slopes or not gram.columns_alike:
        raise UnsupportedError("Rows are screened where columns have one kernel, and there is no intercept.")
    epsilon = float(getattr(loss, loss.threshold.name))
    sizes = to_numpy(loss.sizes(problem.Y - certificate.prediction, problem.measure))
    own = to_numpy(gram.column_operator().diagonal())
    farthest = np.sqrt(np.maximum(own, 0.0) * max(certificate.gap, 0.0) * 2 / problem.alpha)
    return sizes + farthest < (1 - ROUNDED_TUBE) * epsilon


def without_rows(problem: DualProblem, kept: np.ndarray) -> DualProblem:
    """Return the problem of some rows with the same solution, where the loss of all others is 0 around it.

    Its objective is divided by the share of the weight that is left, and so λ is.
    """
    weight = to_numpy(problem.sample_weight)[kept]
    share = float(weight.sum()) / problem.total_weight
    gram = problem.gram.taken(kept, np.arange(problem.shape[1]))
    return DualProblem(
        gram,
        problem.loss,
        problem.Y[kept],
        problem.measure,
        problem.alpha / share,
        weight,
        mass=problem.mass,
    )
