"""Level sets one after the other: sequential minimal optimisation along increasing levels."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.linalg import PSD, Dense, LinearOperator, memory_budget, pivoted_cholesky
from mercer.problems import DualProblem, Offsets
from mercer.solvers.base import Interrupted, Monitor, Solver, SolverResult
from mercer.solvers.stagnation import Stagnation

__all__ = ["EvaluatedRows", "Level", "LevelPath", "dual_array", "follow_levels", "gram_rows", "independent_levels"]

#: pairs of coordinates between two looks at the gap
CHECK_EVERY = 30
#: pairs, and pairs for each row, in which the gap has to halve: below, pairs are no way to the optimum
PAIRS_TO_HALVE, PAIRS_PER_ROW = 3000, 60
#: bytes up to which rows of the kernel matrix are stored; beyond, those of a thin factor are faster to come by
STORED_ROWS = 2**30
#: columns of a thin factor up to which its rows cost less than those of the kernel
FACTOR_RANK = 256
#: share of the rows up to which they are combined one by one, and not by a product with the whole matrix
ONE_BY_ONE = 0.25
TINY = float(np.finfo(float).tiny)


@dataclass(eq=False, repr=False)
class LevelPath(Solver):
    """Sequential minimal optimisation along increasing levels, for independent levels with free offsets.

    From one level to the next, δ shrinks by the ratio of the levels, and the mass that is then missing goes to the
    rows with the lowest scores: a start so near the solution that a few dozen pairs of coordinates suffice at most
    levels. Each pair is chosen with second-order information (Fan, Chen and Lin, 2005) and moved exactly. A step is
    O(n); the kernel matrix is stored up to 1 GiB; beyond, it is replaced by a thin factor, or its rows are
    evaluated when they are needed.

    Parameters
    ----------
    tol : float, default=1e-3
        Bound on the relative duality gap, at each level and for their sum.
    max_iter : int, default=100000
        Limit on the number of steps at each level.
    """

    tol: float = 1e-3
    max_iter: int = 100_000

    requires = "level sets with free offsets and without coupling"

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        if not (isinstance(problem.intercept, Offsets) and problem.gram.columns_alike):
            raise self.refuse(f"this problem has {intercept_and_gram(problem)}", "Use ADMM.")

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        problem = problem.with_gram(problem.gram.stored(stored_limit()))
        share, n_iter = 10.0, 0
        while True:
            rows = gram_rows(problem.gram.column_operator(), share * self.tol)
            levels, steps, finished = follow_levels(problem, rows, 0.9 * self.tol, self.max_iter, monitor.must_stop)
            n_iter += steps
            A = dual_array(problem, levels)
            certificate = problem.certificate(A)
            monitor.done(n_iter, certificate)
            blame_factor = finished and isinstance(rows, _FactorRows) and certificate.visible_gap > self.tol
            if not blame_factor or share < 1e-7 or monitor.must_stop():
                return monitor.result(A, certificate, n_iter, "stalled" if finished else None)
            share *= 1e-2


def intercept_and_gram(problem: DualProblem) -> str:
    """Return in words what solvers of level sets look at, for refusals."""
    columns = "alike" if problem.gram.columns_alike else "coupled"
    return f"the intercept {type(problem.intercept).__name__} and columns that are {columns}"


def upper_bounds(problem: DualProblem) -> np.ndarray:
    """Return the bounds s_i/(nθ_j) of δ_ij = s_i a_ij/n, the coefficients of scores Kδ, shape (n, m)."""
    return problem.sample_weight[:, None] / (problem.measure.locations[None, :] / problem.share)


def dual_array(problem: DualProblem, levels: list[Level]) -> np.ndarray:
    """Return a_ij = nδ_ij/s_i."""
    delta = np.column_stack([level.delta for level in levels])
    return delta / (problem.share * problem.sample_weight[:, None])


def independent_levels(problem: DualProblem, interrupted: Interrupted | None = None) -> np.ndarray:
    """Return the dual array of the same levels without penalty on offsets and without coupling, roughly solved."""
    alone = problem.gram.with_factors(right=Dense(np.diag(1 / problem.measure.weights), PSD))
    rows = gram_rows(alone.column_operator(), 0.1)
    return dual_array(problem, follow_levels(problem, rows, 1e-2, 1000, interrupted)[0])


def follow_levels(
    problem: DualProblem, rows: Any, tol: float, max_iter: int, interrupted: Interrupted | None = None
) -> tuple[list[Level], int, bool]:
    """Solve each level alone, with Σδ = 1, in increasing order; once ``interrupted``, levels stay as they start.

    Returns the solved levels in the order of the measure, the number of steps and whether no level ran out of them.
    """
    n, (theta, bounds) = problem.shape[0], (problem.measure.locations, upper_bounds(problem))
    ranking = rows.combine(slice(None), problem.sample_weight / n)  # a density estimate finds the first outliers
    delta, scores, last, n_iter, finished = np.zeros(n), np.zeros(n), 1.0, 0, True
    solved: dict[int, Level] = {}
    for j in np.argsort(theta, kind="stable"):
        upper, shrink = np.ascontiguousarray(bounds[:, j]), last / theta[j]
        delta, scores, last = np.minimum(delta * shrink, upper), scores * shrink, theta[j]
        added = _spread(upper - delta, ranking, 1 - delta.sum())
        level = Level(rows, upper, delta, scores).moved(added)
        steps = level.run(tol, 1e-6 * problem.null_model[0], max_iter, interrupted)
        n_iter, finished = n_iter + steps, finished and steps < max_iter
        delta, scores, ranking = level.delta, level.scores, level.scores
        solved[int(j)] = level
    return [solved[j] for j in range(len(solved))], n_iter, finished


def _spread(room: np.ndarray, ranking: np.ndarray, amount: float) -> np.ndarray:
    """Return shares of an amount, each up to its room, first where the ranking is lowest."""
    order = np.argsort(ranking, kind="stable")
    room = room[order]
    shares = np.empty_like(room)
    shares[order] = np.clip(amount - (np.cumsum(room) - room), 0, room)
    return shares


class Level:
    """min ½δᵀKδ subject to 0 ≤ δ ≤ upper and a given Σδ, by moving mass within pairs; scores = Kδ follow."""

    def __init__(self, rows: Any, upper: np.ndarray, delta: np.ndarray, scores: np.ndarray) -> None:
        self.rows, self.delta, self.scores, self.upper = rows, delta, scores, upper
        # added to the scores, these leave only the rows that may gain, or lose, mass
        self.full = np.where(delta < upper, 0.0, np.inf)
        self.empty = np.where(delta > 0, 0.0, -np.inf)

    def moved(self, added: np.ndarray) -> Level:
        """Return a level with more (or less) mass, within the bounds."""
        changed = np.flatnonzero(added)
        delta = np.clip(self.delta + added, 0, self.upper)
        return Level(self.rows, self.upper, delta, self.scores + self.rows.combine(changed, added[changed]))

    def with_mass(self, mass: float) -> Level:
        """Return a start for another Σδ: mass is added to the lowest scores, or taken from the highest."""
        more = mass - float(self.delta.sum())
        if more >= 0:
            return self.moved(_spread(self.upper - self.delta, self.scores, more))
        return self.moved(-_spread(self.delta, -self.scores, -more))

    @property
    def offsets(self) -> tuple[float, float]:
        """The highest score with mass and the lowest with room: at the optimum offsets t lie between them."""
        return float(np.max(self.scores + self.empty)), float(np.min(self.scores + self.full))

    @property
    def stiffness(self) -> float:
        """dt/dΣδ = 1/(1ᵀK_FF⁻¹1) on the set F of rows strictly within their bounds."""
        free = np.flatnonzero((self.delta > 0) & (self.delta < self.upper))
        if free.size == 0:
            return float(np.mean(self.rows.diagonal))
        block = np.stack([self.rows.row(i)[free] for i in free])
        ridge = 1e-10 * float(np.trace(block)) + TINY
        return 1 / max(float(np.sum(np.linalg.solve(block + ridge * np.eye(free.size), np.ones(free.size)))), TINY)

    def run(self, tol: float, floor: float, max_iter: int, interrupted: Interrupted | None = None) -> int:
        """Move pairs until the gap is at most tol times the objective, or hardly falls; return their number."""
        crawls = Stagnation(PAIRS_TO_HALVE + PAIRS_PER_ROW * len(self.delta))
        for step in range(max_iter):
            if step % CHECK_EVERY == 0:
                if interrupted is not None and interrupted():
                    return step
                gap = self._gap()
                if gap <= tol * max(0.5 * float(self.delta @ self.scores), floor) or crawls(step, gap):
                    return step
            if not self._move():
                return step
        return max_iter

    def _gap(self) -> float:
        highest, lowest = self.offsets
        if not np.isfinite(highest - lowest):  # every row is at its bound: there is one feasible point
            return 0.0
        below = 0.5 * (highest + lowest) - self.scores
        return float(self.upper @ np.maximum(below, 0) - self.delta @ below)

    def _move(self) -> bool:
        """Move mass to the row of lowest score from the row that gains most; False where rounding allows no more."""
        scores, delta, diagonal = self.scores, self.delta, self.rows.diagonal
        i = int(np.argmin(scores + self.full))
        row = self.rows.row(i)
        curvature = np.maximum(diagonal + diagonal[i] - 2 * row, 1e-12 * (diagonal[i] + TINY))
        slope = np.maximum(scores - scores[i], 0)
        j = int(np.argmax(slope * slope / curvature + self.empty))
        if not slope[j] > 1e-15 * abs(scores[j]):
            return False
        room, mass = self.upper[i] - delta[i], delta[j]
        step = min(slope[j] / curvature[j], room, mass)
        if not step > 0:
            return False
        delta[i] = self.upper[i] if step == room else delta[i] + step
        delta[j] = 0.0 if step == mass else mass - step
        self.full[i], self.empty[i] = (np.inf if step == room else 0.0), 0.0
        self.empty[j], self.full[j] = (-np.inf if step == mass else 0.0), 0.0
        scores += step * (row - self.rows.row(j))
        return True


class _DenseRows:
    """Rows of a matrix that is stored."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix
        self.diagonal = np.ascontiguousarray(np.diagonal(matrix))

    def row(self, index: int) -> np.ndarray:
        return self.matrix[index]

    def combine(self, rows: Any, weights: np.ndarray) -> np.ndarray:
        return weights @ self.matrix[rows]


