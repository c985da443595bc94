"""Accelerated proximal gradient with adaptive restart: every loss, every array library."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mercer._params import check_number
from mercer.backend import namespace
from mercer.linalg import memory_budget
from mercer.losses.observed import node_mean
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.stagnation import Stagnation

__all__ = ["ProximalGradient"]

#: bytes up to which the Gram matrix is stored rather than recomputed at each product
STORED_GRAM_LIMIT = 2**32
#: steps, or as many as there were before, in which the gap has to halve
STEPS_TO_HALVE = 1000


@dataclass(eq=False, repr=False)
class ProximalGradient(Solver):
    """A ← prox(Z − γ h_Z), γ = λn/‖𝐊‖, with Nesterov's momentum, restarted when it points uphill.

    The simplest solver, with one product by 𝐊 a step, and the only iterative one for arrays that are not
    NumPy's. On NumPy :class:`ADMM` needs fewer steps (Beck and Teboulle, 2009; O'Donoghue and Candès, 2015).

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=10000
        Limit on the number of steps.
    check_every : int, default=10
        Steps between two looks at the gap. Without an intercept, where a look costs no product, the first steps have
        one each; with one, where a look has to find the best intercept, the wait grows to 5 % of the steps so far.
    """

    tol: float = 1e-4
    max_iter: int = 10_000
    check_every: int = 10

    requires = "a loss with a conjugate prox"

    def _check(self) -> None:
        super()._check()
        check_number(self, "check_every", self.check_every, low=1, strict=False, integer=True)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        self.require_plain_intercept(problem)
        if not problem.loss.has_conjugate:
            raise self.refuse(
                f"{problem.loss.named!r} defines none",
                "Use LBFGS if it is smooth, or give it conjugate and conjugate_prox.",
            )

    def prepare(self, problem: DualProblem) -> DualProblem:
        limit = min(STORED_GRAM_LIMIT, memory_budget())
        return problem.with_gram(problem.gram.stored(limit))  # products are several times faster

    @staticmethod
    def _start(problem: DualProblem) -> Any:
        """Return the dual array of h = 0 for smooth losses, near the optimum where λ is large, and zeros for others."""
        zero = namespace(problem.Y).zeros_like(problem.Y)
        if not problem.loss.smooth or problem.fit_intercept:
            return zero
        return -problem.loss.gradient(problem.Y, zero, problem.measure)

    def _wait(self, n_iter: int, fit_intercept: bool) -> int:
        """Return the number of steps to the next look at the gap."""
        if fit_intercept:
            return max(self.check_every, n_iter // 20)
        return 1 if n_iter < self.check_every else self.check_every

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        xp = namespace(problem.Y)
        problem = self.prepare(problem)
        norm = problem.scale * problem.gram.norm2()
        step = 1 / norm if norm > 0 else 1.0
        A = problem.feasible(self._start(problem) if init is None else init)
        H = problem.predict(A) if bool(xp.any(A != 0)) else A
        b = node_mean(problem.Y - H, problem.sample_weight, problem.measure) if problem.fit_intercept else None
        Z, HZ, momentum = A, H, 1.0
        crawls, best = Stagnation(STEPS_TO_HALVE, share=1.0), None
        following = self.check_every if problem.fit_intercept else 1
        for n_iter in range(1, self.max_iter + 1):
            if b is None:
                new = problem.conjugate_prox(Z - step * HZ, step)
            else:
                new, b = problem.prox_and_intercept(Z - step * HZ, step, b)
            H_new = problem.predict(new)
            if problem.inner(Z - new, new - A) > 0:
                momentum = 1.0
            grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            beyond = (momentum - 1) / grown
            Z, HZ = new + beyond * (new - A), H_new + beyond * (H_new - H)  # predictions are linear
            A, H, momentum = new, H_new, grown
            if n_iter >= min(following, self.max_iter) or monitor.must_stop():
                following = n_iter + self._wait(n_iter, problem.fit_intercept)
                feasible = problem.feasible(A) if problem.fit_intercept else A
                known = H if b is None else None
                certificate = problem.certificate(feasible, known, b if problem.dear_intercept else None)
                if best is None or certificate.visible_gap <= best[1].visible_gap:
                    best = feasible, certificate
                if monitor.done(n_iter, certificate) or crawls(n_iter, certificate.visible_gap):
                    break
        assert best is not None  # the last step has a look
        exact = best[1] if problem.fit_intercept else problem.certificate(best[0])
        if problem.dear_intercept and exact.relative_gap > self.tol:  # the best one may be better
            exact = min(exact, problem.certificate(best[0]), key=lambda certificate: certificate.visible_gap)
        return monitor.result(best[0], exact, n_iter, None if n_iter >= self.max_iter else "stalled")
