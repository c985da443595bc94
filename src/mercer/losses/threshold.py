"""What a loss says about the parameter that residuals are compared with: κ of Huber's loss, ε of a tube."""

from __future__ import annotations

from dataclasses import dataclass

from mercer._params import check_number
from mercer.exceptions import parameter_error

__all__ = ["Threshold"]


@dataclass(frozen=True)
class Threshold:
    """A parameter in the unit of residuals, where a loss changes its shape, and how to choose it from residuals.

    A loss declares it as the class attribute ``threshold``; estimators then take it from the data where the loss is
    given by name, and choose it by left-out curves.

    Parameters
    ----------
    name : str
        The name of the parameter.
    inside : {"square", "nothing"}
        What residuals below it cost. Beyond the largest ridge residual a loss that is the square loss inside is the
        square loss; beyond the largest y a loss that costs nothing inside is zero.
    of_norms, of_values : float, default=1.0
        Its typical value in units of the median size of ridge residuals: of norms of curves, or of single values.
    span : (float, float), default=(4.0, 0.1)
        From where to where it is tried, in these units, the largest first.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> Huber.threshold.name, Huber.threshold.inside
    ('kappa', 'square')
    >>> Huber(geometry="pointwise").for_residuals(0.1)  # whose median size is 0.1
    Huber(kappa=0.2, geometry='pointwise')
    """

    name: str
    inside: str
    of_norms: float = 1.0
    of_values: float = 1.0
    span: tuple[float, float] = (4.0, 0.1)

    def __post_init__(self) -> None:
        if self.inside not in ("square", "nothing"):
            raise parameter_error(self, "inside", self.inside, "'square' or 'nothing'", "What small residuals cost.")
        for name in ("of_norms", "of_values"):
            check_number(self, name, getattr(self, name), low=0)
        widest, narrowest = self.span
        if not 0 < narrowest <= widest:
            raise parameter_error(self, "span", self.span, "two positive numbers, the largest first")

    def typical(self, pointwise: bool) -> float:
        """Return the typical value in units of the median size of ridge residuals."""
        return self.of_values if pointwise else self.of_norms
