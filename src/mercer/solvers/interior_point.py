"""A primal-dual interior-point method with structured normal equations, for box duals of small rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.linalg import Spectral
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor
from mercer.solvers.reduction import Reduced, ReducedSolver

__all__ = ["InteriorPoint"]

#: steps without a smaller gap or complementarity after which rounding is said to have won
STALLED_STEPS = 8
#: attempts per step to lengthen it by moving outlying products towards the central path
CENTRALITY_CORRECTIONS = 2


@dataclass(eq=False, repr=False)
class InteriorPoint(ReducedSolver):
    """Predictor–corrector steps with centrality corrections for duals with bounds.

    Pinball, hinge, their Moreau smoothings and pointwise Huber have such duals. With thin factors Φ (n, r) and
    Ψ (m, q) of the Gram matrices, each step solves a system of size r·q whose matrix is built as
    (Φ_aΦ_b)ᵀ D (Ψ_cΨ_d): O(nm q² + n r² q²) operations and no nm × rq matrix. Tens of steps reach gaps of 1e-6 and
    below, whatever λ: the choice when r·q is at most some hundreds (Mehrotra, 1992; Gondzio, 1996).

    Parameters
    ----------
    tol : float, default=1e-6
        Bound on the relative duality gap.
    max_iter : int, default=100
        Limit on the number of steps.
    max_rank : int, default=3000
        Largest r·q that is accepted.
    """

    tol: float = 1e-6
    max_iter: int = 100
    max_rank: int = 3000

    requires = (
        "a loss whose conjugate is a quadratic on a box, NumPy arrays and a kernel that decomposes, k_X(x, z)·K_Θ, "
        "into Gram matrices of small rank"
    )

    def _check(self) -> None:
        super()._check()
        check_number(self, "max_rank", self.max_rank, low=1, strict=False, integer=True)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if problem.box is None:
            raise self.refuse(f"the conjugate of {problem.loss.named!r} is not", "Use ADMM.")
        if problem.intercept is not None and not problem.intercept.balanced:
            raise self.refuse("the intercept has a target or a penalty", "Use ADMM.")
        if not problem.gram.decomposes:
            raise self.refuse(f"the Gram operator is {problem.gram!r}", "Use ADMM.")

    def iterate(self, problem: DualProblem, spectral: Spectral, init: Any, n_iter: int, monitor: Monitor) -> Reduced:
        """Follow the central path until the gap in the eigenbases is within 90 % of tol, or steps fail."""
        if spectral.rank > self.max_rank:
            raise self.refuse(f"the product of the numerical ranks is {spectral.rank}", "Use ADMM.")
        state = _CentralPath(problem, spectral, init)
        best, best_seen, b, lowest, since = None, None, None, np.inf, 0
        while True:
            A = problem.feasible(state.A.astype(problem.Y.dtype, copy=False))
            running = state.b if problem.intercept is not None and not problem.intercept.exact else None
            certificate = problem.certificate(A, state.kernel_part(A), running)
            if best_seen is None or certificate.visible_gap < best_seen.visible_gap:
                best, best_seen, b = A, certificate, running
            since = 0 if best_seen is certificate or state.mu < 0.9 * lowest else since + 1
            lowest = min(lowest, state.mu)
            if monitor.done(n_iter, certificate, share=0.9) or n_iter >= self.max_iter or since >= STALLED_STEPS:
                return Reduced(best, n_iter, best_seen.visible_gap, since >= STALLED_STEPS, b)
            n_iter += 1
            if not state.step():
                return Reduced(best, n_iter, best_seen.visible_gap, True, b)


class _CentralPath:
    """Iterates A strictly inside the box, multipliers of both bounds, and the intercept.

    Optimality: c·A − Y + H + b − low + high = 0, low·(A − lower) = high·(upper − A) = 0, Σ_i s_i a_i = 0, where H is
    the kernel part of A and ``low``, ``high`` ≥ 0 are multipliers; all in the weighted inner product. Upper bounds may
    be infinite, and have no multiplier then. With a design E the intercept adds b @ E, and Σ_i s_i (w ∘ a_i) Eᵀ = 0.
    """

    def __init__(self, problem: DualProblem, spectral: Spectral, init: Any) -> None:
        self.problem = problem
        box = problem.box
        assert box is not None  # InteriorPoint.check has seen to it
        shape = problem.shape
        self.lower = np.broadcast_to(box.lower, shape)
        self.upper = np.broadcast_to(box.upper, shape)
        self.curvature = box.curvature
        self.observed = problem.measure.observed
        if self.observed is not None:  # entries that do not count stay at 0, inside bounds of their own
            self.lower = np.where(self.observed, self.lower, -1.0)
            self.upper = np.where(self.observed, self.upper, 1.0)
        self.omega = problem.sample_weight[:, None] * problem.measure.weights[None, :]
        finite = np.isfinite(self.upper)
        self.bounded = None if finite.all() else finite
        self.count = float((self.omega * (1.0 + finite)).sum())
        self.b = np.array(problem.null_model[1], dtype=problem.Y.dtype)
        given = None if problem.intercept is None else problem.intercept.design
        self.design = np.eye(len(self.b), shape[1]) if given is None else given
        phi, self.psi = spectral.factors()
        self.phi = np.sqrt(problem.scale) * phi
        self.left_pairs = np.triu_indices(self.phi.shape[1])
        self.right_pairs = np.triu_indices(self.psi.shape[1])
        self.phi_pairs = self.phi[:, self.left_pairs[0]] * self.phi[:, self.left_pairs[1]]
        self.psi_pairs = self.psi[:, self.right_pairs[0]] * self.psi[:, self.right_pairs[1]]
        width = self.upper - self.lower
        if problem.has_slopes:
            width = np.minimum(width, 1.0)  # bounds of slopes are wide or infinite; their middle is far from anything
        start = self.lower + width / 2 if init is None else init
        self.A = np.clip(start, self.lower + 0.05 * width, self.upper - 0.05 * width)
        slope = self._slope()
        unit = problem.unit
        self.low = np.maximum(slope, 0) + unit / 4
        self.high = self._where_bounded(np.maximum(self.low - slope, unit / 4))

    def _where_bounded(self, array: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
        """Return the array with something else where there is no upper bound."""
        return array if self.bounded is None else np.where(self.bounded, array, otherwise)

    def _above(self, A: np.ndarray) -> np.ndarray:
        """Return the distance to the upper bound, 1 where there is none."""
        return self._where_bounded(self.upper - A, 1.0)

    def kernel_part(self, A: np.ndarray) -> np.ndarray:
        """Return H for a dual array: Φ(Φᵀ(ωA)Ψ)Ψᵀ."""
        return self._lift(self._features(self.omega * self.problem.cut(A)))

    def _features(self, array: np.ndarray) -> np.ndarray:
        return self.phi.T @ (array @ self.psi)

    def _lift(self, coordinates: np.ndarray) -> np.ndarray:
        return self.phi @ (coordinates @ self.psi.T)

    def _slope(self) -> np.ndarray:
        return self.curvature * self.A - self.problem.Y + self.kernel_part(self.A) + self.b @ self.design

    def step(self) -> bool:
        """Take one step along a predicted, corrected and centred direction; False where the algebra gives out."""
        s, u, low, high = self.A - self.lower, self._above(self.A), self.low, self.high
        if not (s.min() > 0 and u.min() > 0):  # rounding has reached a bound
            return False
        mu, count = self.mu, self.count
        inverse = 1 / (self.curvature + low / s + high / u)
        if self.observed is not None:
            inverse = np.where(self.observed, inverse, 0.0)
        try:
            system = _NormalEquations(self, inverse)
        except np.linalg.LinAlgError:
            return False

        def direction(residual, imbalance, to_low, to_high):
            """Newton direction that moves low·s by ``to_low`` and high·u by ``to_high``, to first order."""
            to_high = self._where_bounded(to_high)
            dA, db = system.solve(-residual + to_low / s - to_high / u, imbalance)
            return _Direction(dA, db, (to_low - low * dA) / s, (to_high + high * dA) / u)

        residual, imbalance = self._slope() - low + high, self._imbalance()
        move = direction(residual, imbalance, -s * low, -u * high)
        to_low, to_high = self._products(move, self._length(move))
        sigma = max(float((self.omega * (to_low + to_high)).sum()) / count / mu, 0.0) ** 3
        target = sigma * mu
        move = direction(
            residual,
            imbalance,
            target - s * low - move.A * move.low,
            target - u * high + move.A * move.high,
        )
        length = self._length(move)
        for _ in range(CENTRALITY_CORRECTIONS):
            reach = min(1.0, 1.08 * length + 0.08)
            to_low, to_high = (_towards_centre(v, target) for v in self._products(move, reach))
            candidate = move + direction(0.0, 0.0, to_low, to_high)
            longer = self._length(candidate)
            if not longer >= length + 0.1 * (reach - length):
                break
            move, length = candidate, longer
        if not np.all(np.isfinite(move.A)):
            return False
        length *= 0.995
        self.A = self.A + length * move.A
        self.b = self.b + length * move.b
        self.low, self.high = low + length * move.low, high + length * move.high
        return length > 1e-8

    @property
    def mu(self) -> float:
        """Mean complementarity, which the central path takes to 0."""
        products = (self.A - self.lower) * self.low + self._above(self.A) * self.high
        return float((self.omega * products).sum()) / self.count

    def _imbalance(self) -> np.ndarray:
        return self.design @ (self.omega * self.problem.cut(self.A)).sum(axis=0)

    def _products(self, move: _Direction, length: float) -> tuple[np.ndarray, np.ndarray]:
        """Return low·(A − lower) and high·(upper − A) after a step."""
        A = self.A + length * move.A
        return (A - self.lower) * (self.low + length * move.low), self._above(A) * (self.high + length * move.high)

    def _length(self, move: _Direction) -> float:
        """Return the longest step that stays in the box and keeps the multipliers positive, at most 1."""
        return min(
            _length(self.A - self.lower, move.A),
            _length(self._above(self.A), self._where_bounded(-move.A)),
            _length(self.low, move.low),
            _length(self._where_bounded(self.high, 1.0), move.high),
        )


@dataclass(frozen=True, eq=False)
class _Direction:
    """A change of A, b and the multipliers of both bounds."""

    A: Any
    b: Any
    low: Any
    high: Any

    def __add__(self, other: _Direction) -> _Direction:
        return _Direction(self.A + other.A, self.b + other.b, self.low + other.low, self.high + other.high)


def _towards_centre(products: np.ndarray, target: float) -> np.ndarray:
    """Return the change that brings outlying complementarity products within [0.1, 10] of the target."""
    return np.maximum(np.clip(products, 0.1 * target, 10 * target) - products, -10 * target)


def _length(value: np.ndarray, change: np.ndarray) -> float:
    """Return the longest step ≤ 1 that keeps value + step·change ≥ 0."""
    steepest = float(np.min(change / value))
    return 1.0 if steepest >= -1 else -1 / steepest


class _NormalEquations:
    """(diag(inverse)⁻¹ + kernel) dA + db E = rhs and E Σ_i ω_i dA_i = −imbalance, through a system of size r·q."""

    def __init__(self, path: _CentralPath, inverse: np.ndarray) -> None:
        self.path, self.inverse = path, inverse
        r, q = path.phi.shape[1], path.psi.shape[1]
        weighted = path.omega * inverse
        small = path.phi_pairs.T @ (weighted @ path.psi_pairs)
        rows = np.empty((r, r, small.shape[1]))
        rows[path.left_pairs] = small
        rows[path.left_pairs[::-1]] = small
        full = np.empty((r, r, q, q))
        full[:, :, path.right_pairs[0], path.right_pairs[1]] = rows
        full[:, :, path.right_pairs[1], path.right_pairs[0]] = rows
        matrix = full.transpose(0, 2, 1, 3).reshape(r * q, r * q)
        matrix[np.diag_indices(r * q)] += 1
        self.intercept = path.problem.fit_intercept
        if self.intercept:  # eliminate b
            column = weighted.sum(axis=0)
            column = np.where(column > 0, column, 1.0)  # a node that nobody observed has no equation
            self.block = scipy.linalg.cho_factor((path.design * column) @ path.design.T, check_finite=False)
            cross = (path.phi.T @ weighted)[:, None, :] * path.psi.T[None, :, :]
            self.cross = cross.reshape(r * q, path.psi.shape[0]) @ path.design.T
            matrix = matrix - self.cross @ self._through_block(self.cross.T)
        self.factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)

    def _through_block(self, array: np.ndarray) -> np.ndarray:
        return scipy.linalg.cho_solve(self.block, array, check_finite=False)

    def solve(self, rhs: np.ndarray, imbalance: Any) -> tuple[np.ndarray, Any]:
        """Return (dA, db)."""
        path = self.path
        x = self.inverse * rhs
        weighted = path.omega * x
        target = path._features(weighted).ravel()
        if not self.intercept:
            y = scipy.linalg.cho_solve(self.factor, target, check_finite=False)
            return x - self.inverse * path._lift(y.reshape(path.phi.shape[1], path.psi.shape[1])), 0.0
        sums = path.design @ weighted.sum(axis=0) + imbalance
        y = scipy.linalg.cho_solve(self.factor, target - self.cross @ self._through_block(sums), check_finite=False)
        db = self._through_block(sums - self.cross.T @ y)
        lifted = path._lift(y.reshape(path.phi.shape[1], path.psi.shape[1])) + db @ path.design
        return x - self.inverse * lifted, db
