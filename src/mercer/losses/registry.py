"""Losses by name."""

from __future__ import annotations

import difflib
from typing import Any

from mercer.exceptions import ParameterError, ParameterTypeError
from mercer.losses.base import Loss
from mercer.losses.hinge import CostSensitiveHinge, MoreauHinge, WeightedMoreauHinge
from mercer.losses.margin import MaxMargin
from mercer.losses.pinball import Expectile, MoreauPinball, Pinball, WeightedHuber
from mercer.losses.robust import EpsilonInsensitive, EpsilonRidge, Huber
from mercer.losses.square import Square

__all__ = ["LOSSES", "as_loss", "loss_names"]

#: the losses that :func:`as_loss` knows by name
LOSSES: dict[str, type[Loss]] = {
    "square": Square,
    "pinball": Pinball,
    "moreau_pinball": MoreauPinball,
    "weighted_huber": WeightedHuber,
    "m-quantile": WeightedHuber,
    "expectile": Expectile,
    "huber": Huber,
    "epsilon_ridge": EpsilonRidge,
    "epsilon_insensitive": EpsilonInsensitive,
    "hinge": CostSensitiveHinge,
    "moreau_hinge": MoreauHinge,
    "weighted_moreau_hinge": WeightedMoreauHinge,
    "max_margin": MaxMargin,
}


def loss_names(indexed_by: str | None) -> list[str]:
    """Return the names of the losses whose points are levels, costs or, where None is given, mere locations.

    Examples
    --------
    >>> loss_names(None)
    ['square', 'huber', 'epsilon_ridge', 'epsilon_insensitive']
    """
    return [name for name, loss in LOSSES.items() if loss.indexed_by == indexed_by]


def as_loss(loss: str | Loss, **parameters: Any) -> Loss:
    """Return the loss of that name, with those parameters; a :class:`Loss` is passed on as it is.

    Parameters
    ----------
    loss : str or Loss
        A key of :data:`LOSSES`, or a loss, which then has its parameters already.
    **parameters
        Parameters of the loss of that name.

    Returns
    -------
    Loss

    Examples
    --------
    >>> as_loss("huber", geometry="pointwise")
    Huber(geometry='pointwise')
    >>> as_loss("pinbal")
    Traceback (most recent call last):
    mercer.exceptions.ParameterError: loss must be a Loss or one of ...; got 'pinbal'. Did you mean 'pinball'?
    """
    if isinstance(loss, Loss):
        if parameters:
            given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
            raise ParameterError(
                f"loss: {loss!r} has its parameters already, but {given} was given beside it. "
                f"Set it on the loss: {type(loss).__name__}({given})."
            )
        return loss
    names = ", ".join(repr(name) for name in LOSSES)
    if not isinstance(loss, str):
        remedy = f" Did you mean {loss.__name__}()?" if isinstance(loss, type) and issubclass(loss, Loss) else ""
        raise ParameterTypeError(f"loss must be a Loss or one of {names}; got {loss!r}.{remedy}")
    if loss not in LOSSES:
        close = difflib.get_close_matches(loss.lower().replace("-", "_").replace(" ", "_"), LOSSES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ParameterError(f"loss must be a Loss or one of {names}; got {loss!r}.{hint}")
    unknown = [name for name in parameters if name not in LOSSES[loss]._names()]
    if unknown:
        known = ", ".join(LOSSES[loss]._names()) or "none"
        raise ParameterError(f"loss {loss!r} has no parameter {unknown[0]!r}; its parameters are: {known}.")
    return LOSSES[loss](**parameters)
