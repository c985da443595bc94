"""The square loss: two eigendecompositions (every λ almost free), one Cholesky, or conjugate gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import namespace
from mercer.linalg import Dense, LinearOperator, PairGram, solve
from mercer.linalg.operators import DENSE_LIMIT
from mercer.losses.square import Square
from mercer.problems import DualProblem
from mercer.solvers.base import Monitor, Solver, SolverResult
from mercer.solvers.features import distinct
from mercer.solvers.observed import solve_observed
from mercer.solvers.quadratic import RidgeStep
from mercer.solvers.reduction import thin_eigen

__all__ = ["ClosedForm"]

#: conjugate gradients go on to this gap whatever tol is: digits are cheap, and errors are about the root of the gap
CHEAP_GAP = 1e-8
#: observations at points of their own up to which a dense factorisation is taken
FEW_PAIRS = 2000
#: distinct eigenvalues of an output matrix up to which a factorisation each is cheaper than one eigendecomposition
FEW_EIGENVALUES = 10


@dataclass(eq=False, repr=False)
class ClosedForm(Solver):
    """Solve (I + 𝐊/(λn)) A = Y − b in closed form, for the square loss.

    On a complete grid: eigendecompositions of both Gram matrices, after which each further λ costs two thin products
    (:meth:`path`); a Cholesky factorisation where the output kernel has one eigenvalue only. With missing entries:
    conjugate gradients in the eigen-coordinates, preconditioned by the spectrum and, where this is slow, by an exact
    block of the leading coordinates. With curves at points of their own (:class:`~mercer.linalg.PairGram`): a dense
    factorisation up to 2 000 observations, conjugate gradients beyond.

    Parameters
    ----------
    tol : float, default=1e-8
        Bound on the relative duality gap (checked, and reached by construction on a complete grid).
    max_iter : int, default=1000
        Conjugate-gradient steps, with missing entries or many points.
    """

    tol: float = 1e-8
    max_iter: int = 1000

    requires = "the square loss"

    def check(self, problem: DualProblem) -> None:
        super().check(problem)
        if not isinstance(problem.loss, Square):
            raise self.refuse(f"the loss is {problem.loss!r}", "Use ADMM or solver='auto'.")

    def _solve(self, problem: DualProblem, init: Any, monitor: Monitor) -> SolverResult:
        if _iterative(problem):
            A, n_iter, certificate = solve_observed(problem, min(self.tol, CHEAP_GAP), self.max_iter, init)
        else:
            A, n_iter = problem.feasible(self._direct(problem)), 1
            certificate = problem.certificate(A)
        monitor.done(n_iter, certificate)
        return monitor.result(A, certificate, n_iter, None if n_iter >= self.max_iter else "stalled")

    @staticmethod
    def _direct(problem: DualProblem) -> Any:
        groups = _decoupled(problem)
        if groups is None:
            return RidgeStep(problem, thin_eigen(problem, 0.0))(problem.Y)
        return _cholesky(problem, groups)

    def path(self, problem: DualProblem, alphas: Sequence[float]) -> Iterator[SolverResult]:
        """Yield the results for several values of λ; ``problem.alpha`` itself is not used.

        The eigenbases leave out what is far below ``tol`` at the smallest λ.
        """
        self.check(problem)
        eigen = None
        if not _iterative(problem):
            eigen = thin_eigen(problem.with_alpha(min(alphas)), 1e-2 * self.tol)
        for alpha in alphas:
            at_alpha = problem.with_alpha(alpha)
            if eigen is None or problem.trivial:
                yield self.solve(at_alpha)
                continue
            A = at_alpha.feasible(RidgeStep(at_alpha, eigen)(problem.Y))
            certificate = at_alpha.certificate(A)
            yield Monitor(self, None).result(A, certificate, 1, "stalled")


def _iterative(problem: DualProblem) -> bool:
    """Whether entries are missing, or there are too many observations at points of their own for a dense system."""
    left = problem.gram.left
    if problem.measure.observed is not None:
        return True
    if not isinstance(left, PairGram) or left.shape[0] <= FEW_PAIRS:
        return False
    return left.thin or 8 * left.shape[0] ** 2 > DENSE_LIMIT


def _decoupled(problem: DualProblem) -> list[tuple[float, Any]] | None:
    """Return the distinct eigenvalues of the whitened output Gram and bases of their eigenspaces, if they are few.

    None stands for the identity, where there is one eigenvalue only. Pairs take a factorisation for each of a few
    eigenvalues, grids one at most: there the two eigendecompositions are small.
    """
    right = problem.gram.right
    if _one_eigenvalue(right):
        return [(float(right.diagonal()[0]), None)]
    if not isinstance(problem.gram.left, PairGram):
        return None
    values, vectors = np.linalg.eigh(right.to_dense())
    groups = distinct(np.maximum(values, 0))
    if len(groups) > FEW_EIGENVALUES:
        return None
    return [(max(float(values[index[0]]), 0.0), vectors[:, index]) for index in groups]


def _one_eigenvalue(right: LinearOperator) -> bool:
    """Whether the whitened output Gram is a multiple of the identity, so that one factorisation is enough."""
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


def _cholesky(problem: DualProblem, groups: list[tuple[float, Any]]) -> Any:
    """(𝐊/(λn) + I)⁻¹ of the targets and, for the intercept, of ones, in each eigenspace of the output Gram."""
    gram, targets = problem.gram, problem.gram.whiten(problem.Y)
    total = 0.0
    for value, basis in groups:
        part = _shifted(problem, value, targets if basis is None else targets @ basis)
        total = total + (part if basis is None else part @ basis.T)
    return gram.unwhiten(total)


def _shifted(problem: DualProblem, value: float, targets: Any) -> Any:
    """The same for one eigenvalue of the output Gram and whitened targets."""
    xp = namespace(targets)
    left, root = problem.gram.left, problem.gram.left_root
    root = xp.ones_like(targets[:, 0]) if root is None else root
    columns = xp.concat([targets, root[:, None]], axis=1) if problem.fit_intercept else targets
    if value > 0:
        shift = 1 / (problem.scale * value)
        columns = shift * solve(left, shift, columns)
    if not problem.fit_intercept:
        return columns
    answers, ones = columns[:, :-1], columns[:, -1]
    nu = (root @ answers) / (root @ ones)
    return answers - ones[:, None] * nu[None, :]
