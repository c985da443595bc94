"""What the parameter ``noncrossing`` of estimators means, and what it needs."""

from __future__ import annotations

from typing import Any

from mercer._params import check_number
from mercer.estimators.certified import is_pairwise
from mercer.exceptions import parameter_error

__all__ = ["DURING_FIT", "NONCROSSING", "check_noncrossing"]

#: largest price of falling that the solvers are at ease with
HIGHEST_PRICE = 1e6
#: values of ``noncrossing`` that act while fitting, and all of them
DURING_FIT = ("penalty", "constraint", "guarantee")
NONCROSSING = ("rearrange", *DURING_FIT, None)


def check_noncrossing(owner: Any) -> None:
    """Refuse values of ``noncrossing`` that are not known, or that need an intercept which is not there."""
    value = owner.noncrossing
    if not (value is None or (isinstance(value, str) and value in NONCROSSING)):
        allowed = ", ".join(repr(name) for name in NONCROSSING[:-1]) + " or None"
        raise parameter_error(owner, "noncrossing", value, allowed)
    if value in ("constraint", "guarantee") and not owner.fit_intercept:
        raise parameter_error(
            owner,
            "noncrossing",
            value,
            "'rearrange', 'penalty' or None without an intercept",
            "The intercept makes the constraints feasible: set fit_intercept=True, or take 'penalty' with a large "
            "crossing_penalty, which is exact beyond a finite value.",
        )
    if owner.crossing_anchors is not None:
        _check_anchors(owner)
    if value == "penalty":
        hint = "It is a price per unit of fall; 'constraint' is the limit of a price without bound."
        check_number(owner, "crossing_penalty", owner.crossing_penalty, low=0, high=HIGHEST_PRICE, hint=hint)


def _check_anchors(owner: Any) -> None:
    """Refuse anchors where nothing is looked at in them, or where inputs are known by their kernel values only."""
    if owner.noncrossing not in ("penalty", "constraint"):
        hint = f"noncrossing={owner.noncrossing!r} has no anchors of yours; take 'penalty' or 'constraint'."
        raise parameter_error(owner, "crossing_anchors", "an array", "None", hint)
    kernel = owner.kernel if hasattr(owner, "kernel") else owner.kernels
    if any(is_pairwise(one) for one in (kernel if isinstance(kernel, (list, tuple)) else [kernel])):
        hint = "A Gram matrix has no values of k_X at other inputs than those of X."
        raise parameter_error(owner, "crossing_anchors", "an array", "None with a precomputed kernel", hint)
