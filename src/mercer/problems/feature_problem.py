"""The one problem in explicit features, over blocks of rows that need not be in memory together."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mercer.exceptions import DataError, UnsupportedError, parameter_error
from mercer.linalg import Moments
from mercer.losses.base import Loss
from mercer.magnitudes import LARGEST_NUMBER, check_alpha
from mercer.measures import Measure
from mercer.problems import block_work as work
from mercer.problems.block_sums import bracketed_minimum
from mercer.problems.certificate import Certificate
from mercer.problems.problem_rows import FeatureTerms, read_factor
from mercer.problems.roots import quasi_newton
from mercer.problems.row_blocks import LocalBlocks, RowBlocks
from mercer.problems.zero_sum import separable_root

__all__ = ["FeatureProblem", "FeatureView"]

#: how far above the minimum an intercept may leave the objective, where nobody says, in units of the objective
NEGLIGIBLE = 1e-9


class FeatureView(NamedTuple):
    """What a look at a feature problem finds: a certificate, the model it speaks of and the dual array behind it."""

    certificate: Certificate
    coef: np.ndarray  #: C, (D, q)
    intercept: np.ndarray  #: b, (m,)
    states: list  #: block by block, whose ``A`` is feasible


class FeatureProblem:
    """The learning problem of mercer with features φ(x) ∈ R^D, one pass over the rows at a time.

    ::

        primal   min_{C,b}  (1/n) Σ_i s_i L_i(φ(x_i) C Rᵀ + b) + (λ/2) ‖C‖²        R Rᵀ = K_Θ at the nodes
        dual     min_A      Σ_i s_i L_i*(−a_i) + (λn/2) ‖C_A‖²     s.t. Σ_i s_i a_i = 0 with an intercept
        recover  C_A = (1/λn) Σ_i s_i φ(x_i) a_i W R

    It is :class:`DualProblem` with the kernel φ(x)·φ(z) K_Θ, and its gap is the gap there. Nothing of size n × D is
    held; dual arrays are, block by block, where the blocks live (:class:`RowBlocks`), and what is exchanged in a pass
    has the size of C. Of a kernel whose values are m × m matrices, with features Φ(x) ∈ R^{m×D}, φ(x) C Rᵀ is Φ(x)C
    with one column, and there is no R.

    Parameters
    ----------
    blocks : RowBlocks or (kernel, rows)
        The rows and their features.
    loss : Loss
        The loss.
    measure : Measure
        Nodes and weights of the targets; one column of targets stands for the same target at each node.
    alpha : float
        λ > 0.
    factor : array of shape (m, q), optional
        R, as thin as K_Θ allows (see :func:`~mercer.linalg.right_factor`); the identity by default. Features whose
        values are matrices have none.
    fit_intercept : bool, default=False
        Whether to add b, free at each node.
    """

    def __init__(
        self,
        blocks: RowBlocks | tuple[Any, Any],
        loss: Loss,
        measure: Measure,
        alpha: float,
        factor: Any = None,
        fit_intercept: bool = False,
    ) -> None:
        if not isinstance(loss, Loss):
            raise parameter_error("FeatureProblem", "loss", loss, "a Loss", "For instance Square(), not 'square'.")
        if loss.couples_rows:
            raise UnsupportedError(f"FeatureProblem: {loss!r} takes several rows together, which blocks would part.")
        check_alpha("FeatureProblem", alpha)
        self.blocks = blocks if isinstance(blocks, RowBlocks) else LocalBlocks(*blocks)
        factor = read_factor("FeatureProblem", factor, len(measure), self.blocks.n_components)
        m = len(measure)
        self.fit_intercept = bool(fit_intercept)
        terms = FeatureTerms(loss, measure, factor, float(alpha))
        _, sums = self.blocks.map(work.Survey(terms), features=False)
        n_rows, total, squares, observed = sums
        if not math.isfinite(squares) or squares > LARGEST_NUMBER**2:
            raise DataError(f"FeatureProblem: targets must not be beyond {LARGEST_NUMBER:g}.")
        self.terms = FeatureTerms(loss, measure, factor, float(alpha), int(n_rows), float(total))
        self.complete = bool(observed == n_rows * m)
        self._size = math.sqrt(squares / max(observed, 1))

    # -- sizes -------------------------------------------------------------------------------------------------

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.terms.loss

    @property
    def measure(self) -> Measure:
        """Nodes and weights."""
        return self.terms.measure

    @property
    def alpha(self) -> float:
        """λ."""
        return self.terms.alpha

    @property
    def factor(self) -> np.ndarray | None:
        """R; None of features whose values are matrices."""
        return self.terms.factor

    @property
    def coef_shape(self) -> tuple[int, int]:
        """Shape (D, q) of C."""
        return self.blocks.n_features, self.terms.n_columns

    @property
    def n_rows(self) -> int:
        """N."""
        return self.terms.n_rows

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, m) of the dual array, which is kept in blocks."""
        return self.n_rows, len(self.measure)

    @property
    def shift(self) -> float:
        """λn: of the square loss, the variance of the noise over that of the signal."""
        return 1 / self.terms.scale

    def signal_variance(self, objective: float, n_known: int) -> float:
        """Return σ² of greatest evidence, as :meth:`DualProblem.signal_variance` does."""
        return 2 * max(objective, 0.0) / (self.alpha * max(n_known, 1))

    @property
    def boxed(self) -> bool:
        """Whether the conjugate of the loss is a quadratic on a bounded box."""
        box = self.loss.box(np.zeros((1, len(self.measure))), self.measure)
        return box is not None and bool(np.all(np.isfinite(box.upper - box.lower)))

    def with_alpha(self, alpha: float) -> FeatureProblem:
        """Return the same problem with another λ; moments and sizes are shared."""
        check_alpha("FeatureProblem", alpha)
        other = copy.copy(self)
        other.terms = self.terms.with_alpha(float(alpha))
        return other

    def stored(self, limit: int | None = None) -> FeatureProblem:
        """Return the problem with features that are kept, where they fit the limit; itself where they do not."""
        blocks = self.blocks.stored(self.n_rows, limit)
        if blocks is self.blocks:
            return self
        other = copy.copy(self)
        other.blocks = blocks
        return other

    @cached_property
    def moments(self) -> Moments:
        """Moments of the features, in one pass of n·D² multiplications, and of the targets where they are complete."""
        _, (moments,) = self.blocks.map(work.Gather(np.asarray(self.measure.weights, dtype=float)))
        return moments.value

    @cached_property
    def null_model(self) -> tuple[float, np.ndarray]:
        """Objective and intercept of the intercept-only model."""
        b = self._best(None, np.zeros(len(self.measure)), 0.0)
        return self._risk(None, b), b

    @property
    def trivial(self) -> bool:
        """Whether that model fits perfectly, so that it is optimal."""
        residual = math.sqrt(self._null_sizes[0] / (self.n_rows * self.measure.total))
        return bool(self.null_model[0] == 0 or residual <= 8 * np.finfo(float).eps * self._size)

    @property
    def unit(self) -> float:
        """Typical residual over typical dual variable at that model: the natural step of a prox."""
        top, bottom = self._null_sizes
        return math.sqrt(top / bottom) if top > 0 and bottom > 0 else 1.0

    @cached_property
    def _null_sizes(self) -> tuple[float, float]:
        """Squared residuals and squared slopes at the intercept-only model."""
        return self.blocks.map(work.Sizes(self.terms, self.null_model[1]), features=False)[1]

    # -- the primal --------------------------------------------------------------------------------------------

    def value(self, coef: np.ndarray, b: np.ndarray) -> float:
        """Return the primal objective, in one pass."""
        return self.value_and_gradient(coef, b)[0]

    def value_and_gradient(self, coef: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the primal objective and its gradients in C and b, in one pass."""
        _, (value, along, total) = self.blocks.map(work.Slope(self.terms, coef, b))
        share = self.terms.share
        value = share * value + self.alpha / 2 * float(np.vdot(coef, coef))
        gradient = share * along + self.alpha * coef
        return value, gradient, share * np.asarray(self.measure.weights) * total

    def predict(self, features: np.ndarray, coef: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return φ C Rᵀ + b for rows of features."""
        return self.terms.forward(features, coef) + b

    # -- the dual ----------------------------------------------------------------------------------------------

    def feasible(self, states: list) -> list:
        """Return states whose arrays ``A`` are the nearest feasible ones, up to rounding; sparse ones stay so."""
        support = self.loss.sparse
        repaired, off = self._nearest(states, support)
        if support and float(np.max(np.abs(off))) > 1e-12 * self._largest(states):
            repaired, off = self._nearest(states, False)
        return repaired

    def _largest(self, states: list) -> float:
        _, (squares,) = self.blocks.map(work.Squares(), states, features=False)
        return math.sqrt(squares / (self.n_rows * len(self.measure))) + 1e-300

    def _nearest(self, states: list, support: bool) -> tuple[list, np.ndarray]:
        """Return the projection on the domain and on zero sums, and the means that are left."""
        zero = np.zeros(len(self.measure))
        if not self.fit_intercept:
            states, _ = self.blocks.map(work.Shifted(self.terms, zero, support, keep=True), states, features=False)
            return states, zero

        def mean_at(shift: np.ndarray) -> np.ndarray:
            _, (total,) = self.blocks.map(work.Shifted(self.terms, shift, support), states, features=False)
            return total / self.n_rows

        tiny = 4 * np.finfo(float).eps * self._largest(states)
        if self.loss.pointwise or len(zero) == 1:
            shift = separable_root(mean_at, zero, tiny)
        else:
            shift = quasi_newton(lambda nu: -mean_at(nu), zero, np.asarray(self.measure.weights), tiny)
        keep = work.Shifted(self.terms, shift, support, keep=True)
        states, (total,) = self.blocks.map(keep, states, features=False)
        off = total / self.n_rows
        if not self.loss.pointwise and not support:
            states = self._centred(states, off)
        return states, off

    def _centred(self, states: list, off: np.ndarray) -> list:
        """Take off what a root left of the sums; rounding may then leave a row just outside its ball."""
        states, (value,) = self.blocks.map(work.Shrunk(self.terms, off, 1.0), states, features=False)
        for digits in range(12, 0, -1):
            if math.isfinite(value):
                break
            zero = np.zeros_like(off)
            states, (value,) = self.blocks.map(work.Shrunk(self.terms, zero, 1 - 10.0**-digits), states, features=False)
        return states

    def primal_coef(self, states: list) -> np.ndarray:
        """Return Σ_i s_i φ(x_i) a_i W/(λn), (D, m): h(x)(θ) = Σ_j φ(x) c_j k_Θ(θ_j, θ), also between the nodes.

        Of features whose values are matrices it is C itself.
        """
        _, (along,) = self.blocks.map(work.Representers(self.terms), states)
        return self.terms.scale * along

    def view(
        self, states: list, coef: Any = None, b: Any = None, accuracy: float | None = None, given: bool = False
    ) -> FeatureView:
        """Return the duality gap of feasible arrays and of a model, h_A by default, in two passes with features.

        Parameters
        ----------
        states : list
            With feasible arrays ``A`` (see :meth:`feasible`).
        coef : array of shape (D, q), optional
            C of another model than h_A: any gives a bound.
        b : array of shape (m,), optional
            The intercept, or one near the best; of norms that are not smooth, whose best one is dear, as it is.
        accuracy : float, optional
            How far above the minimum the best intercept may leave the objective.
        given : bool, default=False
            Whether b is taken as it is.
        """
        sized, (along, conjugates, total) = self.blocks.map(work.Along(self.terms), states)
        own = self.terms.scale * along
        dual = -self.terms.share * conjugates - self.alpha / 2 * float(np.vdot(own, own))
        coef = own if coef is None else coef
        seen, _ = self.blocks.map(work.Predict(self.terms, coef), sized)
        half_norm = self.alpha / 2 * float(np.vdot(coef, coef))
        dear = b is not None and not (self.loss.pointwise or self.loss.smooth) and len(self.measure) > 1
        if self.fit_intercept and not (given or dear):
            start = self.null_model[1] if b is None else b
            b = self._best(seen, start, NEGLIGIBLE * abs(dual) if accuracy is None else accuracy)
        b = np.zeros(len(self.measure)) if b is None else b
        primal = self._risk(seen, b) + half_norm
        _, (of_gap, of_values) = self.blocks.map(work.Roundings(self.terms, b, float(total)), seen, features=False)
        certificate = Certificate(primal, dual, self.null_model[0], b, float(of_gap), float(of_values))
        return FeatureView(certificate, coef, b, states)

    # -- the intercept -----------------------------------------------------------------------------------------

    def _risk(self, states: Any, b: np.ndarray) -> float:
        """Return (1/n) Σ_i s_i L_i(h_i + b), of predictions in the states."""
        _, (value,) = self.blocks.map(work.Risk(self.terms, b), states, features=False)
        return self.terms.share * value

    def _best(self, states: Any, start: np.ndarray, accuracy: float) -> np.ndarray:
        """Return the best b for predictions in the states; zeros without an intercept."""
        if not self.fit_intercept:
            return np.zeros(len(self.measure))

        def slope(b: np.ndarray) -> np.ndarray:
            _, (total,) = self.blocks.map(work.RiskSlope(self.terms, b), states, features=False)
            return total / self.n_rows

        weights = np.asarray(self.measure.weights)
        if self.loss.pointwise or len(start) == 1:
            reach = 0.1 * self._size if states is not None else self._size
            return bracketed_minimum(slope, start, reach or 1.0, weights, accuracy)
        return quasi_newton(slope, start, weights, 4 * np.finfo(float).eps * float(np.max(np.abs(slope(start)))))
