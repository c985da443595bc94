"""How far rounding errors may have moved the values of a certificate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mercer.backend import as_like, machine_epsilon, namespace

if TYPE_CHECKING:
    from mercer.problems.dual import DualProblem

__all__ = ["Rounding"]

#: roundings of an entry of a kernel and of the scalings around a product, in units of the machine's ε
ROUNDINGS_OF_AN_ENTRY = 8.0
#: roundings of a sum of N terms in units of √N: their signs are as good as random
ROUNDINGS_OF_A_SUM = 2.0


class Rounding:
    """Bounds of rounding errors of a problem, from sizes: no product with 𝐊 is needed.

    By the inequality of Cauchy and Schwarz |𝐊_(ij)(kl)| ≤ r_i c_j r_k c_l (``Gram.sizes``), so that a prediction
    h_A(x_i)(θ_j) as it is computed is wrong by at most

        e_ij = γ r_i c_j T/(λn),     T = Σ_kl s_k w_l r_k c_l |A_kl|,     γ = ε·(8 + 2√(n + m)).

    The risk is then wrong by at most Σ_ij s_i w_j g_ij e_ij/n, with g_ij the largest slope of the loss, and
    ⟨A, 𝐊A⟩/(λn²) by γT²/(λn²). Where T is large next to ‖h_A‖, that is where dual variables cancel in h_A (tiny λ, huge
    kernel values, weights of very different size), this is all that can be said of the gap in the precision at hand.

    Parameters
    ----------
    problem : DualProblem
        Whose certificates are meant.
    """

    def __init__(self, problem: DualProblem) -> None:
        self.problem = problem
        Y, (n, m) = problem.Y, problem.shape
        xp = namespace(Y)
        r, c = problem.sizes
        s, w = problem.sample_weight, as_like(problem.measure.weights, Y)
        self.unit = machine_epsilon(Y) * (ROUNDINGS_OF_AN_ENTRY + ROUNDINGS_OF_A_SUM * math.sqrt(n + m))
        self._rows, self._columns = s * r, w * c
        #: √(Σ_ij s_i w_j r_i² c_j²), what predictions are wrong by together, in units of γT/(λn)
        self._together = math.sqrt(float(s @ (r * r)) * float(w @ (c * c)))
        steepest = problem.loss.steepest(Y, problem.measure)
        self._steep: float | None = None
        if steepest is not None:  # Σ_ij s_i w_j r_i c_j g_ij
            self._steep = float(self._rows @ (xp.zeros_like(Y) + steepest) @ self._columns)
        elif math.isfinite(problem.loss.dual_bound):
            norms = math.sqrt(n) * self._together  # Σ_i s_i ‖e_i‖ ≤ √n ‖e‖
            sums = float(xp.sum(self._rows)) * float(xp.sum(self._columns))
            self._steep = problem.loss.dual_bound * (sums if problem.loss.pointwise else norms)

    def bound(self, A: Any, U: Any) -> float:
        """Return by how much the gap of a dual array A whose model predicts U (with its intercept) may be wrong."""
        problem = self.problem
        sizes = namespace(A).abs(A)
        total = float(self._rows @ sizes @ self._columns)  # T
        linear = float(problem.sample_weight @ (sizes * abs(problem.Y)) @ as_like(problem.measure.weights, A))
        of_predictions = problem.scale * total  # those that have no cancellation, over r_i c_j
        error = of_predictions * (self._slopes(U, of_predictions) + total) + linear
        return problem.share * self.unit * error

    def _slopes(self, U: Any, size: float) -> float:
        """Return Σ_ij s_i w_j r_i c_j g_ij: by slopes at U where they have no bound, which may grow by e_ij."""
        if self._steep is not None:
            return self._steep
        problem = self.problem
        xp = namespace(U)
        slope = problem.cut(problem.loss.gradient(problem.Y, U, problem.measure))
        slope = xp.where(xp.isinf(slope), xp.zeros_like(slope), slope)  # constraints are met by the intercept
        steep = math.sqrt(max(problem.inner(slope, slope), 0.0))
        return self._together * (2 * steep + self.unit * size * self._together)
