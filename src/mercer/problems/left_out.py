"""What the part of a kernel that an eigenbasis leaves out may add to a duality gap."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mercer.backend import machine_epsilon

if TYPE_CHECKING:
    from mercer.linalg import Spectral
    from mercer.problems.dual import DualProblem

__all__ = ["LeftOut", "left_out"]

#: rounding errors of an eigenbasis, in units of ε·(number of eigenvectors)·‖𝐊‖
ROUNDINGS_OF_A_BASIS = 16.0


class LeftOut(NamedTuple):
    """By how much the gap, and the primal and dual value themselves, may differ from those of the whole kernel."""

    of_gap: float
    of_values: float


def left_out(problem: DualProblem, spectral: Spectral, A: Any) -> LeftOut | None:
    """Bound the change of a certificate when 𝐊̂, what an eigenbasis represents, takes the place of 𝐊.

    Let 0 ⪯ 𝐊 − 𝐊̂ ⪯ δ in the geometry ω of the weights, and ĥ = 𝐊̂A/(λn), h = 𝐊A/(λn) the predictions of a feasible
    dual array A with a box lower ≤ a ≤ upper. Then ‖h − ĥ‖_ω ≤ δ‖A‖_ω/(λn). The gap is the mean over n of the
    Fenchel–Young losses

        L(h) + L*(−a) + ⟨a, h⟩

    (of h + b with an intercept, whose part vanishes on feasible A, or does not depend on h). L has subgradients −a′
    with a′ in the box, so that this is Lipschitz in each h_ij with the constant ℓ_ij = max(a − lower, upper − a)_ij,
    and by the inequality of Cauchy and Schwarz

        |gap − ĝap| ≤ (1/n) ‖ℓ‖_ω δ‖A‖_ω/(λn).

    In the same way the primal value changes by at most (1/n)(‖L‖_ω + ½‖A‖_ω)·δ‖A‖_ω/(λn), with L = max(|lower|,
    |upper|), and the dual value by less. δ is the trace that was left out and a slack for the rounding of the basis.

    Parameters
    ----------
    problem : DualProblem
        The problem with the whole kernel.
    spectral : Spectral
        The eigenbasis.
    A : array of shape (n, m)
        A feasible dual array.

    Returns
    -------
    LeftOut or None
        None where the box is not bounded, or there is none.
    """
    box = problem.box
    if box is None:
        return None
    shape = problem.shape
    lower, upper = (problem.cut(np.broadcast_to(bound, shape)) for bound in (box.lower, box.upper))
    if not (np.all(np.isfinite(lower)) and np.all(np.isfinite(upper))):
        return None
    largest = float(np.max(spectral.spectrum, initial=0.0))
    slack = ROUNDINGS_OF_A_BASIS * machine_epsilon(problem.Y) * spectral.entry_width * largest
    size = math.sqrt(problem.inner(A, A))
    change = problem.scale * (spectral.left_out + slack) * size  # ‖h − ĥ‖_ω
    reach = np.maximum(A - lower, upper - A)
    steepest = np.maximum(-lower, upper)
    of_gap = math.sqrt(problem.inner(reach, reach)) * change
    of_values = (math.sqrt(problem.inner(steepest, steepest)) + size / 2) * change
    return LeftOut(problem.share * of_gap, problem.share * of_values)
