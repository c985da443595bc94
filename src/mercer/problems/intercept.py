"""The intercept of a problem: what it adds to predictions, and what it asks of dual arrays."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from mercer.backend import as_like, machine_epsilon, namespace
from mercer.exceptions import UnsupportedError
from mercer.linalg import Spectral, positive_solver
from mercer.losses.observed import node_mean
from mercer.problems.best_intercept import best_intercept
from mercer.problems.scales import Scales
from mercer.problems.zero_sum import zero_sum

if TYPE_CHECKING:
    from mercer.problems.dual import DualProblem

__all__ = ["Intercept"]


class Intercept:
    """b ∈ R^k, the same for all rows: predictions are h(x_i) + bE with a design E of shape (k, m), the identity here.

    ::

        primal   adds ⟨τ, bE⟩_μ/n to the objective (τ is 0 but for level sets)
        dual     asks for m(A) = E[w ∘ (Σ_i s_i a_i − τ)] = 0

    A subclass may have a penalty p > 0: then (p/2)‖b‖² is added to the primal, and ‖m(A)‖²/(2pn²) to the dual in place
    of the constraint.

    This is the intercept that is free at each node: b ∈ R^m. With a design or a target a subclass has to say what the
    best one is (:meth:`best`) and where sizes come from (``scales``). Methods get the problem that they belong to.

    Parameters
    ----------
    design : array of shape (k, m), optional
        E; the identity by default.
    target : array of shape (m,), optional
        τ; zeros by default.
    """

    #: p, in subclasses with a design
    penalty: float = 0.0
    #: where the sizes of the problem are taken from
    scales: ClassVar[Scales] = Scales()
    #: whether :meth:`best` is the minimiser, so that nothing is gained from the intercept that an algorithm has
    exact: ClassVar[bool] = True

    def __init__(self, design: Any = None, target: Any = None) -> None:
        self.design, self.target = design, target

    @property
    def balanced(self) -> bool:
        """Whether it asks for E[w ∘ Σ_i s_i a_i] = 0 and costs nothing."""
        return self.target is None and self.penalty == 0

    @property
    def plain(self) -> bool:
        """Whether it is free at each node and asks for zero sums, what every solver can do."""
        return self.design is None and self.balanced

    @property
    def separable(self) -> bool:
        """Whether each number of b has one column of arrays, whose sum it asks something of."""
        return self.design is None and self.penalty == 0

    def effect(self, b: Any) -> Any:
        """Return bE, what is added to each row of predictions, shape (m,)."""
        return b if self.design is None else b @ self.design

    def moment(self, problem: DualProblem, A: Any) -> Any:
        """Return m(A) = E[w ∘ (Σ_i s_i a_i − τ)], shape (k,)."""
        return self.pull(problem, problem.sample_weight @ A)

    def pull(self, problem: DualProblem, total: Any) -> Any:
        """Return the same from Σ_i s_i a_i."""
        off = as_like(problem.measure.weights, total) * (total if self.target is None else total - self.target)
        return off if self.design is None else self.design @ off

    def cost(self, problem: DualProblem, b: Any) -> float:
        """Return ⟨τ, bE⟩_μ/n, and (p/2)‖b‖² where there is a penalty."""
        if self.target is None:
            return 0.0
        return problem.share * float((as_like(problem.measure.weights, b) * self.target) @ self.effect(b))

    def dual_cost(self, problem: DualProblem, A: Any) -> float:
        """Return ‖m(A)‖²/(2pn²) where there is a penalty; otherwise the constraint holds."""
        return 0.0

    def rounding(self, problem: DualProblem, A: Any) -> float:
        """Return what rounding may have changed in its own part of the objectives."""
        return 0.0

    def multipliers(self, problem: DualProblem, spectral: Spectral, shrink: Any, rho: float) -> Callable[[Any], Any]:
        """Return rhs ↦ ν with E(Σ_i s_i·W − Cᵀ diag(1 − shrink) C)Eᵀν + ρpnν = rhs, C the coordinates of equal rows.

        It is the system behind a ridge step: ρν is the intercept that belongs to its minimiser.
        """
        weights, total, design = as_like(problem.measure.weights, problem.Y), problem.total_weight, self.design
        if design is None:
            return spectral.constant_solver(shrink, weights, total)
        whole = total * ((design * weights) @ design.T)
        matrix = whole - design @ spectral.constant_gram(1 - shrink) @ design.T
        matrix.flat[:: len(matrix) + 1] += rho * self.penalty / problem.share
        return positive_solver(matrix, machine_epsilon(whole) * float(whole.trace()))

    def best(self, problem: DualProblem, H: Any, A: Any = None) -> Any:
        """Return the best b for predictions H, shape (k,); a dual array A may help to find it."""
        if self.design is not None or self.target is not None:
            raise UnsupportedError(
                f"{type(self).__name__}: what is best with a design or a target is for a subclass to say: derive from "
                "Intercept and give it best (SlopedIntercept and Offsets do)."
            )
        return best_intercept(problem.loss, problem.Y, H, problem.sample_weight, problem.measure, A)

    def tidied(self, b: Any) -> Any:
        """Return b without what only rounding can have made of it."""
        return b

    def candidates(self, problem: DualProblem, H: Any, A: Any, b: Any) -> list[Any]:
        """Return the intercepts that a certificate may take: b where one is given, else the best one."""
        return [self.best(problem, H, A) if b is None else b]

    def project(self, problem: DualProblem, prox: Any, Z: Any) -> Any:
        """Return the prox of the same function on the dual arrays with Σ_i s_i a_i = τ."""
        pointwise, mean = problem.loss.pointwise, self.mean(problem)
        return zero_sum(prox, Z, problem.sample_weight, problem.measure, pointwise=pointwise, mean=mean)[0]

    def feasible(self, problem: DualProblem, A: Any, b: Any = None) -> Any:
        """Return the nearest feasible dual array, up to rounding; a sparse one stays so where that is possible.

        An algorithm may give the intercept b that it has; it matters where b has a penalty, which ties it to A.
        """
        if not problem.loss.sparse:
            return self._nearest(problem, A)
        xp = namespace(A)
        observed, nonzero = problem.measure.observed, A != 0
        kept = copy.copy(problem)
        kept.measure = problem.measure.restricted(nonzero if observed is None else nonzero & observed)
        repaired = self._nearest(kept, A)
        left_over = problem.sample_weight @ repaired / problem.total_weight - self.mean(problem)
        size = max(float(xp.max(xp.abs(repaired))), 1e-300)
        return repaired if float(xp.max(xp.abs(left_over))) <= 1e-12 * size else self._nearest(problem, A)

    def mean(self, problem: DualProblem) -> Any:
        """Return τ/Σ_i s_i, the mean of feasible dual arrays at each node."""
        return 0.0 if self.target is None else self.target / problem.total_weight

    def _nearest(self, problem: DualProblem, A: Any) -> Any:
        A = problem.conjugate_prox(A, 0.0)
        if problem.loss.pointwise:
            return A
        xp = namespace(A)
        left_over = node_mean(A - self.mean(problem), problem.sample_weight, problem.measure)
        A = problem.cut(A - left_over[None, :])  # sums up to rounding
        for digits in range(12, 0, -1):  # rounding may leave a row just outside its ball
            if bool(xp.all(xp.isfinite(problem.loss.conjugate(problem.Y, A, problem.measure)))):
                break
            A = A * (1 - 10.0**-digits)
        return A
