"""Density level sets: one-class problems at many levels, alone or coupled through offsets and output kernel."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.linalg import Eigen, LinearOperator
from mercer.measures import Measure
from mercer.problems.certificate import Certificate

__all__ = ["LevelSetProblem", "box_simplex_projection"]

#: the least positive coupling, in units of the largest eigenvalue of η^½K_Θη^½: representer coefficients grow like 1/c
#: and cancel in the scores, where rounding must stay below the distance of rows to the boundary
LEAST_COUPLING = 1e-7
#: the least positive α, in units of the largest eigenvalue of η^½K_bη^½ over the mean of k_X(x, x): t = K_b v/α has the
#: rounding errors of v, divided by α
LEAST_ALPHA = 1e-12


class LevelSetProblem:
    """The level sets {h(·)(θ_j) ≥ t_j} that leave out a fraction θ_j of the data, seen from the dual.

    ::

        primal   min_{h,t}  Σ_j η_j {(1/n) Σ_i s_i (t_j − h(x_i)(θ_j))₊/θ_j − t_j + ½‖h(·)(θ_j)‖²_{k_X}}
                            + (c/2)‖h‖²_K + (α/2)‖t‖²_{k_b}
        dual     max_δ  −½⟨ηδ, K_X(ηδ)G⟩ − (1/2α) vᵀK_b v,   0 ≤ δ_ij ≤ s_i/(nθ_j),   v_j = η_j(1 − Σ_i δ_ij)
        recover  h(·)(θ_j) = Σ_i k_X(·, x_i) B_ij,   B = (ηδ)G,   t = K_b v/α

    With α = 0 the offsets are free and v = 0 becomes a constraint, Σ_i δ_ij = 1; t_j is then a θ_j-quantile of the
    scores h(x_i)(θ_j), which makes the outlier fraction exact. G = (diag(η) + cK_Θ⁻¹)⁻¹ is computed from the
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
    """

    def __init__(
        self,
        gram: LinearOperator,
        measure: Measure,
        sample_weight: Any = None,
        *,
        alpha: float = 0.0,
        offset_gram: Any = None,
        coupling: float = 0.0,
        output_gram: Any = None,
    ) -> None:
        require_numpy(self, "Convert the data with numpy.asarray.", gram.like, measure.points)
        check_number(self, "alpha", alpha, low=0, high=np.finfo(float).max, strict=False)
        check_number(self, "coupling", coupling, low=0, high=np.finfo(float).max, strict=False)
        self.gram, self.measure, self.alpha, self.coupling = gram, measure, float(alpha), float(coupling)
        n = self.shape[0]
        self.levels, self.weights = measure.locations, measure.weights
        if not np.all((self.levels > 0) & (self.levels <= 1)):
            raise DataError(f"LevelSetProblem: levels must be in (0, 1]; got {self.levels}.")
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if weight.shape != (n,) or not np.all(np.isfinite(weight)) or not np.all(weight > 0):
            raise DataError(f"LevelSetProblem: sample_weight must be {n} positive numbers; drop rows of weight 0.")
        self.sample_weight = weight * (n / weight.sum())
        self.offset_gram = self._square(offset_gram, "offset_gram", alpha > 0)
        self.output_gram = self._square(output_gram, "output_gram", coupling > 0)
        self._check_sizes()

    def _square(self, matrix: Any, name: str, needed: bool) -> Any:
        m = self.shape[1]
        if not needed:
            return None
        if matrix is None or np.shape(matrix) != (m, m):
            raise DataError(f"LevelSetProblem: {name} must have shape {(m, m)}; got {np.shape(matrix)}.")
        return np.asarray(matrix, dtype=float)

    def _check_sizes(self) -> None:
        """Refuse penalties that rounding would drown: their models would be wrong without a sign of it."""
        diagonal = float(np.mean(self.gram.diagonal()))
        if self.alpha > 0 and diagonal > 0:
            root = np.sqrt(self.weights)
            size = float(np.linalg.eigvalsh(self.offset_gram * root[:, None] * root[None, :])[-1]) / diagonal
            self._check_size("alpha", self.alpha, LEAST_ALPHA * size)
        if self.coupling > 0:
            self._check_size("coupling", self.coupling, LEAST_COUPLING * float(self._output_eigen[0][-1]))

    def _check_size(self, name: str, value: float, least: float) -> None:
        if value < least:
            hint = f"Smaller values are lost in rounding errors; take {name}=0 for no such penalty."
            raise parameter_error(self, name, value, f"0 or at least {least:.2g} for these levels and kernels", hint)

    # -- sizes and scales --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, m) of the dual array."""
        return self.gram.shape[0], len(self.measure)

    @cached_property
    def upper(self) -> np.ndarray:
        """The bounds s_i/(nθ_j) of the dual array, shape (n, m)."""
        return self.sample_weight[:, None] / (len(self.sample_weight) * self.levels[None, :])

    @cached_property
    def reference(self) -> float:
        """Size of the objective if all rows were alike, below which (times 1e-6) gaps are measured in this unit."""
        return 0.5 * float(np.mean(self.gram.diagonal())) * float(self.weights.sum())

    @cached_property
    def mixing(self) -> Eigen:
        """Eigenpairs of S = η^½Gη^½: all 1 without coupling, l/(c + l) for the eigenvalues l of η^½K_Θη^½ with it."""
        m = self.shape[1]
        if self.coupling == 0:
            return Eigen(np.ones(m), np.eye(m))
        values, vectors = self._output_eigen
        return Eigen(values / (self.coupling + values), vectors)

    @cached_property
    def _output_eigen(self) -> tuple[np.ndarray, np.ndarray]:
        root = np.sqrt(self.weights)
        values, vectors = np.linalg.eigh(self.output_gram * root[:, None] * root[None, :])
        return np.maximum(values, 0), vectors

    # -- functions and offsets ---------------------------------------------------------------------------------

    def node_coef(self, A: np.ndarray) -> np.ndarray:
        """Return B of shape (n, m) with h(·)(θ_j) = Σ_i k_X(·, x_i) B_ij."""
        if self.coupling == 0:
            return A
        root, mixing = np.sqrt(self.weights), self.mixing
        return ((A * root) @ mixing.vectors * mixing.values) @ mixing.vectors.T / root

    def representer_coef(self, A: np.ndarray) -> np.ndarray:
        """Return a with B = aK_Θ, so that h(x)(θ) = Σ_ij k_X(x, x_i) a_ij k_Θ(θ_j, θ) at any θ; needs coupling.

        a = (ηδ)(cI + K_Θ diag(η))⁻¹ is as well conditioned as c allows, however singular K_Θ is.
        """
        root = np.sqrt(self.weights)
        values, vectors = self._output_eigen
        return ((A * root) @ vectors / (self.coupling + values)) @ vectors.T * root

    def predict(self, A: np.ndarray) -> np.ndarray:
        """Return the scores h(x_i)(θ_j) at the data, shape (n, m)."""
        return self.gram @ self.node_coef(A)

    def excess(self, A: np.ndarray) -> np.ndarray:
        """Return v, the part of the weights η that the columns of A do not carry."""
        return self.weights * (1 - A.sum(axis=0))

    def offset(self, A: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Return t: K_b v/α, or with free offsets the quantiles of the scores, which are the best t for H."""
        if self.alpha > 0:
            return self.offset_gram @ self.excess(A) / self.alpha
        n, m = self.shape
        order = np.argsort(H, axis=0, kind="stable")
        sorted_scores = np.take_along_axis(H, order, axis=0)
        carried = np.cumsum(self.sample_weight[order], axis=0) / n
        rank = np.minimum(np.sum(carried < self.levels * (1 - 1e-12), axis=0), n - 1)
        column = np.arange(m)
        at, above = sorted_scores[rank, column], sorted_scores[np.minimum(rank + 1, n - 1), column]
        between = carried[rank, column] <= self.levels * (1 + 1e-12)  # any t from ``at`` to ``above`` is optimal
        return np.where(between, (at + above) / 2, at)

    def certificate(self, A: np.ndarray, H: np.ndarray | None = None) -> Certificate:
        """Return the duality gap of a feasible A and of the model h_A with its offsets.

        Parameters
        ----------
        A : array of shape (n, m)
            Within its bounds and, with free offsets, of column sums 1.
        H : array of shape (n, m), optional
            Scores of A where they are known.
        """
        H = self.predict(A) if H is None else H
        t = self.offset(A, H)
        half_norm = 0.5 * float(np.sum(A * H, axis=0) @ self.weights)
        half_offset = 0.5 * float(self.excess(A) @ t) if self.alpha > 0 else 0.0
        loss = np.sum(self.upper * np.maximum(t - H, 0), axis=0) - t
        primal = float(loss @ self.weights) + half_norm + half_offset
        return Certificate(primal, -half_norm - half_offset, self.reference, t)

    def feasible(self, A: np.ndarray) -> np.ndarray:
        """Return the nearest feasible dual array."""
        if self.alpha > 0:
            return np.clip(A, 0, self.upper)
        return box_simplex_projection(A, self.upper)[0]


def box_simplex_projection(P: np.ndarray, upper: np.ndarray, start: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest array with 0 ≤ δ ≤ upper and column sums 1, and the shifts τ with δ = clip(P + τ, 0, upper).

    The sum of a column is a piecewise linear, increasing function of its shift: Newton's method, with bisection where
    it leaves the bracket, on all columns at once.

    Parameters
    ----------
    P : array of shape (n, m)
        What to project.
    upper : array of shape (n, m)
        Bounds whose columns sum to at least 1.
    start : array of shape (m,), optional
        First guess of the shifts.

    Examples
    --------
    >>> box_simplex_projection(np.array([[0.9], [0.5], [0.0]]), np.full((3, 1), 0.5))[0].ravel()
    array([0.5, 0.5, 0. ])
    """
    low, high = -np.max(P, axis=0), np.max(upper - P, axis=0)
    shift = np.clip(np.zeros(P.shape[1]) if start is None else start, low, high)
    for _ in range(100):
        projected = np.clip(P + shift, 0, upper)
        surplus = projected.sum(axis=0) - 1
        if np.all((np.abs(surplus) <= 1e-14) | (high - low <= 1e-15 * (np.abs(low) + np.abs(high)))):
            break
        low, high = np.where(surplus < 0, shift, low), np.where(surplus > 0, shift, high)
        slope = np.sum((projected > 0) & (projected < upper), axis=0)
        newton = shift - surplus / np.maximum(slope, 1)
        safe = (slope > 0) & (newton > low) & (newton < high)
        shift = np.where(surplus == 0, shift, np.where(safe, newton, (low + high) / 2))
    return projected, shift
