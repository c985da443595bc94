"""The intercept of a problem: what it adds to predictions, and what it asks of dual arrays."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

from mercer.backend import as_like, namespace
from mercer.losses.observed import node_mean
from mercer.problems.best_intercept import best_intercept
from mercer.problems.zero_sum import zero_sum

if TYPE_CHECKING:
    from mercer.problems.dual import DualProblem

__all__ = ["Intercept"]


class Intercept:
    """b ∈ R^k, the same for all rows: predictions are h(x_i) + bE with a design E of shape (k, m), the identity here.

    ::

        primal   adds ⟨τ, b⟩_μ/n to the objective (τ is 0 but for level sets)
        dual     asks for E[w ∘ (Σ_i s_i a_i − τ)] = 0

    This is the intercept that is free at each node: b ∈ R^m. Its methods get the problem that it belongs to.

    Parameters
    ----------
    design : array of shape (k, m), optional
        E; the identity by default.
    target : array of shape (m,), optional
        τ; zeros by default.
    """

    #: whether :meth:`best` is the minimiser, so that nothing is gained from the intercept that an algorithm has
    exact: ClassVar[bool] = True

    def __init__(self, design: Any = None, target: Any = None) -> None:
        self.design, self.target = design, target

    @property
    def plain(self) -> bool:
        """Whether it is free at each node and asks for zero sums, what every solver can do."""
        return self.design is None and self.target is None

    def effect(self, b: Any) -> Any:
        """Return bE, what is added to each row of predictions, shape (m,)."""
        return b if self.design is None else b @ self.design

    def moment(self, problem: DualProblem, A: Any) -> Any:
        """Return E[w ∘ (Σ_i s_i a_i − τ)], which is zero for feasible dual arrays, shape (k,)."""
        return self.pull(problem, problem.sample_weight @ A)

    def pull(self, problem: DualProblem, total: Any) -> Any:
        """Return the same from Σ_i s_i a_i."""
        off = as_like(problem.measure.weights, total) * (total if self.target is None else total - self.target)
        return off if self.design is None else self.design @ off

    def cost(self, problem: DualProblem, b: Any) -> float:
        """Return ⟨τ, b⟩_μ/n."""
        if self.target is None:
            return 0.0
        return problem.share * float((as_like(problem.measure.weights, b) * self.target) @ self.effect(b))

    def best(self, problem: DualProblem, H: Any, A: Any = None) -> Any:
        """Return the best b for predictions H, shape (k,); a dual array A may help to find it."""
        return best_intercept(problem.loss, problem.Y, H, problem.sample_weight, problem.measure, A)

    def candidates(self, problem: DualProblem, H: Any, A: Any, b: Any) -> list[Any]:
        """Return the intercepts that a certificate may take: b where one is given, else the best one."""
        return [self.best(problem, H, A) if b is None else b]

    def project(self, problem: DualProblem, prox: Any, Z: Any) -> Any:
        """Return the prox of the same function on the dual arrays with Σ_i s_i a_i = τ."""
        mean = 0.0 if self.target is None else self.target / float(namespace(Z).sum(problem.sample_weight))
        pointwise = problem.loss.pointwise
        return zero_sum(prox, Z, problem.sample_weight, problem.measure, pointwise=pointwise, mean=mean)[0]

    def feasible(self, problem: DualProblem, A: Any) -> Any:
        """Return the nearest feasible dual array, up to rounding; a sparse one stays so where that is possible."""
        if not problem.loss.sparse:
            return self._nearest(problem, A)
        xp = namespace(A)
        observed, nonzero = problem.measure.observed, A != 0
        kept = copy.copy(problem)
        kept.measure = problem.measure.restricted(nonzero if observed is None else nonzero & observed)
        repaired = self._nearest(kept, A)
        left_over = float(xp.max(xp.abs(problem.sample_weight @ repaired)))
        size = float(xp.sum(problem.sample_weight)) * max(float(xp.max(xp.abs(repaired))), 1e-300)
        return repaired if left_over <= 1e-12 * size else self._nearest(problem, A)

    def _nearest(self, problem: DualProblem, A: Any) -> Any:
        A = problem.conjugate_prox(A, 0.0)
        if problem.loss.pointwise:
            return A
        xp = namespace(A)
        A = problem.cut(A - node_mean(A, problem.sample_weight, problem.measure)[None, :])  # sums up to rounding
        for digits in range(12, 0, -1):  # rounding may leave a row just outside its ball
            if bool(xp.all(xp.isfinite(problem.loss.conjugate(problem.Y, A, problem.measure)))):
                break
            A = A * (1 - 10.0**-digits)
        return A
