"""Density level sets: the one problem with the one-class hinge loss and offsets, levels alone or coupled."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.linalg import PSD, Dense, Kronecker, LinearOperator
from mercer.losses.one_class import OneClassHinge
from mercer.measures import Measure
from mercer.problems.dual import DualProblem
from mercer.problems.intercept import Intercept
from mercer.problems.offsets import Offsets, PenalisedOffsets

__all__ = ["level_coef", "level_set_problem"]

#: the least positive coupling, in units of the largest eigenvalue of η^½K_Θη^½: representer coefficients grow like 1/c
#: and cancel in the scores, where rounding must stay below the distance of rows to the boundary
LEAST_COUPLING = 1e-7
#: the least positive α, in units of the largest eigenvalue of η^½K_bη^½ over the mean of k_X(x, x): t = K_b v/α has the
#: rounding errors of v, divided by α
LEAST_ALPHA = 1e-12


def level_set_problem(
    gram: LinearOperator,
    measure: Measure,
    sample_weight: Any = None,
    *,
    alpha: float = 0.0,
    offset_gram: Any = None,
    coupling: float = 0.0,
    output_gram: Any = None,
) -> DualProblem:
    """Return the :class:`DualProblem` of the level sets {h(·)(θ_j) ≥ t_j} that leave out a fraction θ_j of the data.

    ::

        primal   min_{h,t}  Σ_j η_j {(1/n) Σ_i s_i (t_j − h(x_i)(θ_j))₊/θ_j − t_j + ½‖h(·)(θ_j)‖²_{k_X}}
                            + (c/2)‖h‖²_K + (α/2)‖t‖²_{k_b}
        dual     max_A  −(1/2n) ⟨A, 𝐊A⟩ − (1/2α) vᵀK_b v,   0 ≤ a_ij ≤ 1/θ_j,   v_j = η_j(1 − Σ_i s_i a_ij/n)
        recover  h(·)(θ_j) = Σ_i k_X(·, x_i) B_ij,   B = (s a η/n)G,   t = K_b v/α

    Both squared norms of h are one norm, that of the kernel k_X·G at the levels, G = (diag(η) + cK_Θ⁻¹)⁻¹: this is the
    one problem with 𝐊 = K_X ⊗ G, λ = 1, targets 0, :class:`~mercer.losses.OneClassHinge` and the intercept −t.

    With α = 0 the offsets are free and v = 0 becomes a constraint, Σ_i s_i a_ij = n; t_j is then a θ_j-quantile of the
    scores h(x_i)(θ_j), which makes the outlier fraction exact. G is computed from the
    eigenvalues of η^½K_Θη^½ without an inverse of K_Θ. With c = 0 it is diag(1/η): then k_Θ has no influence at the
    nodes, and with α = 0, too, the levels are independent one-class support vector machines (Schölkopf et al., 2001).
    With c > 0, a constant k_Θ has one h for all levels, the q-OCSVM of Glazer et al. (2013).

    Parameters
    ----------
    gram : LinearOperator
        K_X of shape (n, n), NumPy.
    measure : Measure
        Levels θ_j in (0, 1] and weights η_j.
    sample_weight : array of shape (n,), optional
        Positive weights s; only their ratios matter.
    alpha : float, default=0.0
        Penalty on the offsets: 0, or large enough to be seen in float64 (1e-12 in the units of the problem).
    offset_gram : array of shape (m, m), optional
        K_b, used with α > 0.
    coupling : float, default=0.0
        c, the penalty that couples the levels: 0, or at least 1e-7 of the largest eigenvalue of η^½K_Θη^½.
    output_gram : array of shape (m, m), optional
        K_Θ, used with c > 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.measures import Points
    >>> from mercer.solvers import select
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> problem = level_set_problem(Gaussian(0.5).gram(X), Points([0.1, 0.5]).build())
    >>> result = select(problem, tol=1e-3).solve(problem)
    >>> h, t = problem.predict(result.coef), -problem.effect(result.intercept)
    >>> np.mean(h < t - 1e-9, axis=0)
    array([0.1, 0.5])
    """
    require_numpy("level_set_problem", "Convert the data with numpy.asarray.", gram.like, measure.points)
    for name, value in (("alpha", alpha), ("coupling", coupling)):
        check_number("level_set_problem", name, value, low=0, high=np.finfo(float).max, strict=False)
    n, m = gram.shape[0], len(measure)
    target = np.full(m, float(n))
    mixed = Dense(_mixing(measure.weights, coupling, output_gram), PSD)
    offsets: Intercept
    if alpha > 0:
        on_levels = _square("offset_gram", offset_gram, m)
        _check_alpha(alpha, on_levels, measure, gram)
        offsets = PenalisedOffsets(target, on_levels, measure, float(alpha))
    else:
        offsets = Offsets(target, _magnification(gram, measure, coupling, output_gram))
    zeros = np.zeros((n, m))
    return DualProblem(Kronecker(gram, mixed), OneClassHinge(), zeros, measure, 1.0, sample_weight, offsets)


def level_coef(coef: np.ndarray, measure: Measure, coupling: float = 0.0, output_gram: Any = None) -> np.ndarray:
    """Return the coefficients that functions of the levels are evaluated with, from those at the levels.

    h(x)(θ_j) = Σ_i k_X(x, x_i) b_ij without coupling; with it h(x)(θ) = Σ_ij k_X(x, x_i) b_ij k_Θ(θ_j, θ) at any θ.
    Then b = coef·(cI + K_Θ diag(η))⁻¹ is as well conditioned as c allows, however singular K_Θ is.

    Parameters
    ----------
    coef : array of shape (n, m)
        ``problem.primal_coef(A)``, for the kernel k_X·G.
    measure, coupling, output_gram
        As for :func:`level_set_problem`.
    """
    if coupling == 0:
        return coef / measure.weights
    root = np.sqrt(measure.weights)
    values, vectors = _output_eigen(measure.weights, output_gram)
    return ((coef / root) @ vectors / (coupling + values)) @ vectors.T * root


def _magnification(gram: LinearOperator, measure: Measure, coupling: float, output_gram: Any) -> np.ndarray:
    """Return max k_X(x, x) |T||K_Θ| with coefficients coef·T (:func:`level_coef`), or |T| without coupling."""
    sizes = np.abs(level_coef(np.eye(len(measure)), measure, coupling, output_gram))
    return float(np.max(gram.diagonal())) * (sizes if coupling == 0 else sizes @ np.abs(output_gram))


def _mixing(weights: np.ndarray, coupling: float, output_gram: Any) -> np.ndarray:
    """Return G = η^-½V diag(l/(c + l))Vᵀη^-½ from the eigenpairs (l, V) of η^½K_Θη^½; diag(1/η) without coupling."""
    if coupling == 0:
        return np.diag(1 / weights)
    values, vectors = _output_eigen(weights, _square("output_gram", output_gram, len(weights)))
    _check_size("coupling", coupling, LEAST_COUPLING * float(values[-1]))
    factor = vectors * np.sqrt(values / (coupling + values)) / np.sqrt(weights)[:, None]
    return factor @ factor.T


def _output_eigen(weights: np.ndarray, output_gram: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    root = np.sqrt(weights)
    values, vectors = np.linalg.eigh(output_gram * root[:, None] * root[None, :])
    return np.maximum(values, 0), vectors


def _square(name: str, matrix: Any, m: int) -> np.ndarray:
    if matrix is None or np.shape(matrix) != (m, m):
        raise DataError(f"level_set_problem: {name} must have shape {(m, m)}; got {np.shape(matrix)}.")
    return np.asarray(matrix, dtype=float)


def _check_alpha(alpha: float, offset_gram: np.ndarray, measure: Measure, gram: LinearOperator) -> None:
    diagonal, root = float(np.mean(gram.diagonal())), np.sqrt(measure.weights)
    if diagonal > 0:
        size = float(np.linalg.eigvalsh(offset_gram * root[:, None] * root[None, :])[-1]) / diagonal
        _check_size("alpha", alpha, LEAST_ALPHA * size)


def _check_size(name: str, value: float, least: float) -> None:
    """Refuse penalties that rounding would drown: their models would be wrong without a sign of it."""
    if value < least:
        hint = f"Smaller values are lost in rounding errors; take {name}=0 for no such penalty."
        allowed = f"0 or at least {least:.2g} for these levels and kernels"
        raise parameter_error("level_set_problem", name, value, allowed, hint)