class EvaluatedRows:
    """Rows of a matrix that is not stored, evaluated when they are asked for; those of late are kept.

    Parameters
    ----------
    gram : LinearOperator
        The matrix.
    size : int
        Bytes that the rows that are kept may take.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense
    >>> EvaluatedRows(Dense(np.diag([1.0, 2.0])), 2**10).row(1)
    array([0., 2.])
    """

    def __init__(self, gram: LinearOperator, size: int) -> None:
        self.gram, self.diagonal = gram, gram.diagonal()
        self._column_of = gram.columns()
        self._kept: OrderedDict[int, np.ndarray] = OrderedDict()
        self._most = max(2, size // (8 * gram.shape[0]))

    def row(self, index: int) -> np.ndarray:
        index = int(index)
        if index in self._kept:
            self._kept.move_to_end(index)
            return self._kept[index]
        if len(self._kept) >= self._most:
            self._kept.popitem(last=False)
        self._kept[index] = self._column_of(index)
        return self._kept[index]

    def combine(self, rows: Any, weights: np.ndarray) -> np.ndarray:
        spread = np.zeros((self.gram.shape[0], 1))
        spread[rows, 0] = weights
        if np.count_nonzero(spread) > ONE_BY_ONE * len(spread):
            return (self.gram @ spread)[:, 0]
        total = np.zeros(len(spread))
        for index in np.flatnonzero(spread).tolist():
            total += spread[index, 0] * self.row(index)
        return total


class _FactorRows:
    """Rows of F Fᵀ."""

    def __init__(self, factor: np.ndarray) -> None:
        self.factor = factor
        self.diagonal = np.sum(factor**2, axis=1)

    def row(self, index: int) -> np.ndarray:
        return self.factor @ self.factor[index]

    def combine(self, rows: Any, weights: np.ndarray) -> np.ndarray:
        return self.factor @ (weights @ self.factor[rows])


def stored_limit() -> int:
    """Return the bytes up to which the kernel matrix is stored."""
    return min(STORED_ROWS, memory_budget())


def gram_rows(gram: LinearOperator, accuracy: float) -> _DenseRows | _FactorRows | EvaluatedRows:
    """Return access to rows of K: stored up to 1 GiB; beyond, by a thin factor or one by one."""
    n, limit = gram.shape[0], stored_limit()
    if 8 * n * n <= limit:
        return _DenseRows(np.ascontiguousarray(gram.to_dense(max_bytes=limit)))
    factor = pivoted_cholesky(gram, accuracy * float(np.sum(gram.diagonal())), max_rank=FACTOR_RANK)
    return EvaluatedRows(gram, limit) if factor is None else _FactorRows(factor)
