"""The contract of a solver: a problem in, a certified dual array out."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mercer._params import Params, check_number
from mercer.backend import machine_epsilon
from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.problems import Certificate, DualProblem

__all__ = ["Monitor", "Solver", "SolverResult", "smallest_tol"]

#: the least relative gap that rounding leaves in single precision
SINGLE_PRECISION_TOL = 1e-5
#: called as callback(n_iter, certificate); returning True stops the solver
Callback = Callable[[int, Certificate], Any]
#: asked between steps; once it returns True, the solver looks at the gap and stops
Interrupted = Callable[[], bool]


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a solver returns: a feasible dual array and its certificate.

    Attributes
    ----------
    coef : array of shape (n, m)
        Dual array A.
    intercept : array of shape (m,)
        b at the nodes (zeros without an intercept).
    status : {"converged", "max_iter", "stalled", "stopped", "anchors"}
        Why it stopped; "stopped" means that the callback or an interruption asked for it, "anchors" that constraints
        at more points would be needed to know the optimum of a guarantee better.
    n_iter : int
        Number of iterations.
    gap, relative_gap, objective : float
        The certificate, with the exact kernel and with what rounding may have done to it.
    solver : Solver
        Who solved it.
    doubt : float
        What rounding may have changed in the objective.
    prediction : array of shape (n, m) or None
        h_A at the data, without the intercept, as the certificate has it; None where nothing had to be solved.
    history : list of (n_iter, relative_gap, seconds)
        The gaps seen on the way.
    """

    coef: Any
    intercept: Any
    status: str
    n_iter: int
    gap: float
    relative_gap: float
    objective: float
    solver: Any
    doubt: float = 0.0
    prediction: Any = None
    history: list[tuple[int, float, float]] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        """Whether the relative gap is within the tolerance."""
        return self.status == "converged"

    @property
    def message(self) -> str:
        """One sentence on how it ended, with a remedy where it did not converge."""
        name = type(self.solver).__name__
        start = f"{name}: relative duality gap {self.relative_gap:.2g} after {self.n_iter} iterations"
        if self.converged:
            return f"{start}, within tol = {self.solver.tol:g}."
        remedy = {
            "max_iter": "Increase max_iter or alpha, or accept this accuracy with a larger tol.",
            "stalled": "Rounding, or steps that crawl, limit what can be certified: use a larger alpha or tol, data in "
            "units in which they are of the same size, or float64 for float32 data.",
            "stopped": "An interruption or a callback stopped it; this is the best array so far, to start from again.",
            "anchors": "Monotone it is everywhere; increase alpha, or accept this gap with a larger tol.",
        }[self.status]
        return f"{start}, tol = {self.solver.tol:g} was not reached. {remedy}"


