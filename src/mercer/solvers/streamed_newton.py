"""Semismooth Newton steps over blocks of rows, for box duals in few features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import get_blas_funcs

from mercer._params import check_number
from mercer.linalg import positive_solver
from mercer.problems import Block, FeatureProblem, Reading
from mercer.problems.block_sums import bracketed_minimum
from mercer.problems.block_work import Dual, Predict
from mercer.problems.problem_rows import FeatureTerms
from mercer.solvers.stagnation import Stagnation
from mercer.solvers.streamed import Looks, StreamedResult, StreamedSolver
from mercer.solvers.streamed_admm import StreamedADMM

__all__ = ["StreamedNewton"]

#: numbers of C and b up to which their Hessian is a matrix that travels
MOST_COORDINATES = 4000
#: gap at which sweeps hand over, and their number
HAND_OVER, SWEEPS = 1e-2, 40
#: first κ in units of typical residual over typical dual variable, and its factor between proximal points
KAPPA_TO_START, FALL = 0.03, 0.25
#: effect on the gap at which a proximal point is exact enough, as a share of tol times the objective
EXACT, INNER_STEPS, HALVINGS = 0.1, 30, 25
#: sums that are 0 but for rounding, in units of the sizes in them
BALANCED = 1e-12
#: Newton steps in which the gap has to halve
STEPS_FOR_A_HALF = 200


@dataclass(eq=False, repr=False)
class StreamedNewton(StreamedSolver):
    """Proximal points of a box dual, each by Newton steps whose Hessian is a sum over the free entries of all blocks.

    At the optimum of pinball, hinge and the like most dual variables are at a bound. The dual less (κ/2)‖a − ā‖² has a
    primal that is smooth and piecewise quadratic; a step is one pass, in which only free entries take part in the
    Hessian, of size D·q + m; ā then moves to the maximiser and κ falls. Prefer it to :class:`StreamedADMM` for gaps
    below 1e-4 and few features: it takes tens of passes there, and ADMM hundreds or thousands.

    Parameters
    ----------
    tol : float, default=1e-5
        Bound on the relative duality gap.
    max_iter : int, default=500
        Limit on the number of sweeps and Newton steps.
    memory : int, optional
        Bytes of features that may be kept: the memory budget by default.
    """

    tol: float = 1e-5
    max_iter: int = 500
    memory: int | None = None

    requires = "a FeatureProblem, a loss whose conjugate is a quadratic on a box, and few features"

    def _check(self) -> None:
        super()._check()
        if self.memory is not None:
            check_number(self, "memory", self.memory, low=0, strict=False, integer=True)

    def check(self, problem: Any) -> None:
        super().check(problem)
        if not problem.boxed:
            raise self.refuse(f"the conjugate of {problem.loss.named!r} is not", "Use StreamedADMM.")
        size = math.prod(problem.coef_shape) + problem.shape[1]
        if size > MOST_COORDINATES:
            remedy = "Use StreamedADMM, or a thinner factor of the output kernel."
            raise self.refuse(f"there are {size} coefficients, more than {MOST_COORDINATES}", remedy)

    def _stream(self, problem: FeatureProblem, init: Any, looks: Looks) -> StreamedResult:
        sweeps = StreamedADMM(max(HAND_OVER, self.tol), min(SWEEPS, self.max_iter))
        first = sweeps.solve(problem, init, interrupted=looks.monitor.must_stop)
        n_iter, states, coef, b = first.n_iter, first.states, first.coef, first.intercept
        if looks.done(states, coef, b, n_iter):
            return looks.result(n_iter)
        kappa, crawls = KAPPA_TO_START * problem.unit, Stagnation(STEPS_FOR_A_HALF)
        while True:
            point, n_iter, solved = self._proximal_point(problem, states, kappa, (coef, b), n_iter, looks)
            coef, b = point.coef, point.b
            if not solved and not crawls(n_iter, looks.gap):  # a smoother one is easier
                kappa /= FALL
                continue
            states, _ = problem.blocks.map(Maximiser(problem.terms, kappa, coef, b), states)
            if looks.done(states, coef, b, n_iter):
                return looks.result(n_iter)
            if crawls(n_iter, looks.gap):
                return looks.result(n_iter, "stalled")
            kappa *= FALL

    def _proximal_point(
        self, problem: FeatureProblem, states: list, kappa: float, start: tuple, n_iter: int, looks: Looks
    ) -> tuple[Point, int, bool]:
        """Return the model of a proximal point, the steps so far, and whether it is exact, or the last."""
        point = evaluate(problem, states, kappa, *start)
        for _ in range(INNER_STEPS):
            if point.stuck:
                point = balanced(problem, states, kappa, point)
            moved = newton_step(problem, states, kappa, point)
            n_iter += 1
            point = point if moved is None else moved
            exact = inexactness(problem, point) <= EXACT * self.tol * abs(point.value)
            if exact or n_iter >= self.max_iter or looks.monitor.must_stop():
                return point, n_iter, True
            if moved is None:
                break
        return point, n_iter, False


class Point(NamedTuple):
    """A model, and value, gradient and Hessian (its lower triangle) of the primal of a proximal point there."""

    coef: np.ndarray
    b: np.ndarray
    value: float
    gradient: np.ndarray
    hessian: np.ndarray
    stuck: bool  #: whether sums are off at a node without free entries, where a Newton step hardly moves b


def evaluate(problem: FeatureProblem, centres: list, kappa: float, coef: np.ndarray, b: np.ndarray) -> Point:
    """Return value, gradient and Hessian at a model, in one pass."""
    envelope = Envelope(problem.terms, kappa, coef, b, problem.fit_intercept)
    _, (value, along, total, size_of_sums, hessian, free) = problem.blocks.map(envelope, centres)
    share, alpha, weights = problem.terms.share, problem.alpha, np.asarray(problem.measure.weights)
    gradient = (alpha * coef - share * along).ravel()
    hessian = share * hessian
    stuck = problem.fit_intercept and bool(np.any((free == 0) & (np.abs(total) > BALANCED * size_of_sums)))
    size = coef.size
    hessian.flat[: size * (len(hessian) + 1) : len(hessian) + 1] += alpha
    if problem.fit_intercept:
        gradient = np.concatenate([gradient, -share * weights * total])
        diagonal = np.arange(size, len(hessian))
        hessian[diagonal, diagonal] += np.where(free > 0, 1e-12, 1.0) * weights / kappa
    half_norm = alpha / 2 * float(np.vdot(coef, coef))
    return Point(coef, b, share * value + half_norm, gradient, hessian, stuck)


def balanced(problem: FeatureProblem, centres: list, kappa: float, point: Point) -> Point:
    """Return the point with the best b for its C, at which sums are right."""
    seen, _ = problem.blocks.map(Predict(problem.terms, point.coef), centres)

    def slope(b: np.ndarray) -> np.ndarray:
        _, (total,) = problem.blocks.map(Balance(problem.terms, kappa, b), seen, features=False)
        return -total / problem.n_rows

    b = bracketed_minimum(slope, point.b, kappa, np.asarray(problem.measure.weights), 0.0)
    return evaluate(problem, centres, kappa, point.coef, b)


def inexactness(problem: FeatureProblem, point: Point) -> float:
    """Return what the gradient adds to the gap: (λ/2)‖C − C_A‖², and nearly as much for the repair of sums."""
    size = point.coef.size
    moments = problem.moments
    square = float(np.trace(moments.products(False)[0]))  # mean square of the lengths of features
    of_sums = point.gradient[size:] if problem.fit_intercept else np.zeros(1)
    if problem.factor is not None and problem.fit_intercept:
        of_sums = of_sums @ problem.factor
    inner = point.gradient[:size]
    return (float(inner @ inner) + square * float(of_sums @ of_sums)) / (2 * problem.alpha)


def newton_step(problem: FeatureProblem, centres: list, kappa: float, point: Point) -> Point | None:
    """Take a Newton step, shorter where the value does not fall; None where rounding leaves none."""
    rounding = 8 * np.finfo(float).eps * float(np.max(np.diagonal(point.hessian)))
    solve = positive_solver(point.hessian + np.tril(point.hessian, -1).T, rounding)
    step = -solve(point.gradient)
    slope = float(point.gradient @ step)
    if not (math.isfinite(slope) and slope < 0):
        return None
    size, length = point.coef.size, 1.0
    for _ in range(HALVINGS):
        coef = point.coef + length * step[:size].reshape(point.coef.shape)
        b = point.b + length * step[size:] if problem.fit_intercept else point.b
        new = evaluate(problem, centres, kappa, coef, b)
        if new.value <= point.value + 1e-4 * length * slope:
            return new
        if -slope <= 1e-14 * abs(point.value):  # the value does not see it
            return None
        length /= 2
    return None


def maximiser(rows: Any, A: np.ndarray, kappa: float, U: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return argmax_a a·(y − u) − (c/2)a² − (κ/2)(a − ā)² on the box, where it is free, and the curvature c."""
    box = rows.loss.box(rows.Y, rows.measure)
    V = rows.cut(rows.Y - U + kappa * A) / (kappa + box.curvature)
    clipped = np.minimum(np.maximum(V, box.lower), box.upper)
    free = (box.lower < V) & (box.upper > V)
    return rows.cut(clipped), free if rows.measure.observed is None else free & rows.measure.observed, box.curvature


