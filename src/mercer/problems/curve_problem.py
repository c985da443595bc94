"""The problem of curves that were observed at points of their own: its rows are the observations."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.exceptions import DataError
from mercer.linalg import Gram
from mercer.losses.base import Loss
from mercer.magnitudes import check_alpha
from mercer.measures import Measure
from mercer.problems.curve_loss import CurveLoss, check_observation_weights
from mercer.problems.dual import DualProblem

__all__ = ["curve_problem"]


def curve_problem(
    gram: Gram,
    loss: Loss,
    Y: Any,
    rows: Any,
    alpha: float,
    *,
    weights: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = False,
    n_curves: int | None = None,
    levels: Any = None,
) -> DualProblem:
    """Return the problem of curves that were observed at points of their own.

    ::

        min  (1/Σ_i s_i) Σ_i s_i L_i(h(x_i) + b) + (λ/2) ‖h‖²,      b ∈ R^p with an intercept

    with L_i = Σ_j η_ij ℓ(y_ij, ·) for a pointwise loss, or f((Σ_j η_ij |r_ij|²)^½) for a loss of norms, which becomes a
    :class:`CurveLoss`. For p > 1 a loss with geometry "pointwise" is one of lengths, Σ_j η_ij f(|r_ij|). The problem is
    a :class:`DualProblem` whose rows are the observations, with weights ∝ s_i η_ij and ``mass``
    Σ_ij s_i η_ij / Σ_i s_i, so that λ, objective and gap are those of the mean over curves.

    Parameters
    ----------
    gram : Gram
        𝐊 ⊗ A without weights, from :meth:`~mercer.operator_valued.BoundPairs.gram`.
    loss : Loss
        The loss.
    Y : array of shape (N, p)
        Observations; NaN marks a component that was not observed.
    rows : array of int of shape (N,)
        The curve of each observation, not decreasing.
    alpha : float
        λ > 0.
    weights : array of shape (N,), optional
        η; by default one over the number of observations of the curve.
    sample_weight : array of shape (n,), optional
        s; ones by default.
    fit_intercept : bool, default=False
        Whether to add a free constant b ∈ R^p.
    n_curves : int, optional
        Their number, where the last of them may have no observation.
    levels : array of shape (N,), optional
        θ of each observation, for a loss that asks for one, such as :class:`~mercer.losses.Pinball`: curves are then
        functions of the level, and each is asked at levels of its own.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Huber
    >>> from mercer.operator_valued import BoundPairs
    >>> from mercer.solvers import ADMM
    >>> X, rows = np.array([[0.0], [1.0]]), np.array([0, 0, 1])
    >>> pairs = BoundPairs(Gaussian(1.0), Gaussian(5.0), rows, np.array([0.1, 0.7, 0.4]))
    >>> Y = np.array([[1.0], [0.5], [2.0]])
    >>> problem = curve_problem(pairs.gram(X), Huber(0.5), Y, rows, alpha=0.1)
    >>> ADMM(tol=1e-4).solve(problem).converged
    True
    """
    check_alpha("curve_problem", alpha)
    rows = np.asarray(rows)
    n = int(rows.max(initial=-1)) + 1 if n_curves is None else n_curves
    counts = np.bincount(rows, minlength=n)
    weights = 1.0 / counts[rows] if weights is None else np.asarray(weights, dtype=float)
    check_observation_weights("curve_problem", rows, weights)
    of_curves = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if of_curves.shape != (n,):
        raise DataError(f"curve_problem: sample_weight must have shape {(n,)}; got {of_curves.shape}.")
    p = gram.array_shape[1]
    loss = loss.of_vectors(p) if loss.pointwise else CurveLoss(loss, rows, weights)
    each = of_curves[rows] * weights
    theta = None if levels is None else np.repeat(np.asarray(levels, dtype=float)[:, None], p, axis=1)
    measure = Measure(np.arange(float(p)), np.ones(p), levels=theta)
    mass = float(each.sum() / of_curves.sum())
    uniform = bool(np.all(each == each[0]))
    return DualProblem(gram, loss, Y, measure, alpha, None if uniform else each, fit_intercept, mass)
