"""How the optimal value of a problem changes with its kernel: the envelope theorem.

The loss of rows that were held out is the derivative of an optimal value in their weight, so that the same slopes say
how it changes with the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.linalg import LinearOperator
from mercer.problems.dual import DualProblem

__all__ = ["AddedRows", "coefficient_slope", "kernel_slope"]


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
    return coefficient_slope(problem.alpha, problem.primal_coef(A), output_gram)


def coefficient_slope(alpha: float, coef: Any, gram: LinearOperator | None = None) -> Any:
    """Return −(λ/2) c T cᵀ, the slope of the optimal value in K_X of a fit with representer coefficients c.

    That in T is the same with cᵀ and K_X. The slope in λ is ½‖h‖².

    Examples
    --------
    >>> coefficient_slope(0.5, np.array([[2.0], [1.0]]))
    array([[-1.  , -0.5 ],
           [-0.5 , -0.25]])
    """
    image = coef if gram is None else (gram @ coef.T).T
    return -0.5 * alpha * (coef @ image.T)


@dataclass(frozen=True)
class AddedRows:
    """Rows that were held out, added to the rows of a fit with a small weight ε of their mean loss.

    With V_ε = min_h R(h) + εR′(h) + (λ/2)‖h‖², R and R′ the mean losses of the rows of the fit and of those held out,

        R′(h_ε) ≤ (V_ε − V_0)/ε ≤ R′(h_0),

    as h_0 and h_ε are candidates for each other's minimum. Hence the difference tends to the held-out loss R′(h_0) as
    ε → 0, and its slope in any parameter of the kernel is one of two optimal values: no solution is differentiated.

    Parameters
    ----------
    share : float
        ε > 0.
    """

    share: float

    def weights(self, weight: np.ndarray, added: np.ndarray) -> np.ndarray:
        """Return the weights of all rows, of which ``added`` (a mask) says which were held out."""
        factor = self.share * weight[~added].sum() / weight[added].sum()
        return np.where(added, factor * weight, weight)

    def alpha(self, alpha: float) -> float:
        """Return λ of the fit to all rows, whose weights have the mean 1 again: λ/(1 + ε)."""
        return alpha / (1 + self.share)

    def difference(self, with_them: Any, without: Any) -> Any:
        """Return (V_ε − V_0)/ε of the objectives of both fits, or its slope in a parameter of the kernel.

        Examples
        --------
        >>> AddedRows(0.1).difference(1.1, 1.0)  # (1.1·1.1 − 1)/0.1
        2.1...
        """
        return ((1 + self.share) * with_them - without) / self.share

    def alpha_difference(self, with_them: float, without: float) -> float:
        """Return the slope in λ, from those of the objectives of both fits in theirs."""
        return (with_them - without) / self.share
