"""One problem for many λ, to a gap that is good enough to compare them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mercer.problems import DualProblem
from mercer.solvers import Solver, SolverResult, plan

__all__ = ["solve_path"]


def solve_path(
    problem: DualProblem,
    alphas: Sequence[float],
    solver: Any = "auto",
    tol: float = 1e-2,
    max_iter: int | None = None,
    owner: object = "solve_path",
) -> Iterator[SolverResult]:
    """Solve a problem for several λ, one after the other as they are asked for, in the order of ``alphas``.

    The fits share the Gram operator and one eigendecomposition: that of the smallest λ is exact enough for the others.
    Each starts from zero, as ADMM, which is all or the beginning of most of them, gains nothing from the solution for a
    neighbouring λ.

    Parameters
    ----------
    problem : DualProblem
        The problem; its own λ is not used.
    alphas : sequence of float
        Values of λ.
    solver : str or Solver, default="auto"
        As estimators take it; a Solver is used with ``tol`` in place of its own.
    tol : float, default=1e-2
        Bound on the relative duality gap.
    max_iter : int, optional
        Limit on the iterations; that of the solver by default, and always that of a Solver.
    owner : object, optional
        Whose parameters these are, for the message of an error.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Pinball
    >>> from mercer.measures import Points
    >>> from mercer.operator_valued import Decomposable
    >>> X = np.linspace(0, 1, 30)[:, None]
    >>> levels = Points([0.25, 0.75]).build(X)
    >>> gram = Decomposable(Gaussian(9.0), Gaussian(1.0)).bind(levels).gram(X)
    >>> problem = DualProblem(gram, Pinball(), np.sin(6 * X) + np.zeros((30, 2)), levels, 1.0)
    >>> [result.status for result in solve_path(problem, [1e-2, 1e-3])]
    ['converged', 'converged']
    """
    given = solver.replace(tol=tol) if isinstance(solver, Solver) else solver
    first = plan(given, problem.with_alpha(float(min(alphas))), tol, max_iter, owner)
    problem = first.solver.prepare(first.problem)
    plans = (plan(given, problem.with_alpha(float(alpha)), tol, max_iter, owner) for alpha in alphas)
    return (chosen.solve(posed) for chosen, posed in plans)
