"""L-BFGS in the primal: smooth losses, and losses that know no conjugate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from mercer._params import check_number
from mercer.backend import require_numpy
from mercer.problems import Certificate, DualProblem, PrimalProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.quadratic import RidgeStep
from mercer.solvers.reduction import thin_eigen

__all__ = ["LBFGS"]


@dataclass(eq=False, repr=False)
class LBFGS(Solver):
    """Minimise the primal over h = ΦBΨᵀ with SciPy's L-BFGS-B, Φ and Ψ factors of the two Gram matrices.

    The papers' way, in coordinates where ‖B‖ = ‖h‖. It needs the value and the gradient of the loss only, so
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
        require_numpy(self, "Use ProximalGradient.", problem.Y)
        if not problem.loss.smooth:
            raise self.refuse(
                f"{problem.loss!r} is not",
                "Use ADMM (a loss of your own then needs conjugate and conjugate_prox), or a smoothed loss such as "
                "MoreauPinball(kappa=1e-2).",
            )

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        eigen = thin_eigen(problem, 1e-2 * self.tol)
        ridge = RidgeStep(problem, eigen)
        primal = PrimalProblem(
            problem,
            ridge.left_out * np.sqrt(eigen.left.values),
            ridge.right_out * np.sqrt(eigen.right.values),
        )
        r, q = primal.shape
        m = problem.shape[1] if problem.fit_intercept else 0
        start = np.zeros(r * q + m, dtype=problem.Y.dtype)
        if init is not None:
            start[: r * q] = (np.sqrt(problem.scale * ridge.spectrum) * ridge.analyse(init)).ravel()
        if m:
            start[r * q :] = problem.null_model[1] if init is None else problem.intercept(problem.predict(init), init)

        def split(x):
            b = x[r * q :] if m else np.zeros(problem.shape[1], dtype=x.dtype)
            return x[: r * q].reshape(r, q), b

        def objective(x):
            value, gradient, slope = primal.value_and_gradient(*split(x))
            return value, np.concatenate([gradient.ravel(), slope]) if m else gradient.ravel()

        best: list[Any] = [None, None]

        def look(x):
            certificate, A = self._certificate(problem, primal, split(x)[0])
            if best[0] is None or certificate.relative_gap < best[0].relative_gap:
                best[:] = [certificate, A]
            return certificate

        count = 0

        def callback(intermediate_result):
            nonlocal count
            count += 1
            if count % self.check_every == 0 and monitor.done(count, look(intermediate_result.x)):
                raise StopIteration

        options = {
            "maxcor": self.memory,
            "maxiter": self.max_iter,
            "maxfun": 10 * self.max_iter,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        last = minimize(objective, start, jac=True, method="L-BFGS-B", callback=callback, options=options)
        monitor.done(max(count, 1), look(last.x))
        status = "max_iter" if count >= self.max_iter else "stalled"
        return monitor.result(best[1], best[0], max(count, 1), "stopped" if monitor.stopped else status)

    @staticmethod
    def _certificate(problem: DualProblem, primal: PrimalProblem, B: Any) -> tuple[Certificate, Any]:
        certificate, A = primal.certificate(B)
        A = A.astype(problem.Y.dtype, copy=False)  # SciPy works in double precision
        if not problem.loss.has_conjugate:
            return certificate, A
        A = problem.feasible(A)
        return problem.certificate(A), A
