"""The hinge loss of inner products: large margins where outputs are vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import clip, namespace
from mercer.losses.base import Loss, indicator
from mercer.losses.box import slack
from mercer.losses.observed import observed_only
from mercer.losses.prox import positive_part
from mercer.measures import Measure

__all__ = ["MaxMargin"]


@dataclass(eq=False, repr=False)
class MaxMargin(Loss):
    """The hinge loss of the inner product with the target: it costs nothing to be on the right side by a margin.

    L(u) = (1 − ⟨u, y⟩_μ)₊,    L*(−ωy) = −ω for 0 ≤ ω ≤ 1, +∞ outside of this segment

    Only the direction of u is learned, hence it is decoded by the largest inner product. Prefer it where outputs are
    features of length 1 of objects; the dual is the quadratic programme of a support vector machine (Laforgue et al.,
    2020, Proposition 1; Szedmak and Shawe-Taylor, 2005).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.arange(2.0), np.ones(2))
    >>> MaxMargin().value(np.array([[1.0, 0.0]]), np.array([[0.25, 3.0]]), mu)
    array([0.75])
    """

    pointwise = False
    sparse = True
    indexed_by = "coordinate"

    @property
    def of_norms(self) -> bool:
        """Never: it looks at inner products."""
        return False

    @property
    def coordinate_free(self) -> bool:
        """Always."""
        return True

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return (1 − ⟨u_i, y_i⟩_μ)₊ for each row."""
        return positive_part(1 - measure.inner(observed_only(U, measure), observed_only(Y, measure)))

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −y where ⟨u, y⟩_μ < 1 and 0 elsewhere."""
        Y = observed_only(Y, measure)
        inside = measure.inner(observed_only(U, measure), Y) < 1
        return -Y * namespace(Y).astype(inside, Y.dtype)[:, None]

    def conjugate(self, Y: Any, A: Any, measure: Measure) -> Any:
        """Return −ω where a = ωy with 0 ≤ ω ≤ 1, up to rounding, and +inf elsewhere."""
        xp = namespace(A)
        A, Y = observed_only(A, measure), observed_only(Y, measure)
        share, size = self._share(Y, A, 0.0, measure), measure.norm(Y)
        off = measure.norm(A - share[:, None] * Y)
        return indicator(off <= slack(A) * (size + xp.asarray(size == 0, dtype=A.dtype)), share) - share

    def conjugate_prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return ωy with ω = clip((⟨y, z⟩_μ + t)/‖y‖²_μ, 0, 1)."""
        Y = observed_only(Y, measure)
        return self._share(Y, observed_only(Z, measure), t, measure)[:, None] * Y

    @staticmethod
    def _share(Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return ω; 1 where y = 0, whose dual variable is 0 all the same."""
        xp = namespace(Y)
        squares = measure.inner(Y, Y)
        known = squares > 0
        share = (measure.inner(Y, Z) + t) / xp.where(known, squares, xp.ones_like(squares))
        return xp.where(known, clip(share, 0.0, 1.0), xp.ones_like(share))
