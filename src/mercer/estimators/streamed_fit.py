"""Fits of features that do not fit into memory together: some rows at a time, with the same certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.backend import is_numpy
from mercer.estimators.feature_errors import output_factor
from mercer.exceptions import UnsupportedError
from mercer.linalg import affordable_rank, representer_coef
from mercer.losses import Loss
from mercer.operator_valued import BoundMatrixKernel
from mercer.problems import FeatureProblem
from mercer.rows import ArrayRows
from mercer.solvers import SolverResult, select_streamed

__all__ = ["Streamed", "fit_streamed", "must_stream"]


class Streamed(NamedTuple):
    """What is left of a fit over blocks of rows."""

    problem: FeatureProblem
    coef: np.ndarray  #: c of h(x)(θ) = Σ_j φ(x) c_j k_Θ(θ_j, θ), (D, m); of kernels with matrices w, (D, 1)
    dual: np.ndarray  #: the dual array that certifies it, (n, m)
    result: SolverResult


def must_stream(kernel: Any, X: Any) -> bool:
    """Whether the features of all rows, and an eigenbasis of them, exceed the memory budget."""
    if not (is_numpy(X) and kernel.explicit):
        return False
    probe = kernel.features(X[:1, :])
    return probe.shape[-1] > affordable_rank(len(X) * (probe.shape[1] if probe.ndim == 3 else 1))


def fit_streamed(
    bound: Any,
    X: np.ndarray,
    Y: np.ndarray,
    weight: Any,
    loss: Loss,
    alpha: float,
    fit_intercept: bool,
    solver: Any,
    tol: float,
    max_iter: int | None,
    callback: Any = None,
    interrupted: Any = None,
) -> Streamed:
    """Minimise (1/n) Σ_i s_i L_i(φ(x_i) C Rᵀ + b) + (λ/2)‖C‖² one block of rows after the other, RRᵀ = K_Θ ⊗ A.

    ``solver`` is what :func:`~mercer.solvers.select_streamed` takes; ``bound`` has k_X with explicit features.
    """
    if bound.slopes is not None:
        raise UnsupportedError(
            "Slopes in θ (noncrossing='penalty' or 'constraint') need the features of all rows in memory. Use fewer "
            "features, or noncrossing='rearrange'."
        )
    measure, factor = (bound.measure, None) if isinstance(bound, BoundMatrixKernel) else output_factor(bound)
    rows = ArrayRows(X, Y, weight)
    problem = FeatureProblem((bound.kernel, rows), loss, measure, alpha, factor=factor, fit_intercept=fit_intercept)
    chosen = select_streamed(solver, problem, tol, max_iter)
    result = chosen.solve(problem, None, callback, interrupted)
    dual = np.concatenate([state.A for state in result.states])
    coef = result.coef if factor is None else representer_coef(result.coef, factor, measure.weights)
    return Streamed(problem, coef, dual, result)
