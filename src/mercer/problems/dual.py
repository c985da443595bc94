"""The dual problem on (n, m) arrays, with sample weights, a mask and an unpenalised intercept."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any

from mercer._params import check_number
from mercer.backend import as_like, machine_epsilon, namespace
from mercer.exceptions import DataError
from mercer.linalg import Kronecker
from mercer.losses.base import Box, Loss
from mercer.losses.domain import node_mean
from mercer.losses.prox import project_box
from mercer.measures import Measure
from mercer.problems.certificate import Certificate
from mercer.problems.intercept import best_intercept, zero_sum

__all__ = ["DualProblem"]


class DualProblem:
    """The learning problem of mercer, seen from its dual.

    ::

        primal   min_{h,b}  (1/n) Σ_i s_i L_i(h(x_i) + b) + (λ/2) ‖h‖²
        dual     min_A      Σ_i s_i L_i*(−a_i) + (1/2λn) ⟨A, 𝐊A⟩      s.t. Σ_i s_i a_i = 0 with an intercept
        recover  h(x) = (1/λn) Σ_i s_i K(x, x_i) a_i

    ⟨A, B⟩ = Σ_ij s_i w_j A_ij B_ij, and the weights s are scaled to mean 1. Where rows are parts of samples, 1/n is
    ``mass``/n: λ, objective and gap are those of the mean over samples. In this inner product the gradient of the
    quadratic term *is* the prediction h_A at the data, and weights disappear from pointwise proxes.

    Parameters
    ----------
    gram : Kronecker
        K_X ⊗ K_Θ without weights; the problem puts the weights on.
    loss : Loss
        The loss.
    Y : array of shape (n, m)
        Targets at the nodes of the measure. NaN marks an entry that was not observed.
    measure : Measure
        Nodes and weights.
    alpha : float
        λ > 0.
    sample_weight : array of shape (n,), optional
        Positive weights; only their ratios matter.
    fit_intercept : bool, default=False
        Whether to add b(θ), free at each node.
    mass : float, default=1.0
        The mean over samples of what the weights of the rows of one sample sum to: 1 where a row is a sample.
    """

    mass: float = 1.0

    def __init__(
        self,
        gram: Kronecker,
        loss: Loss,
        Y: Any,
        measure: Measure,
        alpha: float,
        sample_weight: Any = None,
        fit_intercept: bool = False,
        mass: float = 1.0,
    ) -> None:
        check_number("DualProblem", "alpha", alpha, low=0)
        check_number("DualProblem", "mass", mass, low=0)
        xp = namespace(Y)
        if not xp.isdtype(Y.dtype, "real floating"):
            Y = xp.astype(Y, xp.float64)
        if tuple(Y.shape) != (gram.left.shape[0], len(measure)):
            raise DataError(
                f"DualProblem: Y must have shape {(gram.left.shape[0], len(measure))}; got {tuple(Y.shape)}."
            )
        observed = ~xp.isnan(Y)
        if not bool(xp.all(observed)):
            Y = xp.where(observed, Y, xp.zeros_like(Y))
            measure = measure.restricted(observed)
        if not bool(xp.all(xp.isfinite(Y))):
            raise DataError("DualProblem: Y must be finite (NaN marks entries that were not observed).")
        weight = xp.ones_like(Y[:, 0]) if sample_weight is None else as_like(sample_weight, Y)
        if tuple(weight.shape) != (Y.shape[0],):
            raise DataError(f"DualProblem: sample_weight must have shape {(Y.shape[0],)}; got {tuple(weight.shape)}.")
        if not bool(xp.all(xp.isfinite(weight))) or not bool(xp.all(weight > 0)):
            raise DataError("DualProblem: sample weights must be positive and finite; drop rows of weight 0.")
        loss.check_targets(Y, measure)
        self.loss, self.Y, self.measure, self.alpha = loss, Y, measure, float(alpha)
        self.fit_intercept, self.mass = fit_intercept, float(mass)
        self.design: Any = None  # rows of what an intercept adds to predictions; None is the identity
        self.sample_weight = weight * (Y.shape[0] / xp.sum(weight))
        uniform = sample_weight is None
        self.gram = Kronecker(
            gram.left, gram.right, None if uniform else self.sample_weight, as_like(measure.weights, Y)
        )

    def with_alpha(self, alpha: float) -> DualProblem:
        """Return the same problem with another λ; data and Gram operators are shared."""
        check_number("DualProblem", "alpha", alpha, low=0)
        other = copy.copy(self)
        other.alpha = float(alpha)
        return other

    def with_loss(self, loss: Loss) -> DualProblem:
        """Return the same problem with another loss; data and Gram operators are shared."""
        loss.check_targets(self.Y, self.measure)
        other = copy.copy(self)
        for name in ("box", "null_model", "trivial", "unit"):  # they depend on the loss
            other.__dict__.pop(name, None)
        other.loss = loss
        return other

    # -- sizes and scales --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, m) of the dual array."""
        return tuple(self.Y.shape)

    @property
    def share(self) -> float:
        """What a row of weight 1 has in the objective: 1/n, or mass/n."""
        return self.mass / self.Y.shape[0]

    @property
    def scale(self) -> float:
        """1/(λn), or mass/(λn): h_A = scale · 𝐊A at the data."""
        return self.mass / (self.alpha * self.Y.shape[0])

    @cached_property
    def box(self) -> Box | None:
        """The box form of the conjugate loss on the data, or None."""
        return self.loss.box(self.Y, self.measure)

    @cached_property
    def null_model(self) -> tuple[float, Any]:
        """Objective and values of the intercept-only model (h = 0)."""
        xp = namespace(self.Y)
        H = xp.zeros_like(self.Y)
        b = self.intercept(H)
        return self.risk(H, b), b

    @cached_property
    def trivial(self) -> bool:
        """Whether the intercept-only model fits perfectly (up to the rounding of b), so that it is optimal."""
        xp = namespace(self.Y)
        value, b = self.null_model
        error = float(xp.max(xp.abs(self.cut(self.Y - b[None, :]))))
        return value == 0 or error <= 8 * machine_epsilon(self.Y) * float(xp.max(xp.abs(self.Y)))

    @cached_property
    def unit(self) -> float:
        """Typical residual over typical dual variable at the intercept-only model: the natural step of a prox.

        It has the unit of y/α, so that algorithms which use it are equivariant to the scale of y.
        """
        xp = namespace(self.Y)
        H = xp.zeros_like(self.Y) + self.null_model[1][None, :]
        residual = self.cut(self.Y - H)
        slope = self.cut(self.loss.gradient(self.Y, H, self.measure))
        top, bottom = self.inner(residual, residual), self.inner(slope, slope)
        if not (top > 0 and bottom > 0):
            return 1.0
        ratio = math.sqrt(top / bottom)
        return ratio if math.isfinite(ratio) and ratio > 0 else 1.0

    def inner(self, left: Any, right: Any) -> float:
        """Return ⟨A, B⟩ = Σ_ij s_i w_j A_ij B_ij."""
        return self.gram.inner(left, right)

    def cut(self, array: Any) -> Any:
        """Return the array with zeros where nothing was observed."""
        if self.measure.observed is None:
            return array
        xp = namespace(array)
        return xp.where(self.measure.observed, array, xp.zeros_like(array))

    # -- the two objectives ------------------------------------------------------------------------------------

    def predict(self, A: Any) -> Any:
        """Return h_A at the data and the nodes, without the intercept: the gradient of the quadratic term."""
        return self.scale * (self.gram @ A)

    def risk(self, H: Any, b: Any) -> float:
        """Return (1/n) Σ_i s_i L_i(h_i + b)."""
        values = self.loss.value(self.Y, H + b[None, :], self.measure)
        return self.share * float(self.sample_weight @ values)

    def norm(self, A: Any, H: Any = None) -> float:
        """Return ‖h_A‖; H is h_A at the data where it is known."""
        H = self.predict(A) if H is None else H
        return math.sqrt(max(self.scale * self.inner(A, H), 0.0))

    def intercept(self, H: Any, A: Any = None) -> Any:
        """Return the best b for predictions H, zeros without an intercept; shape (m,). A may help to find it."""
        if not self.fit_intercept:
            return namespace(self.Y).zeros_like(self.Y[0, :])
        return best_intercept(self.loss, self.Y, H, self.sample_weight, self.measure, A)

    def certificate(self, A: Any, H: Any = None, b: Any = None) -> Certificate:
        """Return the duality gap of a feasible A and of the model h_A with an intercept, its best one by default.

        Parameters
        ----------
        A : array of shape (n, m)
            A feasible dual array (see :meth:`feasible`).
        H : array of shape (n, m), optional
            h_A where it is known; otherwise it is computed with the exact kernel.
        b : array of shape (m,), optional
            The intercept. Any gives a bound; the best one gives the smallest, and costs a sort of the residuals.
        """
        H = self.predict(A) if H is None else H
        b = self.intercept(H, A) if b is None else b
        half_norm = self.share / 2 * self.inner(A, H)
        primal = self.risk(H, b) + half_norm
        conjugates = self.loss.conjugate(self.Y, A, self.measure)
        dual = -self.share * float(self.sample_weight @ conjugates) - half_norm
        return Certificate(primal, dual, self.null_model[0], b)

    # -- proxes ------------------------------------------------------------------------------------------------

    def conjugate_prox(self, Z: Any, t: float) -> Any:
        """Return the prox of t·Σ_i L_i*(−a_i), on the observed entries and under the constraint of the intercept."""
        box = self.box if t == 0 else None  # a mere projection, many times over for a root

        def prox(array):
            if box is not None:
                return self.cut(project_box(+array, box.lower, box.upper))  # a copy, as it is overwritten
            return self.cut(self.loss.conjugate_prox(self.Y, array, t, self.measure))

        if not self.fit_intercept:
            return prox(Z)
        return zero_sum(prox, Z, self.sample_weight, self.measure, pointwise=self.loss.pointwise)[0]

    def feasible(self, A: Any) -> Any:
        """Return the nearest feasible dual array, up to rounding; a sparse one stays so where that is possible."""
        if not (self.fit_intercept and self.loss.sparse):
            return self._nearest_feasible(A)
        xp = namespace(A)
        kept = copy.copy(self)
        nonzero = A != 0
        kept.measure = self.measure.restricted(
            nonzero if self.measure.observed is None else nonzero & self.measure.observed
        )
        repaired = kept._nearest_feasible(A)
        left_over = xp.max(xp.abs(self.sample_weight @ repaired))
        if float(left_over) <= 1e-12 * float(xp.sum(self.sample_weight)) * max(float(xp.max(xp.abs(repaired))), 1e-300):
            return repaired
        return self._nearest_feasible(A)

    def _nearest_feasible(self, A: Any) -> Any:
        A = self.conjugate_prox(A, 0.0)
        if not self.fit_intercept or self.loss.pointwise:
            return A
        xp = namespace(A)
        A = self.cut(A - node_mean(A, self.sample_weight, self.measure)[None, :])  # what rounding has left
        for digits in range(12, 0, -1):  # rounding may leave a row just outside its ball
            if bool(xp.all(xp.isfinite(self.loss.conjugate(self.Y, A, self.measure)))):
                break
            A = A * (1 - 10.0**-digits)
        return A

    # -- back to functions -------------------------------------------------------------------------------------

    def primal_coef(self, A: Any) -> Any:
        """Return the representer coefficients c = s α w/(λn): h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ)."""
        weights = as_like(self.measure.weights, A)
        return self.scale * self.sample_weight[:, None] * A * weights[None, :]

    def dual_array(self, coef: Any) -> Any:
        """Undo :meth:`primal_coef`, to start from an earlier fit."""
        weights = as_like(self.measure.weights, coef)
        return coef / (self.scale * self.sample_weight[:, None] * weights[None, :])