@dataclass(frozen=True)
class Maximiser:
    """The dual variables of a model for a centre."""

    terms: FeatureTerms
    kappa: float
    coef: np.ndarray
    b: np.ndarray

    def __call__(self, block: Block, state: Dual) -> tuple[Dual, tuple]:
        rows = self.terms.rows(block)
        return Dual(maximiser(rows, state.A, self.kappa, rows.predict(self.coef) + self.b)[0]), ()


@dataclass(frozen=True)
class Balance(Reading):
    """Sums of the maximisers at kept predictions and an intercept."""

    terms: FeatureTerms
    kappa: float
    b: np.ndarray

    def __call__(self, block: Block, state: Dual) -> tuple[Dual, tuple]:
        rows = self.terms.rows(block)
        return state, (rows.sample_weight @ maximiser(rows, state.A, self.kappa, state.H + self.b)[0],)


@dataclass(frozen=True)
class Envelope(Reading):
    """The loss that a centre has smoothed: value, slopes along features and nodes and sizes, Hessian, free entries."""

    terms: FeatureTerms
    kappa: float
    coef: np.ndarray
    b: np.ndarray
    intercept: bool

    def __call__(self, block: Block, state: Dual) -> tuple[Dual, tuple]:
        rows = self.terms.rows(block)
        U = rows.predict(self.coef) + self.b
        A, free, curvature = maximiser(rows, state.A, self.kappa, U)
        terms = A * (rows.cut(rows.Y - U) - curvature / 2 * A) - self.kappa / 2 * (A - state.A) ** 2
        value = float(rows.sample_weight @ terms @ np.asarray(self.terms.measure.weights))
        hessian = self._hessian(rows, free) / (self.kappa + curvature)
        sums = rows.sample_weight @ A, rows.sample_weight @ np.abs(A)
        return state, (value, rows.along(A), *sums, hessian, np.count_nonzero(free, axis=0))

    def _hessian(self, rows: Any, free: np.ndarray) -> np.ndarray:
        """Return Σ s_i w_j f fᵀ over free entries, f = (φ(x_i) ⊗ R_j, e_j); its lower triangle."""
        D, q = self.coef.shape
        m = free.shape[1] if self.intercept else 0
        i, j = np.nonzero(free)
        root = np.sqrt(rows.sample_weight[i] * np.asarray(self.terms.measure.weights)[j])
        matrix = np.zeros((D * q + m, D * q + m), order="F")
        (product,) = get_blas_funcs(("syrk",), (matrix,))
        step = max(1, 2**21 // len(matrix))
        for start in range(0, len(i), step):
            part = slice(start, start + step)
            F = np.zeros((len(i[part]), D * q + m))
            F[:, : D * q] = root[part, None] * self.terms.entries(rows.taken(i[part]), j[part])
            if m:
                F[np.arange(len(F)), D * q + j[part]] = root[part]
            matrix = product(1.0, F.T, beta=1.0, c=matrix, lower=1, overwrite_c=1)
        return matrix
