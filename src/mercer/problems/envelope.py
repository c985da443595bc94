"""How the optimal value of a problem changes with its kernel: the envelope theorem."""

from __future__ import annotations

from typing import Any

from mercer.linalg import LinearOperator
from mercer.problems.dual import DualProblem

__all__ = ["kernel_slope"]


def kernel_slope(problem: DualProblem, A: Any, output_gram: LinearOperator | None = None) -> Any:
    """Return ∂V/∂K_X, shape (n, n), of the optimal value V of a problem with the kernel K_X ⊗ T.

    K_X is in the quadratic term of the dual alone, and the optimum does not move to first order, so that
    ∂V/∂K_X = −(λ/2) c T cᵀ with the representer coefficients c of the optimal A, whatever the loss. At another
    feasible A it is the slope of the dual value, a lower bound of V, with A held fixed.

    Parameters
    ----------
    problem : DualProblem
        The problem.
    A : array of shape (n, m)
        Its optimal dual array.
    output_gram : LinearOperator of shape (m, m), optional
        T, without weights; the identity by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.linalg import Dense, Kronecker
    >>> from mercer.losses import Square
    >>> from mercer.measures import Measure
    >>> from mercer.solvers import ClosedForm
    >>> one = Measure(np.zeros(1), np.ones(1))
    >>> gram = Kronecker(Dense(np.eye(2)), Dense(np.eye(1)))
    >>> problem = DualProblem(gram, Square(), np.array([[2.0], [0.0]]), one, 0.5)  # V = λ/2 · yᵀ(K + λn)⁻¹y
    >>> kernel_slope(problem, ClosedForm().solve(problem).coef).round(3) + 0.0
    array([[-0.25,  0.  ],
           [ 0.  ,  0.  ]])
    """
    coef = problem.primal_coef(A)
    image = coef if output_gram is None else (output_gram @ coef.T).T
    return -0.5 * problem.alpha * (coef @ image.T)
