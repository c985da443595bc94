"""The square loss: two eigendecompositions (every λ almost free), one Cholesky, or conjugate gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mercer.backend import namespace
from mercer.linalg import Dense, conjugate_gradient, solve
from mercer.losses.square import Square
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.quadratic import RidgeStep
from mercer.solvers.reduction import thin_eigen

__all__ = ["ClosedForm"]


@dataclass(eq=False, repr=False)
class ClosedForm(Solver):
    """Solve (I + 𝐊/(λn)) A = Y − b in closed form, for the square loss.

    On a complete grid: eigendecompositions of both Gram matrices, after which each further λ costs two thin products
    (:meth:`path`); a Cholesky factorisation where the output kernel has one eigenvalue only. With missing entries:
    conjugate gradients in the eigen-coordinates, preconditioned by the spectrum.

    Parameters
    ----------
    tol : float, default=1e-8
        Bound on the relative duality gap (checked, and reached by construction on a complete grid).
    max_iter : int, default=1000
        Conjugate-gradient steps, with missing entries.
    """

    tol: float = 1e-8
    max_iter: int = 1000

    requires = "the square loss"

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        if not isinstance(problem.loss, Square):
            raise self.refuse(f"the loss is {problem.loss!r}", "Use ADMM or solver='auto'.")

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        n_iter = 1
        if problem.measure.observed is not None:
            A, n_iter = self._masked(problem)
        elif self._one_eigenvalue(problem):
            A = self._cholesky(problem)
        else:
            A = RidgeStep(problem, thin_eigen(problem, 0.0))(problem.Y)
        A = problem.feasible(A)
        certificate = problem.certificate(A)
        monitor.done(n_iter, certificate)
        return monitor.result(A, certificate, n_iter, None if n_iter >= self.max_iter else "stalled")

    def path(self, problem: DualProblem, alphas: Sequence[float]) -> Iterator[SolverResult]:
        """Yield the results for several values of λ; ``problem.alpha`` itself is not used."""
        self.check(problem)
        complete = problem.measure.observed is None
        eigen = thin_eigen(problem, 0.0) if complete else None
        for alpha in alphas:
            at_alpha = problem.with_alpha(alpha)
            if eigen is None or problem.trivial:
                yield self.solve(at_alpha)
                continue
            A = at_alpha.feasible(RidgeStep(at_alpha, eigen)(problem.Y))
            certificate = at_alpha.certificate(A)
            yield Monitor(self, None).result(A, certificate, 1, "stalled")

    @staticmethod
    def _one_eigenvalue(problem: DualProblem) -> bool:
        """Whether the whitened output Gram is a multiple of the identity, so that one factorisation is enough."""
        right = problem.gram.right
        if right.shape[0] == 1:
            return True
        if not isinstance(right, Dense):
            return False
        xp = namespace(right.matrix)
        diagonal = xp.linalg.diagonal(right.matrix)
        spread = float(xp.max(diagonal) - xp.min(diagonal))
        off = float(xp.max(xp.abs(right.matrix))) if right.shape[0] else 0.0
        rest = float(xp.sum(xp.abs(right.matrix))) - float(xp.sum(xp.abs(diagonal)))
        return max(spread, rest) <= 1e-14 * off

    @staticmethod
    def _cholesky(problem: DualProblem) -> Any:
        """(𝐊/(λn) + I)⁻¹ of the targets and, for the intercept, of ones."""
        xp = namespace(problem.Y)
        value = float(problem.gram.right.diagonal()[0])
        gram, Y = problem.gram, problem.Y
        if value <= 0:
            return Y - problem.intercept(xp.zeros_like(Y))[None, :]
        shift = 1 / (problem.scale * value)
        targets = gram.whiten(Y)
        if not problem.fit_intercept:
            return gram.unwhiten(shift * solve(gram.left, shift, targets))
        root = xp.ones_like(Y[:, 0]) if gram.left_root is None else gram.left_root
        solved = shift * solve(gram.left, shift, xp.concat([targets, root[:, None]], axis=1))
        answers, ones = solved[:, :-1], solved[:, -1]
        nu = (root @ answers) / (root @ ones)
        return gram.unwhiten(answers - ones[:, None] * nu[None, :])

    def _masked(self, problem: DualProblem) -> tuple[Any, int]:
        """Solve (I + D^½GᵀMGD^½)b = D^½GᵀMY, with M the mask (centred at each node with an intercept)."""
        xp = namespace(problem.Y)
        observed = xp.astype(problem.measure.observed, problem.Y.dtype)
        weight = observed * problem.sample_weight[:, None]
        column = xp.sum(weight, axis=0)
        column = xp.where(column > 0, column, xp.ones_like(column))
        step = RidgeStep(problem, thin_eigen(problem, 0.0))
        root = xp.sqrt(step.spectrum)

        def cut(array):
            if problem.fit_intercept:
                array = array - (xp.sum(weight * array, axis=0) / column)[None, :]
            return observed * array

        share = float(xp.mean(observed))
        b, n_iter, _ = conjugate_gradient(
            lambda b: b + root * step.analyse(cut(step.synthesise(root * b))),
            root * step.analyse(cut(problem.Y)),
            precondition=lambda b: b / (1 + share * step.spectrum),
            tolerance=1e-12,
            max_iter=self.max_iter,
        )
        return cut(problem.Y - step.synthesise(root * b)), n_iter
