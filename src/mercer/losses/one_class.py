"""The loss of density level sets: what scores fall short of, divided by the level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import namespace, to_numpy
from mercer.exceptions import DataError
from mercer.losses.base import Box
from mercer.losses.box import BoxLoss
from mercer.losses.levels import levels
from mercer.losses.observed import residual
from mercer.losses.prox import by_sign, positive_part, project_box
from mercer.measures import Measure

__all__ = ["OneClassHinge"]


@dataclass(eq=False, repr=False)
class OneClassHinge(BoxLoss):
    """The hinge loss of one-class support vector machines, for all fractions of outliers θ ∈ (0, 1] at once.

    L(u) = ∫ (y − u(θ))₊/θ dμ(θ),    L*(−a) = −⟨a, y⟩_μ on 0 ≤ a(θ) ≤ 1/θ

    With targets y = 0 and an intercept whose values −t are pushed down, as :func:`~mercer.problems.level_set_problem`
    does it, a fraction θ of the data is left out of {h(·)(θ) ≥ t(θ)}.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.measures import Measure
    >>> mu = Measure(np.array([0.1, 0.5]), np.array([0.5, 0.5]))
    >>> OneClassHinge().value(np.zeros((2, 2)), np.array([[-1.0, -1.0], [2.0, -1.0]]), mu)
    array([6., 1.])
    """

    indexed_by = "fraction"
    sparse = True

    def check_targets(self, Y: Any, measure: Measure) -> None:
        """Refuse levels outside (0, 1]."""
        theta = to_numpy(measure.locations)
        if not bool(((theta > 0) & (theta <= 1)).all()):
            raise DataError(
                f"OneClassHinge: levels must be in (0, 1]; got {theta}. They are fractions of outliers: 0.05, not 5."
            )

    def value(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return ∫ (y − u)₊/θ dμ for each row."""
        return measure.integrate(positive_part(residual(Y, U, measure)) / levels(measure, Y))

    def gradient(self, Y: Any, U: Any, measure: Measure) -> Any:
        """Return −1/θ where u < y and 0 elsewhere."""
        r = residual(Y, U, measure)
        return by_sign(r, -1 / levels(measure, Y), namespace(r).zeros_like(r))

    def prox(self, Y: Any, Z: Any, t: float, measure: Measure) -> Any:
        """Return z + clip(y − z, 0, t/θ)."""
        return Z + project_box(residual(Y, Z, measure), 0.0, t / levels(measure, Y))

    def box(self, Y: Any, measure: Measure) -> Box:
        """Return 0 ≤ a ≤ 1/θ without curvature."""
        upper = 1 / levels(measure, Y)
        return Box(namespace(upper).zeros_like(upper), upper)
