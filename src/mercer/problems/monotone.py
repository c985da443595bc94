"""The dual problem with slopes: h + b should not fall in θ, at a price or by constraint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.exceptions import DataError, UnsupportedError
from mercer.interpolation import interpolation_slopes
from mercer.linalg import FlatGram, Gram, LowRank
from mercer.losses import Loss
from mercer.losses.monotone import Monotone
from mercer.losses.observed import observed_only
from mercer.measures import Measure
from mercer.problems.dual import DualProblem
from mercer.problems.intercept import Intercept
from mercer.problems.zero_sum import zero_sum

__all__ = ["SlopedIntercept", "monotone_problem"]

#: beyond the bounds of any dual variable
BEYOND_BOUNDS = 1e30
#: share of its terms by which a computed slope of b may be wrong
ROUNDING = 8 * float(np.finfo(float).eps)


def monotone_problem(
    gram: Gram,
    loss: Loss,
    Y: np.ndarray,
    measure: Measure,
    alpha: float,
    slope_measure: Measure,
    price: float,
    scale: np.ndarray,
    sample_weight: Any = None,
    fit_intercept: bool = False,
    origin: float = 0.0,
    anchors_alone: bool = False,
) -> DualProblem:
    """Return the :class:`DualProblem` whose functions h(x) + b pay for falling between the nodes.

    ::

        min_{h,b}  (1/n) Σ_i s_i [ L_i(h(x_i) + b) + p Σ_q v_q (−∂_θ(h(x̃_i) + b)(τ_q))₊ ] + (λ/2) ‖h‖²

    with anchors (x̃_i, τ_q); p = ∞ forbids to fall at the anchors. Slopes of h are functionals like its values, so that
    the Gram operator stays a Kronecker product K_X ⊗ [[k, ∂₂k], [∂₁k, ∂₁∂₂k]], the dual array has a column for each
    node and each τ_q, and its bounds are [0, p] there. b is piecewise linear through the nodes; its slopes are b @ M,
    which makes [I, M] the design of the intercept (:class:`SlopedIntercept`).

    Parameters
    ----------
    gram : Gram
        K_X ⊗ K with the values first and then the slopes, without weights; rows are those of X, then further anchors.
    loss : Loss
        The loss of the values, pointwise.
    Y : array of shape (n, m)
        Targets.
    measure : Measure
        Nodes and weights.
    alpha : float
        λ > 0.
    slope_measure : Measure
        τ_q and v_q.
    price : float
        p > 0, or infinity.
    scale : array of shape (n_slopes,)
        Natural size ∂₁∂₂k(τ_q, τ_q) of squared slopes, a preconditioner: it changes no solution.
    sample_weight : array of shape (n,), optional
        Positive weights; only their ratios matter.
    fit_intercept : bool, default=False
        Whether to add b(θ), free at each node. Required for p = ∞, where it makes every h feasible.
    origin : float, default=0.0
        What was taken off the targets and is added to b when it is stored (see :class:`SlopedIntercept`).
    anchors_alone : bool, default=False
        Whether falls are looked at in the rows after those of X only, ñ of them: they then pay for their mean,
        p (1/ñ) Σ_i Σ_q v_q (−∂_θ(h(x̃_i) + b)(τ_q))₊.
    """
    (n, m), rows = Y.shape, gram.array_shape[0]
    if math.isinf(price) and not fit_intercept:
        raise DataError("monotone_problem: an infinite price needs an intercept, which makes every h feasible.")
    nothing = FlatGram(LowRank(np.zeros((n * m, 0))), (n, m))  # h = 0: it is asked about intercepts and scales only
    values = DualProblem(nothing, loss, Y, measure, alpha, sample_weight, fit_intercept)
    weight = np.full(rows, n / max(rows - n, 1) if anchors_alone else 1.0)
    weight[:n] = values.sample_weight
    targets = np.zeros((rows, m + len(slope_measure)))
    targets[:n, :m] = Y
    targets[n:, :m] = np.nan  # further anchors have slopes only
    if anchors_alone:
        targets[:n, m:] = np.nan
    both = Measure(
        np.concatenate([measure.points, slope_measure.points]),
        np.concatenate([measure.weights, slope_measure.weights / scale]),
    )
    priced = Monotone(loss, price * scale)
    intercept: bool | Intercept = False
    if fit_intercept:
        slopes = interpolation_slopes(measure.locations, slope_measure.locations)
        intercept = SlopedIntercept(measure, slopes, price, origin)
    return DualProblem(
        gram, priced, targets, both, alpha, weight, intercept, mass=float(weight.sum()) / n, values=values
    )


class SlopedIntercept(Intercept):
    """b, piecewise linear through the nodes, which adds b to values and bM to slopes: the design is [I, M].

    Parameters
    ----------
    nodes : Measure
        The m nodes and their weights.
    slopes : array of shape (m, n_slopes)
        M, the slopes of the piecewise linear function of each entry of b.
    price : float
        Of falling; where it is infinite, b is made steeper where h + b would fall.
    origin : float, default=0.0
        b is stored as b + origin, which rounds it: with a large origin that shows in slopes, and certificates are those
        of the intercept that is stored.
    """

    exact = False

    def __init__(self, nodes: Measure, slopes: np.ndarray, price: float, origin: float = 0.0) -> None:
        super().__init__(design=np.concatenate([np.eye(len(nodes)), slopes], axis=1))
        self.nodes, self.slopes, self.price, self.origin = nodes, slopes, price, origin

    def best(self, problem: DualProblem, H: Any, A: Any = None) -> Any:
        """Return an intercept that suits the values of H and keeps the slopes feasible."""
        values = self._values(problem)
        n, m = values.shape
        return self._repaired(problem, H, A, values.best_intercept(H[:n, :m]))

    def tidied(self, b: Any) -> Any:
        """Return the b of a model without h, which does not fall: neither do its values then, to the last digit."""
        nodes, place = np.unique(self.nodes.locations, return_inverse=True)
        highest = np.full(len(nodes), -np.inf)
        np.maximum.at(highest, place, b)
        return np.maximum.accumulate(highest)[place]

    def candidates(self, problem: DualProblem, H: Any, A: Any, b: Any) -> list[Any]:
        """Return the best one for the values and the given one, both repaired."""
        best = self.best(problem, H, A)
        return [best] if b is None else [best, self._repaired(problem, H, A, b)]

    def project(self, problem: DualProblem, prox: Any, Z: Any) -> Any:
        raise UnsupportedError("The intercept couples the sums of values and slopes: no prox is known. Use ADMM.")

    @staticmethod
    def _values(problem: DualProblem) -> DualProblem:
        assert problem.values is not None  # monotone_problem has seen to it
        return problem.values

    def _repaired(self, problem: DualProblem, H: Any, A: Any, b: Any) -> Any:
        """Return b as it is stored, with steeper steps where h + b would fall and must not."""
        b = self.stored(b)
        if not math.isinf(self.price):
            return b
        m = len(self.nodes)
        lowest = (H if A is None else H - problem.rounding.errors(A))[:, m:]
        observed = problem.measure.observed
        minded = True if observed is None else observed[:, m:]
        rise = self.rise(b, self.slopes, np.min(lowest, axis=0, where=minded, initial=np.inf))
        return self.stored(self.steeper(b, problem.measure.locations[m:], rise))

    def stored(self, b: Any) -> Any:
        """Return what is left of b when it has been stored as b + origin."""
        return (b + self.origin) - self.origin

    def rise(self, b: Any, slopes: np.ndarray, lowest: Any) -> Any:
        """Return how much steeper b, of slopes b @ slopes, must become to outweigh the lowest slopes of h.

        Differences of another b between near nodes lose digits; what they may lose is added.
        """
        lacking = -lowest - b @ slopes
        if not np.any(lacking > 0):
            return np.zeros_like(lacking)
        return np.maximum(lacking + ROUNDING * ((np.abs(b) + abs(self.origin)) @ np.abs(slopes)), 0.0)

    def steeper(self, b: Any, points: Any, rise: Any) -> Any:
        """Return b made steeper by ``rise`` (≥ 0) in the cells of the given points, its mean unchanged."""
        nodes, weights = self.nodes.locations, self.nodes.weights
        order = np.argsort(nodes, kind="stable")
        steps = np.diff(nodes[order])
        if not len(steps):
            return b
        cell = np.clip(np.searchsorted(nodes[order], points, side="right") - 1, 0, len(steps) - 1)
        highest = np.zeros(len(steps))
        np.maximum.at(highest, cell, rise)
        lift = np.empty_like(b)
        lift[order] = np.concatenate([[0.0], np.cumsum(highest * steps)])
        return b + lift - weights @ lift / weights.sum()

    def feasible(self, problem: DualProblem, A: Any, b: Any = None) -> Any:
        """Return a feasible dual array near A: slopes first, then values whose sums balance them."""
        A = problem.loss.conjugate_prox(problem.Y, A, 0.0, problem.measure)
        base = self._values(problem)
        n, m = base.shape
        values, slopes = A[:n, :m], A[:, m:]
        weights, slope_weights = problem.measure.weights[:m], problem.measure.weights[m:]

        def prox(array):
            return observed_only(base.loss.conjugate_prox(base.Y, array, 0.0, base.measure), base.measure)

        balance = -(self.slopes @ (slope_weights * (problem.sample_weight @ slopes))) / weights
        balance = balance / problem.sample_weight[:n].sum()
        share = base.sample_weight / n
        reach = np.where(
            balance > 0, *(share @ prox(np.full_like(values, end)) for end in (BEYOND_BOUNDS, -BEYOND_BOUNDS))
        )
        beyond = np.abs(balance) > np.abs(reach)  # sums that the bounds of the values cannot balance
        shrink = (1 - 1e-9) * float(np.min(np.abs(reach[beyond] / balance[beyond]))) if np.any(beyond) else 1.0
        balanced, _ = zero_sum(prox, values, base.sample_weight, base.measure, pointwise=True, mean=shrink * balance)
        answer = shrink * A
        answer[:n, :m] = balanced
        return answer
