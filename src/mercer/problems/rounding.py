"""How far rounding errors may have moved a certificate."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.backend import as_like, machine_epsilon, namespace

if TYPE_CHECKING:
    from mercer.problems.dual import DualProblem
    from mercer.problems.problem_rows import ProblemRows

__all__ = ["Rounding", "RoundingBounds"]

#: roundings of an entry of a kernel, of a coefficient and of the scalings around a product, in units of the machine's ε
ROUNDINGS_OF_AN_ENTRY = 6.0
#: roundings of a sum of N terms in units of √N: their signs are as good as random, and BLAS sums in blocks
ROUNDINGS_OF_A_SUM = 0.5


class RoundingBounds(NamedTuple):
    """By how much rounding may have changed the gap, and the primal and dual value themselves."""

    of_gap: float
    of_values: float


class Rounding:
    """Bounds of rounding errors of a problem, from sizes: no product with 𝐊 is needed.

    By the inequality of Cauchy and Schwarz |𝐊_(ij)(kl)| ≤ r_i c_j r_k c_l (``Gram.sizes``), so that a prediction
    h_A(x_i)(θ_j) as it is computed is wrong by at most (but for rare conspiracies, as errors have random signs)

        e_ij = γ r_i c_j T/(λn),     T = Σ_kl s_k w_l r_k c_l |A_kl|,     γ = ε·(6 + ½√(n + m)).

    So are predictions of coefficients that were rounded when they were stored. The gap is the sum of the Fenchel–Young
    losses L(h) + L*(−a) + ⟨a, h⟩ over n, whose slope in h is ∇L(h) + a. Hence it is wrong by at most

        (1/n) Σ_ij s_i w_j e_ij max |∇L(h ± e) + a|_ij,    e_ij + ε(|h + b|_ij + |y_ij|) for e_ij,

    which vanishes with e² where a = −∇L(h): near the optimum. Where ∇L is Lipschitz with a known constant ℓ, that sum
    is at most ⟨e, |∇L(h) + a|⟩ + ℓ‖e‖², by the inequality of Cauchy and Schwarz. Primal and dual value are wrong by
    ⟨|a|, e⟩/n and more.

    Where T is large next to ‖h_A‖, that is where dual variables cancel in h_A (tiny λ, huge kernel values, weights of
    very different size), this is all that can be said of the gap in the precision at hand.

    Parameters
    ----------
    problem : DualProblem or ProblemRows
        Whose certificates are meant.
    """

    def __init__(self, problem: DualProblem | ProblemRows) -> None:
        self.problem = problem
        n, m = problem.shape
        self.unit = machine_epsilon(problem.Y) * (ROUNDINGS_OF_AN_ENTRY + ROUNDINGS_OF_A_SUM * math.sqrt(n + m))

    def total(self, A: Any) -> float:
        """Return T, a sum over rows."""
        problem = self.problem
        s, w = problem.sample_weight, as_like(problem.measure.weights, A)
        r, c = problem.sizes
        return float((s * r) @ namespace(A).abs(A) @ (w * c))

    def errors(self, A: Any, total: float | None = None) -> Any:
        """Return e, by how much the predictions of a dual array may be wrong, shape (n, m)."""
        total = self.total(A) if total is None else total
        r, c = self.problem.sizes
        return (self.unit * self.problem.scale * total) * r[:, None] * c[None, :]

    def bounds(self, A: Any, U: Any, total: float | None = None) -> RoundingBounds:
        """Return the bounds for a dual array A whose model predicts U, with its intercept.

        They are sums over rows: of some of the rows they are the share of these, given T of all.
        """
        problem = self.problem
        xp = namespace(A)
        s, w = problem.sample_weight, as_like(problem.measure.weights, A)
        # of predictions, of adding an intercept to them and of taking them off targets, which matters at kinks
        terms, size = xp.abs(U) + xp.abs(problem.Y), xp.abs(A)
        error = self.errors(A, total) + machine_epsilon(A) * terms
        in_gap = float(s @ (error * self._steepest(U, A, error)) @ w)
        in_values = float(s @ (error * size) @ w)
        # products and sums of the three terms, each of the size of its own terms
        in_sums = ROUNDINGS_OF_AN_ENTRY * machine_epsilon(A) * float(s @ (size * terms) @ w)
        return RoundingBounds(problem.share * (in_gap + in_sums), problem.share * (in_gap + in_values + in_sums))

    def _steepest(self, U: Any, A: Any, error: Any) -> Any:
        """Return max |∇L(u ± e) + a|, for convex losses at points the largest one between u − e and u + e.

        With a Lipschitz constant it is |∇L(u) + a| + ℓe, no bound of each entry but, as a sum with e, of all together.
        """
        loss, xp = self.problem.loss, namespace(U)
        if loss.lipschitz is not None:
            return self._slope(U, A) + loss.lipschitz * error
        steepest = xp.maximum(self._slope(U + error, A), self._slope(U - error, A))
        if loss.pointwise:
            return steepest
        turned = _checkerboard(error)  # gradients of norms turn where errors of neighbours have other signs
        return 2 * xp.maximum(steepest, xp.maximum(self._slope(U + turned, A), self._slope(U - turned, A)))

    def _slope(self, U: Any, A: Any) -> Any:
        """Return |∇L(u) + a|; constraints, whose slope is infinite, are met by the intercept."""
        problem = self.problem
        xp = namespace(U)
        if not problem.loss.has_gradient:
            return xp.abs(A) + xp.max(xp.abs(A))
        slope = problem.loss.gradient(problem.Y, U, problem.measure)
        return xp.abs(problem.cut(xp.where(xp.isinf(slope), xp.zeros_like(slope), slope)) + A)


def _checkerboard(error: Any) -> Any:
    """Return errors whose signs alternate along rows and columns."""
    signs = 1 - 2 * (np.add.outer(*(np.arange(size) for size in error.shape)) % 2)
    return error * as_like(signs, error)
