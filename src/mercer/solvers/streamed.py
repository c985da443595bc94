"""The contract of solvers that stream: a feature problem in, a certified model out."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.exceptions import DataError, RowsLostError
from mercer.problems import Certificate, FeatureProblem, FeatureView
from mercer.problems.block_work import Dual
from mercer.solvers.base import Callback, Interrupted, Monitor, Solver, SolverResult

__all__ = ["Looks", "StreamedResult", "StreamedSolver"]


@dataclass(frozen=True, eq=False)
class StreamedResult(SolverResult):
    """What a solver that streams returns: a :class:`SolverResult` whose model is in features.

    Attributes
    ----------
    coef : array of shape (D, q)
        C of h(x) = φ(x) C Rᵀ.
    intercept : array of shape (m,)
        b at the nodes (zeros without an intercept).
    states : list
        The feasible dual array that certifies it, in blocks, to start from again.
    """

    states: list = field(default_factory=list)


class StreamedSolver(Solver):
    """An algorithm for :class:`~mercer.problems.FeatureProblem`: work on blocks of rows, sums of small arrays.

    ``memory`` says how many bytes of features may be kept between passes: None for what the budget has, 0 for none.
    """

    memory: int | None

    def solve(  # type: ignore[override]  # the problems are of another kind
        self,
        problem: FeatureProblem,
        init: Any = None,
        callback: Callback | None = None,
        interrupted: Interrupted | None = None,
    ) -> StreamedResult:
        """Solve to a relative gap of ``tol``.

        Parameters
        ----------
        problem : FeatureProblem
            What to solve.
        init : (coef, intercept), optional
            A model to start from, such as that of another λ or of a part of the rows.
        callback : callable, optional
            Called as ``callback(n_iter, certificate)`` at each look at the gap; returning True stops.
        interrupted : callable, optional
            Asked between steps; once it returns True, the solver looks at the gap and stops.

        Notes
        -----
        Where rows are lost in mid-fit (:class:`~mercer.exceptions.RowsLostError`), the best model that was looked at is
        returned, with a warning and the status "stopped".
        """
        self.check(problem)
        shape = problem.coef_shape
        if init is not None and np.shape(init[0]) != shape:
            raise DataError(f"{type(self).__name__}: init must be (C, b) with C of shape {shape}.")
        monitor = Monitor(self, callback, interrupted)
        if problem.trivial:
            looks, zeros = Looks(self, problem, monitor), np.zeros(problem.shape[1])
            states, _ = problem.blocks.map(_Zeros(problem.shape[1]), features=False)
            b = problem.null_model[1] if problem.fit_intercept else zeros
            looks.keep(FeatureView(Certificate(0.0, 0.0, 0.0, b), np.zeros(shape), b, problem.feasible(states)))
            return looks.result(0)
        looks = Looks(self, problem, monitor)
        try:
            looks.problem = problem = problem.stored(self.memory)
            return self._stream(problem, init, looks)
        except RowsLostError as error:
            if looks.best is None:
                raise
            warnings.warn(f"{type(self).__name__}: {error} The best model so far is kept.", stacklevel=2)
            return looks.result(monitor.history[-1][0], "stopped")

    def check(self, problem: Any) -> None:
        """Refuse a problem that the algorithm does not solve, with one that does."""
        if not isinstance(problem, FeatureProblem):
            raise self.refuse(
                f"got {type(problem).__name__}", "For a DualProblem use ADMM or another solver in memory."
            )

    def _solve(self, problem: Any, init: Any, monitor: Monitor) -> SolverResult:
        raise NotImplementedError  # solve is our own

    @abstractmethod
    def _stream(self, problem: FeatureProblem, init: Any, looks: Looks) -> StreamedResult:
        """Run the algorithm on a problem that has been checked and is not trivial."""


class Looks:
    """Looks at the gap for a solver that streams, and keeps the best model and the best bound.

    Any model and any feasible dual array bound each other, so that the best of both make a certificate.
    """

    def __init__(self, solver: StreamedSolver, problem: FeatureProblem, monitor: Monitor) -> None:
        self.solver, self.problem, self.monitor = solver, problem, monitor
        self.best: FeatureView | None = None
        self.gap = math.inf

    def keep(self, view: FeatureView) -> None:
        """Keep a view where its gap is the smallest so far."""
        gap = view.certificate.visible_gap
        if self.best is None or gap < self.gap:
            self.best, self.gap = view, gap

    def done(self, states: list, coef: Any, b: Any, n_iter: int) -> bool:
        """Look at the gap of an array, made feasible, and of the models h_A and C; return whether to stop."""
        view = self.problem.view(self.problem.feasible(states), coef, b, accuracy=self.accuracy)
        self.keep(view)
        enough = self.monitor.done(n_iter, view.certificate)
        return enough or n_iter >= self.solver.max_iter

    @property
    def accuracy(self) -> float:
        """How far above its minimum an intercept may leave the objective."""
        return (
            0.02 * self.solver.tol * abs(self.problem.null_model[0])
            if self.best is None
            else (0.05 * self.solver.tol * abs(self.best.certificate.dual))
        )

    def result(self, n_iter: int, status: str | None = None) -> StreamedResult:
        """Return the best model."""
        assert self.best is not None  # a solver has looked at least once
        certificate, coef, b, states = self.best
        short = self.monitor.result(None, certificate, n_iter, status)
        return StreamedResult(**(vars(short) | {"coef": coef, "intercept": b, "states": states}))


@dataclass(frozen=True)
class _Zeros:
    """Dual variables that are all 0."""

    n_columns: int

    def __call__(self, block: Any, state: Any) -> tuple[Dual, tuple]:
        return Dual(np.zeros((len(block.Y), self.n_columns))), ()
