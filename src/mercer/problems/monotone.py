"""The dual problem with slopes: h + b should not fall in θ, at a price or by constraint."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer.exceptions import DataError
from mercer.functions import interpolation_slopes
from mercer.linalg import Gram, Kronecker, LowRank
from mercer.losses import Loss
from mercer.losses.domain import observed_only
from mercer.losses.monotone import Monotone
from mercer.measures import Measure
from mercer.problems.certificate import Certificate
from mercer.problems.dual import DualProblem
from mercer.problems.intercept import zero_sum

__all__ = ["MonotoneProblem"]

#: beyond the bounds of any dual variable
FAR = 1e30


class MonotoneProblem(DualProblem):
    """A :class:`DualProblem` whose functions h(x) + b pay for falling between the nodes.

    ::

        min_{h,b}  (1/n) Σ_i s_i [ L_i(h(x_i) + b) + p Σ_q v_q (−∂_θ(h(x̃_i) + b)(τ_q))₊ ] + (λ/2) ‖h‖²

    with anchors (x̃_i, τ_q); p = ∞ forbids to fall at the anchors. Slopes of h are functionals like its values, so that
    the Gram operator stays a Kronecker product K_X ⊗ [[k, ∂₂k], [∂₁k, ∂₁∂₂k]], the dual array has a column for each
    node and each τ_q, and its bounds are [0, p] there. b is piecewise linear through the nodes; its slopes are b @ M,
    which turns the constraint of the intercept into Σ_i s_i (w ∘ a_i) Eᵀ = 0 with E = [I, M] (``design``).

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
    """

    def __init__(
        self,
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
    ) -> None:
        (n, m), rows = Y.shape, gram.array_shape[0]
        if math.isinf(price) and not fit_intercept:
            raise DataError("MonotoneProblem: an infinite price needs an intercept, which makes every h feasible.")
        self.n_values, self.n_samples = m, n
        self.values_problem = DualProblem(  # with h = 0: it is asked about intercepts and scales only
            Kronecker(LowRank(np.zeros((n, 0))), LowRank(np.zeros((m, 0)))),
            loss,
            Y,
            measure,
            alpha,
            sample_weight,
            fit_intercept,
        )
        weight = np.full(rows, rows / n)
        weight[:n] = self.values_problem.sample_weight * (rows / n)
        self.price, self.loss = price, Monotone(loss, price * scale)
        self.Y = np.zeros((rows, m + len(slope_measure)))
        self.Y[:n, :m] = Y
        observed = None
        if rows > n:
            observed = np.ones(self.Y.shape, dtype=bool)
            observed[n:, :m] = False
        self.measure = Measure(
            np.concatenate([measure.points, slope_measure.points]),
            np.concatenate([measure.weights, slope_measure.weights / scale]),
            observed,
        )
        self.alpha, self.fit_intercept, self.sample_weight = float(alpha), fit_intercept, weight
        self.gram = gram.weighted(weight, self.measure.weights)
        self.slopes_of_b = interpolation_slopes(measure.locations, slope_measure.locations)
        self.design = np.concatenate([np.eye(m), self.slopes_of_b], axis=1)

    # -- scales, from the values alone -------------------------------------------------------------------------

    @property
    def null_model(self) -> tuple[float, Any]:
        """Objective and b of the intercept-only model, which does not fall where θ is a level or a cost."""
        return self.values_problem.null_model

    @property
    def trivial(self) -> bool:
        """Whether the intercept-only model fits perfectly."""
        return self.values_problem.trivial

    @property
    def unit(self) -> float:
        """Typical residual over typical dual variable of the values."""
        return self.values_problem.unit

    # -- the two objectives ------------------------------------------------------------------------------------

    def intercept(self, H: Any, A: Any = None) -> Any:
        """Return the effect b @ design of an intercept that suits the values of H and keeps the slopes feasible."""
        return self._repaired(H, self.values_problem.intercept(H[: self.n_samples, : self.n_values])) @ self.design

    def certificate(self, A: Any, H: Any = None, b: Any = None) -> Certificate:
        """Return the duality gap of a feasible A and of h_A with the intercept b (an estimate by default).

        With an infinite price b is raised where h_A + b falls, so that the model meets the constraints.
        """
        H = self.predict(A) if H is None else H
        candidates = [self.values_problem.intercept(H[: self.n_samples, : self.n_values])]
        candidates = [self._repaired(H, b) for b in (candidates if b is None else [*candidates, b])]
        risks = [self.risk(H, b @ self.design) for b in candidates]
        risk, b = min(zip(risks, candidates, strict=True), key=lambda pair: pair[0])
        half_norm = self.inner(A, H) / (2 * len(H))
        primal = risk + half_norm
        conjugates = self.loss.conjugate(self.Y, A, self.measure)
        dual = -float(self.sample_weight @ conjugates) / len(H) - half_norm
        return Certificate(primal, dual, self.null_model[0], b)

    def _repaired(self, H: Any, b: Any) -> Any:
        """Return b with steeper steps where h + b would fall and must not."""
        if not self.fit_intercept or not math.isinf(self.price):
            return b
        falls = np.max(-H[:, self.n_values :], axis=0) - b @ self.slopes_of_b
        return self.steeper(b, self.measure.locations[self.n_values :], np.maximum(falls, 0.0))

    def steeper(self, b: Any, points: Any, rise: Any) -> Any:
        """Return b made steeper by ``rise`` (≥ 0) in the cells of the given points, its mean unchanged."""
        nodes, weights = self.measure.locations[: self.n_values], self.measure.weights[: self.n_values]
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

    # -- feasibility -------------------------------------------------------------------------------------------

    def feasible(self, A: Any) -> Any:
        """Return a feasible dual array near A: slopes first, then values whose sums balance them."""
        A = self.loss.conjugate_prox(self.Y, A, 0.0, self.measure)
        if not self.fit_intercept:
            return A
        n, m = self.n_samples, self.n_values
        values, slopes = A[:n, :m], A[:, m:]
        base = self.values_problem
        weights, slope_weights = self.measure.weights[:m], self.measure.weights[m:]

        def prox(array):
            return observed_only(base.loss.conjugate_prox(base.Y, array, 0.0, base.measure), base.measure)

        balance = -(self.slopes_of_b @ (slope_weights * (self.sample_weight @ slopes))) / weights
        balance = balance / self.sample_weight[:n].sum()
        share = base.sample_weight / n
        reach = np.where(balance > 0, *(share @ prox(np.full_like(values, end)) for end in (FAR, -FAR)))
        beyond = np.abs(balance) > np.abs(reach)  # sums that the bounds of the values cannot balance
        shrink = (1 - 1e-9) * float(np.min(np.abs(reach[beyond] / balance[beyond]))) if np.any(beyond) else 1.0
        balanced, _ = zero_sum(prox, values, base.sample_weight, base.measure, pointwise=True, mean=shrink * balance)
        answer = shrink * A
        answer[:n, :m] = balanced
        return answer
