"""Fits of features that do not fit into memory together: some rows at a time, with the same certificate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mercer.backend import is_numpy, to_numpy
from mercer.exceptions import UnsupportedError
from mercer.linalg import affordable_rank, representer_coef, right_factor
from mercer.losses import Loss, Square
from mercer.problems import FeatureProblem
from mercer.rows import ArrayRows
from mercer.solvers import NormalEquations, SolverResult, StreamedADMM, StreamedLBFGS

__all__ = ["Streamed", "fit_streamed", "must_stream"]


class Streamed(NamedTuple):
    """What is left of a fit over blocks of rows."""

    problem: FeatureProblem
    coef: np.ndarray  #: c of h(x)(θ) = Σ_j φ(x) c_j k_Θ(θ_j, θ), (D, m)
    dual: np.ndarray  #: the dual array that certifies it, (n, m)
    result: SolverResult


def must_stream(kernel: Any, X: Any) -> bool:
    """Whether the features of all rows, and an eigenbasis of them, exceed the memory budget."""
    if not (is_numpy(X) and kernel.explicit):
        return False
    return kernel.features(X[:1, :]).shape[1] > affordable_rank(len(X))


def fit_streamed(
    bound: Any,
    X: np.ndarray,
    Y: np.ndarray,
    weight: Any,
    loss: Loss,
    alpha: float,
    fit_intercept: bool,
    tol: float,
    max_iter: int | None,
    callback: Any = None,
    interrupted: Any = None,
) -> Streamed:
    """Minimise (1/n) Σ_i s_i L_i(φ(x_i) C Rᵀ + b) + (λ/2)‖C‖² one block of rows after the other, RRᵀ = K_Θ ⊗ A.

    The square loss takes one pass for its normal equations, smooth losses L-BFGS, others ADMM. ``bound`` has k_X with
    explicit features.
    """
    if bound.slopes is not None:
        raise UnsupportedError(
            "Slopes in θ (noncrossing='penalty' or 'constraint') need the features of all rows in memory. Use fewer "
            "features, or noncrossing='rearrange'."
        )
    measure, output = bound.measure, np.asarray(to_numpy(bound.output_gram().to_dense()), dtype=float)
    weights = np.asarray(to_numpy(measure.weights), dtype=float)
    factor = right_factor(output, weights)
    rows = ArrayRows(X, Y, weight)
    problem = FeatureProblem((bound.kernel, rows), loss, measure, alpha, factor=factor, fit_intercept=fit_intercept)
    settings: dict[str, Any] = {"tol": tol} | ({} if max_iter is None else {"max_iter": max_iter})
    solver = StreamedADMM(**settings) if loss.has_conjugate else StreamedLBFGS(**settings)
    init = None  # for ADMM that of the square loss is the solution, which one look certifies
    if isinstance(loss, Square) and problem.complete:
        fit = NormalEquations(bound.kernel, measure, factor, fit_intercept).read(rows).solve([alpha]).fit(alpha)
        init = fit.coef, fit.intercept
    result = solver.solve(problem, init, callback, interrupted)
    dual = np.concatenate([state.A for state in result.states])
    return Streamed(problem, representer_coef(result.coef, factor, weights), dual, result)
