"""Losses of whole curves on observations that are stored one a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backend import require_numpy
from mercer.exceptions import DataError, parameter_error
from mercer.losses.base import Loss
from mercer.losses.observed import observed_only, residual
from mercer.losses.prox import rescale_rows
from mercer.losses.threshold import Threshold
from mercer.measures import Measure

__all__ = ["CurveLoss", "check_observation_weights"]

#: where norms live: one number, of weight 1
NUMBER = Measure(np.zeros(1), np.ones(1))


@dataclass(eq=False, repr=False)
class CurveLoss(Loss):
    """A loss of norms of curves, on (N, p) arrays whose rows are observations of the curves.

    The rows of one curve share its norm ‖r_i‖² = Σ_j η_ij |r_ij|². The value (and the conjugate) of a row is that of
    its curve divided by Σ_j η_ij, so that a mean over rows with weights ∝ s_i η_ij is a mean over curves with weights
    s_i; gradients and proxes turn each curve as a whole. Pointwise losses need none of this.

    Parameters
    ----------
    loss : Loss
        A loss of norms, for instance ``Huber(0.5, "norm")``.
    rows : array of int of shape (N,)
        The curve of each row, not decreasing.
    weights : array of shape (N,)
        η, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Huber
    >>> from mercer.measures import Measure
    >>> loss = CurveLoss(Huber(2.0), np.array([0, 0, 1]), np.array([0.5, 0.5, 1.0]))
    >>> one = Measure(np.zeros(1), np.ones(1))
    >>> loss.value(np.array([[1.5], [0.0], [1.0]]), np.zeros((3, 1)), one)
    array([0.5625, 0.5625, 0.5   ])
    """

    loss: Loss
    rows: Any
    weights: Any

    pointwise = False
    #: rows belong together: a solver that works in blocks of rows must take all of them at once
    couples_rows = True

    def _check(self) -> None:
        if not isinstance(self.loss, Loss) or self.loss.pointwise:
            allowed = "a loss of norms of residuals (geometry='norm')"
            hint = "For instance Huber(0.5, 'norm'). A pointwise loss needs no CurveLoss."
            raise parameter_error(self, "loss", self.loss, allowed, hint)
        require_numpy(self, "Put the curves on a common grid.", self.rows, self.weights)
        check_observation_weights("CurveLoss", self.rows, self.weights)
        new = np.diff(self.rows, prepend=self.rows[:1]) != 0  # but for the first
        self._first = np.concatenate([[0], np.flatnonzero(new)])
        self._curve = np.cumsum(new)  # the position of the curve of each row among those that have rows
        self._mass = self._sums(self.weights)[self._curve]

    @property
    def smooth(self) -> bool:  # type: ignore[override]
        """Whether the gradient is Lipschitz."""
        return self.loss.smooth

    @property
    def sparse(self) -> bool:  # type: ignore[override]
        """That of the loss."""
        return self.loss.sparse

    @property
    def named(self) -> Loss:
        """The loss of norms."""
        return self.loss.named

    @property
    def growth(self) -> int:  # type: ignore[override]
        """How the loss grows with the residuals."""
        return self.loss.growth

    @property
    def threshold(self) -> Threshold | None:  # type: ignore[override]
        """That of the loss of norms, as a parameter of this one."""
        inner = self.loss.threshold
        return None if inner is None else replace(inner, name=f"loss__{inner.name}")

    @property
    def dual_bound(self) -> float:
        """The largest norm of the dual variables of a curve."""
        return self.loss.dual_bound

    def sizes(self, residuals: Any, measure: Measure) -> Any:
        """Return ‖r_i‖ of each curve, shape (n,)."""
        return self._norms(residuals, measure)[:, 0]

    @property
    def has_conjugate(self) -> bool:
        """Whether the loss of norms gives its conjugate and the prox of it."""
        return self.loss.has_conjugate

    # A loss of norms is a function f(‖r‖) of one number: each map is that of the number, with y = ‖r‖ or y = 0.

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return f(‖r_i‖)/Σ_j η_ij in each row of curve i."""
        norms = self._norms(residual(Y, U, measure), measure)
        return self.loss.value(norms, 0 * norms, NUMBER)[self._curve] / self._mass

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −f'(‖r_i‖)·r/‖r_i‖, row by row."""
        r = residual(Y, U, measure)
        norms = self._norms(r, measure)
        return self._turn(r, norms, self.loss.gradient(norms, 0 * norms, NUMBER))

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return the proxes of the curves, row by row."""
        r = residual(Y, Z, measure)
        norms = self._norms(r, measure)
        return Z + self._turn(r, norms, self.loss.prox(norms, 0 * norms, t, NUMBER))

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return (f*(‖a_i‖) − ⟨a_i, y_i⟩)/Σ_j η_ij in each row of curve i."""
        A = observed_only(A, measure)
        norms = self._norms(A, measure)
        linear = self._sums(self.weights * measure.inner(A, Y))
        return (self.loss.conjugate(0 * norms, norms, NUMBER) - linear)[self._curve] / self._mass

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return the proxes of the conjugates of the curves, row by row."""
        shifted = observed_only(Z + t * Y, measure)
        norms = self._norms(shifted, measure)
        return self._turn(shifted, norms, self.loss.conjugate_prox(0 * norms, norms, t, NUMBER))

    def _sums(self, values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, self._first)

    def _norms(self, values: np.ndarray, measure: Measure) -> np.ndarray:
        """‖r_i‖ of each curve, shape (n, 1)."""
        if len(values) != len(self.rows):
            raise DataError(f"CurveLoss: the arrays must have {len(self.rows)} rows; got {len(values)}.")
        return np.sqrt(self._sums(self.weights * measure.inner(values, values)))[:, None]

    def _turn(self, values: np.ndarray, norms: np.ndarray, new_norms: np.ndarray) -> np.ndarray:
        """Give each curve a new norm, which may be negative; curves of norm 0 stay as they are."""
        return rescale_rows(values, norms[self._curve, 0], new_norms[self._curve, 0])


def check_observation_weights(owner: str, rows: np.ndarray, weights: np.ndarray) -> None:
    """Refuse rows that do not say of which curve they are, and weights that are not positive."""
    if rows.ndim != 1 or not len(rows) or weights.shape != rows.shape or np.any(np.diff(rows) < 0):
        raise DataError(f"{owner}: rows (not decreasing) and weights must be of one length, at least 1.")
    if not np.all(np.isfinite(weights)) or not np.all(weights > 0):
        raise DataError(f"{owner}: weights must be positive and finite; drop observations of weight 0.")
