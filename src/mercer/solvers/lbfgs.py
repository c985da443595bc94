"""L-BFGS in the primal: smooth losses, and losses that know no conjugate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.linalg import Spectral
from mercer.problems import Certificate, DualProblem, PrimalProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.reduction import prepared
from mercer.solvers.stagnation import Stagnation

__all__ = ["LBFGS"]

#: iterations in which the best gap has to halve: below, rounding or the curvature of the loss stops the descent
STEPS_TO_GIVE_UP = 1000
#: part of the kernel that is left out, in units of tol
LEFT_OUT_SHARE = 1e-2


@dataclass(eq=False, repr=False)
class LBFGS(Solver):
    """Minimise the primal over the coordinates of h in an eigenbasis with SciPy's L-BFGS-B.

    The papers' way, in coordinates B where ‖B‖ = ‖h‖. It needs the value and the gradient of the loss only, so
    that it is the way for a smooth loss of one's own; :class:`ADMM` is faster for the losses of mercer.

    Parameters
    ----------
    tol : float, default=1e-4
        Bound on the relative duality gap.
    max_iter : int, default=5000
        Limit on the number of iterations.
    memory : int, default=20
        Number of past steps that shape the next one.
    check_every : int, default=10
        Iterations between two looks at the gap.
    """

    tol: float = 1e-4
    max_iter: int = 5000
    memory: int = 20
    check_every: int = 10

    requires = "a smooth loss and NumPy arrays"

    def _check(self) -> None:
        super()._check()
        for name in ("memory", "check_every"):
            check_number(self, name, getattr(self, name), low=1, strict=False, integer=True)

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        self.require_plain_intercept(problem)
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if not problem.loss.smooth:
            raise self.refuse(
                f"{problem.loss.named!r} is not",
                "Use ADMM (a loss of your own then needs conjugate and conjugate_prox), or a smoothed loss such as "
                "MoreauPinball(kappa=1e-2).",
            )

    def prepare(self, problem: DualProblem) -> DualProblem:
        return prepared(problem, LEFT_OUT_SHARE * self.tol)

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        problem = self.prepare(problem)
        run = _Run(
            problem, problem.gram.spectral(problem.tolerance(LEFT_OUT_SHARE * self.tol)), monitor, self.check_every
        )
        options = {"maxcor": self.memory, "maxiter": self.max_iter, "maxfun": 10 * self.max_iter, "ftol": 0, "gtol": 0}
        last = minimize(
            run.objective, run.start(init), jac=True, method="L-BFGS-B", callback=run.after_step, options=options
        )
        n_iter = max(run.count, 1)
        monitor.done(n_iter, run.look(last.x))
        status = "max_iter" if run.count >= self.max_iter else "stalled"
        return monitor.result(run.A, run.certificate, n_iter, "stopped" if monitor.stopped else status)


class _Run:
    """One minimisation: coordinates and intercept as the flat vector that SciPy moves, and the best point so far."""

    def __init__(self, problem: DualProblem, spectral: Spectral, monitor: Monitor, check_every: int) -> None:
        self.problem, self.primal = problem, PrimalProblem(problem, spectral)
        self.monitor, self.check_every, self.count = monitor, check_every, 0
        self.A: Any = None
        self.certificate: Any = None
        self.crawls = Stagnation(STEPS_TO_GIVE_UP)

    def start(self, init: Any) -> np.ndarray:
        """The coordinates of a dual array, zeros without one, and the intercept."""
        problem = self.problem
        B = np.zeros(self.primal.shape) if init is None else self.primal.coordinates(init)
        if not problem.fit_intercept:
            return B.ravel()
        b = problem.null_model[1] if init is None else problem.best_intercept(problem.predict(init), init)
        return np.concatenate([B.ravel(), b])

    def split(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = math.prod(self.primal.shape)
        b = x[size:] if self.problem.fit_intercept else np.zeros(self.problem.shape[1], dtype=x.dtype)
        return x[:size].reshape(self.primal.shape), b

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient, slope = self.primal.value_and_gradient(*self.split(x))
        return value, np.concatenate([gradient.ravel(), slope]) if self.problem.fit_intercept else gradient.ravel()

    def look(self, x: np.ndarray) -> Certificate:
        """Return the certificate at x, and keep the best one."""
        certificate, A = self.primal.certificate(self.split(x)[0])
        A = A.astype(self.problem.Y.dtype, copy=False)  # SciPy works in double precision
        if self.problem.loss.has_conjugate:
            A = self.problem.feasible(A)
            certificate = self.problem.certificate(A)
        if self.certificate is None or certificate.visible_gap < self.certificate.visible_gap:
            self.A, self.certificate = A, certificate
        return certificate

    def after_step(self, intermediate_result: Any) -> None:
        self.count += 1
        if self.count % self.check_every and not self.monitor.must_stop():
            return
        certificate = self.look(intermediate_result.x)
        if self.monitor.done(self.count, certificate) or self.crawls(self.count, certificate.visible_gap):
            raise StopIteration