class Solver(Params, ABC):
    """An algorithm for :class:`~mercer.problems.DualProblem`.

    Parameters common to all: ``tol``, the bound on the relative duality gap, and ``max_iter``.
    """

    tol: float
    max_iter: int

    #: what :meth:`check` asks of a problem, in words; shown in documentation and errors
    requires: str = ""

    def _check(self) -> None:
        check_number(self, "tol", self.tol, low=0)
        check_number(self, "max_iter", self.max_iter, low=1, strict=False, integer=True)

    def check(self, problem: DualProblem) -> None:
        """Refuse a problem that the algorithm does not solve, with one that does."""
        if self.tol < smallest_tol(problem):
            raise parameter_error(
                self,
                "tol",
                self.tol,
                "at least 1e-5 for float32 data",
                "Pass float64 data for a smaller gap.",
            )

    def prepare(self, problem: DualProblem) -> DualProblem:
        """Return the problem with what the algorithm computes of its Gram operator once, whatever larger λ or loss.

        ``solve`` does so itself; paths in λ or in a parameter of the loss do it once for all their problems.
        """
        return problem

    def afford(self, problem: DualProblem) -> None:
        """Refuse at once a problem that clearly does not fit into the memory budget, as λ or larger ones have it.

        It costs next to nothing; ``solve`` finds out the rest by trying.
        """

    def require_plain_intercept(self, problem: DualProblem) -> None:
        """Refuse slopes and intercepts other than those that are free at each node, for :meth:`check` to call."""
        if problem.has_slopes or (problem.intercept is not None and not problem.intercept.plain):
            what = (
                "slopes that must not be negative" if problem.has_slopes else "an intercept with a design or a target"
            )
            raise self.refuse(f"this problem has {what}", "Use ADMM.")

    def refuse(self, reason: str, remedy: str) -> UnsupportedError:
        """Return the error for a problem outside :attr:`requires`."""
        return UnsupportedError(f"{type(self).__name__} requires {self.requires}; {reason}. {remedy}")

    def solve(
        self,
        problem: DualProblem,
        init: Any = None,
        callback: Callback | None = None,
        interrupted: Interrupted | None = None,
    ) -> SolverResult:
        """Solve to a relative gap of ``tol``.

        Parameters
        ----------
        problem : DualProblem
            What to solve.
        init : array of shape (n, m), optional
            A dual array to start from; it need not be feasible.
        callback : callable, optional
            Called as ``callback(n_iter, certificate)`` at each look at the gap; returning True stops.
        interrupted : callable, optional
            Asked without arguments between steps, which looks may be far apart from; once it returns True, the solver
            looks at the gap and stops, with the best array so far.
        """
        self.check(problem)
        if init is not None and tuple(getattr(init, "shape", ())) != problem.shape:
            raise parameter_error(self, "init", init, f"an array of shape {problem.shape}")
        monitor = Monitor(self, callback, interrupted)
        if problem.trivial:
            A, b = problem.feasible(problem.null_array), problem.null_model[1]
            b = b if problem.intercept is None else problem.intercept.tidied(b)
            return monitor.result(A, Certificate(0.0, 0.0, 0.0, b), 0)
        if init is not None and problem.loss.has_conjugate:
            init = problem.feasible(init)
            certificate = problem.certificate(init)
            if certificate.relative_gap <= self.tol:  # nothing left to do
                monitor.done(0, certificate)
                return monitor.result(init, certificate, 0)
            return monitor.better(self._solve(problem, init, monitor), init, certificate)
        return self._solve(problem, init, monitor)

    @abstractmethod
    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        """Run the algorithm on a problem that has been checked and is not trivial."""


def smallest_tol(problem: DualProblem) -> float:
    """Return the least relative gap that may be asked for: 1e-5 in single precision, any in double."""
    return SINGLE_PRECISION_TOL if machine_epsilon(problem.Y) > 1e-10 else 0.0


class Monitor:
    """Looks at certificates for a solver: keeps the history, knows when to stop, makes the result."""

    def __init__(self, solver: Solver, callback: Callback | None, interrupted: Interrupted | None = None) -> None:
        self.solver = solver
        self.callback = callback
        self.interrupted = interrupted
        self.history: list[tuple[int, float, float]] = []
        self.stopped = False
        self.start = time.perf_counter()

    def done(self, n_iter: int, certificate: Certificate, share: float = 1.0) -> bool:
        """Record a certificate and say whether to stop; ``share`` < 1 asks for a smaller gap."""
        gap = certificate.relative_gap
        if math.isnan(gap):
            raise DataError(
                f"{type(self.solver).__name__} met NaN in the objective at iteration {n_iter}. "
                "Check the scale of the data and that the loss is finite on them."
            )
        self.history.append((n_iter, gap, time.perf_counter() - self.start))
        if self.callback is not None and self.callback(n_iter, certificate):
            self.stopped = True
        return self.must_stop() or certificate.visible_gap <= share * self.solver.tol

    def must_stop(self) -> bool:
        """Say whether somebody asked for a stop; solvers ask between steps, then look at the gap and return."""
        if not self.stopped and self.interrupted is not None and self.interrupted():
            self.stopped = True
        return self.stopped

    def better(self, result: SolverResult, A: Any, certificate: Certificate) -> SolverResult:
        """Return a result, or the array A where a stop came before anything better than it was found."""
        if not self.stopped or result.gap <= certificate.gap:
            return result
        return self.result(A, certificate, result.n_iter)

    def result(self, A: Any, certificate: Certificate, n_iter: int, status: str | None = None) -> SolverResult:
        """Return the result for a feasible A and its exact certificate."""
        gap = certificate.relative_gap
        if gap <= self.solver.tol:
            status = "converged"
        elif self.stopped:
            status = "stopped"
        elif status is None:
            status = "stalled" if certificate.visible_gap <= self.solver.tol else "max_iter"
        return SolverResult(
            coef=A,
            intercept=certificate.intercept,
            status=status,
            n_iter=n_iter,
            gap=certificate.gap,
            relative_gap=gap,
            objective=certificate.primal,
            doubt=certificate.doubt,
            solver=self.solver,
            prediction=certificate.prediction,
            history=self.history,
        )
