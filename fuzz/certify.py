"""Certificates from public attributes alone, in extended precision: the objective, and how far it is from the optimum.

A family recomputes the objective P of the stored model. The stored coefficients give a dual array; moved to the nearest
feasible one it has a dual value D, and no model has an objective below D. What was reported must not be below P − D.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.exact import long
from fuzz.findings import Finding

__all__ = ["Bounds", "cancelled", "compare", "meet_sums", "merged", "rounding_floor", "row_keys", "solve"]

#: a reported relative gap is false if the recomputed one is above SLACK times it, and ROUNDING more
SLACK = 1.01
ROUNDING = 1e-5
#: allowed difference of the objective of predictions, in double precision, from that of the model
PREDICTED = 1e-4
#: a relative gap above this says nothing, and cannot be false
SAYS_NOTHING = 1.0
#: the unit of a relative gap is at least this share of the objective of the model without h
LEAST_SHARE = 1e-6
#: what rounding does to data: so many units in the last place of the largest number
UNITS_IN_LAST_PLACE = 48
#: the least positive number: coefficients below it are stored as 0
LEAST = np.finfo(float).smallest_subnormal
BISECTIONS = 120


@dataclass(frozen=True)
class Bounds:
    """Recomputed: the objective, a lower bound for all models, the objective without h, and what rounding explains.

    ``cancelled`` is what rounding may change in the objective of the model as double precision computes it; that much
    it may be off, if the gap says so.
    """

    primal: Any
    dual: Any
    null: Any
    floor: Any
    predicted: Any = None
    cancelled: Any = 0.0

    @property
    def gap(self) -> float:
        """P − D beyond what the rounding of the data explains."""
        return max(float(self.primal - self.dual - self.floor), 0.0)

    @property
    def scale(self) -> float:
        """The unit of relative gaps."""
        return float(max(abs(self.primal), abs(self.dual), LEAST_SHARE * self.null))


def compare(model: Any, bounds: Bounds) -> Iterator[Finding]:
    """Compare what a model says about itself with what was recomputed."""
    scale, gap, floor = bounds.scale, bounds.gap, float(bounds.floor)
    numbers = [float(value) for value in (bounds.primal, bounds.dual, bounds.floor)]
    if not np.all(np.isfinite(numbers)):
        yield Finding("false certificate", "", f"recomputed objective, bound and rounding are {numbers}")
        return
    if model.relative_gap_ <= SAYS_NOTHING:
        reported = SLACK * np.array([model.relative_gap_ * scale, model.dual_gap_])
        if np.any(gap > reported + ROUNDING * scale):
            share = gap / scale
            yield Finding("false certificate", "", f"reported {model.relative_gap_:.2e}, recomputed {share:.2e}")
    known = model.dual_gap_ if model.status_ != "converged" else min(float(bounds.cancelled), model.dual_gap_)
    doubt = floor + known
    primal = float(bounds.primal)
    if abs(primal - model.objective_) > ROUNDING * scale + doubt:
        yield Finding("objective", "", f"reported {model.objective_:.8e}, recomputed {primal:.8e}")
    if bounds.predicted is not None and not abs(float(bounds.predicted) - primal) <= PREDICTED * scale + doubt:
        yield Finding("predictions", "", f"their objective is {float(bounds.predicted):.8e}, recomputed {primal:.8e}")


def rounding_floor(targets: Any, slope: Any, mass: Any, lam: Any, *, curved: bool) -> Any:
    """Return what rounding the data, and storing the coefficients as floats, may change of objective and bound.

    Parameters
    ----------
    targets : array
        All targets.
    slope, mass : float
        The mean slope of the loss, and what its weights sum to.
    lam : float
        λ: a coefficient that is stored as 0 stands for dual variables up to λ times the least float.
    curved : bool
        Whether the loss has a second derivative, which matters where a model fits perfectly.
    """
    sizes = np.abs(targets)
    error = UNITS_IN_LAST_PLACE * long(np.finfo(float).eps) * np.max(sizes)
    return error * slope + (error * error * mass if curved else 0) + long(LEAST) * lam * np.sum(sizes)


def cancelled(c: Any, size: Any, slope: Any, lam: Any) -> Any:
    """Return what rounding changes in an objective whose terms c_k 𝐊_kl, with 𝐊_kl ≤ size_k size_l, cancel in h.

    ``slope`` is the mean slope of the loss.
    """
    total = np.sum(size * np.abs(c))
    error = UNITS_IN_LAST_PLACE * long(np.finfo(float).eps) * total
    return error * (slope * np.max(size) + lam * total)


def row_keys(X: np.ndarray, Y: np.ndarray, pairwise: bool) -> list[Hashable]:
    """Return what tells rows (x, y) apart; those of a Gram matrix are all different."""
    if pairwise:
        return list(range(len(X)))
    rows = np.concatenate([X, np.where(np.isnan(Y), np.nan, Y)], axis=1) + 0.0  # −0 is 0
    return [row.tobytes() for row in rows]


def merged(keys: list[Hashable], weight: Any) -> tuple[np.ndarray, Any]:
    """Return the first of rows with the same key and of positive weight, and their summed weights, of mean 1."""
    weight = np.ones(len(keys)) if weight is None else weight
    total: dict[Hashable, Any] = {}
    first: dict[Hashable, int] = {}
    for i in np.flatnonzero(weight > 0):
        first.setdefault(keys[i], int(i))
        total[keys[i]] = total.get(keys[i], 0) + long(weight[i])
    sums = long(list(total.values()))
    return np.array(list(first.values())), sums * (len(sums) / sums.sum())


def meet_sums(A: Any, s: Any, low: Any, high: Any, target: Any) -> Any:
    """Return A, columns shifted within their box until Σ_i s_i a_ij is the target (at the box where it is beyond)."""
    if not np.all(np.isfinite(low)):
        return A - (s @ A - target) / s.sum()
    A = np.clip(A, low, high)
    below, above = np.min(low - A, axis=0), np.max(high - A, axis=0)
    for _ in range(BISECTIONS):
        shift = (below + above) / 2
        short = s @ np.clip(A + shift, low, high) < target
        below, above = np.where(short, shift, below), np.where(short, above, shift)
    moved = np.clip(A + (below + above) / 2, low, high)
    free = (low < moved) & (moved < high)  # where the sum is linear in the shift, which is known to all digits then
    mass = s @ free
    shift = (target - s @ np.where(free, A, moved)) / np.where(mass > 0, mass, 1)
    return np.clip(np.where(free, A + shift, moved), low, high)


def solve(matrix: Any, right: Any) -> Any:
    """Return matrix⁻¹ right, by elimination with pivots: LAPACK has no extended precision."""
    M = np.concatenate([long(matrix), long(right)], axis=1)
    n = len(M)
    for k in range(n):
        pivot = k + int(np.argmax(np.abs(M[k:, k])))
        M[[k, pivot]] = M[[pivot, k]]
        M[k] = M[k] / M[k, k]
        others = np.arange(n) != k
        M[others] -= M[others, k : k + 1] * M[k]
    return M[:, n:]
