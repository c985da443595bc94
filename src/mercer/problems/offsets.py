"""The offsets of density level sets: intercepts b = −t whose dual arrays have sums other than zero."""

from __future__ import annotations

import copy
import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.exceptions import DataError, UnsupportedError
from mercer.losses.quantiles import weighted_quantile
from mercer.measures import Measure
from mercer.problems.intercept import Intercept
from mercer.problems.rounding import ROUNDINGS_OF_A_SUM, ROUNDINGS_OF_AN_ENTRY
from mercer.problems.scales import Scales, TargetScales

if TYPE_CHECKING:
    from mercer.problems.dual import DualProblem

__all__ = ["Offsets", "PenalisedOffsets"]


class Offsets(Intercept):
    """Free offsets t = −b for :class:`~mercer.losses.OneClassHinge` with targets 0: Σ_i s_i a_i = τ with τ_j = n.

    The best ones for given scores h(x_i)(θ_j) are their θ_j-quantiles, which makes the fraction of outliers exact. They
    are lowered by what rounding may take from the scores of a dual array, so that rows on the boundary are no outliers
    to anybody who computes scores anew.

    Parameters
    ----------
    target : array of shape (m,)
        τ.
    magnification : array of shape (m, m), optional
        R with |c|R a bound of all the terms that a score sums up, |c| the sums over rows of the sizes of representer
        coefficients; without it scores are taken as exact.
    """

    scales: ClassVar[Scales] = TargetScales()

    def __init__(self, target: np.ndarray, magnification: np.ndarray | None = None) -> None:
        super().__init__(target=target)
        self.magnification = magnification

    def best(self, problem: DualProblem, H: Any, A: Any = None) -> Any:
        """Return minus the θ_j-quantiles of the scores, midpoints where there is an interval of them; lowered for A."""
        return self._rounding(problem, A) - weighted_quantile(H, problem.sample_weight, problem.measure.locations)

    def _rounding(self, problem: DualProblem, A: Any) -> Any:
        """Return 4√n·eps·|c|R, more than the rounding errors of sums over n rows are but for rare conspiracies."""
        if A is None or self.magnification is None:
            return 0.0
        sizes = np.sum(np.abs(problem.primal_coef(A)), axis=0) @ self.magnification
        return 4 * math.sqrt(len(A)) * np.finfo(float).eps * sizes


class PenalisedOffsets(Intercept):
    """Offsets t = −bE in the space of a kernel k_b, with the penalty (α/2)‖t‖²: any dual array in the box is feasible.

    E has the rows √l_k u_kᵀη^-½ for the eigenpairs (l_k, u_k) of η^½K_bη^½, so that EᵀE = K_b and ‖t‖² = ‖b‖². The
    offsets that belong to a dual array are t = −K_b[w ∘ (Σ_i s_i a_i − τ)]/(αn).

    Parameters
    ----------
    target : array of shape (m,)
        τ.
    gram : array of shape (m, m)
        K_b.
    measure : Measure
        The nodes, with weights η.
    penalty : float
        α > 0.
    """

    scales: ClassVar[Scales] = TargetScales()
    exact = False

    def __init__(self, target: np.ndarray, gram: np.ndarray, measure: Measure, penalty: float) -> None:
        root = np.sqrt(measure.weights)
        values, vectors = np.linalg.eigh(gram * root[:, None] * root[None, :])
        #: what rounding may have made of an eigenvalue, and the size below which one is taken for 0
        self.blur = (len(root) + ROUNDINGS_OF_AN_ENTRY) * np.finfo(float).eps * float(values[-1])
        kept = values > self.blur
        design = np.sqrt(values[kept])[:, None] * vectors[:, kept].T / root
        super().__init__(design=design, target=target)
        self.gram, self.values, self.penalty = gram, values[kept], penalty

    def cost(self, problem: DualProblem, b: Any) -> float:
        """Return ⟨τ, bE⟩_μ/n + (α/2)‖b‖²."""
        return super().cost(problem, b) + self.penalty / 2 * float(b @ b)

    def dual_cost(self, problem: DualProblem, A: Any) -> float:
        """Return ‖m(A)‖²/(2αn²)."""
        moment = self.moment(problem, A)
        return problem.share**2 / (2 * self.penalty) * float(moment @ moment)

    def rounding(self, problem: DualProblem, A: Any) -> float:
        """Return what rounding K_b, and the sums of A, may have changed in (1/2α) vᵀK_b v = (1/2αn²) |K^½u|².

        Here u = η^½ ∘ (Σ_i s_i a_i − τ) and K = η^½K_bη^½. Where K_b is nearly singular, v may be large and cost next
        to nothing: then that is less than what is known of K_b. Sums of n terms are wrong by d, and change the cost
        by at most |K^½d|(|K^½u| + ½|K^½d|).
        """
        root, n = np.sqrt(problem.measure.weights), len(A)
        total = problem.sample_weight @ A
        errors = np.finfo(float).eps * (ROUNDINGS_OF_AN_ENTRY + ROUNDINGS_OF_A_SUM * math.sqrt(n))
        off, size = root * (total - self.target), float(np.sqrt(self.values[-1] + self.blur))
        wrong = size * float(np.linalg.norm(root * errors * (problem.sample_weight @ np.abs(A) + self.target)))
        cost = self.blur / 2 * float(off @ off) + wrong * (float(np.linalg.norm(self.moment(problem, A))) + wrong / 2)
        return problem.share**2 / self.penalty * cost

    def best(self, problem: DualProblem, H: Any, A: Any = None) -> Any:
        """Return the b that belongs to the dual array, m(A)/(αn)."""
        if A is None:
            raise DataError("PenalisedOffsets.best: A must be given, as the offsets are those of a dual array.")
        return problem.share / self.penalty * self.moment(problem, A)

    def candidates(self, problem: DualProblem, H: Any, A: Any, b: Any) -> list[Any]:
        """Return the one of the dual array (see :meth:`feasible` for the given one)."""
        return [self.best(problem, H, A)]

    def project(self, problem: DualProblem, prox: Any, Z: Any) -> Any:
        raise UnsupportedError("The offsets couple the sums at all levels: no prox is known. Use ADMM.")

    def feasible(self, problem: DualProblem, A: Any, b: Any = None) -> Any:
        """Return the nearest array in the box, with the sums to which b belongs where it is given.

        With a small α the offsets of a dual array magnify the errors of its sums; an algorithm knows better ones.
        """
        A = problem.loss.conjugate_prox(problem.Y, A, 0.0, problem.measure)
        if b is None:
            return A
        lacking = self.penalty / problem.share * b - self.moment(problem, A)  # m(A) = αnb is wanted
        sums = problem.sample_weight @ A + (lacking / self.values) @ self.design
        summing = copy.copy(problem)
        summing.intercept = Offsets(np.clip(sums, 0, problem.total_weight / problem.measure.locations))
        return summing.feasible(A)
