"""Losses of the length of a vector at each point, for functions with values in R^p."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer._params import check_number
from mercer.backend import as_like, namespace
from mercer.exceptions import DataError, parameter_error
from mercer.losses.base import Loss
from mercer.losses.threshold import Threshold
from mercer.measures import Measure

__all__ = ["VectorLoss"]


@dataclass(eq=False, repr=False)
class VectorLoss(Loss):
    """A loss f(|r(θ)|) of the Euclidean norm of the residual in R^p at each point, integrated over μ.

    L_i(u) = Σ_j w_j f(|y_ij − u_ij|),    |·| the norm of R^p

    Columns of the (n, m·p) arrays are those of point and component, the component last, and the p columns of a point
    have its weight. Each vector is a row of its own to a loss of norms, whose maps these are. Components that were not
    observed are left out of the norm. With p = 1 it is the pointwise loss.

    Parameters
    ----------
    loss : Loss
        A loss of norms that gives its conjugate, for instance ``Huber(0.5, "norm")``; κ and ε are in the unit of y.
    n_components : int
        p.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.5, 0.5, 0.5, 0.5]))
    >>> loss = VectorLoss(Huber(1.0), 2)
    >>> loss.value(np.array([[3.0, 4.0, 0.6, 0.0]]), np.zeros((1, 4)), mu)
    array([2.34])
    """

    loss: Loss
    n_components: int

    #: components of a point belong together, so that columns cannot be worked on one by one
    pointwise = False

    def _check(self) -> None:
        if not isinstance(self.loss, Loss) or self.loss.pointwise or not self.loss.has_conjugate:
            allowed = "a loss of norms of residuals (geometry='norm') that gives its conjugate"
            raise parameter_error(self, "loss", self.loss, allowed, "For instance Huber(0.5, 'norm').")
        check_number(self, "n_components", self.n_components, low=1, strict=False, integer=True)

    @property
    def named(self) -> Loss:
        """The loss of norms."""
        return self.loss.named

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the gradient is Lipschitz."""
        return self.loss.smooth

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """That of the loss."""
        return self.loss.sparse

    @property
    def growth(self) -> int:  # type: ignore[override]
        """How the loss grows with the residuals."""
        return self.loss.growth

    @property
    def threshold(self) -> Threshold | None:  # type: ignore[override]
        """That of the loss of norms, as a parameter of this one, with the typical value that lengths at points have."""
        inner = self.loss.threshold
        return None if inner is None else replace(inner, name=f"loss__{inner.name}", of_norms=inner.of_values)

    @property
    def of_norms(self) -> bool:
        """Never: norms are those of single points."""
        return False

    @property
    def dual_bound(self) -> float:
        """The largest length of the dual variables of a point."""
        return self.loss.dual_bound

    def sizes(self, residuals: Any, measure: Measure) -> Any:
        """Return |r(θ)|, for each entry that of the vector it belongs to, shape (n, m·p)."""
        xp = namespace(residuals)
        vectors, own = self._vectors(residuals, measure)
        lengths = own.norm(vectors)[:, None] * xp.ones_like(vectors)
        return xp.reshape(lengths, residuals.shape)

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return Σ_j w_j f(|r_ij|) for each row."""
        return self._summed(self.loss.value, measure, Y, U)

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −f'(|r_ij|)·r_ij/|r_ij|."""
        return self._turned(self.loss.gradient, measure, Y, U)

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return the proxes of the vectors; weights of points cancel."""
        return self._turned(lambda y, z, own: self.loss.prox(y, z, t, own), measure, Y, Z)

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return Σ_j w_j (f*(|a_ij|) − ⟨a_ij, y_ij⟩) for each row, +inf where a vector is outside the domain."""
        return self._summed(self.loss.conjugate, measure, Y, A)

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return the proxes of the conjugates of the vectors."""
        return self._turned(lambda y, z, own: self.loss.conjugate_prox(y, z, t, own), measure, Y, Z)

    def _vectors(self, values: Any, measure: Measure) -> tuple[Any, Measure]:
        """Return the vectors as rows, (n·m, p), and the measure of R^p, with what was observed of each."""
        p = int(self.n_components)
        if values.shape[1] % p:
            raise DataError(f"VectorLoss: arrays must have p = {p} columns for each point; got {values.shape[1]}.")
        own = Measure(np.arange(float(p)), np.ones(p)).like(values)
        if measure.observed is not None:
            own = own.restricted(namespace(values).reshape(measure.observed, (-1, p)))
        return namespace(values).reshape(values, (-1, p)), own

    def _turned(self, function: Any, measure: Measure, Y: Any, Z: Any) -> Any:
        """Apply a map from vectors to vectors."""
        (y, own), (z, _) = self._vectors(Y, measure), self._vectors(Z, measure)
        return namespace(Z).reshape(function(y, z, own), Z.shape)

    def _summed(self, function: Any, measure: Measure, Y: Any, Z: Any) -> Any:
        """Integrate a map from vectors to numbers over the points."""
        (y, own), (z, _) = self._vectors(Y, measure), self._vectors(Z, measure)
        numbers = namespace(Z).reshape(function(y, z, own), (Z.shape[0], -1))
        return numbers @ as_like(measure.weights, Z)[:: int(self.n_components)]
