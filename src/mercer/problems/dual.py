"""The dual problem on (n, m) arrays, with sample weights, a mask and an unpenalised intercept."""

from __future__ import annotations

import copy
import math
from functools import cached_property
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import as_like, is_numpy, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.linalg import Gram, Spectral
from mercer.losses.base import Box, Loss
from mercer.losses.prox import project_box
from mercer.magnitudes import LARGEST_NUMBER, LARGEST_SCALE, check_alpha
from mercer.measures import Measure
from mercer.problems.box_sums import balancing_shift
from mercer.problems.certificate import Certificate
from mercer.problems.intercept import Intercept
from mercer.problems.left_out import left_out
from mercer.problems.rounding import Rounding, RoundingBounds
from mercer.problems.scales import Scales
from mercer.problems.zero_sum import zero_sum

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
    gram : Gram
        𝐊 on (n, m) arrays, without weights; the problem puts the weights on.
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
    fit_intercept : bool or Intercept, default=False
        Whether to add b(θ), free at each node; another :class:`~mercer.problems.Intercept` is taken as it is.
    mass : float, default=1.0
        The mean over samples of what the weights of the rows of one sample sum to: 1 where a row is a sample.
    values : DualProblem, optional
        The problem of some of the entries, from which the scales of this one are taken, where the others have no
        targets (see :func:`~mercer.problems.monotone_problem`).
    """

    def __init__(
        self,
        gram: Gram,
        loss: Loss,
        Y: Any,
        measure: Measure,
        alpha: float,
        sample_weight: Any = None,
        fit_intercept: bool | Intercept = False,
        mass: float = 1.0,
        values: DualProblem | None = None,
    ) -> None:
        if not isinstance(loss, Loss):
            raise parameter_error("DualProblem", "loss", loss, "a Loss", "For instance Square(), not 'square'.")
        check_alpha("DualProblem", alpha)
        check_number("DualProblem", "mass", mass, low=0)
        xp = namespace(Y)
        if not xp.isdtype(Y.dtype, "real floating"):
            Y = xp.astype(Y, xp.float64)
        expected = (gram.array_shape[0], len(measure))
        if tuple(Y.shape) != expected:
            raise DataError(f"DualProblem: Y must have shape {expected}; got {tuple(Y.shape)}.")
        observed = ~xp.isnan(Y)
        if not bool(xp.all(observed)):
            Y = xp.where(observed, Y, xp.zeros_like(Y))
            measure = measure.restricted(observed)
        if not Y.shape[0] * Y.shape[1]:
            raise DataError(f"DualProblem: Y must have rows and columns; its shape is {tuple(Y.shape)}.")
        largest = float(xp.max(xp.abs(Y)))
        if not largest <= LARGEST_NUMBER:
            raise DataError(
                f"DualProblem: Y must be finite and not beyond {LARGEST_NUMBER:g} (NaN marks entries that were not "
                f"observed); got {largest:g}."
            )
        weight = xp.ones_like(Y[:, 0]) if sample_weight is None else as_like(sample_weight, Y)
        if tuple(weight.shape) != (Y.shape[0],):
            raise DataError(f"DualProblem: sample_weight must have shape {(Y.shape[0],)}; got {tuple(weight.shape)}.")
        if not bool(xp.all(xp.isfinite(weight))) or not bool(xp.all(weight > 0)):
            raise DataError("DualProblem: sample weights must be positive and finite; drop rows of weight 0.")
        loss.check_targets(Y, measure)
        self.loss, self.Y, self.measure, self.alpha = loss, Y, measure, float(alpha)
        self.intercept: Intercept | None = Intercept() if fit_intercept else None
        if isinstance(fit_intercept, Intercept):
            self.intercept = fit_intercept
        self.mass, self.values = float(mass), values
        self.sample_weight = weight * (Y.shape[0] / xp.sum(weight))
        uniform = sample_weight is None
        self.gram = gram.weighted(None if uniform else self.sample_weight, as_like(measure.weights, Y))
        with np.errstate(over="ignore", invalid="ignore"):  # which is refused
            #: r (n,) and c (m,) that bound the kernel, see ``Gram.sizes``
            self.sizes = tuple(as_like(sizes, Y) for sizes in self.gram.sizes())
        self._check_scale()

    def _check_scale(self) -> None:
        """Refuse kernel values that are not finite, and a λ that they are far too large for."""
        xp = namespace(self.Y)
        size = math.prod(float(xp.max(sizes)) for sizes in self.sizes)
        if not size <= LARGEST_NUMBER:
            raise DataError(
                f"DualProblem: roots of the kernel values k(x, x) must not be beyond {LARGEST_NUMBER:g}; got {size:g}. "
                "Scale the inputs, or choose a bounded kernel such as Gaussian()."
            )
        if self.scale * size**2 > LARGEST_SCALE:
            least = self.alpha * self.scale * size**2 / LARGEST_SCALE
            allowed = f"at least {least:.3g} for kernel values of size {size**2:.3g}"
            raise parameter_error("DualProblem", "alpha", self.alpha, allowed, "Or scale the inputs.")

    def with_alpha(self, alpha: float) -> DualProblem:
        """Return the same problem with another λ; data and Gram operators are shared."""
        check_alpha("DualProblem", alpha)
        other = copy.copy(self)
        other.alpha = float(alpha)
        other._check_scale()
        if self.intercept is not None and self.intercept.target is not None:  # sizes are those of predictions
            other._forget("null_model", "trivial", "unit")
        return other

    def _forget(self, *names: str) -> None:
        """Drop sizes that were computed for another λ or loss."""
        for name in names:
            self.__dict__.pop(name, None)

    def with_gram(self, gram: Gram) -> DualProblem:
        """Return the same problem with another form of the same Gram operator: stored, or decomposed."""
        other = copy.copy(self)
        other.gram = gram
        return other

    def tolerance(self, share: float) -> float:
        """Return a part of the trace of 𝐊 that is too small to matter at a relative gap of ``share``."""
        return self.scales.tolerance(self, share)

    def with_loss(self, loss: Loss) -> DualProblem:
        """Return the same problem with another loss; data and Gram operators are shared, and so are slopes."""
        other = copy.copy(self)
        other._forget("box", "null_model", "trivial", "unit")
        other.loss = self.loss.rewrap(loss)
        other.values = None if self.values is None else self.values.with_loss(other.loss.of_values)
        other.loss.check_targets(self.Y, self.measure)
        return other

    # -- sizes and scales --------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, m) of the dual array."""
        return tuple(self.Y.shape)

    @property
    def fit_intercept(self) -> bool:
        """Whether there is an intercept."""
        return self.intercept is not None

    @property
    def has_slopes(self) -> bool:
        """Whether some columns are slopes, which have a price or must not be negative, and no targets."""
        return self.values is not None

    @property
    def total_weight(self) -> float:
        """Σ_i s_i, which is n but for rounding."""
        return float(namespace(self.Y).sum(self.sample_weight))

    @property
    def share(self) -> float:
        """What a row of weight 1 has in the objective: 1/n, or mass/n."""
        return self.mass / self.Y.shape[0]

    @property
    def scale(self) -> float:
        """1/(λn), or mass/(λn): h_A = scale · 𝐊A at the data."""
        return self.mass / (self.alpha * self.Y.shape[0])

    @property
    def shift(self) -> float:
        """λn, or λn/mass: the variance of the noise over that of the signal, for the square loss."""
        return 1 / self.scale

    def signal_variance(self, objective: float, n_known: int) -> float:
        """Return σ² of greatest evidence where h ~ N(0, σ²K), noise has variance σ²λn/s_i, and the loss is the square.

        That is ⟨Y, (𝐊 + λn)⁻¹Y⟩ over the number of targets less that of free parameters, ``n_known``; the minimum of
        the objective is half of the former times λ.
        """
        return 2 * max(objective, 0.0) / (self.alpha * max(n_known, 1))

    @cached_property
    def box(self) -> Box | None:
        """The box form of the conjugate loss on the data, or None."""
        return self.loss.box(self.Y, self.measure)

    @property
    def rounding(self) -> Rounding:
        """Bounds of what rounding does to certificates."""
        return Rounding(self)

    @property
    def scales(self) -> Scales:
        """Where the sizes of the problem are taken from."""
        return Scales() if self.intercept is None else self.intercept.scales

    @property
    def null_array(self) -> Any:
        """The dual array that belongs to the intercept-only model, or what stands for it (see ``scales``)."""
        return self.scales.null_array(self)

    @cached_property
    def null_model(self) -> tuple[float, Any]:
        """Objective and values of the intercept-only model (h = 0), or what stands for it (see ``scales``)."""
        return self.scales.null_model(self) if self.values is None else self.values.null_model

    @cached_property
    def trivial(self) -> bool:
        """Whether that model is optimal."""
        return self.scales.trivial(self) if self.values is None else self.values.trivial

    @cached_property
    def unit(self) -> float:
        """Typical residual over typical dual variable at that model: the natural step of a prox.

        It has the unit of y/α, so that algorithms which use it are equivariant to the scale of y.
        """
        return self.scales.unit(self) if self.values is None else self.values.unit

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

    def effect(self, b: Any) -> Any:
        """Return what the intercept adds to each row of predictions, shape (m,)."""
        return b if self.intercept is None else self.intercept.effect(b)

    def risk(self, H: Any, b: Any) -> float:
        """Return (1/n) Σ_i s_i L_i(h_i + b), and what the intercept costs itself where it does."""
        shifted = H if self.intercept is None else H + self.intercept.effect(b)[None, :]
        risk = self.share * float(self.sample_weight @ self.loss.value(self.Y, shifted, self.measure))
        return risk if self.intercept is None else risk + self.intercept.cost(self, b)

    def norm(self, A: Any, H: Any = None) -> float:
        """Return ‖h_A‖; H is h_A at the data where it is known."""
        H = self.predict(A) if H is None else H
        return math.sqrt(max(self.scale * self.inner(A, H), 0.0))

    @property
    def dear_intercept(self) -> bool:
        """Whether the best intercept costs as much as hundreds of steps: that of norms that are not smooth."""
        return self.fit_intercept and not (self.loss.pointwise or self.loss.smooth) and self.shape[1] > 1

    def best_intercept(self, H: Any, A: Any = None) -> Any:
        """Return the best b for predictions H, zeros without an intercept. A may help to find it."""
        if self.intercept is None:
            Y = self.Y if self.values is None else self.values.Y
            return namespace(Y).zeros_like(Y[0, :])
        return self.intercept.best(self, H, A)

    def certificate(self, A: Any, H: Any = None, b: Any = None) -> Certificate:
        """Return the duality gap of a feasible A and of the model h_A with an intercept, its best one by default.

        Parameters
        ----------
        A : array of shape (n, m)
            A feasible dual array (see :meth:`feasible`).
        H : array of shape (n, m), optional
            h_A, or nearly so, for a quick look; otherwise it is computed with the exact kernel, and the certificate
            knows its rounding.
        b : array of shape (m,), optional
            The intercept. Any gives a bound; the best one gives the smallest, and costs a sort of the residuals.
        """
        exact = H is None
        H = self.predict(A) if exact else H
        primal, dual, b = self._values(A, H, b)
        if not exact:
            return Certificate(primal, dual, self.null_model[0], b)
        return Certificate(primal, dual, self.null_model[0], b, *self._rounding_of(A, H, b), H)

    def reduced_certificate(self, A: Any, spectral: Spectral, b: Any = None) -> Certificate | None:
        """Return a bound of the duality gap without a product with the whole kernel, from an eigenbasis of 𝐊.

        What the basis leaves out is a part of the gap, see :func:`~mercer.problems.left_out`; None where it has no
        bound. Objective and dual value are those of the kernel that the basis represents.
        """
        bounds = left_out(self, spectral, A)
        if bounds is None:
            return None
        H = self.scale * spectral.synthesise(spectral.spectrum * spectral.analyse(A))
        primal, dual, b = self._values(A, H, b)
        rounding, doubt = self._rounding_of(A, H, b)
        rounding, doubt = rounding + bounds.of_gap, doubt + bounds.of_values
        return Certificate(primal, dual, self.null_model[0], b, rounding, doubt, H)

    @np.errstate(over="ignore", invalid="ignore")  # a diverging iteration has no finite gap, and is told so
    def _values(self, A: Any, H: Any, b: Any) -> tuple[float, float, Any]:
        """Return primal and dual value of a dual array with predictions H, and the intercept of the former."""
        candidates = [self.best_intercept(H)] if self.intercept is None else self.intercept.candidates(self, H, A, b)
        risk, b = min(((self.risk(H, one), one) for one in candidates), key=lambda pair: pair[0])
        half_norm = self.share / 2 * self.inner(A, H)
        primal = risk + half_norm
        conjugates = self.loss.conjugate(self.Y, A, self.measure)
        dual = -self.share * float(self.sample_weight @ conjugates) - half_norm
        if self.intercept is not None:
            dual -= self.intercept.dual_cost(self, A)
        return primal, dual, b

    @np.errstate(over="ignore", invalid="ignore")
    def _rounding_of(self, A: Any, H: Any, b: Any) -> RoundingBounds:
        if self.intercept is None:
            return self.rounding.bounds(A, H)
        bounds, own = self.rounding.bounds(A, H + self.effect(b)[None, :]), self.intercept.rounding(self, A)
        return RoundingBounds(bounds.of_gap + own, bounds.of_values + own)

    # -- proxes ------------------------------------------------------------------------------------------------

    def conjugate_prox(self, Z: Any, t: float) -> Any:
        """Return the prox of t·Σ_i L_i*(−a_i), on the observed entries and under the constraint of the intercept."""
        box = self.box if t == 0 else None  # a mere projection, many times over for a root
        separable = self.intercept is not None and self.intercept.separable and is_numpy(Z)
        if separable and box is not None and bool(np.all(np.isfinite(box.upper - box.lower))):
            return self._balanced(Z, box)

        def prox(array):
            if box is not None:
                return self.cut(project_box(+array, box.lower, box.upper))  # a copy, as it is overwritten
            return self.cut(self.loss.conjugate_prox(self.Y, array, t, self.measure))

        return prox(Z) if self.intercept is None else self.intercept.project(self, prox, Z)

    def prox_and_intercept(self, Z: Any, t: float, b: Any) -> tuple[Any, Any]:
        """Return the same prox at Z − t·h and the intercept that belongs to it, given one near it to start from.

        The multipliers of the constraint are t·b. For intercepts that are free at each node.
        """

        def prox(array):
            return self.cut(self.loss.conjugate_prox(self.Y, array, t, self.measure))

        pointwise, weight = self.loss.pointwise, self.sample_weight
        A, shift = zero_sum(prox, Z, weight, self.measure, pointwise=pointwise, start=t * b)
        return A, shift / t

    def _balanced(self, Z: np.ndarray, box: Box) -> np.ndarray:
        """Return the projection on the box and on the sums that the intercept asks for."""
        assert self.intercept is not None  # conjugate_prox has seen to it
        lower, upper = (self.cut(np.broadcast_to(bound, self.shape)) for bound in (box.lower, box.upper))
        shift = balancing_shift(Z, lower, upper, self.sample_weight, self.intercept.mean(self))
        return project_box(Z - shift, lower, upper)

    def feasible(self, A: Any, b: Any = None) -> Any:
        """Return the nearest feasible dual array, up to rounding; a sparse one stays so where that is possible.

        b is the intercept that an algorithm has for A, see :meth:`Intercept.feasible`.
        """
        return self.conjugate_prox(A, 0.0) if self.intercept is None else self.intercept.feasible(self, A, b)

    # -- back to functions -------------------------------------------------------------------------------------

    def primal_coef(self, A: Any) -> Any:
        """Return the representer coefficients c_ij = s_i a_ij w_j/(λn), with which h(x) = Σ_i K(x, x_i) c_i.

        For a decomposable kernel h(x)(θ) = Σ_ij k_X(x, x_i) c_ij k_Θ(θ_j, θ).
        """
        weights = as_like(self.measure.weights, A)
        return self.scale * self.sample_weight[:, None] * A * weights[None, :]

    def dual_array(self, coef: Any) -> Any:
        """Undo :meth:`primal_coef`, to start from an earlier fit."""
        weights = as_like(self.measure.weights, coef)
        return coef / (self.scale * self.sample_weight[:, None] * weights[None, :])
