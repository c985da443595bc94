"""The contract of a solver: what it returns is feasible, certified and invariant."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.backend import as_like, device, machine_epsilon, namespace, to_numpy
from mercer.exceptions import MercerError
from mercer.linalg import Dense, Kronecker
from mercer.losses import (
    CostSensitiveHinge,
    EpsilonInsensitive,
    EpsilonRidge,
    Expectile,
    Huber,
    Loss,
    MoreauPinball,
    Pinball,
    Square,
    WeightedHuber,
)
from mercer.measures import Measure
from mercer.problems import DualProblem
from mercer.solvers import Solver, SolverResult

__all__ = ["check_solver"]

#: losses of the default battery; a solver is tested on those that it accepts
_LOSSES: tuple[Loss, ...] = (
    Square(),
    Pinball(),
    MoreauPinball(0.3),
    WeightedHuber(0.5),
    Expectile(),
    Huber(0.3, "norm"),
    Huber(0.3, "pointwise"),
    EpsilonRidge(0.2, "norm"),
    EpsilonRidge(0.2, "pointwise"),
    EpsilonInsensitive(0.2, "norm"),
    EpsilonInsensitive(0.2, "pointwise"),
    CostSensitiveHinge(),
)


def check_solver(
    solver: Solver, problem: DualProblem | None = None, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """Raise an AssertionError unless the solver keeps its promises.

    The dual array is feasible: a finite conjugate, zero where nothing was observed, Σ_i s_i a_i = 0 with an
    intercept. Gap and objective are those of ``problem.certificate`` with the intercept, and "converged" means that
    the relative gap is at most ``tol``. The history increases and ends near the gap that is reported. A start
    from the solution takes no more iterations. A callback is called and can stop the run, and so can an
    interruption; one iteration ends as "converged" or with a remedy. A row of weight 2 is that row twice, and a node
    split in two is that node, where the solver takes such columns.

    Parameters
    ----------
    solver : Solver
        The solver, with the settings to test; it is copied where another limit is needed.
    problem : DualProblem, optional
        A complete or masked problem of any array library. By default a battery of small random problems,
        with every loss that ``solver.check`` accepts, with and without weights, intercept and mask.
    tolerance : float, optional
        Allowed relative difference of objectives; by default ten times ``solver.tol`` and the rounding error.
    seed : int, default=0
        Seed of the battery.

    Raises
    ------
    AssertionError
        With the problem and the promise that was broken.

    Examples
    --------
    >>> from mercer.solvers import ClosedForm
    >>> check_solver(ClosedForm())
    """
    if problem is not None:
        solver.check(problem)
        problems = [problem]
    else:
        problems = [p for p in _battery(seed) if _accepts(solver, p)]
        if not problems:
            raise AssertionError(
                f"{solver!r} accepts no problem of the battery; pass one: check_solver(solver, problem)."
            )
    for each in problems:
        _Checker(solver, each, tolerance).run()


def _accepts(solver: Solver, problem: DualProblem) -> bool:
    try:
        solver.check(problem)
    except MercerError:
        return False
    return True


def _battery(seed: int) -> list[DualProblem]:
    """Each loss with and without an intercept; weights and masks in turn."""
    rng = np.random.default_rng(seed)
    n, m = 6, 3
    measure = Measure(np.array([0.15, 0.5, 0.8]), np.array([0.3, 0.5, 0.4]))
    problems = []
    for index, loss in enumerate(_LOSSES):
        x = rng.uniform(size=n)
        left = np.exp(-3 * (x[:, None] - x) ** 2)
        right = np.exp(-2 * (measure.locations[:, None] - measure.locations) ** 2)
        Y = np.sin(4 * x)[:, None] + 0.5 * rng.normal(size=(n, m))
        if isinstance(loss, CostSensitiveHinge):
            Y = np.where(np.median(Y) < Y, 1.0, -1.0)
        for intercept in (False, True):
            masked = Y.copy()
            if (index + intercept) % 2:
                masked[0, 1] = masked[3, 2] = np.nan
            weight = rng.uniform(0.5, 2.0, n) if (index // 2 + intercept) % 2 else None
            gram = Kronecker(Dense(left), Dense(right))
            problems.append(DualProblem(gram, loss, masked, measure, 0.05, weight, intercept))
    return problems


class _Checker:
    """One solver on one problem."""

    def __init__(self, solver: Solver, problem: DualProblem, tolerance: float | None) -> None:
        self.solver, self.problem = solver, problem
        rounding = 1e3 * machine_epsilon(problem.Y)
        self.rounding = rounding
        self.tolerance = 10 * (solver.tol + rounding) if tolerance is None else tolerance

    def fail(self, what: str) -> None:
        problem = self.problem
        shown = f"{problem.loss!r}, fit_intercept={problem.fit_intercept}, shape={problem.shape}"
        raise AssertionError(f"{self.solver!r} on {shown}: {what}")

    def run(self) -> None:
        result = self.solver.solve(self.problem)
        self.check_feasible(result)
        if self.problem.trivial:
            if result.gap != 0 or not result.converged:
                self.fail("the intercept-only model fits perfectly, but the gap is not 0.")
            return
        self.check_certificate(result)
        self.check_history(result)
        self.check_warm_start(result)
        self.check_callback(result)
        self.check_interruption(result)
        self.check_limit()
        self.check_same("a row of weight 2 and that row twice", *self.duplicated())
        split = self.split()
        if _accepts(self.solver, split):  # one that asks for columns of one kernel does not take halves of a node
            self.check_same("a node and its two halves", self.problem, split)

    def check_feasible(self, result: SolverResult) -> None:
        """Finite conjugate, zero at masked entries, Σ_i s_i a_i = 0 with an intercept."""
        problem, A = self.problem, result.coef
        xp = namespace(A)
        if tuple(A.shape) != problem.shape or not bool(xp.all(xp.isfinite(A))):
            self.fail(f"coef must be a finite array of shape {problem.shape}.")
        if problem.loss.has_conjugate:
            conjugate = problem.loss.conjugate(problem.Y, A, problem.measure)
            if not bool(xp.all(xp.isfinite(conjugate))):
                self.fail("coef is outside the domain of the conjugate. Pass it through problem.feasible.")
        if bool(xp.any(problem.cut(A) != A)):
            self.fail("coef is not zero where nothing was observed. Pass it through problem.feasible.")
        if problem.fit_intercept and problem.loss.has_conjugate:
            null = xp.zeros_like(A) + problem.null_model[1][None, :]
            slope = problem.cut(problem.loss.gradient(problem.Y, null, problem.measure))
            size = max(float(xp.max(xp.abs(A))), float(xp.max(xp.abs(slope))))
            off = float(xp.max(xp.abs(problem.sample_weight @ A))) / problem.shape[0]
            if off > self.rounding * size:
                self.fail(f"Σ_i s_i a_i is {off / size:.1e} of coef, not 0. Pass it through problem.feasible.")

    def check_certificate(self, result: SolverResult) -> None:
        """What is reported is what ``problem.certificate`` says with the whole kernel."""
        if result.status not in ("converged", "max_iter", "stalled", "stopped"):
            self.fail(f"unknown status {result.status!r}.")
        if not (math.isfinite(result.gap) and result.gap >= 0 and result.relative_gap >= 0):
            self.fail(f"the gap is {result.gap!r}; it must be a number ≥ 0.")
        if result.converged != (result.relative_gap <= self.solver.tol):
            self.fail(f"status is {result.status!r} at a relative gap of {result.relative_gap:.1e}.")
        if result.converged != result.status.startswith("converged"):
            self.fail("converged and status disagree.")
        if not self.problem.loss.has_conjugate:
            return
        again = self.problem.certificate(result.coef, b=result.intercept)
        scale = max(abs(again.primal), 1e-300)
        for name, got, expected in (
            ("objective", result.objective, again.primal),
            ("gap", result.gap, again.gap),
            ("relative_gap", result.relative_gap * scale, again.relative_gap * scale),
        ):
            if abs(got - expected) > self.rounding * scale:
                self.fail(f"{name} is {got!r}, recomputed {expected!r}.")

    def check_history(self, result: SolverResult) -> None:
        """Iterations and seconds increase; the last gap is of the size of the reported one."""
        if not result.history:
            self.fail("history is empty. Call monitor.done at each look at the gap.")
        steps, gaps, seconds = zip(*result.history, strict=True)
        if any(b < a for a, b in pairwise(steps)) or min(gaps) < 0:
            self.fail("the iterations in history do not increase, or a gap is negative.")
        if any(b < a for a, b in pairwise(seconds)):
            self.fail("the seconds in history decrease.")
        if min(gaps) > 10 * max(result.relative_gap, self.solver.tol):
            self.fail(f"history ends at {gaps[-1]:.1e}, the gap is {result.relative_gap:.1e}.")

    def check_warm_start(self, result: SolverResult) -> None:
        """From the solution there is nothing left to do."""
        if not result.converged:
            return
        again = self.solver.solve(self.problem, init=result.coef)
        if not again.converged or again.n_iter > result.n_iter:
            self.fail(
                f"started from its solution it is {again.status!r} after {again.n_iter} iterations; "
                f"it had taken {result.n_iter}."
            )
        self.check_feasible(again)

    def check_callback(self, result: SolverResult) -> None:
        """It is called with a count and a certificate, and True stops the run."""
        seen: list[Any] = []

        def watch(n_iter, certificate):
            seen.append((n_iter, certificate))
            return True

        stopped = self.solver.solve(self.problem, callback=watch)
        if not seen:
            self.fail("the callback was not called. Call monitor.done at each look at the gap.")
        if not (isinstance(seen[0][0], int) and seen[0][1].gap >= 0):
            self.fail("the callback must be called as callback(n_iter, certificate).")
        if stopped.status not in ("stopped", "converged") or stopped.n_iter > result.n_iter:
            self.fail(f"the callback asked for a stop, but the status is {stopped.status!r}.")
        if stopped.status == "converged" and stopped.relative_gap > self.solver.tol:
            self.fail("stopped by the callback it claims to have converged.")
        self.check_feasible(stopped)

    def check_interruption(self, result: SolverResult) -> None:
        """Asked to stop from the beginning it returns a certified array all the same."""
        stopped = self.solver.solve(self.problem, interrupted=lambda: True)
        if stopped.status not in ("stopped", "converged") or stopped.n_iter > result.n_iter:
            self.fail(
                f"it was interrupted, but the status is {stopped.status!r} after {stopped.n_iter} iterations. Ask "
                "monitor.must_stop between steps."
            )
        self.check_feasible(stopped)
        self.check_certificate(stopped)

    def check_limit(self) -> None:
        """One iteration gives a certified answer all the same, and says what to do."""
        short = copy.copy(self.solver)
        short.max_iter = 1
        result = short.solve(self.problem)
        if result.status not in ("max_iter", "stalled", "converged"):
            self.fail(f"with max_iter=1 the status is {result.status!r}.")
        if not result.converged and not ("max_iter" in result.message or "tol" in result.message):
            self.fail(f"the message names no remedy: {result.message!r}.")
        self.check_feasible(result)
        self.check_certificate(result)

    def check_same(self, what: str, one: DualProblem, other: DualProblem) -> None:
        """Two forms of the same problem have the same objective."""
        first, second = self.solver.solve(one), self.solver.solve(other)
        scale = max(abs(first.objective), abs(second.objective), 1e-300)
        if abs(first.objective - second.objective) > self.tolerance * scale:
            self.fail(f"{what} differ: objectives {first.objective!r} and {second.objective!r}.")

    # -- other forms of the problem ----------------------------------------------------------------------------

    def duplicated(self) -> tuple[DualProblem, DualProblem]:
        """The first row with twice its weight, and the first row twice."""
        Y, weight = self.data()
        heavy = weight.copy()
        heavy[0] *= 2
        rows, nodes = np.concatenate([[0], np.arange(len(weight))]), np.arange(Y.shape[1])
        return (
            self.rebuild(rows[1:], nodes, Y, self.problem.measure, heavy),
            self.rebuild(rows, nodes, Y[rows], self.problem.measure, weight[rows]),
        )

    def split(self) -> DualProblem:
        """The last node as two of a third and two thirds of its weight."""
        Y, weight = self.data()
        measure = self.problem.measure
        points, node_weights = to_numpy(measure.points), to_numpy(measure.weights)
        nodes = np.concatenate([np.arange(len(measure)), [len(measure) - 1]])
        node_weights = node_weights[nodes].copy()
        node_weights[-2] /= 3
        node_weights[-1] *= 2 / 3
        finer = Measure(points[nodes], node_weights)
        return self.rebuild(np.arange(len(weight)), nodes, Y[:, nodes], finer, weight)

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """The targets with NaN for the mask, and the sample weights."""
        problem = self.problem
        Y = np.array(to_numpy(problem.Y))
        if problem.measure.observed is not None:
            Y[~to_numpy(problem.measure.observed)] = np.nan
        return Y, np.array(to_numpy(problem.sample_weight))

    def rebuild(self, rows: np.ndarray, nodes: np.ndarray, Y: Any, measure: Measure, weight: Any) -> DualProblem:
        """The problem on some rows and nodes, with repetitions."""
        problem, like = self.problem, self.problem.Y
        xp = namespace(like)
        gram = problem.gram.taken(*(xp.asarray(index, device=device(like)) for index in (rows, nodes)))
        plain = Measure(as_like(measure.points, like), as_like(measure.weights, like))
        return DualProblem(gram, problem.loss, as_like(Y, like), plain, problem.alpha, weight, problem.fit_intercept)
